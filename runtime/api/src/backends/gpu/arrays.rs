//! Arrays on a GPU. The driver decides their layout, so their bytes have no addresses. The layers
//! above see an array as plain rows at an address ([`CudaArray`]). Here the address is that of a
//! reserved range without memory. A transfer to or from the range is one to or from the array.

use std::collections::BTreeMap;

use gpurace_abi::texture::{
    ComponentKind as Component, TexelFormat as Format, Texels, TextureObject as Object,
};
use gpurace_cuda::driver::array::{self as driver, Resource, Sampling};
use gpurace_cuda::driver::queue::{CopySide, Pitched};
use gpurace_cuda::driver::{self as all, Stream};
use parking_lot::Mutex;

use crate::backend::memory::{CudaArray, PitchedRows};
use crate::backends::arena;
use crate::host::types::{RESOURCE_LINEAR, cudaExtent, cudaResourceDesc, cudaTextureDesc};

/// The arrays by their addresses.
#[derive(Default)]
pub struct GpuArrays(Mutex<BTreeMap<usize, (CudaArray, driver::Array)>>);

/// One side of a copy.
#[derive(Clone, Copy)]
struct ArraySide {
    rows: PitchedRows,
    /// The array that contains its rows.
    array: Option<(CudaArray, driver::Array)>,
}

/// Reserves addresses for an array of this size. Neither host nor device has memory there.
pub fn reserve(size: usize) -> all::Result<usize> {
    // SAFETY: a new mapping.
    unsafe { arena::map(0, size, libc::PROT_NONE, 0) }.ok_or_else(|| all::Error::out_of_memory("mmap"))
}

/// Gives the addresses of [`reserve`] back.
pub fn unreserve(address: usize, size: usize) {
    // SAFETY: they came from `reserve`, and there is no memory.
    unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(address), size) };
}

impl GpuArrays {
    /// Makes an array.
    pub fn make(&self, array: &CudaArray, format: Format) -> all::Result {
        let extent = [array.extent.width, array.extent.height, array.extent.depth];
        let made = driver::Array::create(format, extent, array.flags)?;
        self.0.lock().insert(array.address, (*array, made));
        Ok(())
    }

    /// Destroys an array.
    pub fn give(&self, address: usize) -> all::Result {
        let removed = self.0.lock().remove(&address);
        removed.map_or(Ok(()), |(_, array)| array.destroy())
    }

    /// The array that contains an address.
    fn at(&self, address: usize) -> Option<(CudaArray, driver::Array)> {
        let arrays = self.0.lock();
        let (&start, &found) = arrays.range(..=address).next_back()?;
        let (array, _) = found;
        (address - start < array.row() * array.rows() * array.slices()).then_some(found)
    }

    /// Copies, if at least one side is an array's. `None` if neither is.
    ///
    /// # Safety
    /// As [`crate::backend::Backend::copy`].
    pub unsafe fn copy(
        &self,
        to: PitchedRows,
        from: PitchedRows,
        extent: cudaExtent,
        stream: Stream,
    ) -> Option<all::Result> {
        let [to, from] = [to, from].map(|rows| ArraySide { rows, array: self.at(rows.start as usize) });
        if to.array.is_none() && from.array.is_none() {
            return None;
        }
        // SAFETY: the caller keeps the contract above.
        Some((0..extent.depth).try_for_each(|slice| unsafe { copy_slice([to, from], slice, extent, stream) }))
    }

