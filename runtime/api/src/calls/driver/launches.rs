//! Launches. They learn their caller's address.

use std::arch::naked_asm;
use std::ffi::c_void;

use crate::calls::driver::export::{Needs, enter};
use crate::calls::start::process;
use crate::host::driver_types::CUlaunchConfig;
use crate::host::edge::get;
use crate::host::errors::{Error, Result};
use crate::host::results::CUresult;
use crate::host::stack::CallSite;
use crate::host::types::{cudaLaunchConfig_t, cudaStream_t, dim3};
use crate::work::Process;
use crate::work::launches::{LaunchAttributes, LaunchRequest, launch, read_attributes};
use crate::work::streams::with_own_default;

/// Markers in `extra`.
pub(super) const END: usize = 0;
pub(super) const BUFFER_POINTER: usize = 1;
pub(super) const BUFFER_SIZE: usize = 2;

/// The part of a launch's call that is on the stack: the address to return to, and the arguments behind the first six,
/// which are in registers.
#[repr(C)]
struct OnStack {
    caller: CallSite,
    /// Each takes eight bytes, of which the second half is undefined.
    block_z: [u32; 2],
    shared: [u32; 2],
    stream: cudaStream_t,
    params: *mut *mut c_void,
    /// Only `cuLaunchKernel` has it.
    extra: *mut *mut c_void,
}

/// A pointer to each argument of a kernel: `params`, or into the one buffer that `extra` names.
///
/// # Safety
/// `params` has a valid pointer for each parameter, `extra` is as the driver API documents it.
///
/// # Errors
/// `cudaErrorInvalidValue` if both are given, or if the buffer is too short.
pub(super) unsafe fn arguments(
    process: &Process,
    function: *const c_void,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Result<Vec<*mut c_void>> {
    let kernel = process.kernel(function).map_err(|error| match error {
        Error::INVALID_DEVICE_FUNCTION => Error::INVALID_RESOURCE_HANDLE,
        error => error,
    })?;
    let all = &kernel.meta().params;
    // SAFETY: the caller keeps the contract above.
    unsafe {
        if extra.is_null() {
            return match (params.is_null(), all.is_empty()) {
                (_, true) => Ok(Vec::new()),
                (true, false) => Err(Error::INVALID_VALUE),
                (false, false) => Ok(std::slice::from_raw_parts(params, all.len()).to_vec()),
            };
        }
        if !params.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        let (mut buffer, mut size) = (std::ptr::null_mut(), 0);
        let mut next = extra.cast_const();
        loop {
            match (*next).addr() {
                END => break,
                BUFFER_POINTER => buffer = *next.add(1),
                BUFFER_SIZE => size = *(*next.add(1)).cast::<usize>(),
                _ => return Err(Error::INVALID_VALUE),
            }
            next = next.add(2);
        }
        let fits = all.iter().all(|param| param.offset as usize + param.size as usize <= size);
        if !fits || (buffer.is_null() && !all.is_empty()) {
            return Err(Error::INVALID_VALUE);
        }
        Ok(all.iter().map(|param| buffer.byte_add(param.offset as usize)).collect())
    }
}

/// Defines functions that launch. They pass on where their caller's address and last arguments are.
macro_rules! launches {
    ($($name:ident = $launch:path;)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of the CUDA driver API.")]
        ///
        /// # Safety
        /// To be called as C does, with the arguments that the driver API documents.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() -> CUresult {
            naked_asm!(
                ".cfi_startproc",
                "mov rax, rsp",
                "push rax",
                ".cfi_adjust_cfa_offset 8",
                "call {launch}",
                "add rsp, 8",
                ".cfi_adjust_cfa_offset -8",
                "ret",
                ".cfi_endproc",
                launch = sym $launch,
            )
        }
    )*};
}

// Where a name ends with `_ptsz`, the null stream is the host thread's own.
launches! {
    cuLaunchKernel = launch_kernel::<false, false>;
    cuLaunchKernel_ptsz = launch_kernel::<false, true>;
    cuLaunchCooperativeKernel = launch_kernel::<true, false>;
    cuLaunchCooperativeKernel_ptsz = launch_kernel::<true, true>;
}

/// The body of the functions that launch.
extern "C" fn launch_kernel<const COOPERATIVE: bool, const OWN_DEFAULT: bool>(
    function: *const c_void,
    grid_x: u32,
    grid_y: u32,
    grid_z: u32,
    block_x: u32,
    block_y: u32,
    rest: &OnStack,
) -> CUresult {
    let name = if COOPERATIVE { "cuLaunchCooperativeKernel" } else { "cuLaunchKernel" };
    let config = cudaLaunchConfig_t {
        gridDim: dim3 { x: grid_x, y: grid_y, z: grid_z },
        blockDim: dim3 { x: block_x, y: block_y, z: rest.block_z[0] },
        dynamicSmemBytes: rest.shared[0] as usize,
        stream: rest.stream,
        attrs: std::ptr::null_mut(),
        numAttrs: 0,
    };
    let extra = if COOPERATIVE { std::ptr::null_mut() } else { rest.extra };
    let given = LaunchAttributes { cooperative: COOPERATIVE, cluster: None };
    let run = || {
        enter(name, Needs::Context, |process| {
            // SAFETY: the caller keeps the contract of the C function.
            unsafe { submit(process, function, &config, given, (rest.params, extra), rest.caller) }
        })
    };
    if OWN_DEFAULT { with_own_default(process(), run) } else { run() }
}

/// Launches a function with this configuration.
///
/// # Safety
/// As [`arguments`].
pub(super) unsafe fn submit(
    process: &Process,
    function: *const c_void,
    config: &cudaLaunchConfig_t,
    LaunchAttributes { cooperative, cluster }: LaunchAttributes,
    (params, extra): (*mut *mut c_void, *mut *mut c_void),
    call_site: CallSite,
) -> Result {
    // SAFETY: the caller keeps the contract above.
    let mut args = unsafe { arguments(process, function, params, extra) }?;
    let request = LaunchRequest {
        stub: function,
        grid: config.gridDim,
        block: config.blockDim,
        shared: config.dynamicSmemBytes,
        stream: config.stream,
        args: args.as_mut_ptr(),
        cooperative,
        cluster,
        call_site,
    };
    // SAFETY: there is a pointer for each parameter.
    unsafe { launch(process, &request) }
}

/// Defines functions that launch with a configuration. They pass on their return address.
macro_rules! configured_launches {
    ($($name:ident = $launch:path;)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of the CUDA driver API.")]
        ///
        /// # Safety
        /// `config` and its attributes are valid, and the arguments are as the driver API documents them.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            config: *const CUlaunchConfig,
            function: *const c_void,
            params: *mut *mut c_void,
            extra: *mut *mut c_void,
        ) -> CUresult {
            naked_asm!("mov r8, [rsp]", "jmp {launch}", launch = sym $launch)
        }
    )*};
}

configured_launches! {
    cuLaunchKernelEx = launch_ex::<false>;
    cuLaunchKernelEx_ptsz = launch_ex::<true>;
}

extern "C" fn launch_ex<const OWN_DEFAULT: bool>(
    config: *const CUlaunchConfig,
    function: *const c_void,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
    caller: CallSite,
) -> CUresult {
    let run = || {
        enter("cuLaunchKernelEx", Needs::Context, |process| {
            // SAFETY: the caller keeps the contract of the C function.
            unsafe {
                let config = get(config)?.parameters();
                let given = read_attributes(process, &config)?;
                submit(process, function, &config, given, (params, extra), caller)
            }
        })
    };
    if OWN_DEFAULT { with_own_default(process(), run) } else { run() }
}
