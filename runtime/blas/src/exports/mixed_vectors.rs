//! Functions on vectors whose elements' types are parameters (`Ex`). They compute in double precision and round once.

use std::ffi::c_void;

use half::{bf16, f16};

use crate::call::Call;
use crate::exports::mixed::MixedScalar;
use crate::exports::{IndexPlace, Int, IntResult, blas};
use crate::numeric::mixed::{Computed, ElementType, MixedMatrix};
use crate::numeric::vectors;
use crate::scalar::{Complex32, Complex64};
use crate::status::{Outcome, size, step};
use crate::stored::Vector;
use crate::touched::{Batch, Touches};

/// A vector of elements of some type.
#[derive(Clone, Copy)]
struct MixedVector {
    at: MixedMatrix,
    n: usize,
    step: isize,
}

impl MixedVector {
    fn new(call: &Call, start: *const c_void, ty: u32, n: i64, distance: i64) -> Outcome<Self> {
        let ty = ElementType::new(ty)
            .filter(|ty| ty.is_real() || ty.is_complex())
            .ok_or_else(|| call.refuse("gpurace's cuBLAS does not support these types"))?;
        let at = MixedMatrix { start: start.addr(), ty, leading: 1 };
        Ok(Self { at, n: size(n.max(0))?, step: step(distance)? })
    }

    fn place(&self, index: usize) -> *mut u8 {
        let at = if self.step < 0 { self.n - 1 - index } else { index };
        self.at.place(at * self.step.unsigned_abs(), 0)
    }

    fn touch(&self, touches: &mut Touches, writes: bool) {
        let bytes = self.at.ty.size();
        let leading = self.step.unsigned_abs();
        touches.matrices(self.at.start, bytes, (1, self.n), leading, Batch::ONE, writes);
    }

    unsafe fn load<T: Computed>(&self) -> Vec<T> {
        // SAFETY: the runtime has checked the memory.
        (0..self.n).map(|i| unsafe { T::load(self.place(i), self.at.ty) }).collect()
    }

    unsafe fn store<T: Computed>(&self, values: &[T]) {
        for (i, &value) in values.iter().enumerate() {
            // SAFETY: as above.
            unsafe { value.store(self.place(i), self.at.ty) };
        }
    }
}

fn dense<T: Copy>(values: &[T]) -> Vector<T> {
    Vector::read(values.as_ptr(), values.len(), 1)
}

/// Writes a scalar result of some type: the host waits, unless it is in the device's memory.
fn submit_result<T: Computed>(
    call: Call,
    (to, ty): (*mut c_void, u32),
    touched: impl Fn(&mut Touches) + 'static,
    compute: impl Fn() -> T + 'static,
) -> Outcome {
    match ElementType::new(ty) {
        Some(ElementType::Half) => {
            call.submit_with_result(to.cast(), touched, move || f16::from_f64(compute().to_f64()))
        }
        Some(ElementType::Bfloat) => {
            call.submit_with_result(to.cast(), touched, move || bf16::from_f64(compute().to_f64()))
        }
        Some(ElementType::Float) => {
            call.submit_with_result(to.cast(), touched, move || compute().to_f64() as f32)
        }
        Some(ElementType::Double) => call.submit_with_result(to.cast(), touched, move || compute().to_f64()),
        Some(ty @ (ElementType::Complex | ElementType::DoubleComplex)) => {
            let parts = move || {
                let value = compute();
                (value.to_f64(), T::of_real(value.im()).to_f64())
            };
            if ty == ElementType::Complex {
                call.submit_with_result(to.cast(), touched, move || {
                    let (re, im) = parts();
                    Complex32 { re: re as f32, im: im as f32 }
                })
            } else {
                call.submit_with_result(to.cast(), touched, move || {
                    let (re, im) = parts();
                    Complex64 { re, im }
                })
            }
        }
        _ => Err(call.refuse("gpurace's cuBLAS does not support this type of a result")),
    }
}

fn submit_dot(
    call: Call,
    (x, y): (MixedVector, MixedVector),
    conj: bool,
    result: (*mut c_void, u32),
) -> Outcome {
    let touched = move |touches: &mut Touches| {
        x.touch(touches, false);
        y.touch(touches, false);
    };
    // SAFETY: the runtime has checked the memory.
    submit_result(call, result, touched, move || unsafe {
        let (x, y) = (x.load::<Complex64>(), y.load::<Complex64>());
        vectors::dot(dense(&x), dense(&y), conj)
    })
}

fn submit_extreme(call: Call, x: MixedVector, to: IndexPlace, largest: bool) -> Outcome {
    let touched = move |touches: &mut Touches| x.touch(touches, false);
    // SAFETY: the runtime has checked the memory.
    let find = move || unsafe { vectors::extreme(dense(&x.load::<Complex64>()), largest) };
    match to {
        IndexPlace::Narrow(to) => call.submit_with_result(to, touched, move || find() as i32),
        IndexPlace::Wide(to) => call.submit_with_result(to, touched, move || find() as i64),
    }
}

fn vector_scalar(call: &Call, at: *const c_void, ty: u32) -> Outcome<MixedScalar> {
    let refused = || call.refuse("gpurace's cuBLAS does not support these types");
    MixedScalar::new(at, ElementType::new(ty).ok_or_else(refused)?, call.scalars_on_device())
}

