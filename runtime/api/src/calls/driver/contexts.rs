//! `cuInit` and contexts.

use std::ffi::{c_int, c_void};

use crate::calls;
use crate::calls::driver::export::{done, driver_api, same};
use crate::host::driver_types::{CUcontext, CUctxCreateParams};
use crate::host::edge::{put, put_if_asked};
use crate::host::errors::{Error, Result};
use crate::host::limits::CUDA_VERSION;
use crate::work::contexts::{
    self, PRIMARY, check, check_current, create, current, destroy, flags, initialize, pop, primary_state,
    push, release_primary, retain_primary, set, set_primary_flags,
};
use crate::work::{Process, devices};

/// The version of `cuCtxGetApiVersion`.
const API_VERSION: u32 = 3020;

/// Makes a context for the only device, and writes its handle.
///
/// # Safety
/// `to` is null or valid for a write.
unsafe fn create_to(process: &Process, to: *mut CUcontext, flags: u32, device: c_int) -> Result {
    devices::check(device)?;
    if to.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    // SAFETY: it is not null.
    unsafe { put(to, create(process, flags)? as CUcontext) }
}

/// The given context, or the current one for null.
fn or_current(process: &Process, context: CUcontext) -> Result<usize> {
    match context.addr() {
        0 => check_current(process),
        given => check(process, given).map(|()| given),
    }
}

driver_api! { process;
    @early fn cuInit(flags: u32) {
        if flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        initialize(process);
        Ok(())
    }

    @early fn cuDriverGetVersion(version: *mut c_int) { put(version, CUDA_VERSION) }

    @free fn cuCtxCreate_v2(to: *mut CUcontext, flags: u32, device: c_int) { create_to(process, to, flags, device) }

    @free fn cuCtxCreate_v3(to: *mut CUcontext, affinities: *const c_void, count: c_int, flags: u32, device: c_int) {
        if count != 0 || !affinities.is_null() {
            return Err(Error::UNSUPPORTED_EXEC_AFFINITY);
        }
        create_to(process, to, flags, device)
    }

    @free fn cuCtxCreate_v4(to: *mut CUcontext, parameters: *const CUctxCreateParams, flags: u32, device: c_int) {
        // They are for affinities and for graphics, and may ask for neither.
        let asks = |p: &CUctxCreateParams| p.numExecAffinityParams != 0 || !p.cigParams.is_null();
        if parameters.as_ref().is_some_and(asks) {
            process.errors_once.error("`cuCtxCreate`: parameters of contexts are not supported on the CPU executor");
            return Err(Error::NOT_SUPPORTED);
        }
        create_to(process, to, flags, device)
    }

    @free fn cuCtxDestroy_v2(context: CUcontext) { destroy(process, context.addr()) }

    @free fn cuCtxPushCurrent_v2(context: CUcontext) {
        check(process, context.addr())?;
        push(context.addr());
        Ok(())
    }

    @free fn cuCtxPopCurrent_v2(to: *mut CUcontext) {
        let top = pop().ok_or(Error::DEVICE_UNINITIALIZED)?;
        put_if_asked(to, top as CUcontext);
        Ok(())
    }

    @free fn cuCtxSetCurrent(context: CUcontext) {
        if !context.is_null() {
            check(process, context.addr())?;
        }
        set(context.addr());
        Ok(())
    }

    @free fn cuCtxGetCurrent(to: *mut CUcontext) { put(to, current().unwrap_or_default() as CUcontext) }

    @free fn cuCtxGetDevice(to: *mut c_int) {
        check_current(process)?;
        put(to, 0)
    }

    @free fn cuCtxGetDevice_v2(to: *mut c_int, context: CUcontext) {
        or_current(process, context)?;
        put(to, 0)
    }

    @free fn cuCtxGetFlags(to: *mut u32) { put(to, flags(process, check_current(process)?)?) }

    @free fn cuCtxSetFlags(flags: u32) {
        check_current(process)?;
        if flags & !0xff != 0 { Err(Error::INVALID_VALUE) } else { Ok(()) }
    }

    @free fn cuCtxGetId(context: CUcontext, to: *mut u64) { put(to, (or_current(process, context)? - PRIMARY) as u64 / 16 + 1) }

    @free fn cuCtxGetApiVersion(context: CUcontext, to: *mut u32) {
        or_current(process, context)?;
        put(to, API_VERSION)
    }

    @free fn cuCtxSynchronize_v2(context: CUcontext) {
        or_current(process, context)?;
        done(calls::devices::cudaDeviceSynchronize())
    }

    @free fn cuDevicePrimaryCtxRetain(to: *mut CUcontext, device: c_int) {
        devices::check(device)?;
        if to.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        put(to, retain_primary(process) as CUcontext)
    }

    @free fn cuDevicePrimaryCtxRelease_v2(device: c_int) {
        devices::check(device)?;
        release_primary(process)
    }

    @free fn cuDevicePrimaryCtxReset_v2(device: c_int) {
        devices::check(device)?;
        devices::reset(process)
    }

    @free fn cuDevicePrimaryCtxSetFlags_v2(device: c_int, flags: u32) {
        devices::check(device)?;
        set_primary_flags(process, flags)
    }

    @free fn cuDevicePrimaryCtxGetState(device: c_int, to: *mut u32, active: *mut c_int) {
        devices::check(device)?;
        let (flags, is_active) = primary_state(process);
        put(to, flags)?;
        put(active, is_active.into())
    }

    fn cuCtxEnablePeerAccess(peer: CUcontext, flags: u32) {
        check(process, peer.addr())?;
        // All contexts are of one device, which is no peer of itself.
        if flags != 0 { Err(Error::INVALID_VALUE) } else { Err(Error::PEER_ACCESS_UNSUPPORTED) }
    }

    fn cuCtxDisablePeerAccess(peer: CUcontext) {
        check(process, peer.addr())?;
        Err(Error::PEER_ACCESS_NOT_ENABLED)
    }
}

same! {
    fn cuCtxSynchronize() = calls::devices::cudaDeviceSynchronize;
    fn cuCtxGetLimit(value: *mut usize, limit: u32) = calls::devices::cudaDeviceGetLimit;
    fn cuCtxSetLimit(limit: u32, value: usize) = calls::devices::cudaDeviceSetLimit;
    fn cuCtxGetCacheConfig(config: *mut u32) = calls::devices::cudaDeviceGetCacheConfig;
    fn cuCtxSetCacheConfig(config: u32) = calls::devices::cudaDeviceSetCacheConfig;
    fn cuCtxGetSharedMemConfig(config: *mut u32) = calls::devices::cudaDeviceGetSharedMemConfig;
    fn cuCtxSetSharedMemConfig(config: u32) = calls::devices::cudaDeviceSetSharedMemConfig;
    fn cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) = calls::devices::cudaDeviceGetStreamPriorityRange;
    fn cuCtxResetPersistingL2Cache() = calls::devices::cudaCtxResetPersistingL2Cache;
}

/// The context of a stream: the current one of the thread that asks.
///
/// # Errors
/// Those of [`contexts::check_current`].
pub(super) fn of_stream(process: &Process) -> Result<CUcontext> {
    contexts::check_current(process).map(|context| context as CUcontext)
}
