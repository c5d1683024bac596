//! Values that loops leave: the kernel uses them after a loop, and running the loop yields them.
//!
//! `for (d = 1; d < n; d *= 2) offset *= 2;` leaves `offset` at `n` or more, and no
//! linear term over `n` expresses that. For one launch, or for a constant `n`, this module runs the
//! loop with its variables only, and the value becomes a constant. The value stays opaque if the
//! loop contains a break, its condition uses other values than constants and the launch's, or it has
//! too many iterations.
//!
//! `for (k = 0; k < 3; k++) at += stride;` leaves `at` three strides further. If the number of
//! iterations is known, a variable may start anywhere and grow by any steady value.

use std::collections::HashMap;

use crate::constants::with_values;
use crate::expr::{BinOp, Expr, ExprId, Exprs, LoopId, OpaqueId, VarId};
use crate::fold;
use crate::launch::Launch;
use crate::protocol::{Induction, Last, Loop, Protocol, Step, Stmt};

/// The largest number of iterations of one loop.
const MOST_ITERATIONS: u32 = 4096;
/// The largest number of iterations of all loops together.
const MOST_IN_ALL: u32 = 32_768;

/// Returns the protocol with expressions for the values that loops leave, for one launch if given,
/// else for all. Returns `None` if no such value is known. The new protocol numbers its
/// expressions differently.
pub fn settle(protocol: &Protocol, launch: Option<&Launch>) -> Option<Protocol> {
    let mut loops = HashMap::new();
    collect(&protocol.body, &mut Vec::new(), &mut loops);
    let mut runs = Runs { exprs: &protocol.exprs, launch, left: HashMap::new(), budget: MOST_IN_ALL };
    let asked = |known: &HashMap<OpaqueId, u64>| {
        let of =
            |(index, opaque): (usize, &crate::protocol::Opaque)| Some((OpaqueId(index as u32), opaque.last?));
        let all = protocol.opaques.iter().enumerate().filter_map(of);
        all.filter(|(id, _)| !known.contains_key(id)).collect::<Vec<_>>()
    };
    // One loop may start from a value that another one left.
    loop {
        let before = runs.left.len();
        for (id, last) in asked(&runs.left) {
            if let Some(value) = loops.get(&last.of).and_then(|place| runs.after(place.of, last)) {
                runs.left.insert(id, value);
            }
        }
        if runs.left.len() == before {
            break;
        }
    }
    let mut ends = HashMap::new();
    for (id, last) in asked(&runs.left) {
        let Some(place) = loops.get(&last.of) else { continue };
        if let Some((count, vars)) = runs.end(place.of, &[place.of.cond]) {
            ends.insert(id, End { protocol, place, count, vars, value: last.value });
        }
    }
    if runs.left.is_empty() && ends.is_empty() {
        return None;
    }
    let mut found = !runs.left.is_empty();
    let settled = with_values(protocol, |id, node, exprs, new| {
        let Expr::Opaque { id: opaque, width } = node else { return None };
        if let Some(bits) = runs.left.get(&opaque) {
            return Some(exprs.add(Expr::Const { width, bits: width.truncate(*bits) }));
        }
        let made = ends.get(&opaque)?.known(id, exprs, new)?;
        found = true;
        Some(made)
    });
    found.then_some(settled)
}

/// A loop, and those around it.
struct Nested<'a> {
    of: &'a Loop,
    around: Vec<&'a Loop>,
}

fn collect<'a>(body: &'a [Stmt], around: &mut Vec<&'a Loop>, loops: &mut HashMap<LoopId, Nested<'a>>) {
    for stmt in body {
        match stmt {
            Stmt::Loop(of) => {
                loops.insert(of.id, Nested { of, around: around.clone() });
                around.push(of);
                collect(&of.body, around, loops);
                around.pop();
            }
            Stmt::If { then, otherwise, .. } => {
                collect(then, around, loops);
                collect(otherwise, around, loops);
            }
            Stmt::Access(_) | Stmt::Sync(_) | Stmt::Unknown(_) => {}
        }
    }
}

