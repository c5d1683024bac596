//! Arrays on a GPU. Their layout is the driver's, so they have no addresses. Above the seam an array is plain rows at an address
//! ([`crate::memory::array`]): here that is one of a range that is reserved and has no memory, and what is copied to or from
//! there is copied to or from the array.

use std::collections::BTreeMap;

use gpurace_cpu::texture::{Format, Kind as Component, Object, Texels};
use gpurace_cuda::driver::array::{self as driver, Resource, Sampling};
use gpurace_cuda::driver::queue::{Pitched, Place};
use gpurace_cuda::driver::{self as all, Stream};
use parking_lot::Mutex;

use crate::memory::array::Array;
use crate::memory::copy::Rows;
use crate::texture::LINEAR;
use crate::types::{cudaExtent, cudaResourceDesc, cudaTextureDesc};

/// The arrays by their addresses.
#[derive(Default)]
pub struct Arrays(Mutex<BTreeMap<usize, (Array, driver::Array)>>);

/// A side of a copy.
#[derive(Clone, Copy)]
struct Side {
    rows: Rows,
    /// The array that its rows are of.
    array: Option<(Array, driver::Array)>,
}

/// Addresses that stand for an array of so many bytes: nothing lies there, on host and device.
pub fn reserve(size: usize) -> all::Result<usize> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: maps where nothing is.
    let address = unsafe { libc::mmap(std::ptr::null_mut(), size, libc::PROT_NONE, flags, -1, 0) };
    if address == libc::MAP_FAILED {
        Err(all::Error::out_of_memory("mmap"))
    } else {
        Ok(address.expose_provenance())
    }
}

/// Gives such addresses back.
pub fn unreserve(address: usize, size: usize) {
    // SAFETY: it came from `reserve`, and nothing lies there.
    unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(address), size) };
}

impl Arrays {
    /// Has the driver make an array.
    pub fn make(&self, array: &Array, format: Format) -> all::Result {
        let extent = [array.extent.width, array.extent.height, array.extent.depth];
        let made = driver::Array::create(of_format(format), extent, array.flags)?;
        self.0.lock().insert(array.address, (*array, made));
        Ok(())
    }

    /// Gives it back.
    pub fn give(&self, address: usize) -> all::Result {
        let removed = self.0.lock().remove(&address);
        removed.map_or(Ok(()), |(_, array)| array.destroy())
    }

    /// The array that an address lies in.
    fn at(&self, address: usize) -> Option<(Array, driver::Array)> {
        let arrays = self.0.lock();
        let (&start, &found) = arrays.range(..=address).next_back()?;
        let (array, _) = found;
        (address - start < array.row() * array.rows() * array.slices()).then_some(found)
    }

    /// Copies, where one side is an array's; `None`: neither is.
    ///
    /// # Safety
    /// As [`super::Backend::copy`].
    pub unsafe fn copy(
        &self,
        to: Rows,
        from: Rows,
        extent: cudaExtent,
        stream: Stream,
    ) -> Option<all::Result> {
        let [to, from] = [to, from].map(|rows| Side { rows, array: self.at(rows.start as usize) });
        if to.array.is_none() && from.array.is_none() {
            return None;
        }
        // SAFETY: as the caller vouches.
        Some((0..extent.depth).try_for_each(|slice| unsafe { copy_slice([to, from], slice, extent, stream) }))
    }

    /// Makes a texture or a surface object of what a resource shows.
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
            None if resource.resType == LINEAR => {
                Resource::Linear(address as u64, of_format(format), resource.linear().sizeInBytes)
            }
            None => Resource::Rows(address as u64, of_format(format), [width, height, pitch]),
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
/// As [`super::Backend::copy`].
unsafe fn copy_slice(sides: [Side; 2], slice: usize, extent: cudaExtent, stream: Stream) -> all::Result {
    let starts = sides.map(|side| side.rows.start as usize + side.rows.slice * slice);
    let whole = sides.iter().zip(starts).all(|(side, start)| side.is_rectangle(start, extent));
    if whole {
        let [to, from] = [0, 1].map(|n| sides[n].place(starts[n], extent));
        // SAFETY: as the caller vouches.
        return unsafe { stream.copy_rows(to, from, [extent.width, extent.height, 1]) };
    }
    // Bytes that go on from one row of an array to the next.
    for row in 0..extent.height {
        let mut at = [0, 1].map(|n| starts[n] + sides[n].rows.pitch * row);
        let mut left = extent.width;
        while left > 0 {
            let width =
                sides.iter().zip(at).map(|(side, start)| side.to_end_of_row(start)).fold(left, usize::min);
            let piece = cudaExtent { width, height: 1, depth: 1 };
            let [to, from] = [0, 1].map(|n| sides[n].place(at[n], piece));
            // SAFETY: as the caller vouches.
            unsafe { stream.copy_rows(to, from, [width, 1, 1]) }?;
            at = at.map(|start| start + width);
            left -= width;
        }
    }
    Ok(())
}

impl Side {
    /// Bytes from an address to the end of the array's row that it lies in.
    fn to_end_of_row(&self, start: usize) -> usize {
        self.array.map_or(usize::MAX, |(array, _)| array.row() - (start - array.address) % array.row())
    }

    /// Whether rows from `start` on are a rectangle of the array.
    fn is_rectangle(&self, start: usize, extent: cudaExtent) -> bool {
        self.array.is_none_or(|(array, _)| {
            extent.width <= self.to_end_of_row(start)
                && (extent.height == 1 || self.rows.pitch == array.row())
        })
    }

    fn place(&self, start: usize, extent: cudaExtent) -> Place {
        match self.array {
            None => Place::Memory(Pitched {
                address: start as u64,
                pitch: self.rows.pitch.max(extent.width),
                rows: extent.height,
            }),
            Some((array, handle)) => {
                let (row, offset) = (array.row(), start - array.address);
                Place::Array(handle, [offset % row, offset / row % array.rows(), offset / row / array.rows()])
            }
        }
    }
}

fn of_format(format: Format) -> driver::Format {
    let component = match format.kind {
        Component::Signed => driver::Component::Signed(format.bits),
        Component::Unsigned => driver::Component::Unsigned(format.bits),
        Component::Float => driver::Component::Float(format.bits),
    };
    driver::Format { component, channels: format.components as u32 }
}

fn sampling(desc: &cudaTextureDesc, format: Format) -> Sampling {
    let flags = [
        // `cudaReadModeElementType`; floats are floats in either mode.
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
