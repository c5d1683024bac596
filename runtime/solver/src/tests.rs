//! Factors, eigenvalues and singular values of random matrices: their definitions hold, by plain loops.

use gpurace_random::Random;

use crate::numeric::Matrix;
use crate::numeric::eigen::{eigen, generalized};
use crate::numeric::factors::{Triangle, cholesky, lu, solve_cholesky, solve_lu};
use crate::numeric::reflections::{apply, apply_right, generate, qr};
use crate::numeric::singular::singular;
use crate::place::{Part, Place};
use crate::status::Operation;
use crate::types::{Complex64, Type, Wide};

const NEAR: f64 = 1e-10;

fn number<W: Wide>(random: &mut Random) -> W {
    let mut part = || random.below(2001u64) as f64 / 1000.0 - 1.0;
    W::of(Complex64 { re: part(), im: part() })
}

fn matrix<W: Wide>(random: &mut Random, m: usize, n: usize) -> Matrix<W> {
    let mut made = Matrix::new(m, n);
    for column in 0..n {
        (0..m).for_each(|row| made[(row, column)] = number(random));
    }
    made
}

/// With fewer independent columns than it has.
fn of_rank<W: Wide>(random: &mut Random, m: usize, n: usize, rank: usize) -> Matrix<W> {
    matrix::<W>(random, m, rank).times(&matrix(random, rank, n))
}

fn hermitian<W: Wide>(random: &mut Random, n: usize) -> Matrix<W> {
    let (a, mut made) = (matrix::<W>(random, n, n), Matrix::new(n, n));
    for column in 0..n {
        (0..n).for_each(|row| made[(row, column)] = a[(row, column)] + a[(column, row)].conj());
    }
    made
}

fn positive<W: Wide>(random: &mut Random, n: usize) -> Matrix<W> {
    let a = matrix::<W>(random, n, n);
    let mut made = a.times(&a.adjoint());
    (0..n).for_each(|i| made[(i, i)] += W::ONE);
    made
}

fn after<W: Wide>(a: &Matrix<W>, operation: Operation) -> Matrix<W> {
    let mut made = if operation == Operation::Plain { a.clone() } else { a.adjoint() };
    if operation == Operation::Transposed {
        (0..made.n).for_each(|column| made.column_mut(column).iter_mut().for_each(|x| *x = x.conj()));
    }
    made
}

fn lower<W: Wide>(a: &Matrix<W>, unit: bool) -> Matrix<W> {
    let mut made = a.clone();
    for column in 0..a.n {
        (0..a.m.min(column)).for_each(|row| made[(row, column)] = W::ZERO);
        if unit && column < a.m {
            made[(column, column)] = W::ONE;
        }
    }
    made
}

fn upper<W: Wide>(a: &Matrix<W>) -> Matrix<W> {
    lower(&a.adjoint(), false).adjoint()
}

#[track_caller]
fn near<W: Wide>(a: &Matrix<W>, b: &Matrix<W>) {
    assert_eq!((a.m, a.n), (b.m, b.n));
    for column in 0..a.n {
        for row in 0..a.m {
            let (a, b) = (a[(row, column)], b[(row, column)]);
            assert!((a - b).size() < NEAR, "{row} {column}: {a:?} {b:?}");
        }
    }
}

#[track_caller]
fn orthonormal<W: Wide>(a: &Matrix<W>) {
    near(&a.adjoint().times(a), &Matrix::identity(a.n, a.n));
}

fn diagonal<W: Wide>(m: usize, n: usize, values: &[f64]) -> Matrix<W> {
    let mut made = Matrix::new(m, n);
    values.iter().enumerate().for_each(|(i, &value)| made[(i, i)] = W::of_real(value));
    made
}

fn for_all(test: impl Fn(&mut Random, [usize; 3])) {
    let mut random = Random(1);
    for round in 0..60 {
        // Some have no rows or columns.
        let smallest = usize::from(round % 10 != 0);
        let mut size = || smallest + random.below(8usize);
        let sizes = [size(), size(), size()];
        test(&mut random, sizes);
    }
}

