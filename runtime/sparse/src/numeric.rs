//! The algorithms. Sums are in double precision, whatever the type of their parts.

use std::collections::BTreeMap;

use crate::call::Param;
use crate::dense::DnMat;
use crate::sparse::{Format, SpMat, SpVec};
use crate::status::Operation;
use crate::types::{Indices, Number, Values, Wide};

/// `c = alpha * op(a) * b + beta * c`, with `b` as it is used. `conj`: its values are conjugated.
///
/// # Safety
/// The memory is valid.
pub unsafe fn multiply<S: Number>(
    _: S,
    (operation, a): (Operation, SpMat),
    (conj, b): (bool, DnMat),
    c: DnMat,
    alpha: Param,
    beta: Param,
) {
    let n = c.cols;
    let mut sums = vec![S::ZERO; c.rows * n];
    // SAFETY: by the contract above.
    unsafe {
        let (alpha, beta): (S, S) = (alpha.get(), beta.get());
        if alpha != S::ZERO {
            a.entries(operation, |row, col, k| {
                let value = a.values.get::<S>(k).conj_if(operation.conjugates());
                for j in 0..n {
                    sums[row * n + j] += value * b.get::<S>(col, j).conj_if(conj);
                }
            });
        }
        for (at, &sum) in sums.iter().enumerate() {
            let (row, col) = (at / n, at % n);
            let before = if beta == S::ZERO { S::ZERO } else { beta * c.get(row, col) };
            let sum = if alpha == S::ZERO { S::ZERO } else { alpha * sum };
            c.set(row, col, sum + before);
        }
    }
}

/// Solves `op(a) * c = alpha * b` for `c`, with the triangle of `a` that its attributes name. `b` is as it is used.
///
/// # Safety
/// The memory is valid.
pub unsafe fn solve<S: Number>(
    _: S,
    (operation, a): (Operation, SpMat),
    (conj, b): (bool, DnMat),
    c: DnMat,
    alpha: Param,
) {
    let upper = (a.fill == 1) != operation.transposes();
    let mut rows = vec![Vec::new(); c.rows];
    let mut diagonal = vec![S::ZERO; c.rows];
    // SAFETY: by the contract above.
    unsafe {
        a.entries(operation, |row, col, k| {
            let value = a.values.get::<S>(k).conj_if(operation.conjugates());
            if row == col {
                diagonal[row] = value;
            } else if (col > row) == upper {
                rows[row].push((col, value));
            }
        });
        let alpha: S = alpha.get();
        for j in 0..c.cols {
            let mut found = vec![S::ZERO; c.rows];
            for step in 0..c.rows {
                let row = if upper { c.rows - 1 - step } else { step };
                let mut sum = alpha * b.get::<S>(row, j).conj_if(conj);
                for &(col, value) in &rows[row] {
                    sum = sum - value * found[col];
                }
                found[row] = if a.diagonal == 1 { sum } else { sum / diagonal[row] };
            }
            for (row, &value) in found.iter().enumerate() {
                c.set(row, j, value);
            }
        }
    }
}

/// `c = alpha * (a * b) + beta * c` at the places that `c` has. `a` and `b` are as they are used.
///
/// # Safety
/// The memory is valid.
pub unsafe fn sampled<S: Number>(
    _: S,
    (conj_a, a): (bool, DnMat),
    (conj_b, b): (bool, DnMat),
    c: SpMat,
    alpha: Param,
    beta: Param,
) {
    // SAFETY: by the contract above.
    unsafe {
        let (alpha, beta): (S, S) = (alpha.get(), beta.get());
        c.entries(Operation::Plain, |row, col, k| {
            let mut sum = S::ZERO;
            for i in 0..a.cols {
                sum += a.get::<S>(row, i).conj_if(conj_a) * b.get::<S>(i, col).conj_if(conj_b);
            }
            let before = if beta == S::ZERO { S::ZERO } else { beta * c.values.get(k) };
            c.values.set(k, alpha * sum + before);
        });
    }
}

/// The elements of `a * b`, row by row, each with its column.
///
/// # Safety
/// The memory is valid.
pub unsafe fn product<S: Number>(_: S, a: SpMat, b: SpMat) -> Vec<Vec<(usize, Wide)>> {
    let mut of_b = vec![Vec::new(); b.rows];
    let mut sums = vec![BTreeMap::new(); a.rows];
    // SAFETY: by the contract above.
    unsafe {
        b.entries(Operation::Plain, |row, col, k| of_b[row].push((col, b.values.get::<S>(k))));
        a.entries(Operation::Plain, |row, middle, k| {
            let value = a.values.get::<S>(k);
            for &(col, other) in &of_b[middle] {
                *sums[row].entry(col).or_insert(S::ZERO) += value * other;
            }
        });
    }
    sums.into_iter().map(|row| row.into_iter().map(|(col, sum)| (col, sum.wide())).collect()).collect()
}

/// `y = alpha * x + beta * y`
///
/// # Safety
/// The memory is valid.
pub unsafe fn axpby<S: Number>(_: S, x: SpVec, y: DnMat, alpha: Param, beta: Param) {
    // SAFETY: by the contract above.
    unsafe {
        if !beta.is(1.0) {
            let beta: S = beta.get();
            for i in 0..y.rows {
                let scaled = if beta == S::ZERO { S::ZERO } else { beta * y.get(i, 0) };
                y.set(i, 0, scaled);
            }
        }
        let alpha: S = alpha.get();
        x.entries(|i, k| y.set(i, 0, y.get::<S>(i, 0) + alpha * x.values.get(k)));
    }
}

