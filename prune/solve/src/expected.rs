//! What a kernel seems to expect of its launches. A proof never rests on it. A race that only a
//! launch without it shows is no warning: the kernel was not written for that launch.

use std::collections::{BTreeSet, HashMap};

use gpurace_protocol::expr::{Axis, BinOp, CmpOp, Expr, ExprId, Exprs, Width};
use gpurace_protocol::launch::Launch;
use gpurace_protocol::place::Place;
use gpurace_protocol::protocol::{Protocol, Step};
use gpurace_protocol::range::{Loops, View};
use gpurace_protocol::uniform::uniform_value;

use crate::candidates::{Maker, reachable};
use crate::encode::{Encoder, Frame};
use crate::linear::{Encoded, Formula, Lin};

/// Number of the powers of two that a witness may have, from 1.
const MOST_BITS: u32 = 13;

/// What a kernel seems to expect of its launches.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    /// Conditions: 1-bit expressions.
    conditions: Vec<ExprId>,
    /// Numbers that are powers of two.
    powers: Vec<ExprId>,
}

impl Expected {
    /// True if a launch is as expected.
    pub fn holds(&self, exprs: &Exprs, launch: &Launch) -> bool {
        let value = |id: &ExprId| uniform_value(exprs, launch, *id);
        self.conditions.iter().all(|cond| value(cond) == Some(1))
            && self.powers.iter().all(|n| value(n).is_some_and(u64::is_power_of_two))
    }

    /// The expectations as formulas. Powers of two are small.
    pub fn formulas(&self, encoder: &mut Encoder) -> Encoded<Vec<Formula>> {
        let mut frame = Frame::uncertain(encoder.setting, 0, HashMap::new());
        let mut all = Vec::new();
        for cond in &self.conditions {
            all.push(encoder.cond(&mut frame, *cond)?);
        }
        for n in &self.powers {
            let n = encoder.computed(&mut frame, *n, View::Unsigned)?;
            let powers = (0..MOST_BITS).map(|bit| Formula::eq(&n, &Lin::constant(1 << bit)));
            all.push(Formula::any(powers.collect::<Encoded<Vec<_>>>()?));
        }
        encoder.product_facts()?;
        Ok(all)
    }
}

/// Adds the expectations to the arena and returns them:
///
/// - A size is at least 1: a parameter that an index or a guard uses.
/// - A stride or a part of an array, as an index names it, holds a row of the block's threads.
/// - A number is a power of two if it serves as a mask, or if a loop halves it.
pub fn expected(protocol: &Protocol, exprs: &mut Exprs) -> Expected {
    let places = Place::all(protocol);
    let offsets = named(protocol, places.iter().map(|p| p.access.offset));
    let guards = reachable(protocol, places.iter().flat_map(|p| p.guards()).map(|(cond, _)| cond));
    let bounds = reachable(protocol, places.iter().map(|p| p.access.offset));
    let given = &protocol.exprs;
    let is_number = |id: &ExprId| matches!(given.width(*id), Width::W32 | Width::W64);
    let is_param = |id: &ExprId| matches!(given.get(*id), Expr::Param { .. });
    let axes: Vec<_> = Axis::ALL
        .into_iter()
        .filter(|axis| offsets.iter().chain(&guards).any(|id| given.get(*id) == Expr::Tid(*axis)))
        .collect();
    let mut powers = BTreeSet::new();
    for id in bounds.iter().chain(&guards) {
        if let Expr::Bin(BinOp::And, a, b) = given.get(*id) {
            powers.extend([a, b].into_iter().filter_map(|mask| behind_mask(given, mask)));
        }
    }
    for info in Loops::of(protocol).vars.values() {
        if matches!(info.var.step, Step::UDiv(_) | Step::SDiv(_) | Step::AShr(_)) {
            let from = reachable(protocol, [info.var.from].into_iter());
            powers.extend(from.into_iter().filter(is_param));
        }
    }

    let mut made = Maker { exprs, found: Vec::new() };
    for id in guards.iter().chain(&bounds).chain(&powers).copied().filter(is_param).filter(is_number) {
        let (one, size) = (made.exprs.c64(1), made.signed(id));
        made.compare(CmpOp::Sle, one, size);
    }
    let is_part = |id: &ExprId| {
        let divides = |op| matches!(op, BinOp::UDiv | BinOp::SDiv | BinOp::LShr | BinOp::AShr);
        match given.get(*id) {
            Expr::Param { .. } => true,
            Expr::Bin(op, ..) => divides(op) && is_of_launch(given, *id),
            _ => false,
        }
    };
    for id in offsets.iter().copied().filter(is_part).chain(powers.iter().copied()).filter(is_number) {
        for axis in &axes {
            let (row, size) = (made.wide(Expr::Ntid(*axis)), made.signed(id));
            made.compare(CmpOp::Sle, row, size);
        }
    }
    Expected { conditions: made.found, powers: powers.into_iter().filter(is_number).collect() }
}

/// Returns all nodes that indices name, without the bounds of loops.
pub(crate) fn named(protocol: &Protocol, from: impl Iterator<Item = ExprId>) -> BTreeSet<ExprId> {
    let mut seen = BTreeSet::new();
    let mut todo: Vec<_> = from.collect();
    while let Some(id) = todo.pop() {
        if seen.insert(id) {
            todo.extend(protocol.exprs.get(id).operands());
        }
    }
    seen
}

/// The number `n` of a mask `n - 1`, if the launch gives it.
fn behind_mask(exprs: &Exprs, mask: ExprId) -> Option<ExprId> {
    let is_one = |id: ExprId, one: u64| exprs.as_const(id) == Some(exprs.width(id).truncate(one));
    let number = match exprs.get(mask) {
        Expr::Bin(BinOp::Sub, n, one) if is_one(one, 1) => n,
        Expr::Bin(BinOp::Add, n, one) if is_one(one, u64::MAX) => n,
        Expr::Cast(_, _, inner) => return behind_mask(exprs, inner),
        _ => return None,
    };
    (exprs.as_const(number).is_none() && is_of_launch(exprs, number)).then_some(number)
}

/// True if all threads of all launches with the same arguments and shape compute the same value.
pub(crate) fn is_of_launch(exprs: &Exprs, id: ExprId) -> bool {
    !exprs.mentions(id, |node| {
        let is_size = matches!(node, Expr::Ntid(_) | Expr::Nctaid(_) | Expr::DynamicShared);
        let fixed = is_size || matches!(node, Expr::Param { .. } | Expr::Const { .. });
        !fixed && node.operands().next().is_none()
    })
}
