//! Where arguments lie in the device's memory.

use std::ops::Range;
use std::ptr::with_exposed_provenance_mut as at_mut;

use gpurace_abi::library::LibraryRows;
use gpurace_library::touched::Touches;

use crate::numeric::Matrix;
use crate::status::{Outcome, choice, size, valid};
use crate::types::{Type, Wide};

/// The part of a matrix that is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The diagonal and what is below.
    Lower,
    /// The diagonal and what is above.
    Upper,
    /// All of it.
    Whole,
}

/// A matrix in columns. A vector is a matrix of one column.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Address of the first element. 0 if the program passes none.
    pub start: usize,
    /// The type of its elements.
    pub ty: Type,
    /// Rows.
    pub m: usize,
    /// Columns.
    pub n: usize,
    /// Elements from one column to the next.
    pub leading: usize,
    /// What of it is used.
    pub part: Part,
}

impl Place {
    /// A whole matrix.
    ///
    /// # Errors
    /// Sizes do not fit.
    pub fn new(start: usize, ty: Type, m: i64, n: i64, leading: i64) -> Outcome<Self> {
        let (m, n, leading) = (size(m)?, size(n)?, size(leading)?);
        valid(leading >= m.max(1))?;
        Ok(Self { start, ty, m, n, leading, part: Part::Whole })
    }

    /// A triangle of a square matrix, by its `cublasFillMode_t`.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn triangle(start: usize, ty: Type, fill: u32, n: i64, leading: i64) -> Outcome<Self> {
        let part = if choice(fill)? { Part::Upper } else { Part::Lower };
        Ok(Self { part, ..Self::new(start, ty, n, n, leading)? })
    }

    /// A vector.
    pub fn vector(start: usize, ty: Type, n: usize) -> Self {
        Self { start, ty, m: n, n: 1, leading: n, part: Part::Whole }
    }

    /// The whole of a matrix of which this is a part.
    pub fn whole(self) -> Self {
        Self { part: Part::Whole, ..self }
    }

    /// The matrix of a batch, with `stride` elements from one to the next.
    pub fn of_batch(self, index: usize, stride: usize) -> Self {
        Self { start: self.start.wrapping_add(index * stride * self.ty.size()), ..self }
    }

    /// The rows of a column that are used.
    fn rows(&self, column: usize) -> Range<usize> {
        match self.part {
            Part::Whole => 0..self.m,
            Part::Upper => 0..column + 1,
            Part::Lower => column..self.m,
        }
    }

    fn address(&self, row: usize, column: usize) -> usize {
        self.start.wrapping_add((column * self.leading + row) * self.ty.size())
    }

    /// Names its bytes.
    pub fn touch(&self, touches: &mut Touches, writes: bool) {
        let width = |rows: usize| rows.saturating_mul(self.ty.size());
        if self.part == Part::Whole {
            touches.rows(LibraryRows {
                start: self.start,
                width: width(self.m),
                rows: self.n,
                pitch: width(self.leading),
                slices: 1,
                slice: 0,
                writes,
            });
            return;
        }
        for column in 0..self.n {
            let rows = self.rows(column);
            touch(touches, self.address(rows.start, column), width(rows.len()), writes);
        }
    }

    /// Its numbers. What is not used is 0.
    ///
    /// # Safety
    /// The memory is valid.
    pub unsafe fn load<W: Wide>(&self) -> Matrix<W> {
        let mut matrix = Matrix::new(self.m, self.n);
        for column in 0..self.n {
            for row in self.rows(column) {
                // SAFETY: by contract.
                matrix[(row, column)] = unsafe { self.ty.read(self.address(row, column)) };
            }
        }
        matrix
    }

    /// Stores numbers.
    ///
    /// # Safety
    /// As [`Self::load`].
    pub unsafe fn store<W: Wide>(&self, matrix: &Matrix<W>) {
        for column in 0..self.n {
            for row in self.rows(column) {
                // SAFETY: by contract.
                unsafe { self.ty.write(self.address(row, column), matrix[(row, column)]) };
            }
        }
    }

    /// A triangle as a lower one: an upper one is transposed and conjugated.
    ///
    /// # Safety
    /// As [`Self::load`].
    pub unsafe fn load_lower<W: Wide>(&self) -> Matrix<W> {
        // SAFETY: by contract.
        let matrix = unsafe { self.load() };
        if self.part == Part::Upper { matrix.adjoint() } else { matrix }
    }

    /// Stores a triangle that is given as a lower one.
    ///
    /// # Safety
    /// As [`Self::load`].
    pub unsafe fn store_lower<W: Wide>(&self, matrix: &Matrix<W>) {
        // SAFETY: by contract.
        unsafe { if self.part == Part::Upper { self.store(&matrix.adjoint()) } else { self.store(matrix) } };
    }

    /// A Hermitian matrix of which one triangle is stored.
    ///
    /// # Safety
    /// As [`Self::load`].
    pub unsafe fn load_hermitian<W: Wide>(&self) -> Matrix<W> {
        // SAFETY: by contract.
        let mut matrix = unsafe { self.load_lower::<W>() };
        for column in 0..self.n {
            matrix[(column, column)] = W::of_real(matrix[(column, column)].re());
            for row in column + 1..self.n {
                matrix[(column, row)] = matrix[(row, column)].conj();
            }
        }
        matrix
    }
}