/// The sum of the products of the elements of `x` with those of `y` at their places.
///
/// # Safety
/// The memory is valid.
pub unsafe fn dot<S: Number>(_: S, conj: bool, x: SpVec, y: DnMat) -> Wide {
    let mut sum = S::ZERO;
    // SAFETY: by the contract above.
    unsafe { x.entries(|i, k| sum += x.values.get::<S>(k).conj_if(conj) * y.get(i, 0)) };
    sum.wide()
}

/// Copies between the elements of `x` and those of `y` at their places.
///
/// # Safety
/// The memory is valid.
pub unsafe fn exchange(x: SpVec, y: DnMat, to_dense: bool) {
    // SAFETY: by the contract above.
    unsafe {
        x.entries(|i, k| match to_dense {
            true => y.set(i, 0, x.values.get::<Wide>(k)),
            false => x.values.set(k, y.get::<Wide>(i, 0)),
        });
    }
}

/// Writes a sparse matrix as a dense one.
///
/// # Safety
/// The memory is valid.
pub unsafe fn to_dense(a: SpMat, b: DnMat) {
    // SAFETY: by the contract above.
    unsafe {
        (0..b.rows * b.cols).for_each(|at| b.set(at / b.cols, at % b.cols, Wide::ZERO));
        a.entries(Operation::Plain, |row, col, k| b.set(row, col, a.values.get::<Wide>(k)));
    }
}

/// Rows and columns of the elements of a dense matrix that are not 0, in the order in which a format stores them.
///
/// # Safety
/// The memory is valid.
pub unsafe fn not_zero(a: DnMat, format: Format) -> Vec<(usize, usize)> {
    let a = a.transposed_if(format == Format::Csc);
    let mut found = Vec::new();
    for major in 0..a.rows {
        for minor in 0..a.cols {
            // SAFETY: by the contract above.
            if unsafe { a.get::<Wide>(major, minor) } != Wide::ZERO {
                found.push((major, minor));
            }
        }
    }
    found
}

/// Writes where each row begins, if each element is in one of these rows, which are sorted.
///
/// # Safety
/// The memory is valid.
pub unsafe fn write_offsets(offsets: Indices, count: usize, rows: impl Iterator<Item = usize>) {
    let mut lengths = vec![0; count];
    rows.for_each(|row| lengths[row] += 1);
    let mut begin = 0;
    // SAFETY: by the contract above.
    unsafe {
        for (row, length) in lengths.into_iter().enumerate() {
            offsets.set(row, begin);
            begin += length;
        }
        offsets.set(count, begin);
    }
}

/// Writes the elements of a dense matrix that are not 0. Offsets are there already, but for `Coo`.
///
/// # Safety
/// The memory is valid.
pub unsafe fn to_sparse(a: DnMat, b: SpMat) {
    // SAFETY: by the contract above.
    unsafe {
        let found = not_zero(a, b.format);
        let a = a.transposed_if(b.format == Format::Csc);
        for (k, &(major, minor)) in found.iter().take(b.nnz).enumerate() {
            if b.format == Format::Coo {
                b.offsets.set(k, major);
            }
            b.indices.set(k, minor);
            b.values.set(k, a.get::<Wide>(major, minor));
        }
    }
}

/// Writes compressed rows as compressed columns. Without values, only the pattern is written.
///
/// # Safety
/// The memory is valid.
pub unsafe fn compress_columns(a: SpMat, offsets: Indices, rows: Indices, values: Option<Values>) {
    let mut columns = vec![Vec::new(); a.cols];
    // SAFETY: by the contract above.
    unsafe {
        a.entries(Operation::Plain, |row, col, k| columns[col].push((row, k)));
        let each = || columns.iter().enumerate();
        write_offsets(offsets, a.cols, each().flat_map(|(col, column)| column.iter().map(move |_| col)));
        for (to, &(row, k)) in columns.iter().flatten().enumerate() {
            rows.set(to, row);
            if let Some(values) = values {
                values.set(to, a.values.get::<Wide>(k));
            }
        }
    }
}

/// Factors compressed rows in place, `a = l * u` at the places that `a` has, with ones on the diagonal of `l`. Returns
/// the first row without a pivot.
///
/// # Safety
/// The memory is valid.
pub unsafe fn factor<S: Number>(_: S, a: SpMat) -> Option<usize> {
    let mut rows: Vec<BTreeMap<usize, (usize, S)>> = vec![BTreeMap::new(); a.rows];
    let mut missing = None;
    // SAFETY: by the contract above.
    unsafe {
        a.entries(Operation::Plain, |row, col, k| {
            rows[row].insert(col, (k, a.values.get(k)));
        });
        for i in 0..rows.len() {
            let (above, rest) = rows.split_at_mut(i);
            let row = &mut rest[0];
            let before: Vec<usize> = row.range(..i).map(|(&col, _)| col).collect();
            for middle in before {
                let pivot = above[middle].get(&middle).map_or(S::ZERO, |&(_, value)| value);
                let factor = row[&middle].1 / pivot;
                row.entry(middle).and_modify(|(_, value)| *value = factor);
                for (&col, &(_, value)) in above[middle].range(middle + 1..) {
                    row.entry(col).and_modify(|(_, of_row)| *of_row = *of_row - factor * value);
                }
            }
            if row.get(&i).is_none_or(|&(_, value)| value == S::ZERO) {
                missing = missing.or(Some(i));
            }
        }
        rows.iter().flat_map(BTreeMap::values).for_each(|&(k, value)| a.values.set(k, value));
    }
    missing
}
