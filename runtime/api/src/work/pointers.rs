//! Allocating for a caller that wants a pointer, and facts about pointers.

use std::ffi::{c_int, c_void};

use crate::backend::memory::MemoryKind;
use crate::host::edge::put;
use crate::host::errors::{Error, Result};
use crate::host::limits::{MAX_PITCH, PITCH_ALIGNMENT};
use crate::host::types::cudaPointerAttributes;
use crate::work::graph::work;
use crate::work::stream_frees;
use crate::work::{Process, allocations, devices, streams};

/// `cudaMemAttachGlobal | cudaMemAttachHost`, what `cudaMallocManaged` takes.
pub const ATTACH_FLAGS: [u32; 2] = [1, 2];
/// `cudaHostRegisterPortable`, `Mapped`, `IoMemory`, `ReadOnly`.
pub const HOST_REGISTER_FLAGS: u32 = 0xf;
/// `cudaHostAllocPortable`, `Mapped`, `WriteCombined`.
pub const HOST_ALLOC_FLAGS: u32 = 0x7;
/// `cudaHostAllocMapped`: under unified addressing all host memory is mapped.
pub const HOST_ALLOC_MAPPED: u32 = 0x2;
/// `cudaCpuDeviceId`.
pub const CPU_DEVICE: c_int = -1;
/// `cudaInvalidDeviceId`.
pub const INVALID_DEVICE: c_int = -2;

/// Allocates memory and writes its address to `to`: a null pointer for zero bytes.
///
/// # Safety
/// `to` is null or valid for a write.
///
/// # Errors
/// `cudaErrorMemoryAllocation`, or `cudaErrorInvalidValue` if `to` is null.
pub unsafe fn allocate_to(
    process: &Process,
    to: *mut *mut c_void,
    size: usize,
    kind: MemoryKind,
    flags: u32,
) -> Result {
    if to.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    let allocate = || allocations::allocate(process, size, kind, flags);
    let pointer = match size {
        0 => std::ptr::null_mut(),
        _ => {
            let allocated = allocate().or_else(|error| match error {
                Error::MEMORY_ALLOCATION if stream_frees::wait(process) => allocate(),
                error => Err(error),
            });
            allocated?.address as *mut c_void
        }
    };
    // SAFETY: it is not null, and the caller keeps the contract above.
    unsafe { put(to, pointer) }
}

/// Frees a pointer of one of the `kinds`. Nothing happens for a null pointer.
///
/// # Errors
/// `cudaErrorInvalidValue` if no allocation of that kind starts there.
pub fn free_pointer(process: &Process, pointer: *mut c_void, kinds: &[MemoryKind]) -> Result {
    if pointer.is_null() {
        return Ok(());
    }
    // As in CUDA, memory is not freed while submitted work may use it.
    streams::synchronize_device(process)?;
    if work::is_owned(process, pointer as usize) {
        return Ok(());
    }
    allocations::free(process, pointer as usize, kinds).map(|_| ())
}

/// Bytes from one row to the next for rows of `width` bytes.
///
/// # Errors
/// `cudaErrorInvalidValue` if the rows are too long.
pub fn pitch_of(width: usize) -> Result<usize> {
    match width.checked_next_multiple_of(PITCH_ALIGNMENT) {
        Some(pitch) if pitch <= MAX_PITCH => Ok(pitch),
        _ => Err(Error::INVALID_VALUE),
    }
}

/// Checks that these bytes lie in one allocation or device variable.
///
/// # Errors
/// `cudaErrorInvalidValue` if they do not.
pub fn check_device_range(process: &Process, pointer: *const c_void, count: usize) -> Result {
    let address = pointer as usize;
    let memory = process.program().memory_at(address);
    let fits = memory.is_some_and(|(_, bytes)| count <= bytes.end - address);
    if fits { Ok(()) } else { Err(Error::INVALID_VALUE) }
}

/// Checks that this is the device or the host.
///
/// # Errors
/// `cudaErrorInvalidDevice` if it is not.
pub fn check_location(location: c_int) -> Result {
    if location == CPU_DEVICE { Ok(()) } else { devices::check(location) }
}

/// The result of `cudaPointerGetAttributes`.
pub fn attributes_of(process: &Process, pointer: *mut c_void) -> cudaPointerAttributes {
    let known = |kind, host: bool| cudaPointerAttributes {
        kind,
        device: 0,
        devicePointer: pointer,
        hostPointer: if host { pointer } else { std::ptr::null_mut() },
    };
    match process.program().memory_at(pointer as usize) {
        Some((MemoryKind::Host | MemoryKind::Registered, _)) => known(1, true),
        Some((MemoryKind::Device | MemoryKind::Array, _)) => known(2, false),
        Some((MemoryKind::Managed, _)) => known(3, true),
        None => cudaPointerAttributes {
            kind: 0,
            device: INVALID_DEVICE,
            devicePointer: std::ptr::null_mut(),
            hostPointer: pointer,
        },
    }
}
