//! Level 2: a matrix, however it is stored, and vectors.

use crate::call::{Call, Param};
use crate::exports::level1::vector;
use crate::exports::{Int, blas};
use crate::numeric::triangles;
use crate::scalar::{Complex32, Complex64, Scalar};
use crate::status::{Operation, Outcome, Part, as_operation, is_unit, leading, size, valid};
use crate::stored::{Layout, Stored, Vector};
use crate::touched::Touches;

/// A vector of `n` elements.
fn of_length<T: Copy>(start: *const T, n: usize, distance: i64) -> Outcome<Vector<T>> {
    vector(start, n as i64, distance)
}

/// `y = alpha * op(a) * x + beta * y`
fn multiply<T: Scalar>(
    call: Call,
    operation: Operation,
    alpha: *const T,
    a: Stored<T>,
    (x, incx): (*const T, i64),
    beta: *const T,
    (y, incy): (*mut T, i64),
) -> Outcome {
    let (length_y, length_x) = operation.stored(a.m, a.n);
    let (x, y) = (of_length(x, length_x, incx)?, of_length(y, length_y, incy)?);
    affine(call, alpha, a, x, beta, y, move |alpha, beta| {
        // SAFETY: the runtime has checked the memory.
        unsafe { triangles::multiply(operation, alpha, a, x, beta, y) };
    })
}

/// `y = alpha * a * x + beta * y` for a symmetric or Hermitian matrix.
fn multiply_symmetric<T: Scalar>(
    call: Call,
    hermitian: bool,
    alpha: *const T,
    a: Stored<T>,
    (x, incx): (*const T, i64),
    beta: *const T,
    (y, incy): (*mut T, i64),
) -> Outcome {
    let (x, y) = (of_length(x, a.n, incx)?, of_length(y, a.n, incy)?);
    affine(call, alpha, a, x, beta, y, move |alpha, beta| {
        // SAFETY: the runtime has checked the memory.
        unsafe { triangles::multiply_symmetric(hermitian, alpha, a, x, beta, y) };
    })
}

fn affine<T: Scalar>(
    call: Call,
    alpha: *const T,
    a: Stored<T>,
    x: Vector<T>,
    beta: *const T,
    y: Vector<T>,
    run: impl Fn(T, T) + 'static,
) -> Outcome {
    let (alpha, beta) = (call.param(alpha)?, call.param(beta)?);
    if a.m == 0 || a.n == 0 {
        return Ok(());
    }
    let touched = move |touches: &mut Touches| {
        alpha.touch(touches);
        beta.touch(touches);
        if !alpha.is_zero() {
            touches.stored(a, false, false);
            touches.vector(x, false);
        }
        touches.vector(y, true);
    };
    // SAFETY: the runtime has checked the memory.
    call.submit(touched, move || unsafe { run(alpha.get(), beta.get()) })
}

/// A function on a triangle and a vector: parameters `trans` and `diag`.
fn triangular<T: Scalar>(
    call: Call,
    (operation, diagonal): (u32, u32),
    a: Stored<T>,
    (x, incx): (*mut T, i64),
    run: unsafe fn(Operation, bool, Stored<T>, Vector<T>),
) -> Outcome {
    let (operation, unit) = (as_operation(operation)?, is_unit(diagonal)?);
    let x = of_length(x, a.n, incx)?;
    if a.n == 0 {
        return Ok(());
    }
    let touched = move |touches: &mut Touches| {
        touches.stored(a, unit, false);
        touches.vector(x, true);
    };
    // SAFETY: the runtime has checked the memory.
    call.submit(touched, move || unsafe { run(operation, unit, a, x) })
}

/// Adds products of vectors to the stored part of `a`.
fn update<A: Scalar, T: Scalar>(
    call: Call,
    alpha: *const A,
    vectors: [Vector<T>; 2],
    a: Stored<T>,
    run: impl Fn(A) + 'static,
) -> Outcome {
    let alpha: Param<A> = call.param(alpha)?;
    if a.m == 0 || a.n == 0 {
        return Ok(());
    }
    let touched = move |touches: &mut Touches| {
        alpha.touch(touches);
        if !alpha.is_zero() {
            touches.vector(vectors[0], false);
            if vectors[1].start != vectors[0].start {
                touches.vector(vectors[1], false);
            }
            touches.stored(a, false, true);
        }
    };
    // SAFETY: the runtime has checked the memory.
    call.submit(touched, move || unsafe { run(alpha.get()) })
}

