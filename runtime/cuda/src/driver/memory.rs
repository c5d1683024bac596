//! Memory: allocations, reserved addresses and physical memory, memory of the host that kernels
//! reach.

use std::ffi::c_void;
use std::ptr;

use super::{Address, Result, call};

/// Physical memory of the device, without an address.
#[derive(Clone, Copy, Debug)]
pub struct Physical(u64);

impl Physical {
    pub(super) fn new(handle: u64) -> Self {
        Self(handle)
    }

    pub(super) fn raw(self) -> u64 {
        self.0
    }
}

/// Releases physical memory. It is freed once nothing maps it.
pub fn release(memory: Physical) -> Result {
    call!(cuMemRelease(memory.raw()))
}

/// Unmaps memory from its addresses, which stay reserved.
pub fn unmap(address: Address, size: u64) -> Result {
    call!(cuMemUnmap(address, size as usize))
}

/// Reserves addresses, without memory.
pub fn reserve(size: u64) -> Result<Address> {
    let mut address = 0;
    call!(cuMemAddressReserve(&mut address, size as usize, 0, 0, 0))?;
    Ok(address)
}

/// Frees reserved addresses.
pub fn unreserve(address: Address, size: u64) -> Result {
    call!(cuMemAddressFree(address, size as usize))
}

/// Allocates memory on the device.
pub fn allocate(size: u64) -> Result<Address> {
    let mut address = 0;
    call!(cuMemAlloc_v2(&mut address, size as usize))?;
    Ok(address)
}

/// Frees memory of the device, or managed memory.
pub fn free(address: Address) -> Result {
    call!(cuMemFree_v2(address))
}

/// Allocates memory of the host that kernels reach. Returns its addresses on the host and on the
/// device.
pub fn mapped(size: u64) -> Result<(*mut c_void, Address)> {
    let host = page_locked(size)?;
    Ok((host, device_address(host as usize)?))
}

/// Allocates managed memory, which host and device reach at the same address.
pub fn managed(size: u64) -> Result<Address> {
    let mut address = 0;
    // CU_MEM_ATTACH_GLOBAL
    call!(cuMemAllocManaged(&mut address, size as usize, 1))?;
    Ok(address)
}

/// Allocates page-locked memory of the host, which kernels reach at the same address.
pub fn page_locked(size: u64) -> Result<*mut c_void> {
    let mut host = ptr::null_mut();
    // CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP
    call!(cuMemHostAlloc(&mut host, size as usize, 1 | 2))?;
    Ok(host)
}

/// Frees page-locked memory.
///
/// # Safety
/// Nobody uses it any more.
pub unsafe fn free_page_locked(host: *mut c_void) -> Result {
    call!(cuMemFreeHost(host))
}

/// Page-locks memory of the program.
pub fn register(host: usize, size: usize, read_only: bool) -> Result {
    // CU_MEMHOSTREGISTER_PORTABLE | DEVICEMAP, READ_ONLY
    call!(cuMemHostRegister_v2(host as *mut c_void, size, 1 | 2 | (u32::from(read_only) << 3)))
}

/// Undoes [`register`].
pub fn unregister(host: usize) -> Result {
    call!(cuMemHostUnregister(host as *mut c_void))
}

/// The address at which kernels reach page-locked memory.
///
/// # Errors
/// The driver's: kernels do not reach it.
pub fn device_address(host: usize) -> Result<Address> {
    let mut address = 0;
    call!(cuMemHostGetDevicePointer_v2(&mut address, host as *mut c_void, 0))?;
    Ok(address)
}
