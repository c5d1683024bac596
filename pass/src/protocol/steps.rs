//! Loop variables: how they change from one iteration to the next.

use std::cmp::Ordering;
use std::rc::Rc;

use gpurace_protocol::expr::{BinOp, Cast, CmpOp, Expr, ExprId, LoopId, Width};
use gpurace_protocol::protocol::{Induction, ObjectKind, Space, Step, Uniform};

use super::frame::{Extraction, Frame, HeaderVar, Root, Value};
use crate::analysis::regions::Target;

impl Extraction<'_> {
    /// The variables of a loop.
    ///
    /// # Safety
    /// The frame has been evaluated.
    ///
    /// # Errors
    /// If a pointer has a target that was not assumed.
    pub unsafe fn inductions(&mut self, f: &mut Frame, l: usize) -> Result<Vec<Induction>, String> {
        let vars: Vec<HeaderVar> = f.vars.iter().filter(|v| v.of == l).cloned().collect();
        let mut nexts = Vec::new();
        for var in &vars {
            // SAFETY: by contract.
            nexts.push(unsafe { self.next(f, var)? });
        }
        let constant = constant_vars(self, &vars, &nexts);
        let id = f.loop_ids[l];
        let mut out = Vec::new();
        for (index, (var, next)) in vars.iter().zip(&nexts).enumerate() {
            let step = if constant[index] {
                Step::Add(self.b.constant(var.width, 0))
            } else {
                let known = next.and_then(|next| self.step(var.expr, var.width, next, id));
                // SAFETY: the phi is live.
                known.unwrap_or_else(|| Step::Any(unsafe { f.uniform.of_value(var.phi) }))
            };
            out.push(Induction { id: var.id, width: var.width, from: var.from, step });
        }
        for (id, uniform) in f.turns.iter().filter(|turns| turns.of == l).filter_map(|turns| turns.chosen) {
            let from = self.b.constant(Width::W32, 0);
            out.push(Induction { id, width: Width::W32, from, step: Step::Any(uniform) });
        }
        Ok(out)
    }

    /// The value of a variable after an iteration, if an expression describes it.
    unsafe fn next(&mut self, f: &mut Frame, var: &HeaderVar) -> Result<Option<ExprId>, String> {
        let graph = Rc::clone(&f.graph);
        let (region, header) = (var.of + 1, graph.loops[var.of].header);
        let back = graph.regions[region].back();
        let width = var.aims.is_none().then_some(var.width);
        // SAFETY: by contract.
        let next = unsafe { self.merge_phi(f, header, region, back, var.phi, width) };
        match (next, &var.aims) {
            (Some(Value::Int(next)), None) => Ok(Some(next)),
            (Some(Value::Pointer(next)), Some(aims)) => {
                if next.aims.iter().all(|a| aims.iter().any(|known| self.covers(known.root, a.root))) {
                    Ok(Some(next.offset))
                } else {
                    Err("a pointer of a loop could not be followed".to_owned())
                }
            }
            (_, Some(_)) => Err("a pointer of a loop has too many origins".to_owned()),
            (_, None) => Ok(None),
        }
    }

    /// True if a pointer with one root, at any distance, may be any pointer with the other one: the memory
    /// behind a pointer of which nothing is known may be that of the arguments.
    fn covers(&self, known: Root, other: Root) -> bool {
        let kind = |root| match root {
            Root::Object(object) => Some(&self.b.protocol.objects[object.0 as usize].kind),
            _ => None,
        };
        let anything =
            ObjectKind::Opaque { space: Space::Generic, uniform: Uniform::Thread, loaded_by: None };
        let any = || matches!(kind(other), Some(ObjectKind::Slot { .. } | ObjectKind::Opaque { .. }));
        known == other || kind(known) == Some(&anything) && any()
    }

    /// The value of a loop's variable after the loop, if the loop counts its iterations: its first value, and a step
    /// for each iteration. So `*p++ = x` in a loop moves `p` regularly in the loop around it.
    ///
    /// # Safety
    /// The loop has been evaluated.
    pub unsafe fn after_count(&mut self, f: &mut Frame, l: usize, var: ExprId) -> Option<ExprId> {
        // SAFETY: by contract.
        unsafe {
            let (from, by) = self.regular(f, l, var)?;
            let count = self.count(f, l)?;
            let width = self.b.width(var);
            let count = match self.b.width(count).cmp(&width) {
                Ordering::Less => self.b.cast(Cast::Zext, width, count),
                Ordering::Equal => count,
                Ordering::Greater => self.b.cast(Cast::Trunc, width, count),
            };
            let way = self.b.bin(BinOp::Mul, count, by);
            let after = self.b.bin(BinOp::Add, from, way);
            Some(self.tame(after))
        }
    }

    /// The first value of a loop's variable, and what each iteration adds to it.
    unsafe fn regular(&mut self, f: &mut Frame, l: usize, var: ExprId) -> Option<(ExprId, ExprId)> {
        let var = f.vars.iter().find(|known| known.of == l && known.expr == var)?.clone();
        // SAFETY: by contract.
        let next = unsafe { self.next(f, &var) }.ok()??;
        match self.step(var.expr, var.width, next, f.loop_ids[l])? {
            Step::Add(by) => Some((var.from, by)),
            _ => None,
        }
    }

    /// The number of iterations of a loop, modulo `2^width`. The loop ends by its condition alone. The condition compares
    /// a variable that grows or shrinks by 1 with a value that stays.
    unsafe fn count(&mut self, f: &mut Frame, l: usize) -> Option<ExprId> {
        let graph = Rc::clone(&f.graph);
        let (region, header) = (&graph.regions[l + 1], graph.loops[l].header);
        let mut stays = region.outs(0).filter(|edge| !matches!(edge.target, Target::Exit(_) | Target::Leave));
        let (Some(stays), None) = (stays.next(), stays.next()) else { return None };
        if !f.test_before[l] || region.exits(&graph).any(|edge| edge.from != 0) {
            return None;
        }
        // SAFETY: by contract.
        let condition = unsafe { self.branch_condition(f, header, stays.slot) };
        let Expr::Cmp(op, a, b) = self.b.get(condition) else { return None };
        let of = f.loop_ids[l];
        let (var, end) = if self.b.is_invariant(b, of) { (a, b) } else { (b, a) };
        // SAFETY: by contract.
        let (from, by) = unsafe { self.regular(f, l, var)? };
        let width = self.b.width(var);
        let by = width.signed(self.b.as_const(by)?);
        // A comparison must end a loop that counts towards its limit.
        let towards = match op {
            CmpOp::Ne => by,
            CmpOp::Eq => return None,
            _ if var == a => 1,
            _ => -1,
        };
        if !self.b.is_invariant(end, of) || by != towards || by.abs() != 1 {
            return None;
        }
        let (low, high) = if by == 1 { (from, end) } else { (end, from) };
        let distance = self.b.bin(BinOp::Sub, high, low);
        let (one, zero) = (self.b.constant(width, 1), self.b.constant(width, 0));
        let count = match op {
            CmpOp::Ule | CmpOp::Sle => self.b.bin(BinOp::Add, distance, one),
            _ => distance,
        };
        if op == CmpOp::Ne {
            return Some(count);
        }
        let begins = self.b.cmp(op, low, high);
        Some(self.b.select(begins, count, zero))
    }

    /// The step from a variable to `next`; `None` if it is not regular.
    fn step(&mut self, var: ExprId, width: Width, next: ExprId, of: LoopId) -> Option<Step> {
        if let Some(by) = self.added(var, next, of) {
            return Some(Step::Add(by));
        }
        // A counter narrower than the arithmetic on it: `(short)((int)i + 1)`.
        if let Expr::Cast(Cast::Trunc, _, wide) = self.b.get(next)
            && let Expr::Bin(BinOp::Add, a, b) = self.b.get(wide)
        {
            for (x, by) in [(a, b), (b, a)] {
                let is_var =
                    matches!(self.b.get(x), Expr::Cast(Cast::Zext | Cast::Sext, _, inner) if inner == var);
                if is_var && self.b.is_invariant(by, of) {
                    return Some(Step::Add(self.b.cast(Cast::Trunc, width, by)));
                }
            }
        }
        let Expr::Bin(op, a, b) = self.b.get(next) else { return None };
        if op == BinOp::Add && a == var && b == var {
            return Some(Step::Mul(2));
        }
        let (by, commutes) = match (self.b.as_const(a), self.b.as_const(b)) {
            (_, Some(by)) if a == var => (by, false),
            (Some(by), _) if b == var => (by, true),
            _ => return None,
        };
        match op {
            BinOp::Mul => Some(Step::Mul(by)),
            _ if commutes => None,
            BinOp::Shl if by < u64::from(width.bits()) => Some(Step::Mul(1 << by)),
            BinOp::UDiv if by >= 2 => Some(Step::UDiv(by)),
            BinOp::SDiv if width.signed(by) >= 2 => Some(Step::SDiv(by)),
            BinOp::LShr if by > 0 && by < u64::from(width.bits()) => Some(Step::UDiv(1 << by)),
            BinOp::AShr if by > 0 && by < u64::from(width.bits()) => Some(Step::AShr(by as u32)),
            _ => None,
        }
    }

    /// The number that is added to `var` to make `next`, if the loop does not change it.
    fn added(&mut self, var: ExprId, next: ExprId, of: LoopId) -> Option<ExprId> {
        let width = self.b.width(var);
        if next == var {
            return Some(self.b.constant(width, 0));
        }
        match self.b.get(next) {
            Expr::Bin(BinOp::Add, a, b) => {
                let (inner, by) = match (self.b.is_invariant(a, of), self.b.is_invariant(b, of)) {
                    (false, true) => (a, b),
                    (true, false) => (b, a),
                    _ => return None,
                };
                let inner = self.added(var, inner, of)?;
                Some(self.b.bin(BinOp::Add, inner, by))
            }
            Expr::Bin(BinOp::Sub, a, b) if self.b.is_invariant(b, of) => {
                let inner = self.added(var, a, of)?;
                Some(self.b.bin(BinOp::Sub, inner, b))
            }
            // `if (inside) at += stride;`
            Expr::Select(cond, a, b) if self.b.is_invariant(cond, of) => {
                let (a, b) = (self.added(var, a, of)?, self.added(var, b, of)?);
                Some(self.b.select(cond, a, b))
            }
            _ => None,
        }
    }
}

/// Finds the variables that keep their first value. They take only each other's values, and all start
/// with the same one: the distances of swapped buffers.
fn constant_vars(x: &mut Extraction<'_>, vars: &[HeaderVar], nexts: &[Option<ExprId>]) -> Vec<bool> {
    let mut constant: Vec<bool> = nexts.iter().map(Option::is_some).collect();
    loop {
        let mut changed = false;
        for i in 0..vars.len() {
            if !constant[i] {
                continue;
            }
            let keeps = nexts[i].is_some_and(|next| {
                let same = |from: ExprId| from == vars[i].from;
                same(next)
                    || matches!(x.b.get(next), Expr::Var { .. })
                        && (0..vars.len()).any(|j| constant[j] && vars[j].expr == next && same(vars[j].from))
            });
            if !keeps {
                constant[i] = false;
                changed = true;
            }
        }
        if !changed {
            return constant;
        }
    }
}