/// `a += alpha * x * y`, with `y` conjugated on demand.
fn rank_1<T: Scalar>(
    call: Call,
    alpha: *const T,
    (x, incx): (*const T, i64),
    (y, incy): (*const T, i64),
    conj: bool,
    a: Stored<T>,
) -> Outcome {
    let (x, y) = (of_length(x, a.m, incx)?, of_length(y, a.n, incy)?);
    update(call, alpha, [x, y], a, move |alpha| {
        // SAFETY: the runtime has checked the memory.
        unsafe { triangles::add_product(alpha, x, y, conj, a) };
    })
}

/// `a += alpha * x * conj(x)` for a triangle of a Hermitian matrix.
fn hermitian_rank_1<T: Scalar>(
    call: Call,
    alpha: *const T::Real,
    (x, incx): (*const T, i64),
    a: Stored<T>,
) -> Outcome {
    let x = of_length(x, a.n, incx)?;
    update(call, alpha, [x, x], a, move |alpha| {
        if alpha == T::Real::ZERO {
            return;
        }
        // SAFETY: the runtime has checked the memory.
        unsafe {
            triangles::add_product(T::of_real(alpha), x, x, true, a);
            triangles::make_diagonal_real(a);
        }
    })
}

/// `a += alpha * x * y + alpha * y * x` for a triangle, with conjugates for a Hermitian matrix.
fn rank_2<T: Scalar>(
    call: Call,
    hermitian: bool,
    alpha: *const T,
    (x, incx): (*const T, i64),
    (y, incy): (*const T, i64),
    a: Stored<T>,
) -> Outcome {
    let (x, y) = (of_length(x, a.n, incx)?, of_length(y, a.n, incy)?);
    update(call, alpha, [x, y], a, move |alpha| {
        if alpha == T::ZERO {
            return;
        }
        // SAFETY: the runtime has checked the memory.
        unsafe {
            triangles::add_product(alpha, x, y, hermitian, a);
            triangles::add_product(alpha.conj_if(hermitian), y, x, hermitian, a);
            if hermitian {
                triangles::make_diagonal_real(a);
            }
        }
    })
}

/// A triangle in columns.
fn triangle<T: Copy>(part: u32, n: i64, (a, lda): (*const T, i64)) -> Outcome<Stored<T>> {
    let (part, n) = (Part::triangle(part)?, size(n)?);
    Ok(Stored::triangle(a, part, n, leading(lda, n)?))
}

/// A triangle without gaps.
fn packed<T: Copy>(part: u32, n: i64, a: *const T) -> Outcome<Stored<T>> {
    Ok(Stored::packed(a, Part::triangle(part)?, size(n)?))
}

/// A triangle of a band matrix.
fn band<T: Copy>(part: u32, n: i64, beside: i64, (a, lda): (*const T, i64)) -> Outcome<Stored<T>> {
    let (part, n, beside) = (Part::triangle(part)?, size(n)?, size(beside)?);
    Ok(Stored::band(a, part, n, beside, leading(lda, beside + 1)?))
}

