//! Sums of multiples of values.
//!
//! Interval arithmetic takes each occurrence of a value for another value: `15 - x + x` from 0 to 30 for an
//! `x` from 0 to 15. The lift of a sum adds the multiples of each value up first. What a guard says of one sum
//! holds for its multiples: `16 * y + x < 128` bounds `128 * y + 8 * x`.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::{LIMIT, Range, Ranges, View, lift_constant, special};
use crate::expr::{BinOp, Cast, Expr, ExprId, Exprs};
use crate::launch::Launch;
use crate::protocol::Protocol;

/// Most values of one sum.
const MOST_TERMS: usize = 12;

/// A sum of multiples of values that are no sums.
#[derive(Clone, Debug, Default)]
pub(super) struct Linear {
    constant: i128,
    /// Values and factors, in the order of values. No factor is 0.
    terms: Vec<(ExprId, i128)>,
    /// A value occurs more than once.
    repeats: bool,
}

/// The sums that were found, by expression. `None` if one is too long or its factors are too large.
pub(super) type Sums = FxHashMap<ExprId, Option<Rc<Linear>>>;

/// The terms of a sum, divided by their greatest common factor, the first of them positive.
type Direction = Vec<(ExprId, i128)>;

/// What guards say of sums of two and more values, by direction.
pub(super) type Bounded = FxHashMap<(Direction, View), Range>;

impl Linear {
    fn of_constant(constant: i128) -> Self {
        Self { constant, ..Self::default() }
    }

    fn of_value(value: ExprId) -> Self {
        Self { terms: vec![(value, 1)], ..Self::default() }
    }

    fn times(&self, factor: i128) -> Option<Self> {
        if factor == 0 {
            return Some(Self::default());
        }
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
        sum.terms.retain(|(_, factor)| *factor != 0);
        (sum.terms.len() <= MOST_TERMS).then_some(sum)
    }

    /// The direction of the terms, and the factor that makes them of it. `None` for fewer than two terms.
    fn direction(&self) -> Option<(Direction, i128)> {
        let (_, first) = *self.terms.first().filter(|_| self.terms.len() > 1)?;
        let common = self.terms.iter().fold(0, |common, (_, factor)| greatest_common(common, *factor));
        let factor = common * first.signum();
        Some((self.terms.iter().map(|(value, of)| (*value, of / factor)).collect(), factor))
    }

    /// The range of the sum, if its values are registers and dimensions.
    fn of_registers(&self, exprs: &Exprs, protocol: &Protocol, launch: Option<&Launch>) -> Option<Range> {
        let mut range = Range::one(self.constant);
        for (value, factor) in &self.terms {
            let node = exprs.get(*value);
            if !matches!(node, Expr::Tid(_) | Expr::Ctaid(_) | Expr::Ntid(_) | Expr::Nctaid(_) | Expr::Lane) {
                return None;
            }
            range = range.plus(special(node, protocol, launch).times(Range::one(*factor)));
        }
        Some(range)
    }
}

fn greatest_common(a: i128, b: i128) -> i128 {
    if b == 0 { a.abs() } else { greatest_common(b, a % b) }
}

