//! Sparse matrices with dense ones, and triangular systems.

use std::ffi::CStr;

use gpurace_library::touched::Touches;

use super::{put, put_buffer};
use crate::call::{Call, touch_buffer};
use crate::dense::{DnMat, any_complex};
use crate::numeric;
use crate::registry::{Analysis, DENSE, Raw, SOLVERS, SPARSE, VECTORS};
use crate::sparse::SpMat;
use crate::status::{Operation, Outcome, Status, as_operation, valid};
use crate::types::{Type, numbers};

/// One factor, and the operation on it.
type Factor<T> = (Operation, T);

/// `c = alpha * op(a) * op(b) + beta * c`, for each matrix of the batch.
fn multiply(
    call: Call,
    a: Factor<SpMat>,
    b: Factor<DnMat>,
    c: DnMat,
    [alpha, beta]: [usize; 2],
    ty: u32,
    buffer: usize,
) -> Outcome {
    let ty = Type::new(ty)?;
    let ((op_a, a), (op_b, b)) = (a, (b.0, b.1.transposed_if(b.0.transposes())));
    let (m, k) = a.size(op_a);
    valid((m, k, c.cols) == (c.rows, b.rows, b.cols))?;
    let (alpha, beta) = (call.param(alpha, ty)?, call.param(beta, ty)?);
    let batches = c.batches;
    let touched = move |touches: &mut Touches| {
        alpha.touch(touches);
        beta.touch(touches);
        touch_buffer(touches, buffer);
        for batch in 0..batches {
            let (a, b) = (a.of_batch(batch), b.of_batch(batch));
            if !alpha.is(0.0) && a.touch(touches) {
                // SAFETY: the runtime has found the memory.
                for rows in unsafe { a.used_cols(op_a) } {
                    b.touch_part(touches, rows, 0..b.cols as i64, false);
                }
            }
            c.of_batch(batch).touch(touches, true);
        }
    };
    let is_complex = any_complex(&[ty, a.values.ty, b.values.ty, c.values.ty]);
    // SAFETY: the runtime has checked the memory.
    call.submit(touched, move || unsafe {
        for batch in 0..batches {
            let (a, b) = ((op_a, a.of_batch(batch)), (op_b.conjugates(), b.of_batch(batch)));
            numbers!(is_complex, numeric::multiply, a, b, c.of_batch(batch), alpha, beta);
        }
    })
}

/// Solves `op(a) * c = alpha * op(b)`.
fn solve(
    call: Call,
    a: Factor<SpMat>,
    b: Factor<DnMat>,
    c: DnMat,
    alpha: usize,
    ty: u32,
    solver: Raw,
) -> Outcome {
    let (ty, Analysis(buffer)) = (Type::new(ty)?, SOLVERS.get(solver)?);
    let ((op_a, a), (op_b, b)) = (a, (b.0, b.1.transposed_if(b.0.transposes())));
    valid(a.rows == a.cols && a.rows == c.rows && (b.rows, b.cols) == (c.rows, c.cols))?;
    let alpha = call.param(alpha, ty)?;
    let touched = move |touches: &mut Touches| {
        alpha.touch(touches);
        touch_buffer(touches, buffer);
        a.touch(touches);
        b.touch(touches, false);
        c.touch(touches, true);
    };
    let is_complex = any_complex(&[ty, a.values.ty, b.values.ty, c.values.ty]);
    // SAFETY: the runtime has checked the memory.
    call.submit(touched, move || unsafe {
        numbers!(is_complex, numeric::solve, (op_a, a), (op_b.conjugates(), b), c, alpha);
    })
}

/// Reads a matrix and writes a buffer, which the solver keeps.
fn analyse(name: &'static CStr, handle: Raw, a: Raw, solver: Raw, buffer: usize) -> Outcome {
    let (call, a) = (Call::new(name, handle)?, SPARSE.get(a)?);
    SOLVERS.change(solver, |analysis| analysis.0 = buffer)?;
    let touched = move |touches: &mut Touches| {
        a.touch(touches);
        touch_buffer(touches, buffer);
    };
    call.submit(touched, || ())
}

