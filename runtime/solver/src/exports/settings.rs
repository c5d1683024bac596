//! Handles and what is set for them.

use std::ffi::c_int;

use super::put;
use crate::registry::{HANDLES, JACOBI, PARAMS, Raw, Settings};
use crate::status::{Outcome, Status, valid};

/// The version of cuSOLVER that the functions are those of.
const VERSION: [c_int; 3] = [12, 0, 4];

gpurace_library::functions! { name:
    fn cusolverDnCreate(to: *mut Raw) {
        valid(!to.is_null())?;
        put(to, HANDLES.create(Settings { stream: 0, deterministic: 1 }))
    }

    // It waits for nothing: cuSOLVER promises no order.
    fn cusolverDnDestroy(handle: Raw) {
        HANDLES.destroy(handle).map(drop)
    }

    fn cusolverDnSetStream(handle: Raw, stream: usize) {
        HANDLES.change(handle, |settings| settings.stream = stream)
    }

    fn cusolverDnGetStream(handle: Raw, to: *mut usize) {
        put(to, HANDLES.get(handle)?.stream)
    }

    fn cusolverDnSetDeterministicMode(handle: Raw, mode: u32) {
        valid(mode == 1 || mode == 2)?;
        HANDLES.change(handle, |settings| settings.deterministic = mode)
    }

    fn cusolverDnGetDeterministicMode(handle: Raw, to: *mut u32) {
        put(to, HANDLES.get(handle)?.deterministic)
    }

    fn cusolverGetVersion(to: *mut c_int) {
        put(to, VERSION[0] * 1000 + VERSION[1] * 100 + VERSION[2])
    }

    fn cusolverGetProperty(part: u32, to: *mut c_int) {
        put(to, *VERSION.get(part as usize).ok_or(Status::INVALID_VALUE)?)
    }

    fn cusolverDnCreateParams(to: *mut Raw) {
        valid(!to.is_null())?;
        put(to, PARAMS.create(()))
    }

    fn cusolverDnDestroyParams(params: Raw) {
        PARAMS.destroy(params)
    }

    fn cusolverDnSetAdvOptions(params: Raw, function: u32, algorithm: u32) {
        PARAMS.get(params)
    }

    fn cusolverDnCreateSyevjInfo | cusolverDnCreateGesvdjInfo (to: *mut Raw) {
        valid(!to.is_null())?;
        put(to, JACOBI.create(()))
    }

    fn cusolverDnDestroySyevjInfo | cusolverDnDestroyGesvdjInfo (info: Raw) {
        JACOBI.destroy(info)
    }

    fn cusolverDnXsyevjSetTolerance | cusolverDnXgesvdjSetTolerance (info: Raw, tolerance: f64) {
        JACOBI.get(info)
    }

    fn cusolverDnXsyevjSetMaxSweeps | cusolverDnXgesvdjSetMaxSweeps (info: Raw, sweeps: c_int) {
        JACOBI.get(info)
    }

    fn cusolverDnXsyevjSetSortEig | cusolverDnXgesvdjSetSortEig (info: Raw, sorts: c_int) {
        JACOBI.get(info)
    }

    // Values are as exact as double precision has them, whatever was asked for.
    fn cusolverDnXsyevjGetResidual | cusolverDnXgesvdjGetResidual (handle: Raw, info: Raw, to: *mut f64) {
        HANDLES.get(handle)?;
        JACOBI.get(info)?;
        put(to, 0.0)
    }

    fn cusolverDnXsyevjGetSweeps | cusolverDnXgesvdjGetSweeps (handle: Raw, info: Raw, to: *mut c_int) {
        HANDLES.get(handle)?;
        JACOBI.get(info)?;
        put(to, 1)
    }
}
