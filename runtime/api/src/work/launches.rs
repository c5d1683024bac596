//! Launches: checks their limits, as CUDA documents them, and lays out their arguments.

use std::ffi::c_void;
use std::sync::atomic::Ordering;

use gpurace_abi::LaunchShape;

use crate::backend::module::{Kernel, KernelLaunch, max_threads};
use crate::host::edge::get;
use crate::host::errors::{Error, Result};
use crate::host::limits::{MAX_BLOCK_DIM, MAX_GRID_DIM};
use crate::host::stack::CallSite;
use crate::host::types::{cudaLaunchConfig_t, cudaStream_t, dim3};
use crate::order::StreamId;
use crate::work::graph::capture;
use crate::work::graph::work::Work;
use crate::work::{Process, streams};

/// `cudaLaunchAttributeCooperative`.
const ATTRIBUTE_COOPERATIVE: u32 = 2;
/// `cudaLaunchAttributeClusterDimension`.
const ATTRIBUTE_CLUSTER_DIMENSION: u32 = 4;
/// `cudaLaunchAttributeProgrammaticStreamSerialization`: the launch may begin before the one ahead of it in its
/// stream has ended, on devices from capability 9.0 on.
const ATTRIBUTE_DEPENDENT_LAUNCH: u32 = 6;
/// The first major compute capability at which launches overlap so.
const OVERLAPS_FROM: i32 = 9;
/// `cudaDevAttrComputeCapabilityMajor`.
const CAPABILITY_MAJOR: u32 = 75;
/// Launch attributes that only affect speed: none, access policy, synchronisation policy, cluster
/// scheduling, priority, memory domains, carveout.
const ATTRIBUTES_IGNORED: [u32; 8] = [0, 1, 3, 5, 8, 9, 10, 14];

/// A launch as the program requests it, unchecked.
pub struct LaunchRequest {
    /// The address by which the program names the kernel.
    pub stub: *const c_void,
    /// Blocks.
    pub grid: dim3,
    /// Threads of a block.
    pub block: dim3,
    /// Dynamic shared memory of a block, bytes.
    pub shared: usize,
    /// The stream.
    pub stream: cudaStream_t,
    /// A pointer to each argument.
    pub args: *mut *mut c_void,
    /// Its blocks may wait for each other.
    pub cooperative: bool,
    /// Blocks of a cluster, if the launch's attributes name them.
    pub cluster: Option<[u32; 3]>,
    /// Where the program launches it.
    pub call_site: CallSite,
}

/// Checks the dimensions of grid and block.
fn check_dimensions(grid: [u32; 3], block: [u32; 3]) -> Result {
    let within =
        |dims: [u32; 3], most: [u32; 3]| dims.iter().zip(most).all(|(&dim, most)| (1..=most).contains(&dim));
    if within(grid, MAX_GRID_DIM) && within(block, MAX_BLOCK_DIM) {
        Ok(())
    } else {
        Err(Error::INVALID_CONFIGURATION)
    }
}

/// Blocks of a cluster in a launch of this kernel: the kernel's (`__cluster_dims__`) or the
/// launch's.
fn clusters(kernel: &Kernel, grid: [u32; 3], asked: Option<[u32; 3]>) -> Result<Option<[u32; 3]>> {
    let declared = kernel.meta().cluster;
    let Some(cluster) = declared.or(asked) else {
        return Ok(None);
    };
    // A launch cannot change a size that was compiled in (CUDA C++ Programming Guide, "Thread Block
    // Clusters").
    if asked.is_some_and(|asked| asked != cluster) {
        return Err(Error::INVALID_CLUSTER_SIZE);
    }
    let most = kernel.max_cluster();
    let blocks = cluster.iter().try_fold(1u32, |n, &dim| n.checked_mul(dim));
    if !blocks.is_some_and(|blocks| (1..=most).contains(&blocks)) {
        return Err(Error::INVALID_CLUSTER_SIZE);
    }
    let whole = grid.iter().zip(cluster).all(|(grid, cluster)| grid.is_multiple_of(cluster));
    if whole { Ok(Some(cluster)) } else { Err(Error::INVALID_CLUSTER_SIZE) }
}

