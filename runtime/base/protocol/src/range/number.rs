//! Ranges of integers, and bit patterns as integers.

use crate::expr::Width;

/// An end of a range at this value or its negative is no bound. It is beyond every machine number.
pub const LIMIT: i128 = 1 << 120;

/// A way to read a bit pattern as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum View {
    /// As an unsigned number.
    Unsigned,
    /// As a signed number in two's complement.
    Signed,
}

impl View {
    /// Returns the range of all numbers of a width.
    pub fn all(self, width: Width) -> Range {
        let bits = width.bits();
        match self {
            Self::Unsigned => Range::new(0, (1 << bits) - 1),
            Self::Signed => Range::new(-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        }
    }

    /// Returns the number for a bit pattern of this width.
    pub fn read(self, width: Width, bits: u64) -> i128 {
        match self {
            Self::Unsigned => i128::from(width.truncate(bits)),
            Self::Signed => i128::from(width.signed(bits)),
        }
    }
}

/// A range of integers, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Range {
    /// The smallest number.
    pub lo: i128,
    /// The largest number.
    pub hi: i128,
}

impl Range {
    /// Returns the range from `lo` to `hi`.
    pub fn new(lo: i128, hi: i128) -> Self {
        Self { lo: lo.clamp(-LIMIT, LIMIT), hi: hi.clamp(-LIMIT, LIMIT) }
    }

    /// Returns the range of one number.
    pub fn one(value: i128) -> Self {
        Self::new(value, value)
    }

    /// True if `other` contains the whole range.
    pub fn within(self, other: Self) -> bool {
        other.lo <= self.lo && self.hi <= other.hi
    }

    /// Returns the numbers in both ranges. If there are none, the code is not reached, and the result is the
    /// number of `self` nearest to `other`.
    pub fn meet(self, other: Self) -> Self {
        let (lo, hi) = (self.lo.max(other.lo), self.hi.min(other.hi));
        if lo <= hi { Self { lo, hi } } else { Self::one(lo.clamp(self.lo, self.hi)) }
    }

    /// Returns the smallest range that contains both.
    pub fn hull(self, other: Self) -> Self {
        Self { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    /// Returns the range of sums.
    pub fn plus(self, other: Self) -> Self {
        let hi = if self.hi >= LIMIT || other.hi >= LIMIT { LIMIT } else { self.hi + other.hi };
        let lo = if self.lo <= -LIMIT || other.lo <= -LIMIT { -LIMIT } else { self.lo + other.lo };
        Self::new(lo, hi)
    }

    /// Returns the range of differences.
    pub fn minus(self, other: Self) -> Self {
        self.plus(Self::new(-other.hi, -other.lo))
    }

    /// True if both ends are bounds.
    pub fn bounded(self) -> bool {
        self.lo > -LIMIT && self.hi < LIMIT
    }

    /// Returns the range of products.
    pub fn times(self, other: Self) -> Self {
        let ends = [
            self.lo.saturating_mul(other.lo),
            self.lo.saturating_mul(other.hi),
            self.hi.saturating_mul(other.lo),
            self.hi.saturating_mul(other.hi),
        ];
        Self::new(*ends.iter().min().unwrap_or(&0), *ends.iter().max().unwrap_or(&0))
    }

    /// Returns the number of values.
    pub fn count(self) -> i128 {
        self.hi - self.lo + 1
    }
}

/// Returns a constant as ring operations read it.
pub fn lift_constant(width: Width, bits: u64) -> i128 {
    let view = if width == Width::W1 { View::Unsigned } else { View::Signed };
    view.read(width, bits)
}
