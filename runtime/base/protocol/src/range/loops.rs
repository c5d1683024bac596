//! Loops of a protocol: the values of their variables, and the number of their iterations.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::{FromGuards, Range, Ranges, View};
use crate::expr::{BinOp, CmpOp, Expr, ExprId, LoopId, VarId, Width};
use crate::protocol::{Induction, Loop, Protocol, Step, Stmt, Test};

/// A loop variable with its loop.
#[derive(Clone, Copy, Debug)]
pub struct VarInfo<'a> {
    /// The variable.
    pub var: &'a Induction,
    /// Its loop.
    pub of: &'a Loop,
    /// The expression that stands for the variable, if the protocol has one.
    pub expr: Option<ExprId>,
}

/// All loops and loop variables of a protocol.
#[derive(Clone, Debug, Default)]
pub struct Loops<'a> {
    /// The variables, by id.
    pub vars: FxHashMap<VarId, VarInfo<'a>>,
    /// The loops, by id.
    pub loops: FxHashMap<LoopId, &'a Loop>,
    /// The conditions that hold at the entry of each loop.
    pub entry: FxHashMap<LoopId, Vec<(ExprId, bool)>>,
    /// The loops around each loop, outermost first.
    pub around: FxHashMap<LoopId, Vec<LoopId>>,
}

impl<'a> Loops<'a> {
    /// The loops of a protocol.
    pub fn of(protocol: &'a Protocol) -> Self {
        let mut all = Self::default();
        all.visit(&protocol.body, &mut Vec::new(), &mut Vec::new());
        for (id, node) in protocol.exprs.iter() {
            if let Expr::Var { id: var, .. } = node
                && let Some(info) = all.vars.get_mut(&var)
            {
                info.expr = Some(id);
            }
        }
        all
    }

    fn visit(&mut self, body: &'a [Stmt], guards: &mut Vec<(ExprId, bool)>, around: &mut Vec<LoopId>) {
        for stmt in body {
            match stmt {
                Stmt::Loop(of) => {
                    self.loops.insert(of.id, of);
                    self.entry.insert(of.id, guards.clone());
                    self.around.insert(of.id, around.clone());
                    for var in &of.vars {
                        self.vars.insert(var.id, VarInfo { var, of, expr: None });
                    }
                    let outside = guards.len();
                    if of.test == Test::Before {
                        guards.push((of.cond, true));
                    }
                    around.push(of.id);
                    self.visit(&of.body, guards, around);
                    around.pop();
                    guards.truncate(outside);
                }
                Stmt::If { cond, then, otherwise } => {
                    for (value, branch) in [(true, then), (false, otherwise)] {
                        guards.push((*cond, value));
                        self.visit(branch, guards, around);
                        guards.pop();
                    }
                }
                Stmt::Access(_) | Stmt::Sync(_) | Stmt::Unknown(_) => {}
            }
        }
    }
}

/// The ranges that were found for loops. They depend only on the conditions at the entry of each loop,
/// so they hold under all guards.
#[derive(Debug, Default)]
pub(super) struct Known {
    steady: FxHashMap<(VarId, View), Option<Range>>,
    iterations: FxHashMap<LoopId, Range>,
}

impl<'a> Ranges<'a> {
    /// The range of a loop variable in any iteration, and at the moment at which the loop's condition
    /// ends the loop.
    pub(super) fn var(&mut self, id: VarId, width: Width, view: View) -> Range {
        let all = view.all(width);
        if let Some((_, taken)) = self.open.iter().find(|(open, _)| *open == id) {
            return match taken {
                Some((of, range)) if *of == view => *range,
                _ => all,
            };
        }
        let Some(info) = self.loops.vars.get(&id).copied() else { return all };
        self.steady(info, view).unwrap_or(all)
    }

    /// The range of a loop variable in the view, if it provably never wraps.
    pub fn never_wraps(&mut self, id: VarId, view: View) -> Option<Range> {
        let info = self.loops.vars.get(&id).copied()?;
        self.steady(info, view)
    }

