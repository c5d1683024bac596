//! `&`, `|` and `^` as linear terms: by division if a mask has few runs of bits, else bit by bit. [`crate::masks`] is
//! for wide numbers of which neither is known.

use gpurace_protocol::expr::{BinOp, ExprId, Width};
use gpurace_protocol::range::{Range, View};

use crate::encode::{Encoder, Frame};
use crate::linear::{Encoded, Formula, Lin, gcd};

/// The largest number of bits for which an operator is encoded bit by bit.
pub(crate) const MOST_BITS: u32 = 34;
/// The largest number of bits for which an operator of two unknown numbers is encoded bit by bit.
pub(crate) const MOST_EXACT_BITS: u32 = 16;
/// The largest number of runs of bits for which a mask is encoded by division.
pub(crate) const MOST_FIELDS: usize = 4;

impl<'a> Encoder<'a> {
    /// Returns the value of a bitwise operator, as an unsigned number.
    pub(crate) fn bitwise(&mut self, f: &mut Frame<'a>, op: BinOp, a: ExprId, b: ExprId) -> Encoded<Lin> {
        let exprs = self.setting.exprs;
        let width = exprs.width(a);
        let mask = i128::from(width.mask());
        if let (BinOp::And, Some(m)) = (op, exprs.as_const(b).map(i128::from)) {
            if (m + 1) & m == 0 {
                // All congruent numbers have the same low bits, so the lift is enough.
                let x = self.lift(f, a, View::Unsigned)?;
                return Ok(self.divide(&x, m + 1)?.1);
            }
            let low = !m & mask;
            if (low + 1) & low == 0 {
                let x = self.computed(f, a, View::Unsigned)?;
                let cut = self.divide(&x, low + 1)?.1;
                return x.minus(&cut);
            }
        }
        if op == BinOp::And
            && let Some(value) = self.around_power(f, a, b)?
        {
            return Ok(value);
        }
        let range = f.ranges.computed(a, View::Unsigned).hull(f.ranges.computed(b, View::Unsigned));
        let (x, y) = (self.computed(f, a, View::Unsigned)?, self.computed(f, b, View::Unsigned)?);
        if op == BinOp::Xor && exprs.as_const(b).map(i128::from) == Some(mask) {
            return Lin::constant(mask).minus(&x);
        }
        if op == BinOp::Or {
            for ((high, low), id) in [((&x, &y), b), ((&y, &x), a)] {
                let unit = match high.as_constant() {
                    Some(c) => c & c.wrapping_neg(),
                    None => {
                        let c = high.constant.abs();
                        gcd(high.gcd(), c)
                    }
                };
                // `unit` becomes the largest power of two that divides `high`.
                let unit = if unit == 0 { i128::MAX } else { unit & unit.wrapping_neg() };
                let is_below = |range: Range| range.lo >= 0 && range.hi < unit;
                if is_below(self.range(low)) || is_below(f.ranges.computed(id, View::Unsigned)) {
                    return x.plus(1, &y);
                }
            }
        }
        for (known, other) in [(&y, &x), (&x, &y)] {
            if let Some(cases) = self.constant_cases(known)
                && cases.iter().all(|(_, c)| (0..=mask).contains(c))
            {
                let mut values = Vec::new();
                for (at, c) in cases {
                    let value = self.bits_with(op, other, &Lin::constant(c), range, width)?;
                    values.push((at, value));
                }
                return self.by_cases("bits", values, View::Unsigned.all(width));
            }
        }
        self.bits_with(op, &x, &y, range, width)
    }

