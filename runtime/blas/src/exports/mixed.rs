//! Functions whose elements' types are parameters (`Ex`).

use std::ffi::c_void;

use crate::call::Call;
use crate::exports::products::ProductShape;
use crate::exports::{Int, blas};
use crate::numeric::mixed::{Computed, ElementType, MixedMatrix, MixedProduct, whole_numbers};
use crate::scalar::{Complex32, Complex64};
use crate::status::{Outcome, Status, size, valid};
use crate::touched::{Batch, Touches};

/// The type that a product computes in, and that its scalars have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComputeType {
    /// Single precision, with scalars of 16 bits.
    Half,
    /// Single precision.
    Float,
    /// Double precision.
    Double,
    /// Whole numbers.
    Int,
}

impl ComputeType {
    /// The `cublasComputeType_t` with this number.
    ///
    /// # Errors
    /// `CUBLAS_STATUS_INVALID_VALUE` if there is none.
    pub fn new(number: u32) -> Outcome<Self> {
        match number {
            64 | 65 => Ok(Self::Half),
            68 | 69 | 74 | 75 | 77 | 78 => Ok(Self::Float),
            70 | 71 | 79 => Ok(Self::Double),
            72 | 73 => Ok(Self::Int),
            _ => Err(Status::INVALID_VALUE),
        }
    }
}

/// A scalar of a product, as its bytes: what they mean depends on the types.
#[derive(Clone, Copy)]
pub struct MixedScalar {
    bytes: [u8; 16],
    /// Where it is in the device's memory.
    at: Option<*const u8>,
    ty: ElementType,
}

impl MixedScalar {
    /// A scalar of this type. `on_device`: it is read when the operation runs.
    ///
    /// # Errors
    /// `CUBLAS_STATUS_INVALID_VALUE` for a null pointer.
    pub fn new(at: *const c_void, ty: ElementType, on_device: bool) -> Outcome<Self> {
        valid(!at.is_null())?;
        let mut bytes = [0; 16];
        if !on_device {
            // SAFETY: the program passes a valid pointer.
            unsafe { std::ptr::copy_nonoverlapping(at.cast(), bytes.as_mut_ptr(), ty.size()) };
        }
        Ok(Self { bytes, at: on_device.then_some(at.cast()), ty })
    }

    /// Adds what is read of the device's memory.
    pub fn touch(&self, touches: &mut Touches) {
        if let Some(at) = self.at {
            touches.elements(at, self.ty.size(), false);
        }
    }

    fn place(&self) -> *const u8 {
        self.at.unwrap_or(self.bytes.as_ptr())
    }

    /// The value in the type of the computation.
    ///
    /// # Safety
    /// The runtime has checked the memory.
    pub unsafe fn get<T: Computed>(&self) -> T {
        // SAFETY: by contract.
        unsafe { T::load(self.place(), self.ty) }
    }

    unsafe fn whole(&self) -> i32 {
        // SAFETY: as above.
        unsafe { self.place().cast::<i32>().read_unaligned() }
    }

    /// True if the value is known to be 0.
    pub fn is_zero(&self) -> bool {
        self.at.is_none() && self.bytes == [0; 16]
    }
}

/// The types of a product.
#[derive(Clone, Copy)]
pub struct ProductTypes {
    /// Of the factors and of the result.
    pub elements: [ElementType; 3],
    compute: ComputeType,
}

impl ProductTypes {
    /// The types with these numbers. Others than those that cuBLAS documents may be accepted too.
    ///
    /// # Errors
    /// `CUBLAS_STATUS_NOT_SUPPORTED`, with a message.
    pub fn new(call: &Call, elements: [u32; 3], compute: ComputeType) -> Outcome<Self> {
        let refused = || call.refuse("gpurace's cuBLAS does not support these types");
        let [Some(a), Some(b), Some(c)] = elements.map(ElementType::new) else { return Err(refused()) };
        let fits = match compute {
            ComputeType::Int => (a, b, c) == (ElementType::Byte, ElementType::Byte, ElementType::Int),
            ComputeType::Half => (a, b, c) == (ElementType::Half, ElementType::Half, ElementType::Half),
            ComputeType::Float => {
                let narrow =
                    |ty| !matches!(ty, ElementType::Double | ElementType::DoubleComplex | ElementType::Int);
                narrow(a)
                    && narrow(b)
                    && narrow(c)
                    && a.is_complex() == c.is_complex()
                    && c != ElementType::Byte
            }
            ComputeType::Double => {
                matches!(c, ElementType::Double | ElementType::DoubleComplex) && a == c && b == c
            }
        };
        if !fits || a.is_complex() != b.is_complex() {
            return Err(refused());
        }
        Ok(Self { elements: [a, b, c], compute })
    }

