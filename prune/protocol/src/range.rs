//! Which values an expression can have, as integers that do not wrap.
//!
//! # Lifting
//! A machine value stands for many integers, equal modulo `2^width`. The *lift*
//! of an expression in a [`View`] computes its ring operations (`+ - *`, shifts
//! left, truncation) on integers that do not wrap; leaves are taken as the view
//! says. The lift is always congruent to the machine value; where it lies
//! within the view's numbers it *is* the value in that view. Comparisons,
//! extensions, divisions and shifts right need that: there the value is said
//! to be *computed in* the view ([`Ranges::computed`]).
//!
//! The ranges are sound without any assumption: a lift that may leave the
//! view's numbers makes the computed value any number of the view.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::expr::{Axis, BinOp, Cast, CmpOp, Expr, ExprId, Exprs, LoopId, VarId, Width};
use crate::launch::Launch;
use crate::protocol::{Induction, Loop, Protocol, Step, Stmt, Test};

/// Most threads of a block, and of its x and y dimensions.
pub const MAX_BLOCK: i128 = 1024;
/// Most threads of a block's z dimension.
pub const MAX_BLOCK_Z: i128 = 64;
/// Most blocks in the x dimension of a grid.
pub const MAX_GRID_X: i128 = (1 << 31) - 1;
/// Most blocks in the y and z dimensions of a grid.
pub const MAX_GRID_YZ: i128 = 65535;

/// Beyond every machine number: an end of a range that lies here is no bound.
pub const LIMIT: i128 = 1 << 120;

/// How a bit pattern is read as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum View {
    /// From 0.
    Unsigned,
    /// Two's complement.
    Signed,
}

impl View {
    /// All numbers of a width.
    pub fn all(self, width: Width) -> Range {
        let bits = width.bits();
        match self {
            Self::Unsigned => Range::new(0, (1 << bits) - 1),
            Self::Signed => Range::new(-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
        }
    }

    /// The number that a bit pattern of this width stands for.
    pub fn read(self, width: Width, bits: u64) -> i128 {
        match self {
            Self::Unsigned => i128::from(width.truncate(bits)),
            Self::Signed => i128::from(width.signed(bits)),
        }
    }
}

/// A range of integers, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Range {
    /// Least.
    pub lo: i128,
    /// Greatest.
    pub hi: i128,
}

impl Range {
    /// From `lo` to `hi`.
    pub fn new(lo: i128, hi: i128) -> Self {
        Self { lo: lo.clamp(-LIMIT, LIMIT), hi: hi.clamp(-LIMIT, LIMIT) }
    }

    /// One number.
    pub fn one(value: i128) -> Self {
        Self::new(value, value)
    }

    /// Whether all of it lies in `other`.
    pub fn within(self, other: Self) -> bool {
        other.lo <= self.lo && self.hi <= other.hi
    }

    /// What lies in both; `self`'s nearest number where nothing does (the code is not reached then).
    pub fn meet(self, other: Self) -> Self {
        let (lo, hi) = (self.lo.max(other.lo), self.hi.min(other.hi));
        if lo <= hi { Self { lo, hi } } else { Self::one(lo.clamp(self.lo, self.hi)) }
    }

    /// The least range that holds both.
    pub fn hull(self, other: Self) -> Self {
        Self { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    /// Sums.
    pub fn plus(self, other: Self) -> Self {
        let hi = if self.hi >= LIMIT || other.hi >= LIMIT { LIMIT } else { self.hi + other.hi };
        let lo = if self.lo <= -LIMIT || other.lo <= -LIMIT { -LIMIT } else { self.lo + other.lo };
        Self::new(lo, hi)
    }

    /// Differences.
    pub fn minus(self, other: Self) -> Self {
        self.plus(Self::new(-other.hi, -other.lo))
    }

    /// Whether both ends are bounds.
    pub fn bounded(self) -> bool {
        self.lo > -LIMIT && self.hi < LIMIT
    }

    /// Products.
    pub fn times(self, other: Self) -> Self {
        let ends = [
            self.lo.saturating_mul(other.lo),
            self.lo.saturating_mul(other.hi),
            self.hi.saturating_mul(other.lo),
            self.hi.saturating_mul(other.hi),
        ];
        Self::new(*ends.iter().min().unwrap_or(&0), *ends.iter().max().unwrap_or(&0))
    }

    /// Number of values, saturating.
    pub fn count(self) -> i128 {
        self.hi - self.lo + 1
    }
}

/// A loop variable with its loop.
#[derive(Clone, Copy, Debug)]
pub struct VarInfo<'a> {
    /// The variable.
    pub var: &'a Induction,
    /// Its loop.
    pub of: &'a Loop,
    /// The expression that stands for it, where the protocol has one.
    pub expr: Option<ExprId>,
}

/// Every loop and loop variable of a protocol.
#[derive(Clone, Debug, Default)]
pub struct Loops<'a> {
    /// By variable.
    pub vars: HashMap<VarId, VarInfo<'a>>,
    /// By loop.
    pub loops: HashMap<LoopId, &'a Loop>,
    /// What holds where a loop is entered.
    entry: HashMap<LoopId, Vec<(ExprId, bool)>>,
}

