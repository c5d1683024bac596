//! Products of whole matrices, single and batched: `gemm` and its variants.

use half::f16;

use crate::call::{Call, Param};
use crate::exports::{Int, blas};
use crate::numeric::product::{Factor, gemm};
use crate::scalar::{Complex32, Complex64, Scalar};
use crate::status::{Operation, Outcome, as_operation, leading, size, valid};
use crate::touched::{Batch, Touches};

/// The sizes of a product, checked.
#[derive(Clone, Copy, Debug)]
pub struct ProductShape {
    /// Rows, columns, terms of each element.
    pub size: (usize, usize, usize),
    /// What is done to the factors.
    pub operations: [Operation; 2],
    /// The leading dimensions of the factors and the result.
    pub leading: [usize; 3],
}

impl ProductShape {
    /// Checks the parameters of a product.
    ///
    /// # Errors
    /// `CUBLAS_STATUS_INVALID_VALUE` if they do not fit.
    pub fn new(
        operations: (u32, u32),
        (m, n, k): (i64, i64, i64),
        (lda, ldb, ldc): (i64, i64, i64),
    ) -> Outcome<Self> {
        let operations = [as_operation(operations.0)?, as_operation(operations.1)?];
        let (m, n, k) = (size(m)?, size(n)?, size(k)?);
        let leading = [
            leading(lda, operations[0].stored(m, k).0)?,
            leading(ldb, operations[1].stored(k, n).0)?,
            leading(ldc, m)?,
        ];
        Ok(Self { size: (m, n, k), operations, leading })
    }

    /// True if the result has no elements.
    pub fn is_empty(&self) -> bool {
        self.size.0 == 0 || self.size.1 == 0
    }

    /// Adds the bytes of a batch: addresses and bytes of elements of both factors and of the result.
    pub fn touch(&self, touches: &mut Touches, reads_factors: bool, places: [(usize, usize, Batch); 3]) {
        let (m, n, k) = self.size;
        let [a, b, c] = places;
        let matrices = [
            (a, self.operations[0].stored(m, k), reads_factors && k != 0),
            (b, self.operations[1].stored(k, n), reads_factors && k != 0),
            (c, (m, n), true),
        ];
        for (at, ((start, bytes, batch), size, is_used)) in matrices.into_iter().enumerate() {
            if is_used {
                touches.matrices(start, bytes, size, self.leading[at], batch, at == 2);
            }
        }
    }
}

/// The scalars of a product.
#[derive(Clone, Copy)]
struct Scalars<T> {
    alpha: Param<T>,
    beta: Param<T>,
}

impl<T: Scalar> Scalars<T> {
    fn new(call: &Call, alpha: *const T, beta: *const T) -> Outcome<Self> {
        Ok(Self { alpha: call.param(alpha)?, beta: call.param(beta)? })
    }

    fn touch(&self, touches: &mut Touches) {
        self.alpha.touch(touches);
        self.beta.touch(touches);
    }
}

unsafe fn multiply<T: Scalar>(
    shape: &ProductShape,
    alpha: T,
    (a, b): (*const T, *const T),
    beta: T,
    c: *mut T,
) {
    let [lda, ldb, ldc] = shape.leading;
    let factor = |start, leading, operation| Factor { start, leading, operation };
    let [ta, tb] = shape.operations;
    // SAFETY: the runtime has checked the memory.
    unsafe { gemm(shape.size, alpha, factor(a, lda, ta), factor(b, ldb, tb), beta, (c, ldc)) };
}

