//! CUDA arrays. Their layout is opaque, so they are plain rows; on a GPU, where the layout is the driver's, at addresses without
//! memory. Kernels reach them through textures and surfaces ([`crate::texture`]).

use std::collections::HashMap;
use std::ffi::{c_int, c_void};

use parking_lot::Mutex;

use crate::backend;
use crate::edge::{api, get, put};
use crate::errors::{Error, Result};
use crate::memory::map::{self, Kind};
use crate::types::{cudaArray_t, cudaChannelFormatDesc, cudaExtent};

/// An array: `extent.width` elements a row; height and depth are 0 where the
/// array has fewer dimensions.
#[derive(Clone, Copy, Debug)]
pub struct Array {
    /// Address of its memory.
    pub address: usize,
    /// Bytes of an element.
    pub element: usize,
    /// What an element is made of.
    pub format: cudaChannelFormatDesc,
    /// Its size as it was asked for.
    pub extent: cudaExtent,
    /// Its flags as they were asked for.
    pub flags: u32,
}

impl Array {
    /// Bytes of a row.
    pub fn row(&self) -> usize {
        self.extent.width * self.element
    }

    /// Rows of a slice.
    pub fn rows(&self) -> usize {
        self.extent.height.max(1)
    }

    /// Slices.
    pub fn slices(&self) -> usize {
        self.extent.depth.max(1)
    }

    /// Whether a rectangle of `width` bytes and `height` rows from `(x, y)` on
    /// lies in the first slice.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` where it does not.
    pub fn check_rectangle(&self, x: usize, y: usize, width: usize, height: usize) -> Result {
        let fits = |at: usize, size: usize, all| at.checked_add(size).is_some_and(|end| end <= all);
        if fits(x, width, self.row()) && fits(y, height, self.rows()) {
            Ok(())
        } else {
            Err(Error::INVALID_VALUE)
        }
    }

    /// The `count` bytes from byte `x` of row `y` on, rows taken as one piece.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` where the array ends before.
    pub fn rest(&self, x: usize, y: usize, count: usize) -> Result<*mut c_void> {
        let at = y.checked_mul(self.row()).and_then(|at| at.checked_add(x));
        match at.and_then(|at| Some((at, at.checked_add(count)?))) {
            Some((at, end)) if end <= self.row() * self.rows() => Ok((self.address + at) as *mut c_void),
            _ => Err(Error::INVALID_VALUE),
        }
    }
}

/// The live arrays by handle, which is the address of their memory.
static ARRAYS: Mutex<Option<HashMap<usize, Array>>> = Mutex::new(None);

/// The array of this handle.
///
/// # Errors
/// `cudaErrorInvalidResourceHandle` where there is none.
pub fn lookup(handle: cudaArray_t) -> Result<Array> {
    let arrays = ARRAYS.lock();
    let found = arrays.as_ref().and_then(|arrays| arrays.get(&(handle as usize)));
    found.copied().ok_or(Error::INVALID_RESOURCE_HANDLE)
}

/// Forgets every array; their memory is freed with all other.
pub fn forget_all() {
    *ARRAYS.lock() = None;
}

/// Makes an array.
///
/// # Errors
/// `cudaErrorInvalidChannelDescriptor`, `cudaErrorInvalidValue` or
/// `cudaErrorMemoryAllocation`.
fn make(format: cudaChannelFormatDesc, extent: cudaExtent, flags: u32) -> Result<cudaArray_t> {
    let bits = [format.x, format.y, format.z, format.w];
    let total: c_int = bits.iter().sum();
    if bits.iter().any(|b| ![0, 8, 16, 32].contains(b)) || total == 0 {
        return Err(Error::INVALID_CHANNEL_DESCRIPTOR);
    }
    if extent.width == 0 || (extent.height == 0 && extent.depth != 0 && flags & 1 == 0) {
        return Err(Error::INVALID_VALUE);
    }
    let element = total as usize / 8;
    let size = [extent.width, extent.height.max(1), extent.depth.max(1)]
        .into_iter()
        .try_fold(element, usize::checked_mul)
        .ok_or(Error::MEMORY_ALLOCATION)?;
    let address = map::allocate(size, Kind::Array, 0)?.address;
    let array = Array { address, element, format, extent, flags };
    if let Err(error) = backend::get().make_array(&array) {
        map::free(address, &[Kind::Array])?;
        return Err(error);
    }
    ARRAYS.lock().get_or_insert_with(HashMap::new).insert(address, array);
    Ok(address as cudaArray_t)
}

api! {
    fn cudaMallocArray(to: *mut cudaArray_t, format: *const cudaChannelFormatDesc, width: usize, height: usize, flags: u32) {
        if to.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        put(to, make(*get(format)?, cudaExtent { width, height, depth: 0 }, flags)?)
    }

    fn cudaMalloc3DArray(to: *mut cudaArray_t, format: *const cudaChannelFormatDesc, extent: cudaExtent, flags: u32) {
        if to.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        put(to, make(*get(format)?, extent, flags)?)
    }

    fn cudaFreeArray(array: cudaArray_t) {
        if array.is_null() {
            return Ok(());
        }
        let found = lookup(array)?;
        if let Some(arrays) = ARRAYS.lock().as_mut() {
            arrays.remove(&(array as usize));
        }
        map::free(found.address, &[Kind::Array]).map(|_| ())
    }

    fn cudaArrayGetInfo(format: *mut cudaChannelFormatDesc, extent: *mut cudaExtent, flags: *mut u32, array: cudaArray_t) {
        let found = lookup(array)?;
        if !format.is_null() {
            put(format, found.format)?;
        }
        if !extent.is_null() {
            put(extent, found.extent)?;
        }
        if !flags.is_null() {
            put(flags, found.flags)?;
        }
        Ok(())
    }

    fn cudaGetChannelDesc(format: *mut cudaChannelFormatDesc, array: cudaArray_t) {
        put(format, lookup(array)?.format)
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