/// Whole numbers in the device's memory: pivots and `devInfo`.
#[derive(Clone, Copy, Debug)]
pub struct Ints {
    /// Address of the first. 0 if the program passes none.
    pub start: usize,
    /// How many.
    pub n: usize,
    /// They have 64 bits, not 32.
    pub long: bool,
}

impl Ints {
    /// One `int`, such as `devInfo`.
    pub fn one(start: usize) -> Self {
        Self { start, n: 1, long: false }
    }

    /// The number at an index, as a list of one.
    pub fn of_batch(self, index: usize) -> Self {
        let start = if self.start == 0 { 0 } else { self.start.wrapping_add(index * self.size()) };
        Self { start, n: 1, ..self }
    }

    fn size(self) -> usize {
        if self.long { 8 } else { 4 }
    }

    /// Names their bytes, if there are any.
    pub fn touch(self, touches: &mut Touches, writes: bool) {
        if self.start != 0 {
            touch(touches, self.start, self.n.saturating_mul(self.size()), writes);
        }
    }

    /// All numbers. Empty if there are none.
    ///
    /// # Safety
    /// The memory is valid.
    pub unsafe fn load(self) -> Vec<i64> {
        if self.start == 0 {
            return Vec::new();
        }
        let place = |index: usize| self.start + index * self.size();
        // SAFETY: by contract.
        let read = |index| unsafe {
            match self.long {
                true => at_mut::<i64>(place(index)).read_unaligned(),
                false => at_mut::<i32>(place(index)).read_unaligned().into(),
            }
        };
        (0..self.n).map(read).collect()
    }

    /// Stores numbers, if there is room for any.
    ///
    /// # Safety
    /// As [`Self::load`].
    pub unsafe fn store(self, numbers: &[usize]) {
        if self.start == 0 {
            return;
        }
        for (index, &number) in numbers.iter().enumerate().take(self.n) {
            let place = self.start + index * self.size();
            // SAFETY: by contract.
            unsafe {
                match self.long {
                    true => at_mut::<i64>(place).write_unaligned(number as i64),
                    false => at_mut::<i32>(place).write_unaligned(number as i32),
                }
            }
        }
    }
}

/// Names bytes side by side.
pub fn touch(touches: &mut Touches, start: usize, bytes: usize, writes: bool) {
    touches.rows(LibraryRows { start, width: bytes, rows: 1, pitch: 0, slices: 1, slice: 0, writes });
}
