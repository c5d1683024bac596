//! The few constants that the variable of a halving or doubling loop takes.
//!
//! `for (s = 512; s > 0; s >>= 1) a[2 * t - (t & (s - 1))]` is one linear
//! query for each of ten values of `s`. With `s` as an unknown the solver would search among bits.

use std::collections::{BTreeSet, HashMap};

use gpurace_protocol::expr::{BinOp, Expr, ExprId, Exprs, VarId};
use gpurace_protocol::fold;
use gpurace_protocol::interval::{Meeting, uniformity};
use gpurace_protocol::place::Place;
use gpurace_protocol::protocol::{Step, Test, Uniform};
use gpurace_protocol::range::{Loops, VarInfo};

use crate::encode::Setting;
use crate::powers::{Finder, Powers};

/// The largest number of values of one expression, and of combinations of variables.
const MOST: usize = 40;

/// What a query knows of a variable in the iteration that both threads are in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fixed {
    /// Its value.
    Value(u64),
    /// Its value is a power of two, or 0.
    Power(Powers),
}

/// One combination of values of variables.
pub type Assignment = Vec<(VarId, Fixed)>;

/// Returns the halving and doubling variables of loops that both threads are in the same iteration of. The variables
/// have one value for both, as all that are this `uniform` have.
fn common_vars<'a>(
    setting: Setting,
    loops: &Loops<'a>,
    meeting: &Meeting,
    uniform: Uniform,
) -> Vec<VarInfo<'a>> {
    let mut vars: Vec<_> = loops
        .vars
        .values()
        .copied()
        .filter(|info| meeting.same.contains(&info.of.id))
        .filter(|info| !matches!(info.var.step, Step::Add(_) | Step::Any(_)))
        .filter(|info| uniformity(setting.protocol, setting.exprs, info.var.from) >= uniform)
        .collect();
    vars.sort_by_key(|info| info.var.id);
    vars
}

/// Returns those of [`common_vars`] whose values are powers of two. The list is empty if the offsets of two accesses do
/// no more with them than add them, as in `a[t + s]`: then they make no query harder.
pub fn powers_in(
    setting: Setting,
    (a, b): (&Place, &Place),
    meeting: &Meeting,
    uniform: Uniform,
) -> Assignment {
    let loops = Loops::of(setting.protocol);
    let mut finder = Finder::new(setting.protocol, setting.exprs, setting.launch);
    let vars = common_vars(setting, &loops, meeting, uniform).into_iter().map(|info| info.var.id);
    let powers = vars.filter_map(|id| Some((id, Fixed::Power(finder.of_var(id)?))));
    let powers: Assignment = powers.collect();
    let twisted = |id| [a, b].iter().any(|place| is_twisted(setting.exprs, place.access.offset, id));
    if powers.iter().any(|(id, _)| twisted(*id)) { powers } else { Vec::new() }
}

/// Returns all combinations of values of those of [`common_vars`] that the offsets of two accesses do not only add.
/// The list is empty if there are no such variables, too many combinations, or unknown values.
pub fn assignments(
    setting: Setting,
    (a, b): (&Place, &Place),
    meeting: &Meeting,
    uniform: Uniform,
) -> Vec<Assignment> {
    let twisted = |id| [a, b].iter().any(|place| is_twisted(setting.exprs, place.access.offset, id));
    let loops = Loops::of(setting.protocol);
    let mut all: Vec<Assignment> = Vec::new();
    let mut values = Values { setting, loops: &loops, open: Vec::new(), known: HashMap::new() };
    let vars = common_vars(setting, &loops, meeting, uniform);
    for info in vars.into_iter().filter(|info| twisted(info.var.id)) {
        let Some(own) = values.of_var(info) else { continue };
        let before = if all.is_empty() { vec![Vec::new()] } else { all.clone() };
        if before.len() * own.len() > MOST {
            continue;
        }
        all = own
            .iter()
            .flat_map(|value| {
                before.iter().map(move |known| {
                    let mut more = known.clone();
                    more.push((info.var.id, Fixed::Value(*value)));
                    more
                })
            })
            .collect();
    }
    all
}

/// True if an expression does more with a variable than add it.
fn is_twisted(exprs: &Exprs, id: ExprId, var: VarId) -> bool {
    let named = |id| exprs.mentions(id, |node| matches!(node, Expr::Var { id, .. } if id == var));
    match exprs.get(id) {
        Expr::Bin(BinOp::Add | BinOp::Sub, a, b) => is_twisted(exprs, a, var) || is_twisted(exprs, b, var),
        Expr::Bin(BinOp::Mul | BinOp::Shl, a, b) if exprs.as_const(b).is_some() => is_twisted(exprs, a, var),
        Expr::Cast(_, _, a) => is_twisted(exprs, a, var),
        Expr::Var { .. } => false,
        _ => named(id),
    }
}

