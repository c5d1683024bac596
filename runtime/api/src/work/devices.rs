//! Device management: one device, number 0.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::backend;
use crate::host::errors::{self, Error, Result};
use crate::work::{allocations, streams};

/// Succeeds for the only device.
///
/// # Errors
/// `cudaErrorInvalidDevice` for any other number.
pub fn check(device: c_int) -> Result {
    if device == 0 { Ok(()) } else { Err(Error::INVALID_DEVICE) }
}

/// `cudaLimit` values by number, bytes or counts, with CUDA's defaults.
pub static LIMITS: [AtomicUsize; 7] = [
    AtomicUsize::new(1024),
    AtomicUsize::new(1 << 20),
    AtomicUsize::new(8 << 20),
    AtomicUsize::new(2),
    AtomicUsize::new(2048),
    AtomicUsize::new(64),
    AtomicUsize::new(0),
];

/// Flags of `cudaSetDeviceFlags`. Mapped host memory is always possible.
pub static DEVICE_FLAGS: AtomicU32 = AtomicU32::new(8);
/// `cudaSharedMemConfig`, kept only to give it back.
pub static SHARED_CONFIG: AtomicU32 = AtomicU32::new(0);
/// `cudaFuncCache`, kept only to give it back.
pub static CACHE_CONFIG: AtomicU32 = AtomicU32::new(0);

/// The value of a `cudaLimit`.
///
/// # Errors
/// `cudaErrorUnsupportedLimit` for an unknown number.
pub fn limit(number: u32) -> Result<&'static AtomicUsize> {
    LIMITS.get(number as usize).ok_or(Error::UNSUPPORTED_LIMIT)
}

/// Sets a `cudaLimit`.
///
/// # Errors
/// `cudaErrorUnsupportedLimit` for an unknown number, and the device's.
pub fn set_limit(number: u32, value: usize) -> Result {
    let known = limit(number)?;
    backend::get().set_limit(number, value)?;
    known.store(value, Ordering::Relaxed);
    Ok(())
}

/// Sets the `cudaFuncCache` of the device.
///
/// # Errors
/// `cudaErrorInvalidValue` for an unknown number.
pub fn cache_config(config: u32) -> Result {
    if config > 3 {
        return Err(Error::INVALID_VALUE);
    }
    CACHE_CONFIG.store(config, Ordering::Relaxed);
    Ok(())
}

/// Where the device is on the bus: domain, bus, device and function.
pub fn pci_bus_id() -> String {
    let p = backend::get().properties();
    format!("{:04x}:{:02x}:{:02x}.0", p.pciDomainID, p.pciBusID, p.pciDeviceID)
}

/// Frees everything and clears the sticky error: `cudaDeviceReset`.
///
/// # Errors
/// None.
pub fn reset() -> Result {
    // The fault of a kernel ends with the device's memory.
    let _ = streams::synchronize_device();
    allocations::release_all();
    errors::clear_sticky();
    errors::take();
    Ok(())
}
