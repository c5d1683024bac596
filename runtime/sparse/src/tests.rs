//! Products of random matrices of every type, against plain loops over all rows and columns.

use gpurace_random::Random;

use crate::call::Param;
use crate::dense::DnMat;
use crate::numeric;
use crate::sparse::{Format, SpMat};
use crate::status::{Operation, as_operation};
use crate::types::{Indices, Number, Type, Values, Wide, numbers};

const TYPES: [Type; 8] = [
    Type::Half,
    Type::BFloat,
    Type::Single,
    Type::Double,
    Type::ComplexSingle,
    Type::ComplexDouble,
    Type::Byte,
    Type::Int,
];

/// Memory for values.
fn memory(bytes: usize) -> (Vec<u8>, usize) {
    let mut memory = vec![0xcc; bytes + 1];
    let start = memory.as_mut_ptr().expose_provenance();
    (memory, start)
}

/// A small whole number, which each type holds exactly.
fn number(random: &mut Random, ty: Type) -> Wide {
    let mut part = || random.below(7u64) as f64 - 3.0;
    let re = part();
    Wide { re, im: if ty.is_complex() { part() } else { 0.0 } }
}

/// Stores `rows` in a format. Returns the memory too.
fn stored(
    rows: &[Vec<Wide>],
    cols: usize,
    format: Format,
    ty: Type,
    index: u32,
    base: u32,
) -> (SpMat, [Vec<u8>; 3]) {
    let mut elements = Vec::new();
    for (row, values) in rows.iter().enumerate() {
        elements.extend(
            values.iter().enumerate().filter(|at| *at.1 != Wide::ZERO).map(|(col, &value)| (row, col, value)),
        );
    }
    if format == Format::Csc {
        elements.iter_mut().for_each(|element| *element = (element.1, element.0, element.2));
        elements.sort_by_key(|element| (element.0, element.1));
    }
    let nnz = elements.len();
    let (of_offsets, offsets) = memory(8 * (nnz + rows.len() + cols + 1));
    let (of_indices, indices) = memory(8 * nnz);
    let (of_values, start) = memory(16 * nnz);
    let matrix = SpMat {
        format,
        rows: rows.len(),
        cols,
        nnz,
        offsets: Indices::new(offsets, index, base).unwrap(),
        indices: Indices::new(indices, index, base).unwrap(),
        values: Values { start, ty },
        fill: 0,
        diagonal: 0,
        batches: 1,
        offsets_stride: 0,
        values_stride: 0,
    };
    // SAFETY: the memory has room for all.
    unsafe {
        if format != Format::Coo {
            numeric::write_offsets(matrix.offsets, matrix.majors(), elements.iter().map(|element| element.0));
        }
        for (k, &(major, minor, value)) in elements.iter().enumerate() {
            if format == Format::Coo {
                matrix.offsets.set(k, major);
            }
            matrix.indices.set(k, minor);
            matrix.values.set(k, value);
        }
    }
    (matrix, [of_offsets, of_indices, of_values])
}

#[test]
fn products_agree_with_plain_loops() {
    let mut random = Random(1);
    for ty in TYPES {
        for format in [Format::Csr, Format::Csc, Format::Coo] {
            for (index, base) in [(1, 0), (2, 1), (3, 0), (3, 1)] {
                for op in 0..3 {
                    let (m, n) = (1 + random.below(6usize), 1 + random.below(6usize));
                    let rows: Vec<Vec<Wide>> = (0..m)
                        .map(|_| {
                            let one = |random: &mut Random| match random.chance(40) {
                                true => number(random, ty),
                                false => Wide::ZERO,
                            };
                            (0..n).map(|_| one(&mut random)).collect()
                        })
                        .collect();
                    let (a, kept) = stored(&rows, n, format, ty, index, base);
                    let operation = as_operation(op).unwrap();
                    let (length_y, length_x) = a.size(operation);
                    let (of_x, x) = memory(16 * length_x);
                    let (of_y, y) = memory(16 * length_y);
                    let x = DnMat::vector(length_x, Values { start: x, ty });
                    let y = DnMat::vector(length_y, Values { start: y, ty });
                    let values: Vec<Wide> = (0..length_x).map(|_| number(&mut random, ty)).collect();
                    let (alpha, beta) = (Param::Value(Wide::from(2.0)), Param::Value(Wide::ZERO));
                    // SAFETY: the memory has room for all.
                    let found: Vec<Wide> = unsafe {
                        values.iter().enumerate().for_each(|(i, &value)| x.set(i, 0, value));
                        numbers!(
                            ty.is_complex(),
                            numeric::multiply,
                            (operation, a),
                            (false, x),
                            y,
                            alpha,
                            beta
                        );
                        (0..length_y).map(|i| y.get(i, 0)).collect()
                    };
                    let wanted: Vec<Wide> = (0..length_y)
                        .map(|i| {
                            let element = |j: usize| match operation.transposes() {
                                true => rows[j][i].conj_if(operation.conjugates()),
                                false => rows[i][j],
                            };
                            (0..length_x).map(|j| element(j) * values[j] * 2.0).sum()
                        })
                        .collect();
                    // A byte holds no larger sum.
                    let most = if ty == Type::Byte { 127.0 } else { 256.0 };
                    if wanted.iter().all(|value| value.re.abs() <= most && value.im.abs() <= most) {
                        assert_eq!(found, wanted, "{ty:?} {format:?} {index} {base} {op}");
                    }
                    drop((kept, of_x, of_y));
                }
            }
        }
    }
}

#[test]
fn incomplete_factors_keep_the_places_of_the_matrix() {
    // By hand: the product of the factors is the matrix wherever it has an element, here all but (0, 2) and (2, 0).
    let rows = [[4.0, 2.0, 0.0], [8.0, 7.0, 3.0], [0.0, 6.0, 9.0]];
    let rows = rows.map(|row| row.map(Wide::from).to_vec());
    let (a, kept) = stored(&rows, 3, Format::Csr, Type::Double, 2, 0);
    // SAFETY: the memory is that of the matrix.
    let found: Vec<f64> = unsafe {
        assert_eq!(numeric::factor(0.0, a), None);
        (0..a.nnz).map(|k| a.values.get(k)).collect()
    };
    assert_eq!(found, [4.0, 2.0, 2.0, 3.0, 3.0, 2.0, 3.0]);
    drop(kept);
}

#[test]
fn what_is_out_of_range_is_left_out() {
    let (a, kept) =
        stored(&[vec![Wide::from(1.0); 2], vec![Wide::from(2.0); 2]], 2, Format::Csr, Type::Double, 3, 0);
    let mut entries = Vec::new();
    // SAFETY: the memory is that of the matrix.
    unsafe {
        a.indices.set(1, 5);
        a.offsets.set(2, 1 << 40);
        a.entries(Operation::Plain, |row, col, k| entries.push((row, col, k)));
        assert_eq!(a.used_cols(Operation::Plain), [0..2, 5..6]);
    }
    assert_eq!(entries, [(0, 0, 0), (1, 0, 2), (1, 1, 3)]);
    drop(kept);
}
