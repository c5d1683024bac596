//! What the driver API tells of a pointer.

use std::ffi::{c_int, c_void};

use crate::backend::memory::MemoryKind;
use crate::calls::driver::export::driver_api;
use crate::host::edge::{get, put, put_if_asked};
use crate::host::errors::{Error, Result};
use crate::work::{Process, contexts};

/// `CU_POINTER_ATTRIBUTE_*`, by number.
mod attribute {
    pub const CONTEXT: u32 = 1;
    pub const MEMORY_TYPE: u32 = 2;
    pub const DEVICE_POINTER: u32 = 3;
    pub const HOST_POINTER: u32 = 4;
    pub const SYNC_MEMOPS: u32 = 6;
    pub const BUFFER_ID: u32 = 7;
    pub const IS_MANAGED: u32 = 8;
    pub const DEVICE_ORDINAL: u32 = 9;
    pub const RANGE_START: u32 = 11;
    pub const RANGE_SIZE: u32 = 12;
    pub const MAPPED: u32 = 13;
    pub const ACCESS_FLAGS: u32 = 16;
    /// What the executor's memory is not: for other processes, for other devices, of a pool, compressed.
    pub const NEVER: [u32; 5] = [10, 14, 15, 17, 21];
}

/// `CU_MEMORYTYPE_HOST` or `CU_MEMORYTYPE_DEVICE`.
fn memory_type(kind: MemoryKind) -> u32 {
    match kind {
        MemoryKind::Host | MemoryKind::Registered => 1,
        MemoryKind::Device | MemoryKind::Array | MemoryKind::Managed => 2,
    }
}

/// Writes an attribute of a pointer.
///
/// # Safety
/// `to` is null or valid for a write of the attribute.
unsafe fn tell(process: &Process, to: *mut c_void, attribute: u32, pointer: *mut c_void) -> Result {
    let (kind, range) = process.program().memory_at(pointer.addr()).ok_or(Error::INVALID_VALUE)?;
    let is_host = memory_type(kind) == 1;
    // SAFETY: the caller keeps the contract above.
    unsafe {
        match attribute {
            attribute::CONTEXT => put(to.cast(), contexts::check_current(process)? as *mut c_void),
            attribute::MEMORY_TYPE => put(to.cast(), memory_type(kind)),
            attribute::DEVICE_POINTER if is_host => {
                put(to.cast(), process.backend().device_address(pointer.addr())?)
            }
            attribute::DEVICE_POINTER => put(to.cast(), pointer),
            attribute::HOST_POINTER if is_host || kind == MemoryKind::Managed => put(to.cast(), pointer),
            attribute::HOST_POINTER => Err(Error::INVALID_VALUE),
            attribute::SYNC_MEMOPS => put(to.cast(), false),
            attribute::BUFFER_ID => put(to.cast(), range.start as u64),
            attribute::IS_MANAGED => put(to.cast(), kind == MemoryKind::Managed),
            attribute::DEVICE_ORDINAL => put::<c_int>(to.cast(), 0),
            attribute::RANGE_START => put(to.cast(), range.start),
            attribute::RANGE_SIZE => put(to.cast(), range.len()),
            attribute::MAPPED => put(to.cast(), true),
            // Read and write.
            attribute::ACCESS_FLAGS => put(to.cast(), 3u32),
            // The longest of these is a handle.
            17 => put(to.cast(), 0usize),
            14 => put(to.cast(), 0u64),
            never if attribute::NEVER.contains(&never) => put(to.cast(), false),
            _ => Err(Error::NOT_SUPPORTED),
        }
    }
}

driver_api! { process;
    fn cuPointerGetAttribute(to: *mut c_void, attribute: u32, pointer: *mut c_void) { tell(process, to, attribute, pointer) }

    fn cuPointerGetAttributes(count: u32, attributes: *const u32, to: *mut *mut c_void, pointer: *mut c_void) {
        for at in 0..count as usize {
            let (attribute, to) = (*get(attributes.wrapping_add(at))?, *get(to.wrapping_add(at).cast_const())?);
            match tell(process, to, attribute, pointer) {
                Err(Error::NOT_SUPPORTED) => return Err(Error::NOT_SUPPORTED),
                Ok(()) => {}
                // As in CUDA, a pointer that is none of CUDA's has no attributes, which is no error.
                Err(_) if attribute == attribute::DEVICE_ORDINAL => put::<c_int>(to.cast(), -2)?,
                Err(_) if matches!(attribute, attribute::MEMORY_TYPE | attribute::ACCESS_FLAGS) => put(to.cast(), 0u32)?,
                Err(_) if matches!(attribute, attribute::SYNC_MEMOPS | attribute::IS_MANAGED | attribute::MAPPED)
                    || attribute::NEVER.contains(&attribute) => put(to.cast(), false)?,
                Err(_) => put(to.cast(), 0usize)?,
            }
        }
        Ok(())
    }

    fn cuPointerSetAttribute(value: *const c_void, attribute: u32, pointer: *mut c_void) {
        // Synchronous operations always are.
        let known = attribute == attribute::SYNC_MEMOPS && !value.is_null();
        match process.program().memory_at(pointer.addr()) {
            Some(_) if known => Ok(()),
            _ => Err(Error::INVALID_VALUE),
        }
    }

    fn cuMemGetAddressRange_v2(start: *mut usize, size: *mut usize, pointer: *mut c_void) {
        let (_, range) = process.program().memory_at(pointer.addr()).ok_or(Error::SYMBOL_NOT_FOUND)?;
        put_if_asked(start, range.start);
        put_if_asked(size, range.len());
        Ok(())
    }
}
