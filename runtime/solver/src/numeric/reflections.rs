//! Factors QR. Q is a product of Householder's reflections, each `1 - tau * v * v^H`. They lie as LAPACK stores them:
//! `v` has a 1 on the diagonal, which is not stored, and its other elements are below.

use super::{Matrix, add, dot, squares};
use crate::types::Wide;

/// Makes the reflection whose conjugate transpose takes `x` to a real multiple of the first unit vector. `x` becomes
/// this multiple and, behind it, the rest of `v`. Returns `tau`.
pub fn reflect<W: Wide>(x: &mut [W]) -> W {
    let (first, rest) = match x.split_first_mut() {
        Some(parts) => parts,
        None => return W::ZERO,
    };
    let below = squares(rest);
    let alpha = *first;
    if below == 0.0 && alpha == W::of_real(alpha.re()) {
        return W::ZERO;
    }
    let beta = -(alpha.square() + below).sqrt().copysign(alpha.re());
    let scale = W::ONE / (alpha - W::of_real(beta));
    rest.iter_mut().for_each(|value| *value = *value * scale);
    *first = W::of_real(beta);
    (W::of_real(beta) - alpha) * (1.0 / beta)
}

/// Applies `1 - tau * v * v^H` to a vector. `v` is what follows the 1.
fn apply_one<W: Wide>(tau: W, v: &[W], to: &mut [W]) {
    let (first, rest) = match to.split_first_mut() {
        Some(parts) => parts,
        None => return,
    };
    let factor = -(tau * (*first + dot(v, rest)));
    *first += factor;
    add(rest, factor, v);
}

/// Replaces a matrix by R and the reflections. Returns their `tau`.
pub fn qr<W: Wide>(a: &mut Matrix<W>) -> Vec<W> {
    let mut taus = Vec::new();
    for j in 0..a.m.min(a.n) {
        let tau = reflect(&mut a.column_mut(j)[j..]);
        taus.push(tau);
        for k in j + 1..a.n {
            let (of, to) = a.columns_mut(j, k);
            apply_one(tau.conj(), &of[j + 1..], &mut to[j..]);
        }
    }
    taus
}

/// Multiplies from the left with Q, or with its conjugate transpose.
pub fn apply<W: Wide>(factors: &Matrix<W>, taus: &[W], adjoint: bool, to: &mut Matrix<W>) {
    for step in 0..taus.len() {
        let j = if adjoint { step } else { taus.len() - 1 - step };
        let tau = if adjoint { taus[j].conj() } else { taus[j] };
        for column in 0..to.n {
            apply_one(tau, &factors.column(j)[j + 1..], &mut to.column_mut(column)[j..]);
        }
    }
}

/// As [`apply`], from the right.
pub fn apply_right<W: Wide>(factors: &Matrix<W>, taus: &[W], adjoint: bool, to: &mut Matrix<W>) {
    let mut turned = to.adjoint();
    apply(factors, taus, !adjoint, &mut turned);
    *to = turned.adjoint();
}

/// The first `columns` columns of Q.
pub fn generate<W: Wide>(factors: &Matrix<W>, taus: &[W], columns: usize) -> Matrix<W> {
    let mut q = Matrix::identity(factors.m, columns);
    apply(factors, taus, false, &mut q);
    q
}
