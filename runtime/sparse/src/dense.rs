//! Dense matrices. A vector is a matrix of one column.

use std::ops::Range;

use gpurace_abi::library::LibraryRows;
use gpurace_library::touched::Touches;

use crate::status::{Outcome, Status};
use crate::types::{Number, Type, Values};

/// A dense matrix, or a batch of them.
#[derive(Clone, Copy, Debug)]
pub struct DnMat {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub cols: usize,
    /// Elements from one row or column to the next.
    pub leading: usize,
    /// Rows lie in one piece. Otherwise columns do.
    pub by_rows: bool,
    /// The elements.
    pub values: Values,
    /// Number of matrices.
    pub batches: usize,
    /// Elements from one matrix to the next.
    pub stride: usize,
}

impl DnMat {
    /// A vector.
    pub fn vector(size: usize, values: Values) -> Self {
        Self { rows: size, cols: 1, leading: size, by_rows: false, values, batches: 1, stride: 0 }
    }

    /// The matrix with rows and columns in each other's place.
    pub fn transposed_if(self, transposes: bool) -> Self {
        match transposes {
            true => Self { rows: self.cols, cols: self.rows, by_rows: !self.by_rows, ..self },
            false => self,
        }
    }

    /// One of the batch. With a single matrix it is always this one.
    pub fn of_batch(self, batch: usize) -> Self {
        let start = self.values.start + batch * self.stride * self.values.ty.size();
        Self { values: Values { start, ..self.values }, batches: 1, ..self }
    }

    fn place(self, row: usize, col: usize) -> usize {
        if self.by_rows { row * self.leading + col } else { col * self.leading + row }
    }

    /// Reads an element.
    ///
    /// # Safety
    /// The matrix is valid and has it.
    pub unsafe fn get<S: Number>(self, row: usize, col: usize) -> S {
        // SAFETY: by the contract above.
        unsafe { self.values.get(self.place(row, col)) }
    }

    /// Writes an element.
    ///
    /// # Safety
    /// The matrix is valid and has it.
    pub unsafe fn set<S: Number>(self, row: usize, col: usize, value: S) {
        // SAFETY: by the contract above.
        unsafe { self.values.set(self.place(row, col), value) }
    }

    /// Names some of its elements. The rows and columns may be none of its own: then they are told as they are.
    pub fn touch_part(self, touches: &mut Touches, rows: Range<i64>, cols: Range<i64>, writes: bool) {
        let (major, minor) = if self.by_rows { (rows, cols) } else { (cols, rows) };
        if major.is_empty() || minor.is_empty() {
            return;
        }
        let size = self.values.ty.size();
        let first = major.start.wrapping_mul(self.leading as i64).wrapping_add(minor.start);
        touches.rows(LibraryRows {
            start: self.values.start.wrapping_add((first as usize).wrapping_mul(size)),
            width: ((minor.end - minor.start) as usize).saturating_mul(size),
            rows: (major.end - major.start) as usize,
            pitch: self.leading.saturating_mul(size),
            slices: 1,
            slice: 0,
            writes,
        });
    }

    /// Names all its elements.
    pub fn touch(self, touches: &mut Touches, writes: bool) {
        self.touch_part(touches, 0..self.rows as i64, 0..self.cols as i64, writes);
    }
}

/// `cusparseOrder_t`: true for rows.
///
/// # Errors
/// `CUSPARSE_STATUS_INVALID_VALUE` if there is none.
pub fn is_by_rows(order: u32) -> Outcome<bool> {
    match order {
        1 => Ok(false),
        2 => Ok(true),
        _ => Err(Status::INVALID_VALUE),
    }
}

/// True if one of the types has imaginary parts.
pub fn any_complex(types: &[Type]) -> bool {
    types.iter().any(|ty| ty.is_complex())
}
