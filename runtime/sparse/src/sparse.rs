//! Sparse vectors and matrices.

use std::ops::Range;

use gpurace_library::touched::Touches;

use crate::dense::DnMat;
use crate::status::Operation;
use crate::types::{Indices, Values};

/// A sparse vector.
#[derive(Clone, Copy, Debug)]
pub struct SpVec {
    /// Elements, also those that are not stored.
    pub size: usize,
    /// Stored elements.
    pub nnz: usize,
    /// Where they are.
    pub indices: Indices,
    /// What they are.
    pub values: Values,
}

impl SpVec {
    /// Calls the function with the index and place of each element, in range or not.
    ///
    /// # Safety
    /// The indices are valid.
    unsafe fn all(&self, mut body: impl FnMut(i64, usize)) {
        for k in 0..self.nnz {
            // SAFETY: by the contract above.
            body(unsafe { self.indices.get(k) }, k);
        }
    }

    /// Calls the function with the index and place of each element. Indices out of range are left out.
    ///
    /// # Safety
    /// The indices are valid.
    pub unsafe fn entries(&self, mut body: impl FnMut(usize, usize)) {
        let size = self.size;
        // SAFETY: by the contract above.
        unsafe { self.all(|index, k| in_range(index, size).into_iter().for_each(|index| body(index, k))) }
    }

    /// Names its indices, and the elements of a dense vector that they name.
    pub fn touch_named(&self, touches: &mut Touches, dense: DnMat, writes: bool) {
        if self.indices.touch(touches, self.nnz, false) {
            // SAFETY: the runtime has found the memory.
            let named = runs(self.size, |take| unsafe { self.all(|index, _| take(index)) });
            for run in named {
                dense.touch_part(touches, run, 0..1, writes);
            }
        }
    }
}

/// `cusparseFormat_t`, as far as it is supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Compressed rows.
    Csr,
    /// Compressed columns.
    Csc,
    /// Rows and columns of each element.
    Coo,
}

/// A sparse matrix, or a batch of them.
#[derive(Clone, Copy, Debug)]
pub struct SpMat {
    /// How it is stored.
    pub format: Format,
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub cols: usize,
    /// Stored elements.
    pub nnz: usize,
    /// Where the rows (`Csr`) or columns (`Csc`) begin. With `Coo`, the row of each element.
    pub offsets: Indices,
    /// The column of each element; with `Csc` its row.
    pub indices: Indices,
    /// The elements.
    pub values: Values,
    /// `cusparseFillMode_t`: 1 for the upper triangle.
    pub fill: u32,
    /// `cusparseDiagType_t`: 1 if the diagonal is all ones.
    pub diagonal: u32,
    /// Number of matrices.
    pub batches: usize,
    /// From the offsets of one matrix to those of the next.
    pub offsets_stride: usize,
    /// From the elements of one matrix to those of the next.
    pub values_stride: usize,
}

impl SpMat {
    /// Rows and columns, after an operation.
    pub fn size(&self, operation: Operation) -> (usize, usize) {
        operation.stored(self.rows, self.cols)
    }

    /// Compressed rows or columns.
    pub fn majors(&self) -> usize {
        if self.format == Format::Csc { self.cols } else { self.rows }
    }

    /// Length of the array of offsets.
    pub fn offsets_count(&self) -> usize {
        if self.format == Format::Coo { self.nnz } else { self.majors() + 1 }
    }

    /// One of the batch.
    pub fn of_batch(self, batch: usize) -> Self {
        let offsets = self.offsets.start + batch * self.offsets_stride * self.offsets.size();
        let first = batch * self.values_stride;
        Self {
            offsets: Indices { start: offsets, ..self.offsets },
            indices: Indices { start: self.indices.start + first * self.indices.size(), ..self.indices },
            values: Values { start: self.values.start + first * self.values.ty.size(), ..self.values },
            batches: 1,
            ..self
        }
    }

