//! The arithmetic of cuBLAS's four types: real and complex, of single and double precision.

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

use num_complex::Complex;

/// `cuComplex`
pub type Complex32 = Complex<f32>;
/// `cuDoubleComplex`
pub type Complex64 = Complex<f64>;

/// A number that cuBLAS computes with.
pub trait Scalar:
    Copy
    + Debug
    + PartialEq
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
{
    /// The type of its parts.
    type Real: Scalar<Real = Self::Real> + PartialOrd;

    /// 0
    const ZERO: Self;
    /// 1
    const ONE: Self;

    /// The conjugate.
    fn conj(self) -> Self;
    /// The real part.
    fn re(self) -> Self::Real;
    /// The imaginary part.
    fn im(self) -> Self::Real;
    /// A number without an imaginary part.
    fn of_real(real: Self::Real) -> Self;
    /// The square root of a real number, or the principal one of a complex number.
    fn root(self) -> Self;
    /// Nearest number to a value.
    fn of_f64(value: f64) -> Self;
    /// The nearest `f64` to the real part.
    fn to_f64(self) -> f64;

    /// `c = alpha * a * b + beta * c`, with `a` of `m` rows and `k` columns. The strides count elements, between rows
    /// and between columns. With a `beta` of 0 nothing is read from `c`.
    ///
    /// # Safety
    /// The matrices are valid, and `c` overlaps neither `a` nor `b`.
    unsafe fn gemm(
        size: (usize, usize, usize),
        alpha: Self,
        a: (*const Self, isize, isize),
        b: (*const Self, isize, isize),
        beta: Self,
        c: (*mut Self, isize, isize),
    );

    /// The sum of the parts' absolute values, by which BLAS compares complex numbers.
    fn abs1(self) -> Self::Real {
        self.re().magnitude() + self.im().magnitude()
    }

    /// The absolute value of a real number.
    fn magnitude(self) -> Self::Real;

    /// The conjugate if `conj`, else the number itself.
    fn conj_if(self, conj: bool) -> Self {
        if conj { self.conj() } else { self }
    }
}

macro_rules! real {
    ($ty:ty, $gemm:path) => {
        impl Scalar for $ty {
            type Real = $ty;
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;

            fn conj(self) -> Self {
                self
            }
            fn re(self) -> Self {
                self
            }
            fn im(self) -> Self {
                0.0
            }
            fn of_real(real: Self) -> Self {
                real
            }
            fn root(self) -> Self {
                self.sqrt()
            }
            fn of_f64(value: f64) -> Self {
                value as Self
            }
            fn to_f64(self) -> f64 {
                self.into()
            }
            fn magnitude(self) -> Self {
                self.abs()
            }
            unsafe fn gemm(
                (m, k, n): (usize, usize, usize),
                alpha: Self,
                (a, rsa, csa): (*const Self, isize, isize),
                (b, rsb, csb): (*const Self, isize, isize),
                beta: Self,
                (c, rsc, csc): (*mut Self, isize, isize),
            ) {
                // SAFETY: by contract.
                unsafe { $gemm(m, k, n, alpha, a, rsa, csa, b, rsb, csb, beta, c, rsc, csc) }
            }
        }
    };
}

macro_rules! complex {
    ($ty:ty, $part:ty, $gemm:path) => {
        impl Scalar for $ty {
            type Real = $part;
            const ZERO: Self = Complex { re: 0.0, im: 0.0 };
            const ONE: Self = Complex { re: 1.0, im: 0.0 };

            fn conj(self) -> Self {
                Complex { re: self.re, im: -self.im }
            }
            fn re(self) -> $part {
                self.re
            }
            fn im(self) -> $part {
                self.im
            }
            fn of_real(real: $part) -> Self {
                Complex { re: real, im: 0.0 }
            }
            fn root(self) -> Self {
                self.sqrt()
            }
            fn of_f64(value: f64) -> Self {
                Self::of_real(value as $part)
            }
            fn to_f64(self) -> f64 {
                self.re.into()
            }
            fn magnitude(self) -> $part {
                self.norm()
            }
            unsafe fn gemm(
                (m, k, n): (usize, usize, usize),
                alpha: Self,
                (a, rsa, csa): (*const Self, isize, isize),
                (b, rsb, csb): (*const Self, isize, isize),
                beta: Self,
                (c, rsc, csc): (*mut Self, isize, isize),
            ) {
                use matrixmultiply::CGemmOption::Standard;
                let parts = |z: Self| [z.re, z.im];
                let (a, b, c) = (a.cast(), b.cast(), c.cast());
                let (alpha, beta) = (parts(alpha), parts(beta));
                // SAFETY: by contract. `Complex` has the layout of an array of two.
                unsafe {
                    $gemm(Standard, Standard, m, k, n, alpha, a, rsa, csa, b, rsb, csb, beta, c, rsc, csc)
                }
            }
        }
    };
}

real!(f32, matrixmultiply::sgemm);
real!(f64, matrixmultiply::dgemm);
complex!(Complex32, f32, matrixmultiply::cgemm);
complex!(Complex64, f64, matrixmultiply::zgemm);