blas! {
    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "gemv" "_v2" (call; trans: u32, m: Int, n: Int, alpha: *const T, a: *const T, lda: Int, x: *const T, incx: Int, beta: *const T, y: *mut T, incy: Int) {
        let (m, n) = (size(m)?, size(n)?);
        let a = Stored::dense(a, m, n, leading(lda, m)?);
        multiply(call, as_operation(trans)?, alpha, a, (x, incx), beta, (y, incy))
    }

    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "gbmv" "_v2" (call; trans: u32, m: Int, n: Int, kl: Int, ku: Int, alpha: *const T, a: *const T, lda: Int, x: *const T, incx: Int, beta: *const T, y: *mut T, incy: Int) {
        let (m, n, below, above) = (size(m)?, size(n)?, size(kl)?, size(ku)?);
        let layout = Layout::Band { below, above, leading: leading(lda, below + above + 1)? };
        let a = Stored { start: a.cast_mut(), m, n, part: Part::Whole, layout };
        multiply(call, as_operation(trans)?, alpha, a, (x, incx), beta, (y, incy))
    }

    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "symv" "_v2" (call; uplo: u32, n: Int, alpha: *const T, a: *const T, lda: Int, x: *const T, incx: Int, beta: *const T, y: *mut T, incy: Int) {
        multiply_symmetric(call, false, alpha, triangle(uplo, n, (a, lda))?, (x, incx), beta, (y, incy))
    }

    "" ["C" Complex32, "Z" Complex64] "hemv" "_v2" (call; uplo: u32, n: Int, alpha: *const T, a: *const T, lda: Int, x: *const T, incx: Int, beta: *const T, y: *mut T, incy: Int) {
        multiply_symmetric(call, true, alpha, triangle(uplo, n, (a, lda))?, (x, incx), beta, (y, incy))
    }

    "" ["S" f32, "D" f64] "sbmv" "_v2" (call; uplo: u32, n: Int, k: Int, alpha: *const T, a: *const T, lda: Int, x: *const T, incx: Int, beta: *const T, y: *mut T, incy: Int) {
        multiply_symmetric(call, false, alpha, band(uplo, n, k, (a, lda))?, (x, incx), beta, (y, incy))
    }

    "" ["C" Complex32, "Z" Complex64] "hbmv" "_v2" (call; uplo: u32, n: Int, k: Int, alpha: *const T, a: *const T, lda: Int, x: *const T, incx: Int, beta: *const T, y: *mut T, incy: Int) {
        multiply_symmetric(call, true, alpha, band(uplo, n, k, (a, lda))?, (x, incx), beta, (y, incy))
    }

    "" ["S" f32, "D" f64] "spmv" "_v2" (call; uplo: u32, n: Int, alpha: *const T, a: *const T, x: *const T, incx: Int, beta: *const T, y: *mut T, incy: Int) {
        multiply_symmetric(call, false, alpha, packed(uplo, n, a)?, (x, incx), beta, (y, incy))
    }

    "" ["C" Complex32, "Z" Complex64] "hpmv" "_v2" (call; uplo: u32, n: Int, alpha: *const T, a: *const T, x: *const T, incx: Int, beta: *const T, y: *mut T, incy: Int) {
        multiply_symmetric(call, true, alpha, packed(uplo, n, a)?, (x, incx), beta, (y, incy))
    }

    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "trmv" "_v2" (call; uplo: u32, trans: u32, diag: u32, n: Int, a: *const T, lda: Int, x: *mut T, incx: Int) {
        triangular(call, (trans, diag), triangle(uplo, n, (a, lda))?, (x, incx), triangles::multiply_triangle)
    }

    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "trsv" "_v2" (call; uplo: u32, trans: u32, diag: u32, n: Int, a: *const T, lda: Int, x: *mut T, incx: Int) {
        triangular(call, (trans, diag), triangle(uplo, n, (a, lda))?, (x, incx), triangles::solve_triangle)
    }

    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "tbmv" "_v2" (call; uplo: u32, trans: u32, diag: u32, n: Int, k: Int, a: *const T, lda: Int, x: *mut T, incx: Int) {
        triangular(call, (trans, diag), band(uplo, n, k, (a, lda))?, (x, incx), triangles::multiply_triangle)
    }

    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "tbsv" "_v2" (call; uplo: u32, trans: u32, diag: u32, n: Int, k: Int, a: *const T, lda: Int, x: *mut T, incx: Int) {
        triangular(call, (trans, diag), band(uplo, n, k, (a, lda))?, (x, incx), triangles::solve_triangle)
    }

    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "tpmv" "_v2" (call; uplo: u32, trans: u32, diag: u32, n: Int, a: *const T, x: *mut T, incx: Int) {
        triangular(call, (trans, diag), packed(uplo, n, a)?, (x, incx), triangles::multiply_triangle)
    }

    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "tpsv" "_v2" (call; uplo: u32, trans: u32, diag: u32, n: Int, a: *const T, x: *mut T, incx: Int) {
        triangular(call, (trans, diag), packed(uplo, n, a)?, (x, incx), triangles::solve_triangle)
    }

    "" ["S" f32, "D" f64] "ger" "_v2" (call; m: Int, n: Int, alpha: *const T, x: *const T, incx: Int, y: *const T, incy: Int, a: *mut T, lda: Int) {
        let (m, n) = (size(m)?, size(n)?);
        rank_1(call, alpha, (x, incx), (y, incy), false, Stored::dense(a, m, n, leading(lda, m)?))
    }

    "" ["C" Complex32, "Z" Complex64] "geru" "_v2" (call; m: Int, n: Int, alpha: *const T, x: *const T, incx: Int, y: *const T, incy: Int, a: *mut T, lda: Int) {
        let (m, n) = (size(m)?, size(n)?);
        rank_1(call, alpha, (x, incx), (y, incy), false, Stored::dense(a, m, n, leading(lda, m)?))
    }

    "" ["C" Complex32, "Z" Complex64] "gerc" "_v2" (call; m: Int, n: Int, alpha: *const T, x: *const T, incx: Int, y: *const T, incy: Int, a: *mut T, lda: Int) {
        let (m, n) = (size(m)?, size(n)?);
        rank_1(call, alpha, (x, incx), (y, incy), true, Stored::dense(a, m, n, leading(lda, m)?))
    }

    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "syr" "_v2" (call; uplo: u32, n: Int, alpha: *const T, x: *const T, incx: Int, a: *mut T, lda: Int) {
        rank_1(call, alpha, (x, incx), (x, incx), false, triangle(uplo, n, (a, lda))?)
    }

    "" ["C" Complex32, "Z" Complex64] "her" "_v2" (call; uplo: u32, n: Int, alpha: *const R, x: *const T, incx: Int, a: *mut T, lda: Int) {
        hermitian_rank_1(call, alpha, (x, incx), triangle(uplo, n, (a, lda))?)
    }

    "" ["S" f32, "D" f64] "spr" "_v2" (call; uplo: u32, n: Int, alpha: *const T, x: *const T, incx: Int, a: *mut T) {
        rank_1(call, alpha, (x, incx), (x, incx), false, packed(uplo, n, a)?)
    }

    "" ["C" Complex32, "Z" Complex64] "hpr" "_v2" (call; uplo: u32, n: Int, alpha: *const R, x: *const T, incx: Int, a: *mut T) {
        hermitian_rank_1(call, alpha, (x, incx), packed(uplo, n, a)?)
    }

    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "syr2" "_v2" (call; uplo: u32, n: Int, alpha: *const T, x: *const T, incx: Int, y: *const T, incy: Int, a: *mut T, lda: Int) {
        rank_2(call, false, alpha, (x, incx), (y, incy), triangle(uplo, n, (a, lda))?)
    }

    "" ["C" Complex32, "Z" Complex64] "her2" "_v2" (call; uplo: u32, n: Int, alpha: *const T, x: *const T, incx: Int, y: *const T, incy: Int, a: *mut T, lda: Int) {
        rank_2(call, true, alpha, (x, incx), (y, incy), triangle(uplo, n, (a, lda))?)
    }

    "" ["S" f32, "D" f64] "spr2" "_v2" (call; uplo: u32, n: Int, alpha: *const T, x: *const T, incx: Int, y: *const T, incy: Int, a: *mut T) {
        rank_2(call, false, alpha, (x, incx), (y, incy), packed(uplo, n, a)?)
    }

    "" ["C" Complex32, "Z" Complex64] "hpr2" "_v2" (call; uplo: u32, n: Int, alpha: *const T, x: *const T, incx: Int, y: *const T, incy: Int, a: *mut T) {
        rank_2(call, true, alpha, (x, incx), (y, incy), packed(uplo, n, a)?)
    }

    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "gemvStridedBatched" "" (call; trans: u32, m: Int, n: Int, alpha: *const T, a: *const T, lda: Int, stride_a: i64, x: *const T, incx: Int, stride_x: i64, beta: *const T, y: *mut T, incy: Int, stride_y: i64, count: Int) {
        let (m, n) = (size(m)?, size(n)?);
        let (lda, operation) = (leading(lda, m)?, as_operation(trans)?);
        for i in 0..count {
            let at = |stride: i64| i.checked_mul(stride).and_then(|at| isize::try_from(at).ok()).unwrap_or(isize::MAX);
            let a = Stored::dense(a.wrapping_offset(at(stride_a)), m, n, lda);
            let (x, y) = (x.wrapping_offset(at(stride_x)), y.wrapping_offset(at(stride_y)));
            multiply(call, operation, alpha, a, (x, incx), beta, (y, incy))?;
        }
        valid(count >= 0)
    }

    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "gemvBatched" "" (call; trans: u32, m: Int, n: Int, alpha: *const T, a: *const *const T, lda: Int, x: *const *const T, incx: Int, beta: *const T, y: *const *mut T, incy: Int, count: Int) {
        let (m, n, count) = (size(m)?, size(n)?, size(count)?);
        let (lda, operation) = (leading(lda, m)?, as_operation(trans)?);
        let (alpha, beta) = (call.param(alpha)?, call.param(beta)?);
        let (length_y, length_x) = operation.stored(m, n);
        let (step_x, step_y) = (of_length(std::ptr::null::<T>(), length_x, incx)?, of_length(std::ptr::null::<T>(), length_y, incy)?);
        if m == 0 || n == 0 {
            return Ok(());
        }
        let touched = move |touches: &mut Touches| {
            alpha.touch(touches);
            beta.touch(touches);
            let (a, x) = (touches.addresses::<T>(a.cast(), count), touches.addresses::<T>(x.cast(), count));
            for ((a, x), y) in a.into_iter().zip(x).zip(touches.addresses(y, count)) {
                touches.stored(Stored::dense(a.cast_const(), m, n, lda), false, false);
                touches.vector(Vector { start: x, ..step_x }, false);
                touches.vector(Vector { start: y, ..step_y }, true);
            }
        };
        // SAFETY: the runtime has checked the memory.
        call.submit(touched, move || unsafe {
            for i in 0..count {
                let matrix = Stored::dense(a.add(i).read_unaligned(), m, n, lda);
                let x = Vector { start: x.add(i).read_unaligned().cast_mut(), ..step_x };
                let y = Vector { start: y.add(i).read_unaligned(), ..step_y };
                triangles::multiply(operation, alpha.get(), matrix, x, beta.get(), y);
            }
        })
    }
}
