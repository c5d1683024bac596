//! Device management: one device, number 0.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::host::errors::{Error, Result};
use crate::work::{Process, allocations, streams};

/// Succeeds for the only device.
///
/// # Errors
/// `cudaErrorInvalidDevice` for any other number.
pub fn check(device: c_int) -> Result {
    if device == 0 { Ok(()) } else { Err(Error::INVALID_DEVICE) }
}

/// What the program has set for the device. All but the limits is kept only to give it back.
pub struct DeviceSettings {
    /// `cudaLimit` values by number, bytes or counts.
    limits: [AtomicUsize; 7],
    /// Flags of `cudaSetDeviceFlags`.
    pub flags: AtomicU32,
    /// `cudaSharedMemConfig`.
    pub shared_config: AtomicU32,
    /// `cudaFuncCache`.
    pub cache_config: AtomicU32,
}

impl Default for DeviceSettings {
    /// CUDA's defaults. Mapped host memory is always possible.
    fn default() -> Self {
        Self {
            limits: [1024, 1 << 20, 8 << 20, 2, 2048, 64, 0].map(AtomicUsize::new),
            flags: AtomicU32::new(8),
            shared_config: AtomicU32::new(0),
            cache_config: AtomicU32::new(0),
        }
    }
}

/// The value of a `cudaLimit`.
///
/// # Errors
/// `cudaErrorUnsupportedLimit` for an unknown number.
pub fn limit(process: &Process, number: u32) -> Result<&AtomicUsize> {
    process.settings.limits.get(number as usize).ok_or(Error::UNSUPPORTED_LIMIT)
}

/// Sets a `cudaLimit`.
///
/// # Errors
/// `cudaErrorUnsupportedLimit` for an unknown number, and the device's.
pub fn set_limit(process: &Process, number: u32, value: usize) -> Result {
    let known = limit(process, number)?;
    process.backend().set_limit(number, value)?;
    known.store(value, Ordering::Relaxed);
    Ok(())
}

/// Sets the `cudaFuncCache` of the device.
///
/// # Errors
/// `cudaErrorInvalidValue` for an unknown number.
pub fn cache_config(process: &Process, config: u32) -> Result {
    if config > 3 {
        return Err(Error::INVALID_VALUE);
    }
    process.settings.cache_config.store(config, Ordering::Relaxed);
    Ok(())
}

/// Where the device is on the bus: domain, bus, device and function.
pub fn pci_bus_id(process: &Process) -> String {
    let p = process.backend().properties();
    format!("{:04x}:{:02x}:{:02x}.0", p.pciDomainID, p.pciBusID, p.pciDeviceID)
}

/// Frees everything and clears the sticky error: `cudaDeviceReset`. Never fails.
pub fn reset(process: &Process) -> Result {
    // The fault of a kernel ends with the device's memory.
    let _ = streams::synchronize_device(process);
    allocations::release_all(process);
    process.session.sticky.clear();
    process.session.sticky.take();
    Ok(())
}
