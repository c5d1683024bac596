//! Arrays, and the texture and surface objects through which kernels reach arrays and other memory.

use std::ptr;

use cudarc::driver::sys;

use super::{Address, Result, call};

/// An array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Array(sys::CUarray);

// SAFETY: a handle of the driver, which takes it from any thread.
unsafe impl Send for Array {}
// SAFETY: as above.
unsafe impl Sync for Array {}

/// What a component of an element is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Component {
    /// A signed integer of 8, 16 or 32 bits.
    Signed(u32),
    /// An unsigned one.
    Unsigned(u32),
    /// A float of 16 or 32 bits.
    Float(u32),
}

/// What an element is: 1, 2 or 4 components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Each of them.
    pub component: Component,
    /// How many.
    pub channels: u32,
}

impl Format {
    /// As the driver has it; `None` where it has no such elements.
    fn raw(self) -> Option<sys::CUarray_format> {
        use sys::CUarray_format as Raw;
        Some(match self.component {
            Component::Signed(8) => Raw::CU_AD_FORMAT_SIGNED_INT8,
            Component::Signed(16) => Raw::CU_AD_FORMAT_SIGNED_INT16,
            Component::Signed(32) => Raw::CU_AD_FORMAT_SIGNED_INT32,
            Component::Unsigned(8) => Raw::CU_AD_FORMAT_UNSIGNED_INT8,
            Component::Unsigned(16) => Raw::CU_AD_FORMAT_UNSIGNED_INT16,
            Component::Unsigned(32) => Raw::CU_AD_FORMAT_UNSIGNED_INT32,
            Component::Float(16) => Raw::CU_AD_FORMAT_HALF,
            Component::Float(32) => Raw::CU_AD_FORMAT_FLOAT,
            _ => return None,
        })
    }

    fn known(self) -> Result<sys::CUarray_format> {
        let name = || format!("no elements of {:?}", self.component);
        self.raw().ok_or_else(|| super::Error { call: "cuArray3DCreate", name: name(), code: 20 })
    }
}

impl Array {
    /// Makes one of `[elements of a row, rows, slices]`, 0 for dimensions that it has not. `flags`: `cudaMalloc3DArray` and
    /// the driver have the same.
    ///
    /// # Errors
    /// The driver's.
    pub fn create(format: Format, [width, height, depth]: [usize; 3], flags: u32) -> Result<Self> {
        let description = sys::CUDA_ARRAY3D_DESCRIPTOR {
            Width: width,
            Height: height,
            Depth: depth,
            Format: format.known()?,
            NumChannels: format.channels,
            Flags: flags,
        };
        let mut array = ptr::null_mut();
        call!(cuArray3DCreate_v2(&mut array, &description))?;
        Ok(Self(array))
    }

    /// Gives it back. Nothing runs that may use it.
    ///
    /// # Errors
    /// The driver's.
    pub fn destroy(self) -> Result {
        call!(cuArrayDestroy(self.0))
    }

    pub(super) fn raw(self) -> sys::CUarray {
        self.0
    }
}

/// What a texture or a surface shows.
#[derive(Clone, Copy, Debug)]
pub enum Resource {
    /// An array.
    Array(Array),
    /// Memory of so many bytes.
    Linear(Address, Format, usize),
    /// Rows: `[elements of each, how many, bytes from one to the next]`.
    Rows(Address, Format, [usize; 3]),
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
                    format: format.known()?,
                    numChannels: format.channels,
                    sizeInBytes: size,
                };
            }
            Self::Rows(address, format, [width, height, pitch]) => {
                raw.resType = sys::CUresourcetype::CU_RESOURCE_TYPE_PITCH2D;
                raw.res.pitch2D = sys::CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_4 {
                    devPtr: address,
                    format: format.known()?,
                    numChannels: format.channels,
                    width,
                    height,
                    pitchInBytes: pitch,
                };
            }
        }
        Ok(raw)
    }
}

/// `CU_TRSF_READ_AS_INTEGER`: integers are not made floats.
pub const READ_AS_INTEGER: u32 = 1;
/// `CU_TRSF_NORMALIZED_COORDINATES`.
pub const NORMALIZED_COORDINATES: u32 = 2;
/// `CU_TRSF_SRGB`.
pub const SRGB: u32 = 0x10;
/// `CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION`.
pub const DISABLE_TRILINEAR_OPTIMIZATION: u32 = 0x20;
/// `CU_TRSF_SEAMLESS_CUBEMAP`.
pub const SEAMLESS_CUBEMAP: u32 = 0x40;

/// How a texture is read. The modes are numbered as `cudaTextureDesc` has them, too.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sampling {
    /// Wrap, clamp, mirror, border, for each dimension.
    pub address_modes: [u32; 3],
    /// Neighbouring elements are mixed.
    pub linear: bool,
    /// [`READ_AS_INTEGER`] and others.
    pub flags: u32,
    /// Of anisotropic filtering.
    pub max_anisotropy: u32,
    /// Colour outside of the texture.
    pub border: [f32; 4],
}

/// Makes a texture object.
///
/// # Errors
/// The driver's.
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

/// Gives it back.
///
/// # Errors
/// The driver's.
pub fn destroy_texture(texture: u64) -> Result {
    call!(cuTexObjectDestroy(texture))
}

/// Makes a surface object.
///
/// # Errors
/// The driver's.
pub fn create_surface(array: Array) -> Result<u64> {
    let mut surface = 0;
    call!(cuSurfObjectCreate(&mut surface, &Resource::Array(array).raw()?))?;
    Ok(surface)
}

/// Gives it back.
///
/// # Errors
/// The driver's.
pub fn destroy_surface(surface: u64) -> Result {
    call!(cuSurfObjectDestroy(surface))
}