/// Lays the arguments out as the kernel reads them.
///
/// # Safety
/// `args` has a valid pointer for each parameter.
unsafe fn pack(kernel: &Kernel, args: *mut *mut c_void) -> Result<Vec<u128>> {
    let meta = kernel.meta();
    let mut buffer = vec![0u128; (meta.params_size as usize).div_ceil(16).max(1)];
    let bytes = buffer.len() * 16;
    for (index, param) in meta.params.iter().enumerate() {
        let (offset, size) = (param.offset as usize, param.size as usize);
        if offset + size > bytes {
            return Err(Error::INVALID_KERNEL_IMAGE);
        }
        if size == 0 {
            continue;
        }
        if args.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the caller passes one pointer for each parameter.
        let from = unsafe { *args.add(index) };
        if from.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the argument has the parameter's size, and the buffer has room.
        unsafe {
            let to = buffer.as_mut_ptr().cast::<u8>().add(offset);
            std::ptr::copy_nonoverlapping(from.cast::<u8>(), to, size);
        }
    }
    Ok(buffer)
}

/// Checks a request. Returns the launch and its stream.
///
/// # Safety
/// As [`pack`].
unsafe fn prepare(process: &Process, request: &LaunchRequest) -> Result<(PreparedLaunch, StreamId)> {
    let kernel = process.kernel(request.stub).inspect_err(|&error| {
        if error == Error::INVALID_DEVICE_FUNCTION {
            process.errors_once.error(
                "launch of a kernel that is not registered: gclang did not compile its file, or its shared library was closed",
            );
        }
    })?;
    let meta = kernel.meta();
    let (grid, block) = (request.grid.to_array(), request.block.to_array());
    check_dimensions(grid, block)?;
    let dynamic_shared = request.shared as u32;
    let mut shape = LaunchShape { grid, block, cluster: None, dynamic_shared };
    // At most 1024 * 1024 * 64: the product fits.
    let threads = shape.threads();
    if threads > gpurace_abi::context::MAX_THREADS_PER_BLOCK {
        return Err(Error::INVALID_CONFIGURATION);
    }
    if threads > max_threads(meta) {
        return Err(Error::LAUNCH_OUT_OF_RESOURCES);
    }
    if request.shared > kernel.max_dynamic_shared.load(Ordering::Relaxed) {
        return Err(Error::INVALID_VALUE);
    }
    shape.cluster = clusters(kernel, grid, request.cluster)?;
    let stream = streams::resolve(process, request.stream)?;
    if request.cooperative
        && shape.blocks() > process.backend().max_cooperative_blocks(kernel, threads, request.shared)?
    {
        return Err(Error::COOPERATIVE_LAUNCH_TOO_LARGE);
    }
    // SAFETY: the caller keeps the contract above.
    let args = unsafe { pack(kernel, request.args) }?;
    let prepared = PreparedLaunch {
        stub: request.stub.addr(),
        kernel,
        shape,
        cooperative: request.cooperative,
        args,
        call_site: request.call_site,
    };
    Ok((prepared, stream))
}

/// Launches a kernel, or adds the launch to the graph that the stream captures.
///
/// # Safety
/// As [`pack`].
///
/// # Errors
/// The reason why it cannot start.
pub unsafe fn launch(process: &Process, request: &LaunchRequest) -> Result {
    // SAFETY: the caller keeps the contract above.
    let (prepared, stream) = unsafe { prepare(process, request) }?;
    if capture::takes(process, stream) {
        return capture::add(process, stream, || Work::Kernel(Box::new(prepared))).map(|_| ());
    }
    prepared.run(process, stream)
}

/// A launch whose limits were checked, with its arguments but without a stream.
#[derive(Clone)]
pub struct PreparedLaunch {
    /// The address by which the program names the kernel.
    pub stub: usize,
    kernel: &'static Kernel,
    /// Its shape.
    pub shape: LaunchShape,
    cooperative: bool,
    args: Vec<u128>,
    call_site: CallSite,
}

