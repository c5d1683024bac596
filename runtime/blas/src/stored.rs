//! How vectors and matrices lie in memory.

use std::ops::Range;

use crate::status::Part;

/// A vector: `n` elements, `step` apart. With a negative step, the first one is at the highest address.
#[derive(Clone, Copy, Debug)]
pub struct Vector<T> {
    /// The lowest address.
    pub start: *mut T,
    /// Its length.
    pub n: usize,
    /// Elements from one to the next, not 0.
    pub step: isize,
}

impl<T: Copy> Vector<T> {
    /// A vector that is only read.
    pub fn read(start: *const T, n: usize, step: isize) -> Self {
        Self { start: start.cast_mut(), n, step }
    }

    fn place(&self, index: usize) -> *mut T {
        let distance = self.step.unsigned_abs();
        let at = if self.step < 0 { self.n - 1 - index } else { index };
        self.start.wrapping_add(at * distance)
    }

    /// An element.
    ///
    /// # Safety
    /// The vector is valid and has it.
    pub unsafe fn get(&self, index: usize) -> T {
        // SAFETY: by contract. The program's address may be unaligned.
        unsafe { self.place(index).read_unaligned() }
    }

    /// Sets an element.
    ///
    /// # Safety
    /// As [`Self::get`].
    pub unsafe fn set(&self, index: usize, value: T) {
        // SAFETY: as above.
        unsafe { self.place(index).write_unaligned(value) };
    }

    /// All elements.
    ///
    /// # Safety
    /// The vector is valid.
    pub unsafe fn to_vec(self) -> Vec<T> {
        // SAFETY: by contract.
        (0..self.n).map(|index| unsafe { self.get(index) }).collect()
    }
}

/// Where the elements of a matrix are.
#[derive(Clone, Copy, Debug)]
pub enum Layout {
    /// Columns, this many elements apart.
    Dense(usize),
    /// Diagonals (BLAS, "band storage").
    Band {
        /// Diagonals below the main one.
        below: usize,
        /// Diagonals above.
        above: usize,
        /// Elements from one column to the next.
        leading: usize,
    },
    /// The columns of one triangle, without gaps.
    Packed,
}

/// A matrix in memory, or one triangle of it.
#[derive(Clone, Copy, Debug)]
pub struct Stored<T> {
    /// The first element.
    pub start: *mut T,
    /// Rows.
    pub m: usize,
    /// Columns.
    pub n: usize,
    /// What of it is stored.
    pub part: Part,
    /// Where.
    pub layout: Layout,
}

impl<T: Copy> Stored<T> {
    /// A whole matrix in columns.
    pub fn dense(start: *const T, m: usize, n: usize, leading: usize) -> Self {
        Self { start: start.cast_mut(), m, n, part: Part::Whole, layout: Layout::Dense(leading) }
    }

    /// A triangle of a square matrix in columns.
    pub fn triangle(start: *const T, part: Part, n: usize, leading: usize) -> Self {
        Self { part, ..Self::dense(start, n, n, leading) }
    }

    /// A triangle without gaps.
    pub fn packed(start: *const T, part: Part, n: usize) -> Self {
        Self { start: start.cast_mut(), m: n, n, part, layout: Layout::Packed }
    }

    /// A triangle of a band matrix with this many diagonals beside the main one.
    pub fn band(start: *const T, part: Part, n: usize, beside: usize, leading: usize) -> Self {
        let (below, above) = if part == Part::Lower { (beside, 0) } else { (0, beside) };
        Self { start: start.cast_mut(), m: n, n, part, layout: Layout::Band { below, above, leading } }
    }

    /// The rows of a column that are stored. They lie side by side.
    pub fn rows(&self, column: usize) -> Range<usize> {
        let all = match self.layout {
            Layout::Dense(_) | Layout::Packed => 0..self.m,
            Layout::Band { below, above, .. } => {
                column.saturating_sub(above)..self.m.min(column.saturating_add(below).saturating_add(1))
            }
        };
        match self.part {
            Part::Whole => all,
            Part::Upper => all.start..all.end.min(column + 1),
            Part::Lower => all.start.max(column)..all.end,
        }
    }

    /// The place of a stored element.
    pub fn place(&self, row: usize, column: usize) -> *mut T {
        let at = match self.layout {
            Layout::Dense(leading) => column * leading + row,
            Layout::Band { above, leading, .. } => column * leading + above + row - column,
            Layout::Packed if self.part == Part::Upper => column * (column + 1) / 2 + row,
            // The columns before have n, n - 1, ... elements.
            Layout::Packed => column * self.n - column * column.saturating_sub(1) / 2 + row - column,
        };
        self.start.wrapping_add(at)
    }

    /// A stored element.
    ///
    /// # Safety
    /// The matrix is valid, and the element is stored.
    pub unsafe fn get(&self, row: usize, column: usize) -> T {
        // SAFETY: by contract. The program's address may be unaligned.
        unsafe { self.place(row, column).read_unaligned() }
    }

    /// Sets a stored element.
    ///
    /// # Safety
    /// As [`Self::get`].
    pub unsafe fn set(&self, row: usize, column: usize, value: T) {
        // SAFETY: as above.
        unsafe { self.place(row, column).write_unaligned(value) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(matrix: Stored<u8>) -> Vec<(usize, usize, usize)> {
        let place = |i, j| matrix.place(i, j).addr() - matrix.start.addr();
        (0..matrix.n).flat_map(|j| matrix.rows(j).map(move |i| (i, j, place(i, j)))).collect()
    }

    #[test]
    fn packed_triangles_have_no_gaps() {
        for part in [Part::Upper, Part::Lower] {
            let places = offsets(Stored::packed(std::ptr::without_provenance(64), part, 4));
            assert!(places.iter().map(|place| place.2).eq(0..10), "{part:?}: {places:?}");
        }
    }

    #[test]
    fn bands_lie_as_blas_stores_them() {
        let upper = Stored::band(std::ptr::without_provenance(64), Part::Upper, 3, 1, 5);
        assert_eq!(offsets(upper), [(0, 0, 1), (0, 1, 5), (1, 1, 6), (1, 2, 10), (2, 2, 11)]);
        let lower = Stored::band(std::ptr::without_provenance(64), Part::Lower, 3, 1, 5);
        assert_eq!(offsets(lower), [(0, 0, 0), (1, 0, 1), (1, 1, 5), (2, 1, 6), (2, 2, 10)]);
    }

    #[test]
    fn a_negative_step_begins_at_the_end() {
        let numbers = [1, 2, 3, 4, 5];
        // SAFETY: three elements, two apart.
        let read = |step| unsafe { Vector::read(numbers.as_ptr(), 3, step).to_vec() };
        assert_eq!((read(2), read(-2)), (vec![1, 3, 5], vec![5, 3, 1]));
    }
}
