//! Eigenvalues and eigenvectors of Hermitian matrices: reflections to a tridiagonal matrix, then implicit QL steps.

use super::factors::{Triangle, cholesky};
use super::reflections::{apply, reflect};
use super::{Matrix, add, dot};
use crate::status::Operation;
use crate::types::Wide;

/// Steps for one eigenvalue, at most.
const STEPS: usize = 60;

/// Eigenvalues in ascending order, and the eigenvectors in this order. `info` is 0, or how many values were not found.
#[derive(Clone, Debug)]
pub struct Eigen<W> {
    /// The values.
    pub values: Vec<f64>,
    /// The vectors, of length 1.
    pub vectors: Matrix<W>,
    /// See above.
    pub info: usize,
}

/// Finds all of a Hermitian matrix.
pub fn eigen<W: Wide>(mut a: Matrix<W>) -> Eigen<W> {
    let n = a.n;
    let (mut beside, mut taus) = (vec![0.0; n], Vec::new());
    for k in 0..n.saturating_sub(1) {
        let tau = reflect(&mut a.column_mut(k)[k + 1..]);
        beside[k] = a[(k + 1, k)].re();
        taus.push(tau);
        let mut v = a.column(k)[k + 1..].to_vec();
        v[0] = W::ONE;
        let mut u = vec![W::ZERO; v.len()];
        for (j, &factor) in v.iter().enumerate() {
            add(&mut u, factor, &a.column(k + 1 + j)[k + 1..]);
        }
        let half = W::of_real(dot(&v, &u).re() * tau.square() / 2.0);
        u.iter_mut().zip(&v).for_each(|(u, &v)| *u = tau * *u - half * v);
        for j in 0..v.len() {
            let column = &mut a.column_mut(k + 1 + j)[k + 1..];
            add(column, -u[j].conj(), &v);
            add(column, -v[j].conj(), &u);
        }
    }
    let mut values: Vec<f64> = (0..n).map(|i| a[(i, i)].re()).collect();
    // The reflection k begins in the row k + 1.
    let mut below = Matrix::identity(n, n);
    if n > 1 {
        let mut factors = Matrix::new(n - 1, n - 1);
        (0..n - 1).for_each(|k| factors.column_mut(k).copy_from_slice(&a.column(k)[1..]));
        let mut q = Matrix::identity(n - 1, n - 1);
        apply(&factors, &taus, false, &mut q);
        (1..n).for_each(|k| below.column_mut(k)[1..].copy_from_slice(q.column(k - 1)));
    }
    let info = (0..n).filter(|&i| !find(i, &mut values, &mut beside, &mut below)).count();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &k| values[i].total_cmp(&values[k]));
    Eigen { vectors: below.ordered(&order), values: order.iter().map(|&i| values[i]).collect(), info }
}

/// Steps until the element beside the diagonal is negligible. False if it never is.
fn find<W: Wide>(at: usize, values: &mut [f64], beside: &mut [f64], vectors: &mut Matrix<W>) -> bool {
    let n = values.len();
    for _ in 0..STEPS {
        let negligible = |&i: &usize| {
            i + 1 == n || beside[i].abs() <= f64::EPSILON * (values[i].abs() + values[i + 1].abs())
        };
        let end = (at..n).find(negligible).unwrap_or(n - 1);
        if end == at {
            return true;
        }
        let shift = (values[at + 1] - values[at]) / (2.0 * beside[at]);
        let mut g = values[end] - values[at] + beside[at] / (shift + shift.hypot(1.0).copysign(shift));
        let (mut sine, mut cosine, mut moved) = (1.0, 1.0, 0.0);
        let mut split = false;
        for i in (at..end).rev() {
            let (f, b) = (sine * beside[i], cosine * beside[i]);
            let r = f.hypot(g);
            beside[i + 1] = r;
            if r == 0.0 {
                values[i + 1] -= moved;
                beside[end] = 0.0;
                split = true;
                break;
            }
            (sine, cosine) = (f / r, g / r);
            g = values[i + 1] - moved;
            let turned = (values[i] - g) * sine + 2.0 * cosine * b;
            moved = sine * turned;
            values[i + 1] = g + moved;
            g = cosine * turned - b;
            let (first, second) = vectors.columns_mut(i, i + 1);
            for (x, y) in first.iter_mut().zip(second) {
                (*x, *y) = (*x * cosine - *y * sine, *x * sine + *y * cosine);
            }
        }
        if !split {
            values[at] -= moved;
            beside[at] = g;
            beside[end] = 0.0;
        }
    }
    false
}

/// The problems that `sygvd` solves, by their `cusolverEigType_t`: `A x = w B x`, `A B x = w x`, `B A x = w x`.
/// `b` becomes Cholesky's factor of itself. The `info` is above `n` if `b` is not positive definite.
pub fn generalized<W: Wide>(problem: u32, a: &Matrix<W>, b: &mut Matrix<W>) -> Eigen<W> {
    let n = a.n;
    let minor = cholesky(b);
    if minor != 0 {
        return Eigen { values: Vec::new(), vectors: Matrix::new(0, 0), info: n + minor };
    }
    for column in 1..n {
        b.column_mut(column)[..column].fill(W::ZERO);
    }
    let l = Triangle { matrix: &*b, lower: true, unit: false };
    let reduced = if problem == 1 {
        // inv(L) * A * inv(L^H)
        let mut half = a.clone();
        l.solve(Operation::Plain, &mut half);
        let mut whole = half.adjoint();
        l.solve(Operation::Plain, &mut whole);
        whole
    } else {
        b.adjoint().times(a).times(b)
    };
    let mut found = eigen(reduced);
    if problem == 3 {
        found.vectors = b.times(&found.vectors);
    } else {
        l.solve(Operation::ConjugateTransposed, &mut found.vectors);
    }
    found
}