impl Ranges<'_> {
    /// The range of the lift of a sum, if that is more than interval arithmetic says.
    pub(super) fn of_sum(&mut self, id: ExprId, view: View) -> Option<Range> {
        let sum = self.sum(id)?;
        let bounds = if self.guarded.bounded.is_empty() { None } else { sum.direction() };
        let bounds = bounds.and_then(|(direction, factor)| {
            let range = self.guarded.bounded.get(&(direction, view))?;
            Some(range.times(Range::one(factor)).plus(Range::one(sum.constant)))
        });
        let added = if sum.repeats { Some(self.added(&sum, view)) } else { None };
        let larger = self.by_larger(&sum, view);
        bounds.into_iter().chain(added).chain(larger).reduce(Range::meet)
    }

    /// The range that the values of a sum give.
    fn added(&mut self, sum: &Linear, view: View) -> Range {
        let mut range = Range::one(sum.constant);
        for (value, factor) in &sum.terms {
            range = range.plus(self.lift(*value, view).times(Range::one(*factor)));
        }
        range
    }

    /// The range of a sum in which something larger stands for some value: `2 * x - (x & y)` is at least `2 * x - x`.
    fn by_larger(&mut self, sum: &Linear, view: View) -> Option<Range> {
        if sum.terms.len() < 2 {
            return None;
        }
        let mut found: Option<Range> = None;
        for (at, &(value, factor)) in sum.terms.iter().enumerate() {
            for larger in self.larger(value, view).into_iter().flatten() {
                let Some(larger) = self.sum(larger) else { continue };
                let mut rest = sum.clone();
                rest.terms.remove(at);
                let Some(other) = larger.times(factor).and_then(|larger| rest.plus(&larger)) else {
                    continue;
                };
                // Without a value in common, it says no more than an interval does.
                if other.terms.len() == rest.terms.len() + larger.terms.len() {
                    continue;
                }
                let range = self.added(&other, view);
                let range = match factor > 0 {
                    true => Range::new(-LIMIT, range.hi),
                    false => Range::new(range.lo, LIMIT),
                };
                found = Some(found.map_or(range, |found| found.meet(range)));
            }
        }
        found
    }

    /// Values that are never below this one, and whose lift in the view is the unsigned number.
    fn larger(&mut self, value: ExprId, view: View) -> [Option<ExprId>; 2] {
        let (a, b) = match self.exprs.get(value) {
            Expr::Bin(BinOp::And | BinOp::UMin, a, b) => (a, Some(b)),
            Expr::Bin(BinOp::LShr, a, _) => (a, None),
            // A division by zero gives any value.
            Expr::Bin(BinOp::UDiv | BinOp::URem, a, by) if self.computed(by, View::Unsigned).lo > 0 => {
                (a, None)
            }
            _ => return [None; 2],
        };
        let all = View::Unsigned.all(self.exprs.width(value));
        let mut is_number =
            |x: &ExprId| [View::Unsigned, view].iter().all(|of| self.lift(*x, *of).within(all));
        [Some(a), b].map(|x| x.filter(&mut is_number))
    }

    /// Assumes that the lift of an expression lies in `range`.
    pub(super) fn bound_sum(&mut self, id: ExprId, view: View, range: Range) {
        let Some(sum) = self.sum(id) else { return };
        let Some((direction, factor)) = sum.direction().filter(|_| range.bounded()) else { return };
        let (lo, hi) = (range.lo - sum.constant, range.hi - sum.constant);
        let (lo, hi) = if factor > 0 { (lo, hi) } else { (-hi, -lo) };
        let by = factor.abs();
        let range = Range::new(-(-lo).div_euclid(by), hi.div_euclid(by));
        if range.lo <= range.hi {
            let known = self.guarded.bounded.entry((direction, view)).or_insert(range);
            *known = known.meet(range);
        }
    }

    fn sum(&self, id: ExprId) -> Option<Rc<Linear>> {
        linear(self.exprs, (self.protocol, self.launch), &mut self.sums.borrow_mut(), id)
    }
}

