//! Copies and fills, to the bytes, rows, arrays and variables of a program.

use std::ffi::{c_int, c_void};

use crate::calls::export::{api, transfers};
use crate::host::edge::{get, put};
use crate::host::types::{
    COPY_DEVICE_TO_DEVICE, DEFAULT_STREAM, cudaExtent, cudaMemcpy3DParms, cudaMemcpy3DPeerParms,
    cudaPitchedPtr, cudaStream_t,
};
use crate::work::devices;
use crate::work::transfers::copies::{copy_2d, copy_3d, copy_bytes, rectangle, without_devices};
use crate::work::transfers::fills::fill;
use crate::work::transfers::sides::{flat, pitched, symbol_bytes};

transfers! { api! process, stream, sync;
    fn cudaMemcpy, cudaMemcpyAsync(to: *mut c_void, from: *const c_void, count: usize, kind: u32) {
        copy_bytes(process, to, from, count, kind, stream, sync)
    }

    fn cudaMemcpy2D, cudaMemcpy2DAsync(to: *mut c_void, to_pitch: usize, from: *const c_void, from_pitch: usize, width: usize, height: usize, kind: u32) {
        copy_2d(process, (to, to_pitch), (from, from_pitch), (width, height), kind, stream, sync)
    }

    fn cudaMemcpy3D, cudaMemcpy3DAsync(p: *const cudaMemcpy3DParms) { copy_3d(process, get(p)?, stream, sync) }

    fn cudaMemcpy3DPeer, cudaMemcpy3DPeerAsync(p: *const cudaMemcpy3DPeerParms) { copy_3d(process, &without_devices(get(p)?)?, stream, sync) }

    fn cudaMemcpy2DToArray, cudaMemcpy2DToArrayAsync(to: *mut c_void, x: usize, y: usize, from: *const c_void, pitch: usize, width: usize, height: usize, kind: u32) {
        copy_2d(process, rectangle(process, (to, x, y), (width, height))?, (from, pitch), (width, height), kind, stream, sync)
    }

    fn cudaMemcpy2DFromArray, cudaMemcpy2DFromArrayAsync(to: *mut c_void, pitch: usize, from: *mut c_void, x: usize, y: usize, width: usize, height: usize, kind: u32) {
        let (from, from_pitch) = rectangle(process, (from, x, y), (width, height))?;
        copy_2d(process, (to, pitch), (from, from_pitch), (width, height), kind, stream, sync)
    }

    fn cudaMemcpyToArray, cudaMemcpyToArrayAsync(to: *mut c_void, x: usize, y: usize, from: *const c_void, count: usize, kind: u32) {
        let rest = process.program().arrays.lookup(to)?.rest(x, y, count)?;
        copy_bytes(process, rest, from, count, kind, stream, sync)
    }

    fn cudaMemcpyFromArray, cudaMemcpyFromArrayAsync(to: *mut c_void, from: *mut c_void, x: usize, y: usize, count: usize, kind: u32) {
        let rest = process.program().arrays.lookup(from)?.rest(x, y, count)?;
        copy_bytes(process, to, rest, count, kind, stream, sync)
    }

    fn cudaMemcpyToSymbol, cudaMemcpyToSymbolAsync(symbol: *const c_void, from: *const c_void, count: usize, offset: usize, kind: u32) {
        copy_bytes(process, symbol_bytes(process, symbol, count, offset)?, from, count, kind, stream, sync)
    }

    fn cudaMemcpyFromSymbol, cudaMemcpyFromSymbolAsync(to: *mut c_void, symbol: *const c_void, count: usize, offset: usize, kind: u32) {
        copy_bytes(process, to, symbol_bytes(process, symbol, count, offset)?, count, kind, stream, sync)
    }

    fn cudaMemset, cudaMemsetAsync(to: *mut c_void, value: c_int, count: usize) {
        fill(process, flat(to, count), value, cudaExtent { width: count, height: 1, depth: 1 }, stream, sync)
    }

    fn cudaMemset2D, cudaMemset2DAsync(to: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize) {
        fill(process, flat(to, pitch), value, cudaExtent { width, height, depth: 1 }, stream, sync)
    }

    fn cudaMemset3D, cudaMemset3DAsync(to: cudaPitchedPtr, value: c_int, extent: cudaExtent) {
        fill(process, pitched(&to)?, value, extent, stream, sync)
    }
}

api! { process;
    fn cudaMemcpyPeer(to: *mut c_void, to_device: c_int, from: *const c_void, from_device: c_int, count: usize) {
        devices::check(to_device)?;
        devices::check(from_device)?;
        copy_bytes(process, to, from, count, COPY_DEVICE_TO_DEVICE, DEFAULT_STREAM, true)
    }

    fn cudaMemcpyPeerAsync(to: *mut c_void, to_device: c_int, from: *const c_void, from_device: c_int, count: usize, stream: cudaStream_t) {
        devices::check(to_device)?;
        devices::check(from_device)?;
        copy_bytes(process, to, from, count, 3, stream, false)
    }

    @ptds fn cudaMemcpy2DArrayToArray(to: *mut c_void, to_x: usize, to_y: usize, from: *mut c_void, x: usize, y: usize, width: usize, height: usize, kind: u32) {
        let (from, pitch) = rectangle(process, (from, x, y), (width, height))?;
        copy_2d(process, rectangle(process, (to, to_x, to_y), (width, height))?, (from, pitch), (width, height), kind, DEFAULT_STREAM, true)
    }

    @ptds fn cudaMemcpyArrayToArray(to: *mut c_void, to_x: usize, to_y: usize, from: *mut c_void, x: usize, y: usize, count: usize, kind: u32) {
        let source = process.program().arrays.lookup(from)?.rest(x, y, count)?;
        let destination = process.program().arrays.lookup(to)?.rest(to_x, to_y, count)?;
        copy_bytes(process, destination, source, count, kind, DEFAULT_STREAM, true)
    }

    fn cudaGetSymbolAddress(to: *mut *mut c_void, symbol: *const c_void) {
        put(to, process.program().modules.variable_of_symbol(symbol)?.address as *mut c_void)
    }

    fn cudaGetSymbolSize(to: *mut usize, symbol: *const c_void) {
        put(to, process.program().modules.variable_of_symbol(symbol)?.size)
    }
}
