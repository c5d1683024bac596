//! Integer operators as linear terms: the cases of [`BinOp`], and shifts by an amount that is not
//! constant. [`crate::division`], [`crate::bits`] and [`crate::products`] hold the harder ones.

use gpurace_protocol::expr::{BinOp, ExprId};
use gpurace_protocol::range::{Range, View};

use crate::encode::{Encoder, Frame};
use crate::linear::{Encoded, Formula, Lin};

/// The largest number of cases that a product or quotient is split into.
pub(crate) const MOST_CASES: usize = 90;

impl<'a> Encoder<'a> {
    /// Returns the lift in `view` of `op` applied to `a` and `b`.
    pub(crate) fn lift_bin(
        &mut self,
        f: &mut Frame<'a>,
        op: BinOp,
        a: ExprId,
        b: ExprId,
        view: View,
    ) -> Encoded<Lin> {
        use View::{Signed, Unsigned};
        let exprs = self.setting.exprs;
        let width = exprs.width(a);
        let bits = i128::from(width.bits());
        let constant = exprs.as_const(b).map(i128::from);
        match op {
            BinOp::Add => {
                let (x, y) = (self.lift(f, a, view)?, self.lift(f, b, view)?);
                x.plus(1, &y)
            }
            BinOp::Sub => {
                let (x, y) = (self.lift(f, a, view)?, self.lift(f, b, view)?);
                x.minus(&y)
            }
            BinOp::Mul => {
                let (x, y) = (self.lift(f, a, view)?, self.lift(f, b, view)?);
                self.product(&x, &y)
            }
            BinOp::Shl => match constant {
                Some(c) if c < bits => self.lift(f, a, view)?.times(1 << c),
                Some(_) => Ok(Lin::constant(0)),
                None => {
                    let x = self.lift(f, a, view)?;
                    self.by_amount(f, b, bits, |_, s| x.times(1 << s), Lin::constant(0))
                }
            },
            BinOp::UDiv | BinOp::URem => {
                let (x, d) = (self.computed(f, a, Unsigned)?, self.computed(f, b, Unsigned)?);
                let (q, r) = self.divide_by(&x, &d, Unsigned, op, width)?;
                Ok(if op == BinOp::UDiv { q } else { r })
            }
            BinOp::SDiv | BinOp::SRem => {
                let (x, d) = (self.computed(f, a, Signed)?, self.computed(f, b, Signed)?);
                // The ranges of unknowns do not contain what guards say about the dividend's sign.
                let positive = f.ranges.computed(a, Signed).lo >= 0;
                let by = if positive { Unsigned } else { Signed };
                let (q, r) = self.divide_by(&x, &d, by, op, width)?;
                Ok(if op == BinOp::SDiv { q } else { r })
            }
            BinOp::LShr | BinOp::AShr => {
                let by = if op == BinOp::LShr { Unsigned } else { Signed };
                let x = self.computed(f, a, by)?;
                match constant {
                    Some(c) if c < bits => Ok(self.divide(&x, 1 << c)?.0),
                    Some(_) if op == BinOp::LShr => Ok(Lin::constant(0)),
                    Some(_) => Ok(self.divide(&x, 1 << bits)?.0),
                    None => {
                        let beyond = self.divide(&x, 1 << bits)?.0;
                        self.by_amount(f, b, bits, |e, s| Ok(e.divide(&x, 1 << s)?.0), beyond)
                    }
                }
            }
            BinOp::And | BinOp::Or | BinOp::Xor => self.bitwise(f, op, a, b),
            BinOp::UMin | BinOp::UMax | BinOp::SMin | BinOp::SMax => {
                let by = if matches!(op, BinOp::UMin | BinOp::UMax) { Unsigned } else { Signed };
                let (x, y) = (self.computed(f, a, by)?, self.computed(f, b, by)?);
                let less = Formula::le(&x, &y)?;
                if matches!(op, BinOp::UMin | BinOp::SMin) {
                    self.choice(less, &x, &y)
                } else {
                    self.choice(less, &y, &x)
                }
            }
        }
    }

    /// Returns the value of a shift by an unknown amount, with one case for each amount.
    fn by_amount(
        &mut self,
        f: &mut Frame<'a>,
        amount: ExprId,
        bits: i128,
        mut shifted: impl FnMut(&mut Self, i128) -> Encoded<Lin>,
        beyond: Lin,
    ) -> Encoded<Lin> {
        let range = f.ranges.computed(amount, View::Unsigned);
        let amount = self.computed(f, amount, View::Unsigned)?;
        let mut cases = Vec::new();
        for s in range.lo.max(0)..=range.hi.min(bits - 1) {
            let at = Formula::eq(&amount, &Lin::constant(s))?;
            let value = shifted(self, s)?;
            cases.push((at, value));
        }
        if range.hi >= bits {
            cases.push((Formula::le(&Lin::constant(bits), &amount)?, beyond));
        }
        let range =
            cases.iter().map(|(_, value)| self.range(value)).reduce(Range::hull).unwrap_or(Range::one(0));
        // Amounts that guards exclude have no case: the value is unknown there.
        self.by_cases("shifted", cases, range)
    }

    /// Returns the possible values of a term with their conditions, if all values are constants.
    pub(crate) fn constant_cases(&self, lin: &Lin) -> Option<Vec<(Formula, i128)>> {
        let [(atom, c)] = lin.terms[..] else { return None };
        let cases = self.seen.cases.get(&atom)?;
        if cases.len() > MOST_CASES {
            return None;
        }
        cases.iter().map(|(at, value)| Some((at.clone(), c * value.as_constant()? + lin.constant))).collect()
    }
}
