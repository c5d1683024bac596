//! cuBLASLt: products that are described by descriptors, with functions applied to their elements.
//!
//! | module | what it knows |
//! |---|---|
//! | this one | handles, heuristics and what cuBLASLt says of itself |
//! | [`descriptors`] | descriptors and their attributes |
//! | [`matmul`] | the products |

use std::ffi::{c_char, c_int, c_void};

use crate::exports::put;
use crate::handle::{self, HANDLES, RawHandle};
use crate::status::{Outcome, Status, valid};

pub mod descriptors;
pub mod matmul;

use descriptors::{MatmulDescriptor, MatrixLayout};

/// `cublasLtMatmulHeuristicResult_t`
#[repr(C)]
pub struct HeuristicResult {
    algorithm: [u64; 8],
    workspace: usize,
    state: Status,
    waves: f32,
    reserved: [c_int; 4],
}

/// The one algorithm. It needs no workspace.
const ONLY: HeuristicResult =
    HeuristicResult { algorithm: [0; 8], workspace: 0, state: Status::SUCCESS, waves: 1.0, reserved: [0; 4] };

gpurace_library::functions! { name:
    fn cublasLtCreate(to: *mut RawHandle) {
        valid(!to.is_null())?;
        put(to, handle::create())
    }

    fn cublasLtDestroy(handle: RawHandle) {
        HANDLES.destroy(handle).map(drop)
    }

    fn cublasLtGetProperty(part: u32, to: *mut c_int) {
        put(to, *[13, 0, 0].get(part as usize).ok_or(Status::INVALID_VALUE)?)
    }

    fn cublasLtHeuristicsCacheGetCapacity(to: *mut usize) {
        put(to, 0)
    }

    fn cublasLtHeuristicsCacheSetCapacity(_capacity: usize) {
        Ok(())
    }

    fn cublasLtLoggerForceDisable() {
        Ok(())
    }

    fn cublasLtLoggerOpenFile(_file: *const c_char) {
        Ok(())
    }

    fn cublasLtLoggerSetCallback(_callback: *const c_void) {
        Ok(())
    }

    fn cublasLtLoggerSetFile(_file: *mut c_void) {
        Ok(())
    }

    fn cublasLtLoggerSetLevel(_level: c_int) {
        Ok(())
    }

    fn cublasLtLoggerSetMask(_mask: c_int) {
        Ok(())
    }

    fn cublasLtMatmulAlgoGetHeuristic(handle: RawHandle, operation: *const MatmulDescriptor, a: *const MatrixLayout, b: *const MatrixLayout, c: *const MatrixLayout, d: *const MatrixLayout, _preference: *const c_void, requested: c_int, results: *mut HeuristicResult, count: *mut c_int) {
        valid(requested > 0 && !results.is_null())?;
        put(count, 0)?;
        // SAFETY: the program's descriptors.
        unsafe { matmul::check(handle, c"cublasLtMatmulAlgoGetHeuristic", operation, [a, b, c, d])? };
        put(results, ONLY)?;
        put(count, 1)
    }

    fn cublasLtMatmulAlgoCheck(handle: RawHandle, operation: *const MatmulDescriptor, a: *const MatrixLayout, b: *const MatrixLayout, c: *const MatrixLayout, d: *const MatrixLayout, _algorithm: *const c_void, result: *mut HeuristicResult) {
        // SAFETY: the program's descriptors.
        unsafe { matmul::check(handle, c"cublasLtMatmulAlgoCheck", operation, [a, b, c, d])? };
        put(result, ONLY)
    }

    fn cublasLtMatmulAlgoGetIds(_handle: RawHandle, _compute: u32, _scale: u32, _a: u32, _b: u32, _c: u32, _d: u32, requested: c_int, ids: *mut c_int, count: *mut c_int) {
        valid(requested > 0)?;
        put(ids, 0)?;
        put(count, 1)
    }

    fn cublasLtMatmulAlgoInit(_handle: RawHandle, _compute: u32, _scale: u32, _a: u32, _b: u32, _c: u32, _d: u32, id: c_int, algorithm: *mut [u64; 8]) {
        valid(id == 0)?;
        put(algorithm, [0; 8])
    }

    // The algorithm has nothing to configure.
    fn cublasLtMatmulAlgoConfigSetAttribute(_algorithm: *mut c_void, _attribute: u32, _from: *const c_void, _size: usize) {
        Ok(())
    }
}

/// `cublasLtGetVersion` of cuBLASLt.
#[unsafe(no_mangle)]
pub extern "C" fn cublasLtGetVersion() -> usize {
    130_000
}

/// `cublasLtGetCudartVersion` of cuBLASLt.
#[unsafe(no_mangle)]
pub extern "C" fn cublasLtGetCudartVersion() -> usize {
    13_000
}

/// `cublasLtGetStatusName` of cuBLASLt.
#[unsafe(no_mangle)]
pub extern "C" fn cublasLtGetStatusName(status: Status) -> *const c_char {
    status.texts().0.as_ptr()
}

/// `cublasLtGetStatusString` of cuBLASLt.
#[unsafe(no_mangle)]
pub extern "C" fn cublasLtGetStatusString(status: Status) -> *const c_char {
    status.texts().1.as_ptr()
}
