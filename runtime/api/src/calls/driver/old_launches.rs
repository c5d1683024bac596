//! Launches as the driver API had them before `cuLaunchKernel`: a block's shape and the arguments are set one by one.
//! CUDA has deprecated them, and still has them.

use std::arch::naked_asm;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::sync::{Mutex, PoisonError};

use crate::calls::driver::export::{Needs, driver_api, enter};
use crate::calls::driver::launches::{BUFFER_POINTER, BUFFER_SIZE, END, submit};
use crate::host::driver_types::CUfunction;
use crate::host::errors::{Error, Result};
use crate::host::results::CUresult;
use crate::host::stack::CallSite;
use crate::host::types::{DEFAULT_STREAM, cudaLaunchConfig_t, cudaStream_t, dim3};
use crate::work::Process;
use crate::work::launches::LaunchAttributes;

/// The most bytes that the arguments of a kernel take.
const MOST_BYTES: usize = 32_764;

/// What was set for the next launches of a function.
#[derive(Clone, Debug)]
struct Settings {
    block: dim3,
    shared: usize,
    arguments: Vec<u8>,
}

impl Settings {
    const NEW: Settings = Settings { block: dim3 { x: 1, y: 1, z: 1 }, shared: 0, arguments: Vec::new() };
}

/// The settings of each function that has some, by its handle.
static ALL: Mutex<BTreeMap<usize, Settings>> = Mutex::new(BTreeMap::new());

/// Changes a function's settings.
///
/// # Errors
/// `cudaErrorInvalidResourceHandle` if it is no function.
fn set(process: &Process, function: CUfunction, change: impl FnOnce(&mut Settings)) -> Result {
    process.kernel(function).map_err(|_| Error::INVALID_RESOURCE_HANDLE)?;
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    change(all.entry(function.addr()).or_insert(Settings::NEW));
    Ok(())
}

/// Sets a part of a function's arguments.
fn set_bytes(process: &Process, function: CUfunction, offset: c_int, bytes: &[u8]) -> Result {
    let start = usize::try_from(offset).map_err(|_| Error::INVALID_VALUE)?;
    let end = start.saturating_add(bytes.len());
    if end > MOST_BYTES {
        return Err(Error::INVALID_VALUE);
    }
    set(process, function, |settings| {
        let long = settings.arguments.len().max(end);
        settings.arguments.resize(long, 0);
        settings.arguments[start..end].copy_from_slice(bytes);
    })
}

driver_api! { process;
    fn cuFuncSetBlockShape(function: CUfunction, x: c_int, y: c_int, z: c_int) {
        let [x, y, z] = [x, y, z].map(|n| u32::try_from(n).ok().filter(|n| *n > 0));
        let (Some(x), Some(y), Some(z)) = (x, y, z) else { return Err(Error::INVALID_VALUE) };
        set(process, function, |settings| settings.block = dim3 { x, y, z })
    }

    fn cuFuncSetSharedSize(function: CUfunction, bytes: u32) {
        set(process, function, |settings| settings.shared = bytes as usize)
    }

    fn cuParamSetSize(function: CUfunction, bytes: u32) {
        let size = bytes as usize;
        if size > MOST_BYTES {
            return Err(Error::INVALID_VALUE);
        }
        set(process, function, |settings| settings.arguments.resize(size, 0))
    }

    fn cuParamSeti(function: CUfunction, offset: c_int, value: u32) {
        set_bytes(process, function, offset, &value.to_ne_bytes())
    }

    fn cuParamSetf(function: CUfunction, offset: c_int, value: f32) {
        set_bytes(process, function, offset, &value.to_ne_bytes())
    }

    fn cuParamSetv(function: CUfunction, offset: c_int, from: *const c_void, bytes: u32) {
        if from.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        set_bytes(process, function, offset, std::slice::from_raw_parts(from.cast(), bytes as usize))
    }
}

/// `cuLaunch` of the CUDA driver API.
///
/// # Safety
/// To be called as C does. The arguments that were set are those of the kernel.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunch(function: CUfunction) -> CUresult {
    naked_asm!("mov rsi, [rsp]", "jmp {run}", run = sym launch_block)
}

/// `cuLaunchGrid` of the CUDA driver API.
///
/// # Safety
/// As [`cuLaunch`].
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchGrid(function: CUfunction, width: c_int, height: c_int) -> CUresult {
    naked_asm!("mov rcx, [rsp]", "jmp {run}", run = sym launch_grid)
}

/// `cuLaunchGridAsync` of the CUDA driver API.
///
/// # Safety
/// As [`cuLaunch`].
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchGridAsync(
    function: CUfunction,
    width: c_int,
    height: c_int,
    stream: cudaStream_t,
) -> CUresult {
    naked_asm!("mov r8, [rsp]", "jmp {run}", run = sym launch_grid_async)
}

extern "C" fn launch_block(function: CUfunction, caller: CallSite) -> CUresult {
    run("cuLaunch", function, (1, 1), DEFAULT_STREAM, caller)
}

extern "C" fn launch_grid(function: CUfunction, width: c_int, height: c_int, caller: CallSite) -> CUresult {
    run("cuLaunchGrid", function, (width, height), DEFAULT_STREAM, caller)
}

extern "C" fn launch_grid_async(
    function: CUfunction,
    width: c_int,
    height: c_int,
    stream: cudaStream_t,
    caller: CallSite,
) -> CUresult {
    run("cuLaunchGridAsync", function, (width, height), stream, caller)
}

/// Launches a grid with what was set for the function.
fn run(
    name: &str,
    function: CUfunction,
    (width, height): (c_int, c_int),
    stream: cudaStream_t,
    caller: CallSite,
) -> CUresult {
    enter(name, Needs::Context, |process| {
        let [x, y] = [width, height].map(|n| u32::try_from(n).map_err(|_| Error::INVALID_VALUE));
        let settings = {
            let all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
            all.get(&function.addr()).cloned().unwrap_or(Settings::NEW)
        };
        let Settings { block, shared, mut arguments } = settings;
        let config = cudaLaunchConfig_t {
            gridDim: dim3 { x: x?, y: y?, z: 1 },
            blockDim: block,
            dynamicSmemBytes: shared,
            stream,
            attrs: std::ptr::null_mut(),
            numAttrs: 0,
        };
        let mut size = arguments.len();
        let mark = std::ptr::without_provenance_mut;
        let mut extra: [*mut c_void; 5] = [
            mark(BUFFER_POINTER),
            arguments.as_mut_ptr().cast(),
            mark(BUFFER_SIZE),
            (&raw mut size).cast(),
            mark(END),
        ];
        let given = LaunchAttributes { cooperative: false, cluster: None };
        let both = (std::ptr::null_mut(), extra.as_mut_ptr());
        // SAFETY: the buffer has as many bytes as `extra` says, and outlives the call, which copies the arguments.
        unsafe { submit(process, function, &config, given, both, caller) }
    })
}
