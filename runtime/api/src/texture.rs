//! Texture and surface objects: what CUDA says of their descriptions, and those of the
//! executor, where that fetches.

use std::collections::HashMap;
use std::ffi::{c_int, c_void};

use gpurace_cpu::texture::{AddressMode, Format, Kind, Object, Texels, Texture};
use parking_lot::Mutex;

use crate::backend;
use crate::edge::{api, get, put};
use crate::errors::{Error, Result};
use crate::memory::array;
use crate::message;
use crate::types::{cudaChannelFormatDesc, cudaResourceDesc, cudaTextureDesc};

/// `cudaResourceTypeArray`.
const ARRAY: u32 = 0;
/// `cudaResourceTypeMipmappedArray`.
const MIPMAPPED_ARRAY: u32 = 1;
/// `cudaResourceTypeLinear`.
pub const LINEAR: u32 = 2;
/// `cudaResourceTypePitch2D`.
const PITCH_2D: u32 = 3;

/// What the program described, by handle and whether it is a texture's: it may ask for it again.
static DESCRIBED: Mutex<Option<HashMap<(u64, bool), Described>>> = Mutex::new(None);

#[derive(Clone, Copy)]
struct Described {
    resource: cudaResourceDesc,
    texture: Option<cudaTextureDesc>,
}

fn described(handle: u64, is_texture: bool) -> Result<Described> {
    let described = DESCRIBED.lock();
    let found = described.as_ref().and_then(|all| all.get(&(handle, is_texture)));
    found.copied().ok_or(Error::INVALID_VALUE)
}

/// What a texel is made of.
///
/// # Errors
/// `cudaErrorInvalidChannelDescriptor` where CUDA has no such texels.
pub fn format(desc: &cudaChannelFormatDesc) -> Result<Format> {
    let bits = [desc.x, desc.y, desc.z, desc.w];
    let components = bits.iter().take_while(|&&bits| bits != 0).count();
    let equal = bits[..components].iter().all(|&b| b == bits[0]);
    let kind = match desc.f {
        0 => Kind::Signed,
        1 => Kind::Unsigned,
        2 => Kind::Float,
        _ => return Err(Error::INVALID_CHANNEL_DESCRIPTOR),
    };
    let width = match (kind, bits[0]) {
        (Kind::Float, 16 | 32) | (Kind::Signed | Kind::Unsigned, 8 | 16 | 32) => bits[0] as u32,
        _ => return Err(Error::INVALID_CHANNEL_DESCRIPTOR),
    };
    let rest = bits[components..].iter().all(|&b| b == 0);
    if !equal || !rest || !matches!(components, 1 | 2 | 4) {
        return Err(Error::INVALID_CHANNEL_DESCRIPTOR);
    }
    Ok(Format { components, bits: width, kind })
}

/// The texels that a resource consists of.
fn texels(resource: &cudaResourceDesc) -> Result<Texels> {
    let [first, ..] = resource.res;
    match resource.resType {
        ARRAY => {
            let array = array::lookup(first as *mut c_void)?;
            let extent = array.extent;
            Ok(Texels {
                address: array.address,
                size: [extent.width, extent.height.max(1), extent.depth.max(1)],
                pitch: array.row(),
                format: format(&array.format)?,
            })
        }
        LINEAR => {
            let linear = resource.linear();
            let format = format(&linear.desc)?;
            let width = linear.sizeInBytes / format.bytes();
            if first == 0 || width == 0 {
                return Err(Error::INVALID_VALUE);
            }
            Ok(Texels { address: first as usize, size: [width, 1, 1], pitch: linear.sizeInBytes, format })
        }
        PITCH_2D => {
            let pitched = resource.pitched();
            let format = format(&pitched.desc)?;
            let row = pitched.width.checked_mul(format.bytes()).ok_or(Error::INVALID_VALUE)?;
            if first == 0 || row == 0 || pitched.height == 0 || pitched.pitchInBytes < row {
                return Err(Error::INVALID_VALUE);
            }
            Ok(Texels {
                address: first as usize,
                size: [pitched.width, pitched.height, 1],
                pitch: pitched.pitchInBytes,
                format,
            })
        }
        MIPMAPPED_ARRAY => {
            message::error_once("textures of mipmapped arrays are not supported");
            Err(Error::NOT_SUPPORTED)
        }
        _ => Err(Error::INVALID_VALUE),
    }
}

