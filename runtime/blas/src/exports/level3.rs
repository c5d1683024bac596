//! Level 3: products and solutions with triangles and symmetric matrices.

use crate::call::{Call, Param};
use crate::exports::{Int, blas};
use crate::numeric::matrices::{by_transpose, symm, trmm, trsm, update_triangle};
use crate::numeric::product::Factor;
use crate::scalar::{Complex32, Complex64, Scalar};
use crate::status::{Operation, Outcome, Part, Status, as_operation, is_left, is_unit, leading, size, valid};
use crate::stored::{Stored, Vector};
use crate::touched::{Batch, Touches};

fn is_complex<T: Scalar>() -> bool {
    size_of::<T>() != size_of::<T::Real>()
}

/// The parameters `side`, `m`, `n`: whether the square matrix is on the left, the size, and that of the square matrix.
fn sides(side: u32, m: i64, n: i64) -> Outcome<(bool, (usize, usize), usize)> {
    let (left, m, n) = (is_left(side)?, size(m)?, size(n)?);
    Ok((left, (m, n), if left { m } else { n }))
}

fn touch_dense<T>(
    touches: &mut Touches,
    start: *const T,
    size: (usize, usize),
    leading: usize,
    writes: bool,
) {
    touches.matrices(start.addr(), size_of::<T>(), size, leading, Batch::ONE, writes);
}

/// `symm` and `hemm`
#[allow(clippy::too_many_arguments)]
fn submit_symm<T: Scalar>(
    call: Call,
    hermitian: bool,
    (side, part): (u32, u32),
    (m, n): (i64, i64),
    (alpha, beta): (*const T, *const T),
    (a, lda): (*const T, i64),
    (b, ldb): (*const T, i64),
    (c, ldc): (*mut T, i64),
) -> Outcome {
    let (left, (m, n), order) = sides(side, m, n)?;
    let a = Stored::triangle(a, Part::triangle(part)?, order, leading(lda, order)?);
    let (ldb, ldc) = (leading(ldb, m)?, leading(ldc, m)?);
    let (alpha, beta) = (call.param(alpha)?, call.param(beta)?);
    if m == 0 || n == 0 {
        return Ok(());
    }
    let touched = move |touches: &mut Touches| {
        alpha.touch(touches);
        beta.touch(touches);
        if !alpha.is_zero() {
            touches.stored(a, false, false);
            touch_dense(touches, b, (m, n), ldb, false);
        }
        touch_dense(touches, c.cast_const(), (m, n), ldc, true);
    };
    // SAFETY: the runtime has checked the memory.
    call.submit(touched, move || unsafe {
        let b = Factor::plain(b, ldb);
        symm((left, hermitian), (m, n), alpha.get(), a, b, beta.get(), (c, ldc));
    })
}

/// The parameters `side`, `uplo`, `trans`, `diag`.
#[derive(Clone, Copy)]
struct TriangleUse {
    left: bool,
    operation: Operation,
    unit: bool,
    size: (usize, usize),
}

/// Checks the parameters of a function on a triangle.
fn triangle<T: Copy>(
    [side, part, operation, diagonal]: [u32; 4],
    (m, n): (i64, i64),
    (a, lda): (*const T, i64),
) -> Outcome<(TriangleUse, Stored<T>)> {
    let (left, size, order) = sides(side, m, n)?;
    let a = Stored::triangle(a, Part::triangle(part)?, order, leading(lda, order)?);
    let (operation, unit) = (as_operation(operation)?, is_unit(diagonal)?);
    Ok((TriangleUse { left, operation, unit, size }, a))
}

fn same<T>(value: T) -> T {
    value
}

/// An update of a triangle: `syrk`, `syr2k`, `syrkx` and those of Hermitian matrices.
struct Update<T: Scalar, A: Scalar, B: Scalar> {
    hermitian: bool,
    part: u32,
    operation: u32,
    size: (i64, i64),
    alpha: Param<A>,
    a: (*const T, i64),
    b: (*const T, i64),
    beta: Param<B>,
    c: (*mut T, i64),
    /// The product with exchanged factors is added too.
    both: bool,
}

