//! CUDA arrays. To the program their layout is opaque: here they are plain rows. On a GPU, where
//! the driver decides the layout, the rows are addresses without memory. Kernels access arrays
//! through textures and surfaces ([`crate::work::textures`]).

use std::ffi::c_int;

use crate::backend::memory::{CudaArray, MemoryKind};
use crate::host::errors::{Error, Result};
use crate::host::types::{cudaArray_t, cudaChannelFormatDesc, cudaExtent};
use crate::work::{Process, allocations};

/// Makes an array.
///
/// # Errors
/// `cudaErrorInvalidChannelDescriptor`, `cudaErrorInvalidValue` or
/// `cudaErrorMemoryAllocation`.
pub fn make(
    process: &Process,
    format: cudaChannelFormatDesc,
    extent: cudaExtent,
    flags: u32,
) -> Result<cudaArray_t> {
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
    let address = allocations::allocate(process, size, MemoryKind::Array, 0)?.address;
    let array = CudaArray { address, element, format, extent, flags };
    if let Err(error) = process.backend().make_array(&array) {
        allocations::free(process, address, &[MemoryKind::Array])?;
        return Err(error);
    }
    process.program().arrays.add(array);
    Ok(address as cudaArray_t)
}
