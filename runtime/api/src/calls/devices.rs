//! Devices, their limits and attributes, and the last error.

use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::Ordering;

use crate::calls::export::api;
use crate::calls::start::process;
use crate::host::device_properties::cudaDeviceProp;
use crate::host::edge::{get, guard, put, put_if_asked};
use crate::host::errors::Error;
use crate::host::limits::CUDA_VERSION;
use crate::work::devices::{cache_config, check, limit, pci_bus_id, reset, set_limit};
use crate::work::streams;

api! { process;
    @always fn cudaGetDeviceCount(count: *mut c_int) { put(count, 1) }

    @always fn cudaGetDevice(device: *mut c_int) { put(device, 0) }

    fn cudaSetDevice(device: c_int) { check(device) }

    fn cudaInitDevice(device: c_int, _device_flags: u32, _flags: u32) { check(device) }

    fn cudaSetValidDevices(devices: *mut c_int, len: c_int) {
        if len < 0 || (devices.is_null() && len > 0) {
            return Err(Error::INVALID_VALUE);
        }
        (0..len as usize).try_for_each(|i| check(*devices.add(i)))
    }

    fn cudaChooseDevice(device: *mut c_int, prop: *const cudaDeviceProp) {
        get(prop)?;
        put(device, 0)
    }

    fn cudaGetDeviceFlags(flags: *mut u32) { put(flags, process.settings.flags.load(Ordering::Relaxed)) }

    fn cudaSetDeviceFlags(flags: u32) {
        if flags & !0xff != 0 {
            return Err(Error::INVALID_VALUE);
        }
        process.settings.flags.store(flags | 8, Ordering::Relaxed);
        Ok(())
    }

    fn cudaDeviceGetAttribute(value: *mut c_int, attribute: u32, device: c_int) {
        check(device)?;
        put(value, process.backend().attribute(attribute)?)
    }

    fn cudaDeviceGetP2PAttribute(value: *mut c_int, _attr: u32, from: c_int, to: c_int) {
        check(from)?;
        check(to)?;
        // As CUDA: a device is no peer of itself.
        if value.is_null() { Err(Error::INVALID_VALUE) } else { Err(Error::INVALID_DEVICE) }
    }

    fn cudaDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) {
        check(device)?;
        check(peer)?;
        put(can, 0)
    }

    fn cudaDeviceEnablePeerAccess(_peer: c_int, flags: u32) {
        if flags != 0 { Err(Error::INVALID_VALUE) } else { Err(Error::INVALID_DEVICE) }
    }

    fn cudaDeviceDisablePeerAccess(_peer: c_int) { Err(Error::PEER_ACCESS_NOT_ENABLED) }

    fn cudaDeviceSynchronize() { streams::synchronize_device(process) }

    fn cudaThreadSynchronize() { streams::synchronize_device(process) }

    @always fn cudaDeviceReset() { reset(process) }

    @always fn cudaThreadExit() { reset(process) }

    fn cudaDeviceSetLimit(number: u32, value: usize) { set_limit(process, number, value) }

    fn cudaDeviceGetLimit(value: *mut usize, number: u32) {
        put(value, limit(process, number)?.load(Ordering::Relaxed))
    }

    fn cudaThreadSetLimit(number: u32, value: usize) { set_limit(process, number, value) }

    fn cudaThreadGetLimit(value: *mut usize, number: u32) {
        put(value, limit(process, number)?.load(Ordering::Relaxed))
    }

    fn cudaDeviceGetCacheConfig(config: *mut u32) { put(config, process.settings.cache_config.load(Ordering::Relaxed)) }

    fn cudaDeviceSetCacheConfig(config: u32) { cache_config(process, config) }

    fn cudaThreadGetCacheConfig(config: *mut u32) { put(config, process.settings.cache_config.load(Ordering::Relaxed)) }

    fn cudaThreadSetCacheConfig(config: u32) { cache_config(process, config) }

    fn cudaDeviceGetSharedMemConfig(config: *mut u32) { put(config, process.settings.shared_config.load(Ordering::Relaxed)) }

    fn cudaDeviceSetSharedMemConfig(config: u32) {
        if config > 2 {
            return Err(Error::INVALID_VALUE);
        }
        process.settings.shared_config.store(config, Ordering::Relaxed);
        Ok(())
    }

    fn cudaDeviceGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) {
        put_if_asked(least, streams::LEAST_PRIORITY);
        put_if_asked(greatest, streams::GREATEST_PRIORITY);
        Ok(())
    }

    fn cudaDeviceGetPCIBusId(id: *mut c_char, len: c_int, device: c_int) {
        check(device)?;
        let text = pci_bus_id(process) + "\0";
        if id.is_null() || (len as usize) < text.len() || len < 0 {
            return Err(Error::INVALID_VALUE);
        }
        std::ptr::copy_nonoverlapping(text.as_ptr(), id.cast(), text.len());
        Ok(())
    }

    fn cudaDeviceGetByPCIBusId(device: *mut c_int, id: *const c_char) {
        if id.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        let (own, asked) = (pci_bus_id(process), CStr::from_ptr(id).to_bytes());
        match asked == own.as_bytes() || own.strip_prefix("0000:").is_some_and(|short| asked == short.as_bytes()) {
            true => put(device, 0),
            false => Err(Error::INVALID_VALUE),
        }
    }

    fn cudaDeviceFlushGPUDirectRDMAWrites(_target: u32, _scope: u32) { Ok(()) }

    fn cudaCtxResetPersistingL2Cache() { Ok(()) }

    @always fn cudaDriverGetVersion(version: *mut c_int) { put(version, CUDA_VERSION) }

    @always fn cudaRuntimeGetVersion(version: *mut c_int) {
        let built_for = process.program().modules.cuda();
        put(version, if built_for == 0 { CUDA_VERSION } else { built_for as c_int })
    }

    fn cudaProfilerStart() { Ok(()) }

    fn cudaProfilerStop() { Ok(()) }

    fn cudaSetDoubleForDevice(_d: *mut f64) { Ok(()) }

    fn cudaSetDoubleForHost(_d: *mut f64) { Ok(()) }

}

/// `cudaGetLastError` of the CUDA Runtime API.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetLastError() -> Error {
    guard("cudaGetLastError", Error::UNKNOWN, || process().session.sticky.take())
}

/// `cudaPeekAtLastError` of the CUDA Runtime API.
#[unsafe(no_mangle)]
pub extern "C" fn cudaPeekAtLastError() -> Error {
    guard("cudaPeekAtLastError", Error::UNKNOWN, || process().session.sticky.peek())
}

/// `cudaGetErrorName` of the CUDA Runtime API.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorName(error: Error) -> *const c_char {
    error.name().as_ptr()
}

/// `cudaGetErrorString` of the CUDA Runtime API.
#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorString(error: Error) -> *const c_char {
    error.text().as_ptr()
}