fn submit_update<T: Scalar, A: Scalar, B: Scalar>(
    call: Call,
    given: Update<T, A, B>,
    of_alpha: fn(A) -> T,
    of_beta: fn(B) -> T,
) -> Outcome {
    let Update { hermitian, both, alpha, beta, .. } = given;
    let (n, k) = (size(given.size.0)?, size(given.size.1)?);
    let mut operation = as_operation(given.operation)?;
    if !is_complex::<T>() && operation == Operation::ConjugateTransposed {
        operation = Operation::Transposed;
    }
    let stored = operation.stored(n, k);
    let (a, b) = ((given.a.0, leading(given.a.1, stored.0)?), (given.b.0, leading(given.b.1, stored.0)?));
    let c = Stored::triangle(given.c.0, Part::triangle(given.part)?, n, leading(given.c.1, n)?);
    let (first, second) = by_transpose(operation, hermitian, a, b).ok_or(Status::INVALID_VALUE)?;
    let (third, fourth) = by_transpose(operation, hermitian, b, a).ok_or(Status::INVALID_VALUE)?;
    if n == 0 {
        return Ok(());
    }
    let touched = move |touches: &mut Touches| {
        alpha.touch(touches);
        beta.touch(touches);
        if !alpha.is_zero() && k != 0 {
            touch_dense(touches, a.0, stored, a.1, false);
            if a.0 != b.0 {
                touch_dense(touches, b.0, stored, b.1, false);
            }
        }
        touches.stored(c, false, true);
    };
    // SAFETY: the runtime has checked the memory.
    call.submit(touched, move || unsafe {
        let (alpha, beta) = (of_alpha(alpha.get()), of_beta(beta.get()));
        let terms = [(alpha, first, second), (alpha.conj_if(hermitian), third, fourth)];
        update_triangle(k, &terms[..1 + usize::from(both)], beta, c, hermitian);
    })
}