/// Submits the product of matrices that lie at equal distances.
fn strided<T: Scalar>(
    call: Call,
    shape: ProductShape,
    (alpha, beta): (*const T, *const T),
    places: (*const T, *const T, *mut T),
    strides: [i64; 3],
    count: usize,
) -> Outcome {
    let scalars = Scalars::new(&call, alpha, beta)?;
    if shape.is_empty() || count == 0 {
        return Ok(());
    }
    let (a, b, c) = places;
    let batch = strides.map(|stride| Batch { count, stride: stride as isize });
    call.submit(
        move |touches| {
            scalars.touch(touches);
            let bytes = size_of::<T>();
            let addresses = [a.addr(), b.addr(), c.addr()];
            let places = [0, 1, 2].map(|i| (addresses[i], bytes, batch[i]));
            shape.touch(touches, !scalars.alpha.is_zero(), places);
        },
        move || {
            // SAFETY: the runtime has checked the memory.
            let (alpha, beta) = unsafe { (scalars.alpha.get(), scalars.beta.get()) };
            for i in 0..count as isize {
                let at = |which: usize| i * batch[which].stride;
                let factors = (a.wrapping_offset(at(0)), b.wrapping_offset(at(1)));
                // SAFETY: as above.
                unsafe { multiply(&shape, alpha, factors, beta, c.wrapping_offset(at(2))) };
            }
        },
    )
}

/// The addresses of a batch's matrices, in the device's memory.
type Arrays<T> = (*const *const T, *const *const T, *const *mut T);

/// Submits the product of matrices whose addresses are in arrays.
fn batched<T: Scalar>(
    call: Call,
    shape: ProductShape,
    (alpha, beta): (*const T, *const T),
    (a, b, c): Arrays<T>,
    count: usize,
) -> Outcome {
    let scalars = Scalars::new(&call, alpha, beta)?;
    if shape.is_empty() || count == 0 {
        return Ok(());
    }
    call.submit(
        move |touches| {
            scalars.touch(touches);
            let reads = !scalars.alpha.is_zero();
            let (a, b) = (touches.addresses(a.cast(), count), touches.addresses(b.cast(), count));
            let c = touches.addresses(c, count);
            for ((a, b), c) in a.into_iter().zip(b).zip(c) {
                let place = |at: *mut T| (at.addr(), size_of::<T>(), Batch::ONE);
                shape.touch(touches, reads, [place(a), place(b), place(c)]);
            }
        },
        move || {
            // SAFETY: the runtime has checked the memory.
            unsafe {
                let (alpha, beta) = (scalars.alpha.get(), scalars.beta.get());
                for i in 0..count {
                    let factors = (a.add(i).read_unaligned(), b.add(i).read_unaligned());
                    multiply(&shape, alpha, factors, beta, c.add(i).read_unaligned());
                }
            }
        },
    )
}

/// The scalar of a call with `half` scalars.
fn half_param(call: &Call, at: *const f16) -> Outcome<Param<f16>> {
    call.param(at)
}

