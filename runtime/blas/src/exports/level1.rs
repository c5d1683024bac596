//! Level 1: vectors.

use crate::call::{Call, Param};
use crate::exports::{IndexPlace, Int, IntResult, blas};
use crate::numeric::vectors;
use crate::scalar::{Complex32, Complex64, Scalar};
use crate::status::{Outcome, Status, size, step, valid};
use crate::stored::Vector;
use crate::touched::Touches;

/// A vector parameter. Sizes that BLAS takes for empty are empty.
///
/// # Errors
/// `CUBLAS_STATUS_INVALID_VALUE` for a distance of 0.
pub fn vector<T: Copy>(start: *const T, n: i64, distance: i64) -> Outcome<Vector<T>> {
    Ok(Vector::read(start, size(n.max(0))?, step(distance)?))
}

/// A vector of a function that takes any distance below 1 for an empty vector.
fn forward<T: Copy>(start: *const T, n: i64, distance: i64) -> Outcome<Vector<T>> {
    vector(start, if distance <= 0 { 0 } else { n }, distance.max(1))
}

/// Two vectors. An `x` with a distance of 0 is one element, again and again.
fn pair<T: Copy>(n: i64, x: (*const T, i64), y: (*const T, i64)) -> Outcome<(Vector<T>, Vector<T>)> {
    Ok((vector(x.0, n, x.1)?, vector(y.0, n, y.1)?))
}

fn submit_extreme<T: Scalar>(call: Call, x: Vector<T>, to: IndexPlace, largest: bool) -> Outcome {
    let touched = move |touches: &mut Touches| touches.vector(x, false);
    // SAFETY: the runtime has checked the memory.
    let find = move || unsafe { vectors::extreme(x, largest) };
    match to {
        IndexPlace::Narrow(to) => call.submit_with_result(to, touched, move || find() as i32),
        IndexPlace::Wide(to) => call.submit_with_result(to, touched, move || find() as i64),
    }
}

fn submit_dot<T: Scalar>(call: Call, (x, y): (Vector<T>, Vector<T>), conj: bool, to: *mut T) -> Outcome {
    let touched = move |touches: &mut Touches| {
        touches.vector(x, false);
        touches.vector(y, false);
    };
    // SAFETY: the runtime has checked the memory.
    call.submit_with_result(to, touched, move || unsafe { vectors::dot(x, y, conj) })
}

/// `alpha * x`, where `alpha` may be real.
fn submit_scal<A: Scalar, T: Scalar>(
    call: Call,
    alpha: *const A,
    x: Vector<T>,
    convert: fn(A) -> T,
) -> Outcome {
    let alpha = call.param(alpha)?;
    if x.n == 0 {
        return Ok(());
    }
    let touched = move |touches: &mut Touches| {
        alpha.touch(touches);
        touches.vector(x, true);
    };
    // SAFETY: the runtime has checked the memory.
    call.submit(touched, move || unsafe { vectors::scal(convert(alpha.get()), x) })
}

fn submit_rot<S: Scalar, T: Scalar>(
    call: Call,
    (x, y): (Vector<T>, Vector<T>),
    (c, s): (*const T::Real, *const S),
    convert: fn(S) -> T,
) -> Outcome {
    let (c, s): (Param<T::Real>, Param<S>) = (call.param(c)?, call.param(s)?);
    if x.n == 0 {
        return Ok(());
    }
    let touched = move |touches: &mut Touches| {
        c.touch(touches);
        s.touch(touches);
        touches.vector(x, true);
        touches.vector(y, true);
    };
    // SAFETY: the runtime has checked the memory.
    call.submit(touched, move || unsafe { vectors::rot(x, y, c.get(), convert(s.get())) })
}

/// Submits work on numbers that are passed by address and changed. They are on the host or on the device.
fn submit_on_numbers<const N: usize>(
    call: Call,
    numbers: [(*const u8, usize); N],
    run: impl Fn() + 'static,
) -> Outcome {
    valid(numbers.iter().all(|(at, _)| !at.is_null()))?;
    if !call.scalars_on_device() {
        run();
        return Ok(());
    }
    let touched = move |touches: &mut Touches| {
        for (at, bytes) in numbers {
            touches.elements(at, bytes, true);
        }
    };
    call.submit(touched, run)
}

