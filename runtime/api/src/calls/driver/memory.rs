//! Allocating and freeing. A `CUdeviceptr` is an address.

use std::ffi::c_void;

use crate::backend::memory::MemoryKind;
use crate::calls;
use crate::calls::driver::export::{driver_api, same};
use crate::host::edge::put;
use crate::host::errors::Error;
use crate::host::types::{cudaMemPool_t, cudaStream_t};
use crate::work::pointers::{allocate_to, pitch_of};

driver_api! { process;
    fn cuMemAlloc_v2(to: *mut *mut c_void, size: usize) {
        // Unlike the runtime API, the driver gives no null pointer for nothing.
        if size == 0 {
            return Err(Error::INVALID_VALUE);
        }
        allocate_to(process, to, size, MemoryKind::Device, 0)
    }

    fn cuMemAllocPitch_v2(to: *mut *mut c_void, pitch: *mut usize, width: usize, height: usize, element: u32) {
        if !matches!(element, 4 | 8 | 16) || width == 0 || height == 0 {
            return Err(Error::INVALID_VALUE);
        }
        let row = pitch_of(width)?;
        put(pitch, row)?;
        let size = row.checked_mul(height).ok_or(Error::MEMORY_ALLOCATION)?;
        allocate_to(process, to, size, MemoryKind::Device, 0)
    }
}

same! {
    fn cuMemFree_v2(pointer: *mut c_void) = calls::memory::cudaFree;
    fn cuMemAllocHost_v2(to: *mut *mut c_void, size: usize) = calls::memory::cudaMallocHost;
    fn cuMemHostAlloc(to: *mut *mut c_void, size: usize, flags: u32) = calls::memory::cudaHostAlloc;
    fn cuMemFreeHost(pointer: *mut c_void) = calls::memory::cudaFreeHost;
    fn cuMemHostRegister_v2(pointer: *mut c_void, size: usize, flags: u32) = calls::memory::cudaHostRegister;
    fn cuMemHostUnregister(pointer: *mut c_void) = calls::memory::cudaHostUnregister;
    fn cuMemHostGetDevicePointer_v2(to: *mut *mut c_void, pointer: *mut c_void, flags: u32) = calls::memory::cudaHostGetDevicePointer;
    fn cuMemHostGetFlags(flags: *mut u32, pointer: *mut c_void) = calls::memory::cudaHostGetFlags;
    fn cuMemAllocManaged(to: *mut *mut c_void, size: usize, flags: u32) = calls::memory::cudaMallocManaged;
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) = calls::memory::cudaMemGetInfo;
    @ptsz fn cuStreamAttachMemAsync(stream: cudaStream_t, pointer: *mut c_void, length: usize, flags: u32) = calls::memory::cudaStreamAttachMemAsync;
    @ptsz fn cuMemAllocAsync(to: *mut *mut c_void, size: usize, stream: cudaStream_t) = calls::pools::cudaMallocAsync;
    @ptsz fn cuMemAllocFromPoolAsync(to: *mut *mut c_void, size: usize, pool: cudaMemPool_t, stream: cudaStream_t) = calls::pools::cudaMallocFromPoolAsync;
    @ptsz fn cuMemFreeAsync(pointer: *mut c_void, stream: cudaStream_t) = calls::pools::cudaFreeAsync;
}