blas! {
    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "gemm" "_v2" (call; transa: u32, transb: u32, m: Int, n: Int, k: Int, alpha: *const T, a: *const T, lda: Int, b: *const T, ldb: Int, beta: *const T, c: *mut T, ldc: Int) {
        let shape = ProductShape::new((transa, transb), (m, n, k), (lda, ldb, ldc))?;
        strided(call, shape, (alpha, beta), (a, b, c), [0; 3], 1)
    }

    "" ["C" Complex32, "Z" Complex64] "gemm3m" "" (call; transa: u32, transb: u32, m: Int, n: Int, k: Int, alpha: *const T, a: *const T, lda: Int, b: *const T, ldb: Int, beta: *const T, c: *mut T, ldc: Int) {
        let shape = ProductShape::new((transa, transb), (m, n, k), (lda, ldb, ldc))?;
        strided(call, shape, (alpha, beta), (a, b, c), [0; 3], 1)
    }

    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "gemmStridedBatched" "" (call; transa: u32, transb: u32, m: Int, n: Int, k: Int, alpha: *const T, a: *const T, lda: Int, a_stride: i64, b: *const T, ldb: Int, b_stride: i64, beta: *const T, c: *mut T, ldc: Int, c_stride: i64, count: Int) {
        let shape = ProductShape::new((transa, transb), (m, n, k), (lda, ldb, ldc))?;
        strided(call, shape, (alpha, beta), (a, b, c), [a_stride, b_stride, c_stride], size(count)?)
    }

    "" ["C" Complex32] "gemm3mStridedBatched" "" (call; transa: u32, transb: u32, m: Int, n: Int, k: Int, alpha: *const T, a: *const T, lda: Int, a_stride: i64, b: *const T, ldb: Int, b_stride: i64, beta: *const T, c: *mut T, ldc: Int, c_stride: i64, count: Int) {
        let shape = ProductShape::new((transa, transb), (m, n, k), (lda, ldb, ldc))?;
        strided(call, shape, (alpha, beta), (a, b, c), [a_stride, b_stride, c_stride], size(count)?)
    }

    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "gemmBatched" "" (call; transa: u32, transb: u32, m: Int, n: Int, k: Int, alpha: *const T, a: *const *const T, lda: Int, b: *const *const T, ldb: Int, beta: *const T, c: *const *mut T, ldc: Int, count: Int) {
        let shape = ProductShape::new((transa, transb), (m, n, k), (lda, ldb, ldc))?;
        batched(call, shape, (alpha, beta), (a, b, c), size(count)?)
    }

    "" ["C" Complex32] "gemm3mBatched" "" (call; transa: u32, transb: u32, m: Int, n: Int, k: Int, alpha: *const T, a: *const *const T, lda: Int, b: *const *const T, ldb: Int, beta: *const T, c: *const *mut T, ldc: Int, count: Int) {
        let shape = ProductShape::new((transa, transb), (m, n, k), (lda, ldb, ldc))?;
        batched(call, shape, (alpha, beta), (a, b, c), size(count)?)
    }

    "" ["S" f32, "D" f64, "C" Complex32, "Z" Complex64] "geam" "" (call; transa: u32, transb: u32, m: Int, n: Int, alpha: *const T, a: *const T, lda: Int, beta: *const T, b: *const T, ldb: Int, c: *mut T, ldc: Int) {
        let (ta, tb, m, n) = (as_operation(transa)?, as_operation(transb)?, size(m)?, size(n)?);
        let (lda, ldb) = (leading(lda, ta.stored(m, n).0)?, leading(ldb, tb.stored(m, n).0)?);
        let ldc = leading(ldc, m)?;
        // In place, a matrix keeps its shape.
        valid(a != c.cast_const() || (!ta.transposes() && lda == ldc))?;
        valid(b != c.cast_const() || (!tb.transposes() && ldb == ldc))?;
        let scalars = Scalars::new(&call, alpha, beta)?;
        if m == 0 || n == 0 {
            return Ok(());
        }
        call.submit(
            move |touches| {
                scalars.touch(touches);
                let bytes = size_of::<T>();
                if !scalars.alpha.is_zero() {
                    touches.matrices(a.addr(), bytes, ta.stored(m, n), lda, Batch::ONE, false);
                }
                if !scalars.beta.is_zero() {
                    touches.matrices(b.addr(), bytes, tb.stored(m, n), ldb, Batch::ONE, false);
                }
                touches.matrices(c.addr(), bytes, (m, n), ldc, Batch::ONE, true);
            },
            // SAFETY: the runtime has checked the memory.
            move || unsafe {
                let a = Factor { start: a, leading: lda, operation: ta };
                let b = Factor { start: b, leading: ldb, operation: tb };
                let (alpha, beta) = (scalars.alpha.get(), scalars.beta.get());
                crate::numeric::product::sum((m, n), (alpha, a), (beta, b), (c, ldc));
            },
        )
    }
}

/// `cublasHgemm` and its variants compute in single precision and round once.
mod half_products {
    use super::*;
    use crate::numeric::mixed::{ElementType, MixedMatrix, MixedProduct};

    fn run(shape: &ProductShape, alpha: f16, (a, b): (usize, usize), beta: f16, c: usize) {
        let matrix = |start, leading| MixedMatrix { start, ty: ElementType::Half, leading };
        let [a, b, c] = [(a, 0), (b, 1), (c, 2)].map(|(start, at)| matrix(start, shape.leading[at]));
        let [a_operation, b_operation] = shape.operations;
        let product = MixedProduct { size: shape.size, a_operation, b_operation };
        // SAFETY: the runtime has checked the memory.
        unsafe {
            product.compute::<f32>((alpha.into(), a, b), (beta.into(), c), c, |value, _, _| value);
        }
    }