fn address_mode(mode: u32) -> Result<AddressMode> {
    Ok(match mode {
        0 => AddressMode::Wrap,
        1 => AddressMode::Clamp,
        2 => AddressMode::Mirror,
        3 => AddressMode::Border,
        _ => return Err(Error::INVALID_VALUE),
    })
}

fn texture(resource: &cudaResourceDesc, desc: &cudaTextureDesc) -> Result<Texture> {
    let texels = texels(resource)?;
    let [x, y, z] = desc.addressMode;
    let texture = Texture {
        texels,
        address_modes: [address_mode(x)?, address_mode(y)?, address_mode(z)?],
        linear: desc.filterMode == 1,
        // Integers of 32 bits and floats have no normalised form.
        normalized_float: desc.readMode == 1 && texels.format.kind != Kind::Float && texels.format.bits < 32,
        normalized_coordinates: desc.normalizedCoords != 0,
        srgb: desc.sRGB != 0 && texels.format.bits == 8,
        border: desc.borderColor,
    };
    // Linear filtering gives floats only.
    let floats = texture.normalized_float || texels.format.kind == Kind::Float;
    match texture.linear && !floats && resource.resType != LINEAR {
        true => Err(Error::INVALID_FILTER_SETTING),
        false => Ok(texture),
    }
}

/// Makes an object and remembers its description.
fn create(object: Object, described: Described) -> Result<u64> {
    let handle = backend::get().create_object(object, &described.resource, described.texture.as_ref())?;
    DESCRIBED.lock().get_or_insert_default().insert((handle, described.texture.is_some()), described);
    Ok(handle)
}

fn destroy(handle: u64, is_texture: bool) -> Result {
    // CUDA takes 0, which no object has.
    if handle != 0 {
        backend::get().destroy_object(handle, is_texture)?;
    }
    if let Some(described) = DESCRIBED.lock().as_mut() {
        described.remove(&(handle, is_texture));
    }
    Ok(())
}

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
        let object = Object::Texture(texture(&resource, &desc)?);
        put(to, create(object, Described { resource, texture: Some(desc) })?)
    }

    fn cudaDestroyTextureObject(handle: u64) { destroy(handle, true) }

    fn cudaCreateSurfaceObject(to: *mut u64, resource: *const cudaResourceDesc) {
        let resource = *get(resource)?;
        if to.is_null() || resource.resType != ARRAY {
            return Err(Error::INVALID_VALUE);
        }
        let object = Object::Surface(texels(&resource)?);
        put(to, create(object, Described { resource, texture: None })?)
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
        format(get(desc)?)?;
        put(to, crate::properties::properties().maxTexture1DLinear as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_those_that_textures_have() {
        let desc = |x, y, z, w, f| cudaChannelFormatDesc { x, y, z, w, f };
        let bytes = |desc| format(&desc).map(|format| format.bytes()).ok();
        assert_eq!(bytes(desc(8, 8, 8, 8, 1)), Some(4));
        assert_eq!(bytes(desc(32, 32, 32, 32, 2)), Some(16));
        assert_eq!(bytes(desc(16, 0, 0, 0, 2)), Some(2));
        for refused in [
            desc(8, 8, 8, 0, 1),
            desc(8, 16, 0, 0, 1),
            desc(8, 0, 8, 0, 1),
            desc(64, 0, 0, 0, 0),
            desc(8, 0, 0, 0, 2),
            desc(8, 0, 0, 0, 3),
            desc(0, 0, 0, 0, 0),
        ] {
            assert_eq!(bytes(refused), None, "{refused:?}");
        }
    }
}