/// The moment at which a loop ends, after a known number of iterations.
struct End<'r, 'a> {
    protocol: &'a Protocol,
    place: &'r Nested<'a>,
    count: u64,
    /// The variables of the loop's condition.
    vars: HashMap<VarId, u64>,
    /// The expression whose value is asked for.
    value: ExprId,
}

impl End<'_, '_> {
    /// Returns the value as a new expression for the node `user`, if it is known from nodes before it. `new` has
    /// the new ids of these.
    fn known(&self, user: ExprId, exprs: &mut Exprs, new: &[ExprId]) -> Option<ExprId> {
        self.made(self.value, user, exprs, new, &mut HashMap::new())
    }

    fn made(
        &self,
        id: ExprId,
        user: ExprId,
        exprs: &mut Exprs,
        new: &[ExprId],
        done: &mut HashMap<ExprId, Option<ExprId>>,
    ) -> Option<ExprId> {
        if let Some(known) = done.get(&id) {
            return *known;
        }
        let width = self.protocol.exprs.width(id);
        let constant = |bits: u64| Expr::Const { width, bits: width.truncate(bits) };
        let before = |id: ExprId| (id < user && self.is_outside(id)).then(|| new[id.0 as usize]);
        let made = match self.protocol.exprs.get(id) {
            _ if before(id).is_some() => before(id),
            Expr::Iteration(of) if of == self.place.of.id => Some(exprs.add(constant(self.count))),
            Expr::Var { id, .. } if self.vars.contains_key(&id) => Some(exprs.add(constant(self.vars[&id]))),
            Expr::Var { id, .. } => {
                let var = self.place.of.vars.iter().find(|var| var.id == id)?;
                let from = before(var.from)?;
                match var.step {
                    Step::Add(by) => {
                        let by = before(by)?;
                        let count = exprs.add(constant(self.count));
                        let way = exprs.bin(BinOp::Mul, by, count);
                        Some(exprs.bin(BinOp::Add, from, way))
                    }
                    Step::Mul(by) => {
                        let power = (0..self.count).fold(1u64, |power, _| power.wrapping_mul(by));
                        let power = exprs.add(constant(power));
                        Some(exprs.bin(BinOp::Mul, from, power))
                    }
                    Step::UDiv(_) | Step::SDiv(_) | Step::AShr(_) | Step::Any(_) => None,
                }
            }
            Expr::Iteration(_) | Expr::Total { .. } | Expr::Opaque { .. } => None,
            node => {
                let mut all = HashMap::new();
                for of in node.operands() {
                    all.insert(of, self.made(of, user, exprs, new, done)?);
                }
                // A node without operands is not computed from any that the loop changes.
                (!all.is_empty()).then(|| exprs.add(node.with_operands(|id| all[&id])))
            }
        };
        done.insert(id, made);
        made
    }

    /// True if an expression has its value before the loop, and keeps it.
    fn is_outside(&self, id: ExprId) -> bool {
        let is_around = |id: LoopId| self.place.around.iter().any(|around| around.id == id);
        !self.protocol.exprs.mentions(id, |node| match node {
            Expr::Var { id, .. } => {
                !self.place.around.iter().any(|around| around.vars.iter().any(|var| var.id == id))
            }
            Expr::Iteration(of) | Expr::Total { of, .. } => !is_around(of),
            Expr::Opaque { id, .. } => {
                let opaque = self.protocol.opaques.get(id.0 as usize);
                opaque.is_none_or(|opaque| !opaque.loops.iter().all(|of| is_around(*of)))
            }
            _ => false,
        })
    }
}

struct Runs<'a> {
    exprs: &'a Exprs,
    launch: Option<&'a Launch>,
    /// The known values that loops leave.
    left: HashMap<OpaqueId, u64>,
    /// The number of iterations that may still run.
    budget: u32,
}

/// One iteration of a loop.
struct Moment<'r, 'a> {
    runs: &'r Runs<'a>,
    of: LoopId,
    iteration: u64,
    vars: &'r HashMap<VarId, u64>,
    known: HashMap<ExprId, Option<u64>>,
}

