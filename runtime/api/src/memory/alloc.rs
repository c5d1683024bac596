//! The functions that allocate and free.

use std::ffi::{c_int, c_void};

use crate::edge::{api, put};
use crate::errors::{Error, Result};
use crate::graph::work;
use crate::memory::later;
use crate::memory::map::{self, Kind};
use crate::properties::{MAX_PITCH, PITCH_ALIGNMENT};
use crate::types::{cudaExtent, cudaMemLocation, cudaPitchedPtr, cudaPointerAttributes, cudaStream_t};
use crate::{backend, device, modules, stream};

/// `cudaMemAttachGlobal | cudaMemAttachHost`, what `cudaMallocManaged` takes.
const ATTACH_FLAGS: [u32; 2] = [1, 2];
/// `cudaHostRegisterPortable`, `Mapped`, `IoMemory`, `ReadOnly`.
const HOST_REGISTER_FLAGS: u32 = 0xf;
/// `cudaHostAllocPortable`, `Mapped`, `WriteCombined`.
const HOST_ALLOC_FLAGS: u32 = 0x7;
/// `cudaHostAllocMapped`: under unified addressing all host memory is mapped.
const HOST_ALLOC_MAPPED: u32 = 0x2;
/// `cudaCpuDeviceId`.
const CPU_DEVICE: c_int = -1;
/// `cudaInvalidDeviceId`.
const INVALID_DEVICE: c_int = -2;

/// Allocates for a caller that wants a pointer; zero bytes are a null pointer.
///
/// # Safety
/// `to` is null or valid for a write.
pub unsafe fn allocate_to(to: *mut *mut c_void, size: usize, kind: Kind, flags: u32) -> Result {
    if to.is_null() {
        return Err(Error::INVALID_VALUE);
    }
    let pointer = match size {
        0 => std::ptr::null_mut(),
        _ => {
            let allocated = map::allocate(size, kind, flags).or_else(|error| match error {
                Error::MEMORY_ALLOCATION if later::wait() => map::allocate(size, kind, flags),
                error => Err(error),
            });
            allocated?.address as *mut c_void
        }
    };
    // SAFETY: not null, and the caller vouches for it.
    unsafe { put(to, pointer) }
}

/// Frees a pointer of one of the `kinds`; a null pointer is nothing to free.
///
/// # Errors
/// `cudaErrorInvalidValue` where nothing of that kind starts there.
pub fn free_pointer(pointer: *mut c_void, kinds: &[Kind]) -> Result {
    if pointer.is_null() {
        return Ok(());
    }
    // As CUDA: memory is not freed while work that may use it is pending.
    stream::synchronize_device()?;
    if work::is_owned(pointer as usize) {
        return Ok(());
    }
    map::free(pointer as usize, kinds).map(|_| ())
}

/// Bytes from one row to the next for rows of `width` bytes.
pub fn pitch_of(width: usize) -> Result<usize> {
    match width.checked_next_multiple_of(PITCH_ALIGNMENT) {
        Some(pitch) if pitch <= MAX_PITCH => Ok(pitch),
        _ => Err(Error::INVALID_VALUE),
    }
}

fn check_device_range(pointer: *const c_void, count: usize) -> Result {
    let address = pointer as usize;
    let fits = match map::find(address) {
        Some(found) => found.contains(address, count),
        None => modules::variable_at(address)
            .is_some_and(|variable| count <= variable.size - (address - variable.address)),
    };
    if fits { Ok(()) } else { Err(Error::INVALID_VALUE) }
}

fn check_location(location: c_int) -> Result {
    if location == CPU_DEVICE { Ok(()) } else { device::check(location) }
}

/// Device and host pointer to the same memory, and who owns it.
fn attributes_of(pointer: *mut c_void) -> cudaPointerAttributes {
    let known = |kind, host: bool| cudaPointerAttributes {
        kind,
        device: 0,
        devicePointer: pointer,
        hostPointer: if host { pointer } else { std::ptr::null_mut() },
    };
    match map::find(pointer as usize).map(|found| found.kind) {
        Some(Kind::Host | Kind::Registered) => known(1, true),
        Some(Kind::Device | Kind::Array) => known(2, false),
        Some(Kind::Managed) => known(3, true),
        None => match modules::variable_at(pointer as usize) {
            Some(variable) if variable.managed => known(3, true),
            Some(_) => known(2, false),
            None => cudaPointerAttributes {
                kind: 0,
                device: INVALID_DEVICE,
                devicePointer: std::ptr::null_mut(),
                hostPointer: pointer,
            },
        },
    }
}

