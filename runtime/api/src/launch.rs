//! Launches: the `<<<...>>>` configuration, the limits that CUDA checks, the
//! arguments.

use std::arch::naked_asm;
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::sync::atomic::Ordering;

use crate::backend;
use crate::edge::{enter, get, put};
use crate::errors::{Error, Result};
use crate::function::max_threads;
use crate::graph::capture;
use crate::graph::work::Work;
use crate::message;
use crate::modules::{Kernel, kernel_of_stub};
use crate::order::StreamId;
use crate::properties::{MAX_BLOCK_DIM, MAX_GRID_DIM};
use crate::stream::{self, with_own_default};
use crate::types::{cudaLaunchConfig_t, cudaStream_t, dim3};

/// `cudaLaunchAttributeCooperative`.
const ATTRIBUTE_COOPERATIVE: u32 = 2;
/// `cudaLaunchAttributeClusterDimension`.
const ATTRIBUTE_CLUSTER_DIMENSION: u32 = 4;
/// Launch attributes that are about speed alone: nothing, access policy,
/// synchronisation policy, cluster scheduling, priority, memory domains,
/// carveout.
const ATTRIBUTES_IGNORED: [u32; 8] = [0, 1, 3, 5, 8, 9, 10, 14];

/// An address in the host program that a launch returns to.
pub type CallSite = usize;

/// A launch whose limits were checked.
pub struct Launch<'a> {
    /// What to run.
    pub kernel: &'static Kernel,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block, bytes.
    pub dynamic_shared: u32,
    /// Where it was submitted to.
    pub stream: StreamId,
    /// Whether its blocks may wait for each other.
    pub cooperative: bool,
    /// Blocks of a cluster, where the launch or the kernel asks for clusters.
    pub cluster: Option<[u32; 3]>,
    /// The arguments as the description of the kernel lays them out, 16-byte
    /// aligned.
    pub args: &'a [u128],
    /// Where the program launched it.
    pub call_site: CallSite,
}

/// What stands between `<<<` and `>>>`.
#[derive(Clone, Copy)]
struct Configuration {
    grid: dim3,
    block: dim3,
    shared: usize,
    stream: cudaStream_t,
    call_site: CallSite,
}

thread_local! {
    static PUSHED: RefCell<Vec<Configuration>> = const { RefCell::new(Vec::new()) };
    /// Where the launch comes from whose configuration was popped last.
    static POPPED_SITE: Cell<Option<CallSite>> = const { Cell::new(None) };
}

/// What the caller asks for, unchecked.
struct Request {
    stub: *const c_void,
    grid: dim3,
    block: dim3,
    shared: usize,
    stream: cudaStream_t,
    args: *mut *mut c_void,
    cooperative: bool,
    /// Blocks of a cluster, where the launch's attributes say.
    cluster: Option<[u32; 3]>,
    call_site: CallSite,
}

/// Whether the dimensions are those of a grid or block that can be.
fn check_dimensions(grid: [u32; 3], block: [u32; 3]) -> Result {
    let within =
        |dims: [u32; 3], most: [u32; 3]| dims.iter().zip(most).all(|(&dim, most)| (1..=most).contains(&dim));
    if within(grid, MAX_GRID_DIM) && within(block, MAX_BLOCK_DIM) {
        Ok(())
    } else {
        Err(Error::INVALID_CONFIGURATION)
    }
}

/// The clusters of a launch of this kernel: what the kernel says (`__cluster_dims__`)
/// or the launch does.
fn clusters(kernel: &Kernel, grid: [u32; 3], asked: Option<[u32; 3]>) -> Result<Option<[u32; 3]>> {
    let declared = kernel.meta().cluster;
    let Some(cluster) = declared.or(asked) else {
        return Ok(None);
    };
    // A size that was compiled in is not changed by a launch (CUDA C++ Programming
    // Guide, "Thread Block Clusters").
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
        // SAFETY: one pointer for each parameter, as the caller vouches.
        let from = unsafe { *args.add(index) };
        if from.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        // SAFETY: the argument has the parameter's size; the buffer has room.
        unsafe {
            let to = buffer.as_mut_ptr().cast::<u8>().add(offset);
            std::ptr::copy_nonoverlapping(from.cast::<u8>(), to, size);
        }
    }
    Ok(buffer)
}