blas! {
    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "axpy" "_v2" (call; n: Int, alpha: *const T, x: *const T, incx: Int, y: *mut T, incy: Int) {
        let alpha = call.param(alpha)?;
        let (x, y) = pair(n, (x, incx), (y, incy))?;
        if x.n == 0 {
            return Ok(());
        }
        let touched = move |touches: &mut Touches| {
            alpha.touch(touches);
            if !alpha.is_zero() {
                touches.vector(x, false);
                touches.vector(y, true);
            }
        };
        // SAFETY: the runtime has checked the memory.
        call.submit(touched, move || unsafe { vectors::axpy(alpha.get(), x, y) })
    }

    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "scal" "_v2" (call; n: Int, alpha: *const T, x: *mut T, incx: Int) {
        submit_scal(call, alpha, forward(x, n, incx)?, |alpha: T| alpha)
    }

    "" ["Cs" Complex32, "Zd" Complex64] "scal" "_v2" (call; n: Int, alpha: *const R, x: *mut T, incx: Int) {
        submit_scal(call, alpha, forward(x, n, incx)?, T::of_real)
    }

    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "copy" "_v2" (call; n: Int, x: *const T, incx: Int, y: *mut T, incy: Int) {
        let (x, y) = pair(n, (x, incx), (y, incy))?;
        if x.n == 0 {
            return Ok(());
        }
        let touched = move |touches: &mut Touches| {
            touches.vector(x, false);
            touches.vector(y, true);
        };
        // SAFETY: the runtime has checked the memory.
        call.submit(touched, move || unsafe { vectors::copy(x, y) })
    }

    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "swap" "_v2" (call; n: Int, x: *mut T, incx: Int, y: *mut T, incy: Int) {
        let (x, y) = pair::<T>(n, (x, incx), (y, incy))?;
        if x.n == 0 {
            return Ok(());
        }
        let touched = move |touches: &mut Touches| {
            touches.vector(x, true);
            touches.vector(y, true);
        };
        // SAFETY: the runtime has checked the memory.
        call.submit(touched, move || unsafe { vectors::swap(x, y) })
    }

    "" ["S" f32, "D" f64] "dot" "_v2" (call; n: Int, x: *const T, incx: Int, y: *const T, incy: Int, result: *mut T) {
        submit_dot(call, pair(n, (x, incx), (y, incy))?, false, result)
    }

    "" ["C" Complex32, "Z" Complex64] "dotu" "_v2" (call; n: Int, x: *const T, incx: Int, y: *const T, incy: Int, result: *mut T) {
        submit_dot(call, pair(n, (x, incx), (y, incy))?, false, result)
    }

    "" ["C" Complex32, "Z" Complex64] "dotc" "_v2" (call; n: Int, x: *const T, incx: Int, y: *const T, incy: Int, result: *mut T) {
        submit_dot(call, pair(n, (x, incx), (y, incy))?, true, result)
    }

    "" ["S" f32, "D" f64, "Sc" Complex32, "Dz" Complex64] "nrm2" "_v2" (call; n: Int, x: *const T, incx: Int, result: *mut R) {
        let x = forward(x, n, incx)?;
        // SAFETY: the runtime has checked the memory.
        call.submit_with_result(result, move |touches| touches.vector(x, false), move || unsafe { vectors::nrm2(x) })
    }

    "" ["S" f32, "D" f64, "Sc" Complex32, "Dz" Complex64] "asum" "_v2" (call; n: Int, x: *const T, incx: Int, result: *mut R) {
        let x = forward(x, n, incx)?;
        // SAFETY: the runtime has checked the memory.
        call.submit_with_result(result, move |touches| touches.vector(x, false), move || unsafe { vectors::asum(x) })
    }

    "I" ["s" f32, "d" f64, "c" Complex32, "z" Complex64] "amax" "_v2" (call; n: Int, x: *const T, incx: Int, result: IntResult) {
        submit_extreme(call, forward(x, n, incx)?, result, true)
    }

    "I" ["s" f32, "d" f64, "c" Complex32, "z" Complex64] "amin" "_v2" (call; n: Int, x: *const T, incx: Int, result: IntResult) {
        submit_extreme(call, forward(x, n, incx)?, result, false)
    }

    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "rot" "_v2" (call; n: Int, x: *mut T, incx: Int, y: *mut T, incy: Int, c: *const R, s: *const T) {
        submit_rot(call, pair::<T>(n, (x, incx), (y, incy))?, (c, s), |s: T| s)
    }

    "" ["Cs" Complex32, "Zd" Complex64] "rot" "_v2" (call; n: Int, x: *mut T, incx: Int, y: *mut T, incy: Int, c: *const R, s: *const R) {
        submit_rot(call, pair::<T>(n, (x, incx), (y, incy))?, (c, s), T::of_real)
    }

    "" ["S" f32, "D" f64] "rotm" "_v2" (call; n: Int, x: *mut T, incx: Int, y: *mut T, incy: Int, parameters: *const T) {
        let parameters: Param<[T; 5]> = call.param(parameters.cast())?;
        let (x, y) = pair::<T>(n, (x, incx), (y, incy))?;
        let touched = move |touches: &mut Touches| {
            parameters.touch(touches);
            touches.vector(x, true);
            touches.vector(y, true);
        };
        // SAFETY: the runtime has checked the memory.
        call.submit(touched, move || unsafe { vectors::rotm(x, y, parameters.get()) })
    }

    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "rotg" "_v2" (call; a: *mut T, b: *mut T, c: *mut R, s: *mut T) {
        let (part, whole) = (size_of::<R>(), size_of::<T>());
        let numbers = [(a.cast_const().cast(), whole), (b.cast_const().cast(), whole), (c.cast_const().cast(), part), (s.cast_const().cast(), whole)];
        // SAFETY: the program's pointers, or memory that the runtime has checked.
        submit_on_numbers(call, numbers, move || unsafe {
            let (r, z, cosine, sine) = vectors::rotg(a.read_unaligned(), b.read_unaligned());
            a.write_unaligned(r);
            if whole == part {
                b.write_unaligned(z);
            }
            c.write_unaligned(cosine);
            s.write_unaligned(sine);
        })
    }

    "" ["S" f32, "D" f64] "rotmg" "_v2" (call; _d1: *mut T, _d2: *mut T, _x1: *mut T, _y1: *const T, _parameters: *mut T) {
        Err::<(), Status>(call.refuse("not supported by gpurace's cuBLAS"))
    }
}
