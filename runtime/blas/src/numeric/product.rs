//! Products of whole matrices.

use crate::scalar::Scalar;
use crate::status::Operation;

/// A matrix in columns that is only read, with its operation.
#[derive(Clone, Copy, Debug)]
pub struct Factor<T> {
    /// The first element.
    pub start: *const T,
    /// Elements from one column to the next, as stored.
    pub leading: usize,
    /// What is done to it first.
    pub operation: Operation,
}

impl<T> Factor<T> {
    /// A matrix as it is.
    pub fn plain(start: *const T, leading: usize) -> Self {
        Self { start, leading, operation: Operation::Plain }
    }

    /// The distances of rows and of columns after the operation.
    fn strides(&self) -> (isize, isize) {
        let leading = self.leading as isize;
        if self.operation.transposes() { (leading, 1) } else { (1, leading) }
    }
}

impl<T: Scalar> Factor<T> {
    /// An element after the operation.
    ///
    /// # Safety
    /// The matrix is valid and has it.
    pub unsafe fn get(&self, row: usize, column: usize) -> T {
        let (by_row, by_column) = self.strides();
        let at = row * by_row as usize + column * by_column as usize;
        // SAFETY: by contract.
        unsafe { self.start.add(at).read_unaligned() }.conj_if(self.operation.conjugates())
    }

    /// A copy after the operation, of `m` rows and `n` columns without gaps.
    ///
    /// # Safety
    /// The matrix is valid.
    pub unsafe fn to_vec(self, m: usize, n: usize) -> Vec<T> {
        // SAFETY: by contract.
        (0..n).flat_map(|j| (0..m).map(move |i| unsafe { self.get(i, j) })).collect()
    }
}

/// `c = alpha * a * b + beta * c` with `m` rows, `n` columns and `k` terms in each element. With an `alpha` of 0
/// neither `a` nor `b` is read, and with a `beta` of 0 `c` is not.
///
/// # Safety
/// The matrices are valid, and `c` overlaps neither `a` nor `b`.
pub unsafe fn gemm<T: Scalar>(
    (m, n, k): (usize, usize, usize),
    alpha: T,
    a: Factor<T>,
    b: Factor<T>,
    beta: T,
    (c, leading): (*mut T, usize),
) {
    if m == 0 || n == 0 {
        return;
    }
    if alpha == T::ZERO || k == 0 {
        // SAFETY: by contract.
        return unsafe { scale((m, n), beta, (c, leading)) };
    }
    let conjugated = |factor: Factor<T>, rows, columns| {
        // SAFETY: by contract.
        let of = || unsafe { factor.to_vec(rows, columns) };
        let differs = factor.operation.conjugates() && is_complex::<T>();
        differs.then(of)
    };
    let (a_copy, b_copy) = (conjugated(a, m, k), conjugated(b, k, n));
    let place = |factor: &Factor<T>, copy: &Option<Vec<T>>, rows: usize| match copy {
        Some(copy) => (copy.as_ptr(), 1, rows as isize),
        None => (factor.start, factor.strides().0, factor.strides().1),
    };
    let (a, b) = (place(&a, &a_copy, m), place(&b, &b_copy, k));
    // SAFETY: by contract.
    unsafe { T::gemm((m, k, n), alpha, a, b, beta, (c, 1, leading as isize)) };
}

fn is_complex<T: Scalar>() -> bool {
    size_of::<T>() != size_of::<T::Real>()
}

/// `c = beta * c`
///
/// # Safety
/// The matrix is valid.
unsafe fn scale<T: Scalar>((m, n): (usize, usize), beta: T, (c, leading): (*mut T, usize)) {
    for j in 0..n {
        for i in 0..m {
            // SAFETY: by contract.
            unsafe {
                let at = c.add(j * leading + i);
                at.write_unaligned(if beta == T::ZERO { T::ZERO } else { beta * at.read_unaligned() });
            }
        }
    }
}

/// `c = alpha * a + beta * b`. Either may be `c` itself. A matrix whose factor is 0 is not read.
///
/// # Safety
/// The matrices are valid.
pub unsafe fn sum<T: Scalar>(
    (m, n): (usize, usize),
    (alpha, a): (T, Factor<T>),
    (beta, b): (T, Factor<T>),
    (c, leading): (*mut T, usize),
) {
    let term = |factor: T, matrix: &Factor<T>, i, j| match factor == T::ZERO {
        true => T::ZERO,
        // SAFETY: by contract.
        false => factor * unsafe { matrix.get(i, j) },
    };
    for j in 0..n {
        for i in 0..m {
            let value = term(alpha, &a, i, j) + term(beta, &b, i, j);
            // SAFETY: by contract.
            unsafe { c.add(j * leading + i).write_unaligned(value) };
        }
    }
}