fn test_cholesky<W: Wide>(random: &mut Random, [n, columns, _]: [usize; 3]) {
    let (a, b) = (positive::<W>(random, n), matrix::<W>(random, n, columns));
    let mut factor = a.clone();
    assert_eq!(cholesky(&mut factor), 0);
    let l = lower(&factor, false);
    near(&l.times(&l.adjoint()), &a);
    let mut x = b.clone();
    solve_cholesky(&factor, &mut x);
    near(&a.times(&x), &b);
    if n > 0 {
        let minor = random.below(n);
        let mut broken = a;
        broken[(minor, minor)] = W::of_real(-1.0);
        assert_eq!(cholesky(&mut broken), minor + 1);
    }
}

fn test_lu<W: Wide>(random: &mut Random, [m, n, columns]: [usize; 3]) {
    let mut a = matrix::<W>(random, m, n);
    let mut factors = a.clone();
    let (pivots, info) = lu(&mut factors, true);
    assert_eq!((pivots.len(), info), (m.min(n), 0));
    for (row, with) in pivots.iter().enumerate() {
        (0..n).for_each(|column| a.column_mut(column).swap(row, with - 1));
    }
    let all = m.min(n);
    near(&lower(&factors.resized(m, all), true).times(&upper(&factors.resized(all, n))), &a);

    let (a, b) = (positive::<W>(random, n), matrix::<W>(random, n, columns));
    for pivoting in [true, false] {
        let mut factors = a.clone();
        let (pivots, info) = lu(&mut factors, pivoting);
        assert_eq!(info, 0);
        let pivots: Vec<i64> = pivots.iter().map(|&pivot| pivot as i64).collect();
        for operation in [Operation::Plain, Operation::Transposed, Operation::ConjugateTransposed] {
            let mut x = b.clone();
            solve_lu(operation, &factors, &pivots, &mut x);
            near(&after(&a, operation).times(&x), &b);
        }
    }
    if n > 1 {
        // A column is the sum of others: the last pivot is 0 or nearly so. A column of zeros is found where it is.
        let mut singular = a;
        let column = random.below(n);
        singular.column_mut(column).fill(W::ZERO);
        assert_eq!(lu(&mut singular, true).1, column + 1);
    }
}

fn test_triangles<W: Wide>(random: &mut Random, [n, columns, _]: [usize; 3]) {
    let mut a = matrix::<W>(random, n, n);
    (0..n).for_each(|i| a[(i, i)] += W::of_real(3.0));
    let b = matrix::<W>(random, n, columns);
    for (is_lower, unit) in [(false, false), (false, true), (true, false), (true, true)] {
        for operation in [Operation::Plain, Operation::Transposed, Operation::ConjugateTransposed] {
            let used = if is_lower { lower(&a, unit) } else { lower(&a.adjoint(), unit).adjoint() };
            let mut x = b.clone();
            Triangle { matrix: &a, lower: is_lower, unit }.solve(operation, &mut x);
            near(&after(&used, operation).times(&x), &b);
        }
    }
}

fn test_qr<W: Wide>(random: &mut Random, [m, n, columns]: [usize; 3]) {
    let a = matrix::<W>(random, m, n);
    let mut factors = a.clone();
    let taus = qr(&mut factors);
    let all = m.min(n);
    let q = generate(&factors.resized(m, all), &taus, m);
    orthonormal(&q);
    near(&q.times(&upper(&factors)), &a);
    let (right, left) = (matrix::<W>(random, m, columns), matrix::<W>(random, columns, m));
    for adjoint in [false, true] {
        let q = if adjoint { q.adjoint() } else { q.clone() };
        let (mut x, mut y) = (right.clone(), left.clone());
        apply(&factors, &taus, adjoint, &mut x);
        near(&x, &q.times(&right));
        apply_right(&factors, &taus, adjoint, &mut y);
        near(&y, &left.times(&q));
    }
}

fn test_eigen<W: Wide>(random: &mut Random, [n, rank, _]: [usize; 3]) {
    let low = of_rank::<W>(random, n, n, rank);
    for a in [hermitian::<W>(random, n), low.times(&low.adjoint()), diagonal(n, n, &vec![2.0; n])] {
        let found = eigen(a.clone());
        assert_eq!(found.info, 0);
        assert!(found.values.is_sorted());
        orthonormal(&found.vectors);
        near(&a.times(&found.vectors), &found.vectors.times(&diagonal(n, n, &found.values)));
    }
    let (a, b) = (hermitian::<W>(random, n), positive::<W>(random, n));
    for kind in 1..=3 {
        let mut factor = b.clone();
        let found = generalized(kind, &a, &mut factor);
        let values = diagonal(n, n, &found.values);
        match kind {
            1 => near(&a.times(&found.vectors), &b.times(&found.vectors).times(&values)),
            2 => near(&a.times(&b).times(&found.vectors), &found.vectors.times(&values)),
            _ => near(&b.times(&a).times(&found.vectors), &found.vectors.times(&values)),
        }
        near(&factor.times(&factor.adjoint()), &b);
    }
    if n > 0 {
        let mut broken = b;
        broken[(0, 0)] = W::ZERO;
        assert_eq!(generalized(1, &a, &mut broken).info, n + 1);
    }
}

