//! `cublasLtMatmul`: `d = epilogue(alpha * op(a) * op(b) + beta * c)`.

use std::ffi::{CStr, c_void};

use crate::call::{Call, enter};
use crate::exports::lt::descriptors::{MatmulDescriptor, MatrixLayout};
use crate::exports::mixed::{ComputeType, MixedScalar};
use crate::handle::RawHandle;
use crate::numeric::mixed::{Computed, ElementType, MixedMatrix, MixedProduct};
use crate::scalar::{Complex32, Complex64};
use crate::status::{Operation, Outcome, Status, as_operation, valid};
use crate::touched::{Batch, Touches};

// Parts of `cublasLtEpilogue_t`.
const RELU: u32 = 2;
const BIAS: u32 = 4;
const DERIVED: u32 = 8;
const GRADIENT: u32 = 16;
const GELU: u32 = 32;
const DERIVED_GELU: u32 = 64;
const AUXILIARY: u32 = 128;
const GRADIENT_OF_A: u32 = 256;
const GRADIENT_OF_B: u32 = 512;

/// The epilogues that there are.
const EPILOGUES: [u32; 16] = [1, 2, 130, 4, 6, 134, 136, 152, 32, 160, 36, 164, 192, 208, 256, 512];

/// Many matrices by a layout: in columns, or in rows.
#[derive(Clone, Copy)]
struct LaidOut {
    ty: ElementType,
    rows: usize,
    columns: usize,
    leading: usize,
    in_rows: bool,
    batch: Batch,
}

impl LaidOut {
    fn new(call: &Call, layout: &MatrixLayout) -> Outcome<Self> {
        let refused = |what: &str| call.refuse(&format!("gpurace's cuBLAS does not support {what}"));
        let ty = ElementType::new(layout.ty).ok_or_else(|| refused("this type of elements"))?;
        if layout.order > 1 {
            return Err(refused("this order of elements"));
        }
        let number = |value: u64| usize::try_from(value).map_err(|_| Status::INVALID_VALUE);
        let (rows, columns) = (number(layout.rows)?, number(layout.columns)?);
        let in_rows = layout.order == 1;
        let leading = usize::try_from(layout.leading).map_err(|_| Status::INVALID_VALUE)?;
        valid(leading >= if in_rows { columns } else { rows } && layout.count > 0)?;
        let batch = Batch { count: layout.count as usize, stride: layout.stride as isize };
        Ok(Self { ty, rows, columns, leading, in_rows, batch })
    }

    /// The matrix in columns that has the same elements, and what is done to it.
    fn as_columns(&self, operation: Operation) -> Option<((usize, usize), Operation)> {
        if !self.in_rows {
            return Some(((self.rows, self.columns), operation));
        }
        let turned = match operation {
            Operation::Plain => Operation::Transposed,
            Operation::Transposed => Operation::Plain,
            Operation::ConjugateTransposed if !self.ty.is_complex() => Operation::Plain,
            Operation::ConjugateTransposed => return None,
        };
        Some(((self.columns, self.rows), turned))
    }

    /// Address of the first element of one matrix.
    fn first(&self, start: usize, index: usize) -> usize {
        start.wrapping_add_signed(index as isize * self.batch.stride * self.ty.size() as isize)
    }

    fn at(&self, start: usize, index: usize) -> MixedMatrix {
        MixedMatrix { start: self.first(start, index), ty: self.ty, leading: self.leading }
    }

    fn place(&self, matrix: &MixedMatrix, row: usize, column: usize) -> *mut u8 {
        if self.in_rows { matrix.place(column, row) } else { matrix.place(row, column) }
    }

    fn touch(&self, touches: &mut Touches, start: usize, writes: bool) {
        let size = if self.in_rows { (self.columns, self.rows) } else { (self.rows, self.columns) };
        touches.matrices(start, self.ty.size(), size, self.leading, self.batch, writes);
    }
}

/// A product as its descriptors say, checked.
#[derive(Clone, Copy)]
pub struct Matmul {
    compute: ComputeType,
    scale: ElementType,
    on_device: bool,
    product: MixedProduct,
    matrices: [LaidOut; 4],
    epilogue: u32,
    bias: (usize, ElementType, isize),
    /// Address, type, elements from one column to the next, and from one matrix to the next.
    auxiliary: (usize, ElementType, usize, isize),
}

