//! Loop variables as terms over the iteration number.

use std::rc::Rc;

use gpurace_protocol::condition::Condition;
use gpurace_protocol::expr::{CmpOp, Expr, ExprId, LoopId, VarId, Width};
use gpurace_protocol::protocol::{Last, Loop, Step, Test, Uniform};
use gpurace_protocol::range::{Loops, Range, VarInfo, View};

use super::opaque::iterations;
use super::{Cases, Encoder, Frame, Key, Wrap};
use crate::linear::{Encoded, Formula, Lin};
use crate::operators::MOST_CASES;
use crate::values::Fixed;

/// A loop variable in an iteration, where each step multiplies or divides it by a constant.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Iterated {
    of: VarId,
    /// Its first value.
    from: Lin,
    /// The number of the iteration.
    at: Lin,
    view: View,
    /// What is known of its value. That may rest on guards, which differ between the places that ask for it.
    known: Cases,
}

impl<'a> Encoder<'a> {
    /// Returns the value of a loop variable in the view.
    pub(super) fn var(&mut self, f: &mut Frame<'a>, id: VarId, width: Width, view: View) -> Encoded<Lin> {
        let any = |e: &mut Self| Ok(Lin::atom(e.fresh("variable", view.all(width))));
        let Some(info) = f.ranges.loops().vars.get(&id).copied() else { return any(self) };
        let Some(k) = f.iteration.get(&info.of.id).cloned() else { return any(self) };
        if let Some((at, fixed)) = f.fixed.get(&id).cloned()
            && at == k
        {
            return match fixed {
                Fixed::Value(bits) => Ok(Lin::constant(view.read(width, bits))),
                Fixed::Power(of) => {
                    let power = self.power(f, id, width, &of)?;
                    self.wrapped(&power, width, view)
                }
            };
        }
        if k.as_constant() == Some(0) {
            return self.computed(f, info.var.from, view);
        }
        match info.var.step {
            Step::Add(step) => {
                let from = self.computed(f, info.var.from, view)?;
                let way = self.way(f, &k, step)?;
                let lift = from.plus(1, &way)?;
                self.value_of_lift(f, info, lift, view)
            }
            Step::Mul(factor) => self.geometric(f, info, &k, i128::from(factor), view),
            Step::UDiv(by) => self.halving(f, info, &k, i128::from(by), View::Unsigned, view),
            Step::SDiv(by) => self.halving(f, info, &k, i128::from(by), View::Signed, view),
            Step::AShr(by) if by < 63 => self.halving(f, info, &k, 1 << by, View::Signed, view),
            Step::AShr(_) => any(self),
            Step::Any(uniform) => {
                let from = self.computed(f, info.var.from, view)?;
                self.opaque.insert("a loop variable without a known step".into());
                let key = Key::Any(id, self.side_of(f, uniform), iterations(f, |_| true), view);
                let (later, is_new) = self.keyed(key.clone(), "variable", view.all(width));
                if is_new {
                    self.one_in_one_iteration(key, &later)?;
                }
                let first = Formula::eq(&k, &Lin::constant(0))?;
                self.choice(first, &from, &later)
            }
        }
    }

    /// Returns the number of iterations that the frame's thread has begun of a loop before its current one, in all
    /// rounds of the loops around it.
    pub(crate) fn total(&mut self, f: &Frame<'a>, of: LoopId) -> Encoded<Lin> {
        let around = f.ranges.loops().around.get(&of).cloned().unwrap_or_default();
        let is_in = |of: &LoopId| f.iteration.contains_key(of);
        let Some(k) = f.iteration.get(&of).filter(|_| around.iter().all(is_in)).cloned() else {
            return Ok(Lin::atom(self.fresh("iterations", View::Signed.all(Width::W64))));
        };
        if around.is_empty() {
            return Ok(k);
        }
        if let Some(total) = self.equal_rounds(f, of, &around)? {
            return Ok(total);
        }
        self.opaque.insert("the iterations of a loop in earlier rounds".into());
        let side = self.side_of(f, self.uniform_total(of).unwrap_or(Uniform::Thread));
        let key = Key::Rounds(of, side, iterations(f, |of| around.contains(&of)));
        let (before, is_new) = self.keyed(key.clone(), "earlier_rounds", f.ranges.guarded(&[]).total(of));
        if is_new {
            self.one_in_one_iteration(key, &before)?;
        }
        before.plus(1, &k)
    }