fn test_singular<W: Wide>(random: &mut Random, [m, n, rank]: [usize; 3]) {
    for a in [matrix::<W>(random, m, n), of_rank(random, m, n, rank), Matrix::new(m, n)] {
        let thin = singular(a.clone(), false);
        let count = m.min(n);
        near(&thin.u.times(&diagonal(count, count, &thin.values)).times(&thin.v.adjoint()), &a);
        orthonormal(&thin.u);
        orthonormal(&thin.v);
        let found = singular(a.clone(), true);
        assert_eq!(found.info, 0);
        assert!(found.values.iter().rev().is_sorted());
        orthonormal(&found.u);
        orthonormal(&found.v);
        assert_eq!((found.u.n, found.v.n), (m, n));
        near(&found.u.times(&diagonal(m, n, &found.values)).times(&found.v.adjoint()), &a);
    }
}

#[test]
fn definitions_hold() {
    for_all(|random, sizes| {
        test_cholesky::<f64>(random, sizes);
        test_cholesky::<Complex64>(random, sizes);
        test_lu::<f64>(random, sizes);
        test_lu::<Complex64>(random, sizes);
        test_triangles::<f64>(random, sizes);
        test_triangles::<Complex64>(random, sizes);
        test_qr::<f64>(random, sizes);
        test_qr::<Complex64>(random, sizes);
        test_eigen::<f64>(random, sizes);
        test_eigen::<Complex64>(random, sizes);
        test_singular::<f64>(random, sizes);
        test_singular::<Complex64>(random, sizes);
    });
}

#[test]
fn what_is_no_number_comes_to_an_end() {
    let mut a = Matrix::<f64>::identity(3, 3);
    a[(2, 2)] = f64::NAN;
    assert_eq!(cholesky(&mut a.clone()), 3);
    assert_ne!(singular(a.clone(), true).values.iter().filter(|value| value.is_nan()).count(), 0);
    a[(2, 1)] = f64::NAN;
    a[(1, 2)] = f64::NAN;
    assert_ne!(eigen(a).info, 0);
}

#[test]
fn a_triangle_in_memory_leaves_the_other_alone() {
    for ty in [Type::Single, Type::Double, Type::ComplexSingle, Type::ComplexDouble] {
        for part in [Part::Lower, Part::Upper] {
            let mut memory = vec![0x55_u8; 4 * 3 * 16];
            let start = memory.as_mut_ptr().expose_provenance();
            let whole = Place { start, ty, m: 3, n: 3, leading: 4, part: Part::Whole };
            let triangle = Place { part, ..whole };
            // SAFETY: the memory has room for all.
            unsafe {
                let mut numbers = Matrix::<Complex64>::new(3, 3);
                for (row, column) in [(0, 0), (1, 0), (2, 0), (1, 1), (2, 1), (2, 2)] {
                    let im = if ty.is_complex() && row != column { 0.5 } else { 0.0 };
                    numbers[(row, column)] = Complex64 { re: (row + 3 * column) as f64, im };
                }
                let before: Matrix<Complex64> = whole.load();
                triangle.store_lower(&numbers);
                assert_eq!(triangle.load_lower::<Complex64>(), numbers);
                let (found, all) = (triangle.load_hermitian::<Complex64>(), whole.load::<Complex64>());
                for column in 0..3 {
                    for row in 0..3 {
                        let used = if part == Part::Lower { row >= column } else { row <= column };
                        let wanted = if used { found[(row, column)] } else { before[(row, column)] };
                        assert_eq!(all[(row, column)], wanted);
                    }
                }
                assert_eq!(found, found.adjoint());
            }
            assert!(
                memory
                    .chunks(4 * ty.size())
                    .take(3)
                    .all(|column| column[3 * ty.size()..].iter().all(|&byte| byte == 0x55))
            );
        }
    }
}