/// # Safety
/// As [`pack`].
unsafe fn prepare(request: &Request) -> Result<(Prepared, StreamId)> {
    let kernel = kernel_of_stub(request.stub)?;
    let meta = kernel.meta();
    let (grid, block) = (request.grid.to_array(), request.block.to_array());
    check_dimensions(grid, block)?;
    // At most 1024 * 1024 * 64, so the product fits.
    let threads: u32 = block.iter().product();
    if threads > gpurace_abi::context::MAX_THREADS_PER_BLOCK {
        return Err(Error::INVALID_CONFIGURATION);
    }
    if threads > max_threads(meta) {
        return Err(Error::LAUNCH_OUT_OF_RESOURCES);
    }
    if request.shared > kernel.max_dynamic_shared.load(Ordering::Relaxed) {
        return Err(Error::INVALID_VALUE);
    }
    let cluster = clusters(kernel, grid, request.cluster)?;
    let stream = stream::resolve(request.stream)?;
    if request.cooperative {
        let blocks: u64 = grid.iter().map(|&n| u64::from(n)).product();
        if blocks > backend::get().max_cooperative_blocks(kernel, threads, request.shared)? {
            return Err(Error::COOPERATIVE_LAUNCH_TOO_LARGE);
        }
    }
    // SAFETY: as the caller vouches.
    let args = unsafe { pack(kernel, request.args) }?;
    let prepared = Prepared {
        stub: request.stub.addr(),
        kernel,
        grid,
        block,
        dynamic_shared: request.shared as u32,
        cooperative: request.cooperative,
        cluster,
        args,
        call_site: request.call_site,
    };
    Ok((prepared, stream))
}

/// # Safety
/// As [`pack`].
unsafe fn launch(request: &Request) -> Result {
    // SAFETY: as the caller vouches.
    let (prepared, stream) = unsafe { prepare(request) }?;
    if capture::takes(stream) {
        return capture::add(stream, || Work::Kernel(Box::new(prepared))).map(|_| ());
    }
    prepared.run(stream)
}

/// A launch whose limits were checked, with its arguments, without a stream.
#[derive(Clone)]
pub struct Prepared {
    /// The address that the program names the kernel by.
    pub stub: usize,
    kernel: &'static Kernel,
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block, bytes.
    pub dynamic_shared: u32,
    cooperative: bool,
    cluster: Option<[u32; 3]>,
    args: Vec<u128>,
    call_site: CallSite,
}

impl Prepared {
    /// The launch that a node of a graph describes.
    ///
    /// # Safety
    /// `args` has a valid pointer for each parameter of the kernel.
    ///
    /// # Errors
    /// What keeps such a launch from starting.
    pub unsafe fn of_node(
        stub: *const c_void,
        (grid, block): (dim3, dim3),
        shared: usize,
        args: *mut *mut c_void,
        call_site: CallSite,
    ) -> Result<Self> {
        let stream = std::ptr::null_mut();
        let request =
            Request { stub, grid, block, shared, stream, args, cooperative: false, cluster: None, call_site };
        // SAFETY: as the caller vouches.
        unsafe { prepare(&request) }.map(|(prepared, _)| prepared)
    }

    /// Where each argument is.
    pub fn arguments(&self) -> Vec<*mut c_void> {
        let start = self.args.as_ptr().cast::<u8>();
        let params = self.kernel.meta().params.iter();
        params.map(|param| start.wrapping_add(param.offset as usize).cast_mut().cast()).collect()
    }

    /// Runs it on a stream.
    ///
    /// # Errors
    /// What keeps it from starting.
    pub fn run(&self, stream: StreamId) -> Result {
        backend::get().run(&Launch {
            kernel: self.kernel,
            grid: self.grid,
            block: self.block,
            dynamic_shared: self.dynamic_shared,
            stream,
            cooperative: self.cooperative,
            cluster: self.cluster,
            args: &self.args,
            call_site: self.call_site,
        })
    }
}

