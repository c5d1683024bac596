//! The loops of a protocol: the ranges of their variables and of their numbers of iterations.

use std::collections::HashMap;
use std::rc::Rc;

use super::{Range, Ranges, View};
use crate::expr::{BinOp, CmpOp, Expr, ExprId, LoopId, VarId, Width};
use crate::protocol::{Induction, Loop, Protocol, Step, Stmt, Test};

/// A loop variable with its loop.
#[derive(Clone, Copy, Debug)]
pub struct VarInfo<'a> {
    /// The variable.
    pub var: &'a Induction,
    /// Its loop.
    pub of: &'a Loop,
    /// The expression for it, if the protocol has one.
    pub expr: Option<ExprId>,
}

/// The loops and loop variables of a protocol.
#[derive(Clone, Debug, Default)]
pub struct Loops<'a> {
    /// All variables.
    pub vars: HashMap<VarId, VarInfo<'a>>,
    /// All loops.
    pub loops: HashMap<LoopId, &'a Loop>,
    /// The conditions that hold at the entry of each loop.
    entry: HashMap<LoopId, Vec<(ExprId, bool)>>,
}

impl<'a> Loops<'a> {
    /// Returns the loops of a protocol.
    pub fn of(protocol: &'a Protocol) -> Self {
        let mut all = Self::default();
        all.visit(&protocol.body, &mut Vec::new());
        for (id, node) in protocol.exprs.iter() {
            if let Expr::Var { id: var, .. } = node
                && let Some(info) = all.vars.get_mut(&var)
            {
                info.expr = Some(id);
            }
        }
        all
    }

    fn visit(&mut self, body: &'a [Stmt], guards: &mut Vec<(ExprId, bool)>) {
        for stmt in body {
            match stmt {
                Stmt::Loop(of) => {
                    self.loops.insert(of.id, of);
                    self.entry.insert(of.id, guards.clone());
                    for var in &of.vars {
                        self.vars.insert(var.id, VarInfo { var, of, expr: None });
                    }
                    let outside = guards.len();
                    if of.test == Test::Before {
                        guards.push((of.cond, true));
                    }
                    self.visit(&of.body, guards);
                    guards.truncate(outside);
                }
                Stmt::If { cond, then, otherwise } => {
                    for (value, branch) in [(true, then), (false, otherwise)] {
                        guards.push((*cond, value));
                        self.visit(branch, guards);
                        guards.pop();
                    }
                }
                Stmt::Access(_) | Stmt::Sync(_) | Stmt::Unknown(_) => {}
            }
        }
    }
}

/// The results for loops. They are valid under all guards, since they depend only on the conditions at the
/// loop's entry.
#[derive(Debug, Default)]
pub(super) struct Known {
    steady: HashMap<(VarId, View), Option<Range>>,
    iterations: HashMap<LoopId, Range>,
}

impl<'a> Ranges<'a> {
    /// Returns the range of a loop variable over all iterations, including the value at which the loop ends.
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

    /// Returns the range of a loop variable in the view. `None` if it may wrap.
    pub fn never_wraps(&mut self, id: VarId, view: View) -> Option<Range> {
        let info = self.loops.vars.get(&id).copied()?;
        self.steady(info, view)
    }

    /// Returns the loops of the protocol.
    pub fn loops(&self) -> &Rc<Loops<'a>> {
        &self.loops
    }

    /// Returns ranges under the conditions at the loop's entry.
    fn at_entry(&self, of: &Loop) -> Self {
        let guards = self.loops.entry.get(&of.id).cloned().unwrap_or_default();
        let mut entry = Self {
            exprs: self.exprs,
            protocol: self.protocol,
            launch: self.launch,
            loops: Rc::clone(&self.loops),
            known: Rc::clone(&self.known),
            refined: HashMap::new(),
            lifted: HashMap::new(),
            open: self.open.clone(),
        };
        for (cond, value) in guards {
            entry.assume(cond, value);
        }
        entry
    }

    /// True while the range of one of the loop's variables is searched for. Results then depend on the range
    /// that is assumed for it.
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
        // If the loop's condition does not bound the variable, the number of iterations does.
        if let Step::Add(step) = info.var.step {
            let count = self.iterations_without(info.of, Some(info.var.id));
            let step = self.computed(step, View::Signed);
            let range = self.computed(info.var.from, view).plus(count.times(step));
            if range.within(all) {
                return Some(range);
            }
        }
        None
    }

    /// Returns the range of a variable's first value and that of its later ones. `None` if it may wrap.
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
        // A range is an invariant if it contains the first value and, with any value, the next one.
        for taken in [Some(all), all_but_one_step].into_iter().flatten() {
            if let Some(next) = self.next_of_var(info, from, view, taken)
                && from.hull(next).within(taken)
            {
                return Some((from, next));
            }
        }
        None
    }

    /// Returns the range, without wrapping, of a variable after one of its steps. Assumes that its values are
    /// in `taken` before.
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

    /// Returns the range of a variable with step 1 or -1 before each of its steps, if the loop ends when it
    /// equals a bound. The variable must not start beyond the bound.
    fn ends_at(&mut self, info: VarInfo<'a>, from: Range, view: View, step: Range) -> Option<Range> {
        let Expr::Cmp(CmpOp::Ne, x, bound) = self.exprs.get(info.of.cond) else { return None };
        let (x, bound) = if self.exprs.as_const(x).is_some() { (bound, x) } else { (x, bound) };
        let var = info.expr?;
        // The condition compares the variable or its next value.
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

    /// Returns the range of the number of iterations that came before any moment of the loop.
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

    fn iterations_without(&mut self, of: &'a Loop, except: Option<VarId>) -> Range {
        let mut most = i128::from(i64::MAX);
        for var in &of.vars {
            if Some(var.id) == except || self.open.iter().any(|(open, _)| *open == var.id) {
                continue;
            }
            // A variable outside of the condition does not bound the iterations. Searching for its range
            // while those of all others are open would take too long.
            let asked = |e| matches!(e, Expr::Var { id, .. } if id == var.id);
            if !self.exprs.mentions(of.cond, asked) {
                continue;
            }
            let info = self.loops.vars[&var.id];
            let Step::Add(step) = var.step else { continue };
            let step = self.computed(step, View::Signed);
            for view in [View::Unsigned, View::Signed] {
                let Some((from, next)) = self.invariant(info, view) else { continue };
                if step.lo >= 1 {
                    most = most.min((next.hi - from.lo).max(0) / step.lo);
                } else if step.hi <= -1 {
                    most = most.min((from.hi - next.lo).max(0) / -step.hi);
                }
            }
        }
        Range::new(0, most)
    }
}

/// True if a node may change from one iteration of the loop to the next.
fn changes_in(node: Expr, of: &Loop, protocol: &Protocol) -> bool {
    match node {
        Expr::Var { id, .. } => of.vars.iter().any(|v| v.id == id),
        Expr::Iteration(id) => id == of.id,
        Expr::Opaque { id, .. } => {
            protocol.opaques.get(id.0 as usize).is_none_or(|o| o.loops.contains(&of.id))
        }
        _ => false,
    }
}
