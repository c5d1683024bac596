//! Ranges of integers, and the two ways to read a bit pattern as an integer.

use crate::expr::Width;

/// A number beyond every machine number. An end of a range that lies here is no bound.
pub const LIMIT: i128 = 1 << 120;

/// A way to read a bit pattern as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum View {
    /// Numbers from 0.
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
    /// The least number.
    pub lo: i128,
    /// The greatest number.
    pub hi: i128,
}

impl Range {
    /// The range from `lo` to `hi`.
    pub fn new(lo: i128, hi: i128) -> Self {
        Self { lo: lo.clamp(-LIMIT, LIMIT), hi: hi.clamp(-LIMIT, LIMIT) }
    }

    /// The range of one number.
    pub fn one(value: i128) -> Self {
        Self::new(value, value)
    }

    /// True if all of the range lies in `other`.
    pub fn within(self, other: Self) -> bool {
        other.lo <= self.lo && self.hi <= other.hi
    }

    /// The numbers that lie in both ranges. If there are none, the code is never reached, and the
    /// result is the number of `self` that is nearest to `other`.
    pub fn meet(self, other: Self) -> Self {
        let (lo, hi) = (self.lo.max(other.lo), self.hi.min(other.hi));
        if lo <= hi { Self { lo, hi } } else { Self::one(lo.clamp(self.lo, self.hi)) }
    }

    /// The least range that contains both.
    pub fn hull(self, other: Self) -> Self {
        Self { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    /// The range of sums.
    pub fn plus(self, other: Self) -> Self {
        let hi = if self.hi >= LIMIT || other.hi >= LIMIT { LIMIT } else { self.hi + other.hi };
        let lo = if self.lo <= -LIMIT || other.lo <= -LIMIT { -LIMIT } else { self.lo + other.lo };
        Self::new(lo, hi)
    }

    /// The range of differences.
    pub fn minus(self, other: Self) -> Self {
        self.plus(Self::new(-other.hi, -other.lo))
    }

    /// True if both ends are bounds.
    pub fn bounded(self) -> bool {
        self.lo > -LIMIT && self.hi < LIMIT
    }

    /// The range of products.
    pub fn times(self, other: Self) -> Self {
        let ends = [
            self.lo.saturating_mul(other.lo),
            self.lo.saturating_mul(other.hi),
            self.hi.saturating_mul(other.lo),
            self.hi.saturating_mul(other.hi),
        ];
        Self::new(*ends.iter().min().unwrap_or(&0), *ends.iter().max().unwrap_or(&0))
    }

    /// The number of values.
    pub fn count(self) -> i128 {
        self.hi - self.lo + 1
    }
}

/// The integer that ring operations use for a constant.
pub fn lift_constant(width: Width, bits: u64) -> i128 {
    let view = if width == Width::W1 { View::Unsigned } else { View::Signed };
    view.read(width, bits)
}