impl<'a> Runs<'a> {
    /// Returns the value of an expression at the moment at which the loop's condition is false.
    fn after(&mut self, of: &Loop, last: Last) -> Option<u64> {
        let (count, vars) = self.end(of, &[of.cond, last.value])?;
        self.moment(of, count, &vars).value(last.value)
    }

    /// Returns the number of iterations until the loop's condition is false, and the values at that moment of the
    /// variables of these expressions. The condition is one of these.
    fn end(&mut self, of: &Loop, asked: &[ExprId]) -> Option<(u64, HashMap<VarId, u64>)> {
        if of.breaks.is_some() {
            return None;
        }
        let is_asked = |var: &&Induction| {
            let is = |node| matches!(node, Expr::Var { id, .. } if id == var.id);
            asked.iter().any(|id| self.exprs.mentions(*id, is))
        };
        // An added step does not change in the loop, so it uses none of the loop's variables.
        let asked: Vec<&Induction> = of.vars.iter().filter(is_asked).collect();
        let mut vars = HashMap::new();
        for var in &asked {
            // The start is computed before the loop, so it needs no variables.
            let from = self.moment(of, 0, &HashMap::new()).value(var.from)?;
            vars.insert(var.id, from);
        }
        for iteration in 0..MOST_ITERATIONS {
            self.budget = self.budget.checked_sub(1)?;
            let mut moment = self.moment(of, iteration.into(), &vars);
            if moment.value(of.cond)? == 0 {
                return Some((iteration.into(), vars));
            }
            let next: Option<Vec<_>> = asked.iter().map(|var| Some((var.id, moment.next(var)?))).collect();
            vars = next?.into_iter().collect();
        }
        None
    }

    fn moment<'r>(&'r self, of: &Loop, iteration: u64, vars: &'r HashMap<VarId, u64>) -> Moment<'r, 'a> {
        Moment { runs: self, of: of.id, iteration, vars, known: HashMap::new() }
    }
}

impl Moment<'_, '_> {
    fn next(&mut self, var: &Induction) -> Option<u64> {
        let now = *self.vars.get(&var.id)?;
        fold::step(var.step, var.width, now, |by| self.value(by))
    }

    /// Returns the value of an expression, if it is the same for all threads and known.
    fn value(&mut self, id: ExprId) -> Option<u64> {
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        let found = self.find(id);
        self.known.insert(id, found);
        found
    }

    fn find(&mut self, id: ExprId) -> Option<u64> {
        let exprs = self.runs.exprs;
        Some(match exprs.get(id) {
            Expr::Const { bits, .. } => bits,
            Expr::Ntid(axis) => self.runs.launch?.shape.block[axis as usize].into(),
            Expr::Nctaid(axis) => self.runs.launch?.shape.grid[axis as usize].into(),
            Expr::DynamicShared => self.runs.launch?.shape.dynamic_shared.into(),
            Expr::Param { id, width } => width.truncate(*self.runs.launch?.params.get(id.0 as usize)?),
            Expr::Var { id, .. } => *self.vars.get(&id)?,
            Expr::Iteration(of) if of == self.of => self.iteration,
            Expr::Opaque { id, .. } => *self.runs.left.get(&id)?,
            Expr::Bin(op, a, b) => fold::apply(op, exprs.width(a), self.value(a)?, self.value(b)?)?,
            Expr::Cmp(op, a, b) => fold::compare(op, exprs.width(a), self.value(a)?, self.value(b)?).into(),
            Expr::Select(c, a, b) => {
                let chosen = if self.value(c)? == 1 { a } else { b };
                self.value(chosen)?
            }
            Expr::Cast(cast, to, a) => fold::convert(cast, exprs.width(a), to, self.value(a)?),
            Expr::Tid(_) | Expr::Ctaid(_) | Expr::Lane | Expr::Iteration(_) | Expr::Total { .. } => {
                return None;
            }
        })
    }
}