    /// Calls the function with row, column and place of each element after an operation, in range or not.
    unsafe fn all(&self, operation: Operation, mut body: impl FnMut(i64, i64, usize)) {
        let swaps = operation.transposes() != (self.format == Format::Csc);
        let mut give = |major, minor, k| match swaps {
            true => body(minor, major, k),
            false => body(major, minor, k),
        };
        // SAFETY: by the contract of the callers.
        unsafe {
            if self.format == Format::Coo {
                for k in 0..self.nnz {
                    give(self.offsets.get(k), self.indices.get(k), k);
                }
                return;
            }
            for major in 0..self.majors() {
                let (from, to) = (self.offsets.get(major).max(0), self.offsets.get(major + 1));
                for k in from..to.min(self.nnz as i64) {
                    give(major as i64, self.indices.get(k as usize), k as usize);
                }
            }
        }
    }

    /// Calls the function with row, column and place of each element after an operation. What is out of range is left
    /// out.
    ///
    /// # Safety
    /// Offsets and indices are valid.
    pub unsafe fn entries(&self, operation: Operation, mut body: impl FnMut(usize, usize, usize)) {
        let (rows, cols) = self.size(operation);
        // SAFETY: by the contract above.
        unsafe {
            self.all(operation, |row, col, k| {
                if let (Some(row), Some(col)) = (in_range(row, rows), in_range(col, cols)) {
                    body(row, col, k);
                }
            });
        }
    }

    /// Names offsets and indices. False if the device has no such memory.
    pub fn touch_pattern(&self, touches: &mut Touches) -> bool {
        // Both are told, also if the first is missing.
        self.offsets.touch(touches, self.offsets_count(), false)
            & self.indices.touch(touches, self.nnz, false)
    }

    /// Names all that is stored.
    pub fn touch(&self, touches: &mut Touches) -> bool {
        self.values.touch(touches, self.nnz, false);
        self.touch_pattern(touches)
    }

    /// The rows in which elements are, after an operation.
    ///
    /// # Safety
    /// Offsets and indices are valid.
    pub unsafe fn used_rows(&self, operation: Operation) -> Vec<Range<i64>> {
        // SAFETY: by the contract above.
        runs(self.size(operation).0, |take| unsafe { self.all(operation, |row, _, _| take(row)) })
    }

    /// The columns in which elements are, after an operation.
    ///
    /// # Safety
    /// Offsets and indices are valid.
    pub unsafe fn used_cols(&self, operation: Operation) -> Vec<Range<i64>> {
        // SAFETY: by the contract above.
        runs(self.size(operation).1, |take| unsafe { self.all(operation, |_, col, _| take(col)) })
    }
}

fn in_range(index: i64, size: usize) -> Option<usize> {
    usize::try_from(index).ok().filter(|&index| index < size)
}

/// Numbers as ranges. Most of them are less than `size`.
fn runs(size: usize, each: impl FnOnce(&mut dyn FnMut(i64))) -> Vec<Range<i64>> {
    let mut inside = vec![false; size];
    let mut outside = Vec::new();
    each(&mut |index| match in_range(index, size) {
        Some(index) => inside[index] = true,
        None => outside.push(index),
    });
    outside.sort_unstable();
    outside.dedup();
    let inside = inside.iter().enumerate().filter_map(|(index, &is_named)| is_named.then_some(index as i64));
    let mut runs: Vec<Range<i64>> = Vec::new();
    for index in inside.chain(outside) {
        match runs.last_mut() {
            Some(run) if run.end == index => run.end += 1,
            _ => runs.push(index..index.saturating_add(1)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_ranges() {
        let of = |numbers: &[i64]| runs(8, |take| numbers.iter().for_each(|&number| take(number)));
        assert_eq!(of(&[]), []);
        assert_eq!(of(&[3, 1, 2, 2, 6]), [1..4, 6..7]);
        assert_eq!(of(&[9, 7, -1, 8, 0]), [0..1, 7..8, -1..0, 8..10]);
    }
}