impl PreparedLaunch {
    /// The launch that a node of a graph describes.
    ///
    /// # Safety
    /// `args` has a valid pointer for each parameter of the kernel.
    ///
    /// # Errors
    /// The reason why such a launch cannot start.
    pub unsafe fn of_node(
        process: &Process,
        stub: *const c_void,
        (grid, block): (dim3, dim3),
        shared: usize,
        args: *mut *mut c_void,
        call_site: CallSite,
    ) -> Result<Self> {
        let stream = std::ptr::null_mut();
        let request = LaunchRequest {
            stub,
            grid,
            block,
            shared,
            stream,
            args,
            cooperative: false,
            cluster: None,
            call_site,
        };
        // SAFETY: the caller keeps the contract above.
        unsafe { prepare(process, &request) }.map(|(prepared, _)| prepared)
    }

    /// The address of each argument.
    pub fn arguments(&self) -> Vec<*mut c_void> {
        self.kernel.arguments(&self.args)
    }

    /// Runs it on a stream.
    ///
    /// # Errors
    /// The reason why it cannot start.
    pub fn run(&self, process: &Process, stream: StreamId) -> Result {
        process.backend().run(&KernelLaunch {
            kernel: self.kernel,
            shape: self.shape,
            stream,
            cooperative: self.cooperative,
            args: &self.args,
            call_site: self.call_site,
        })
    }
}

/// The attributes of a launch.
#[derive(Clone, Copy, Default)]
pub(crate) struct LaunchAttributes {
    /// Its blocks may wait for each other.
    pub(crate) cooperative: bool,
    /// Blocks of a cluster.
    pub(crate) cluster: Option<[u32; 3]>,
}

/// Reads the attributes of a `cudaLaunchConfig_t`.
///
/// # Safety
/// The configuration's attributes are valid.
pub(crate) unsafe fn read_attributes(
    process: &Process,
    config: &cudaLaunchConfig_t,
) -> Result<LaunchAttributes> {
    let mut asked = LaunchAttributes::default();
    for index in 0..config.numAttrs as usize {
        // SAFETY: `attrs` has `numAttrs` elements.
        let attribute = unsafe { get(config.attrs.wrapping_add(index).cast_const()) }?;
        let words = [attribute.val[0] as u32, (attribute.val[0] >> 32) as u32, attribute.val[1] as u32];
        match attribute.id {
            ATTRIBUTE_COOPERATIVE => asked.cooperative = words[0] != 0,
            ATTRIBUTE_CLUSTER_DIMENSION => asked.cluster = Some(words),
            ATTRIBUTE_DEPENDENT_LAUNCH => {
                if words[0] != 0 && process.backend().attribute(CAPABILITY_MAJOR)? >= OVERLAPS_FROM {
                    process.session.note_once(
                        "launches that may begin before the one ahead of them has ended (programmatic dependent \
                         launch) were checked as if they waited for it"
                            .to_owned(),
                    );
                }
            }
            id if ATTRIBUTES_IGNORED.contains(&id) => {}
            id => {
                process.errors_once.error(&format!("launch attribute {id} is not supported"));
                return Err(Error::NOT_SUPPORTED);
            }
        }
    }
    Ok(asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_are_checked_as_cuda_does() {
        assert_eq!(check_dimensions([1, 1, 1], [1024, 1, 1]), Ok(()));
        assert_eq!(check_dimensions([i32::MAX as u32, 65535, 65535], [1, 1, 64]), Ok(()));
        for (grid, block) in [
            ([0, 1, 1], [1, 1, 1]),
            ([1, 1, 1], [1, 0, 1]),
            ([1, 65536, 1], [1, 1, 1]),
            ([1, 1, 1], [1, 1, 65]),
            ([1, 1, 1], [1025, 1, 1]),
        ] {
            assert_eq!(check_dimensions(grid, block), Err(Error::INVALID_CONFIGURATION));
        }
    }
}
