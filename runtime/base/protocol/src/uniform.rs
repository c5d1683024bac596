//! Values of expressions that are the same for all threads of a launch.

use std::collections::HashMap;

use crate::expr::{Axis, Expr, ExprId, Exprs};
use crate::fold;
use crate::launch::Launch;

/// The value of an expression over the launch alone; `None` if it uses anything else or divides by
/// zero.
pub fn uniform_value(exprs: &Exprs, launch: &Launch, id: ExprId) -> Option<u64> {
    Uniforms { exprs, launch, steps: 0, known: HashMap::new() }.value(id)
}

/// Steps after which values are kept. Most expressions take fewer.
const CHEAP: u32 = 64;

/// Computes the values of expressions over a launch.
struct Uniforms<'a> {
    exprs: &'a Exprs,
    launch: &'a Launch,
    steps: u32,
    /// An expression may use another one twice, and that again: without this, some would take for ever.
    known: HashMap<ExprId, Option<u64>>,
}

impl Uniforms<'_> {
    fn value(&mut self, id: ExprId) -> Option<u64> {
        self.steps = self.steps.saturating_add(1);
        if self.steps <= CHEAP {
            return self.computed(id);
        }
        if let Some(&known) = self.known.get(&id) {
            return known;
        }
        let value = self.computed(id);
        self.known.insert(id, value);
        value
    }

    fn computed(&mut self, id: ExprId) -> Option<u64> {
        let (exprs, launch) = (self.exprs, self.launch);
        let at = |dims: [u32; 3], axis: Axis| u64::from(dims[axis as usize]);
        let value = match exprs.get(id) {
            Expr::Const { bits, .. } => bits,
            Expr::Ntid(axis) => at(launch.shape.block, axis),
            Expr::Nctaid(axis) => at(launch.shape.grid, axis),
            Expr::DynamicShared => launch.shape.dynamic_shared.into(),
            Expr::Param { id, width } => width.truncate(*launch.params.get(id.0 as usize)?),
            Expr::Bin(op, a, b) => {
                let (x, y) = (self.value(a)?, self.value(b)?);
                fold::apply(op, exprs.width(a), x, y)?
            }
            Expr::Cmp(op, a, b) => {
                let (x, y) = (self.value(a)?, self.value(b)?);
                u64::from(fold::compare(op, exprs.width(a), x, y))
            }
            Expr::Select(c, a, b) => {
                let chosen = if self.value(c)? == 1 { a } else { b };
                self.value(chosen)?
            }
            Expr::Cast(cast, width, a) => fold::convert(cast, exprs.width(a), width, self.value(a)?),
            Expr::Tid(_)
            | Expr::Ctaid(_)
            | Expr::Lane
            | Expr::Var { .. }
            | Expr::Iteration(_)
            | Expr::Total { .. }
            | Expr::Opaque { .. } => return None,
        };
        Some(value)
    }
}
