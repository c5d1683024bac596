//! Sums in which one value occurs several times.
//!
//! Interval arithmetic takes each occurrence of a value for another value: `15 - x + x` from 0 to 30 for an
//! `x` from 0 to 15. The lift of a sum of multiples adds the multiples of each value up first.

use std::collections::HashMap;
use std::rc::Rc;

use super::{Range, Ranges, View, lift_constant};
use crate::expr::{BinOp, Cast, Expr, ExprId, Exprs};

/// Most values of one sum.
const MOST_TERMS: usize = 12;

/// A sum of multiples of values that are no sums.
#[derive(Clone, Debug, Default)]
pub(super) struct Linear {
    constant: i128,
    /// Values and factors, in the order of values.
    terms: Vec<(ExprId, i128)>,
    /// A value occurs more than once.
    repeats: bool,
}

/// The sums that were found, by expression. `None` if one is too long or its factors are too large.
pub(super) type Sums = HashMap<ExprId, Option<Rc<Linear>>>;

impl Linear {
    fn constant(constant: i128) -> Self {
        Self { constant, ..Self::default() }
    }

    fn times(&self, factor: i128) -> Option<Self> {
        let terms = self.terms.iter().map(|(value, of)| Some((*value, of.checked_mul(factor)?)));
        let terms: Option<_> = terms.collect();
        Some(Self { constant: self.constant.checked_mul(factor)?, terms: terms?, ..*self })
    }

    fn plus(&self, other: &Self) -> Option<Self> {
        let constant = self.constant.checked_add(other.constant)?;
        let mut sum = Self { constant, terms: self.terms.clone(), repeats: self.repeats || other.repeats };
        for (value, factor) in &other.terms {
            match sum.terms.binary_search_by_key(value, |(value, _)| *value) {
                Ok(at) => {
                    sum.terms[at].1 = sum.terms[at].1.checked_add(*factor)?;
                    sum.repeats = true;
                }
                Err(at) => sum.terms.insert(at, (*value, *factor)),
            }
        }
        (sum.terms.len() <= MOST_TERMS).then_some(sum)
    }
}

impl Ranges<'_> {
    /// The range of the lift of a sum in which a value occurs several times.
    pub(super) fn of_sum(&mut self, id: ExprId, view: View) -> Option<Range> {
        let sum = linear(self.exprs, &mut self.sums.borrow_mut(), id)?;
        if !sum.repeats {
            return None;
        }
        let mut range = Range::one(sum.constant);
        for (value, factor) in &sum.terms {
            range = range.plus(self.lift(*value, view).times(Range::one(*factor)));
        }
        Some(range)
    }
}

/// The sum that an expression is. Its operations are those that a lift computes on integers.
fn linear(exprs: &Exprs, sums: &mut Sums, id: ExprId) -> Option<Rc<Linear>> {
    if let Some(known) = sums.get(&id) {
        return known.clone();
    }
    let sum = match exprs.get(id) {
        Expr::Const { width, bits } => Some(Linear::constant(lift_constant(width, bits))),
        Expr::Bin(op @ (BinOp::Add | BinOp::Sub), a, b) => {
            linear(exprs, sums, a).zip(linear(exprs, sums, b)).and_then(|(a, b)| {
                let b = if op == BinOp::Sub { b.times(-1)? } else { (*b).clone() };
                a.plus(&b)
            })
        }
        Expr::Bin(op @ (BinOp::Mul | BinOp::Shl), a, b) => match (exprs.get(b), exprs.width(a)) {
            (Expr::Const { width, bits }, _) if op == BinOp::Mul => {
                linear(exprs, sums, a).and_then(|a| a.times(lift_constant(width, bits)))
            }
            (Expr::Const { bits, .. }, width) if bits < u64::from(width.bits()) => {
                linear(exprs, sums, a).and_then(|a| a.times(1 << bits))
            }
            _ => Some(of_one(id)),
        },
        Expr::Cast(Cast::Trunc, _, a) => linear(exprs, sums, a).as_deref().cloned(),
        _ => Some(of_one(id)),
    };
    let sum = sum.map(Rc::new);
    sums.insert(id, sum.clone());
    sum
}

fn of_one(value: ExprId) -> Linear {
    Linear { terms: vec![(value, 1)], ..Linear::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::{Axis, Width};
    use crate::launch::{Launch, LaunchShape};
    use crate::protocol::Protocol;

    /// The range of what is made of `threadIdx.x`, from 0 to 15, in 32 bits.
    fn range(view: View, make: impl FnOnce(&mut Exprs, ExprId) -> ExprId) -> Range {
        let mut protocol = Protocol::default();
        let t = protocol.exprs.add(Expr::Tid(Axis::X));
        let id = make(&mut protocol.exprs, t);
        let shape = LaunchShape { grid: [1; 3], block: [16, 1, 1], ..LaunchShape::default() };
        let launch = Launch { shape, ..Launch::default() };
        Ranges::new(&protocol, &protocol.exprs, Some(&launch)).lift(id, view)
    }

    #[test]
    fn multiples_of_one_value_are_added_up() {
        let cancels = |exprs: &mut Exprs, t| {
            let (all, by) = (exprs.c32(15), exprs.c32(3));
            let back = exprs.bin(BinOp::Sub, all, t);
            let thrice = exprs.bin(BinOp::Mul, t, by);
            exprs.bin(BinOp::Add, back, thrice)
        };
        assert_eq!(range(View::Signed, cancels), Range::new(15, 45));
        let shifted = |exprs: &mut Exprs, t| {
            let by = exprs.c32(2);
            let four = exprs.bin(BinOp::Shl, t, by);
            exprs.bin(BinOp::Sub, four, t)
        };
        assert_eq!(range(View::Signed, shifted), Range::new(0, 45));
    }

    #[test]
    fn what_may_wrap_is_a_value_of_its_own() {
        // The extension reads a value that has wrapped: -1 is 2^32 - 1.
        let extended = |exprs: &mut Exprs, t| {
            let one = exprs.c32(1);
            let less = exprs.bin(BinOp::Sub, t, one);
            let less = exprs.zext(Width::W64, less);
            let t = exprs.zext(Width::W64, t);
            exprs.bin(BinOp::Sub, less, t)
        };
        assert!(range(View::Signed, extended).hi >= (1 << 32) - 16);
        // A product of two values is no multiple of one.
        let square = |exprs: &mut Exprs, t| {
            let square = exprs.bin(BinOp::Mul, t, t);
            exprs.bin(BinOp::Sub, square, t)
        };
        assert_eq!(range(View::Signed, square), Range::new(-15, 225));
    }
}
