//! The types of values and indices, and how they lie in memory.

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, Sub};
use std::ptr::{with_exposed_provenance, with_exposed_provenance_mut};

use gpurace_library::touched::Touches;
use half::{bf16, f16};
use num_complex::Complex;

use crate::status::{Outcome, Status};

/// A value of any type.
pub type Wide = Complex<f64>;

/// What the algorithms compute with: real or complex numbers.
pub trait Number:
    Copy
    + Debug
    + PartialEq
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + AddAssign
{
    /// 0
    const ZERO: Self;
    /// Of a value. A real number has no imaginary part.
    fn of(wide: Wide) -> Self;
    /// As a value.
    fn wide(self) -> Wide;
    /// The conjugate if `conj`, else the number itself.
    fn conj_if(self, conj: bool) -> Self;
}

impl Number for f64 {
    const ZERO: Self = 0.0;

    fn of(wide: Wide) -> Self {
        wide.re
    }
    fn wide(self) -> Wide {
        self.into()
    }
    fn conj_if(self, _: bool) -> Self {
        self
    }
}

impl Number for Wide {
    const ZERO: Self = Complex { re: 0.0, im: 0.0 };

    fn of(wide: Wide) -> Self {
        wide
    }
    fn wide(self) -> Wide {
        self
    }
    fn conj_if(self, conj: bool) -> Self {
        if conj { self.conj() } else { self }
    }
}

/// Calls an algorithm for complex numbers if `is_complex`, else for real ones.
macro_rules! numbers {
    ($is_complex:expr, $function:path, $($argument:expr),* $(,)?) => {
        if $is_complex { $function($crate::types::Wide::default(), $($argument),*) } else { $function(0.0f64, $($argument),*) }
    };
}
pub(crate) use numbers;

/// `cudaDataType`, as far as it is supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// `CUDA_R_16F`
    Half,
    /// `CUDA_R_16BF`
    BFloat,
    /// `CUDA_R_32F`
    Single,
    /// `CUDA_R_64F`
    Double,
    /// `CUDA_C_32F`
    ComplexSingle,
    /// `CUDA_C_64F`
    ComplexDouble,
    /// `CUDA_R_8I`
    Byte,
    /// `CUDA_R_32I`
    Int,
}

impl Type {
    /// The type with this number.
    ///
    /// # Errors
    /// `CUSPARSE_STATUS_NOT_SUPPORTED` if there is none.
    pub fn new(number: u32) -> Outcome<Self> {
        Ok(match number {
            0 => Self::Single,
            1 => Self::Double,
            2 => Self::Half,
            3 => Self::Byte,
            4 => Self::ComplexSingle,
            5 => Self::ComplexDouble,
            10 => Self::Int,
            14 => Self::BFloat,
            _ => return Err(Status::NOT_SUPPORTED),
        })
    }

    /// Its number.
    pub fn number(self) -> u32 {
        match self {
            Self::Single => 0,
            Self::Double => 1,
            Self::Half => 2,
            Self::Byte => 3,
            Self::ComplexSingle => 4,
            Self::ComplexDouble => 5,
            Self::Int => 10,
            Self::BFloat => 14,
        }
    }

    /// Bytes of a value.
    pub fn size(self) -> usize {
        match self {
            Self::Byte => 1,
            Self::Half | Self::BFloat => 2,
            Self::Single | Self::Int => 4,
            Self::Double | Self::ComplexSingle => 8,
            Self::ComplexDouble => 16,
        }
    }

    /// True if its values have imaginary parts.
    pub fn is_complex(self) -> bool {
        matches!(self, Self::ComplexSingle | Self::ComplexDouble)
    }

    /// Reads a value.
    ///
    /// # Safety
    /// There is one.
    pub unsafe fn read(self, at: usize) -> Wide {
        // SAFETY: by the contract above.
        unsafe {
            match self {
                Self::Half => read::<f16>(at).to_f64().into(),
                Self::BFloat => read::<bf16>(at).to_f64().into(),
                Self::Single => f64::from(read::<f32>(at)).into(),
                Self::Double => read::<f64>(at).into(),
                Self::Byte => f64::from(read::<i8>(at)).into(),
                Self::Int => f64::from(read::<i32>(at)).into(),
                Self::ComplexSingle => {
                    let value: Complex<f32> = read(at);
                    Complex { re: value.re.into(), im: value.im.into() }
                }
                Self::ComplexDouble => read(at),
            }
        }
    }

