//! Mbarriers that are used once, outside of loops: one thread copies a tile, and all others wait for it before they
//! read.
//!
//! # The rule
//! Threads arrive at the mbarrier at one place, which no loop is around. At most as many come there as end a phase. So
//! at most one phase ever ends, and then all of them have arrived. A thread that waits for parity 0 goes on behind its
//! end, whatever it has waited for before.
//!
//! What comes before the arrival of its thread, and copies that the phase counts, come before what a thread does behind
//! such a wait. This needs that each thread that makes the first access arrives later, and that each that makes the
//! second one has waited. A condition on the way to the arrival or the wait must also lead to the access, and say the
//! same whenever the thread asks.

use std::collections::BTreeSet;

use gpurace_protocol::condition::Condition;
use gpurace_protocol::expr::{Expr, ExprId, Exprs, LoopId};
use gpurace_protocol::place::{Place, Turn, parts_before};
use gpurace_protocol::protocol::SiteId;

use super::Prover;
use super::phases::{ENDLESS, Step};
use crate::pair::named::Turned;
use crate::pair::phases::{Phases, unwaited};

/// An arrival, and the waits for the end of its phase.
#[derive(Debug)]
pub(super) struct Once<'a> {
    arrival: Vec<Turn<'a>>,
    /// Copies that are done at the end of the phase.
    copies: Vec<SiteId>,
    /// Each with the conditions under which it is one.
    waits: Vec<(Vec<Turn<'a>>, BTreeSet<Condition>)>,
}

impl<'a> Prover<'a> {
    /// Finds such mbarriers in arrays, of which these are all arrivals and waits.
    pub(super) fn find_once(&mut self, arrays: &[Vec<Step<'a>>]) {
        self.once = arrays.iter().flat_map(|steps| self.once_in(steps)).collect();
    }

    /// Finds such mbarriers in one array.
    fn once_in(&mut self, steps: &[Step<'a>]) -> Vec<Once<'a>> {
        let (waits, arrivals): (Vec<_>, Vec<_>) = steps.iter().partition(|(phase, _)| phase.parity.is_some());
        let places: BTreeSet<_> = arrivals.iter().filter_map(|(phase, _)| self.constant(phase.at)).collect();
        let in_loop = |way: &[Turn<'_>]| way.iter().any(|turn| turn.into_loop().is_some());
        if places.len() != arrivals.len() || arrivals.iter().any(|(_, way)| in_loop(way)) {
            return Vec::new();
        }
        let mut found = Vec::new();
        for (arrival, way) in arrivals {
            let at = outside(arrival.at, way);
            let count = self.constant(arrival.count).and_then(|count| u32::try_from(count).ok());
            let Some(few) = count.and_then(|count| self.at_most_arrive(&[&at], count)) else { continue };
            let mut of = Once { arrival: way.clone(), copies: Vec::new(), waits: Vec::new() };
            of.copies.extend(self.copies_told(*arrival).into_iter().map(|(site, _)| site));
            for (wait, way) in &waits {
                let Some(parity) = wait.parity else { continue };
                let to = outside(wait.at, way);
                let first = Phases { first: 0, shift: 0, period: ENDLESS };
                let other = unwaited(self.setting, [&at, &to], parity, first);
                if let Some(mut conditions) = self.ruled_out(&[&at, &to], other) {
                    conditions.extend(few.iter().cloned());
                    of.waits.push((way.clone(), conditions));
                }
            }
            found.push(of);
        }
        found
    }

    /// The conditions under which an mbarrier that is used once orders two accesses of a block.
    pub(super) fn ordered_once(&self, i: usize, j: usize) -> Option<BTreeSet<Condition>> {
        let (a, b) = (&self.places[i], &self.places[j]);
        let exprs = self.setting.exprs;
        let found = self.once.iter().find_map(|of| of.orders(exprs, a, b).or_else(|| of.orders(exprs, b, a)));
        found.cloned()
    }
}

impl Once<'_> {
    /// The conditions under which the first access comes before the second one.
    fn orders(&self, exprs: &Exprs, first: &Place<'_>, second: &Place<'_>) -> Option<&BTreeSet<Condition>> {
        let is_told = self.copies.contains(&first.access.site);
        let arrives = || first.access.op.passes() == 0 && makes_too(exprs, &first.way, &self.arrival, true);
        if !is_told && !arrives() {
            return None;
        }
        let wait = self.waits.iter().find(|(wait, _)| makes_too(exprs, &second.way, wait, false));
        wait.map(|(_, conditions)| conditions)
    }
}

/// An arrival or a wait of which the iterations of loops do not count.
fn outside<'a>(number: ExprId, way: &[Turn<'a>]) -> Turned<'a> {
    let (chosen, syncs) = (Vec::new(), Vec::new());
    Turned { number, of: LoopId(u32::MAX), way: way.to_vec(), inside: way.len(), chosen, syncs }
}

/// True if each thread that makes an access also makes a step, `later` or before it. Loops around both are in one
/// iteration.
fn makes_too(exprs: &Exprs, access: &[Turn<'_>], step: &[Turn<'_>], later: bool) -> bool {
    let common = if later { parts_before(access, step) } else { parts_before(step, access) };
    let is_made = |turn: &Turn<'_>| match turn {
        Turn::At { .. } => true,
        Turn::Branch { cond, .. } => {
            !exprs.mentions(*cond, Expr::may_change) && access.iter().any(|of| of.is_same(turn))
        }
        Turn::Into(_) => false,
    };
    common.is_some_and(|common| step[common..].iter().all(is_made))
}
