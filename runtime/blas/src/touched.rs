//! Which bytes a call reads and writes.

use std::ops::{Deref, DerefMut};

use gpurace_abi::library::LibraryRows;

use crate::stored::{Layout, Stored, Vector};

/// Takes the bytes that a call touches, also as vectors and matrices.
pub struct Touches(pub gpurace_library::touched::Touches);

impl Deref for Touches {
    type Target = gpurace_library::touched::Touches;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Touches {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
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