    fn strided(
        call: Call,
        shape: ProductShape,
        (alpha, beta): (*const f16, *const f16),
        places: [usize; 3],
        strides: [i64; 3],
        count: usize,
    ) -> Outcome {
        let (alpha, beta) = (half_param(&call, alpha)?, half_param(&call, beta)?);
        if shape.is_empty() || count == 0 {
            return Ok(());
        }
        let batch = strides.map(|stride| Batch { count, stride: stride as isize });
        call.submit(
            move |touches| {
                alpha.touch(touches);
                beta.touch(touches);
                let reads = !matches!(alpha, Param::Value(value) if value == f16::ZERO);
                shape.touch(touches, reads, [0, 1, 2].map(|i| (places[i], 2, batch[i])));
            },
            move || {
                // SAFETY: the runtime has checked the memory.
                let (alpha, beta) = unsafe { (alpha.get(), beta.get()) };
                for i in 0..count as isize {
                    let [a, b, c] =
                        [0, 1, 2].map(|at| places[at].wrapping_add_signed(2 * i * batch[at].stride));
                    run(&shape, alpha, (a, b), beta, c);
                }
            },
        )
    }

    blas! {
        "" ["H" ()] "gemm" "" (call; transa: u32, transb: u32, m: Int, n: Int, k: Int, alpha: *const f16, a: *const f16, lda: Int, b: *const f16, ldb: Int, beta: *const f16, c: *mut f16, ldc: Int) {
            let shape = ProductShape::new((transa, transb), (m, n, k), (lda, ldb, ldc))?;
            strided(call, shape, (alpha, beta), [a.addr(), b.addr(), c.addr()], [0; 3], 1)
        }

        "" ["H" ()] "gemmStridedBatched" "" (call; transa: u32, transb: u32, m: Int, n: Int, k: Int, alpha: *const f16, a: *const f16, lda: Int, a_stride: i64, b: *const f16, ldb: Int, b_stride: i64, beta: *const f16, c: *mut f16, ldc: Int, c_stride: i64, count: Int) {
            let shape = ProductShape::new((transa, transb), (m, n, k), (lda, ldb, ldc))?;
            strided(call, shape, (alpha, beta), [a.addr(), b.addr(), c.addr()], [a_stride, b_stride, c_stride], size(count)?)
        }

        "" ["H" ()] "gemmBatched" "" (call; transa: u32, transb: u32, m: Int, n: Int, k: Int, alpha: *const f16, a: *const *const f16, lda: Int, b: *const *const f16, ldb: Int, beta: *const f16, c: *const *mut f16, ldc: Int, count: Int) {
            let shape = ProductShape::new((transa, transb), (m, n, k), (lda, ldb, ldc))?;
            let (alpha, beta) = (half_param(&call, alpha)?, half_param(&call, beta)?);
            let count = size(count)?;
            if shape.is_empty() || count == 0 {
                return Ok(());
            }
            call.submit(
                move |touches| {
                    alpha.touch(touches);
                    beta.touch(touches);
                    let factors = (touches.addresses(a.cast::<*mut f16>(), count), touches.addresses(b.cast::<*mut f16>(), count));
                    for ((a, b), c) in factors.0.into_iter().zip(factors.1).zip(touches.addresses(c, count)) {
                        shape.touch(touches, true, [a, b, c].map(|at| (at.addr(), 2, Batch::ONE)));
                    }
                },
                // SAFETY: the runtime has checked the memory.
                move || unsafe {
                    for i in 0..count {
                        let factors = (a.add(i).read_unaligned().addr(), b.add(i).read_unaligned().addr());
                        run(&shape, alpha.get(), factors, beta.get(), c.add(i).read_unaligned().addr());
                    }
                },
            )
        }
    }
}
