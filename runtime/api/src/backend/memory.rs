//! Memory as a backend is asked for it: allocations, arrays, and the rows that transfers touch.

use std::ffi::c_void;
use std::ops::Range;

use gpurace_check::Touched;

use crate::host::errors::{Error, Result};
use crate::host::types::{cudaChannelFormatDesc, cudaExtent};
use crate::order::StreamId;

/// Alignment of every allocation, bytes (CUDA C++ Programming Guide, "Device Memory Accesses").
pub const ALIGNMENT: usize = 256;

/// How an allocation was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryKind {
    /// By `cudaMalloc` or a similar function.
    Device,
    /// As a CUDA array: [`CudaArray`].
    Array,
    /// By `cudaMallocManaged`.
    Managed,
    /// By `cudaMallocHost` or `cudaHostAlloc`.
    Host,
    /// By the program itself, which passed it to `cudaHostRegister`.
    Registered,
}

impl MemoryKind {
    /// True if both the host and kernels can access it, in pages that hold nothing else.
    /// [`crate::session::watch`] protects them.
    pub const fn is_host_visible(self) -> bool {
        matches!(self, Self::Managed | Self::Host)
    }
}

/// The memory that an allocation needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoryRequest {
    /// Bytes, a multiple of [`ALIGNMENT`].
    pub size: usize,
    /// No other allocation may lie in its pages.
    pub own_pages: bool,
}

/// A CUDA array: `extent.width` elements a row. Height and depth are 0 if the array has fewer
/// dimensions.
#[derive(Clone, Copy, Debug)]
pub struct CudaArray {
    /// Address of its memory.
    pub address: usize,
    /// Bytes of an element.
    pub element: usize,
    /// The components of an element.
    pub format: cudaChannelFormatDesc,
    /// Its size as the program requested it.
    pub extent: cudaExtent,
    /// Its flags as the program requested them.
    pub flags: u32,
}

impl CudaArray {
    /// Bytes of a row.
    pub fn row(&self) -> usize {
        self.extent.width * self.element
    }

    /// Rows of a slice.
    pub fn rows(&self) -> usize {
        self.extent.height.max(1)
    }

    /// Number of slices.
    pub fn slices(&self) -> usize {
        self.extent.depth.max(1)
    }

    /// Checks that a rectangle of `width` bytes and `height` rows from `(x, y)` on lies in the
    /// first slice.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` if it does not.
    pub fn check_rectangle(&self, x: usize, y: usize, width: usize, height: usize) -> Result {
        let fits = |at: usize, size: usize, all| at.checked_add(size).is_some_and(|end| end <= all);
        if fits(x, width, self.row()) && fits(y, height, self.rows()) {
            Ok(())
        } else {
            Err(Error::INVALID_VALUE)
        }
    }

    /// Returns the address of the `count` bytes from byte `x` of row `y` on. The bytes may continue
    /// in the next rows.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` if the array ends before them.
    pub fn rest(&self, x: usize, y: usize, count: usize) -> Result<*mut c_void> {
        let at = y.checked_mul(self.row()).and_then(|at| at.checked_add(x));
        match at.and_then(|at| Some((at, at.checked_add(count)?))) {
            Some((at, end)) if end <= self.row() * self.rows() => Ok((self.address + at) as *mut c_void),
            _ => Err(Error::INVALID_VALUE),
        }
    }
}

/// One side of a transfer: the position of its rows, without their size.
#[derive(Clone, Copy, Debug)]
pub struct PitchedRows {
    /// The first byte.
    pub start: *mut u8,
    /// Bytes from one row to the next.
    pub pitch: usize,
    /// Bytes from one slice to the next.
    pub slice: usize,
}

// SAFETY: only transfers use the address, and any thread may run them.
unsafe impl Send for PitchedRows {}

impl PitchedRows {
    /// The bytes of a transfer of `extent` (bytes, rows, slices) on this side.
    pub fn of_extent(self, extent: cudaExtent) -> TransferRows {
        TransferRows {
            start: self.start as usize,
            width: extent.width,
            rows: (extent.height, self.pitch),
            slices: (extent.depth, self.slice),
        }
    }
}

/// How a transfer is submitted.
#[derive(Clone, Copy, Debug)]
pub struct TransferRequest {
    /// What it moves: bytes, rows, slices.
    pub extent: cudaExtent,
    /// The stream whose order it keeps.
    pub stream: StreamId,
    /// The call returns when the transfer is over.
    pub wait: bool,
}

/// The bytes on one side of a transfer: rows of equal length.
#[derive(Clone, Copy, Debug)]
pub struct TransferRows {
    /// Address of the first byte.
    pub start: usize,
    /// Bytes of a row.
    pub width: usize,
    /// Rows of a slice, and bytes from one to the next.
    pub rows: (usize, usize),
    /// Slices, and bytes from one to the next.
    pub slices: (usize, usize),
}

impl TransferRows {
    /// Returns the same bytes with adjacent rows joined to one.
    pub fn joined(self) -> Self {
        let (rows, pitch) = self.rows;
        if rows != 1 && pitch == self.width {
            Self { width: self.width * rows, rows: (1, 0), ..self }
        } else {
            self
        }
    }

    /// The byte range of each row. Adjacent rows are one range.
    fn ranges(self) -> impl Iterator<Item = Range<usize>> {
        let Self { start, width, rows: (rows, pitch), slices: (slices, slice) } = self.joined();
        (0..slices).flat_map(move |z| {
            (0..rows).map(move |y| {
                let start = start + z * slice + y * pitch;
                start..start + width
            })
        })
    }
}

/// What a transfer reads, or what it writes.
#[derive(Clone, Copy, Debug)]
pub struct TransferSide {
    /// The bytes.
    pub rows: TransferRows,
    /// The transfer writes them. Otherwise it reads them.
    pub writes: bool,
    /// The number of its site among the sites of transfers.
    pub site: u32,
}

impl TransferSide {
    /// The same in the checker's terms.
    pub fn touched(self) -> impl Iterator<Item = Touched> {
        let Self { rows, writes, site } = self;
        rows.ranges().map(move |bytes| Touched { bytes, writes, site })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_touch_are_one_range() {
        let rows = |width, rows, slices| TransferRows { start: 1000, width, rows, slices };
        let ranges = |r: TransferRows| r.ranges().map(|range| (range.start, range.end)).collect::<Vec<_>>();
        assert_eq!(ranges(rows(10, (1, 0), (1, 0))), [(1000, 1010)]);
        assert_eq!(ranges(rows(10, (3, 10), (1, 0))), [(1000, 1030)]);
        assert_eq!(ranges(rows(10, (2, 16), (1, 0))), [(1000, 1010), (1016, 1026)]);
        assert_eq!(ranges(rows(10, (2, 10), (2, 100))), [(1000, 1020), (1100, 1120)]);
        let all = [(1000, 1010), (1016, 1026), (1100, 1110), (1116, 1126)];
        assert_eq!(ranges(rows(10, (2, 16), (2, 100))), all);
    }
}
