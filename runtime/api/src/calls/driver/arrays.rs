//! Arrays, texture and surface objects. Only those of one and two dimensions have the short descriptor.

use std::ffi::c_void;

use crate::calls;
use crate::calls::driver::export::{done, driver_api, same};
use crate::calls::export::transfers;
use crate::host::driver_textures::{
    CUDA_ARRAY_DESCRIPTOR, CUDA_ARRAY3D_DESCRIPTOR, CUDA_RESOURCE_DESC, CUDA_TEXTURE_DESC, channels,
    format_of,
};
use crate::host::edge::{get, put};
use crate::host::errors::{Error, Result};
use crate::host::types::{COPY_DEFAULT, DEFAULT_STREAM, cudaArray_t, cudaExtent};
use crate::work::Process;
use crate::work::arrays::make;
use crate::work::transfers::copies::copy_bytes;

/// The description of an array.
fn described(process: &Process, array: cudaArray_t) -> Result<CUDA_ARRAY3D_DESCRIPTOR> {
    let found = process.program().arrays.lookup(array)?;
    let (format, count) = format_of(&found.format)?;
    let cudaExtent { width, height, depth } = found.extent;
    Ok(CUDA_ARRAY3D_DESCRIPTOR {
        Width: width,
        Height: height,
        Depth: depth,
        Format: format,
        NumChannels: count,
        Flags: found.flags,
    })
}

/// The address of the `count` bytes of an array of one dimension from `offset` on.
fn bytes_of(process: &Process, array: cudaArray_t, offset: usize, count: usize) -> Result<*mut c_void> {
    process.program().arrays.lookup(array)?.rest(offset, 0, count)
}

driver_api! { process;
    fn cuArrayCreate_v2(to: *mut cudaArray_t, desc: *const CUDA_ARRAY_DESCRIPTOR) {
        let desc = get(desc)?;
        if to.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        let extent = cudaExtent { width: desc.Width, height: desc.Height, depth: 0 };
        put(to, make(process, channels(desc.Format, desc.NumChannels)?, extent, 0)?)
    }

    fn cuArray3DCreate_v2(to: *mut cudaArray_t, desc: *const CUDA_ARRAY3D_DESCRIPTOR) {
        let desc = get(desc)?;
        if to.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        let extent = cudaExtent { width: desc.Width, height: desc.Height, depth: desc.Depth };
        put(to, make(process, channels(desc.Format, desc.NumChannels)?, extent, desc.Flags)?)
    }

    fn cuArrayGetDescriptor_v2(to: *mut CUDA_ARRAY_DESCRIPTOR, array: cudaArray_t) {
        let CUDA_ARRAY3D_DESCRIPTOR { Width, Height, Format, NumChannels, .. } = described(process, array)?;
        put(to, CUDA_ARRAY_DESCRIPTOR { Width, Height, Format, NumChannels })
    }

    fn cuArray3DGetDescriptor_v2(to: *mut CUDA_ARRAY3D_DESCRIPTOR, array: cudaArray_t) {
        put(to, described(process, array)?)
    }

    fn cuTexObjectCreate(to: *mut u64, resource: *const CUDA_RESOURCE_DESC, desc: *const CUDA_TEXTURE_DESC, view: *const c_void) {
        let (resource, desc) = (get(resource)?, get(desc)?);
        let format = match resource.array() {
            Some(array) => described(process, array)?.Format,
            None => resource.own_format().unwrap_or_default(),
        };
        done(calls::textures::cudaCreateTextureObject(to, &resource.parameters()?, &desc.parameters(format), view))
    }

    fn cuSurfObjectCreate(to: *mut u64, resource: *const CUDA_RESOURCE_DESC) {
        done(calls::textures::cudaCreateSurfaceObject(to, &get(resource)?.parameters()?))
    }

    @ptds fn cuMemcpyDtoA_v2(to: cudaArray_t, offset: usize, from: *const c_void, count: usize) {
        copy_bytes(process, bytes_of(process, to, offset, count)?, from, count, COPY_DEFAULT, DEFAULT_STREAM, true)
    }

    @ptds fn cuMemcpyAtoD_v2(to: *mut c_void, from: cudaArray_t, offset: usize, count: usize) {
        copy_bytes(process, to, bytes_of(process, from, offset, count)?, count, COPY_DEFAULT, DEFAULT_STREAM, true)
    }

    @ptds fn cuMemcpyAtoA_v2(to: cudaArray_t, offset: usize, from: cudaArray_t, from_offset: usize, count: usize) {
        let source = bytes_of(process, from, from_offset, count)?;
        copy_bytes(process, bytes_of(process, to, offset, count)?, source, count, COPY_DEFAULT, DEFAULT_STREAM, true)
    }
}

transfers! { driver_api! process, stream, sync;
    fn cuMemcpyHtoA_v2, cuMemcpyHtoAAsync_v2(to: cudaArray_t, offset: usize, from: *const c_void, count: usize) {
        copy_bytes(process, bytes_of(process, to, offset, count)?, from, count, COPY_DEFAULT, stream, sync)
    }

    fn cuMemcpyAtoH_v2, cuMemcpyAtoHAsync_v2(to: *mut c_void, from: cudaArray_t, offset: usize, count: usize) {
        copy_bytes(process, to, bytes_of(process, from, offset, count)?, count, COPY_DEFAULT, stream, sync)
    }
}

same! {
    fn cuArrayDestroy(array: cudaArray_t) = calls::arrays::cudaFreeArray;
    fn cuTexObjectDestroy(handle: u64) = calls::textures::cudaDestroyTextureObject;
    fn cuSurfObjectDestroy(handle: u64) = calls::textures::cudaDestroySurfaceObject;
}
