//! Copies and fills.

use std::ffi::c_void;

use crate::calls::driver::export::driver_api;
use crate::calls::export::transfers;
use crate::host::driver_types::{CUDA_MEMCPY2D, CUDA_MEMCPY3D};
use crate::host::edge::get;
use crate::host::errors::Result;
use crate::host::types::{
    COPY_DEFAULT, COPY_DEVICE_TO_DEVICE, COPY_DEVICE_TO_HOST, COPY_HOST_TO_DEVICE, DEFAULT_STREAM,
};
use crate::work::transfers::copies::{copy_3d, copy_bytes};
use crate::work::transfers::fills::fill_elements;
use crate::work::{Process, contexts};

/// Bytes of an element of an array.
pub(super) fn element(process: &Process, array: *mut c_void) -> Result<usize> {
    Ok(process.program().arrays.lookup(array)?.element)
}

transfers! { driver_api! process, stream, sync;
    fn cuMemcpy, cuMemcpyAsync(to: *mut c_void, from: *const c_void, count: usize) {
        copy_bytes(process, to, from, count, COPY_DEFAULT, stream, sync)
    }

    fn cuMemcpyHtoD_v2, cuMemcpyHtoDAsync_v2(to: *mut c_void, from: *const c_void, count: usize) {
        copy_bytes(process, to, from, count, COPY_HOST_TO_DEVICE, stream, sync)
    }

    fn cuMemcpyDtoH_v2, cuMemcpyDtoHAsync_v2(to: *mut c_void, from: *const c_void, count: usize) {
        copy_bytes(process, to, from, count, COPY_DEVICE_TO_HOST, stream, sync)
    }

    fn cuMemcpyDtoD_v2, cuMemcpyDtoDAsync_v2(to: *mut c_void, from: *const c_void, count: usize) {
        copy_bytes(process, to, from, count, COPY_DEVICE_TO_DEVICE, stream, sync)
    }

    fn cuMemcpyPeer, cuMemcpyPeerAsync(to: *mut c_void, to_context: *mut c_void, from: *const c_void, from_context: *mut c_void, count: usize) {
        contexts::check(process, to_context.addr())?;
        contexts::check(process, from_context.addr())?;
        copy_bytes(process, to, from, count, COPY_DEVICE_TO_DEVICE, stream, sync)
    }

    fn cuMemcpy2D_v2, cuMemcpy2DAsync_v2(p: *const CUDA_MEMCPY2D) {
        copy_3d(process, &get(p)?.parameters(|array| element(process, array))?, stream, sync)
    }

    fn cuMemcpy3D_v2, cuMemcpy3DAsync_v2(p: *const CUDA_MEMCPY3D) {
        copy_3d(process, &get(p)?.parameters(|array| element(process, array))?, stream, sync)
    }

    fn cuMemsetD8_v2, cuMemsetD8Async(to: *mut c_void, value: u8, count: usize) {
        fill_elements(process, to, 0, (count, 1), (value.into(), 1), stream, sync)
    }

    fn cuMemsetD16_v2, cuMemsetD16Async(to: *mut c_void, value: u16, count: usize) {
        fill_elements(process, to, 0, (count, 1), (value.into(), 2), stream, sync)
    }

    fn cuMemsetD32_v2, cuMemsetD32Async(to: *mut c_void, value: u32, count: usize) {
        fill_elements(process, to, 0, (count, 1), (value, 4), stream, sync)
    }

    fn cuMemsetD2D8_v2, cuMemsetD2D8Async(to: *mut c_void, pitch: usize, value: u8, width: usize, height: usize) {
        fill_elements(process, to, pitch, (width, height), (value.into(), 1), stream, sync)
    }

    fn cuMemsetD2D16_v2, cuMemsetD2D16Async(to: *mut c_void, pitch: usize, value: u16, width: usize, height: usize) {
        fill_elements(process, to, pitch, (width, height), (value.into(), 2), stream, sync)
    }

    fn cuMemsetD2D32_v2, cuMemsetD2D32Async(to: *mut c_void, pitch: usize, value: u32, width: usize, height: usize) {
        fill_elements(process, to, pitch, (width, height), (value, 4), stream, sync)
    }
}

driver_api! { process;
    @ptds fn cuMemcpy2DUnaligned_v2(p: *const CUDA_MEMCPY2D) {
        copy_3d(process, &get(p)?.parameters(|array| element(process, array))?, DEFAULT_STREAM, true)
    }
}
