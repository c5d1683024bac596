//! Threads that arrive at a barrier, or wait there, for their whole warp: `__syncwarp(); if (lane == 0) arrive(bar);`.
//!
//! # The rule
//! A condition in a loop chooses threads if it says the same in all iterations, as `lane == 0` does. What is shown of
//! an arrival or a wait behind it is shown of the chosen threads alone.
//!
//! A chosen thread arrives for another one if a sync of their whole warp comes after the access of the other one, and
//! before the arrival. It waits for it if the sync comes after the wait, and before the access. This needs that
//!
//! * threads of a warp make their syncs together,
//! * both make this sync in each iteration of the loop: no branch leads to it there,
//! * the first lane of each warp that has threads in the loop is chosen.
//!
//! Without such a sync, an arrival tells only of accesses that stand behind the same conditions.

use std::collections::BTreeSet;

use gpurace_protocol::condition::Condition;
use gpurace_protocol::expr::{Expr, ExprId};
use gpurace_protocol::group::Group;
use gpurace_protocol::interval::uniformity;
use gpurace_protocol::place::{Turn, common_turns, parts_before, syncs};
use gpurace_protocol::protocol::Uniform;

use super::Prover;
use crate::pair::named::{Turned, first_not_chosen};

impl<'a> Prover<'a> {
    /// Finds the conditions that choose threads for an arrival or a wait.
    pub(super) fn choose(&self, at: &mut Turned<'a>) {
        let exprs = self.setting.exprs;
        let chooses = |&(cond, _): &(ExprId, bool)| {
            let differs = uniformity(self.setting.protocol, exprs, cond) < Uniform::Block;
            differs && !exprs.mentions(cond, Expr::may_change)
        };
        at.chosen = at.way[at.inside..].iter().filter_map(Turn::branch).filter(chooses).collect();
    }

    /// Finds the syncs by which chosen threads arrive or wait for their warps. Returns the conditions for that.
    pub(super) fn find_syncs_of_chosen(&mut self, at: &mut Turned<'a>) -> BTreeSet<Condition> {
        let mut conditions = BTreeSet::new();
        if at.chosen.is_empty() {
            return conditions;
        }
        let Ok(together) = self.align(Group::WARP) else { return conditions };
        let other = first_not_chosen(self.setting, at);
        let Some(first) = self.ruled_out(&[at], other) else { return conditions };
        let barriers = self.part_syncs.barriers(Group::WARP);
        let into = &at.way[..at.inside];
        let in_loop = |way: &[Turn<'a>]| way.len() == into.len() + 1 && common_turns(way, into) == into.len();
        let all = syncs(self.setting.protocol).into_iter();
        let own = all.filter(|(sync, way)| barriers.hold(*sync) && in_loop(way));
        at.syncs = own.map(|(_, way)| way).collect();
        conditions.extend(together.into_iter().chain(first));
        conditions
    }
}

/// The least number of iterations from an access or a wait to an arrival that tells of it.
pub(super) fn to_arrival(from: &[Turn<'_>], to: &Turned<'_>) -> Option<i64> {
    steps(from, &to.way, is_chosen(from, to), &to.syncs)
}

/// The least number of iterations from a wait to an access or an arrival that comes after it.
pub(super) fn from_wait(from: &Turned<'_>, to: &[Turn<'_>]) -> Option<i64> {
    steps(&from.way, to, is_chosen(to, from), &from.syncs)
}

/// The least number of iterations from one place to another one: for a thread that makes both, or else by a sync.
fn steps(from: &[Turn<'_>], to: &[Turn<'_>], by_itself: bool, syncs: &[Vec<Turn<'_>>]) -> Option<i64> {
    let step = |from: &[Turn<'_>], to: &[Turn<'_>]| i64::from(parts_before(from, to).is_none());
    let by_syncs = syncs.iter().map(|sync| step(from, sync) + step(sync, to));
    by_itself.then(|| step(from, to)).into_iter().chain(by_syncs).min()
}

/// True if a thread that takes a way is one of those that arrive, or wait.
fn is_chosen(way: &[Turn<'_>], at: &Turned<'_>) -> bool {
    at.chosen.iter().all(|of| way.iter().any(|turn| turn.branch() == Some(*of)))
}
