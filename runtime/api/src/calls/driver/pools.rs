//! Memory pools, and where managed memory is.

use std::ffi::{c_int, c_void};

use crate::calls;
use crate::calls::driver::export::{done, driver_api, same};
use crate::host::types::{cudaMemAccessDesc, cudaMemLocation, cudaMemPool_t, cudaMemPoolProps, cudaStream_t};
use crate::work::pointers::CPU_DEVICE;

/// The location of a device number: `CU_MEM_LOCATION_TYPE_DEVICE`, or `CU_MEM_LOCATION_TYPE_HOST` for
/// `CU_DEVICE_CPU`.
fn location(device: c_int) -> cudaMemLocation {
    match device {
        CPU_DEVICE => cudaMemLocation { kind: 2, id: 0 },
        id => cudaMemLocation { kind: 1, id },
    }
}

driver_api! { process;
    @ptsz fn cuMemPrefetchAsync(pointer: *const c_void, count: usize, device: c_int, stream: cudaStream_t) {
        done(calls::changed::cudaMemPrefetchAsync_v2(pointer, count, location(device), 0, stream))
    }

    fn cuMemAdvise(pointer: *const c_void, count: usize, advice: u32, device: c_int) {
        done(calls::changed::cudaMemAdvise_v2(pointer, count, advice, location(device)))
    }
}

same! {
    @ptsz fn cuMemPrefetchAsync_v2(pointer: *const c_void, count: usize, to: cudaMemLocation, flags: u32, stream: cudaStream_t) = calls::changed::cudaMemPrefetchAsync_v2;
    fn cuMemAdvise_v2(pointer: *const c_void, count: usize, advice: u32, to: cudaMemLocation) = calls::changed::cudaMemAdvise_v2;
    fn cuMemPoolCreate(pool: *mut cudaMemPool_t, properties: *const cudaMemPoolProps) = calls::pools::cudaMemPoolCreate;
    fn cuMemPoolDestroy(pool: cudaMemPool_t) = calls::pools::cudaMemPoolDestroy;
    fn cuMemPoolTrimTo(pool: cudaMemPool_t, keep: usize) = calls::pools::cudaMemPoolTrimTo;
    fn cuMemPoolSetAttribute(pool: cudaMemPool_t, attribute: u32, value: *mut c_void) = calls::pools::cudaMemPoolSetAttribute;
    fn cuMemPoolGetAttribute(pool: cudaMemPool_t, attribute: u32, value: *mut c_void) = calls::pools::cudaMemPoolGetAttribute;
    fn cuMemPoolSetAccess(pool: cudaMemPool_t, list: *const cudaMemAccessDesc, count: usize) = calls::pools::cudaMemPoolSetAccess;
    fn cuMemPoolGetAccess(flags: *mut u32, pool: cudaMemPool_t, location: *mut cudaMemLocation) = calls::pools::cudaMemPoolGetAccess;
}
