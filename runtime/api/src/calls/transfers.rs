//! Copies and fills, to the bytes, rows, arrays and variables of a program.

use std::ffi::{c_int, c_void};

use crate::calls::export::api;
use crate::host::edge::{get, put};
use crate::host::types::{
    cudaExtent, cudaMemcpy3DParms, cudaMemcpy3DPeerParms, cudaPitchedPtr, cudaStream_t,
};
use crate::work::devices;
use crate::work::transfers::copies::{copy_2d, copy_3d, copy_bytes, rectangle, without_devices};
use crate::work::transfers::fills::fill;
use crate::work::transfers::sides::{flat, pitched, symbol_bytes};

/// The default stream, which calls without a stream argument use.
const DEFAULT: cudaStream_t = std::ptr::null_mut();

api! { process;
    @ptds fn cudaMemcpy(to: *mut c_void, from: *const c_void, count: usize, kind: u32) {
        copy_bytes(process, to, from, count, kind, DEFAULT, true)
    }

    @ptsz fn cudaMemcpyAsync(to: *mut c_void, from: *const c_void, count: usize, kind: u32, stream: cudaStream_t) {
        copy_bytes(process, to, from, count, kind, stream, false)
    }

    fn cudaMemcpyPeer(to: *mut c_void, to_device: c_int, from: *const c_void, from_device: c_int, count: usize) {
        devices::check(to_device)?;
        devices::check(from_device)?;
        copy_bytes(process, to, from, count, 3, DEFAULT, true)
    }

    fn cudaMemcpyPeerAsync(to: *mut c_void, to_device: c_int, from: *const c_void, from_device: c_int, count: usize, stream: cudaStream_t) {
        devices::check(to_device)?;
        devices::check(from_device)?;
        copy_bytes(process, to, from, count, 3, stream, false)
    }

    @ptds fn cudaMemcpy2D(to: *mut c_void, to_pitch: usize, from: *const c_void, from_pitch: usize, width: usize, height: usize, kind: u32) {
        copy_2d(process, (to, to_pitch), (from, from_pitch), (width, height), kind, DEFAULT, true)
    }

    @ptsz fn cudaMemcpy2DAsync(to: *mut c_void, to_pitch: usize, from: *const c_void, from_pitch: usize, width: usize, height: usize, kind: u32, stream: cudaStream_t) {
        copy_2d(process, (to, to_pitch), (from, from_pitch), (width, height), kind, stream, false)
    }

    @ptds fn cudaMemcpy3D(p: *const cudaMemcpy3DParms) { copy_3d(process, get(p)?, DEFAULT, true) }

    @ptsz fn cudaMemcpy3DAsync(p: *const cudaMemcpy3DParms, stream: cudaStream_t) { copy_3d(process, get(p)?, stream, false) }

    @ptds fn cudaMemcpy3DPeer(p: *const cudaMemcpy3DPeerParms) { copy_3d(process, &without_devices(get(p)?)?, DEFAULT, true) }

    @ptsz fn cudaMemcpy3DPeerAsync(p: *const cudaMemcpy3DPeerParms, stream: cudaStream_t) {
        copy_3d(process, &without_devices(get(p)?)?, stream, false)
    }

    @ptds fn cudaMemcpy2DToArray(to: *mut c_void, x: usize, y: usize, from: *const c_void, pitch: usize, width: usize, height: usize, kind: u32) {
        copy_2d(process, rectangle(process, (to, x, y), (width, height))?, (from, pitch), (width, height), kind, DEFAULT, true)
    }

    @ptsz fn cudaMemcpy2DToArrayAsync(to: *mut c_void, x: usize, y: usize, from: *const c_void, pitch: usize, width: usize, height: usize, kind: u32, stream: cudaStream_t) {
        copy_2d(process, rectangle(process, (to, x, y), (width, height))?, (from, pitch), (width, height), kind, stream, false)
    }

    @ptds fn cudaMemcpy2DFromArray(to: *mut c_void, pitch: usize, from: *mut c_void, x: usize, y: usize, width: usize, height: usize, kind: u32) {
        let (from, from_pitch) = rectangle(process, (from, x, y), (width, height))?;
        copy_2d(process, (to, pitch), (from, from_pitch), (width, height), kind, DEFAULT, true)
    }

    @ptsz fn cudaMemcpy2DFromArrayAsync(to: *mut c_void, pitch: usize, from: *mut c_void, x: usize, y: usize, width: usize, height: usize, kind: u32, stream: cudaStream_t) {
        let (from, from_pitch) = rectangle(process, (from, x, y), (width, height))?;
        copy_2d(process, (to, pitch), (from, from_pitch), (width, height), kind, stream, false)
    }

    @ptds fn cudaMemcpy2DArrayToArray(to: *mut c_void, to_x: usize, to_y: usize, from: *mut c_void, x: usize, y: usize, width: usize, height: usize, kind: u32) {
        let (from, pitch) = rectangle(process, (from, x, y), (width, height))?;
        copy_2d(process, rectangle(process, (to, to_x, to_y), (width, height))?, (from, pitch), (width, height), kind, DEFAULT, true)
    }

    @ptds fn cudaMemcpyToArray(to: *mut c_void, x: usize, y: usize, from: *const c_void, count: usize, kind: u32) {
        let rest = process.program().arrays.lookup(to)?.rest(x, y, count)?;
        copy_bytes(process, rest, from, count, kind, DEFAULT, true)
    }

    @ptsz fn cudaMemcpyToArrayAsync(to: *mut c_void, x: usize, y: usize, from: *const c_void, count: usize, kind: u32, stream: cudaStream_t) {
        let rest = process.program().arrays.lookup(to)?.rest(x, y, count)?;
        copy_bytes(process, rest, from, count, kind, stream, false)
    }

    @ptds fn cudaMemcpyFromArray(to: *mut c_void, from: *mut c_void, x: usize, y: usize, count: usize, kind: u32) {
        let rest = process.program().arrays.lookup(from)?.rest(x, y, count)?;
        copy_bytes(process, to, rest, count, kind, DEFAULT, true)
    }

    @ptsz fn cudaMemcpyFromArrayAsync(to: *mut c_void, from: *mut c_void, x: usize, y: usize, count: usize, kind: u32, stream: cudaStream_t) {
        let rest = process.program().arrays.lookup(from)?.rest(x, y, count)?;
        copy_bytes(process, to, rest, count, kind, stream, false)
    }

    @ptds fn cudaMemcpyArrayToArray(to: *mut c_void, to_x: usize, to_y: usize, from: *mut c_void, x: usize, y: usize, count: usize, kind: u32) {
        let source = process.program().arrays.lookup(from)?.rest(x, y, count)?;
        let destination = process.program().arrays.lookup(to)?.rest(to_x, to_y, count)?;
        copy_bytes(process, destination, source, count, kind, DEFAULT, true)
    }

    @ptds fn cudaMemcpyToSymbol(symbol: *const c_void, from: *const c_void, count: usize, offset: usize, kind: u32) {
        copy_bytes(process, symbol_bytes(process, symbol, count, offset)?, from, count, kind, DEFAULT, true)
    }

    @ptsz fn cudaMemcpyToSymbolAsync(symbol: *const c_void, from: *const c_void, count: usize, offset: usize, kind: u32, stream: cudaStream_t) {
        copy_bytes(process, symbol_bytes(process, symbol, count, offset)?, from, count, kind, stream, false)
    }

    @ptds fn cudaMemcpyFromSymbol(to: *mut c_void, symbol: *const c_void, count: usize, offset: usize, kind: u32) {
        copy_bytes(process, to, symbol_bytes(process, symbol, count, offset)?, count, kind, DEFAULT, true)
    }

    @ptsz fn cudaMemcpyFromSymbolAsync(to: *mut c_void, symbol: *const c_void, count: usize, offset: usize, kind: u32, stream: cudaStream_t) {
        copy_bytes(process, to, symbol_bytes(process, symbol, count, offset)?, count, kind, stream, false)
    }

    fn cudaGetSymbolAddress(to: *mut *mut c_void, symbol: *const c_void) {
        put(to, process.program().modules.variable_of_symbol(symbol)?.address as *mut c_void)
    }

    fn cudaGetSymbolSize(to: *mut usize, symbol: *const c_void) {
        put(to, process.program().modules.variable_of_symbol(symbol)?.size)
    }

    @ptds fn cudaMemset(to: *mut c_void, value: c_int, count: usize) {
        fill(process, flat(to, count), value, cudaExtent { width: count, height: 1, depth: 1 }, DEFAULT, true)
    }

    @ptsz fn cudaMemsetAsync(to: *mut c_void, value: c_int, count: usize, stream: cudaStream_t) {
        fill(process, flat(to, count), value, cudaExtent { width: count, height: 1, depth: 1 }, stream, false)
    }

    @ptds fn cudaMemset2D(to: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize) {
        fill(process, flat(to, pitch), value, cudaExtent { width, height, depth: 1 }, DEFAULT, true)
    }

    @ptsz fn cudaMemset2DAsync(to: *mut c_void, pitch: usize, value: c_int, width: usize, height: usize, stream: cudaStream_t) {
        fill(process, flat(to, pitch), value, cudaExtent { width, height, depth: 1 }, stream, false)
    }

    @ptds fn cudaMemset3D(to: cudaPitchedPtr, value: c_int, extent: cudaExtent) {
        fill(process, pitched(&to)?, value, extent, DEFAULT, true)
    }

    @ptsz fn cudaMemset3DAsync(to: cudaPitchedPtr, value: c_int, extent: cudaExtent, stream: cudaStream_t) {
        fill(process, pitched(&to)?, value, extent, stream, false)
    }
}
