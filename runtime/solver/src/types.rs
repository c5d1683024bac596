//! The types of numbers, and the arithmetic. All is computed in double precision and rounded once.

use std::fmt::Debug;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};
use std::ptr::{with_exposed_provenance as at, with_exposed_provenance_mut as at_mut};

use num_complex::Complex;

use crate::status::{Outcome, Status};

/// A type of numbers in the device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// `float`
    Single,
    /// `double`
    Double,
    /// `cuComplex`
    ComplexSingle,
    /// `cuDoubleComplex`
    ComplexDouble,
}

/// A complex number.
pub type Complex64 = Complex<f64>;

impl Type {
    /// The type that a function's name has: the letter behind `cusolverDn`.
    ///
    /// # Errors
    /// It has none.
    pub fn of_name(name: &[u8]) -> Outcome<Self> {
        match name.get("cusolverDn".len()) {
            Some(b'S') => Ok(Self::Single),
            Some(b'D') => Ok(Self::Double),
            Some(b'C') => Ok(Self::ComplexSingle),
            Some(b'Z') => Ok(Self::ComplexDouble),
            _ => Err(Status::INTERNAL_ERROR),
        }
    }

    /// A `cudaDataType`.
    ///
    /// # Errors
    /// cuSOLVER does not compute with it.
    pub fn new(number: u32) -> Outcome<Self> {
        match number {
            0 => Ok(Self::Single),
            1 => Ok(Self::Double),
            4 => Ok(Self::ComplexSingle),
            5 => Ok(Self::ComplexDouble),
            _ => Err(Status::INVALID_VALUE),
        }
    }

    /// The type of a number's parts.
    pub fn real(self) -> Self {
        match self {
            Self::Single | Self::ComplexSingle => Self::Single,
            Self::Double | Self::ComplexDouble => Self::Double,
        }
    }

    /// True for complex numbers.
    pub fn is_complex(self) -> bool {
        self != self.real()
    }

    /// Bytes of a number.
    pub fn size(self) -> usize {
        match self {
            Self::Single => 4,
            Self::Double | Self::ComplexSingle => 8,
            Self::ComplexDouble => 16,
        }
    }

    /// A number in memory.
    ///
    /// # Safety
    /// The address is valid.
    pub unsafe fn read<W: Wide>(self, from: usize) -> W {
        // SAFETY: by contract. The program's address may be unaligned.
        unsafe {
            match self {
                Self::Single => W::of_real(at::<f32>(from).read_unaligned().into()),
                Self::Double => W::of_real(at::<f64>(from).read_unaligned()),
                Self::ComplexSingle => {
                    let value = at::<Complex<f32>>(from).read_unaligned();
                    W::of(Complex { re: value.re.into(), im: value.im.into() })
                }
                Self::ComplexDouble => W::of(at::<Complex64>(from).read_unaligned()),
            }
        }
    }

    /// Stores a number.
    ///
    /// # Safety
    /// As [`Self::read`].
    pub unsafe fn write<W: Wide>(self, to: usize, value: W) {
        let value = value.complex();
        // SAFETY: as above.
        unsafe {
            match self {
                Self::Single => at_mut::<f32>(to).write_unaligned(value.re as f32),
                Self::Double => at_mut::<f64>(to).write_unaligned(value.re),
                Self::ComplexSingle => {
                    let value = Complex { re: value.re as f32, im: value.im as f32 };
                    at_mut::<Complex<f32>>(to).write_unaligned(value);
                }
                Self::ComplexDouble => at_mut::<Complex64>(to).write_unaligned(value),
            }
        }
    }
}

/// A number that is computed with: real or complex.
pub trait Wide:
    Copy
    + Debug
    + PartialEq
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Mul<f64, Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + Sum
{
    /// 0
    const ZERO: Self;
    /// 1
    const ONE: Self;

    /// A complex number, or its real part.
    fn of(value: Complex64) -> Self;
    /// A number without an imaginary part.
    fn of_real(value: f64) -> Self;
    /// As a complex number.
    fn complex(self) -> Complex64;
    /// The conjugate.
    fn conj(self) -> Self;

    /// The real part.
    fn re(self) -> f64 {
        self.complex().re
    }

    /// The absolute value.
    fn size(self) -> f64 {
        self.complex().norm()
    }

    /// The square of the absolute value.
    fn square(self) -> f64 {
        self.complex().norm_sqr()
    }
}

impl Wide for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;

    fn of(value: Complex64) -> Self {
        value.re
    }
    fn of_real(value: f64) -> Self {
        value
    }
    fn complex(self) -> Complex64 {
        Complex { re: self, im: 0.0 }
    }
    fn conj(self) -> Self {
        self
    }
}

impl Wide for Complex64 {
    const ZERO: Self = Complex { re: 0.0, im: 0.0 };
    const ONE: Self = Complex { re: 1.0, im: 0.0 };

    fn of(value: Complex64) -> Self {
        value
    }
    fn of_real(value: f64) -> Self {
        Complex { re: value, im: 0.0 }
    }
    fn complex(self) -> Complex64 {
        self
    }
    fn conj(self) -> Self {
        Complex::conj(&self)
    }
}

/// Calls a function for real or for complex numbers.
macro_rules! numbers {
    ($ty:expr, $($function:ident)::+ ($($argument:expr),* $(,)?)) => {
        match $ty.is_complex() {
            true => $($function)::+::<$crate::types::Complex64>($($argument),*),
            false => $($function)::+::<f64>($($argument),*),
        }
    };
}
pub(crate) use numbers;