    /// The type of the scalars.
    fn scalars(&self) -> ElementType {
        match (self.compute, self.elements[2].is_complex()) {
            (ComputeType::Half, _) => ElementType::Half,
            (ComputeType::Int, _) => ElementType::Int,
            (ComputeType::Float, false) => ElementType::Float,
            (ComputeType::Float, true) => ElementType::Complex,
            (ComputeType::Double, false) => ElementType::Double,
            (ComputeType::Double, true) => ElementType::DoubleComplex,
        }
    }
}

/// A product of matrices whose types are parameters.
#[derive(Clone, Copy)]
struct TypedProduct {
    shape: ProductShape,
    types: ProductTypes,
    alpha: MixedScalar,
    beta: MixedScalar,
}

impl TypedProduct {
    fn new(
        call: &Call,
        shape: ProductShape,
        types: ProductTypes,
        alpha: *const c_void,
        beta: *const c_void,
    ) -> Outcome<Self> {
        let scalar = |at| MixedScalar::new(at, types.scalars(), call.scalars_on_device());
        Ok(Self { shape, types, alpha: scalar(alpha)?, beta: scalar(beta)? })
    }

    fn touch(&self, touches: &mut Touches, places: [usize; 3], batches: [Batch; 3]) {
        let element = |i: usize| self.types.elements[i].size();
        let places = [0, 1, 2].map(|i| (places[i], element(i), batches[i]));
        self.shape.touch(touches, !self.alpha.is_zero(), places);
    }

    /// Computes one product.
    ///
    /// # Safety
    /// The runtime has checked the memory.
    unsafe fn run(&self, places: [usize; 3]) {
        let [a, b, c] = [0, 1, 2].map(|i| MixedMatrix {
            start: places[i],
            ty: self.types.elements[i],
            leading: self.shape.leading[i],
        });
        let [a_operation, b_operation] = self.shape.operations;
        let product = MixedProduct { size: self.shape.size, a_operation, b_operation };
        // SAFETY: by contract.
        unsafe {
            match (self.types.compute, c.ty.is_complex()) {
                (ComputeType::Int, _) => {
                    whole_numbers(product, (self.alpha.whole(), a, b), (self.beta.whole(), c));
                }
                (ComputeType::Half | ComputeType::Float, false) => self.compute::<f32>(product, a, b, c),
                (ComputeType::Half | ComputeType::Float, true) => self.compute::<Complex32>(product, a, b, c),
                (ComputeType::Double, false) => self.compute::<f64>(product, a, b, c),
                (ComputeType::Double, true) => self.compute::<Complex64>(product, a, b, c),
            }
        }
    }

    unsafe fn compute<T: Computed>(
        &self,
        product: MixedProduct,
        a: MixedMatrix,
        b: MixedMatrix,
        c: MixedMatrix,
    ) {
        // SAFETY: the callers' contract.
        unsafe {
            let (alpha, beta) = (self.alpha.get::<T>(), self.beta.get::<T>());
            product.compute((alpha, a, b), (beta, c), c, |value, _, _| value);
        }
    }

    fn submit(self, call: Call, places: [usize; 3], strides: [i64; 3], count: usize) -> Outcome {
        if self.shape.is_empty() || count == 0 {
            return Ok(());
        }
        let batches = strides.map(|stride| Batch { count, stride: stride as isize });
        let touched = move |touches: &mut Touches| {
            self.alpha.touch(touches);
            self.beta.touch(touches);
            self.touch(touches, places, batches);
        };
        call.submit(touched, move || {
            for i in 0..count as isize {
                let place = |at: usize| {
                    let bytes = self.types.elements[at].size() as isize;
                    places[at].wrapping_add_signed(i * batches[at].stride * bytes)
                };
                // SAFETY: the runtime has checked the memory.
                unsafe { self.run([0, 1, 2].map(place)) };
            }
        })
    }

