//! Arrays, textures and surfaces as `cuda.h` describes them, and what the runtime API has in their place.
//! `tests/layout.rs` compares the structures with the header.
#![allow(non_camel_case_types, non_snake_case, missing_docs)]

use std::ffi::c_void;

use crate::host::errors::{Error, Result};
use crate::host::types::{
    LinearResource, PitchedResource, RESOURCE_ARRAY, RESOURCE_LINEAR, RESOURCE_PITCH_2D,
    cudaChannelFormatDesc, cudaResourceDesc, cudaTextureDesc,
};

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CUDA_ARRAY_DESCRIPTOR {
    pub Width: usize,
    pub Height: usize,
    pub Format: u32,
    pub NumChannels: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CUDA_ARRAY3D_DESCRIPTOR {
    pub Width: usize,
    pub Height: usize,
    pub Depth: usize,
    pub Format: u32,
    pub NumChannels: u32,
    pub Flags: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CUDA_RESOURCE_DESC {
    pub resType: u32,
    pub res: [u64; 16],
    pub flags: u32,
}

/// `CUDA_RESOURCE_DESC::res.linear`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DriverLinearResource {
    pub devPtr: *mut c_void,
    pub format: u32,
    pub numChannels: u32,
    pub sizeInBytes: usize,
}

/// `CUDA_RESOURCE_DESC::res.pitch2D`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DriverPitchedResource {
    pub devPtr: *mut c_void,
    pub format: u32,
    pub numChannels: u32,
    pub width: usize,
    pub height: usize,
    pub pitchInBytes: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CUDA_TEXTURE_DESC {
    pub addressMode: [u32; 3],
    pub filterMode: u32,
    pub flags: u32,
    pub maxAnisotropy: u32,
    pub mipmapFilterMode: u32,
    pub mipmapLevelBias: f32,
    pub minMipmapLevelClamp: f32,
    pub maxMipmapLevelClamp: f32,
    pub borderColor: [f32; 4],
    pub reserved: [u32; 12],
}

/// `cudaChannelFormatKind`.
const SIGNED: u32 = 0;
const UNSIGNED: u32 = 1;
const FLOAT: u32 = 2;
/// `CUarray_format` by kind and bits.
const FORMATS: [(u32, u32, i32); 8] = [
    (0x01, UNSIGNED, 8),
    (0x02, UNSIGNED, 16),
    (0x03, UNSIGNED, 32),
    (0x08, SIGNED, 8),
    (0x09, SIGNED, 16),
    (0x0a, SIGNED, 32),
    (0x10, FLOAT, 16),
    (0x20, FLOAT, 32),
];

/// The format of an element for the runtime API.
///
/// # Errors
/// `cudaErrorInvalidValue`, or `cudaErrorNotSupported` for formats of blocks, planes and video.
pub fn channels(format: u32, count: u32) -> Result<cudaChannelFormatDesc> {
    let (_, f, bits) = *FORMATS.iter().find(|(code, ..)| *code == format).ok_or(Error::NOT_SUPPORTED)?;
    if !matches!(count, 1 | 2 | 4) {
        return Err(Error::INVALID_VALUE);
    }
    let [x, y, z, w] = [0, 1, 2, 3].map(|at| if at < count { bits } else { 0 });
    Ok(cudaChannelFormatDesc { x, y, z, w, f })
}

/// The `CUarray_format` of an element, and its number of channels.
///
/// # Errors
/// `cudaErrorNotSupported` if there is none.
pub fn format_of(desc: &cudaChannelFormatDesc) -> Result<(u32, u32)> {
    let known = FORMATS.iter().find(|(_, kind, bits)| *kind == desc.f && *bits == desc.x);
    let count = [desc.x, desc.y, desc.z, desc.w].iter().filter(|&&bits| bits > 0).count();
    known.map(|(code, ..)| (*code, count as u32)).ok_or(Error::NOT_SUPPORTED)
}

impl CUDA_RESOURCE_DESC {
    /// The same resource for the runtime API.
    ///
    /// # Errors
    /// As [`channels`].
    pub fn parameters(&self) -> Result<cudaResourceDesc> {
        let mut found = cudaResourceDesc { resType: self.resType, res: [0; 7] };
        let union = found.res.as_mut_ptr();
        match self.resType {
            RESOURCE_LINEAR => {
                // SAFETY: it fits into the union, and any words are a value of it.
                let own = unsafe { self.res.as_ptr().cast::<DriverLinearResource>().read() };
                let desc = channels(own.format, own.numChannels)?;
                let linear = LinearResource { devPtr: own.devPtr, desc, sizeInBytes: own.sizeInBytes };
                // SAFETY: it fits into the union.
                unsafe { union.cast::<LinearResource>().write(linear) };
            }
            RESOURCE_PITCH_2D => {
                // SAFETY: it fits into the union, and any words are a value of it.
                let own = unsafe { self.res.as_ptr().cast::<DriverPitchedResource>().read() };
                let pitched = PitchedResource {
                    devPtr: own.devPtr,
                    desc: channels(own.format, own.numChannels)?,
                    width: own.width,
                    height: own.height,
                    pitchInBytes: own.pitchInBytes,
                };
                // SAFETY: it fits into the union.
                unsafe { union.cast::<PitchedResource>().write(pitched) };
            }
            // A handle, or a kind that the runtime API refuses.
            _ => found.res[0] = self.res[0],
        }
        Ok(found)
    }

    /// The format of the elements, if the resource itself says it. An array has its own.
    pub fn own_format(&self) -> Option<u32> {
        match self.resType {
            RESOURCE_LINEAR | RESOURCE_PITCH_2D => Some(self.res[1] as u32),
            _ => None,
        }
    }

    /// The array, if it is one.
    pub fn array(&self) -> Option<*mut c_void> {
        (self.resType == RESOURCE_ARRAY).then_some(self.res[0] as *mut c_void)
    }
}

impl CUDA_TEXTURE_DESC {
    /// The same texture for the runtime API. Its texels have this format.
    pub fn parameters(&self, format: u32) -> cudaTextureDesc {
        const READ_AS_INTEGER: u32 = 0x1;
        const NORMALIZED_COORDINATES: u32 = 0x2;
        const SRGB: u32 = 0x10;
        const DISABLE_TRILINEAR: u32 = 0x20;
        const SEAMLESS: u32 = 0x40;
        let has = |flag: u32| i32::from(self.flags & flag != 0);
        // Integers of 32 bits are never made floats.
        let is_short = FORMATS.iter().any(|&(code, kind, bits)| code == format && kind != FLOAT && bits < 32);
        cudaTextureDesc {
            addressMode: self.addressMode,
            filterMode: self.filterMode,
            readMode: u32::from(is_short && self.flags & READ_AS_INTEGER == 0),
            sRGB: has(SRGB),
            borderColor: self.borderColor,
            normalizedCoords: has(NORMALIZED_COORDINATES),
            maxAnisotropy: self.maxAnisotropy,
            mipmapFilterMode: self.mipmapFilterMode,
            mipmapLevelBias: self.mipmapLevelBias,
            minMipmapLevelClamp: self.minMipmapLevelClamp,
            maxMipmapLevelClamp: self.maxMipmapLevelClamp,
            disableTrilinearOptimization: has(DISABLE_TRILINEAR),
            seamlessCubemap: has(SEAMLESS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_come_back() {
        for (code, ..) in FORMATS {
            for count in [1, 2, 4] {
                assert_eq!(format_of(&channels(code, count).unwrap()), Ok((code, count)));
            }
            assert_eq!(channels(code, 3), Err(Error::INVALID_VALUE));
        }
        assert_eq!(channels(0xb0, 1), Err(Error::NOT_SUPPORTED));
    }
}