/// What the attributes of a launch ask for.
#[derive(Clone, Copy, Default)]
pub(crate) struct Attributes {
    cooperative: bool,
    /// Blocks of a cluster.
    pub(crate) cluster: Option<[u32; 3]>,
}

/// Reads the attributes of a `cudaLaunchConfig_t`.
///
/// # Safety
/// The configuration's attributes are valid.
pub(crate) unsafe fn read_attributes(config: &cudaLaunchConfig_t) -> Result<Attributes> {
    let mut asked = Attributes::default();
    for index in 0..config.numAttrs as usize {
        // SAFETY: `attrs` has `numAttrs` elements, as the caller vouches.
        let attribute = unsafe { get(config.attrs.wrapping_add(index).cast_const()) }?;
        let words = [attribute.val[0] as u32, (attribute.val[0] >> 32) as u32, attribute.val[1] as u32];
        match attribute.id {
            ATTRIBUTE_COOPERATIVE => asked.cooperative = words[0] != 0,
            ATTRIBUTE_CLUSTER_DIMENSION => asked.cluster = Some(words),
            id if ATTRIBUTES_IGNORED.contains(&id) => {}
            id => {
                message::error_once(&format!("launch attribute {id} is not supported"));
                return Err(Error::NOT_SUPPORTED);
            }
        }
    }
    Ok(asked)
}

/// The site of the `<<<...>>>` if its stub makes this call, else the caller's.
fn call_site(caller: CallSite) -> CallSite {
    POPPED_SITE.try_with(Cell::take).ok().flatten().unwrap_or(caller)
}

/// `__cudaPushCallConfiguration`: what stands between `<<<` and `>>>`.
///
/// # Safety
/// To be called as C does.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaPushCallConfiguration(
    grid: dim3,
    block: dim3,
    shared: usize,
    stream: cudaStream_t,
) -> u32 {
    // The arguments fill all six registers; the return address goes after them.
    naked_asm!(
        ".cfi_startproc",
        "mov rax, [rsp]",
        "push rax",
        ".cfi_adjust_cfa_offset 8",
        "call {push}",
        "add rsp, 8",
        ".cfi_adjust_cfa_offset -8",
        "ret",
        ".cfi_endproc",
        push = sym push_configuration,
    )
}

extern "C" fn push_configuration(
    grid: dim3,
    block: dim3,
    shared: usize,
    stream: cudaStream_t,
    call_site: CallSite,
) -> u32 {
    let configuration = Configuration { grid, block, shared, stream, call_site };
    enter("__cudaPushCallConfiguration", true, || {
        PUSHED.try_with(|pushed| pushed.borrow_mut().push(configuration)).map_err(|_| Error::CUDART_UNLOADING)
    })
    .0
}

crate::edge::api! {
    @always fn __cudaPopCallConfiguration(grid: *mut dim3, block: *mut dim3, shared: *mut usize, stream: *mut cudaStream_t) {
        let popped = PUSHED.try_with(|pushed| pushed.borrow_mut().pop());
        let popped = popped.ok().flatten().ok_or(Error::MISSING_CONFIGURATION)?;
        let _ = POPPED_SITE.try_with(|site| site.set(Some(popped.call_site)));
        put(grid, popped.grid)?;
        put(block, popped.block)?;
        put(shared, popped.shared)?;
        put(stream, popped.stream)
    }
}

/// Defines a function that launches, and passes on where it was called.
macro_rules! launches {
    ($(#[$doc:meta])* $name:ident, $launch:path) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// To be called as C does; `args` has a valid pointer for each parameter.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            stub: *const c_void,
            grid: dim3,
            block: dim3,
            args: *mut *mut c_void,
            shared: usize,
            stream: cudaStream_t,
        ) -> Error {
            // The first four arguments stay in their registers; the last two are on
            // the stack and are repeated, the return address after them.
            naked_asm!(
                ".cfi_startproc",
                "mov rax, [rsp]",
                "mov r10, [rsp + 16]",
                "mov r11, [rsp + 8]",
                "push rax",
                ".cfi_adjust_cfa_offset 8",
                "push r10",
                ".cfi_adjust_cfa_offset 8",
                "push r11",
                ".cfi_adjust_cfa_offset 8",
                "call {launch}",
                "add rsp, 24",
                ".cfi_adjust_cfa_offset -24",
                "ret",
                ".cfi_endproc",
                launch = sym $launch,
            )
        }
    };
}

