//! Sparse vectors with dense ones.

use std::ffi::CStr;

use gpurace_library::touched::Touches;

use super::put_buffer;
use crate::call::{Call, touch_buffer};
use crate::dense::{DnMat, any_complex};
use crate::numeric;
use crate::registry::{Raw, SPARSE_VECTORS, VECTORS};
use crate::sparse::SpVec;
use crate::status::{Outcome, Status, as_operation, valid};
use crate::types::{Type, numbers, touch};

/// A sparse vector and a dense one of its size.
fn vectors(x: Raw, y: Raw) -> Outcome<(SpVec, DnMat)> {
    let (x, y) = (SPARSE_VECTORS.get(x)?, VECTORS.get(y)?);
    valid(x.size == y.rows)?;
    Ok((x, y))
}

/// Copies elements of a dense vector to a sparse one, or back.
fn exchange(name: &'static CStr, handle: Raw, x: Raw, y: Raw, to_dense: bool) -> Outcome {
    let call = Call::new(name, handle)?;
    let (x, y) = vectors(x, y)?;
    let touched = move |touches: &mut Touches| {
        x.touch_named(touches, y, to_dense);
        x.values.touch(touches, x.nnz, !to_dense);
    };
    // SAFETY: the runtime has checked the memory.
    call.submit(touched, move || unsafe { numeric::exchange(x, y, to_dense) })
}

gpurace_library::functions! { name:
    fn cusparseAxpby(handle: Raw, alpha: usize, x: Raw, beta: usize, y: Raw) {
        let call = Call::new(name, handle)?;
        let (x, y) = vectors(x, y)?;
        // There is no type for the computation. Halves are scaled by floats.
        let ty = match x.values.ty {
            Type::Half | Type::BFloat => Type::Single,
            other => other,
        };
        let (alpha, beta) = (call.param(alpha, ty)?, call.param(beta, ty)?);
        let touched = move |touches: &mut Touches| {
            alpha.touch(touches);
            beta.touch(touches);
            x.values.touch(touches, x.nnz, false);
            x.touch_named(touches, y, true);
            if !beta.is(1.0) {
                y.touch(touches, true);
            }
        };
        // SAFETY: the runtime has checked the memory.
        call.submit(touched, move || unsafe {
            numbers!(any_complex(&[x.values.ty, y.values.ty]), numeric::axpby, x, y, alpha, beta);
        })
    }

    fn cusparseGather(handle: Raw, y: Raw, x: Raw) {
        exchange(name, handle, x, y, false)
    }

    fn cusparseScatter(handle: Raw, x: Raw, y: Raw) {
        exchange(name, handle, x, y, true)
    }

    fn cusparseSpVV_bufferSize(handle: Raw, operation: u32, x: Raw, y: Raw, result: usize, ty: u32, to: *mut usize) {
        put_buffer(to)
    }

    fn cusparseSpVV(handle: Raw, operation: u32, x: Raw, y: Raw, result: usize, ty: u32, buffer: usize) {
        let call = Call::new(name, handle)?;
        let ((x, y), ty, operation) = (vectors(x, y)?, Type::new(ty)?, as_operation(operation)?);
        valid(result != 0)?;
        let on_device = call.results_on_device();
        let touched = move |touches: &mut Touches| {
            x.values.touch(touches, x.nnz, false);
            x.touch_named(touches, y, false);
            touch_buffer(touches, buffer);
            if on_device {
                touch(touches, result, ty.size(), true);
            }
        };
        // SAFETY: the runtime has checked the memory, or it is the program's own.
        call.submit_or_wait(!on_device, touched, move || unsafe {
            let types = [x.values.ty, y.values.ty];
            ty.write(result, numbers!(any_complex(&types), numeric::dot, operation.conjugates(), x, y));
        })
    }
}