    /// Makes a texture object (`desc` is its description) or a surface object. Returns its handle.
    pub fn object(
        &self,
        object: &Object,
        resource: &cudaResourceDesc,
        desc: Option<&cudaTextureDesc>,
    ) -> all::Result<u64> {
        let texels = match object {
            Object::Texture(texture) => &texture.texels,
            Object::Surface(texels) => texels,
        };
        let Texels { address, size: [width, height, _], pitch, format } = *texels;
        let shown = match self.at(address) {
            Some((_, array)) => Resource::Array(array),
            None if resource.resType == RESOURCE_LINEAR => {
                Resource::Linear(address as u64, format, resource.linear().sizeInBytes)
            }
            None => Resource::Rows(address as u64, format, [width, height, pitch]),
        };
        match (desc, shown) {
            (Some(desc), _) => driver::create_texture(shown, &sampling(desc, format)),
            (None, Resource::Array(array)) => driver::create_surface(array),
            (None, _) => {
                Err(all::Error { call: "cuSurfObjectCreate", name: "not an array".to_owned(), code: 1 })
            }
        }
    }
}

/// Copies a slice of `extent`.
///
/// # Safety
/// As [`crate::backend::Backend::copy`].
unsafe fn copy_slice(sides: [ArraySide; 2], slice: usize, extent: cudaExtent, stream: Stream) -> all::Result {
    let starts = sides.map(|side| side.rows.start as usize + side.rows.slice * slice);
    let whole = sides.iter().zip(starts).all(|(side, start)| side.is_rectangle(start, extent));
    if whole {
        let [to, from] = [0, 1].map(|n| sides[n].place(starts[n], extent));
        // SAFETY: the caller keeps the contract above.
        return unsafe { stream.copy_rows(to, from, [extent.width, extent.height, 1]) };
    }
    // The bytes continue from one row of an array in the next.
    for row in 0..extent.height {
        let mut at = [0, 1].map(|n| starts[n] + sides[n].rows.pitch * row);
        let mut left = extent.width;
        while left > 0 {
            let width = sides.iter().zip(at).map(|(side, start)| side.row_rest(start)).fold(left, usize::min);
            let piece = cudaExtent { width, height: 1, depth: 1 };
            let [to, from] = [0, 1].map(|n| sides[n].place(at[n], piece));
            // SAFETY: the caller keeps the contract above.
            unsafe { stream.copy_rows(to, from, [width, 1, 1]) }?;
            at = at.map(|start| start + width);
            left -= width;
        }
    }
    Ok(())
}

impl ArraySide {
    /// Bytes from an address to the end of its row in the array.
    fn row_rest(&self, start: usize) -> usize {
        self.array.map_or(usize::MAX, |(array, _)| array.row() - (start - array.address) % array.row())
    }

    /// True if the rows from `start` on are a rectangle of the array.
    fn is_rectangle(&self, start: usize, extent: cudaExtent) -> bool {
        self.array.is_none_or(|(array, _)| {
            extent.width <= self.row_rest(start) && (extent.height == 1 || self.rows.pitch == array.row())
        })
    }

    fn place(&self, start: usize, extent: cudaExtent) -> CopySide {
        match self.array {
            None => CopySide::Memory(Pitched {
                address: start as u64,
                pitch: self.rows.pitch.max(extent.width),
                rows: extent.height,
            }),
            Some((array, handle)) => {
                let (row, offset) = (array.row(), start - array.address);
                CopySide::Array(
                    handle,
                    [offset % row, offset / row % array.rows(), offset / row / array.rows()],
                )
            }
        }
    }
}

fn sampling(desc: &cudaTextureDesc, format: Format) -> Sampling {
    let flags = [
        // `cudaReadModeElementType`. Floats are the same in both modes.
        (desc.readMode == 0 && format.kind != Component::Float, driver::READ_AS_INTEGER),
        (desc.normalizedCoords != 0, driver::NORMALIZED_COORDINATES),
        (desc.sRGB != 0, driver::SRGB),
        (desc.disableTrilinearOptimization != 0, driver::DISABLE_TRILINEAR_OPTIMIZATION),
        (desc.seamlessCubemap != 0, driver::SEAMLESS_CUBEMAP),
    ];
    Sampling {
        address_modes: desc.addressMode,
        linear: desc.filterMode == 1,
        flags: flags.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag).sum(),
        max_anisotropy: desc.maxAnisotropy,
        border: desc.borderColor,
    }
}
