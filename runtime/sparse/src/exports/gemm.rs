//! Products of sparse matrices. What is known of a product is kept until it is copied.

use std::sync::Arc;

use gpurace_library::touched::Touches;
use parking_lot::Mutex;

use super::{put, put_buffer};
use crate::call::{Call, Param, touch_buffer};
use crate::dense::any_complex;
use crate::numeric;
use crate::registry::{PRODUCTS, Raw, SPARSE};
use crate::sparse::{Format, SpMat};
use crate::status::{Outcome, Status, valid};
use crate::types::{Type, Wide, numbers};

/// The rows of a product: columns and values.
type Rows = Vec<Vec<(usize, Wide)>>;

/// `cusparseSpGEMMDescr_t`
pub type Gemm = Arc<Mutex<Rows>>;

/// The factors: compressed rows, as they are.
fn factors(call: Call, operations: [u32; 2], [a, b, c]: [Raw; 3]) -> Outcome<(SpMat, SpMat, SpMat)> {
    let (a, b, c) = (SPARSE.get(a)?, SPARSE.get(b)?, SPARSE.get(c)?);
    if operations != [0; 2] || [a, b, c].iter().any(|matrix| matrix.format != Format::Csr) {
        return Err(call.refuse("gpurace's cuSPARSE multiplies compressed rows that are not transposed only"));
    }
    valid((a.rows, a.cols, b.cols) == (c.rows, b.rows, c.cols))?;
    Ok((a, b, c))
}

/// Writes the product, row by row.
unsafe fn write(rows: &Rows, c: SpMat, alpha: Param, beta: Param) {
    let each = rows.iter().enumerate().flat_map(|(row, columns)| columns.iter().map(move |_| row));
    // SAFETY: by the caller's contract.
    unsafe {
        let (alpha, beta): (Wide, Wide) = (alpha.get(), beta.get());
        numeric::write_offsets(c.offsets, c.rows, each);
        for (k, &(col, value)) in rows.iter().flatten().take(c.nnz).enumerate() {
            let before = if beta == Wide::default() { beta } else { beta * c.values.get::<Wide>(k) };
            c.indices.set(k, col);
            c.values.set(k, alpha * value + before);
        }
    }
}

gpurace_library::functions! { name:
    fn cusparseSpGEMM_createDescr(to: *mut Raw) {
        valid(!to.is_null())?;
        put(to, PRODUCTS.create(Gemm::default()))
    }

    fn cusparseSpGEMM_destroyDescr(product: Raw) {
        PRODUCTS.destroy(product).map(drop)
    }

    // Without a buffer it only tells the size of one.
    fn cusparseSpGEMM_workEstimation(handle: Raw, op_a: u32, op_b: u32, alpha: usize, a: Raw, b: Raw, beta: usize, c: Raw, ty: u32, alg: u32, product: Raw, size: *mut usize, buffer: usize) {
        let call = Call::new(name, handle)?;
        let (a, b, _) = factors(call, [op_a, op_b], [a, b, c])?;
        if buffer == 0 {
            return put_buffer(size);
        }
        let touched = move |touches: &mut Touches| {
            a.touch_pattern(touches);
            b.touch_pattern(touches);
            touch_buffer(touches, buffer);
        };
        call.submit(touched, || ())
    }

    // The host waits, since the program asks for the number of elements next.
    fn cusparseSpGEMM_compute(handle: Raw, op_a: u32, op_b: u32, alpha: usize, a: Raw, b: Raw, beta: usize, c: Raw, ty: u32, alg: u32, product: Raw, size: *mut usize, buffer: usize) {
        let call = Call::new(name, handle)?;
        let (first, second, _) = factors(call, [op_a, op_b], [a, b, c])?;
        let (ty, found) = (Type::new(ty)?, PRODUCTS.get(product)?);
        if buffer == 0 {
            return put_buffer(size);
        }
        let touched = move |touches: &mut Touches| {
            first.touch(touches);
            second.touch(touches);
            touch_buffer(touches, buffer);
        };
        let is_complex = any_complex(&[ty, first.values.ty, second.values.ty]);
        let rows = found.clone();
        // SAFETY: the runtime has checked the memory.
        call.submit_or_wait(true, touched, move || unsafe {
            *rows.lock() = numbers!(is_complex, numeric::product, first, second);
        })?;
        let nnz = found.lock().iter().map(Vec::len).sum();
        SPARSE.change(c, |matrix| matrix.nnz = nnz)
    }

    fn cusparseSpGEMM_copy(handle: Raw, op_a: u32, op_b: u32, alpha: usize, a: Raw, b: Raw, beta: usize, c: Raw, ty: u32, alg: u32, product: Raw) {
        let call = Call::new(name, handle)?;
        let (_, _, c) = factors(call, [op_a, op_b], [a, b, c])?;
        let (ty, found) = (Type::new(ty)?, PRODUCTS.get(product)?);
        valid(found.lock().len() == c.rows)?;
        let (alpha, beta) = (call.param(alpha, ty)?, call.param(beta, ty)?);
        let touched = move |touches: &mut Touches| {
            alpha.touch(touches);
            beta.touch(touches);
            c.offsets.touch(touches, c.offsets_count(), true);
            c.indices.touch(touches, c.nnz, true);
            c.values.touch(touches, c.nnz, true);
        };
        // SAFETY: the runtime has checked the memory.
        call.submit(touched, move || unsafe { write(&found.lock(), c, alpha, beta) })
    }
}
