//! Values that loops leave: the kernel uses them after a loop, and running the loop yields them.
//!
//! `for (d = 1; d < n; d *= 2) offset *= 2;` leaves `offset` at `n` or more, and no
//! linear term over `n` expresses that. For one launch, or for a constant `n`, this module runs the
//! loop with its variables only, and the value becomes a constant. The value stays opaque if the
//! loop contains a break, uses other values than constants and the launch's, or has too many
//! iterations.

use std::collections::HashMap;

use crate::constants::with_constants;
use crate::expr::{Expr, ExprId, Exprs, LoopId, OpaqueId, VarId};
use crate::fold;
use crate::launch::Launch;
use crate::protocol::{Induction, Last, Loop, Protocol, Stmt};

/// The largest number of iterations of one loop.
const MOST_ITERATIONS: u32 = 4096;
/// The largest number of iterations of all loops together.
const MOST_IN_ALL: u32 = 32_768;

/// Returns the protocol with constants for the values that loops leave, for one launch if given,
/// else for all. Returns `None` if no value becomes constant. The new protocol numbers its
/// expressions differently.
pub fn settle(protocol: &Protocol, launch: Option<&Launch>) -> Option<Protocol> {
    let mut loops = HashMap::new();
    collect(&protocol.body, &mut loops);
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
            if let Some(value) = loops.get(&last.of).and_then(|of| runs.after(of, last)) {
                runs.left.insert(id, value);
            }
        }
        if runs.left.len() == before {
            break;
        }
    }
    (!runs.left.is_empty()).then(|| {
        with_constants(protocol, |node| match node {
            Expr::Opaque { id, .. } => runs.left.get(&id).copied(),
            _ => None,
        })
    })
}

fn collect<'a>(body: &'a [Stmt], loops: &mut HashMap<LoopId, &'a Loop>) {
    for stmt in body {
        match stmt {
            Stmt::Loop(of) => {
                loops.insert(of.id, of);
                collect(&of.body, loops);
            }
            Stmt::If { then, otherwise, .. } => {
                collect(then, loops);
                collect(otherwise, loops);
            }
            Stmt::Access(_) | Stmt::Sync(_) | Stmt::Unknown(_) => {}
        }
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
        if of.breaks.is_some() {
            return None;
        }
        let asked = |var: &&Induction| {
            let is = |node| matches!(node, Expr::Var { id, .. } if id == var.id);
            self.exprs.mentions(of.cond, is) || self.exprs.mentions(last.value, is)
        };
        // An added step does not change in the loop, so it uses none of the loop's variables.
        let asked: Vec<&Induction> = of.vars.iter().filter(asked).collect();
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
                return moment.value(last.value);
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
            Expr::Tid(_) | Expr::Ctaid(_) | Expr::Lane | Expr::Iteration(_) => return None,
        })
    }
}