type Set = BTreeSet<u64>;

struct Values<'a, 'l> {
    setting: Setting<'a>,
    loops: &'l Loops<'a>,
    /// Variables whose search is in progress, each with the value under consideration.
    open: Vec<(VarId, Option<u64>)>,
    known: HashMap<VarId, Option<Set>>,
}

impl<'a> Values<'a, '_> {
    /// Returns the values of a variable in the iterations of its loop.
    fn of_var(&mut self, info: VarInfo<'a>) -> Option<Set> {
        if let Some(known) = self.known.get(&info.var.id) {
            return known.clone();
        }
        if self.open.iter().any(|(id, _)| *id == info.var.id) {
            return None;
        }
        self.open.push((info.var.id, None));
        let found = self.find(info);
        self.open.pop();
        // While another variable is fixed to one value, the result may be incomplete.
        if self.open.iter().all(|(_, value)| value.is_none()) {
            self.known.insert(info.var.id, found.clone());
        }
        found
    }

    /// What [`Self::of_var`] returns, if it is not known yet: follows the variable from its first values on.
    fn find(&mut self, info: VarInfo<'a>) -> Option<Set> {
        let mut found = Set::new();
        let mut pending: Vec<u64> = self.of(info.var.from)?.into_iter().collect();
        while let Some(value) = pending.pop() {
            if found.contains(&value) {
                continue;
            }
            let depth = self.open.len() - 1;
            self.open[depth].1 = Some(value);
            let goes_on = self.of(info.of.cond).is_none_or(|all| all.contains(&1));
            self.open[depth].1 = None;
            if info.of.test == Test::Before && !goes_on {
                continue;
            }
            found.insert(value);
            if found.len() > MOST {
                return None;
            }
            if goes_on {
                pending.push(fold::step(info.var.step, info.var.width, value, |_| None)?);
            }
        }
        Some(found)
    }

    /// Returns a superset of the values of an expression: its variables vary independently.
    fn of(&mut self, id: ExprId) -> Option<Set> {
        let exprs = self.setting.exprs;
        let one = |value| Some(Set::from([value]));
        match exprs.get(id) {
            Expr::Const { bits, .. } => one(bits),
            Expr::Param { id, width } => {
                one(width.truncate(*self.setting.launch?.params.get(id.0 as usize)?))
            }
            Expr::Ntid(axis) => one(self.setting.launch?.shape.block[axis as usize].into()),
            Expr::Nctaid(axis) => one(self.setting.launch?.shape.grid[axis as usize].into()),
            Expr::DynamicShared => one(self.setting.launch?.shape.dynamic_shared.into()),
            Expr::Var { id, .. } => {
                if let Some((_, Some(value))) = self.open.iter().find(|(open, _)| *open == id) {
                    return one(*value);
                }
                let info = *self.loops.vars.get(&id)?;
                self.of_var(info)
            }
            Expr::Bin(op, a, b) => {
                let width = exprs.width(a);
                self.pairs(a, b, |x, y| fold::apply(op, width, x, y))
            }
            Expr::Cmp(op, a, b) => {
                let width = exprs.width(a);
                self.pairs(a, b, |x, y| Some(fold::compare(op, width, x, y).into()))
            }
            Expr::Cast(cast, to, a) => {
                let from = exprs.width(a);
                Some(self.of(a)?.into_iter().map(|x| fold::convert(cast, from, to, x)).collect())
            }
            Expr::Select(_, a, b) => {
                let mut all = self.of(a)?;
                all.extend(self.of(b)?);
                Some(all)
            }
            Expr::Tid(_)
            | Expr::Ctaid(_)
            | Expr::Lane
            | Expr::Iteration(_)
            | Expr::Total { .. }
            | Expr::Opaque { .. } => None,
        }
    }

    /// Returns the results of an operator on all pairs of values.
    fn pairs(&mut self, a: ExprId, b: ExprId, value: impl Fn(u64, u64) -> Option<u64>) -> Option<Set> {
        let (a, b) = (self.of(a)?, self.of(b)?);
        if a.len() * b.len() > MOST * MOST {
            return None;
        }
        let mut all = Set::new();
        for x in &a {
            for y in &b {
                all.insert(value(*x, *y)?);
            }
        }
        Some(all)
    }
}