    /// Returns the number of iterations before the current one in all rounds, where each round has as many, and the
    /// launch tells how many: `i * 8 + j`.
    fn equal_rounds(&mut self, f: &Frame<'a>, of: LoopId, around: &[LoopId]) -> Encoded<Option<Lin>> {
        let Some(bounds) = self.bounds_of_rounds(of) else { return Ok(None) };
        let mut total = f.iteration[&around[0]].clone();
        for (inner, (bound, view)) in around[1..].iter().chain([&of]).zip(bounds) {
            let mut frame = f.copy();
            // Products of unknowns would make each query long.
            let Some(rounds) = self.computed(&mut frame, bound, view)?.as_constant().filter(|n| *n >= 0)
            else {
                return Ok(None);
            };
            total = total.times(rounds)?.plus(1, &f.iteration[inner])?;
        }
        Ok(Some(total))
    }

    /// True if each round of the loops around a loop has as many iterations of it.
    pub(crate) fn has_equal_rounds(&self, of: LoopId) -> bool {
        self.bounds_of_rounds(of).is_some()
    }

    /// For each loop around a loop but the outermost one, and for the loop itself: the number of its iterations, if
    /// that is the same in all rounds, and above 0.
    fn bounds_of_rounds(&self, of: LoopId) -> Option<Vec<(ExprId, View)>> {
        let exprs = self.setting.exprs;
        let loops = Loops::of(self.setting.protocol);
        let around = loops.around.get(&of)?;
        let all: Vec<LoopId> = around.iter().copied().chain([of]).collect();
        let changes = |node: Expr| match node {
            Expr::Var { id, .. } => loops.vars.get(&id).is_none_or(|var| all.contains(&var.of.id)),
            Expr::Iteration(id) | Expr::Total { of: id, .. } => all.contains(&id),
            Expr::Opaque { .. } => true,
            _ => false,
        };
        let mut bounds = Vec::new();
        for pair in all.windows(2) {
            let (outer, inner) = (*loops.loops.get(&pair[0])?, *loops.loops.get(&pair[1])?);
            let [mut entry, own] = [&outer.id, &inner.id].map(|id| loops.entry[id].clone());
            // No condition leads to the inner loop, and nothing else ends the two.
            entry.push((outer.cond, true));
            let is_plain = |of: &Loop| of.test == Test::Before && of.breaks.is_none();
            if entry != own || !is_plain(outer) || !is_plain(inner) {
                return None;
            }
            let Expr::Cmp(op, x, bound) = exprs.get(inner.cond) else { return None };
            let view = match op {
                CmpOp::Slt => View::Signed,
                CmpOp::Ult => View::Unsigned,
                _ => return None,
            };
            let Expr::Var { id, .. } = exprs.get(x) else { return None };
            let var = inner.vars.iter().find(|var| var.id == id)?;
            let Step::Add(step) = var.step else { return None };
            let by_one = exprs.as_const(var.from) == Some(0) && exprs.as_const(step) == Some(1);
            if !by_one || exprs.mentions(bound, changes) {
                return None;
            }
            bounds.push((bound, view));
        }
        Some(bounds)
    }

    /// True if the protocol uses the number of iterations of a loop over all rounds of the loops around it.
    pub(crate) fn counts_all_rounds(&self, of: LoopId) -> bool {
        self.uniform_total(of).is_some()
    }

    /// The group whose threads have made as many iterations of a loop.
    fn uniform_total(&self, of: LoopId) -> Option<Uniform> {
        self.setting.exprs.iter().find_map(|(_, node)| match node {
            Expr::Total { of: own, uniform } if own == of => Some(uniform),
            _ => None,
        })
    }

