//! Which bytes a call reads and writes.

use std::ffi::c_void;

use gpurace_abi::library::{LibraryRows, TellRows};

use crate::stored::{Layout, Stored, Vector};

/// Takes the bytes that an operation touches.
pub struct Touches {
    tell: TellRows,
    to: *mut c_void,
}

/// Many matrices of one size: their number, and elements from one to the next.
#[derive(Clone, Copy, Debug)]
pub struct Batch {
    /// Number of matrices.
    pub count: usize,
    /// Elements from one to the next. 0 if it is always the same one.
    pub stride: isize,
}

impl Batch {
    /// A single matrix.
    pub const ONE: Self = Self { count: 1, stride: 0 };
}

impl Touches {
    /// Passes rows on to the runtime.
    pub fn new(tell: TellRows, to: *mut c_void) -> Self {
        Self { tell, to }
    }

    /// False if the device has no such memory.
    fn rows(&mut self, rows: LibraryRows) -> bool {
        // SAFETY: the runtime passed both together.
        unsafe { (self.tell)(self.to, &rows) }
    }

    /// The addresses in an array in the device's memory. None if the device has no such memory.
    pub fn addresses<T>(&mut self, array: *const *mut T, count: usize) -> Vec<*mut T> {
        if !self.elements(array, count, false) {
            return Vec::new();
        }
        // SAFETY: the runtime has found the memory.
        (0..count).map(|i| unsafe { array.add(i).read_unaligned() }).collect()
    }

    /// Elements side by side. False if the device has no such memory.
    pub fn elements<T>(&mut self, start: *const T, count: usize, writes: bool) -> bool {
        self.rows(LibraryRows {
            start: start.addr(),
            width: count.saturating_mul(size_of::<T>()),
            rows: 1,
            pitch: 0,
            slices: 1,
            slice: 0,
            writes,
        })
    }

    /// A vector.
    pub fn vector<T>(&mut self, vector: Vector<T>, writes: bool) {
        self.rows(LibraryRows {
            start: vector.start.addr(),
            width: size_of::<T>(),
            rows: vector.n,
            pitch: vector.step.unsigned_abs().saturating_mul(size_of::<T>()),
            slices: 1,
            slice: 0,
            writes,
        });
    }

    /// A whole matrix of elements of `size` bytes in columns, or a batch of them.
    pub fn matrices(
        &mut self,
        start: usize,
        size: usize,
        (m, n): (usize, usize),
        leading: usize,
        batch: Batch,
        writes: bool,
    ) {
        let stride = batch.stride.saturating_mul(size as isize);
        let slices = if stride == 0 { batch.count.min(1) } else { batch.count };
        // The lowest one comes first.
        let back = if stride < 0 { stride.unsigned_abs() * slices.saturating_sub(1) } else { 0 };
        self.rows(LibraryRows {
            start: start.wrapping_sub(back),
            width: m.saturating_mul(size),
            rows: n,
            pitch: leading.saturating_mul(size),
            slices,
            slice: stride.unsigned_abs(),
            writes,
        });
    }

    /// A matrix as it is stored. `unit`: its diagonal is not touched.
    pub fn stored<T: Copy>(&mut self, matrix: Stored<T>, unit: bool, writes: bool) {
        if let (Layout::Dense(leading), crate::status::Part::Whole) = (matrix.layout, matrix.part) {
            let size = (matrix.m, matrix.n);
            return self.matrices(matrix.start.addr(), size_of::<T>(), size, leading, Batch::ONE, writes);
        }
        for column in 0..matrix.n {
            let mut rows = matrix.rows(column);
            if unit && rows.start == column {
                rows.start += 1;
            } else if unit && rows.end == column + 1 {
                rows.end -= 1;
            }
            if !rows.is_empty() {
                self.elements(matrix.place(rows.start, column).cast_const(), rows.len(), writes);
            }
        }
    }
}
