//! The algorithms, on matrices in the host's memory.
//!
//! | module | what it does |
//! |---|---|
//! | [`factors`] | factors of Cholesky and LU, and solutions with them |
//! | [`reflections`] | factors QR, by Householder's reflections |
//! | [`eigen`] | eigenvalues of Hermitian matrices |
//! | [`singular`] | singular values |

pub mod eigen;
pub mod factors;
pub mod reflections;
pub mod singular;

use std::ops::{Index, IndexMut};

use crate::types::Wide;

/// A matrix in columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix<W> {
    /// Rows.
    pub m: usize,
    /// Columns.
    pub n: usize,
    values: Vec<W>,
}

impl<W> Index<(usize, usize)> for Matrix<W> {
    type Output = W;

    fn index(&self, (row, column): (usize, usize)) -> &W {
        &self.values[column * self.m + row]
    }
}

impl<W> IndexMut<(usize, usize)> for Matrix<W> {
    fn index_mut(&mut self, (row, column): (usize, usize)) -> &mut W {
        &mut self.values[column * self.m + row]
    }
}

impl<W: Wide> Matrix<W> {
    /// Zeros.
    pub fn new(m: usize, n: usize) -> Self {
        Self { m, n, values: vec![W::ZERO; m * n] }
    }

    /// Ones on the diagonal.
    pub fn identity(m: usize, n: usize) -> Self {
        let mut matrix = Self::new(m, n);
        (0..m.min(n)).for_each(|i| matrix[(i, i)] = W::ONE);
        matrix
    }

    /// A column.
    pub fn column(&self, column: usize) -> &[W] {
        &self.values[column * self.m..(column + 1) * self.m]
    }

    /// A column.
    pub fn column_mut(&mut self, column: usize) -> &mut [W] {
        &mut self.values[column * self.m..(column + 1) * self.m]
    }

    /// Two columns, the first before the second.
    pub fn columns_mut(&mut self, first: usize, second: usize) -> (&mut [W], &mut [W]) {
        let (before, after) = self.values.split_at_mut(second * self.m);
        (&mut before[first * self.m..(first + 1) * self.m], &mut after[..self.m])
    }

    /// The conjugate transpose.
    pub fn adjoint(&self) -> Self {
        let mut made = Self::new(self.n, self.m);
        for column in 0..self.n {
            for row in 0..self.m {
                made[(column, row)] = self[(row, column)].conj();
            }
        }
        made
    }

    /// The first rows and columns. What the matrix lacks is 0.
    pub fn resized(&self, m: usize, n: usize) -> Self {
        let mut made = Self::new(m, n);
        for column in 0..n.min(self.n) {
            let rows = m.min(self.m);
            made.column_mut(column)[..rows].copy_from_slice(&self.column(column)[..rows]);
        }
        made
    }

    /// The product with another matrix.
    pub fn times(&self, other: &Self) -> Self {
        let mut made = Self::new(self.m, other.n);
        for column in 0..other.n {
            for k in 0..self.n {
                add(made.column_mut(column), other[(k, column)], self.column(k));
            }
        }
        made
    }

    /// These columns, in this order.
    pub fn ordered(&self, columns: &[usize]) -> Self {
        let values = columns.iter().flat_map(|&column| self.column(column)).copied().collect();
        Self { m: self.m, n: columns.len(), values }
    }
}

/// `to += factor * of`
fn add<W: Wide>(to: &mut [W], factor: W, of: &[W]) {
    to.iter_mut().zip(of).for_each(|(to, &of)| *to += factor * of);
}

/// The product of a vector's conjugate with another vector.
fn dot<W: Wide>(a: &[W], b: &[W]) -> W {
    a.iter().zip(b).map(|(a, &b)| a.conj() * b).sum()
}

/// The sum of the squares of absolute values.
fn squares<W: Wide>(a: &[W]) -> f64 {
    a.iter().map(|a| a.square()).sum()
}
