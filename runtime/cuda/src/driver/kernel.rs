//! Kernels: attributes, occupancy, launches.

use std::ffi::c_void;
use std::ptr;

use cudarc::driver::sys;

use gpurace_abi::LaunchShape;
use gpurace_abi::context::MAX_PORTABLE_CLUSTER;

use super::{ModuleHandle, Result, Stream, c, call};

/// A kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function(sys::CUfunction);

// SAFETY: a handle of the driver, which any thread may use.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

/// The attributes of a kernel as compiled for this GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// The most threads of a block.
    pub max_threads: i32,
    /// Static shared memory, bytes.
    pub shared: i32,
    /// Constant memory, bytes.
    pub constant: i32,
    /// Local memory of a thread, bytes.
    pub local: i32,
    /// Registers of a thread.
    pub registers: i32,
    /// 80 for PTX of `sm_80`.
    pub ptx: i32,
    /// 80 for code of `sm_80`.
    pub binary: i32,
}

/// The attributes that programs set.
const MAX_DYNAMIC_SHARED: sys::CUfunction_attribute =
    sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
const NON_PORTABLE_CLUSTER: sys::CUfunction_attribute =
    sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
impl Function {
    /// The kernel of a module with this name. A driver that loads lazily loads it here. Source:
    /// CUDA Programming Guide, "Lazy Loading".
    ///
    /// # Errors
    /// The driver's: not found.
    pub fn of(module: ModuleHandle, name: &str) -> Result<Self> {
        let mut function = ptr::null_mut();
        call!(cuModuleGetFunction(&mut function, module.raw(), c(name).as_ptr()))?;
        Ok(Self(function))
    }

    /// Its attributes.
    pub fn attributes(self) -> Result<Attributes> {
        use sys::CUfunction_attribute as Attribute;
        let of = |which: Attribute| -> Result<i32> {
            let mut value = 0;
            call!(cuFuncGetAttribute(&mut value, which, self.0))?;
            Ok(value)
        };
        Ok(Attributes {
            max_threads: of(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            shared: of(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
            constant: of(Attribute::CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES)?,
            local: of(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
            registers: of(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            ptx: of(Attribute::CU_FUNC_ATTRIBUTE_PTX_VERSION)?,
            binary: of(Attribute::CU_FUNC_ATTRIBUTE_BINARY_VERSION)?,
        })
    }

    /// Bytes of static shared memory of a block.
    pub fn static_shared(self) -> Result<u32> {
        let mut value = 0;
        let which = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES;
        call!(cuFuncGetAttribute(&mut value, which, self.0))?;
        Ok(value as u32)
    }

    /// Raises the limit of its blocks' dynamic shared memory.
    ///
    /// # Errors
    /// The driver's: a block cannot have that much.
    pub fn allow_dynamic_shared(self, bytes: i32) -> Result {
        call!(cuFuncSetAttribute(self.0, MAX_DYNAMIC_SHARED, bytes))
    }

    /// The number of blocks that fit a multiprocessor.
    pub fn resident_blocks(self, threads: i32, dynamic_shared: usize) -> Result<i32> {
        let mut blocks = 0;
        call!(cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, self.0, threads, dynamic_shared))?;
        Ok(blocks)
    }

    /// Launches it. `cooperative`: all blocks are resident together.
    ///
    /// # Safety
    /// `arguments` has a pointer to a value for each of its parameters.
    pub unsafe fn launch(
        self,
        shape: &LaunchShape,
        cooperative: bool,
        stream: Stream,
        arguments: &mut [*mut c_void],
    ) -> Result {
        let ([gx, gy, gz], [bx, by, bz]) = (shape.grid, shape.block);
        let (shared, arguments) = (shape.dynamic_shared, arguments.as_mut_ptr());
        if let Some([x, y, z]) = shape.cluster {
            if x.saturating_mul(y).saturating_mul(z) > MAX_PORTABLE_CLUSTER {
                // The runtime has checked that the program allows it. To the driver the checked
                // variant is another function, which needs the attribute too.
                call!(cuFuncSetAttribute(self.0, NON_PORTABLE_CLUSTER, 1))?;
            }
            use sys::CUlaunchAttributeID as Id;
            let attribute = |id| sys::CUlaunchAttribute {
                id,
                // SAFETY: all zeros is a value of each field.
                ..unsafe { std::mem::zeroed() }
            };
            let mut attributes = [
                attribute(Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION),
                attribute(Id::CU_LAUNCH_ATTRIBUTE_COOPERATIVE),
            ];
            attributes[0].value.clusterDim = sys::CUlaunchAttributeValue_union__bindgen_ty_1 { x, y, z };
            attributes[1].value.cooperative = cooperative.into();
            let config = sys::CUlaunchConfig {
                gridDimX: gx,
                gridDimY: gy,
                gridDimZ: gz,
                blockDimX: bx,
                blockDimY: by,
                blockDimZ: bz,
                sharedMemBytes: shared,
                hStream: stream.raw(),
                attrs: attributes.as_mut_ptr(),
                numAttrs: 1 + u32::from(cooperative),
            };
            return call!(cuLaunchKernelEx(&config, self.0, arguments, ptr::null_mut()));
        }
        if cooperative {
            call!(cuLaunchCooperativeKernel(self.0, gx, gy, gz, bx, by, bz, shared, stream.raw(), arguments))
        } else {
            call!(cuLaunchKernel(
                self.0,
                gx,
                gy,
                gz,
                bx,
                by,
                bz,
                shared,
                stream.raw(),
                arguments,
                ptr::null_mut()
            ))
        }
    }
}