/// The sum that an expression is. Its operations are those that a lift computes on integers, and extensions of
/// what never wraps.
fn linear(
    exprs: &Exprs,
    known: (&Protocol, Option<&Launch>),
    sums: &mut Sums,
    id: ExprId,
) -> Option<Rc<Linear>> {
    if let Some(known) = sums.get(&id) {
        return known.clone();
    }
    let mut of = |id| linear(exprs, known, sums, id);
    let sum = match exprs.get(id) {
        Expr::Const { width, bits } => Some(Linear::of_constant(lift_constant(width, bits))),
        Expr::Bin(op @ (BinOp::Add | BinOp::Sub), a, b) => of(a).zip(of(b)).and_then(|(a, b)| {
            let b = if op == BinOp::Sub { b.times(-1)? } else { (*b).clone() };
            a.plus(&b)
        }),
        Expr::Bin(op @ (BinOp::Mul | BinOp::Shl), a, b) => match (exprs.get(b), exprs.width(a)) {
            (Expr::Const { width, bits }, _) if op == BinOp::Mul => {
                of(a).and_then(|a| a.times(lift_constant(width, bits)))
            }
            (Expr::Const { bits, .. }, width) if bits < u64::from(width.bits()) => {
                of(a).and_then(|a| a.times(1 << bits))
            }
            _ => Some(Linear::of_value(id)),
        },
        Expr::Cast(Cast::Trunc, _, a) => of(a).as_deref().cloned(),
        Expr::Cast(cast @ (Cast::Zext | Cast::Sext), _, a) => {
            let view = if cast == Cast::Zext { View::Unsigned } else { View::Signed };
            let all = view.all(exprs.width(a));
            let fits =
                |sum: &Rc<Linear>| sum.of_registers(exprs, known.0, known.1).is_some_and(|r| r.within(all));
            let inner = of(a).filter(fits);
            Some(inner.map_or_else(|| Linear::of_value(id), |inner| (*inner).clone()))
        }
        _ => Some(Linear::of_value(id)),
    };
    let sum = sum.map(Rc::new);
    sums.insert(id, sum.clone());
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::{Axis, CmpOp, ParamId, Width};
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

    /// The range holds all values, and has this end.
    #[track_caller]
    fn expect(range: Range, of: impl Fn(i64) -> i64, lo: i64) {
        let all: Vec<_> = (0..16).map(of).collect();
        let (least, most) = (i128::from(*all.iter().min().unwrap()), i128::from(*all.iter().max().unwrap()));
        assert!(range.lo <= least && most <= range.hi, "{range:?} {least} {most}");
        assert_eq!(range.lo, i128::from(lo));
    }

    #[test]
    fn a_part_of_a_value_is_at_most_the_value() {
        let twice_less = |op: BinOp, by: i64| {
            range(View::Signed, move |exprs, t| {
                let (two, by) = (exprs.c32(2), exprs.c32(by));
                let twice = exprs.bin(BinOp::Mul, t, two);
                let part = exprs.bin(op, t, by);
                exprs.bin(BinOp::Sub, twice, part)
            })
        };
        expect(twice_less(BinOp::And, 7), |t| 2 * t - (t & 7), 0);
        // The constant on the other side.
        let twice = |exprs: &mut Exprs, t| {
            let (two, seven) = (exprs.c32(2), exprs.c32(7));
            let (twice, part) = (exprs.product(two, t), exprs.bin(BinOp::And, seven, t));
            exprs.bin(BinOp::Sub, twice, part)
        };
        expect(range(View::Signed, twice), |t| 2 * t - (t & 7), 0);
        expect(twice_less(BinOp::URem, 5), |t| 2 * t - t % 5, 0);
        expect(twice_less(BinOp::UDiv, 3), |t| 2 * t - t / 3, 0);
        expect(twice_less(BinOp::LShr, 1), |t| 2 * t - t / 2, 0);
        expect(twice_less(BinOp::UMin, 4), |t| 2 * t - t.min(4), 0);
        // Here the whole is as large, and 7 below it is the least.
        expect(twice_less(BinOp::Or, 7), |t| 2 * t - (t | 7), -15);
        expect(twice_less(BinOp::UMax, 7), |t| 2 * t - t.max(7), -15);
        // A division by zero gives any value.
        assert!(twice_less(BinOp::URem, 0).lo < -15);
    }

    #[test]
    fn a_part_of_a_negative_number_is_larger_than_it() {
        let mut protocol = Protocol::default();
        let exprs = &mut protocol.exprs;
        let (p, two, seven) =
            (exprs.add(Expr::Param { id: ParamId(0), width: Width::W32 }), exprs.c32(2), exprs.c32(7));
        let (twice, part) = (exprs.bin(BinOp::Mul, p, two), exprs.bin(BinOp::And, p, seven));
        let rest = exprs.bin(BinOp::Sub, twice, part);
        // For -9, it is -25.
        let mut ranges = Ranges::new(&protocol, &protocol.exprs, None);
        assert_eq!(ranges.lift(rest, View::Signed).lo, 2 * i128::from(i32::MIN) - 7);
        assert_eq!(ranges.lift(rest, View::Unsigned).lo, 0);
    }

    #[test]
    fn a_part_of_a_value_that_wraps_may_be_larger_than_the_sum() {
        // `t - 8` is large for a `t` below 8.
        let part = range(View::Signed, |exprs, t| {
            let (eight, mask) = (exprs.c32(8), exprs.c32(7));
            let less = exprs.bin(BinOp::Sub, t, eight);
            let part = exprs.bin(BinOp::And, less, mask);
            exprs.bin(BinOp::Sub, t, part)
        });
        expect(part, |t| t - ((t - 8) & 7), -7);
    }

    #[test]
    fn a_guard_on_a_sum_bounds_its_multiples() {
        let mut protocol = Protocol::default();
        let exprs = &mut protocol.exprs;
        let (x, y, rows) = (exprs.add(Expr::Tid(Axis::X)), exprs.add(Expr::Tid(Axis::Y)), exprs.c32(16));
        let row = exprs.bin(BinOp::Mul, y, rows);
        let place = exprs.bin(BinOp::Add, row, x);
        let bound = exprs.c32(128);
        let inside = exprs.cmp(CmpOp::Ult, place, bound);
        // An element of 8 bytes in a row of 16, or of 15.
        let mut element = |words: i64| {
            let (x, y) = (exprs.zext(Width::W64, x), exprs.zext(Width::W64, y));
            let (by, size) = (exprs.c64(8 * words), exprs.c64(8));
            let (row, column) = (exprs.bin(BinOp::Mul, y, by), exprs.bin(BinOp::Mul, x, size));
            exprs.bin(BinOp::Add, row, column)
        };
        let (same, other) = (element(16), element(15));
        let shape = LaunchShape { grid: [1; 3], block: [16, 16, 1], ..LaunchShape::default() };
        let launch = Launch { shape, ..Launch::default() };
        let ranges = Ranges::new(&protocol, &protocol.exprs, Some(&launch));
        let lift = |guards: &[(ExprId, bool)], id| ranges.guarded(guards).lift(id, View::Signed);
        assert_eq!(lift(&[(inside, true)], same), Range::new(0, 127 * 8));
        assert_eq!(lift(&[(inside, false)], same), Range::new(128 * 8, 255 * 8));
        assert_eq!(lift(&[], same), Range::new(0, 255 * 8));
        assert_eq!(lift(&[(inside, true)], other).hi, 15 * 15 * 8 + 15 * 8);
    }
}