launches! {
    /// `cudaLaunchKernel` of the CUDA Runtime API.
    cudaLaunchKernel, launch_kernel::<false, false>
}
launches! {
    /// `cudaLaunchKernel` where the null stream is the host thread's own.
    cudaLaunchKernel_ptsz, launch_kernel::<false, true>
}
launches! {
    /// `cudaLaunchCooperativeKernel` of the CUDA Runtime API.
    cudaLaunchCooperativeKernel, launch_kernel::<true, false>
}
launches! {
    /// `cudaLaunchCooperativeKernel` where the null stream is the host thread's own.
    cudaLaunchCooperativeKernel_ptsz, launch_kernel::<true, true>
}

/// What functions that launch go on with.
extern "C" fn launch_kernel<const COOPERATIVE: bool, const OWN_DEFAULT: bool>(
    stub: *const c_void,
    grid: dim3,
    block: dim3,
    args: *mut *mut c_void,
    shared: usize,
    stream: cudaStream_t,
    caller: CallSite,
) -> Error {
    let name = if COOPERATIVE { "cudaLaunchCooperativeKernel" } else { "cudaLaunchKernel" };
    let run = || {
        enter(name, false, || {
            let cooperative = COOPERATIVE;
            let call_site = call_site(caller);
            let cluster = None;
            let request =
                Request { stub, grid, block, shared, stream, args, cooperative, cluster, call_site };
            // SAFETY: the caller keeps the contract of the C function.
            unsafe { launch(&request) }
        })
    };
    if OWN_DEFAULT { with_own_default(run) } else { run() }
}

/// `cudaLaunchKernelExC` of the CUDA Runtime API.
///
/// # Safety
/// As [`cudaLaunchKernel`]; `config` and its attributes are valid.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaLaunchKernelExC(
    config: *const cudaLaunchConfig_t,
    stub: *const c_void,
    args: *mut *mut c_void,
) -> Error {
    naked_asm!("mov rcx, [rsp]", "jmp {launch}", launch = sym launch_ex)
}

/// `cudaLaunchKernelExC` where the null stream is the host thread's own.
///
/// # Safety
/// As [`cudaLaunchKernelExC`].
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cudaLaunchKernelExC_ptsz(
    config: *const cudaLaunchConfig_t,
    stub: *const c_void,
    args: *mut *mut c_void,
) -> Error {
    naked_asm!("mov rcx, [rsp]", "jmp {launch}", launch = sym launch_ex_own)
}

extern "C" fn launch_ex_own(
    config: *const cudaLaunchConfig_t,
    stub: *const c_void,
    args: *mut *mut c_void,
    caller: CallSite,
) -> Error {
    with_own_default(|| launch_ex(config, stub, args, caller))
}

extern "C" fn launch_ex(
    config: *const cudaLaunchConfig_t,
    stub: *const c_void,
    args: *mut *mut c_void,
    caller: CallSite,
) -> Error {
    enter("cudaLaunchKernelExC", false, || {
        // SAFETY: the caller keeps the contract of the C function.
        let config = unsafe { get(config) }?;
        // SAFETY: as above.
        let Attributes { cooperative, cluster } = unsafe { read_attributes(config) }?;
        let request = Request {
            stub,
            grid: config.gridDim,
            block: config.blockDim,
            shared: config.dynamicSmemBytes,
            stream: config.stream,
            args,
            cooperative,
            cluster,
            call_site: call_site(caller),
        };
        // SAFETY: as above.
        unsafe { launch(&request) }
    })
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
