//! Elements whose type is known only when the call is made (`cudaDataType`). They are converted to the type of
//! the computation and back.

use half::{bf16, f16};

use crate::numeric::product::{Factor, gemm};
use crate::scalar::{Complex32, Complex64, Scalar};
use crate::status::Operation;

/// A `cudaDataType` that has a counterpart here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementType {
    /// `CUDA_R_16F`
    Half,
    /// `CUDA_R_16BF`
    Bfloat,
    /// `CUDA_R_32F`
    Float,
    /// `CUDA_R_64F`
    Double,
    /// `CUDA_C_32F`
    Complex,
    /// `CUDA_C_64F`
    DoubleComplex,
    /// `CUDA_R_8I`
    Byte,
    /// `CUDA_R_32I`
    Int,
}

impl ElementType {
    /// The type with this number.
    pub fn new(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::Float,
            1 => Self::Double,
            2 => Self::Half,
            3 => Self::Byte,
            4 => Self::Complex,
            5 => Self::DoubleComplex,
            10 => Self::Int,
            14 => Self::Bfloat,
            _ => return None,
        })
    }

    /// Bytes of an element.
    pub fn size(self) -> usize {
        match self {
            Self::Byte => 1,
            Self::Half | Self::Bfloat => 2,
            Self::Float | Self::Int => 4,
            Self::Double | Self::Complex => 8,
            Self::DoubleComplex => 16,
        }
    }

    /// True for complex numbers.
    pub fn is_complex(self) -> bool {
        matches!(self, Self::Complex | Self::DoubleComplex)
    }

    /// True for real numbers of 16 to 64 bits that have fractions.
    pub fn is_real(self) -> bool {
        matches!(self, Self::Half | Self::Bfloat | Self::Float | Self::Double)
    }
}

/// The type of a computation.
pub trait Computed: Scalar {
    /// Reads an element.
    ///
    /// # Safety
    /// There is such an element.
    unsafe fn load(at: *const u8, ty: ElementType) -> Self;

    /// Writes an element.
    ///
    /// # Safety
    /// As [`Self::load`].
    unsafe fn store(self, at: *mut u8, ty: ElementType);
}

macro_rules! computed {
    ($ty:ty, $of:expr, $re:expr, $im:expr) => {
        impl Computed for $ty {
            unsafe fn load(at: *const u8, ty: ElementType) -> Self {
                let of: fn(f64, f64) -> $ty = $of;
                // SAFETY: by contract.
                unsafe {
                    match ty {
                        ElementType::Half => of(at.cast::<f16>().read_unaligned().into(), 0.0),
                        ElementType::Bfloat => of(at.cast::<bf16>().read_unaligned().into(), 0.0),
                        ElementType::Float => of(at.cast::<f32>().read_unaligned().into(), 0.0),
                        ElementType::Double => of(at.cast::<f64>().read_unaligned(), 0.0),
                        ElementType::Byte => of(at.cast::<i8>().read_unaligned().into(), 0.0),
                        ElementType::Int => of(at.cast::<i32>().read_unaligned().into(), 0.0),
                        ElementType::Complex => {
                            let z = at.cast::<Complex32>().read_unaligned();
                            of(z.re.into(), z.im.into())
                        }
                        ElementType::DoubleComplex => {
                            let z = at.cast::<Complex64>().read_unaligned();
                            of(z.re, z.im)
                        }
                    }
                }
            }

            unsafe fn store(self, at: *mut u8, ty: ElementType) {
                let (re, im): (fn($ty) -> f64, fn($ty) -> f64) = ($re, $im);
                let (re, im) = (re(self), im(self));
                // SAFETY: by contract.
                unsafe {
                    match ty {
                        ElementType::Half => at.cast::<f16>().write_unaligned(f16::from_f64(re)),
                        ElementType::Bfloat => at.cast::<bf16>().write_unaligned(bf16::from_f64(re)),
                        ElementType::Float => at.cast::<f32>().write_unaligned(re as f32),
                        ElementType::Double => at.cast::<f64>().write_unaligned(re),
                        ElementType::Byte => at.cast::<i8>().write_unaligned(re as i8),
                        ElementType::Int => at.cast::<i32>().write_unaligned(re as i32),
                        ElementType::Complex => {
                            at.cast::<Complex32>().write_unaligned(Complex32 { re: re as f32, im: im as f32 })
                        }
                        ElementType::DoubleComplex => {
                            at.cast::<Complex64>().write_unaligned(Complex64 { re, im })
                        }
                    }
                }
            }
        }
    };
}

computed!(f32, |re, _| re as f32, |x| x.into(), |_| 0.0);
computed!(f64, |re, _| re, |x| x, |_| 0.0);
computed!(Complex32, |re, im| Complex32 { re: re as f32, im: im as f32 }, |z| z.re.into(), |z| z.im.into());
computed!(Complex64, |re, im| Complex64 { re, im }, |z| z.re, |z| z.im);

/// A matrix in columns of elements of some type.
#[derive(Clone, Copy, Debug)]
pub struct MixedMatrix {
    /// Address of the first element.
    pub start: usize,
    /// The type of the elements.
    pub ty: ElementType,
    /// Elements from one column to the next.
    pub leading: usize,
}

