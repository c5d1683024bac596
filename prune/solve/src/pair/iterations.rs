//! What is known of an iteration of a loop in which a thread is.

use gpurace_protocol::expr::{CmpOp, Expr, ExprId, LoopId};
use gpurace_protocol::protocol::{Loop, Step};
use gpurace_protocol::range::View;

use super::Question;
use crate::encode::Frame;
use crate::linear::{Encoded, Formula, Lin};

impl<'a> Question<'a> {
    /// Asks whether an iteration is the first one, or conditions held in the one before. A thread may skip a condition
    /// that is not certain.
    pub(super) fn follows(
        &mut self,
        frame: &Frame<'a>,
        (of, k): (LoopId, &Lin),
        conds: &[(ExprId, bool)],
    ) -> Encoded<()> {
        let Self { encoder, sought } = self;
        let mut before = frame.copy();
        // For the first iteration the value of `previous` has no effect.
        let range = before.ranges.iterations(of);
        let previous = Lin::atom(encoder.fresh("iteration", range));
        before.iteration.insert(of, previous.clone());
        let mut again = vec![Formula::eq(&previous.shifted(1)?, k)?];
        for &(cond, certain) in conds {
            before.certain &= certain;
            again.push(encoder.cond(&mut before, cond)?);
        }
        sought.push(Formula::any([Formula::eq(k, &Lin::constant(0))?, Formula::all(again)]));
        Ok(())
    }

    /// Notes that `i != n` with step 1 means `i < n`, if the loop starts at or below `n`; for
    /// step -1, the mirror image.
    pub(super) fn ends_at_equality(&mut self, frame: &mut Frame<'a>, of: &Loop) -> Encoded<()> {
        let Self { encoder, sought } = self;
        let exprs = encoder.setting.exprs;
        let Expr::Cmp(CmpOp::Ne, x, bound) = exprs.get(of.cond) else { return Ok(()) };
        for (x, bound) in [(x, bound), (bound, x)] {
            let Expr::Var { id, .. } = exprs.get(x) else { continue };
            let Some(var) = of.vars.iter().find(|var| var.id == id) else { continue };
            let Step::Add(step) = var.step else { continue };
            let step = match exprs.as_const(step) {
                Some(bits) => exprs.width(step).signed(bits),
                None => continue,
            };
            let may_change = |e| match e {
                Expr::Var { id, .. } => of.vars.iter().any(|v| v.id == id),
                Expr::Iteration(id) => id == of.id,
                Expr::Total { .. } | Expr::Opaque { .. } => true,
                _ => false,
            };
            if step.abs() != 1 || exprs.mentions(bound, may_change) {
                continue;
            }
            for view in [View::Unsigned, View::Signed] {
                let ranges = &mut frame.ranges;
                if !(ranges.fits(x, view) && ranges.fits(bound, view) && ranges.fits(var.from, view)) {
                    continue;
                }
                if ranges.never_wraps(id, view).is_none() {
                    continue;
                }
                let (x, bound, from) = (
                    encoder.computed(frame, x, view)?,
                    encoder.computed(frame, bound, view)?,
                    encoder.computed(frame, var.from, view)?,
                );
                sought.push(if step == 1 {
                    Formula::le(&from, &bound)?.implies(Formula::lt(&x, &bound)?)
                } else {
                    Formula::le(&bound, &from)?.implies(Formula::lt(&bound, &x)?)
                });
            }
        }
        Ok(())
    }
}
