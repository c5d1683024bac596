//! Texture and surface objects: their descriptions, as CUDA documents them.

use std::ffi::c_void;

use gpurace_abi::texture::{AddressMode, ComponentKind, Texels, Texture, TextureObject};

use crate::backend::texels::texel_format;
use crate::host::errors::{Error, Result};
use crate::host::types::{
    RESOURCE_ARRAY, RESOURCE_LINEAR, RESOURCE_MIPMAPPED_ARRAY, RESOURCE_PITCH_2D, cudaResourceDesc,
    cudaTextureDesc,
};
use crate::work::Process;

/// The description of an object.
#[derive(Clone, Copy)]
pub struct DescribedObject {
    /// Its memory.
    pub resource: cudaResourceDesc,
    /// How a texture is sampled. `None` for a surface.
    pub texture: Option<cudaTextureDesc>,
}

/// The description of an object.
///
/// # Errors
/// `cudaErrorInvalidValue` if there is none.
pub fn described(process: &Process, handle: u64, is_texture: bool) -> Result<DescribedObject> {
    process.described.lock().get(&(handle, is_texture)).copied().ok_or(Error::INVALID_VALUE)
}

/// The texels of a resource.
///
/// # Errors
/// What CUDA returns for a resource that has no texels.
pub fn texels(process: &Process, resource: &cudaResourceDesc) -> Result<Texels> {
    let [first, ..] = resource.res;
    match resource.resType {
        RESOURCE_ARRAY => {
            let array = process.program().arrays.lookup(first as *mut c_void)?;
            let extent = array.extent;
            Ok(Texels {
                address: array.address,
                size: [extent.width, extent.height.max(1), extent.depth.max(1)],
                pitch: array.row(),
                format: texel_format(&array.format)?,
            })
        }
        RESOURCE_LINEAR => {
            let linear = resource.linear();
            let format = texel_format(&linear.desc)?;
            let width = linear.sizeInBytes / format.bytes();
            if first == 0 || width == 0 {
                return Err(Error::INVALID_VALUE);
            }
            Ok(Texels { address: first as usize, size: [width, 1, 1], pitch: linear.sizeInBytes, format })
        }
        RESOURCE_PITCH_2D => {
            let pitched = resource.pitched();
            let format = texel_format(&pitched.desc)?;
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
        RESOURCE_MIPMAPPED_ARRAY => {
            process.errors_once.error("textures of mipmapped arrays are not supported");
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

/// The texture with this description.
///
/// # Errors
/// What CUDA returns for descriptions that do not fit.
pub fn texture(process: &Process, resource: &cudaResourceDesc, desc: &cudaTextureDesc) -> Result<Texture> {
    let texels = texels(process, resource)?;
    let [x, y, z] = desc.addressMode;
    let texture = Texture {
        texels,
        address_modes: [address_mode(x)?, address_mode(y)?, address_mode(z)?],
        linear: desc.filterMode == 1,
        // 32-bit integers and floats have no normalised form.
        normalized_float: desc.readMode == 1
            && texels.format.kind != ComponentKind::Float
            && texels.format.bits < 32,
        normalized_coordinates: desc.normalizedCoords != 0,
        srgb: desc.sRGB != 0 && texels.format.bits == 8,
        border: desc.borderColor,
    };
    // Linear filtering only returns floats.
    let floats = texture.normalized_float || texels.format.kind == ComponentKind::Float;
    match texture.linear && !floats && resource.resType != RESOURCE_LINEAR {
        true => Err(Error::INVALID_FILTER_SETTING),
        false => Ok(texture),
    }
}

/// Makes an object and keeps its description. Returns its handle.
pub fn create(process: &Process, object: TextureObject, described: DescribedObject) -> Result<u64> {
    let handle = process.backend().create_object(object, &described.resource, described.texture.as_ref())?;
    process.described.lock().insert((handle, described.texture.is_some()), described);
    Ok(handle)
}

/// Destroys an object.
///
/// # Errors
/// `cudaErrorInvalidValue` if there is none.
pub fn destroy(process: &Process, handle: u64, is_texture: bool) -> Result {
    // CUDA accepts 0, which is no object.
    if handle != 0 {
        process.backend().destroy_object(handle, is_texture)?;
    }
    process.described.lock().remove(&(handle, is_texture));
    Ok(())
}
