//! LU factors, solutions and inverses of batches of small matrices, and triangles with and without gaps.

use gpurace_library::export::say;

use crate::call::Call;
use crate::exports::blas;
use crate::numeric::factors;
use crate::scalar::{Complex32, Complex64, Scalar};
use crate::status::{Outcome, Part, Status, as_operation, leading, size, valid};
use crate::stored::Stored;
use crate::touched::{Batch, Touches};

/// The largest matrix of `cublas<t>matinvBatched`.
const LARGEST_INVERTED: usize = 32;

/// Addresses of matrices in the device's memory.
type Array<T> = *const *mut T;

fn touch_matrices<T>(
    touches: &mut Touches,
    (array, count): (Array<T>, usize),
    size: (usize, usize),
    leading: usize,
    writes: bool,
) {
    for at in touches.addresses(array, count) {
        touches.matrices(at.addr(), size_of::<T>(), size, leading, Batch::ONE, writes);
    }
}

/// Writes the inverses, from the factors or from the matrices themselves.
fn submit_inverse<T: Scalar>(
    call: Call,
    n: usize,
    (a, lda): (Array<T>, usize),
    pivots: Option<*const i32>,
    (c, ldc): (Array<T>, usize),
    (info, count): (*mut i32, usize),
) -> Outcome {
    if n == 0 || count == 0 {
        return Ok(());
    }
    let given = pivots.filter(|pivots| !pivots.is_null());
    let touched = move |touches: &mut Touches| {
        touch_matrices(touches, (a, count), (n, n), lda, false);
        if let Some(pivots) = given {
            touches.elements(pivots, n * count, false);
        }
        touch_matrices(touches, (c, count), (n, n), ldc, true);
        touches.elements(info.cast_const(), count, true);
    };
    // SAFETY: the runtime has checked the memory.
    call.submit(touched, move || unsafe {
        for i in 0..count {
            let (matrix, inverse) = (a.add(i).read_unaligned(), c.add(i).read_unaligned());
            let result = if pivots.is_some() {
                let pivots = given.map_or(std::ptr::null(), |pivots| pivots.add(i * n));
                factors::invert(n, (matrix, lda), pivots, (inverse, ldc))
            } else {
                let matrix = Stored::dense(matrix, n, n, lda);
                let mut copy: Vec<T> = (0..n * n).map(|at| matrix.get(at % n, at / n)).collect();
                let mut pivots = vec![0; n];
                match factors::factor(n, (copy.as_mut_ptr(), n), pivots.as_mut_ptr()) {
                    0 => factors::invert(n, (copy.as_ptr(), n), pivots.as_ptr(), (inverse, ldc)),
                    singular => singular,
                }
            };
            info.add(i).write_unaligned(result);
        }
    })
}

blas! {
    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "getrfBatched" "" (call; n: i32, a: *const *mut T, lda: i32, pivots: *mut i32, info: *mut i32, count: i32) {
        let (n, count) = (size(n.into())?, size(count.into())?);
        let lda = leading(lda.into(), n)?;
        if n == 0 || count == 0 {
            return Ok(());
        }
        let touched = move |touches: &mut Touches| {
            touch_matrices(touches, (a, count), (n, n), lda, true);
            if !pivots.is_null() {
                touches.elements(pivots.cast_const(), n * count, true);
            }
            touches.elements(info.cast_const(), count, true);
        };
        // SAFETY: the runtime has checked the memory.
        call.submit(touched, move || unsafe {
            for i in 0..count {
                let pivots = if pivots.is_null() { pivots } else { pivots.add(i * n) };
                info.add(i).write_unaligned(factors::factor(n, (a.add(i).read_unaligned(), lda), pivots));
            }
        })
    }

    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "getrsBatched" "" (call; trans: u32, n: i32, columns: i32, a: *const *mut T, lda: i32, pivots: *const i32, b: *const *mut T, ldb: i32, info: *mut i32, count: i32) {
        let (n, columns, count) = (size(n.into())?, size(columns.into())?, size(count.into())?);
        let (lda, ldb, operation) = (leading(lda.into(), n)?, leading(ldb.into(), n)?, as_operation(trans)?);
        // This is on the host: it says which parameter is wrong.
        valid(!info.is_null())?;
        // SAFETY: the program passes a valid pointer.
        unsafe { info.write_unaligned(0) };
        if n == 0 || columns == 0 || count == 0 {
            return Ok(());
        }
        let touched = move |touches: &mut Touches| {
            touch_matrices(touches, (a, count), (n, n), lda, false);
            if !pivots.is_null() {
                touches.elements(pivots, n * count, false);
            }
            touch_matrices(touches, (b, count), (n, columns), ldb, true);
        };
        // SAFETY: the runtime has checked the memory.
        call.submit(touched, move || unsafe {
            for i in 0..count {
                let pivots = if pivots.is_null() { pivots } else { pivots.add(i * n) };
                let (a, b) = (a.add(i).read_unaligned(), b.add(i).read_unaligned());
                factors::solve(operation, (n, columns), (a, lda), pivots, (b, ldb));
            }
        })
    }

    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "getriBatched" "" (call; n: i32, a: *const *mut T, lda: i32, pivots: *const i32, c: *const *mut T, ldc: i32, info: *mut i32, count: i32) {
        let (n, count) = (size(n.into())?, size(count.into())?);
        let (lda, ldc) = (leading(lda.into(), n)?, leading(ldc.into(), n)?);
        submit_inverse(call, n, (a, lda), Some(pivots), (c, ldc), (info, count))
    }

    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "matinvBatched" "" (call; n: i32, a: *const *mut T, lda: i32, c: *const *mut T, ldc: i32, info: *mut i32, count: i32) {
        let (n, count) = (size(n.into())?, size(count.into())?);
        let (lda, ldc) = (leading(lda.into(), n)?, leading(ldc.into(), n)?);
        if n > LARGEST_INVERTED {
            say(call.name, "cuBLAS inverts matrices of at most 32 rows here");
            return Err(Status::INVALID_VALUE);
        }
        submit_inverse(call, n, (a, lda), None, (c, ldc), (info, count))
    }

    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "trttp" "" (call; uplo: u32, n: i32, a: *const T, lda: i32, packed: *mut T) {
        let (part, n) = (Part::triangle(uplo)?, size(n.into())?);
        submit_triangle(call, Stored::triangle(a, part, n, leading(lda.into(), n)?), Stored::packed(packed, part, n))
    }

    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "tpttr" "" (call; uplo: u32, n: i32, packed: *const T, a: *mut T, lda: i32) {
        let (part, n) = (Part::triangle(uplo)?, size(n.into())?);
        submit_triangle(call, Stored::packed(packed, part, n), Stored::triangle(a, part, n, leading(lda.into(), n)?))
    }
}

/// Copies a triangle.
fn submit_triangle<T: Scalar>(call: Call, from: Stored<T>, to: Stored<T>) -> Outcome {
    if from.n == 0 {
        return Ok(());
    }
    let touched = move |touches: &mut Touches| {
        touches.stored(from, false, false);
        touches.stored(to, false, true);
    };
    // SAFETY: the runtime has checked the memory.
    call.submit(touched, move || unsafe {
        for (i, j) in (0..from.n).flat_map(|j| from.rows(j).map(move |i| (i, j))) {
            to.set(i, j, from.get(i, j));
        }
    })
}
