//! Level 2: a matrix, however it is stored, and vectors.

use crate::scalar::Scalar;
use crate::status::{Operation, Part};
use crate::stored::{Stored, Vector};

/// `y = beta * y`. With a `beta` of 0, `y` is not read.
unsafe fn scale<T: Scalar>(beta: T, y: Vector<T>) {
    if beta == T::ONE {
        return;
    }
    for i in 0..y.n {
        // SAFETY: the callers' contract.
        unsafe { y.set(i, if beta == T::ZERO { T::ZERO } else { beta * y.get(i) }) };
    }
}

/// Adds `alpha * sums` to `y`.
unsafe fn add<T: Scalar>(alpha: T, sums: &[T], y: Vector<T>) {
    for (i, &sum) in sums.iter().enumerate() {
        // SAFETY: the callers' contract.
        unsafe { y.set(i, y.get(i) + alpha * sum) };
    }
}

/// `y = alpha * sums + beta * y`. `each` adds the products of one element of `a`, which has this row and column, to
/// the sums.
///
/// # Safety
/// Matrix and vectors are valid.
unsafe fn add_products<T: Scalar>(
    alpha: T,
    a: Stored<T>,
    x: Vector<T>,
    beta: T,
    y: Vector<T>,
    each: impl Fn(&mut [T], &[T], [usize; 2], T),
) {
    // SAFETY: by contract.
    unsafe {
        scale(beta, y);
        if alpha == T::ZERO {
            return;
        }
        let x = x.to_vec();
        let mut sums = vec![T::ZERO; y.n];
        for j in 0..a.n {
            for i in a.rows(j) {
                each(&mut sums, &x, [i, j], a.get(i, j));
            }
        }
        add(alpha, &sums, y);
    }
}

/// `y = alpha * op(a) * x + beta * y`
///
/// # Safety
/// Matrix and vectors are valid.
pub unsafe fn multiply<T: Scalar>(
    operation: Operation,
    alpha: T,
    a: Stored<T>,
    x: Vector<T>,
    beta: T,
    y: Vector<T>,
) {
    let each = |sums: &mut [T], x: &[T], [i, j]: [usize; 2], value: T| {
        let value = value.conj_if(operation.conjugates());
        if operation.transposes() {
            sums[j] += value * x[i];
        } else {
            sums[i] += value * x[j];
        }
    };
    // SAFETY: by contract.
    unsafe { add_products(alpha, a, x, beta, y, each) };
}

/// `y = alpha * a * x + beta * y` for the symmetric, or Hermitian, matrix of which `a` is one triangle.
///
/// # Safety
/// Matrix and vectors are valid.
pub unsafe fn multiply_symmetric<T: Scalar>(
    hermitian: bool,
    alpha: T,
    a: Stored<T>,
    x: Vector<T>,
    beta: T,
    y: Vector<T>,
) {
    let each = |sums: &mut [T], x: &[T], [i, j]: [usize; 2], value: T| {
        if i == j {
            sums[i] += if hermitian { T::of_real(value.re()) } else { value } * x[j];
        } else {
            sums[i] += value * x[j];
            sums[j] += value.conj_if(hermitian) * x[i];
        }
    };
    // SAFETY: by contract.
    unsafe { add_products(alpha, a, x, beta, y, each) };
}

/// `x = op(a) * x` for a triangle. `unit`: its diagonal counts as ones.
///
/// # Safety
/// Matrix and vector are valid.
pub unsafe fn multiply_triangle<T: Scalar>(operation: Operation, unit: bool, a: Stored<T>, x: Vector<T>) {
    // SAFETY: by contract.
    let given = unsafe { x.to_vec() };
    let mut sums = if unit { given.clone() } else { vec![T::ZERO; x.n] };
    for j in 0..a.n {
        for i in a.rows(j).filter(|&i| !unit || i != j) {
            // SAFETY: by contract.
            let value = unsafe { a.get(i, j) }.conj_if(operation.conjugates());
            if operation.transposes() {
                sums[j] += value * given[i];
            } else {
                sums[i] += value * given[j];
            }
        }
    }
    for (i, sum) in sums.into_iter().enumerate() {
        // SAFETY: by contract.
        unsafe { x.set(i, sum) };
    }
}

/// Solves `op(a) * y = x` for a triangle. `y` takes the place of `x`.
///
/// # Safety
/// Matrix and vector are valid.
pub unsafe fn solve_triangle<T: Scalar>(operation: Operation, unit: bool, a: Stored<T>, x: Vector<T>) {
    // SAFETY: by contract.
    let at = |i, j| unsafe { a.get(i, j) }.conj_if(operation.conjugates());
    // SAFETY: by contract.
    let mut y = unsafe { x.to_vec() };
    // From the end of the triangle that has a single unknown.
    let downwards = (a.part == Part::Lower) != operation.transposes();
    for step in 0..a.n {
        let j = if downwards { step } else { a.n - 1 - step };
        if operation.transposes() {
            for i in a.rows(j).filter(|&i| i != j) {
                y[j] = y[j] - at(i, j) * y[i];
            }
        }
        if !unit {
            y[j] = y[j] / at(j, j);
        }
        if !operation.transposes() {
            for i in a.rows(j).filter(|&i| i != j) {
                y[i] = y[i] - at(i, j) * y[j];
            }
        }
    }
    for (i, value) in y.into_iter().enumerate() {
        // SAFETY: by contract.
        unsafe { x.set(i, value) };
    }
}

/// Adds `alpha * x * transposed(y)` to the stored part of `a`, with `y` conjugated on demand.
///
/// # Safety
/// Matrix and vectors are valid.
pub unsafe fn add_product<T: Scalar>(alpha: T, x: Vector<T>, y: Vector<T>, conj: bool, a: Stored<T>) {
    if alpha == T::ZERO {
        return;
    }
    for j in 0..a.n {
        // SAFETY: by contract.
        let factor = alpha * unsafe { y.get(j) }.conj_if(conj);
        for i in a.rows(j) {
            // SAFETY: by contract.
            unsafe { a.set(i, j, a.get(i, j) + x.get(i) * factor) };
        }
    }
}

/// Sets the imaginary parts of the diagonal to 0, as updates of Hermitian matrices do.
///
/// # Safety
/// The matrix is valid.
pub unsafe fn make_diagonal_real<T: Scalar>(a: Stored<T>) {
    for j in 0..a.n {
        // SAFETY: by contract.
        unsafe { a.set(j, j, T::of_real(a.get(j, j).re())) };
    }
}
