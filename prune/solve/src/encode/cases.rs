//! Conditions as formulas, and values that depend on conditions.

use gpurace_protocol::expr::{BinOp, CmpOp, Expr, ExprId, Width};
use gpurace_protocol::range::{Range, View};

use super::{Cases, Encoder, Frame};
use crate::linear::{Encoded, Formula, Lin};

impl<'a> Encoder<'a> {
    /// Returns `a` if `cond` holds, else `b`. One choice has one unknown: two threads that choose between the same
    /// values by the same condition have one value.
    pub(crate) fn choice(&mut self, cond: Formula, a: &Lin, b: &Lin) -> Encoded<Lin> {
        match cond {
            Formula::True => Ok(a.clone()),
            Formula::False => Ok(b.clone()),
            _ if a == b => Ok(a.clone()),
            cond => {
                let choice = (cond, a.clone(), b.clone());
                if let Some(known) = self.seen.choices.get(&choice) {
                    return Ok(known.clone());
                }
                let range = self.range(a).hull(self.range(b));
                let cases = vec![(choice.0.clone(), a.clone()), (choice.0.clone().negated(), b.clone())];
                let value = self.by_cases("choice", cases, range)?;
                self.seen.choices.insert(choice, value.clone());
                Ok(value)
            }
        }
    }

    /// Returns an unknown that has the value of the case whose condition holds.
    pub(crate) fn by_cases(&mut self, name: &str, cases: Cases, range: Range) -> Encoded<Lin> {
        let cases: Cases = cases.into_iter().filter(|(at, _)| *at != Formula::False).collect();
        if let Some((_, value)) = cases.iter().find(|(at, _)| *at == Formula::True) {
            return Ok(value.clone());
        }
        // The unknown's range must contain every case, even in moments that are not reached.
        let range = cases.iter().fold(range, |r, (_, value)| r.hull(self.range(value)));
        let atom = self.fresh(name, range);
        let value = Lin::atom(atom);
        for (at, case) in &cases {
            let fact = at.clone().implies(Formula::eq(&value, case)?);
            self.facts.push(fact);
        }
        self.seen.cases.insert(atom, cases);
        Ok(value)
    }

    /// Returns a 1-bit expression as a formula.
    pub fn cond(&mut self, f: &mut Frame<'a>, id: ExprId) -> Encoded<Formula> {
        if let Some(known) = f.conds.get(&id) {
            return Ok(known.clone());
        }
        let exprs = self.setting.exprs;
        let formula = match exprs.get(id) {
            Expr::Const { bits: 0, .. } => Formula::False,
            Expr::Const { .. } => Formula::True,
            Expr::Bin(BinOp::And, a, b) => Formula::all([self.cond(f, a)?, self.cond(f, b)?]),
            Expr::Bin(BinOp::Or, a, b) => Formula::any([self.cond(f, a)?, self.cond(f, b)?]),
            Expr::Bin(BinOp::Xor, a, b) => Formula::differ(self.cond(f, a)?, self.cond(f, b)?),
            Expr::Select(c, a, b) => {
                let (c, a, b) = (self.cond(f, c)?, self.cond(f, a)?, self.cond(f, b)?);
                Formula::any([Formula::all([c.clone(), a]), Formula::all([c.negated(), b])])
            }
            Expr::Cmp(op, a, b) => self.comparison(f, op, a, b)?,
            _ => {
                let value = self.computed(f, id, View::Unsigned)?;
                Formula::eq(&value, &Lin::constant(1))?
            }
        };
        f.conds.insert(id, formula.clone());
        Ok(formula)
    }

    /// Returns the formula that a condition has this value.
    pub fn decided(&mut self, f: &mut Frame<'a>, (cond, value): (ExprId, bool)) -> Encoded<Formula> {
        let holds = self.cond(f, cond)?;
        Ok(if value { holds } else { holds.negated() })
    }

    /// Returns the formula that conditions have these values.
    pub fn all_decided(&mut self, f: &mut Frame<'a>, conds: &[(ExprId, bool)]) -> Encoded<Formula> {
        let each = conds.iter().map(|cond| self.decided(f, *cond));
        Ok(Formula::all(each.collect::<Encoded<Vec<_>>>()?))
    }

    /// Returns a comparison as a formula.
    fn comparison(&mut self, f: &mut Frame<'a>, op: CmpOp, a: ExprId, b: ExprId) -> Encoded<Formula> {
        let exprs = self.setting.exprs;
        if exprs.width(a) == Width::W1 && matches!(op, CmpOp::Eq | CmpOp::Ne) {
            let same = Formula::alike(self.cond(f, a)?, self.cond(f, b)?);
            return Ok(if op == CmpOp::Eq { same } else { same.negated() });
        }
        if let Some(formula) = self.comparison_with_natural(f, op, a, b)? {
            return Ok(formula);
        }
        let view = match op {
            CmpOp::Ult | CmpOp::Ule => View::Unsigned,
            CmpOp::Slt | CmpOp::Sle => View::Signed,
            CmpOp::Eq | CmpOp::Ne => {
                // Both views are right. This takes the one that needs fewer assumptions.
                let fits = |f: &mut Frame<'a>, view| f.ranges.fits(a, view) && f.ranges.fits(b, view);
                if fits(f, View::Unsigned) || !fits(f, View::Signed) && exprs.width(a) != Width::W64 {
                    View::Unsigned
                } else {
                    View::Signed
                }
            }
        };
        let (x, y) = (self.computed(f, a, view)?, self.computed(f, b, view)?);
        match op {
            CmpOp::Eq => Formula::eq(&x, &y),
            CmpOp::Ne => Ok(Formula::eq(&x, &y)?.negated()),
            CmpOp::Ult | CmpOp::Slt => Formula::lt(&x, &y),
            CmpOp::Ule | CmpOp::Sle => Formula::le(&x, &y),
        }
    }

    /// Returns an unsigned comparison of a number that may be below zero with one that both views read alike. `None`
    /// for others. LLVM makes one such comparison of `0 <= y && y < 16`. Read as unsigned, a number below zero is above
    /// all that both views read alike.
    fn comparison_with_natural(
        &mut self,
        f: &mut Frame<'a>,
        op: CmpOp,
        a: ExprId,
        b: ExprId,
    ) -> Encoded<Option<Formula>> {
        if !matches!(op, CmpOp::Ult | CmpOp::Ule) {
            return Ok(None);
        }
        let most = View::Signed.all(self.setting.exprs.width(a)).hi;
        let is_natural = |f: &mut Frame<'a>, id| f.ranges.computed(id, View::Unsigned).hi <= most;
        let may_be_negative = |f: &mut Frame<'a>, id| {
            !f.ranges.fits(id, View::Unsigned) && f.ranges.lift(id, View::Unsigned).lo < 0
        };
        let is_below =
            |x: &Lin, y: &Lin| if op == CmpOp::Ult { Formula::lt(x, y) } else { Formula::le(x, y) };
        let zero = Lin::constant(0);
        Ok(if may_be_negative(f, a) && is_natural(f, b) {
            let (x, y) = (self.computed(f, a, View::Signed)?, self.computed(f, b, View::Unsigned)?);
            Some(Formula::all([Formula::le(&zero, &x)?, is_below(&x, &y)?]))
        } else if may_be_negative(f, b) && is_natural(f, a) {
            let (x, y) = (self.computed(f, a, View::Unsigned)?, self.computed(f, b, View::Signed)?);
            Some(Formula::any([Formula::lt(&y, &zero)?, is_below(&x, &y)?]))
        } else {
            None
        })
    }
}
