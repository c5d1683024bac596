//! Handles and what is set for them.

use std::ffi::{c_char, c_int};

use super::put;
use crate::registry::{HANDLES, Raw, Settings};
use crate::status::{Outcome, Status, valid};

/// The version of cuSPARSE that the functions are those of: 12.6.2.
const VERSION: [c_int; 3] = [12, 6, 2];

gpurace_library::functions! { name:
    fn cusparseCreate(to: *mut Raw) {
        valid(!to.is_null())?;
        put(to, HANDLES.create(Settings::default()))
    }

    // It waits for nothing: cuSPARSE promises no order.
    fn cusparseDestroy(handle: Raw) {
        HANDLES.destroy(handle).map(drop)
    }

    fn cusparseSetStream(handle: Raw, stream: usize) {
        HANDLES.change(handle, |settings| settings.stream = stream)
    }

    fn cusparseGetStream(handle: Raw, to: *mut usize) {
        put(to, HANDLES.get(handle)?.stream)
    }

    fn cusparseSetPointerMode(handle: Raw, mode: u32) {
        valid(mode < 2)?;
        HANDLES.change(handle, |settings| settings.pointer_mode = mode)
    }

    fn cusparseGetPointerMode(handle: Raw, to: *mut u32) {
        put(to, HANDLES.get(handle)?.pointer_mode)
    }

    fn cusparseGetVersion(handle: Raw, to: *mut c_int) {
        HANDLES.get(handle)?;
        put(to, VERSION[0] * 1000 + VERSION[1] * 100 + VERSION[2])
    }

    fn cusparseGetProperty(part: u32, to: *mut c_int) {
        put(to, *VERSION.get(part as usize).ok_or(Status::INVALID_VALUE)?)
    }

    fn cusparseLoggerSetCallback(callback: usize) {
        Ok(())
    }

    fn cusparseLoggerSetFile(file: usize) {
        Ok(())
    }

    fn cusparseLoggerOpenFile(path: usize) {
        Ok(())
    }

    fn cusparseLoggerSetLevel(level: c_int) {
        Ok(())
    }

    fn cusparseLoggerSetMask(mask: c_int) {
        Ok(())
    }

    fn cusparseLoggerForceDisable() {
        Ok(())
    }
}

/// `cusparseGetErrorName` of cuSPARSE.
#[unsafe(no_mangle)]
pub extern "C" fn cusparseGetErrorName(status: Status) -> *const c_char {
    status.texts().0.as_ptr()
}

/// `cusparseGetErrorString` of cuSPARSE.
#[unsafe(no_mangle)]
pub extern "C" fn cusparseGetErrorString(status: Status) -> *const c_char {
    status.texts().1.as_ptr()
}