impl Matmul {
    fn new(call: &Call, descriptor: &MatmulDescriptor, layouts: [&MatrixLayout; 4]) -> Outcome<Self> {
        let refused = |what: &str| call.refuse(&format!("gpurace's cuBLAS does not support {what}"));
        let [a, b, c, d] = layouts;
        let matrices =
            [LaidOut::new(call, a)?, LaidOut::new(call, b)?, LaidOut::new(call, c)?, LaidOut::new(call, d)?];
        let [a, b, c, d] = &matrices;
        let compute = ComputeType::new(descriptor.compute)?;
        let scale = ElementType::new(descriptor.scale).ok_or_else(|| refused("this type of scalars"))?;
        let [ta, tb, tc] = descriptor.operations;
        let (ta, tb) = (as_operation(ta)?, as_operation(tb)?);
        if tc != 0 {
            return Err(refused("a transposition of `C`"));
        }
        if descriptor.pointer_mode > 1 {
            return Err(refused("vectors of scalars"));
        }
        if descriptor.scales.iter().any(|&at| at != 0) {
            return Err(refused("factors for floats of 8 bits"));
        }
        let is_complex = d.ty.is_complex();
        let epilogue = descriptor.epilogue;
        if !EPILOGUES.contains(&epilogue) || (is_complex && epilogue != 1) {
            return Err(refused("this epilogue"));
        }
        if matrices.iter().any(|matrix| matrix.ty.is_complex() != is_complex) {
            return Err(refused("these types"));
        }
        let (m, k) = ta.stored(a.rows, a.columns);
        let (k_of_b, n) = tb.stored(b.rows, b.columns);
        valid(k == k_of_b && (c.rows, c.columns) == (m, n) && (d.rows, d.columns) == (m, n))?;
        valid(matrices.iter().all(|matrix| matrix.batch.count == d.batch.count))?;
        let as_columns = |matrix: &LaidOut, operation| {
            matrix.as_columns(operation).ok_or_else(|| refused("conjugates of matrices in rows"))
        };
        let ((_, a_operation), (_, b_operation)) = (as_columns(a, ta)?, as_columns(b, tb)?);
        let of = |number: i32| match u32::try_from(number) {
            Err(_) => Ok(d.ty),
            Ok(number) => ElementType::new(number).ok_or_else(|| refused("this type of elements")),
        };
        let uses_bias = epilogue & (BIAS | GRADIENT | GRADIENT_OF_A | GRADIENT_OF_B) != 0;
        let leading = usize::try_from(descriptor.auxiliary_leading).map_err(|_| Status::INVALID_VALUE)?;
        valid(!uses_bias || descriptor.bias != 0)?;
        valid(epilogue & AUXILIARY == 0 || (descriptor.auxiliary != 0 && leading >= m))?;
        Ok(Self {
            compute,
            scale,
            on_device: descriptor.pointer_mode == 1,
            product: MixedProduct { size: (m, n, k), a_operation, b_operation },
            matrices,
            epilogue,
            bias: (descriptor.bias, of(descriptor.bias_type)?, descriptor.bias_stride as isize),
            auxiliary: (
                descriptor.auxiliary,
                of(descriptor.auxiliary_type)?,
                leading,
                descriptor.auxiliary_stride as isize,
            ),
        })
    }

    fn has(&self, part: u32) -> bool {
        self.epilogue & part != 0
    }

    /// The auxiliary matrix holds one bit for each element.
    fn keeps_bits(&self) -> bool {
        self.has(RELU) || (self.has(DERIVED) && !self.has(DERIVED_GELU))
    }

    fn touch(&self, touches: &mut Touches, scalars: [MixedScalar; 2], places: [usize; 4]) {
        let (m, n, k) = self.product.size;
        let [alpha, beta] = scalars;
        alpha.touch(touches);
        beta.touch(touches);
        if !alpha.is_zero() && k != 0 {
            self.matrices[0].touch(touches, places[0], false);
            self.matrices[1].touch(touches, places[1], false);
        }
        if !beta.is_zero() && places[2] != places[3] {
            self.matrices[2].touch(touches, places[2], false);
        }
        self.matrices[3].touch(touches, places[3], true);
        let count = self.matrices[3].batch.count;
        let (bias, ty, stride) = self.bias;
        if self.has(BIAS | GRADIENT | GRADIENT_OF_A | GRADIENT_OF_B) {
            let length = if self.has(GRADIENT_OF_B) { n } else { m };
            let batch = Batch { count, stride };
            touches.matrices(bias, ty.size(), (length, 1), length, batch, !self.has(BIAS));
        }
        let (auxiliary, ty, leading, stride) = self.auxiliary;
        if self.has(AUXILIARY) {
            let writes = !self.has(DERIVED | DERIVED_GELU);
            if self.keeps_bits() {
                let batch = Batch { count, stride: stride / 8 };
                touches.matrices(auxiliary, 1, (m.div_ceil(8), n), leading / 8, batch, writes);
            } else {
                touches.matrices(auxiliary, ty.size(), (m, n), leading, Batch { count, stride }, writes);
            }
        }
    }