    /// The loops and variables of the protocol.
    pub fn loops(&self) -> &Rc<Loops<'a>> {
        &self.loops
    }

    /// The ranges at the entry of a loop.
    fn at_entry(&self, of: &Loop) -> Self {
        let guards = self.loops.entry.get(&of.id).map_or(&[][..], Vec::as_slice);
        self.assuming(FromGuards::default(), guards)
    }

    /// True if the range of one of the loop's variables is assumed at the moment. Whatever is found
    /// meanwhile depends on that assumption.
    fn is_open(&self, of: &Loop) -> bool {
        self.open.iter().any(|(open, _)| of.vars.iter().any(|var| var.id == *open))
    }

    fn steady(&mut self, info: VarInfo<'a>, view: View) -> Option<Range> {
        let key = (info.var.id, view);
        if let Some(known) = self.known.borrow().steady.get(&key) {
            return *known;
        }
        let found = self.at_entry(info.of).find_steady(info, view);
        if !self.is_open(info.of) {
            self.known.borrow_mut().steady.insert(key, found);
        }
        found
    }

    fn find_steady(&mut self, info: VarInfo<'a>, view: View) -> Option<Range> {
        let all = view.all(info.var.width);
        if let Some((from, next)) = self.invariant(info, view) {
            return Some(from.hull(next));
        }
        // If the condition does not bound a variable, the number of iterations does.
        let range = match info.var.step {
            Step::Add(step) => {
                let count = self.iterations_without(info.of, Some(info.var.id));
                let step = self.computed(step, View::Signed);
                self.computed(info.var.from, view).plus(count.times(step))
            }
            Step::Mul(factor) => {
                let count = self.iterations_without(info.of, Some(info.var.id));
                let most = Range::one(i128::from(factor).checked_pow(u32::try_from(count.hi).ok()?)?);
                let from = self.computed(info.var.from, view);
                from.hull(from.times(most))
            }
            Step::UDiv(_) | Step::SDiv(_) | Step::AShr(_) | Step::Any(_) => return None,
        };
        range.within(all).then_some(range)
    }

    /// The ranges of a variable's first value and of its later ones; `None` if no range was found
    /// that the variable cannot leave.
    fn invariant(&mut self, info: VarInfo<'a>, view: View) -> Option<(Range, Range)> {
        let all = view.all(info.var.width);
        let from = self.computed(info.var.from, view);
        let all_but_one_step = match info.var.step {
            Step::Add(step) => {
                let step = self.computed(step, View::Signed);
                let (lo, hi) = (all.lo - step.lo.min(0), all.hi - step.hi.max(0));
                (lo <= hi).then(|| Range::new(lo, hi))
            }
            _ => None,
        };
        // A range is right if it contains the first value, and with each value also the next one.
        for taken in [Some(all), all_but_one_step].into_iter().flatten() {
            if let Some(next) = self.next_of_var(info, from, view, taken)
                && from.hull(next).within(taken)
            {
                return Some((from, next));
            }
        }
        None
    }

    /// The range of a variable's next value, before wrapping, if its values lie in `taken`. The next
    /// value exists only if another iteration may follow.
    fn next_of_var(&mut self, info: VarInfo<'a>, from: Range, view: View, taken: Range) -> Option<Range> {
        let mut inner = self.guarded(&[]);
        inner.open.push((info.var.id, Some((view, taken))));
        inner.assume(info.of.cond, true);
        let mut held = info.expr.map_or(taken, |expr| inner.computed(expr, view)).meet(taken);
        match info.var.step {
            Step::Add(step) => {
                let step = self.computed(step, View::Signed);
                if let Some(end) = self.ends_at(info, from, view, step) {
                    held = held.meet(end);
                }
                if step.lo >= 0 {
                    Some(Range::new(from.lo, held.hi.max(from.lo)).plus(step))
                } else if step.hi <= 0 {
                    Some(Range::new(held.lo.min(from.hi), from.hi).plus(step))
                } else {
                    None
                }
            }
            Step::Mul(factor) => {
                let factor = Range::one(i128::from(factor));
                (from.lo >= 0 && factor.lo >= 1)
                    .then(|| Range::new(from.lo, held.hi.max(from.lo)).times(factor).hull(from))
            }
            Step::UDiv(_) if from.lo >= 0 => Some(from.hull(Range::one(0))),
            Step::SDiv(_) | Step::AShr(_)
                if from.within(View::Signed.all(info.var.width)) && view == View::Signed =>
            {
                Some(from.hull(Range::one(0)))
            }
            Step::UDiv(_) | Step::SDiv(_) | Step::AShr(_) | Step::Any(_) => None,
        }
    }

    /// The values of a variable with step 1 or -1 in all iterations but the last, if the loop ends
    /// when the variable equals a bound, and the variable comes from the near side of the bound.
    fn ends_at(&mut self, info: VarInfo<'a>, from: Range, view: View, step: Range) -> Option<Range> {
        let Expr::Cmp(CmpOp::Ne, x, bound) = self.exprs.get(info.of.cond) else { return None };
        let (x, bound) = if self.exprs.as_const(x).is_some() { (bound, x) } else { (x, bound) };
        let var = info.expr?;
        // The condition compares the variable, or its next value.
        let ahead = if x == var {
            0
        } else {
            let Expr::Bin(BinOp::Add, a, s) = self.exprs.get(x) else { return None };
            let Step::Add(own) = info.var.step else { return None };
            (a == var && s == own).then_some(1)?
        };
        if self.exprs.mentions(bound, |e| changes_in(e, info.of, self.protocol)) {
            return None;
        }
        let bound = self.computed(bound, view);
        if step == Range::one(1) && from.hi + ahead <= bound.lo {
            Some(Range::new(from.lo, bound.hi - 1 - ahead))
        } else if step == Range::one(-1) && from.lo - ahead >= bound.hi {
            Some(Range::new(bound.lo + 1 + ahead, from.hi))
        } else {
            None
        }
    }

    /// The number of iterations before any one that runs or that the condition ends.
    pub fn iterations(&mut self, of: LoopId) -> Range {
        if let Some(known) = self.known.borrow().iterations.get(&of) {
            return *known;
        }
        let Some(of) = self.loops.loops.get(&of).copied() else {
            return Range::new(0, i128::from(i64::MAX));
        };
        let found = self.at_entry(of).iterations_without(of, None);
        if !self.is_open(of) {
            self.known.borrow_mut().iterations.insert(of.id, found);
        }
        found
    }

    /// The number of iterations before one of these, in all rounds of the loops around the loop. As that of one round,
    /// it rests on no guards.
    pub fn total(&mut self, of: LoopId) -> Range {
        let around = self.loops.around.get(&of).cloned().unwrap_or_default();
        let most = i128::from(i64::MAX);
        let rounds = around.into_iter().chain([of]).map(|of| self.iterations(of).hi + 1);
        Range::new(0, rounds.fold(1, |all: i128, each| all.saturating_mul(each).min(most)))
    }

    fn iterations_without(&mut self, of: &'a Loop, except: Option<VarId>) -> Range {
        let mut most = i128::from(i64::MAX);
        for var in &of.vars {
            if Some(var.id) == except || self.open.iter().any(|(open, _)| *open == var.id) {
                continue;
            }
            // A variable that the condition does not use bounds nothing. To search for the bounds of
            // each one while all others are open would take very long.
            let asked = |e| matches!(e, Expr::Var { id, .. } if id == var.id);
            if !self.exprs.mentions(of.cond, asked) {
                continue;
            }
            let info = self.loops.vars[&var.id];
            for view in [View::Unsigned, View::Signed] {
                if let Some(count) = self.iterations_by(info, view) {
                    most = most.min(count);
                }
            }
        }
        Range::new(0, most)
    }

    /// The most iterations before one that the loop's condition, which uses this variable, lets begin or ends.
    fn iterations_by(&mut self, info: VarInfo<'a>, view: View) -> Option<i128> {
        match info.var.step {
            Step::Add(step) => {
                let step = self.computed(step, View::Signed);
                let (from, next) = self.invariant(info, view)?;
                if step.lo >= 1 {
                    Some((next.hi - from.lo).max(0) / step.lo)
                } else if step.hi <= -1 {
                    Some((from.hi - next.lo).max(0) / -step.hi)
                } else {
                    None
                }
            }
            Step::Mul(factor) => {
                let (from, next) = self.invariant(info, view)?;
                powers(i128::from(factor), from.lo, next.hi)
            }
            Step::UDiv(by) if view == View::Unsigned => self.divisions(info, view, i128::from(by)),
            Step::SDiv(by) if view == View::Signed => self.divisions(info, view, i128::from(by)),
            Step::AShr(by) if view == View::Signed && by < 63 => self.divisions(info, view, 1 << by),
            Step::UDiv(_) | Step::SDiv(_) | Step::AShr(_) | Step::Any(_) => None,
        }
    }

    /// The most iterations of a loop that goes on only while this variable, which is divided each time, is at
    /// least some positive number.
    fn divisions(&mut self, info: VarInfo<'a>, view: View, by: i128) -> Option<i128> {
        let from = self.computed(info.var.from, view);
        if from.lo < 0 {
            return None;
        }
        let mut inner = self.guarded(&[]);
        inner.open.push((info.var.id, Some((view, Range::new(0, from.hi)))));
        inner.assume(info.of.cond, true);
        let held = inner.computed(info.expr?, view);
        // The variable held this much when the condition let the last iteration follow.
        Some(powers(by, held.lo, from.hi)? + 1)
    }
}

/// How often a number of at least `least` can be multiplied by `factor` until it is more than `most`, less one.
fn powers(factor: i128, least: i128, most: i128) -> Option<i128> {
    if factor < 2 || least < 1 {
        return None;
    }
    let (mut number, mut count) = (least, 0);
    while number <= most / factor {
        number *= factor;
        count += 1;
    }
    Some(count)
}

/// True if a node may change from one iteration of the loop to the next.
fn changes_in(node: Expr, of: &Loop, protocol: &Protocol) -> bool {
    match node {
        Expr::Var { id, .. } => of.vars.iter().any(|v| v.id == id),
        Expr::Iteration(id) => id == of.id,
        // It changes with the loops around its own too.
        Expr::Total { .. } => true,
        Expr::Opaque { id, .. } => {
            protocol.opaques.get(id.0 as usize).is_none_or(|o| o.loops.contains(&of.id))
        }
        _ => false,
    }
}
