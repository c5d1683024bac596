//! Factors of Cholesky and LU, and solutions with them.

use super::{Matrix, add};
use crate::status::Operation;
use crate::types::Wide;

/// A triangular matrix. Nothing else of it is used.
#[derive(Clone, Copy, Debug)]
pub struct Triangle<'a, W> {
    /// The matrix that has it.
    pub matrix: &'a Matrix<W>,
    /// It is below the diagonal.
    pub lower: bool,
    /// Its diagonal counts as ones.
    pub unit: bool,
}

impl<W: Wide> Triangle<'_, W> {
    /// Solves `op(triangle) * x = b`. `x` takes the place of `b`.
    pub fn solve(self, operation: Operation, b: &mut Matrix<W>) {
        let n = self.matrix.n;
        let transposes = operation != Operation::Plain;
        let element =
            |value: W| if operation == Operation::ConjugateTransposed { value.conj() } else { value };
        for column in 0..b.n {
            let x = b.column_mut(column);
            for step in 0..n {
                // The unknowns of a triangle that is lower after the operation are found from the first on.
                let i = if self.lower == transposes { n - 1 - step } else { step };
                let of = self.matrix.column(i);
                let beside = if self.lower { i + 1..n } else { 0..i };
                if transposes {
                    let known: W = beside.clone().map(|k| element(of[k]) * x[k]).sum();
                    x[i] -= known;
                }
                if !self.unit {
                    x[i] = x[i] / element(of[i]);
                }
                if !transposes {
                    let found = -x[i];
                    add(&mut x[beside.clone()], found, &of[beside]);
                }
            }
        }
    }
}

/// Replaces the lower triangle of a Hermitian matrix by Cholesky's factor. Returns the order, from 1, of the first
/// leading minor that is not positive, or 0.
pub fn cholesky<W: Wide>(a: &mut Matrix<W>) -> usize {
    let n = a.n;
    for j in 0..n {
        let square = a[(j, j)].re();
        // Also if it is no number.
        if square.is_nan() || square <= 0.0 {
            return j + 1;
        }
        let root = square.sqrt();
        a[(j, j)] = W::of_real(root);
        a.column_mut(j)[j + 1..].iter_mut().for_each(|value| *value = *value * (1.0 / root));
        for k in j + 1..n {
            let (of, to) = a.columns_mut(j, k);
            let factor = -of[k].conj();
            add(&mut to[k..], factor, &of[k..]);
        }
    }
    0
}

/// Solves with Cholesky's factor `l`.
pub fn solve_cholesky<W: Wide>(l: &Matrix<W>, b: &mut Matrix<W>) {
    let l = Triangle { matrix: l, lower: true, unit: false };
    l.solve(Operation::Plain, b);
    l.solve(Operation::ConjugateTransposed, b);
}

/// The position, from 1, of the first 0 on the diagonal, or 0.
pub fn zero_on_diagonal<W: Wide>(a: &Matrix<W>) -> usize {
    (0..a.n).find(|&i| a[(i, i)] == W::ZERO).map_or(0, |i| i + 1)
}

/// Replaces a matrix by its factors L and U. Returns the rows that were exchanged, from 1, and the position, from 1, of
/// the first pivot that is 0, or 0. Without `pivoting` no rows are exchanged.
pub fn lu<W: Wide>(a: &mut Matrix<W>, pivoting: bool) -> (Vec<usize>, usize) {
    let size = |value: W| value.complex().l1_norm();
    let (mut pivots, mut info) = (Vec::new(), 0);
    for j in 0..a.m.min(a.n) {
        let mut best = j;
        for i in j + 1..a.m {
            if pivoting && size(a[(i, j)]) > size(a[(best, j)]) {
                best = i;
            }
        }
        pivots.push(best + 1);
        let pivot = a[(best, j)];
        if pivot == W::ZERO {
            info = if info == 0 { j + 1 } else { info };
            continue;
        }
        exchange_rows(a, j, best);
        a.column_mut(j)[j + 1..].iter_mut().for_each(|value| *value = *value / pivot);
        for k in j + 1..a.n {
            let (of, to) = a.columns_mut(j, k);
            let factor = -to[j];
            add(&mut to[j + 1..], factor, &of[j + 1..]);
        }
    }
    (pivots, info)
}

fn exchange_rows<W: Wide>(a: &mut Matrix<W>, first: usize, second: usize) {
    if first != second {
        (0..a.n).for_each(|column| a.column_mut(column).swap(first, second));
    }
}

/// Solves `op(a) * x = b` with the factors of `a`.
pub fn solve_lu<W: Wide>(operation: Operation, factors: &Matrix<W>, pivots: &[i64], b: &mut Matrix<W>) {
    let lower = Triangle { matrix: factors, lower: true, unit: true };
    let upper = Triangle { matrix: factors, lower: false, unit: false };
    // A pivot that is no row leaves the rows as they are.
    let rows = pivots.iter().map(|&pivot| usize::try_from(pivot - 1).ok().filter(|&with| with < factors.n));
    let exchanges: Vec<(usize, usize)> =
        rows.enumerate().filter_map(|(row, with)| with.map(|with| (row, with))).collect();
    if operation == Operation::Plain {
        exchanges.iter().for_each(|&(row, with)| exchange_rows(b, row, with));
        lower.solve(operation, b);
        upper.solve(operation, b);
    } else {
        upper.solve(operation, b);
        lower.solve(operation, b);
        exchanges.iter().rev().for_each(|&(row, with)| exchange_rows(b, row, with));
    }
}