    /// Computes all matrices.
    ///
    /// # Safety
    /// The runtime has checked the memory.
    unsafe fn run(&self, scalars: [MixedScalar; 2], places: [usize; 4]) {
        for index in 0..self.matrices[3].batch.count {
            // SAFETY: by contract.
            unsafe {
                match (self.compute, self.matrices[3].ty.is_complex()) {
                    (ComputeType::Half | ComputeType::Float, false) => {
                        self.run_one::<f32>(scalars, places, index);
                    }
                    (ComputeType::Half | ComputeType::Float, true) => {
                        self.run_one::<Complex32>(scalars, places, index);
                    }
                    // Sums of products of bytes are exact in double precision.
                    (ComputeType::Double | ComputeType::Int, false) => {
                        self.run_one::<f64>(scalars, places, index);
                    }
                    (ComputeType::Double | ComputeType::Int, true) => {
                        self.run_one::<Complex64>(scalars, places, index);
                    }
                }
            }
        }
    }

    unsafe fn run_one<T: Computed>(&self, scalars: [MixedScalar; 2], places: [usize; 4], index: usize) {
        let (m, n, _) = self.product.size;
        let [a, b, c, d] = [0, 1, 2, 3].map(|i| self.matrices[i].at(places[i], index));
        let (auxiliary, auxiliary_type, auxiliary_leading, stride) = self.auxiliary;
        let kept = Kept {
            bits: self.keeps_bits(),
            matrix: MixedMatrix {
                start: if self.keeps_bits() {
                    auxiliary.wrapping_add_signed(index as isize * stride / 8)
                } else {
                    auxiliary.wrapping_add_signed(index as isize * stride * auxiliary_type.size() as isize)
                },
                ty: auxiliary_type,
                leading: auxiliary_leading,
            },
        };
        let (bias, bias_type, stride) = self.bias;
        let bias = MixedMatrix {
            start: bias.wrapping_add_signed(index as isize * stride * bias_type.size() as isize),
            ty: bias_type,
            leading: m.max(n).max(1),
        };
        let mut gradient = vec![T::ZERO; m];
        // SAFETY: the callers' contract.
        unsafe {
            let (alpha, beta) = (scalars[0].get::<T>(), scalars[1].get::<T>());
            let product = self.product.product(alpha, a, b);
            for (i, j) in (0..n).flat_map(|j| (0..m).map(move |i| (i, j))) {
                let mut value = product[j * m + i];
                if beta != T::ZERO {
                    value += beta * T::load(self.matrices[2].place(&c, i, j), c.ty);
                }
                if self.has(BIAS) {
                    value += T::load(bias.place(i, 0), bias.ty);
                }
                value = self.finish(value, &kept, i, j);
                if self.has(GRADIENT) {
                    gradient[i] += value;
                }
                value.store(self.matrices[3].place(&d, i, j), d.ty);
            }
            if self.has(GRADIENT) {
                for (i, sum) in gradient.into_iter().enumerate() {
                    sum.store(bias.place(i, 0), bias.ty);
                }
            }
            self.add_up_factor::<T>(a, b, &bias);
        }
    }

    /// Applies the function of the epilogue to an element.
    unsafe fn finish<T: Computed>(&self, value: T, kept: &Kept, i: usize, j: usize) -> T {
        // SAFETY: the callers' contract.
        unsafe {
            if self.has(DERIVED_GELU) {
                let x = T::load(kept.matrix.place(i, j), kept.matrix.ty).to_f64();
                return value * T::of_f64(gelu_derivative(x));
            }
            if self.has(DERIVED) {
                return if kept.bit(i, j) { value } else { T::ZERO };
            }
            if self.has(AUXILIARY) && kept.bits {
                kept.set_bit(i, j, value.to_f64() > 0.0);
            } else if self.has(AUXILIARY) {
                value.store(kept.matrix.place(i, j), kept.matrix.ty);
            }
        }
        match () {
            () if self.has(RELU) && value.to_f64() <= 0.0 => T::ZERO,
            () if self.has(GELU) => T::of_f64(gelu(value.to_f64())),
            () => value,
        }
    }

    /// Writes the sums of a factor over the terms of the product.
    unsafe fn add_up_factor<T: Computed>(&self, a: MixedMatrix, b: MixedMatrix, bias: &MixedMatrix) {
        let (m, n, k) = self.product.size;
        let of_a = self.has(GRADIENT_OF_A);
        if !of_a && !self.has(GRADIENT_OF_B) {
            return;
        }
        let (factor, operation) =
            if of_a { (a, self.product.a_operation) } else { (b, self.product.b_operation) };
        for i in 0..if of_a { m } else { n } {
            let mut sum = T::ZERO;
            for l in 0..k {
                let (row, column) = if of_a { (i, l) } else { (l, i) };
                let (row, column) = if operation.transposes() { (column, row) } else { (row, column) };
                // SAFETY: the callers' contract.
                sum += unsafe { T::load(factor.place(row, column), factor.ty) };
            }
            // SAFETY: as above.
            unsafe { sum.store(bias.place(i, 0), bias.ty) };
        }
    }
}

