//! Ranges that follow from conditions, and conditions that ranges decide.

use super::{Range, Ranges, View};
use crate::expr::{BinOp, Cast, CmpOp, Expr, ExprId};

impl Ranges<'_> {
    /// Returns the truth of a comparison, if the ranges decide it.
    pub(super) fn truth(&mut self, op: CmpOp, a: ExprId, b: ExprId) -> Option<bool> {
        let view = match op {
            CmpOp::Ult | CmpOp::Ule | CmpOp::Eq | CmpOp::Ne => View::Unsigned,
            CmpOp::Slt | CmpOp::Sle => View::Signed,
        };
        let (x, y) = (self.computed(a, view), self.computed(b, view));
        let apart = x.hi < y.lo || y.hi < x.lo;
        let same = x.count() == 1 && x == y;
        match op {
            CmpOp::Eq if apart => Some(false),
            CmpOp::Eq if same => Some(true),
            CmpOp::Ne if apart => Some(true),
            CmpOp::Ne if same => Some(false),
            CmpOp::Ult | CmpOp::Slt if x.hi < y.lo => Some(true),
            CmpOp::Ult | CmpOp::Slt if x.lo >= y.hi => Some(false),
            CmpOp::Ule | CmpOp::Sle if x.hi <= y.lo => Some(true),
            CmpOp::Ule | CmpOp::Sle if x.lo > y.hi => Some(false),
            _ => None,
        }
    }

    /// Returns the truth of a 1-bit expression, if the ranges decide it.
    pub fn known_truth(&mut self, cond: ExprId) -> Option<bool> {
        let range = self.computed(cond, View::Unsigned);
        (range.count() == 1).then_some(range.lo == 1)
    }

    /// Assumes this value of a 1-bit expression.
    pub(super) fn assume(&mut self, cond: ExprId, value: bool) {
        self.refine(cond, View::Unsigned, Range::one(i128::from(value)));
        match self.exprs.get(cond) {
            Expr::Bin(BinOp::And, a, b) if value => {
                self.assume(a, true);
                self.assume(b, true);
            }
            Expr::Bin(BinOp::Or, a, b) if !value => {
                self.assume(a, false);
                self.assume(b, false);
            }
            Expr::Bin(BinOp::Xor, a, b) if self.exprs.as_const(b) == Some(1) => {
                self.assume(a, !value);
            }
            Expr::Cmp(op, a, b) => self.assume_cmp(op, a, b, value),
            _ => {}
        }
    }

    fn assume_cmp(&mut self, op: CmpOp, a: ExprId, b: ExprId, value: bool) {
        use View::{Signed, Unsigned};
        let (x, y, view, strict) = match (op, value) {
            (CmpOp::Eq, true) | (CmpOp::Ne, false) => {
                for view in [Unsigned, Signed] {
                    let both = self.computed(a, view).meet(self.computed(b, view));
                    self.refine(a, view, both);
                    self.refine(b, view, both);
                }
                return;
            }
            (CmpOp::Eq, false) | (CmpOp::Ne, true) => {
                for view in [Unsigned, Signed] {
                    for (p, q) in [(a, b), (b, a)] {
                        let (x, y) = (self.computed(p, view), self.computed(q, view));
                        if y.count() != 1 {
                            continue;
                        }
                        if x.lo == y.lo {
                            self.refine(p, view, Range::new(x.lo + 1, x.hi));
                        } else if x.hi == y.lo {
                            self.refine(p, view, Range::new(x.lo, x.hi - 1));
                        }
                    }
                }
                return;
            }
            (CmpOp::Ult, true) => (a, b, Unsigned, 1),
            (CmpOp::Ule, true) => (a, b, Unsigned, 0),
            (CmpOp::Slt, true) => (a, b, Signed, 1),
            (CmpOp::Sle, true) => (a, b, Signed, 0),
            (CmpOp::Ult, false) => (b, a, Unsigned, 0),
            (CmpOp::Ule, false) => (b, a, Unsigned, 1),
            (CmpOp::Slt, false) => (b, a, Signed, 0),
            (CmpOp::Sle, false) => (b, a, Signed, 1),
        };
        // x + strict <= y
        let (rx, ry) = (self.computed(x, view), self.computed(y, view));
        self.refine(x, view, Range::new(rx.lo, rx.hi.min(ry.hi - strict)));
        self.refine(y, view, Range::new(ry.lo.max(rx.lo + strict), ry.hi));
        // The difference is the one of the numbers, if that is a number of the view.
        let difference = Range::new(strict.max(ry.lo - rx.hi), ry.hi - rx.lo);
        if let Some(of_both) = self.exprs.find(Expr::Bin(BinOp::Sub, y, x))
            && difference.within(view.all(self.exprs.width(x)))
        {
            self.refine(of_both, view, difference);
        }
    }

    /// Assumes that the value in the view lies in `range`, and what follows for its operands.
    pub(super) fn refine(&mut self, id: ExprId, view: View, range: Range) {
        if range.lo > range.hi {
            return;
        }
        let width = self.exprs.width(id);
        let before = self.computed(id, view);
        let range = before.meet(range);
        let fits = self.fits(id, view);
        self.guarded.refined.insert((id, view), range);
        let other = if view == View::Signed { View::Unsigned } else { View::Signed };
        if range.within(other.all(width)) {
            // A number that both views have is the same in both.
            let own = self.computed(id, other).meet(range);
            self.guarded.refined.insert((id, other), own);
            if self.fits(id, other) {
                self.bound_sum(id, other, own);
            }
        }
        if fits {
            self.bound_sum(id, view, range);
        }
        self.lifted.clear();
        match self.exprs.get(id) {
            Expr::Cast(Cast::Zext, _, a) => self.refine(a, View::Unsigned, range),
            // A large number of the unsigned view is a negative one before its extension.
            Expr::Cast(Cast::Sext, _, a) if range.within(View::Signed.all(width)) => {
                self.refine(a, View::Signed, range);
            }
            Expr::Bin(op @ (BinOp::Add | BinOp::Sub), a, b) if fits => {
                if let Some(bits) = self.exprs.as_const(b) {
                    let by = Range::one(View::Signed.read(width, bits));
                    let inner = if op == BinOp::Add { range.minus(by) } else { range.plus(by) };
                    if self.fits(a, view) {
                        self.refine(a, view, inner);
                    }
                }
            }
            Expr::Bin(op @ (BinOp::Mul | BinOp::Shl), a, b) if fits => {
                let by = self.exprs.as_const(b).and_then(|bits| match op {
                    BinOp::Shl => 1i128.checked_shl(u32::try_from(bits).ok().filter(|by| *by < 64)?),
                    _ => Some(View::Signed.read(width, bits)),
                });
                if let Some(by) = by.filter(|by| *by > 0)
                    && range.bounded()
                    && self.fits(a, view)
                {
                    let (lo, hi) = (-(-range.lo).div_euclid(by), range.hi.div_euclid(by));
                    self.refine(a, view, Range::new(lo, hi));
                }
            }
            _ => {}
        }
    }
}