impl<'a> Loops<'a> {
    /// Those of a protocol.
    pub fn of(protocol: &'a Protocol) -> Self {
        let mut all = Self::default();
        all.visit(&protocol.body, &mut Vec::new());
        for (id, node) in protocol.exprs.iter() {
            if let Expr::Var { id: var, .. } = node {
                if let Some(info) = all.vars.get_mut(&var) {
                    info.expr = Some(id);
                }
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

/// What was found of loops, for all guards: their own ranges rest on what
/// holds where they are entered and on nothing else.
#[derive(Debug, Default)]
struct Known {
    steady: HashMap<(VarId, View), Option<Range>>,
    iterations: HashMap<LoopId, Range>,
}

/// Ranges of expressions in any launch, or in one, where guards hold.
pub struct Ranges<'a> {
    exprs: &'a Exprs,
    protocol: &'a Protocol,
    launch: Option<&'a Launch>,
    loops: Rc<Loops<'a>>,
    known: Rc<RefCell<Known>>,
    /// What guards say of an expression in a view.
    refined: HashMap<(ExprId, View), Range>,
    lifted: HashMap<(ExprId, View), Range>,
    /// Variables whose range is being found, and what is taken for it meanwhile.
    open: Vec<(VarId, Option<(View, Range)>)>,
}

impl<'a> Ranges<'a> {
    /// Without guards. `exprs` is the protocol's arena or one that extends it.
    pub fn new(protocol: &'a Protocol, exprs: &'a Exprs, launch: Option<&'a Launch>) -> Self {
        Self {
            exprs,
            protocol,
            launch,
            loops: Rc::new(Loops::of(protocol)),
            known: Rc::default(),
            refined: HashMap::new(),
            lifted: HashMap::new(),
            open: Vec::new(),
        }
    }

    /// Where these 1-bit expressions also have these values.
    pub fn guarded(&self, guards: &[(ExprId, bool)]) -> Self {
        let mut inner = Self {
            exprs: self.exprs,
            protocol: self.protocol,
            launch: self.launch,
            loops: Rc::clone(&self.loops),
            known: Rc::clone(&self.known),
            refined: self.refined.clone(),
            lifted: HashMap::new(),
            open: self.open.clone(),
        };
        for &(cond, value) in guards {
            inner.assume(cond, value);
        }
        inner
    }

    /// Range of the lift.
    pub fn lift(&mut self, id: ExprId, view: View) -> Range {
        if let Some(range) = self.lifted.get(&(id, view)) {
            return *range;
        }
        let mut range = self.lift_node(id, view);
        if let Some(known) = self.refined.get(&(id, view)) {
            // What guards say holds of the computed value; it is the lift's
            // only where that does not wrap.
            if range.within(view.all(self.exprs.width(id))) {
                range = range.meet(*known);
            }
        }
        self.lifted.insert((id, view), range);
        range
    }

    /// Whether the computed value is always the lift.
    pub fn fits(&mut self, id: ExprId, view: View) -> bool {
        self.exprs.as_const(id).is_some() || self.lift(id, view).within(view.all(self.exprs.width(id)))
    }

    /// Range of the value in the view.
    pub fn computed(&mut self, id: ExprId, view: View) -> Range {
        if let Expr::Const { width, bits } = self.exprs.get(id) {
            return Range::one(view.read(width, bits));
        }
        let all = view.all(self.exprs.width(id));
        let lift = self.lift(id, view);
        if lift.within(all) {
            return lift;
        }
        self.refined.get(&(id, view)).map_or(all, |known| all.meet(*known))
    }

    fn lift_node(&mut self, id: ExprId, view: View) -> Range {
        let node = self.exprs.get(id);
        match node {
            // Ring operations take a constant as the smaller number: adding -1
            // is not adding 2^32 - 1.
            Expr::Const { width, bits } => Range::one(lift_constant(width, bits)),
            Expr::Tid(_) | Expr::Ctaid(_) | Expr::Ntid(_) | Expr::Nctaid(_) | Expr::Lane => {
                special(node, self.launch)
            }
            Expr::Param { id: param, width } => match self.launch {
                Some(launch) => {
                    let bits = launch.params.get(param.0 as usize);
                    bits.map_or(view.all(width), |b| Range::one(view.read(width, *b)))
                }
                None => view.all(width),
            },
            Expr::Opaque { id: opaque, width } => {
                let known = self.protocol.opaques.get(opaque.0 as usize).and_then(|o| o.range);
                match known {
                    Some((lo, hi)) => {
                        let range = Range::new(i128::from(lo), i128::from(hi));
                        if range.within(view.all(width)) { range } else { view.all(width) }
                    }
                    None => view.all(width),
                }
            }
            Expr::Iteration(of) => self.iterations(of),
            Expr::Var { id: var, width } => self.var(var, width, view),
            Expr::Bin(op, a, b) => self.lift_bin(op, a, b, view),
            Expr::Cmp(op, a, b) => match self.truth(op, a, b) {
                Some(truth) => Range::one(i128::from(truth)),
                None => Range::new(0, 1),
            },
            Expr::Select(c, a, b) => match self.known_truth(c) {
                Some(true) => self.lift(a, view),
                Some(false) => self.lift(b, view),
                None => self.lift(a, view).hull(self.lift(b, view)),
            },
            Expr::Cast(Cast::Zext, _, a) => self.computed(a, View::Unsigned),
            Expr::Cast(Cast::Sext, _, a) => self.computed(a, View::Signed),
            Expr::Cast(Cast::Trunc, _, a) => self.lift(a, view),
        }
    }

    fn lift_bin(&mut self, op: BinOp, a: ExprId, b: ExprId, view: View) -> Range {
        use View::{Signed, Unsigned};
        let width = self.exprs.width(a);
        let constant = self.exprs.as_const(b);
        match op {
            BinOp::Add => self.lift(a, view).plus(self.lift(b, view)),
            BinOp::Sub => self.lift(a, view).minus(self.lift(b, view)),
            BinOp::Mul => self.lift(a, view).times(self.lift(b, view)),
            BinOp::Shl => match constant {
                Some(c) if c < u64::from(width.bits()) => {
                    self.lift(a, view).times(Range::one(1 << c))
                }
                _ => self.shift_left(a, b, view),
            },
            BinOp::UDiv | BinOp::SDiv => {
                let by = if op == BinOp::UDiv { Unsigned } else { Signed };
                let (x, d) = (self.computed(a, by), self.computed(b, by));
                if d.lo < 1 {
                    return by.all(width);
                }
                let ends = [x.lo / d.lo, x.lo / d.hi, x.hi / d.lo, x.hi / d.hi];
                Range::new(ends.into_iter().min().unwrap_or(0), ends.into_iter().max().unwrap_or(0))
            }
            BinOp::URem => {
                let (x, d) = (self.computed(a, Unsigned), self.computed(b, Unsigned));
                if d.lo < 1 { Unsigned.all(width) } else { Range::new(0, x.hi.min(d.hi - 1)) }
            }
            BinOp::SRem => {
                let (x, d) = (self.computed(a, Signed), self.computed(b, Signed));
                if d.lo < 1 {
                    return Signed.all(width);
                }
                let most = d.hi - 1;
                Range::new(x.lo.clamp(-most, 0), x.hi.clamp(0, most))
            }
            BinOp::LShr | BinOp::AShr => {
                let by = if op == BinOp::LShr { Unsigned } else { Signed };
                let (x, s) = (self.computed(a, by), self.computed(b, Unsigned));
                let shift = |x: i128, s: i128| x >> s.clamp(0, 100);
                let ends = [shift(x.lo, s.lo), shift(x.lo, s.hi), shift(x.hi, s.lo), shift(x.hi, s.hi)];
                Range::new(ends.into_iter().min().unwrap_or(0), ends.into_iter().max().unwrap_or(0))
            }
            BinOp::And if width == Width::W1 => {
                let (x, y) = (self.computed(a, Unsigned), self.computed(b, Unsigned));
                Range::new(x.lo.min(y.lo), x.hi.min(y.hi))
            }
            BinOp::Or if width == Width::W1 => {
                let (x, y) = (self.computed(a, Unsigned), self.computed(b, Unsigned));
                Range::new(x.lo.max(y.lo), x.hi.max(y.hi))
            }
            BinOp::Xor if width == Width::W1 && constant == Some(1) => {
                Range::one(1).minus(self.computed(a, Unsigned))
            }
            BinOp::And => {
                let (x, y) = (self.computed(a, Unsigned), self.computed(b, Unsigned));
                Range::new(0, x.hi.min(y.hi))
            }
            BinOp::Or | BinOp::Xor => {
                let (x, y) = (self.computed(a, Unsigned), self.computed(b, Unsigned));
                let bits = 128 - x.hi.max(y.hi).leading_zeros();
                let lo = if op == BinOp::Or { x.lo.max(y.lo) } else { 0 };
                Range::new(lo, (1i128 << bits) - 1)
            }
            BinOp::UMin | BinOp::UMax | BinOp::SMin | BinOp::SMax => {
                let by = if matches!(op, BinOp::UMin | BinOp::UMax) { Unsigned } else { Signed };
                let (x, y) = (self.computed(a, by), self.computed(b, by));
                if matches!(op, BinOp::UMin | BinOp::SMin) {
                    Range::new(x.lo.min(y.lo), x.hi.min(y.hi))
                } else {
                    Range::new(x.lo.max(y.lo), x.hi.max(y.hi))
                }
            }
        }
    }

    fn shift_left(&mut self, a: ExprId, b: ExprId, view: View) -> Range {
        let bits = i128::from(self.exprs.width(a).bits());
        let s = self.computed(b, View::Unsigned);
        // A shift by the width or more gives 0, which is congruent to any
        // multiple of 2^width: the lift stays within these ends.
        let factor = Range::new(1 << s.lo.min(bits), 1 << s.hi.min(bits));
        let range = self.lift(a, view).times(factor);
        if s.hi >= bits { range.hull(Range::one(0)) } else { range }
    }

    /// Truth of a comparison, where the ranges decide it.
    fn truth(&mut self, op: CmpOp, a: ExprId, b: ExprId) -> Option<bool> {
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

    /// Truth of a 1-bit expression, where the ranges decide it.
    pub fn known_truth(&mut self, cond: ExprId) -> Option<bool> {
        let range = self.computed(cond, View::Unsigned);
        (range.count() == 1).then_some(range.lo == 1)
    }

    /// Range of a loop variable in any iteration, and where the loop's
    /// condition ends it.
    fn var(&mut self, id: VarId, width: Width, view: View) -> Range {
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

    /// Range of a loop variable in the view, where it provably never wraps.
    pub fn never_wraps(&mut self, id: VarId, view: View) -> Option<Range> {
        let info = self.loops.vars.get(&id).copied()?;
        self.steady(info, view)
    }

    /// The guards' own loops and variables.
    pub fn loops(&self) -> &Rc<Loops<'a>> {
        &self.loops
    }

    /// Ranges where a loop is entered.
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

    /// Whether a variable of the loop is being looked at: what is found
    /// meanwhile holds only for what is taken of it.
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
        // A variable that the condition does not bound goes as far as the
        // number of iterations allows.
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

    /// Ranges of a variable's first value and of its later ones, where a range
    /// was found that it cannot leave.
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
        // Each range is tried: it must hold of the first value, and where it
        // holds of one, of the next.
        for taken in [Some(all), all_but_one_step].into_iter().flatten() {
            if let Some(next) = self.next_of_var(info, from, view, taken) {
                if from.hull(next).within(taken) {
                    return Some((from, next));
                }
            }
        }
        None
    }

    /// Range, not wrapped, of the value that a variable takes after an
    /// iteration that another one may follow, if its values lie in `taken`.
    fn next_of_var(
        &mut self,
        info: VarInfo<'a>,
        from: Range,
        view: View,
        taken: Range,
    ) -> Option<Range> {
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

    /// Values that a variable with step 1 or -1 has in iterations that another
    /// one may follow, where the loop ends at equality with a bound that the
    /// variable starts on the near side of.
    fn ends_at(&mut self, info: VarInfo<'a>, from: Range, view: View, step: Range) -> Option<Range> {
        let Expr::Cmp(CmpOp::Ne, x, bound) = self.exprs.get(info.of.cond) else { return None };
        let (x, bound) = if self.exprs.as_const(x).is_some() { (bound, x) } else { (x, bound) };
        let var = info.expr?;
        // The value compared is the variable, or the one that follows it.
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

    /// Number of iterations before any one that runs, or that the condition ends.
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
            // What the condition does not ask for bounds nothing, and looking for
            // bounds of each while those of all others are open would take forever.
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

    /// Takes a 1-bit expression to have this value.
    fn assume(&mut self, cond: ExprId, value: bool) {
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
    }

    /// Takes the value in the view to lie in `range`, and says so of what it
    /// is computed from.
    fn refine(&mut self, id: ExprId, view: View, range: Range) {
        if range.lo > range.hi {
            return;
        }
        let width = self.exprs.width(id);
        let before = self.computed(id, view);
        let range = before.meet(range);
        let fits = self.fits(id, view);
        self.refined.insert((id, view), range);
        let other = if view == View::Signed { View::Unsigned } else { View::Signed };
        if range.within(other.all(width)) {
            // A number of both views is the same in both.
            let own = self.computed(id, other).meet(range);
            self.refined.insert((id, other), own);
        }
        self.lifted.clear();
        match self.exprs.get(id) {
            Expr::Cast(Cast::Zext, _, a) => self.refine(a, View::Unsigned, range),
            Expr::Cast(Cast::Sext, _, a) => self.refine(a, View::Signed, range),
            Expr::Bin(op @ (BinOp::Add | BinOp::Sub), a, b) if fits => {
                if let Some(bits) = self.exprs.as_const(b) {
                    let by = Range::one(View::Signed.read(width, bits));
                    let inner = if op == BinOp::Add { range.minus(by) } else { range.plus(by) };
                    if self.fits(a, view) {
                        self.refine(a, view, inner);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Range of a special register or dimension.
pub fn special(node: Expr, launch: Option<&Launch>) -> Range {
    let at = |dims: [u32; 3], axis: Axis| i128::from(dims[axis as usize]);
    let block = |axis: Axis| [MAX_BLOCK, MAX_BLOCK, MAX_BLOCK_Z][axis as usize];
    let grid = |axis: Axis| [MAX_GRID_X, MAX_GRID_YZ, MAX_GRID_YZ][axis as usize];
    match (node, launch) {
        (Expr::Tid(axis), Some(l)) => Range::new(0, (at(l.block, axis) - 1).max(0)),
        (Expr::Tid(axis), None) => Range::new(0, block(axis) - 1),
        (Expr::Ntid(axis), Some(l)) => Range::one(at(l.block, axis)),
        (Expr::Ntid(axis), None) => Range::new(1, block(axis)),
        (Expr::Ctaid(axis), Some(l)) => Range::new(0, (at(l.grid, axis) - 1).max(0)),
        (Expr::Ctaid(axis), None) => Range::new(0, grid(axis) - 1),
        (Expr::Nctaid(axis), Some(l)) => Range::one(at(l.grid, axis)),
        (Expr::Nctaid(axis), None) => Range::new(1, grid(axis)),
        (Expr::Lane, _) => Range::new(0, 31),
        _ => View::Signed.all(Width::W64),
    }
}

/// A constant as ring operations take it.
pub fn lift_constant(width: Width, bits: u64) -> i128 {
    let view = if width == Width::W1 { View::Unsigned } else { View::Signed };
    view.read(width, bits)
}

/// Whether a node may change from one iteration of the loop to the next.
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