/// The matrix that an epilogue keeps for its derivative.
struct Kept {
    bits: bool,
    matrix: MixedMatrix,
}

impl Kept {
    fn byte(&self, i: usize, j: usize) -> *mut u8 {
        let at = self.matrix.start + (j * self.matrix.leading + i) / 8;
        std::ptr::with_exposed_provenance_mut(at)
    }

    unsafe fn bit(&self, i: usize, j: usize) -> bool {
        // SAFETY: the callers' contract.
        unsafe { self.byte(i, j).read() >> (i % 8) & 1 == 1 }
    }

    unsafe fn set_bit(&self, i: usize, j: usize, set: bool) {
        let mask = 1 << (i % 8);
        // SAFETY: the callers' contract.
        unsafe {
            let before = if i.is_multiple_of(8) { 0 } else { self.byte(i, j).read() };
            self.byte(i, j).write(if set { before | mask } else { before & !mask });
        }
    }
}

/// The approximation of GELU that cuBLASLt documents.
fn gelu(x: f64) -> f64 {
    let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3));
    0.5 * x * (1.0 + inner.tanh())
}

fn gelu_derivative(x: f64) -> f64 {
    let root = (2.0 / std::f64::consts::PI).sqrt();
    let tangent = (root * (x + 0.044715 * x.powi(3))).tanh();
    let inner = root * (1.0 + 3.0 * 0.044715 * x * x);
    0.5 * (1.0 + tangent) + 0.5 * x * (1.0 - tangent * tangent) * inner
}

unsafe fn described<'a>(
    descriptor: *const MatmulDescriptor,
    layouts: [*const MatrixLayout; 4],
) -> Outcome<(&'a MatmulDescriptor, [&'a MatrixLayout; 4])> {
    valid(!descriptor.is_null() && layouts.iter().all(|layout| !layout.is_null()))?;
    // SAFETY: not null, hence valid by the callers' contract.
    Ok(unsafe { (&*descriptor, layouts.map(|layout| &*layout)) })
}

/// Checks that the product is supported.
///
/// # Safety
/// The descriptors are null or valid.
///
/// # Errors
/// `CUBLAS_STATUS_NOT_SUPPORTED` with a message, or `CUBLAS_STATUS_INVALID_VALUE`.
pub unsafe fn check(
    handle: RawHandle,
    name: &'static CStr,
    descriptor: *const MatmulDescriptor,
    layouts: [*const MatrixLayout; 4],
) -> Outcome {
    // SAFETY: by contract.
    let (descriptor, layouts) = unsafe { described(descriptor, layouts)? };
    let status = enter(name, handle, |call| Matmul::new(&call, descriptor, layouts).map(|_| ()));
    if status == Status::SUCCESS { Ok(()) } else { Err(status) }
}

/// `cublasLtMatmul` of cuBLASLt.
///
/// # Safety
/// Pointers are as cuBLASLt documents them.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)]
pub unsafe extern "C" fn cublasLtMatmul(
    handle: RawHandle,
    descriptor: *const MatmulDescriptor,
    alpha: *const c_void,
    a: *const c_void,
    a_layout: *const MatrixLayout,
    b: *const c_void,
    b_layout: *const MatrixLayout,
    beta: *const c_void,
    c: *const c_void,
    c_layout: *const MatrixLayout,
    d: *mut c_void,
    d_layout: *const MatrixLayout,
    _algorithm: *const c_void,
    _workspace: *mut c_void,
    _workspace_size: usize,
    stream: *mut c_void,
) -> Status {
    enter(c"cublasLtMatmul", handle, |mut call| {
        call.settings.stream = stream;
        // SAFETY: by contract.
        let (descriptor, layouts) =
            unsafe { described(descriptor, [a_layout, b_layout, c_layout, d_layout])? };
        let matmul = Matmul::new(&call, descriptor, layouts)?;
        let scalar = |at| MixedScalar::new(at, matmul.scale, matmul.on_device);
        let scalars = [scalar(alpha)?, scalar(beta)?];
        let (m, n, _) = matmul.product.size;
        if m == 0 || n == 0 {
            return Ok(());
        }
        let places = [a.addr(), b.addr(), c.addr(), d.addr()];
        call.submit(
            move |touches| matmul.touch(touches, scalars, places),
            // SAFETY: the runtime has checked the memory.
            move || unsafe { matmul.run(scalars, places) },
        )
    })
}
