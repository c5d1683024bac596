//! Allocating, freeing, and asking about pointers.

use std::ffi::c_void;

use crate::backend::memory::MemoryKind;
use crate::calls::export::api;
use crate::host::edge::put;
use crate::host::errors::Error;
use crate::host::types::{cudaExtent, cudaPitchedPtr, cudaPointerAttributes, cudaStream_t};
use crate::work::pointers::{
    ATTACH_FLAGS, HOST_ALLOC_FLAGS, HOST_ALLOC_MAPPED, HOST_REGISTER_FLAGS, allocate_to, attributes_of,
    check_device_range, free_pointer, pitch_of,
};
use crate::work::{allocations, stream_frees, streams};

api! { process;
    fn cudaMalloc(to: *mut *mut c_void, size: usize) { allocate_to(process, to, size, MemoryKind::Device, 0) }

    fn cudaMallocManaged(to: *mut *mut c_void, size: usize, flags: u32) {
        if size == 0 || !ATTACH_FLAGS.contains(&flags) {
            return Err(Error::INVALID_VALUE);
        }
        allocate_to(process, to, size, MemoryKind::Managed, flags)
    }

    fn cudaMallocHost(to: *mut *mut c_void, size: usize) { allocate_to(process, to, size, MemoryKind::Host, 0) }

    fn cudaHostAlloc(to: *mut *mut c_void, size: usize, flags: u32) {
        if flags & !HOST_ALLOC_FLAGS != 0 {
            return Err(Error::INVALID_VALUE);
        }
        allocate_to(process, to, size, MemoryKind::Host, flags)
    }

    fn cudaMallocPitch(to: *mut *mut c_void, pitch: *mut usize, width: usize, height: usize) {
        let row = pitch_of(width)?;
        put(pitch, row)?;
        let size = row.checked_mul(height).ok_or(Error::MEMORY_ALLOCATION)?;
        allocate_to(process, to, size, MemoryKind::Device, 0)
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
        allocate_to(process, &mut ptr, size, MemoryKind::Device, 0)?;
        put(to, cudaPitchedPtr { ptr, pitch, xsize: extent.width, ysize: extent.height })
    }

    fn cudaFree(pointer: *mut c_void) { free_pointer(process, pointer, &[MemoryKind::Device, MemoryKind::Managed]) }

    fn cudaFreeHost(pointer: *mut c_void) { free_pointer(process, pointer, &[MemoryKind::Host]) }

    fn cudaHostRegister(pointer: *mut c_void, size: usize, flags: u32) {
        if pointer.is_null() || size == 0 || flags & !HOST_REGISTER_FLAGS != 0 {
            return Err(Error::INVALID_VALUE);
        }
        if (pointer as usize).checked_add(size).is_none() {
            return Err(Error::INVALID_VALUE);
        }
        allocations::register(process, pointer as usize, size, flags)
    }

    fn cudaHostUnregister(pointer: *mut c_void) {
        if pointer.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        streams::synchronize_device(process)?;
        allocations::free(process, pointer as usize, &[MemoryKind::Registered])
            .map(|_| ())
            .map_err(|_| Error::HOST_MEMORY_NOT_REGISTERED)
    }

    fn cudaHostGetDevicePointer(to: *mut *mut c_void, pointer: *mut c_void, flags: u32) {
        match process.program().allocations.find(pointer as usize).map(|found| found.kind) {
            Some(MemoryKind::Managed) if flags == 0 => put(to, pointer),
            Some(MemoryKind::Host | MemoryKind::Registered) if flags == 0 => {
                put(to, process.backend().device_address(pointer as usize)? as *mut c_void)
            }
            _ => Err(Error::INVALID_VALUE),
        }
    }

    fn cudaHostGetFlags(flags: *mut u32, pointer: *mut c_void) {
        match process.program().allocations.find(pointer as usize) {
            Some(found) if matches!(found.kind, MemoryKind::Host | MemoryKind::Registered) => {
                put(flags, found.flags | HOST_ALLOC_MAPPED)
            }
            _ => Err(Error::INVALID_VALUE),
        }
    }

    fn cudaPointerGetAttributes(attributes: *mut cudaPointerAttributes, pointer: *const c_void) {
        put(attributes, attributes_of(process, pointer.cast_mut()))
    }

    fn cudaMemGetInfo(free: *mut usize, total: *mut usize) {
        if free.is_null() || total.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        stream_frees::give_back(process);
        let (left, all) = process.backend().memory();
        put(free, left)?;
        put(total, all)
    }

    @ptsz fn cudaStreamAttachMemAsync(stream: cudaStream_t, pointer: *mut c_void, _length: usize, _flags: u32) {
        streams::resolve(process, stream)?;
        check_device_range(process, pointer, 1)
    }
}