    /// Returns the sum of the steps of `k` iterations. Each way to choose a step is a product of its own.
    fn way(&mut self, f: &mut Frame<'a>, k: &Lin, step: ExprId) -> Encoded<Lin> {
        if let Expr::Select(cond, a, b) = self.setting.exprs.get(step) {
            let cond = self.cond(f, cond)?;
            let (a, b) = (self.way(f, k, a)?, self.way(f, k, b)?);
            return self.choice(cond, &a, &b);
        }
        let step = self.computed(f, step, View::Signed)?;
        self.product(k, &step)
    }

    /// Returns the formula that a value is the one that a loop's expression has when the loop ends, unsigned. So it is
    /// that of some iteration, and the loop's condition held in the iteration before. The query may also mention the
    /// value in an execution that does not come to the loop. Then nothing is known of it.
    pub(super) fn is_last_value(
        &mut self,
        f: &Frame<'a>,
        around: &[LoopId],
        last: Last,
        value: &Lin,
    ) -> Encoded<Formula> {
        let mut iteration = f.iteration.clone();
        iteration.retain(|of, _| around.contains(of));
        let mut entry = Frame::uncertain(self.setting, f.side, iteration);
        let loops = Rc::clone(entry.ranges.loops());
        let (Some(of), Some(guards)) = (loops.loops.get(&last.of), loops.entry.get(&last.of)) else {
            return Ok(Formula::True);
        };
        let comes = self.all_decided(&mut entry, guards)?;
        let count = entry.ranges.iterations(of.id);
        let count = Lin::atom(self.fresh("iterations", count));
        let [mut ended, mut before] = [(); 2].map(|()| entry.copy());
        ended.iteration.insert(of.id, count.clone());
        before.iteration.insert(of.id, count.shifted(-1)?);
        let same = Formula::eq(value, &self.computed(&mut ended, last.value, View::Unsigned)?)?;
        let first = Formula::eq(&count, &Lin::constant(0))?;
        let went_on = Formula::any([first, self.cond(&mut before, of.cond)?]);
        Ok(comes.implies(Formula::all([same, went_on])))
    }

    /// Returns the variable's value for its lift. If the variable may wrap, either a condition of
    /// the proof excludes that, or the term includes it.
    fn value_of_lift(&mut self, f: &mut Frame<'a>, info: VarInfo<'a>, lift: Lin, view: View) -> Encoded<Lin> {
        match self.assume_no_wrap(f, info, &lift, view)? {
            true => Ok(lift),
            false => self.wrapped(&lift, info.var.width, view),
        }
    }

    /// True if a variable with this lift never wraps, be it that a condition of the proof excludes it.
    pub(crate) fn assume_no_wrap(
        &mut self,
        f: &mut Frame<'a>,
        info: VarInfo<'a>,
        lift: &Lin,
        view: View,
    ) -> Encoded<bool> {
        let (id, width) = (info.var.id, info.var.width);
        if f.ranges.never_wraps(id, view).is_some() {
            return Ok(true);
        }
        if let (Wrap::Assume, true, Some(next)) = (self.setting.wrap, f.certain, self.setting.next.get(&id)) {
            let mut guards = self.guards_outside(f, info.of.id);
            if info.of.test == Test::Before {
                guards.push((info.of.cond, true));
            }
            let signed = view == View::Signed;
            self.needs.insert(Condition::Fits { value: *next, signed, guards });
            let fits = Formula::within(lift, view.all(width))?;
            self.facts.push(fits);
            return Ok(true);
        }
        Ok(false)
    }

    /// Returns the frame's guards whose values do not change in the loop.
    fn guards_outside(&self, f: &Frame<'a>, of: LoopId) -> Vec<(ExprId, bool)> {
        let loops = f.ranges.loops();
        let inside = |e: Expr| match e {
            Expr::Var { id, .. } => loops.vars.get(&id).is_none_or(|v| v.of.id == of),
            Expr::Iteration(id) => id == of,
            Expr::Total { .. } | Expr::Opaque { .. } => true,
            _ => false,
        };
        let exprs = self.setting.exprs;
        f.guards.iter().copied().filter(|(cond, _)| !exprs.mentions(*cond, inside)).collect()
    }