    /// Writes the nearest value.
    ///
    /// # Safety
    /// There is room for one.
    pub unsafe fn write(self, at: usize, value: Wide) {
        // SAFETY: by the contract above.
        unsafe {
            match self {
                Self::Half => write(at, f16::from_f64(value.re)),
                Self::BFloat => write(at, bf16::from_f64(value.re)),
                Self::Single => write(at, value.re as f32),
                Self::Double => write(at, value.re),
                Self::Byte => write(at, value.re as i8),
                Self::Int => write(at, value.re as i32),
                Self::ComplexSingle => write(at, Complex { re: value.re as f32, im: value.im as f32 }),
                Self::ComplexDouble => write(at, value),
            }
        }
    }
}

unsafe fn read<T>(at: usize) -> T {
    // SAFETY: by the caller's contract.
    unsafe { with_exposed_provenance::<T>(at).read_unaligned() }
}

unsafe fn write<T>(at: usize, value: T) {
    // SAFETY: by the caller's contract.
    unsafe { with_exposed_provenance_mut::<T>(at).write_unaligned(value) }
}

/// Names bytes that an operation accesses. False if the device has no such memory.
pub fn touch(touches: &mut Touches, start: usize, bytes: usize, writes: bool) -> bool {
    bytes == 0 || touches.elements(with_exposed_provenance::<u8>(start), bytes, writes)
}

/// An array of values.
#[derive(Clone, Copy, Debug)]
pub struct Values {
    /// The address of the first.
    pub start: usize,
    /// Their type.
    pub ty: Type,
}

impl Values {
    /// Reads one.
    ///
    /// # Safety
    /// The array has it.
    pub unsafe fn get<S: Number>(self, k: usize) -> S {
        // SAFETY: by the contract above.
        S::of(unsafe { self.ty.read(self.start + k * self.ty.size()) })
    }

    /// Writes one.
    ///
    /// # Safety
    /// The array has it.
    pub unsafe fn set<S: Number>(self, k: usize, value: S) {
        // SAFETY: by the contract above.
        unsafe { self.ty.write(self.start + k * self.ty.size(), value.wide()) }
    }

    /// Names the first `count` of them.
    pub fn touch(self, touches: &mut Touches, count: usize, writes: bool) -> bool {
        touch(touches, self.start, count.saturating_mul(self.ty.size()), writes)
    }
}

/// An array of indices or offsets.
#[derive(Clone, Copy, Debug)]
pub struct Indices {
    /// The address of the first.
    pub start: usize,
    /// `cusparseIndexType_t`
    pub ty: u32,
    /// What counts as 0.
    pub base: i64,
}

impl Indices {
    /// An array of this `cusparseIndexType_t` and `cusparseIndexBase_t`.
    ///
    /// # Errors
    /// `CUSPARSE_STATUS_INVALID_VALUE` if there are none such.
    pub fn new(start: usize, ty: u32, base: u32) -> Outcome<Self> {
        match (ty, base) {
            (1..=3, 0 | 1) => Ok(Self { start, ty, base: base.into() }),
            _ => Err(Status::INVALID_VALUE),
        }
    }

    /// Bytes of an index.
    pub fn size(self) -> usize {
        [2, 4, 8][self.ty as usize - 1]
    }

    /// Reads one, counted from 0.
    ///
    /// # Safety
    /// The array has it.
    pub unsafe fn get(self, k: usize) -> i64 {
        let at = self.start + k * self.size();
        // SAFETY: by the contract above.
        let stored = unsafe {
            match self.ty {
                1 => read::<u16>(at).into(),
                2 => read::<i32>(at).into(),
                _ => read::<i64>(at),
            }
        };
        stored.wrapping_sub(self.base)
    }

    /// Writes one, counted from 0.
    ///
    /// # Safety
    /// The array has it.
    pub unsafe fn set(self, k: usize, index: usize) {
        let (at, index) = (self.start + k * self.size(), index as i64 + self.base);
        // SAFETY: by the contract above.
        unsafe {
            match self.ty {
                1 => write(at, index as u16),
                2 => write(at, index as i32),
                _ => write(at, index),
            }
        }
    }

    /// Names the first `count` of them.
    pub fn touch(self, touches: &mut Touches, count: usize, writes: bool) -> bool {
        touch(touches, self.start, count.saturating_mul(self.size()), writes)
    }
}
