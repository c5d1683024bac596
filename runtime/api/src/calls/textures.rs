//! Texture and surface objects.

use std::ffi::{c_int, c_void};

use gpurace_abi::texture::TextureObject;

use crate::backend::texels::texel_format;
use crate::calls::export::api;
use crate::host::edge::{get, put};
use crate::host::errors::Error;
use crate::host::types::{RESOURCE_ARRAY, cudaChannelFormatDesc, cudaResourceDesc, cudaTextureDesc};
use crate::work::textures::{DescribedObject, create, described, destroy, texels, texture};

/// `cudaDevAttrMaxTexture1DLinearWidth`.
const MAX_LINEAR_WIDTH: u32 = 69;

api! { process;
    fn cudaCreateTextureObject(to: *mut u64, resource: *const cudaResourceDesc, desc: *const cudaTextureDesc, view: *const c_void) {
        if to.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        let (resource, desc) = (*get(resource)?, *get(desc)?);
        // A view starts with its format: 0 is none, and then the texture is the resource's.
        if !view.is_null() && *get(view.cast::<u32>())? != 0 {
            process.errors_once.error("views of resources are not supported");
            return Err(Error::NOT_SUPPORTED);
        }
        let object = TextureObject::Texture(texture(process, &resource, &desc)?);
        put(to, create(process, object, DescribedObject { resource, texture: Some(desc) })?)
    }

    fn cudaDestroyTextureObject(handle: u64) { destroy(process, handle, true) }

    fn cudaCreateSurfaceObject(to: *mut u64, resource: *const cudaResourceDesc) {
        let resource = *get(resource)?;
        if to.is_null() || resource.resType != RESOURCE_ARRAY {
            return Err(Error::INVALID_VALUE);
        }
        let object = TextureObject::Surface(texels(process, &resource)?);
        put(to, create(process, object, DescribedObject { resource, texture: None })?)
    }

    fn cudaDestroySurfaceObject(handle: u64) { destroy(process, handle, false) }

    fn cudaGetTextureObjectResourceDesc(to: *mut cudaResourceDesc, handle: u64) {
        put(to, described(process, handle, true)?.resource)
    }

    fn cudaGetSurfaceObjectResourceDesc(to: *mut cudaResourceDesc, handle: u64) {
        put(to, described(process, handle, false)?.resource)
    }

    fn cudaGetTextureObjectTextureDesc(to: *mut cudaTextureDesc, handle: u64) {
        put(to, described(process, handle, true)?.texture.ok_or(Error::INVALID_VALUE)?)
    }

    fn cudaDeviceGetTexture1DLinearMaxWidth(to: *mut usize, desc: *const cudaChannelFormatDesc, _device: c_int) {
        texel_format(get(desc)?)?;
        put(to, process.backend().attribute(MAX_LINEAR_WIDTH)? as usize)
    }
}
