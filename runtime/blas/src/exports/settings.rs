//! Handles and what is set for them.

use std::ffi::{c_char, c_int, c_void};

use crate::exports::put;
use crate::handle::{self, HANDLES, RawHandle};
use crate::status::{Outcome, Status, valid};

/// The version of cuBLAS that the functions are those of: 13.0.0.
const VERSION: [c_int; 3] = [13, 0, 0];

unsafe extern "C" {
    fn cudaDeviceSynchronize() -> u32;
}

/// Changes one setting.
fn set(handle: RawHandle, change: impl FnOnce(&mut handle::Settings)) -> Outcome {
    HANDLES.change(handle, change)
}

gpurace_library::functions! { name:
    fn cublasCreate_v2(to: *mut RawHandle) {
        valid(!to.is_null())?;
        put(to, handle::create())
    }

    fn cublasDestroy_v2(handle: RawHandle) {
        HANDLES.destroy(handle)?;
        // It frees memory of the device, which waits for the device.
        // SAFETY: the runtime's.
        unsafe { cudaDeviceSynchronize() };
        Ok(())
    }

    fn cublasGetVersion_v2(_handle: RawHandle, to: *mut c_int) {
        put(to, VERSION[0] * 10_000 + VERSION[1] * 100 + VERSION[2])
    }

    fn cublasGetProperty(part: u32, to: *mut c_int) {
        put(to, *VERSION.get(part as usize).ok_or(Status::INVALID_VALUE)?)
    }

    fn cublasSetStream_v2(handle: RawHandle, stream: *mut c_void) {
        set(handle, |settings| settings.stream = stream)
    }

    fn cublasGetStream_v2(handle: RawHandle, to: *mut *mut c_void) {
        put(to, HANDLES.change(handle, |settings| settings.stream)?)
    }

    fn cublasSetPointerMode_v2(handle: RawHandle, mode: u32) {
        valid(mode < 2)?;
        set(handle, |settings| settings.pointer_mode = mode)
    }

    fn cublasGetPointerMode_v2(handle: RawHandle, to: *mut u32) {
        put(to, HANDLES.change(handle, |settings| settings.pointer_mode)?)
    }

    fn cublasSetAtomicsMode(handle: RawHandle, mode: u32) {
        valid(mode < 2)?;
        set(handle, |settings| settings.atomics_mode = mode)
    }

    fn cublasGetAtomicsMode(handle: RawHandle, to: *mut u32) {
        put(to, HANDLES.change(handle, |settings| settings.atomics_mode)?)
    }

    // All modes compute in the type of the computation, which none of them makes less exact.
    fn cublasSetMathMode(handle: RawHandle, mode: u32) {
        valid(matches!(mode & !16, 0..=4 | 8))?;
        set(handle, |settings| settings.math_mode = mode)
    }

    fn cublasGetMathMode(handle: RawHandle, to: *mut u32) {
        put(to, HANDLES.change(handle, |settings| settings.math_mode)?)
    }

    fn cublasSetEmulationStrategy(handle: RawHandle, strategy: u32) {
        valid(strategy < 3)?;
        set(handle, |settings| settings.emulation_strategy = strategy)
    }

    fn cublasGetEmulationStrategy(handle: RawHandle, to: *mut u32) {
        put(to, HANDLES.change(handle, |settings| settings.emulation_strategy)?)
    }

    fn cublasSetSmCountTarget(handle: RawHandle, count: c_int) {
        valid(count >= 0)?;
        set(handle, |settings| settings.multiprocessors = count)
    }

    fn cublasGetSmCountTarget(handle: RawHandle, to: *mut c_int) {
        put(to, HANDLES.change(handle, |settings| settings.multiprocessors)?)
    }

    // Nothing here needs a workspace.
    fn cublasSetWorkspace_v2(handle: RawHandle, workspace: *mut c_void, _size: usize) {
        valid(workspace.addr().is_multiple_of(256))?;
        set(handle, |_| {})
    }

    fn cublasLoggerConfigure(_on: c_int, _to_output: c_int, _to_errors: c_int, _file: *const c_char) {
        Ok(())
    }

    fn cublasSetLoggerCallback(_callback: *const c_void) {
        Ok(())
    }

    fn cublasGetLoggerCallback(to: *mut *const c_void) {
        put(to, std::ptr::null())
    }
}

/// `cublasGetStatusName` of cuBLAS.
#[unsafe(no_mangle)]
pub extern "C" fn cublasGetStatusName(status: Status) -> *const c_char {
    status.texts().0.as_ptr()
}

/// `cublasGetStatusString` of cuBLAS.
#[unsafe(no_mangle)]
pub extern "C" fn cublasGetStatusString(status: Status) -> *const c_char {
    status.texts().1.as_ptr()
}

/// `cublasGetCudartVersion` of cuBLAS.
#[unsafe(no_mangle)]
pub extern "C" fn cublasGetCudartVersion() -> usize {
    13_000
}