api! {
    fn cudaMalloc(to: *mut *mut c_void, size: usize) { allocate_to(to, size, Kind::Device, 0) }

    fn cudaMallocManaged(to: *mut *mut c_void, size: usize, flags: u32) {
        if size == 0 || !ATTACH_FLAGS.contains(&flags) {
            return Err(Error::INVALID_VALUE);
        }
        allocate_to(to, size, Kind::Managed, flags)
    }

    fn cudaMallocHost(to: *mut *mut c_void, size: usize) { allocate_to(to, size, Kind::Host, 0) }

    fn cudaHostAlloc(to: *mut *mut c_void, size: usize, flags: u32) {
        if flags & !HOST_ALLOC_FLAGS != 0 {
            return Err(Error::INVALID_VALUE);
        }
        allocate_to(to, size, Kind::Host, flags)
    }

    fn cudaMallocPitch(to: *mut *mut c_void, pitch: *mut usize, width: usize, height: usize) {
        let row = pitch_of(width)?;
        put(pitch, row)?;
        let size = row.checked_mul(height).ok_or(Error::MEMORY_ALLOCATION)?;
        allocate_to(to, size, Kind::Device, 0)
    }

    fn cudaMalloc3D(to: *mut cudaPitchedPtr, extent: cudaExtent) {
        let pitch = pitch_of(extent.width)?;
        let size = pitch
            .checked_mul(extent.height)
            .and_then(|size| size.checked_mul(extent.depth))
            .ok_or(Error::MEMORY_ALLOCATION)?;
        let mut ptr = std::ptr::null_mut();
        if to.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        allocate_to(&mut ptr, size, Kind::Device, 0)?;
        put(to, cudaPitchedPtr { ptr, pitch, xsize: extent.width, ysize: extent.height })
    }

    fn cudaFree(pointer: *mut c_void) { free_pointer(pointer, &[Kind::Device, Kind::Managed]) }

    fn cudaFreeHost(pointer: *mut c_void) { free_pointer(pointer, &[Kind::Host]) }

    fn cudaHostRegister(pointer: *mut c_void, size: usize, flags: u32) {
        if pointer.is_null() || size == 0 || flags & !HOST_REGISTER_FLAGS != 0 {
            return Err(Error::INVALID_VALUE);
        }
        if (pointer as usize).checked_add(size).is_none() {
            return Err(Error::INVALID_VALUE);
        }
        map::register(pointer as usize, size, flags)
    }

    fn cudaHostUnregister(pointer: *mut c_void) {
        if pointer.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        stream::synchronize_device()?;
        map::free(pointer as usize, &[Kind::Registered])
            .map(|_| ())
            .map_err(|_| Error::HOST_MEMORY_NOT_REGISTERED)
    }

    fn cudaHostGetDevicePointer(to: *mut *mut c_void, pointer: *mut c_void, flags: u32) {
        match map::find(pointer as usize).map(|found| found.kind) {
            Some(Kind::Managed) if flags == 0 => put(to, pointer),
            Some(Kind::Host | Kind::Registered) if flags == 0 => {
                put(to, backend::get().device_address(pointer as usize)? as *mut c_void)
            }
            _ => Err(Error::INVALID_VALUE),
        }
    }

    fn cudaHostGetFlags(flags: *mut u32, pointer: *mut c_void) {
        match map::find(pointer as usize) {
            Some(found) if matches!(found.kind, Kind::Host | Kind::Registered) => {
                put(flags, found.flags | HOST_ALLOC_MAPPED)
            }
            _ => Err(Error::INVALID_VALUE),
        }
    }

    fn cudaPointerGetAttributes(attributes: *mut cudaPointerAttributes, pointer: *const c_void) {
        put(attributes, attributes_of(pointer.cast_mut()))
    }

    fn cudaMemGetInfo(free: *mut usize, total: *mut usize) {
        if free.is_null() || total.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        later::give_back();
        let (left, all) = backend::get().memory();
        put(free, left)?;
        put(total, all)
    }

    @ptsz fn cudaMemPrefetchAsync(pointer: *const c_void, count: usize, to: c_int, stream: cudaStream_t) {
        check_location(to)?;
        stream::resolve(stream)?;
        check_device_range(pointer, count)
    }

    @ptsz fn cudaMemPrefetchAsync_v2(pointer: *const c_void, count: usize, _to: cudaMemLocation, _flags: u32, stream: cudaStream_t) {
        stream::resolve(stream)?;
        check_device_range(pointer, count)
    }

    fn cudaMemAdvise(pointer: *const c_void, count: usize, advice: u32, to: c_int) {
        // The read-mostly advice (1, 2) takes no location.
        if !(1..=6).contains(&advice) {
            return Err(Error::INVALID_VALUE);
        }
        if advice > 2 && to != INVALID_DEVICE {
            check_location(to)?;
        }
        check_device_range(pointer, count)
    }

    fn cudaMemAdvise_v2(pointer: *const c_void, count: usize, advice: u32, _to: cudaMemLocation) {
        if !(1..=6).contains(&advice) {
            return Err(Error::INVALID_VALUE);
        }
        check_device_range(pointer, count)
    }

    @ptsz fn cudaStreamAttachMemAsync(stream: cudaStream_t, pointer: *mut c_void, _length: usize, _flags: u32) {
        stream::resolve(stream)?;
        check_device_range(pointer, 1)
    }
}