blas! {
    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "symm" "_v2" (call; side: u32, uplo: u32, m: Int, n: Int, alpha: *const T, a: *const T, lda: Int, b: *const T, ldb: Int, beta: *const T, c: *mut T, ldc: Int) {
        submit_symm(call, false, (side, uplo), (m, n), (alpha, beta), (a, lda), (b, ldb), (c, ldc))
    }

    "" ["C" Complex32, "Z" Complex64] "hemm" "_v2" (call; side: u32, uplo: u32, m: Int, n: Int, alpha: *const T, a: *const T, lda: Int, b: *const T, ldb: Int, beta: *const T, c: *mut T, ldc: Int) {
        submit_symm(call, true, (side, uplo), (m, n), (alpha, beta), (a, lda), (b, ldb), (c, ldc))
    }

    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "trmm" "_v2" (call; side: u32, uplo: u32, trans: u32, diag: u32, m: Int, n: Int, alpha: *const T, a: *const T, lda: Int, b: *const T, ldb: Int, c: *mut T, ldc: Int) {
        let (used, a) = triangle([side, uplo, trans, diag], (m, n), (a, lda))?;
        let TriangleUse { left, operation, unit, size: (m, n) } = used;
        let (ldb, ldc) = (leading(ldb, m)?, leading(ldc, m)?);
        let alpha = call.param(alpha)?;
        if m == 0 || n == 0 {
            return Ok(());
        }
        let touched = move |touches: &mut Touches| {
            alpha.touch(touches);
            if !alpha.is_zero() {
                touches.stored(a, unit, false);
                touch_dense(touches, b, (m, n), ldb, false);
            }
            touch_dense(touches, c.cast_const(), (m, n), ldc, true);
        };
        // SAFETY: the runtime has checked the memory.
        call.submit(touched, move || unsafe {
            trmm((left, operation, unit), (m, n), alpha.get(), a, Factor::plain(b, ldb), (c, ldc));
        })
    }

    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "trsm" "_v2" (call; side: u32, uplo: u32, trans: u32, diag: u32, m: Int, n: Int, alpha: *const T, a: *const T, lda: Int, b: *mut T, ldb: Int) {
        let (used, a) = triangle([side, uplo, trans, diag], (m, n), (a, lda))?;
        let TriangleUse { left, operation, unit, size: (m, n) } = used;
        let ldb = leading(ldb, m)?;
        let alpha = call.param(alpha)?;
        if m == 0 || n == 0 {
            return Ok(());
        }
        let touched = move |touches: &mut Touches| {
            alpha.touch(touches);
            if !alpha.is_zero() {
                touches.stored(a, unit, false);
            }
            touch_dense(touches, b.cast_const(), (m, n), ldb, true);
        };
        // SAFETY: the runtime has checked the memory.
        call.submit(touched, move || unsafe { trsm((left, operation, unit), (m, n), alpha.get(), a, (b, ldb)) })
    }

    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "trsmBatched" "" (call; side: u32, uplo: u32, trans: u32, diag: u32, m: Int, n: Int, alpha: *const T, a: *const *const T, lda: Int, b: *const *mut T, ldb: Int, count: Int) {
        let (used, shape) = triangle([side, uplo, trans, diag], (m, n), (std::ptr::null::<T>(), lda))?;
        let TriangleUse { left, operation, unit, size: (m, n) } = used;
        let (ldb, count) = (leading(ldb, m)?, size(count)?);
        let alpha = call.param(alpha)?;
        if m == 0 || n == 0 {
            return Ok(());
        }
        let touched = move |touches: &mut Touches| {
            alpha.touch(touches);
            let a = touches.addresses::<T>(a.cast(), count);
            for (a, b) in a.into_iter().zip(touches.addresses(b, count)) {
                touches.stored(Stored { start: a, ..shape }, unit, false);
                touch_dense(touches, b.cast_const(), (m, n), ldb, true);
            }
        };
        // SAFETY: the runtime has checked the memory.
        call.submit(touched, move || unsafe {
            for i in 0..count {
                let matrix = Stored { start: a.add(i).read_unaligned().cast_mut(), ..shape };
                trsm((left, operation, unit), (m, n), alpha.get(), matrix, (b.add(i).read_unaligned(), ldb));
            }
        })
    }

    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "syrk" "_v2" (call; uplo: u32, trans: u32, n: Int, k: Int, alpha: *const T, a: *const T, lda: Int, beta: *const T, c: *mut T, ldc: Int) {
        let (alpha, beta) = (call.param(alpha)?, call.param(beta)?);
        submit_update(call, Update { hermitian: false, part: uplo, operation: trans, size: (n, k), alpha, a: (a, lda), b: (a, lda), beta, c: (c, ldc), both: false }, same, same)
    }

    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "syrkx" "" (call; uplo: u32, trans: u32, n: Int, k: Int, alpha: *const T, a: *const T, lda: Int, b: *const T, ldb: Int, beta: *const T, c: *mut T, ldc: Int) {
        let (alpha, beta) = (call.param(alpha)?, call.param(beta)?);
        submit_update(call, Update { hermitian: false, part: uplo, operation: trans, size: (n, k), alpha, a: (a, lda), b: (b, ldb), beta, c: (c, ldc), both: false }, same, same)
    }

    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "syr2k" "_v2" (call; uplo: u32, trans: u32, n: Int, k: Int, alpha: *const T, a: *const T, lda: Int, b: *const T, ldb: Int, beta: *const T, c: *mut T, ldc: Int) {
        let (alpha, beta) = (call.param(alpha)?, call.param(beta)?);
        submit_update(call, Update { hermitian: false, part: uplo, operation: trans, size: (n, k), alpha, a: (a, lda), b: (b, ldb), beta, c: (c, ldc), both: true }, same, same)
    }

    "" ["C" Complex32, "Z" Complex64] "herk" "_v2" (call; uplo: u32, trans: u32, n: Int, k: Int, alpha: *const R, a: *const T, lda: Int, beta: *const R, c: *mut T, ldc: Int) {
        let (alpha, beta) = (call.param(alpha)?, call.param(beta)?);
        submit_update(call, Update { hermitian: true, part: uplo, operation: trans, size: (n, k), alpha, a: (a, lda), b: (a, lda), beta, c: (c, ldc), both: false }, T::of_real, T::of_real)
    }

    "" ["C" Complex32, "Z" Complex64] "herkx" "" (call; uplo: u32, trans: u32, n: Int, k: Int, alpha: *const T, a: *const T, lda: Int, b: *const T, ldb: Int, beta: *const R, c: *mut T, ldc: Int) {
        let (alpha, beta) = (call.param(alpha)?, call.param(beta)?);
        submit_update(call, Update { hermitian: true, part: uplo, operation: trans, size: (n, k), alpha, a: (a, lda), b: (b, ldb), beta, c: (c, ldc), both: false }, same, T::of_real)
    }

    "" ["C" Complex32, "Z" Complex64] "her2k" "_v2" (call; uplo: u32, trans: u32, n: Int, k: Int, alpha: *const T, a: *const T, lda: Int, b: *const T, ldb: Int, beta: *const R, c: *mut T, ldc: Int) {
        let (alpha, beta) = (call.param(alpha)?, call.param(beta)?);
        submit_update(call, Update { hermitian: true, part: uplo, operation: trans, size: (n, k), alpha, a: (a, lda), b: (b, ldb), beta, c: (c, ldc), both: true }, same, T::of_real)
    }

    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "dgmm" "" (call; side: u32, m: Int, n: Int, a: *const T, lda: Int, x: *const T, incx: Int, c: *mut T, ldc: Int) {
        let (left, (m, n), order) = sides(side, m, n)?;
        let (lda, ldc) = (leading(lda, m)?, leading(ldc, m)?);
        valid(a != c.cast_const() || lda == ldc)?;
        // A distance of 0 stands for the same element throughout.
        let (length, distance) = if incx == 0 { (1, 1) } else { (order, incx) };
        let x = Vector::read(x, length, distance as isize);
        if m == 0 || n == 0 {
            return Ok(());
        }
        let touched = move |touches: &mut Touches| {
            touch_dense(touches, a, (m, n), lda, false);
            touches.vector(x, false);
            touch_dense(touches, c.cast_const(), (m, n), ldc, true);
        };
        // SAFETY: the runtime has checked the memory.
        call.submit(touched, move || unsafe {
            for (i, j) in (0..n).flat_map(|j| (0..m).map(move |i| (i, j))) {
                let at = if left { i } else { j };
                let factor = x.get(if length == 1 { 0 } else { at });
                c.add(j * ldc + i).write_unaligned(a.add(j * lda + i).read_unaligned() * factor);
            }
        })
    }
}