blas! {
    "AxpyEx" ["" ()] "" "" (call; n: Int, alpha: *const c_void, alpha_type: u32, x: *const c_void, x_type: u32, incx: Int, y: *mut c_void, y_type: u32, incy: Int, _execution: u32) {
        let alpha = vector_scalar(&call, alpha, alpha_type)?;
        let (x, y) = (MixedVector::new(&call, x, x_type, n, incx)?, MixedVector::new(&call, y, y_type, n, incy)?);
        let touched = move |touches: &mut Touches| {
            alpha.touch(touches);
            if !alpha.is_zero() {
                x.touch(touches, false);
                y.touch(touches, true);
            }
        };
        // SAFETY: the runtime has checked the memory.
        call.submit(touched, move || unsafe {
            let (x, sums) = (x.load::<Complex64>(), y.load::<Complex64>());
            vectors::axpy(alpha.get(), dense(&x), dense(&sums));
            y.store(&sums);
        })
    }

    "ScalEx" ["" ()] "" "" (call; n: Int, alpha: *const c_void, alpha_type: u32, x: *mut c_void, x_type: u32, incx: Int, _execution: u32) {
        let alpha = vector_scalar(&call, alpha, alpha_type)?;
        let x = MixedVector::new(&call, x, x_type, n, incx)?;
        let touched = move |touches: &mut Touches| {
            alpha.touch(touches);
            x.touch(touches, true);
        };
        // SAFETY: the runtime has checked the memory.
        call.submit(touched, move || unsafe {
            let values = x.load::<Complex64>();
            vectors::scal(alpha.get(), dense(&values));
            x.store(&values);
        })
    }

    "DotEx" ["" ()] "" "" (call; n: Int, x: *const c_void, x_type: u32, incx: Int, y: *const c_void, y_type: u32, incy: Int, result: *mut c_void, result_type: u32, _execution: u32) {
        let vectors = (MixedVector::new(&call, x, x_type, n, incx)?, MixedVector::new(&call, y, y_type, n, incy)?);
        submit_dot(call, vectors, false, (result, result_type))
    }

    "DotcEx" ["" ()] "" "" (call; n: Int, x: *const c_void, x_type: u32, incx: Int, y: *const c_void, y_type: u32, incy: Int, result: *mut c_void, result_type: u32, _execution: u32) {
        let vectors = (MixedVector::new(&call, x, x_type, n, incx)?, MixedVector::new(&call, y, y_type, n, incy)?);
        submit_dot(call, vectors, true, (result, result_type))
    }

    "Nrm2Ex" ["" ()] "" "" (call; n: Int, x: *const c_void, x_type: u32, incx: Int, result: *mut c_void, result_type: u32, _execution: u32) {
        let x = MixedVector::new(&call, x, x_type, n, incx)?;
        // SAFETY: the runtime has checked the memory.
        submit_result(call, (result, result_type), move |touches| x.touch(touches, false), move || unsafe {
            vectors::nrm2(dense(&x.load::<Complex64>()))
        })
    }

    "AsumEx" ["" ()] "" "" (call; n: Int, x: *const c_void, x_type: u32, incx: Int, result: *mut c_void, result_type: u32, _execution: u32) {
        let x = MixedVector::new(&call, x, x_type, n, incx)?;
        // SAFETY: the runtime has checked the memory.
        submit_result(call, (result, result_type), move |touches| x.touch(touches, false), move || unsafe {
            vectors::asum(dense(&x.load::<Complex64>()))
        })
    }

    "IamaxEx" ["" ()] "" "" (call; n: Int, x: *const c_void, x_type: u32, incx: Int, result: IntResult) {
        submit_extreme(call, MixedVector::new(&call, x, x_type, n, incx)?, result, true)
    }

    "IaminEx" ["" ()] "" "" (call; n: Int, x: *const c_void, x_type: u32, incx: Int, result: IntResult) {
        submit_extreme(call, MixedVector::new(&call, x, x_type, n, incx)?, result, false)
    }

    "CopyEx" ["" ()] "" "" (call; n: Int, x: *const c_void, x_type: u32, incx: Int, y: *mut c_void, y_type: u32, incy: Int) {
        let (x, y) = (MixedVector::new(&call, x, x_type, n, incx)?, MixedVector::new(&call, y, y_type, n, incy)?);
        let touched = move |touches: &mut Touches| {
            x.touch(touches, false);
            y.touch(touches, true);
        };
        // SAFETY: the runtime has checked the memory.
        call.submit(touched, move || unsafe { y.store(&x.load::<Complex64>()) })
    }

    "SwapEx" ["" ()] "" "" (call; n: Int, x: *mut c_void, x_type: u32, incx: Int, y: *mut c_void, y_type: u32, incy: Int) {
        let (x, y) = (MixedVector::new(&call, x, x_type, n, incx)?, MixedVector::new(&call, y, y_type, n, incy)?);
        let touched = move |touches: &mut Touches| {
            x.touch(touches, true);
            y.touch(touches, true);
        };
        // SAFETY: the runtime has checked the memory.
        call.submit(touched, move || unsafe {
            let (kept, other) = (x.load::<Complex64>(), y.load::<Complex64>());
            x.store(&other);
            y.store(&kept);
        })
    }
}
