//! LU factors, solutions and inverses of small square matrices in columns.

use crate::numeric::matrices::trsm;
use crate::scalar::Scalar;
use crate::status::{Operation, Part};
use crate::stored::Stored;

/// Replaces `a` by its factors L and U. Writes the rows that were exchanged, from 1, to `pivots` unless it is null.
/// Returns the position, from 1, of the first pivot that is 0, or 0.
///
/// # Safety
/// The matrix is valid, and `pivots` has `n` numbers.
pub unsafe fn factor<T: Scalar>(n: usize, (a, leading): (*mut T, usize), pivots: *mut i32) -> i32 {
    let a = Stored::dense(a, n, n, leading);
    let mut info = 0;
    for j in 0..n {
        // SAFETY: by contract.
        unsafe {
            let mut best = j;
            if !pivots.is_null() {
                for i in j + 1..n {
                    if a.get(i, j).abs1() > a.get(best, j).abs1() {
                        best = i;
                    }
                }
                pivots.add(j).write_unaligned(best as i32 + 1);
            }
            let pivot = a.get(best, j);
            if pivot == T::ZERO {
                if info == 0 {
                    info = j as i32 + 1;
                }
                continue;
            }
            if best != j {
                exchange_rows(a, j, best);
            }
            for i in j + 1..n {
                a.set(i, j, a.get(i, j) / pivot);
            }
            for column in j + 1..n {
                let above = a.get(j, column);
                for i in j + 1..n {
                    a.set(i, column, a.get(i, column) - a.get(i, j) * above);
                }
            }
        }
    }
    info
}

unsafe fn exchange_rows<T: Scalar>(a: Stored<T>, first: usize, second: usize) {
    for column in 0..a.n {
        // SAFETY: the callers' contract.
        unsafe {
            let kept = a.get(first, column);
            a.set(first, column, a.get(second, column));
            a.set(second, column, kept);
        }
    }
}

/// Solves `op(a) * x = b` from the factors of `a`. `x` takes the place of `b`, which has `columns` columns.
///
/// # Safety
/// The matrices are valid. `pivots` is null or has `n` numbers.
pub unsafe fn solve<T: Scalar>(
    operation: Operation,
    (n, columns): (usize, usize),
    (a, leading): (*const T, usize),
    pivots: *const i32,
    (b, b_leading): (*mut T, usize),
) {
    let lower = Stored::triangle(a, Part::Lower, n, leading);
    let upper = Stored::triangle(a, Part::Upper, n, leading);
    let right = Stored::dense(b, n, columns, b_leading);
    let exchange = |i: usize| {
        if pivots.is_null() {
            return;
        }
        // SAFETY: by contract. A pivot that is no row leaves the rows as they are.
        unsafe {
            let with = pivots.add(i).read_unaligned();
            if let Some(with) = usize::try_from(with).ok().and_then(|with| with.checked_sub(1))
                && with < n
                && with != i
            {
                exchange_rows(right, i, with);
            }
        }
    };
    // SAFETY: by contract.
    unsafe {
        let both = |unit, part| trsm((true, operation, unit), (n, columns), T::ONE, part, (b, b_leading));
        if operation.transposes() {
            both(false, upper);
            both(true, lower);
            (0..n).rev().for_each(exchange);
        } else {
            (0..n).for_each(exchange);
            both(true, lower);
            both(false, upper);
        }
    }
}

/// Writes the inverse to `c`, from the factors of `a`. Returns the position, from 1, of a diagonal element of U that is
/// 0, or 0.
///
/// # Safety
/// As [`solve`], and `c` does not overlap `a`.
pub unsafe fn invert<T: Scalar>(
    n: usize,
    (a, leading): (*const T, usize),
    pivots: *const i32,
    (c, c_leading): (*mut T, usize),
) -> i32 {
    let factors = Stored::dense(a, n, n, leading);
    let inverse = Stored::dense(c, n, n, c_leading);
    // SAFETY: by contract.
    unsafe {
        if let Some(zero) = (0..n).find(|&i| factors.get(i, i) == T::ZERO) {
            return zero as i32 + 1;
        }
        for j in 0..n {
            for i in 0..n {
                inverse.set(i, j, if i == j { T::ONE } else { T::ZERO });
            }
        }
        solve(Operation::Plain, (n, n), (a, leading), pivots, (c, c_leading));
    }
    0
}