/// A change of a matrix that a solver knows: what `solve` reads is read when it runs.
fn update(name: &'static CStr, handle: Raw, solver: Raw, part: u32) -> Outcome {
    let (call, Analysis(buffer)) = (Call::new(name, handle)?, SOLVERS.get(solver)?);
    valid(part < 2)?;
    call.submit(move |touches: &mut Touches| touch_buffer(touches, buffer), || ())
}

gpurace_library::functions! { name:
    fn cusparseSpMV_bufferSize(handle: Raw, op: u32, alpha: usize, a: Raw, x: Raw, beta: usize, y: Raw, ty: u32, alg: u32, to: *mut usize) {
        put_buffer(to)
    }

    fn cusparseSpMV_preprocess(handle: Raw, op: u32, alpha: usize, a: Raw, x: Raw, beta: usize, y: Raw, ty: u32, alg: u32, buffer: usize) {
        let (call, a) = (Call::new(name, handle)?, SPARSE.get(a)?);
        let touched = move |touches: &mut Touches| {
            a.touch_pattern(touches);
            touch_buffer(touches, buffer);
        };
        call.submit(touched, || ())
    }

    fn cusparseSpMV(handle: Raw, op: u32, alpha: usize, a: Raw, x: Raw, beta: usize, y: Raw, ty: u32, alg: u32, buffer: usize) {
        let call = Call::new(name, handle)?;
        let (a, x, y) = (SPARSE.get(a)?, VECTORS.get(x)?, VECTORS.get(y)?);
        multiply(call, (as_operation(op)?, a), (Operation::Plain, x), y, [alpha, beta], ty, buffer)
    }

    fn cusparseSpMM_bufferSize(handle: Raw, op_a: u32, op_b: u32, alpha: usize, a: Raw, b: Raw, beta: usize, c: Raw, ty: u32, alg: u32, to: *mut usize) {
        put_buffer(to)
    }

    fn cusparseSpMM_preprocess(handle: Raw, op_a: u32, op_b: u32, alpha: usize, a: Raw, b: Raw, beta: usize, c: Raw, ty: u32, alg: u32, buffer: usize) {
        let (call, a) = (Call::new(name, handle)?, SPARSE.get(a)?);
        let touched = move |touches: &mut Touches| {
            a.touch_pattern(touches);
            touch_buffer(touches, buffer);
        };
        call.submit(touched, || ())
    }

    fn cusparseSpMM(handle: Raw, op_a: u32, op_b: u32, alpha: usize, a: Raw, b: Raw, beta: usize, c: Raw, ty: u32, alg: u32, buffer: usize) {
        let call = Call::new(name, handle)?;
        let (a, b) = ((as_operation(op_a)?, SPARSE.get(a)?), (as_operation(op_b)?, DENSE.get(b)?));
        multiply(call, a, b, DENSE.get(c)?, [alpha, beta], ty, buffer)
    }

    fn cusparseSDDMM_bufferSize(handle: Raw, op_a: u32, op_b: u32, alpha: usize, a: Raw, b: Raw, beta: usize, c: Raw, ty: u32, alg: u32, to: *mut usize) {
        put_buffer(to)
    }

    fn cusparseSDDMM_preprocess(handle: Raw, op_a: u32, op_b: u32, alpha: usize, a: Raw, b: Raw, beta: usize, c: Raw, ty: u32, alg: u32, buffer: usize) {
        let (call, c) = (Call::new(name, handle)?, SPARSE.get(c)?);
        let touched = move |touches: &mut Touches| {
            c.touch_pattern(touches);
            touch_buffer(touches, buffer);
        };
        call.submit(touched, || ())
    }

    fn cusparseSDDMM(handle: Raw, op_a: u32, op_b: u32, alpha: usize, a: Raw, b: Raw, beta: usize, c: Raw, ty: u32, alg: u32, buffer: usize) {
        let call = Call::new(name, handle)?;
        let (op_a, op_b, ty) = (as_operation(op_a)?, as_operation(op_b)?, Type::new(ty)?);
        let a = DENSE.get(a)?.transposed_if(op_a.transposes());
        let b = DENSE.get(b)?.transposed_if(op_b.transposes());
        let c = SPARSE.get(c)?;
        valid((a.rows, a.cols, b.cols) == (c.rows, b.rows, c.cols))?;
        let (alpha, beta) = (call.param(alpha, ty)?, call.param(beta, ty)?);
        let touched = move |touches: &mut Touches| {
            alpha.touch(touches);
            beta.touch(touches);
            touch_buffer(touches, buffer);
            for batch in 0..c.batches {
                let (a, b, c) = (a.of_batch(batch), b.of_batch(batch), c.of_batch(batch));
                c.values.touch(touches, c.nnz, true);
                if c.touch_pattern(touches) {
                    // SAFETY: the runtime has found the memory.
                    let (rows, cols) = unsafe { (c.used_rows(Operation::Plain), c.used_cols(Operation::Plain)) };
                    rows.into_iter().for_each(|rows| a.touch_part(touches, rows, 0..a.cols as i64, false));
                    cols.into_iter().for_each(|cols| b.touch_part(touches, 0..b.rows as i64, cols, false));
                }
            }
        };
        let is_complex = any_complex(&[ty, a.values.ty, b.values.ty, c.values.ty]);
        // SAFETY: the runtime has checked the memory.
        call.submit(touched, move || unsafe {
            for batch in 0..c.batches {
                let (a, b) = ((op_a.conjugates(), a.of_batch(batch)), (op_b.conjugates(), b.of_batch(batch)));
                numbers!(is_complex, numeric::sampled, a, b, c.of_batch(batch), alpha, beta);
            }
        })
    }

    fn cusparseSpSV_createDescr(to: *mut Raw) {
        valid(!to.is_null())?;
        put(to, SOLVERS.create(Analysis::default()))
    }

    fn cusparseSpSV_destroyDescr(solver: Raw) {
        SOLVERS.destroy(solver).map(drop)
    }

    fn cusparseSpSV_bufferSize(handle: Raw, op: u32, alpha: usize, a: Raw, x: Raw, y: Raw, ty: u32, alg: u32, solver: Raw, to: *mut usize) {
        put_buffer(to)
    }

    fn cusparseSpSV_analysis(handle: Raw, op: u32, alpha: usize, a: Raw, x: Raw, y: Raw, ty: u32, alg: u32, solver: Raw, buffer: usize) {
        analyse(name, handle, a, solver, buffer)
    }

    fn cusparseSpSV_solve(handle: Raw, op: u32, alpha: usize, a: Raw, x: Raw, y: Raw, ty: u32, alg: u32, solver: Raw) {
        let call = Call::new(name, handle)?;
        let (a, x) = ((as_operation(op)?, SPARSE.get(a)?), (Operation::Plain, VECTORS.get(x)?));
        solve(call, a, x, VECTORS.get(y)?, alpha, ty, solver)
    }

    fn cusparseSpSV_updateMatrix(handle: Raw, solver: Raw, values: usize, part: u32) {
        update(name, handle, solver, part)
    }

    fn cusparseSpSM_createDescr(to: *mut Raw) {
        valid(!to.is_null())?;
        put(to, SOLVERS.create(Analysis::default()))
    }

    fn cusparseSpSM_destroyDescr(solver: Raw) {
        SOLVERS.destroy(solver).map(drop)
    }

    fn cusparseSpSM_bufferSize(handle: Raw, op_a: u32, op_b: u32, alpha: usize, a: Raw, b: Raw, c: Raw, ty: u32, alg: u32, solver: Raw, to: *mut usize) {
        put_buffer(to)
    }

    fn cusparseSpSM_analysis(handle: Raw, op_a: u32, op_b: u32, alpha: usize, a: Raw, b: Raw, c: Raw, ty: u32, alg: u32, solver: Raw, buffer: usize) {
        analyse(name, handle, a, solver, buffer)
    }

    fn cusparseSpSM_solve(handle: Raw, op_a: u32, op_b: u32, alpha: usize, a: Raw, b: Raw, c: Raw, ty: u32, alg: u32, solver: Raw) {
        let call = Call::new(name, handle)?;
        let (a, b) = ((as_operation(op_a)?, SPARSE.get(a)?), (as_operation(op_b)?, DENSE.get(b)?));
        solve(call, a, b, DENSE.get(c)?, alpha, ty, solver)
    }

    fn cusparseSpSM_updateMatrix(handle: Raw, solver: Raw, values: usize, part: u32) {
        update(name, handle, solver, part)
    }
}
