//! Texture and surface objects.

use std::ffi::{c_int, c_void};

use gpurace_abi::texture::TextureObject;

use crate::backend;
use crate::backend::texels::texel_format;
use crate::calls::export::api;
use crate::host::edge::{get, put};
use crate::host::errors::Error;
use crate::host::message;
use crate::host::types::{RESOURCE_ARRAY, cudaChannelFormatDesc, cudaResourceDesc, cudaTextureDesc};
use crate::work::textures::{DescribedObject, create, described, destroy, texels, texture};

/// `cudaDevAttrMaxTexture1DLinearWidth`.
const MAX_LINEAR_WIDTH: u32 = 69;

api! {
    fn cudaCreateTextureObject(to: *mut u64, resource: *const cudaResourceDesc, desc: *const cudaTextureDesc, view: *const c_void) {
        if to.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        let (resource, desc) = (*get(resource)?, *get(desc)?);
        // A view starts with its format: 0 is none, and then the texture is the resource's.
        if !view.is_null() && *get(view.cast::<u32>())? != 0 {
            message::error_once("views of resources are not supported");
            return Err(Error::NOT_SUPPORTED);
        }
        let object = TextureObject::Texture(texture(&resource, &desc)?);
        put(to, create(object, DescribedObject { resource, texture: Some(desc) })?)
    }

    fn cudaDestroyTextureObject(handle: u64) { destroy(handle, true) }

    fn cudaCreateSurfaceObject(to: *mut u64, resource: *const cudaResourceDesc) {
        let resource = *get(resource)?;
        if to.is_null() || resource.resType != RESOURCE_ARRAY {
            return Err(Error::INVALID_VALUE);
        }
        let object = TextureObject::Surface(texels(&resource)?);
        put(to, create(object, DescribedObject { resource, texture: None })?)
    }

    fn cudaDestroySurfaceObject(handle: u64) { destroy(handle, false) }

    fn cudaGetTextureObjectResourceDesc(to: *mut cudaResourceDesc, handle: u64) {
        put(to, described(handle, true)?.resource)
    }

    fn cudaGetSurfaceObjectResourceDesc(to: *mut cudaResourceDesc, handle: u64) {
        put(to, described(handle, false)?.resource)
    }

    fn cudaGetTextureObjectTextureDesc(to: *mut cudaTextureDesc, handle: u64) {
        put(to, described(handle, true)?.texture.ok_or(Error::INVALID_VALUE)?)
    }

    fn cudaDeviceGetTexture1DLinearMaxWidth(to: *mut usize, desc: *const cudaChannelFormatDesc, _device: c_int) {
        texel_format(get(desc)?)?;
        put(to, backend::get().attribute(MAX_LINEAR_WIDTH)? as usize)
    }
}
