//! The way of one thread to an access, as formulas.

use std::collections::HashMap;

use gpurace_protocol::expr::{Expr, ExprId, Exprs, LoopId, VarId};
use gpurace_protocol::interval::At;
use gpurace_protocol::place::{Place, Turn};
use gpurace_protocol::protocol::{Loop, Test};
use gpurace_protocol::range::{Range, Ranges};

use super::Question;
use crate::encode::{Encoder, Frame};
use crate::linear::{Encoded, Formula, Lin};
use crate::values::Fixed;

/// One side of the pair.
pub(super) struct Way<'a> {
    pub(super) frame: Frame<'a>,
    /// For each loop, the number of guards that hold at its entry.
    pub(super) entered: HashMap<LoopId, usize>,
    pub(super) loops: HashMap<LoopId, &'a Loop>,
}

/// The part of the way to an access that a formula contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Only the enclosing loops. Many accesses share such a formula, but it proves less.
    Loops,
    /// The loops, and the conditions on what the addresses are made of. Others may make a query hard for no gain.
    Near,
    /// The loops and the conditions.
    All,
}

/// True if all that may change in a condition occurs in the address of one of these accesses too.
pub fn is_near(exprs: &Exprs, accesses: [&Place; 2], cond: ExprId) -> bool {
    let is_far = |node: Expr| {
        node.may_change()
            && !accesses.iter().any(|place| exprs.mentions(place.access.offset, |of| of == node))
    };
    !exprs.mentions(cond, is_far)
}

impl<'a> Question<'a> {
    /// Asks whether a thread follows a way in any iterations of its loops.
    pub(super) fn follow(&mut self, side: usize, way: &[Turn<'a>]) -> Encoded<Way<'a>> {
        let counter = |encoder: &mut Encoder<'a>, range, _| Lin::atom(encoder.fresh("iteration", range));
        self.walk(side, way, |_| true, |_, _| None, counter)
    }

    /// Asks whether a thread follows the way to an access: its iterations run, and the guards hold for which `counts`
    /// is true. `fixed` gives values of loop variables, and `counter` the number of a loop's iteration, which is in a
    /// range.
    pub(super) fn walk(
        &mut self,
        side: usize,
        turns: &[Turn<'a>],
        counts: impl Fn(ExprId) -> bool,
        fixed: impl Fn(&Loop, VarId) -> Option<Fixed>,
        mut counter: impl FnMut(&mut Encoder<'a>, Range, LoopId) -> Lin,
    ) -> Encoded<Way<'a>> {
        let frame = Frame::top(self.encoder.setting, side);
        let mut way = Way { frame, entered: HashMap::new(), loops: HashMap::new() };
        for turn in turns {
            match turn {
                Turn::At { .. } => {}
                Turn::Branch { cond, .. } if !counts(*cond) => {}
                Turn::Branch { cond, value } => {
                    self.sought.push(self.encoder.decided(&mut way.frame, (*cond, *value))?);
                    way.frame.guard(*cond, *value);
                }
                Turn::Into(of) => {
                    let range = way.frame.ranges.iterations(of.id);
                    let k = counter(&mut self.encoder, range, of.id);
                    way.entered.insert(of.id, way.frame.guards.len());
                    way.loops.insert(of.id, *of);
                    way.frame.iteration.insert(of.id, k.clone());
                    for var in &of.vars {
                        if let Some(value) = fixed(of, var.id) {
                            way.frame.fixed.insert(var.id, (k.clone(), value));
                        }
                    }
                    self.run_iteration(&mut way.frame, of, &k, &counts)?;
                }
            }
        }
        Ok(way)
    }

    /// Asks whether a thread makes iteration `k` of a loop.
    fn run_iteration(
        &mut self,
        frame: &mut Frame<'a>,
        of: &Loop,
        k: &Lin,
        counts: &impl Fn(ExprId) -> bool,
    ) -> Encoded<()> {
        let breaks = of.breaks.map(|breaks| (breaks.unless, false));
        match of.test {
            Test::Before => {
                self.sought.push(self.encoder.cond(frame, of.cond)?);
                self.ends_at_equality(frame, of)?;
                if let Some(breaks) = breaks.filter(|(unless, _)| counts(*unless)) {
                    self.follows(frame, (of.id, k), &[breaks])?;
                }
                frame.guard(of.cond, true);
            }
            Test::After => {
                let conds: Vec<_> = [(of.cond, true)].into_iter().chain(breaks).collect();
                self.follows(frame, (of.id, k), &conds)?;
            }
        }
        Ok(())
    }
}

/// Returns the frame of a thread at another moment than that of its access.
pub(super) fn moment<'a>(
    encoder: &Encoder<'a>,
    way: &Way<'a>,
    at: &[(LoopId, At)],
    certain: bool,
) -> Encoded<Frame<'a>> {
    let mut frame = way.frame.copy();
    let kept = at.iter().filter_map(|(of, _)| way.entered.get(of)).min();
    if let Some(kept) = kept {
        frame.guards.truncate(*kept);
        let setting = encoder.setting;
        let ranges = Ranges::new(setting.protocol, setting.exprs, setting.launch);
        frame.ranges = ranges.guarded(&frame.guards);
    }
    for (of, at) in at {
        let own = frame.iteration.get(of).cloned();
        let k = match (at, own) {
            (At::First, _) | (_, None) => Lin::constant(0),
            (At::Next, Some(k)) => k.shifted(1)?,
            (At::Previous, Some(k)) => k.shifted(-1)?,
        };
        frame.iteration.insert(*of, k);
    }
    frame.certain = certain;
    Ok(frame)
}

impl<'a> Encoder<'a> {
    /// Returns the formula that a loop on a thread's way ends with the thread's iteration, by its condition.
    pub(super) fn ends(&mut self, way: &Way<'a>, of: &Loop, certain: bool) -> Encoded<Formula> {
        let at = match of.test {
            Test::Before => vec![(of.id, At::Next)],
            Test::After => Vec::new(),
        };
        let mut frame = moment(self, way, &at, certain)?;
        self.decided(&mut frame, (of.cond, false))
    }
}
