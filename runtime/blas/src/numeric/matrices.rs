//! Level 3: products and solutions with triangles and symmetric matrices. Most are products of whole matrices,
//! after the matrix that is only half stored was completed.

use crate::numeric::product::{Factor, gemm};
use crate::numeric::triangles::solve_triangle;
use crate::scalar::Scalar;
use crate::status::Operation;
use crate::stored::{Stored, Vector};

/// The whole symmetric, or Hermitian, matrix of which `a` is one triangle.
unsafe fn completed<T: Scalar>(a: Stored<T>, hermitian: bool) -> Vec<T> {
    let n = a.n;
    let mut whole = vec![T::ZERO; n * n];
    for j in 0..n {
        for i in a.rows(j) {
            // SAFETY: the callers' contract.
            let value = unsafe { a.get(i, j) };
            whole[i * n + j] = value.conj_if(hermitian);
            whole[j * n + i] = value;
            if i == j && hermitian {
                whole[i * n + i] = T::of_real(value.re());
            }
        }
    }
    whole
}

/// `c = alpha * a * b + beta * c`, or with `b * a` if `a` is not `left`, for the symmetric or Hermitian matrix of
/// which `a` is one triangle. `c` has `m` rows and `n` columns.
///
/// # Safety
/// The matrices are valid.
pub unsafe fn symm<T: Scalar>(
    (left, hermitian): (bool, bool),
    (m, n): (usize, usize),
    alpha: T,
    a: Stored<T>,
    b: Factor<T>,
    beta: T,
    c: (*mut T, usize),
) {
    // SAFETY: by contract. With an `alpha` of 0, `a` is not read.
    unsafe {
        let whole = if alpha == T::ZERO { Vec::new() } else { completed(a, hermitian) };
        let whole_factor = Factor::plain(whole.as_ptr(), a.n.max(1));
        let (first, second) = if left { (whole_factor, b) } else { (b, whole_factor) };
        gemm((m, n, a.n), alpha, first, second, beta, c);
    }
}

/// `c = alpha * op(a) * b`, or `alpha * b * op(a)` if `a` is not `left`. `c` may be `b`.
///
/// # Safety
/// The matrices are valid.
pub unsafe fn trmm<T: Scalar>(
    (left, operation, unit): (bool, Operation, bool),
    (m, n): (usize, usize),
    alpha: T,
    a: Stored<T>,
    b: Factor<T>,
    (c, leading): (*mut T, usize),
) {
    let size = a.n;
    // SAFETY: by contract.
    unsafe {
        let mut whole = vec![T::ZERO; size * size];
        if alpha != T::ZERO {
            for j in 0..size {
                for i in a.rows(j) {
                    whole[j * size + i] = if unit && i == j { T::ONE } else { a.get(i, j) };
                }
            }
        }
        let given = if alpha == T::ZERO { Vec::new() } else { b.to_vec(m, n) };
        let whole_factor = Factor { start: whole.as_ptr(), leading: size.max(1), operation };
        let given_factor = Factor::plain(given.as_ptr(), m.max(1));
        let (first, second) = if left { (whole_factor, given_factor) } else { (given_factor, whole_factor) };
        gemm((m, n, size), alpha, first, second, T::ZERO, (c, leading));
    }
}

/// Solves `op(a) * x = alpha * b`, or `x * op(a) = alpha * b` if `a` is not `left`. `x` takes the place of `b`.
///
/// # Safety
/// The matrices are valid.
pub unsafe fn trsm<T: Scalar>(
    (left, operation, unit): (bool, Operation, bool),
    (m, n): (usize, usize),
    alpha: T,
    a: Stored<T>,
    (b, leading): (*mut T, usize),
) {
    let lines = if left { n } else { m };
    for line in 0..lines {
        let x = match left {
            true => Vector { start: b.wrapping_add(line * leading), n: m, step: 1 },
            false => Vector { start: b.wrapping_add(line), n, step: leading.max(1) as isize },
        };
        // SAFETY: by contract.
        unsafe {
            for i in 0..x.n {
                x.set(i, if alpha == T::ZERO { T::ZERO } else { alpha * x.get(i) });
            }
            if alpha == T::ZERO {
                continue;
            }
            match (left, operation) {
                (true, operation) => solve_triangle(operation, unit, a, x),
                // The rows of `x * a = b` are the columns of `transposed(a) * x = b`.
                (false, Operation::Plain) => solve_triangle(Operation::Transposed, unit, a, x),
                (false, Operation::Transposed) => solve_triangle(Operation::Plain, unit, a, x),
                (false, Operation::ConjugateTransposed) => {
                    conjugate(x);
                    solve_triangle(Operation::Plain, unit, a, x);
                    conjugate(x);
                }
            }
        }
    }
}

unsafe fn conjugate<T: Scalar>(x: Vector<T>) {
    for i in 0..x.n {
        // SAFETY: the callers' contract.
        unsafe { x.set(i, x.get(i).conj()) };
    }
}

/// Adds terms to the triangle `c` after it was scaled: `c = beta * c + sum of alpha * a * b`. All products have `k`
/// terms in each element. `hermitian`: the diagonal is real.
///
/// # Safety
/// The matrices are valid.
pub unsafe fn update_triangle<T: Scalar>(
    k: usize,
    terms: &[(T, Factor<T>, Factor<T>)],
    beta: T,
    c: Stored<T>,
    hermitian: bool,
) {
    let n = c.n;
    let mut sums = vec![T::ZERO; n * n];
    for &(alpha, a, b) in terms {
        // SAFETY: by contract.
        unsafe { gemm((n, n, k), alpha, a, b, T::ONE, (sums.as_mut_ptr(), n.max(1))) };
    }
    for j in 0..n {
        for i in c.rows(j) {
            // SAFETY: by contract.
            unsafe {
                let before = if beta == T::ZERO { T::ZERO } else { beta * c.get(i, j) };
                let value = before + sums[j * n + i];
                c.set(i, j, if hermitian && i == j { T::of_real(value.re()) } else { value });
            }
        }
    }
}

/// The two factors of `a * transposed(b)`, conjugated on demand, where `transposes` exchanges their roles.
///
/// # Errors
/// None if the operation is the other kind of transposition.
pub fn by_transpose<T>(
    operation: Operation,
    hermitian: bool,
    (a, a_leading): (*const T, usize),
    (b, b_leading): (*const T, usize),
) -> Option<(Factor<T>, Factor<T>)> {
    let turned = if hermitian { Operation::ConjugateTransposed } else { Operation::Transposed };
    let factor = |start, leading, operation| Factor { start, leading, operation };
    match operation {
        Operation::Plain => Some((factor(a, a_leading, Operation::Plain), factor(b, b_leading, turned))),
        other if other == turned => {
            Some((factor(a, a_leading, turned), factor(b, b_leading, Operation::Plain)))
        }
        _ => None,
    }
}
