//! CUDA arrays.

use std::ffi::c_int;

use crate::backend::memory::MemoryKind;
use crate::calls::export::api;
use crate::host::edge::{get, put, put_if_asked};
use crate::host::errors::Error;
use crate::host::types::{cudaArray_t, cudaChannelFormatDesc, cudaExtent};
use crate::work::allocations;
use crate::work::arrays::make;

api! { process;
    fn cudaMallocArray(to: *mut cudaArray_t, format: *const cudaChannelFormatDesc, width: usize, height: usize, flags: u32) {
        if to.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        put(to, make(process, *get(format)?, cudaExtent { width, height, depth: 0 }, flags)?)
    }

    fn cudaMalloc3DArray(to: *mut cudaArray_t, format: *const cudaChannelFormatDesc, extent: cudaExtent, flags: u32) {
        if to.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        put(to, make(process, *get(format)?, extent, flags)?)
    }

    fn cudaFreeArray(array: cudaArray_t) {
        if array.is_null() {
            return Ok(());
        }
        let removed = process.program().arrays.remove(array)?;
        allocations::free(process, removed.address, &[MemoryKind::Array]).map(|_| ())
    }

    fn cudaArrayGetInfo(format: *mut cudaChannelFormatDesc, extent: *mut cudaExtent, flags: *mut u32, array: cudaArray_t) {
        let found = process.program().arrays.lookup(array)?;
        put_if_asked(format, found.format);
        put_if_asked(extent, found.extent);
        put_if_asked(flags, found.flags);
        Ok(())
    }

    fn cudaGetChannelDesc(format: *mut cudaChannelFormatDesc, array: cudaArray_t) {
        put(format, process.program().arrays.lookup(array)?.format)
    }
}

/// `cudaCreateChannelDesc` of the CUDA Runtime API.
#[unsafe(no_mangle)]
pub extern "C" fn cudaCreateChannelDesc(
    x: c_int,
    y: c_int,
    z: c_int,
    w: c_int,
    f: u32,
) -> cudaChannelFormatDesc {
    cudaChannelFormatDesc { x, y, z, w, f }
}