impl MixedMatrix {
    /// Address of an element.
    pub fn place(&self, row: usize, column: usize) -> *mut u8 {
        let at = self.start + (column * self.leading + row) * self.ty.size();
        std::ptr::with_exposed_provenance_mut(at)
    }

    /// A copy of `m` rows and `n` columns without gaps, in the type of the computation.
    ///
    /// # Safety
    /// The matrix is valid.
    pub unsafe fn load<T: Computed>(&self, m: usize, n: usize) -> Vec<T> {
        let mut copy = Vec::with_capacity(m * n);
        for j in 0..n {
            let column = self.place(0, j).cast_const();
            let size = self.ty.size();
            // SAFETY: by contract. The type is the same in the whole loop.
            copy.extend((0..m).map(|i| unsafe { T::load(column.add(i * size), self.ty) }));
        }
        copy
    }
}

/// A product of matrices of mixed types.
#[derive(Clone, Copy, Debug)]
pub struct MixedProduct {
    /// Rows, columns, terms of each element.
    pub size: (usize, usize, usize),
    /// What is done to the first factor.
    pub a_operation: Operation,
    /// What is done to the second factor.
    pub b_operation: Operation,
}

impl MixedProduct {
    /// `alpha * a * b` without gaps. With an `alpha` of 0 nothing is read.
    ///
    /// # Safety
    /// The matrices are valid.
    pub unsafe fn product<T: Computed>(&self, alpha: T, a: MixedMatrix, b: MixedMatrix) -> Vec<T> {
        let (m, n, k) = self.size;
        let mut product = vec![T::ZERO; m * n];
        if alpha == T::ZERO || k == 0 {
            return product;
        }
        let (a_rows, a_columns) = self.a_operation.stored(m, k);
        let (b_rows, b_columns) = self.b_operation.stored(k, n);
        // SAFETY: by contract.
        unsafe {
            let (a, b) = (a.load::<T>(a_rows, a_columns), b.load::<T>(b_rows, b_columns));
            let a = Factor { start: a.as_ptr(), leading: a_rows.max(1), operation: self.a_operation };
            let b = Factor { start: b.as_ptr(), leading: b_rows.max(1), operation: self.b_operation };
            gemm((m, n, k), alpha, a, b, T::ZERO, (product.as_mut_ptr(), m.max(1)));
        }
        product
    }

    /// `d = alpha * a * b + beta * c`, and `finish` on each element before it is rounded, with its row and column.
    /// With a `beta` of 0, `c` is not read.
    ///
    /// # Safety
    /// The matrices are valid. `d` overlaps neither `a` nor `b`.
    pub unsafe fn compute<T: Computed>(
        &self,
        (alpha, a, b): (T, MixedMatrix, MixedMatrix),
        (beta, c): (T, MixedMatrix),
        d: MixedMatrix,
        mut finish: impl FnMut(T, usize, usize) -> T,
    ) {
        let (m, n, _) = self.size;
        // SAFETY: by contract.
        unsafe {
            let product = self.product(alpha, a, b);
            for j in 0..n {
                for i in 0..m {
                    let mut value = product[j * m + i];
                    if beta != T::ZERO {
                        value += beta * T::load(c.place(i, j), c.ty);
                    }
                    finish(value, i, j).store(d.place(i, j), d.ty);
                }
            }
        }
    }
}

/// `c = alpha * a * b + beta * c` in whole numbers, which wrap around as those of a GPU do.
///
/// # Safety
/// The matrices are valid: `a` and `b` of bytes, `c` of 32 bits.
pub unsafe fn whole_numbers(
    shape: MixedProduct,
    (alpha, a, b): (i32, MixedMatrix, MixedMatrix),
    (beta, c): (i32, MixedMatrix),
) {
    let (m, n, k) = shape.size;
    let load = |matrix: &MixedMatrix, operation: Operation, i, j| {
        let (row, column) = if operation.transposes() { (j, i) } else { (i, j) };
        // SAFETY: by contract.
        i32::from(unsafe { matrix.place(row, column).cast::<i8>().read() })
    };
    let terms: Vec<i32> = (0..m)
        .flat_map(|i| (0..k).map(move |l| (i, l)))
        .map(|(i, l)| load(&a, shape.a_operation, i, l))
        .collect();
    let mut column = vec![0; k];
    for j in 0..n {
        for (l, value) in column.iter_mut().enumerate() {
            *value = load(&b, shape.b_operation, l, j);
        }
        for i in 0..m {
            let row = &terms[i * k..(i + 1) * k];
            let sum = row.iter().zip(&column).fold(0i32, |sum, (x, y)| sum.wrapping_add(x * y));
            // SAFETY: by contract.
            unsafe {
                let at = c.place(i, j).cast::<i32>();
                let before = if beta == 0 { 0 } else { beta.wrapping_mul(at.read_unaligned()) };
                at.write_unaligned(alpha.wrapping_mul(sum).wrapping_add(before));
            }
        }
    }
}