    /// Encodes a bitwise operator on values in `range`: by division for a simple mask, else bit by
    /// bit.
    fn bits_with(&mut self, op: BinOp, x: &Lin, y: &Lin, range: Range, width: Width) -> Encoded<Lin> {
        // The proof's conditions rule out a constant that does not fit the width, such as `s - 1`
        // after doubling has made `s` 0.
        let held = 0..=i128::from(width.mask());
        if [x, y].iter().any(|of| of.as_constant().is_some_and(|c| !held.contains(&c))) {
            return Ok(Lin::atom(self.fresh("bits", View::Unsigned.all(width))));
        }
        for (x, mask) in [(x, y.as_constant()), (y, x.as_constant())] {
            if let Some(mask) = mask
                && let Some(common) = self.masked(x, mask)?
            {
                return match op {
                    BinOp::And => Ok(common),
                    BinOp::Or => x.shifted(mask)?.minus(&common),
                    _ => x.shifted(mask)?.plus(-2, &common),
                };
            }
        }
        let hi = range.hi.max(self.range(y).hi.min(i128::from(width.mask())));
        let count = 128 - hi.max(0).leading_zeros();
        if count > MOST_EXACT_BITS {
            return self.by_common_bits(op, x, y, width);
        }
        let (xs, ys) = (self.bits_of(x, count)?, self.bits_of(y, count)?);
        let mut sum = Lin::default();
        for (i, (a, b)) in xs.iter().zip(&ys).enumerate() {
            let bit = match (op, a.as_constant(), b.as_constant()) {
                (BinOp::And, Some(0), _) | (BinOp::And, _, Some(0)) => Lin::constant(0),
                (BinOp::And, Some(_), _) => b.clone(),
                (BinOp::And, _, Some(_)) => a.clone(),
                (_, Some(0), _) => b.clone(),
                (_, _, Some(0)) => a.clone(),
                (BinOp::Or, Some(_), _) | (BinOp::Or, _, Some(_)) => Lin::constant(1),
                (_, Some(_), _) => Lin::constant(1).minus(b)?,
                (_, _, Some(_)) => Lin::constant(1).minus(a)?,
                _ => {
                    let one = Lin::constant(1);
                    let (p, q) = (Formula::eq(a, &one)?, Formula::eq(b, &one)?);
                    self.bit_of(match op {
                        BinOp::And => Formula::all([p, q]),
                        BinOp::Or => Formula::any([p, q]),
                        _ => Formula::differ(p, q),
                    })?
                }
            };
            sum = sum.plus(1 << i, &bit)?;
        }
        Ok(sum)
    }

    /// Returns an unknown bit that is 1 where the formula holds, and else 0.
    pub(crate) fn bit_of(&mut self, formula: Formula) -> Encoded<Lin> {
        let bit = Lin::atom(self.fresh("bit", Range::new(0, 1)));
        let set = Formula::eq(&bit, &Lin::constant(1))?;
        self.facts.push(formula.clone().implies(set.clone()));
        self.facts.push(set.implies(formula));
        Ok(bit)
    }

    /// Returns `x & mask`, encoded by division, if the mask has few runs of bits.
    fn masked(&mut self, x: &Lin, mask: i128) -> Encoded<Option<Lin>> {
        let fields = fields(mask);
        if fields.len() > MOST_FIELDS || self.range(x).lo < 0 {
            return Ok(None);
        }
        let mut sum = Lin::default();
        for (at, count) in fields {
            let high = self.divide(x, 1 << at)?.0;
            let field = self.divide(&high, 1 << count)?.1;
            sum = sum.plus(1 << at, &field)?;
        }
        Ok(Some(sum))
    }

    /// Returns the `count` low bits of a non-negative number that has no higher bits.
    pub(crate) fn bits_of(&mut self, x: &Lin, count: u32) -> Encoded<Vec<Lin>> {
        if let Some(c) = x.as_constant() {
            return Ok((0..count).map(|i| Lin::constant(c >> i & 1)).collect());
        }
        if let Some(known) = self.seen.bits.get(&(x.clone(), count)) {
            return Ok(known.clone());
        }
        let bits: Vec<_> = (0..count).map(|_| Lin::atom(self.fresh("bit", Range::new(0, 1)))).collect();
        let mut sum = Lin::default();
        for (i, bit) in bits.iter().enumerate() {
            sum = sum.plus(1 << i, bit)?;
        }
        // Guards may keep the number below `2^count`. The fact is an implication because guards
        // do not hold in moments that are not reached.
        let has_no_more = Formula::within(x, Range::new(0, (1 << count) - 1))?;
        let fact = has_no_more.implies(Formula::eq(x, &sum)?);
        self.facts.push(fact);
        self.seen.bits.insert((x.clone(), count), bits.clone());
        Ok(bits)
    }
}

/// Returns the runs of set bits of a non-negative mask: the first bit and the length of each.
pub(crate) fn fields(mask: i128) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    let mut at = 0;
    while mask >> at != 0 {
        at += (mask >> at).trailing_zeros();
        let count = (mask >> at).trailing_ones();
        found.push((at, count));
        at += count;
    }
    found
}