    fn submit_batched(self, call: Call, arrays: [*const *mut c_void; 3], count: usize) -> Outcome {
        if self.shape.is_empty() || count == 0 {
            return Ok(());
        }
        let touched = move |touches: &mut Touches| {
            self.alpha.touch(touches);
            self.beta.touch(touches);
            let [a, b, c] = arrays.map(|array| touches.addresses(array, count));
            for ((a, b), c) in a.into_iter().zip(b).zip(c) {
                self.touch(touches, [a, b, c].map(|at| at.addr()), [Batch::ONE; 3]);
            }
        };
        call.submit(touched, move || {
            for i in 0..count {
                // SAFETY: the runtime has checked the memory.
                unsafe { self.run(arrays.map(|array| array.add(i).read_unaligned().addr())) };
            }
        })
    }
}

blas! {
    "GemmEx" ["" ()] "" "" (call; transa: u32, transb: u32, m: Int, n: Int, k: Int, alpha: *const c_void, a: *const c_void, a_type: u32, lda: Int, b: *const c_void, b_type: u32, ldb: Int, beta: *const c_void, c: *mut c_void, c_type: u32, ldc: Int, compute: u32, _algorithm: i32) {
        let shape = ProductShape::new((transa, transb), (m, n, k), (lda, ldb, ldc))?;
        let types = ProductTypes::new(&call, [a_type, b_type, c_type], ComputeType::new(compute)?)?;
        let product = TypedProduct::new(&call, shape, types, alpha, beta)?;
        product.submit(call, [a.addr(), b.addr(), c.addr()], [0; 3], 1)
    }

    "GemmStridedBatchedEx" ["" ()] "" "" (call; transa: u32, transb: u32, m: Int, n: Int, k: Int, alpha: *const c_void, a: *const c_void, a_type: u32, lda: Int, a_stride: i64, b: *const c_void, b_type: u32, ldb: Int, b_stride: i64, beta: *const c_void, c: *mut c_void, c_type: u32, ldc: Int, c_stride: i64, count: Int, compute: u32, _algorithm: i32) {
        let shape = ProductShape::new((transa, transb), (m, n, k), (lda, ldb, ldc))?;
        let types = ProductTypes::new(&call, [a_type, b_type, c_type], ComputeType::new(compute)?)?;
        let product = TypedProduct::new(&call, shape, types, alpha, beta)?;
        product.submit(call, [a.addr(), b.addr(), c.addr()], [a_stride, b_stride, c_stride], size(count)?)
    }

    "GemmBatchedEx" ["" ()] "" "" (call; transa: u32, transb: u32, m: Int, n: Int, k: Int, alpha: *const c_void, a: *const *mut c_void, a_type: u32, lda: Int, b: *const *mut c_void, b_type: u32, ldb: Int, beta: *const c_void, c: *const *mut c_void, c_type: u32, ldc: Int, count: Int, compute: u32, _algorithm: i32) {
        let shape = ProductShape::new((transa, transb), (m, n, k), (lda, ldb, ldc))?;
        let types = ProductTypes::new(&call, [a_type, b_type, c_type], ComputeType::new(compute)?)?;
        let product = TypedProduct::new(&call, shape, types, alpha, beta)?;
        product.submit_batched(call, [a, b, c], size(count)?)
    }

    "" ["S" (), "C" ()] "gemmEx" "" (call; transa: u32, transb: u32, m: Int, n: Int, k: Int, alpha: *const c_void, a: *const c_void, a_type: u32, lda: Int, b: *const c_void, b_type: u32, ldb: Int, beta: *const c_void, c: *mut c_void, c_type: u32, ldc: Int) {
        let shape = ProductShape::new((transa, transb), (m, n, k), (lda, ldb, ldc))?;
        let types = ProductTypes::new(&call, [a_type, b_type, c_type], ComputeType::Float)?;
        let product = TypedProduct::new(&call, shape, types, alpha, beta)?;
        product.submit(call, [a.addr(), b.addr(), c.addr()], [0; 3], 1)
    }

    "Cgemm3mEx" ["" ()] "" "" (call; transa: u32, transb: u32, m: Int, n: Int, k: Int, alpha: *const c_void, a: *const c_void, a_type: u32, lda: Int, b: *const c_void, b_type: u32, ldb: Int, beta: *const c_void, c: *mut c_void, c_type: u32, ldc: Int) {
        let shape = ProductShape::new((transa, transb), (m, n, k), (lda, ldb, ldc))?;
        let types = ProductTypes::new(&call, [a_type, b_type, c_type], ComputeType::Float)?;
        let product = TypedProduct::new(&call, shape, types, alpha, beta)?;
        product.submit(call, [a.addr(), b.addr(), c.addr()], [0; 3], 1)
    }
}