    /// Returns the value of a variable that is multiplied in each iteration: a case for each iteration before it wraps.
    fn geometric(
        &mut self,
        f: &mut Frame<'a>,
        info: VarInfo<'a>,
        k: &Lin,
        factor: i128,
        view: View,
    ) -> Encoded<Lin> {
        let width = info.var.width;
        let all = view.all(width);
        let from = self.computed(f, info.var.from, view)?;
        let least = f.ranges.computed(info.var.from, view).lo.max(self.range(&from).lo);
        if factor < 2 || least < 1 {
            let known = vec![(Formula::eq(k, &Lin::constant(0))?, from.clone())];
            return self.in_iteration(Iterated { of: info.var.id, from, at: k.clone(), view, known }, all);
        }
        let mut cases = Vec::new();
        let mut power = 1i128;
        let mut j = 0;
        while least * power <= all.hi {
            let at = Formula::eq(k, &Lin::constant(j))?;
            cases.push((at, from.times(power)?));
            power *= factor;
            j += 1;
        }
        // After the last case the variable wraps, and its value is unknown here.
        let iterated = Iterated { of: info.var.id, from, at: k.clone(), view, known: cases };
        let value = self.in_iteration(iterated, all)?;
        let assumed = self.setting.wrap == Wrap::Assume;
        if f.certain && (assumed || f.ranges.never_wraps(info.var.id, view).is_some()) {
            let few = Formula::lt(k, &Lin::constant(j))?;
            self.facts.push(few);
        }
        self.value_of_lift(f, info, value, view)
    }

    /// Returns the value of a variable that is divided in each iteration: a case for each iteration, until it is 0. The
    /// division reads it in the view `own`.
    fn halving(
        &mut self,
        f: &mut Frame<'a>,
        info: VarInfo<'a>,
        k: &Lin,
        by: i128,
        own: View,
        view: View,
    ) -> Encoded<Lin> {
        let width = info.var.width;
        let from = self.computed(f, info.var.from, own)?;
        let range = f.ranges.computed(info.var.from, own).meet(self.range(&from));
        let all = view.all(width);
        let iterated = |known| Iterated { of: info.var.id, from: from.clone(), at: k.clone(), view, known };
        if by < 2 || range.lo < 0 || !range.within(all) {
            let first = Formula::eq(k, &Lin::constant(0))?;
            let from = self.computed(f, info.var.from, view)?;
            return self.in_iteration(iterated(vec![(first, from)]), all);
        }
        // If the start has few constant values, each value and iteration is a case.
        if let Some(starts) = self.constant_cases(&from) {
            let mut cases = Vec::new();
            for (start, mut value) in starts.into_iter().filter(|(_, c)| *c >= 0) {
                let mut j = 0;
                while value > 0 {
                    let at = Formula::eq(k, &Lin::constant(j))?;
                    cases.push((Formula::all([start.clone(), at]), Lin::constant(value)));
                    value /= by;
                    j += 1;
                }
                let beyond = Formula::le(&Lin::constant(j), k)?;
                cases.push((Formula::all([start, beyond]), Lin::constant(0)));
            }
            if cases.len() <= MOST_CASES {
                return self.in_iteration(iterated(cases), all);
            }
        }
        let mut cases = Vec::new();
        let mut power = 1i128;
        let mut j = 0;
        while power <= range.hi {
            let at = Formula::eq(k, &Lin::constant(j))?;
            let (quotient, _) = self.divide(&from, power)?;
            cases.push((at, quotient));
            power *= by;
            j += 1;
        }
        cases.push((Formula::le(&Lin::constant(j), k)?, Lin::constant(0)));
        self.in_iteration(iterated(cases), all)
    }

    /// Returns a variable's value in an iteration. All that ask for it and know the same of it get the same unknown:
    /// two threads with one first value have one value in each iteration.
    fn in_iteration(&mut self, of: Iterated, range: Range) -> Encoded<Lin> {
        if let Some(known) = self.seen.iterated.get(&of) {
            return Ok(known.clone());
        }
        let value = self.by_cases("variable", of.known.clone(), range)?;
        self.seen.iterated.insert(of, value.clone());
        Ok(value)
    }
}
