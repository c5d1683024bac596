//! Arrays, and the texture and surface objects through which kernels reach arrays and other memory.

use std::ptr;

use cudarc::driver::sys;

use gpurace_abi::texture::{ComponentKind, TexelFormat};

use super::{Address, Result, call};

/// An array in the device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Array(sys::CUarray);

// SAFETY: a handle of the driver, which any thread may use.
unsafe impl Send for Array {}
// SAFETY: as above.
unsafe impl Sync for Array {}

/// The driver's number of a format's components.
fn raw_format(format: TexelFormat) -> Result<sys::CUarray_format> {
    use ComponentKind::{Float, Signed, Unsigned};
    use sys::CUarray_format as Raw;
    Ok(match (format.kind, format.bits) {
        (Signed, 8) => Raw::CU_AD_FORMAT_SIGNED_INT8,
        (Signed, 16) => Raw::CU_AD_FORMAT_SIGNED_INT16,
        (Signed, 32) => Raw::CU_AD_FORMAT_SIGNED_INT32,
        (Unsigned, 8) => Raw::CU_AD_FORMAT_UNSIGNED_INT8,
        (Unsigned, 16) => Raw::CU_AD_FORMAT_UNSIGNED_INT16,
        (Unsigned, 32) => Raw::CU_AD_FORMAT_UNSIGNED_INT32,
        (Float, 16) => Raw::CU_AD_FORMAT_HALF,
        (Float, 32) => Raw::CU_AD_FORMAT_FLOAT,
        (kind, bits) => {
            let name = format!("no elements of {kind:?}({bits})");
            return Err(super::Error { call: "cuArray3DCreate", name, code: 20 });
        }
    })
}

impl Array {
    /// Makes an array of `[elements of a row, rows, slices]`, with 0 for dimensions that it lacks.
    /// `flags`: those of `cudaMalloc3DArray`, which are the driver's.
    pub fn create(format: TexelFormat, [width, height, depth]: [usize; 3], flags: u32) -> Result<Self> {
        let description = sys::CUDA_ARRAY3D_DESCRIPTOR {
            Width: width,
            Height: height,
            Depth: depth,
            Format: raw_format(format)?,
            NumChannels: format.components as u32,
            Flags: flags,
        };
        let mut array = ptr::null_mut();
        call!(cuArray3DCreate_v2(&mut array, &description))?;
        Ok(Self(array))
    }

    /// Frees it. Nothing that runs may use it.
    pub fn destroy(self) -> Result {
        call!(cuArrayDestroy(self.0))
    }

    pub(super) fn raw(self) -> sys::CUarray {
        self.0
    }
}

/// The memory that a texture or surface shows.
#[derive(Clone, Copy, Debug)]
pub enum Resource {
    /// An array.
    Array(Array),
    /// Memory, with its size in bytes.
    Linear(Address, TexelFormat, usize),
    /// Rows: `[elements of a row, rows, bytes from one row to the next]`.
    Rows(Address, TexelFormat, [usize; 3]),
}

impl Resource {
    fn raw(self) -> Result<sys::CUDA_RESOURCE_DESC> {
        // SAFETY: all zeros is a value of each field.
        let mut raw: sys::CUDA_RESOURCE_DESC = unsafe { std::mem::zeroed() };
        match self {
            Self::Array(array) => {
                raw.resType = sys::CUresourcetype::CU_RESOURCE_TYPE_ARRAY;
                raw.res.array.hArray = array.0;
            }
            Self::Linear(address, format, size) => {
                raw.resType = sys::CUresourcetype::CU_RESOURCE_TYPE_LINEAR;
                raw.res.linear = sys::CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_3 {
                    devPtr: address,
                    format: raw_format(format)?,
                    numChannels: format.components as u32,
                    sizeInBytes: size,
                };
            }
            Self::Rows(address, format, [width, height, pitch]) => {
                raw.resType = sys::CUresourcetype::CU_RESOURCE_TYPE_PITCH2D;
                raw.res.pitch2D = sys::CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_4 {
                    devPtr: address,
                    format: raw_format(format)?,
                    numChannels: format.components as u32,
                    width,
                    height,
                    pitchInBytes: pitch,
                };
            }
        }
        Ok(raw)
    }
}

/// `CU_TRSF_READ_AS_INTEGER`: integers are not converted to floats.
pub const READ_AS_INTEGER: u32 = 1;
/// `CU_TRSF_NORMALIZED_COORDINATES`.
pub const NORMALIZED_COORDINATES: u32 = 2;
/// `CU_TRSF_SRGB`.
pub const SRGB: u32 = 0x10;
/// `CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION`.
pub const DISABLE_TRILINEAR_OPTIMIZATION: u32 = 0x20;
/// `CU_TRSF_SEAMLESS_CUBEMAP`.
pub const SEAMLESS_CUBEMAP: u32 = 0x40;

/// How a texture is sampled. The numbers are also those of `cudaTextureDesc`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sampling {
    /// For each dimension: wrap, clamp, mirror or border.
    pub address_modes: [u32; 3],
    /// Linear filtering.
    pub linear: bool,
    /// [`READ_AS_INTEGER`] and the flags below it.
    pub flags: u32,
    /// The degree of anisotropic filtering.
    pub max_anisotropy: u32,
    /// Colour outside of the texture.
    pub border: [f32; 4],
}

/// Makes a texture object.
pub fn create_texture(resource: Resource, sampling: &Sampling) -> Result<u64> {
    use sys::CUaddress_mode as Mode;
    let mode = |number: u32| match number {
        0 => Mode::CU_TR_ADDRESS_MODE_WRAP,
        1 => Mode::CU_TR_ADDRESS_MODE_CLAMP,
        2 => Mode::CU_TR_ADDRESS_MODE_MIRROR,
        _ => Mode::CU_TR_ADDRESS_MODE_BORDER,
    };
    // SAFETY: all zeros is a value of each field.
    let mut raw: sys::CUDA_TEXTURE_DESC = unsafe { std::mem::zeroed() };
    raw.addressMode = sampling.address_modes.map(mode);
    if sampling.linear {
        raw.filterMode = sys::CUfilter_mode::CU_TR_FILTER_MODE_LINEAR;
    }
    raw.flags = sampling.flags;
    raw.maxAnisotropy = sampling.max_anisotropy;
    raw.borderColor = sampling.border;
    let mut texture = 0;
    call!(cuTexObjectCreate(&mut texture, &resource.raw()?, &raw, ptr::null()))?;
    Ok(texture)
}

/// Destroys a texture object.
pub fn destroy_texture(texture: u64) -> Result {
    call!(cuTexObjectDestroy(texture))
}

/// Makes a surface object of an array.
pub fn create_surface(array: Array) -> Result<u64> {
    let mut surface = 0;
    call!(cuSurfObjectCreate(&mut surface, &Resource::Array(array).raw()?))?;
    Ok(surface)
}

/// Destroys a surface object.
pub fn destroy_surface(surface: u64) -> Result {
    call!(cuSurfObjectDestroy(surface))
}
