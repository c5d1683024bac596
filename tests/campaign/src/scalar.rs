//! Scalar types and their arithmetic, as CUDA C++ defines it. A value is the bits of its type in a `u64`.

/// A scalar type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    /// `signed char`
    I8,
    /// `unsigned char`
    U8,
    /// `short`
    I16,
    /// `unsigned short`
    U16,
    /// `int`
    I32,
    /// `unsigned`
    U32,
    /// `long long`
    I64,
    /// `unsigned long long`
    U64,
    /// `float`
    F32,
    /// `double`
    F64,
}

use std::ops::{Add, Mul, Sub};

use Scalar::*;

/// An operator with two operands of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `&`
    And,
    /// `|`
    Or,
    /// `^`
    Xor,
    /// `<<`, by less than the width
    Shl,
    /// `>>`, by less than the width
    Shr,
    /// `/`, by a positive number
    Div,
    /// `%`, by a positive number
    Rem,
    /// the lower of two
    Min,
    /// the higher of two
    Max,
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// `<`
    Less,
    /// `==`
    Equal,
    /// `!=`
    Unequal,
    /// `>=`
    AtLeast,
}

impl Scalar {
    /// All of them.
    pub const ALL: [Self; 10] = [I8, U8, I16, U16, I32, U32, I64, U64, F32, F64];

    /// Size in bytes.
    pub fn size(self) -> usize {
        match self {
            I8 | U8 => 1,
            I16 | U16 => 2,
            I32 | U32 | F32 => 4,
            I64 | U64 | F64 => 8,
        }
    }

    /// Its name in CUDA C++.
    pub fn name(self) -> &'static str {
        match self {
            I8 => "signed char",
            U8 => "unsigned char",
            I16 => "short",
            U16 => "unsigned short",
            I32 => "int",
            U32 => "unsigned",
            I64 => "long long",
            U64 => "unsigned long long",
            F32 => "float",
            F64 => "double",
        }
    }

    /// The first part of the names of its vectors, such as `uint` of `uint4`.
    pub fn vector(self) -> &'static str {
        match self {
            I8 => "char",
            U8 => "uchar",
            I16 => "short",
            U16 => "ushort",
            I32 => "int",
            U32 => "uint",
            I64 => "longlong",
            U64 => "ulonglong",
            F32 => "float",
            F64 => "double",
        }
    }

    /// True for `float` and `double`.
    pub fn is_float(self) -> bool {
        matches!(self, F32 | F64)
    }

    /// True for signed integers.
    pub fn is_signed(self) -> bool {
        matches!(self, I8 | I16 | I32 | I64)
    }

    /// The unsigned type in which integers of this type are added and multiplied: signed overflow is
    /// undefined, and small types become `int`.
    pub fn wrapping(self) -> Self {
        if self.size() == 8 { U64 } else { U32 }
    }

    /// The bits that the type has.
    pub fn keep(self, bits: u64) -> u64 {
        if self.size() == 8 { bits } else { bits & ((1 << (8 * self.size())) - 1) }
    }

    /// An integer's value, if it is taken as signed.
    pub fn signed(self, bits: u64) -> i64 {
        let unused = 64 - 8 * self.size() as u32;
        (bits << unused) as i64 >> unused
    }

    /// The value of an integer in 64 bits, extended as its type says.
    fn wide(self, bits: u64) -> u64 {
        if self.is_signed() { self.signed(bits) as u64 } else { bits }
    }

    /// Converts a value. Floats are not converted to integers.
    pub fn convert(self, to: Self, bits: u64) -> u64 {
        match (self, to) {
            (F32, F32) | (F64, F64) => bits,
            (F32, F64) => f64::from(f32::from_bits(bits as u32)).to_bits(),
            (F64, F32) => u64::from((f64::from_bits(bits) as f32).to_bits()),
            (F32 | F64, _) => unreachable!("floats are not converted to integers"),
            (_, F32) if self.is_signed() => u64::from((self.signed(bits) as f32).to_bits()),
            (_, F64) if self.is_signed() => (self.signed(bits) as f64).to_bits(),
            (_, F32) => u64::from((bits as f32).to_bits()),
            (_, F64) => (bits as f64).to_bits(),
            _ => to.keep(self.wide(bits)),
        }
    }

    /// Applies an operator.
    pub fn apply(self, op: Op, a: u64, b: u64) -> u64 {
        match self {
            F32 => u64::from(of_floats(op, f32::from_bits(a as u32), f32::from_bits(b as u32)).to_bits()),
            F64 => of_floats(op, f64::from_bits(a), f64::from_bits(b)).to_bits(),
            _ => self.keep(self.apply_to_integers(op, a, b)),
        }
    }

    fn apply_to_integers(self, op: Op, a: u64, b: u64) -> u64 {
        let (x, y) = (self.wide(a), self.wide(b));
        let less = if self.is_signed() { (x as i64) < (y as i64) } else { x < y };
        match op {
            Op::Add => x.wrapping_add(y),
            Op::Sub => x.wrapping_sub(y),
            Op::Mul => x.wrapping_mul(y),
            Op::And => x & y,
            Op::Or => x | y,
            Op::Xor => x ^ y,
            Op::Shl => x << y,
            Op::Shr if self.is_signed() => (x as i64 >> y) as u64,
            Op::Shr => x >> y,
            Op::Div if self.is_signed() => (x as i64 / y as i64) as u64,
            Op::Div => x / y,
            Op::Rem if self.is_signed() => (x as i64 % y as i64) as u64,
            Op::Rem => x % y,
            Op::Min => {
                if less {
                    x
                } else {
                    y
                }
            }
            Op::Max => {
                if less {
                    y
                } else {
                    x
                }
            }
        }
    }

    /// Compares two values.
    pub fn test(self, test: Test, a: u64, b: u64) -> bool {
        let less = match self {
            F32 => f32::from_bits(a as u32) < f32::from_bits(b as u32),
            F64 => f64::from_bits(a) < f64::from_bits(b),
            _ if self.is_signed() => self.signed(a) < self.signed(b),
            _ => a < b,
        };
        let equal = match self {
            F32 => f32::from_bits(a as u32) == f32::from_bits(b as u32),
            F64 => f64::from_bits(a) == f64::from_bits(b),
            _ => a == b,
        };
        match test {
            Test::Less => less,
            Test::AtLeast => !less,
            Test::Equal => equal,
            Test::Unequal => !equal,
        }
    }

    /// The value that element `i` of an array with this seed begins with. `fill` in the CUDA source computes
    /// the same. Floats are multiples of a quarter, so that short sums of them are exact.
    pub fn initial(self, seed: u64, i: u64) -> u64 {
        let mut z = (seed.wrapping_add(i)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ z >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z ^= z >> 32;
        let small = (z >> 40 & 0xfff) as i32 - 2048;
        match self {
            F32 => u64::from((small as f32 * 0.25).to_bits()),
            F64 => (f64::from(small) * 0.25).to_bits(),
            _ => self.keep(z),
        }
    }
}

/// Applies an operator to floating-point numbers.
fn of_floats<T>(op: Op, x: T, y: T) -> T
where
    T: PartialOrd + Add<Output = T> + Sub<Output = T> + Mul<Output = T>,
{
    match op {
        Op::Add => x + y,
        Op::Sub => x - y,
        Op::Mul => x * y,
        Op::Min if x < y => x,
        Op::Min => y,
        Op::Max if x < y => y,
        Op::Max => x,
        _ => unreachable!("{op:?} of floats"),
    }
}
