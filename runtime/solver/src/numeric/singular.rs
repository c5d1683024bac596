//! Singular values and vectors, by Jacobi's rotations of columns.

use super::reflections::{apply, generate, qr};
use super::{Matrix, dot, squares};
use crate::types::Wide;

/// Rotations of all pairs, at most.
const SWEEPS: usize = 60;

/// `a = u * values * v^H`. The values descend.
#[derive(Clone, Debug)]
pub struct Singular<W> {
    /// The singular values.
    pub values: Vec<f64>,
    /// The vectors on the left.
    pub u: Matrix<W>,
    /// The vectors on the right.
    pub v: Matrix<W>,
    /// 0, or 1 if the rotations did not come to an end.
    pub info: usize,
}

/// Finds all of a matrix, with as many vectors as values. With `all`, `u` and `v` are square.
pub fn singular<W: Wide>(mut a: Matrix<W>, all: bool) -> Singular<W> {
    if a.m < a.n {
        let found = singular(a.adjoint(), all);
        return Singular { u: found.v, v: found.u, ..found };
    }
    let (m, n) = (a.m, a.n);
    let taus = qr(&mut a);
    let mut r = a.resized(n, n);
    (0..n).for_each(|column| r.column_mut(column)[column + 1..].fill(W::ZERO));
    let mut v = Matrix::identity(n, n);
    let info = usize::from(!rotate(&mut r, &mut v));
    let lengths: Vec<f64> = (0..n).map(|column| squares(r.column(column)).sqrt()).collect();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &k| lengths[k].total_cmp(&lengths[i]));
    let values: Vec<f64> = order.iter().map(|&i| lengths[i]).collect();
    let mut left = r.ordered(&order);
    let rank = values.iter().filter(|&&value| value > f64::MIN_POSITIVE).count();
    for (column, value) in values.iter().enumerate().take(rank) {
        left.column_mut(column).iter_mut().for_each(|x| *x = *x * (1.0 / value));
    }
    let mut u = Matrix::identity(m, if all { m } else { n });
    let inner = completed(&left, rank);
    (0..n).for_each(|column| {
        u.column_mut(column)[..n].copy_from_slice(inner.column(column));
    });
    apply(&a, &taus, false, &mut u);
    Singular { values, u, v: v.ordered(&order), info }
}

/// Rotates pairs of columns until all are orthogonal. False if they never are.
fn rotate<W: Wide>(a: &mut Matrix<W>, v: &mut Matrix<W>) -> bool {
    let n = a.n;
    for _ in 0..SWEEPS {
        let mut rotated = false;
        for i in 0..n {
            for k in i + 1..n {
                let (x, y) = a.columns_mut(i, k);
                let (first, second, both) = (squares(x), squares(y), dot(x, y));
                let size = both.size();
                let negligible = f64::EPSILON * (n as f64).sqrt() * (first * second).sqrt();
                if size <= negligible || size < f64::MIN_POSITIVE {
                    continue;
                }
                // Also if it is no number: then the sweeps come to no end.
                rotated = true;
                let ratio = (second - first) / (2.0 * size);
                let tangent = 1.0_f64.copysign(ratio) / (ratio.abs() + ratio.hypot(1.0));
                let cosine = 1.0 / tangent.hypot(1.0);
                let (sine, phase) = (cosine * tangent, both.conj() * (1.0 / size));
                let turn = |x: &mut [W], y: &mut [W]| {
                    for (x, y) in x.iter_mut().zip(y) {
                        let turned = phase * *y;
                        (*x, *y) = (*x * cosine - turned * sine, *x * sine + turned * cosine);
                    }
                };
                turn(x, y);
                let (x, y) = v.columns_mut(i, k);
                turn(x, y);
            }
        }
        if !rotated {
            return true;
        }
    }
    false
}

/// The first `rank` columns of a square matrix are orthonormal: makes all of them so.
fn completed<W: Wide>(a: &Matrix<W>, rank: usize) -> Matrix<W> {
    let mut factors = a.resized(a.m, rank);
    let taus = qr(&mut factors);
    let mut made = generate(&factors, &taus, a.m);
    (0..rank).for_each(|column| made.column_mut(column).copy_from_slice(a.column(column)));
    made
}
