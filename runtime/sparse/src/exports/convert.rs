//! Between dense and sparse matrices.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use gpurace_library::touched::Touches;

use super::put_buffer;
use crate::call::{Call, touch_buffer};
use crate::dense::DnMat;
use crate::numeric;
use crate::registry::{DENSE, Raw, SPARSE};
use crate::sparse::{Format, SpMat};
use crate::status::{Outcome, Status, valid};

/// A sparse matrix and a dense one of its size.
fn matrices(sparse: Raw, dense: Raw) -> Outcome<(SpMat, DnMat)> {
    let (sparse, dense) = (SPARSE.get(sparse)?, DENSE.get(dense)?);
    valid((sparse.rows, sparse.cols) == (dense.rows, dense.cols))?;
    Ok((sparse, dense))
}

gpurace_library::functions! { name:
    fn cusparseSparseToDense_bufferSize(handle: Raw, a: Raw, b: Raw, alg: u32, to: *mut usize) {
        put_buffer(to)
    }

    fn cusparseSparseToDense(handle: Raw, a: Raw, b: Raw, alg: u32, buffer: usize) {
        let call = Call::new(name, handle)?;
        let (a, b) = matrices(a, b)?;
        let touched = move |touches: &mut Touches| {
            a.touch(touches);
            b.touch(touches, true);
            touch_buffer(touches, buffer);
        };
        // SAFETY: the runtime has checked the memory.
        call.submit(touched, move || unsafe { numeric::to_dense(a, b) })
    }

    fn cusparseDenseToSparse_bufferSize(handle: Raw, a: Raw, b: Raw, alg: u32, to: *mut usize) {
        put_buffer(to)
    }

    // The host waits, since the program asks for the number of elements next.
    fn cusparseDenseToSparse_analysis(handle: Raw, a: Raw, b: Raw, alg: u32, buffer: usize) {
        let call = Call::new(name, handle)?;
        let (sparse, dense) = matrices(b, a)?;
        let has_offsets = sparse.format != Format::Coo;
        let touched = move |touches: &mut Touches| {
            dense.touch(touches, false);
            touch_buffer(touches, buffer);
            if has_offsets {
                sparse.offsets.touch(touches, sparse.offsets_count(), true);
            }
        };
        let nnz = Arc::new(AtomicUsize::new(0));
        let counted = nnz.clone();
        // SAFETY: the runtime has checked the memory.
        call.submit_or_wait(true, touched, move || unsafe {
            let found = numeric::not_zero(dense, sparse.format);
            if has_offsets {
                numeric::write_offsets(sparse.offsets, sparse.majors(), found.iter().map(|at| at.0));
            }
            counted.store(found.len(), Ordering::Relaxed);
        })?;
        SPARSE.change(b, |matrix| matrix.nnz = nnz.load(Ordering::Relaxed))
    }

    fn cusparseDenseToSparse_convert(handle: Raw, a: Raw, b: Raw, alg: u32, buffer: usize) {
        let call = Call::new(name, handle)?;
        let (sparse, dense) = matrices(b, a)?;
        let touched = move |touches: &mut Touches| {
            dense.touch(touches, false);
            touch_buffer(touches, buffer);
            sparse.offsets.touch(touches, sparse.offsets_count(), sparse.format == Format::Coo);
            sparse.indices.touch(touches, sparse.nnz, true);
            sparse.values.touch(touches, sparse.nnz, true);
        };
        // SAFETY: the runtime has checked the memory.
        call.submit(touched, move || unsafe { numeric::to_sparse(dense, sparse) })
    }
}
