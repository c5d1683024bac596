//! Mbarriers that are armed: before their loop, threads arrive once at each one, as at the `empty` barriers of a ring
//! whose tiles nobody reads yet.
//!
//! # The rule
//! The threads arrive before the loop at the mbarriers of its first `period` iterations: in a loop of so many
//! iterations, or one after the other. Each thread that comes to the loop has come there, and no place comes twice. So
//! the arrivals of iteration `k` have the number `1 + k / period` at their mbarriers.
//!
//! The other loop waits in iteration `k < period` for the phase of the arrival that armed the mbarrier of iteration
//! `k`, and in iteration `k + period` for that of iteration `k`. So it waits for all phases, one after the other.
//!
//! Named barriers are armed in the same way: the arrivals before the loop meet what the other loop does in as many
//! first iterations. What the loop does in iteration `k` meets the other loop so many iterations later.

use std::collections::BTreeSet;

use gpurace_protocol::condition::Condition;
use gpurace_protocol::expr::ExprId;
use gpurace_protocol::place::{Turn, common_turns, parts_before};

use super::Prover;
use super::named_syncs::Arrival;
use super::phases::ENDLESS;
use super::rings::{Before, Handover, InTurn, turned};
use crate::pair::named::{Doubt, Turned, doubted, too_often, unmatched};
use crate::pair::phases::{Phases, ends_before, unwaited};

/// The most arrivals at a named barrier that is armed.
const MOST_ARRIVALS: usize = 6;

impl<'a> Prover<'a> {
    /// What is known of a named barrier that threads arm: one loop arrives there, and another one waits.
    pub(super) fn armed_handover(&mut self, arrivals: &[Arrival<'a>]) -> Option<Handover<'a>> {
        let own = |waits| {
            let all = arrivals.iter().enumerate().filter(move |(_, arrival)| arrival.0.waits == waits);
            all.map(|(number, _)| number)
        };
        let (mut waits, mut last) = (own(true), own(false));
        let (Some(to), None, Some(at)) = (waits.next(), waits.next(), last.next_back()) else { return None };
        let rest = arrivals.iter().enumerate().filter(|(number, _)| ![to, at].contains(number));
        let armed: Vec<_> = rest.map(|(_, arrival)| arrival).collect();
        if arrivals.len() > MOST_ARRIVALS {
            return None;
        }
        self.armed_by(&armed, &arrivals[at], &arrivals[to])
    }

    /// What is known of a named barrier that the arrivals `armed` arm: `own` arrives there in a loop, and `other`
    /// waits.
    fn armed_by(
        &mut self,
        armed: &[&Arrival<'a>],
        own: &Arrival<'a>,
        other: &Arrival<'a>,
    ) -> Option<Handover<'a>> {
        let (at, to) = (turned(own.0.id, &own.1)?, turned(other.0.id, &other.1)?);
        let threads = self.constant(own.0.threads)?;
        let mut syncs = armed.iter().copied().chain([other]);
        if at.of == to.of || !syncs.all(|(sync, _)| self.constant(sync.threads) == Some(threads)) {
            return None;
        }
        let armed = armed.iter().map(|(sync, way)| arming(sync.id, way, &at)).collect::<Option<Vec<_>>>()?;
        // No thread of the other loop arms.
        let inside = parted_by_branch(&at.way, &to.way)?;
        let is_own = |of: &Turned<'_>| common_turns(&of.way, &at.way) > inside;
        if !armed.iter().all(is_own) {
            return None;
        }
        let all: Vec<_> = [&at, &to].into_iter().chain(&armed).collect();
        let mut conditions = self.threads_of_some(&all, u32::try_from(threads).ok()?)?;
        conditions.extend(self.go_together([&at, &to])?);
        let period = self.period(&at, &mut conditions).min(self.period(&to, &mut conditions));
        let count = match armed.as_slice() {
            [only] if only.of != at.of => {
                conditions.extend(self.makes_iterations(only, period)?);
                period
            }
            each if each.iter().all(|of| of.of == at.of) => i64::try_from(each.len()).ok()?,
            _ => return None,
        };
        // Else a thread would arm a barrier twice.
        if count > period {
            return None;
        }
        for (from, shift) in armed.iter().zip(0..).chain([(&at, count)]) {
            conditions.extend(self.are_matched([from, &to], shift)?);
        }
        let mut before = Vec::new();
        for (arrival, shift) in [(0, count), (1, 0)] {
            let silent = doubted(self.setting, &to, Doubt::Silent(shift));
            if let Some(used) = self.ruled_out(&[&to], silent) {
                conditions.extend(used);
                before.push(Before { arrival, wait: 0, shift });
            }
        }
        // The other loop waits for the phase in iteration `k + count`; the next arrival is in `k + period`.
        let in_turn = vec![InTurn { arrival: 0, wait: Some(0), most: period - count }];
        let waits = vec![to.clone()];
        Some(Handover { arrivals: vec![at, to], waits, before, in_turn, copies: Vec::new(), conditions })
    }

    /// The conditions under which each thread that comes to the loop of an arrival makes so many iterations of it.
    fn makes_iterations(&mut self, at: &Turned<'a>, count: i64) -> Option<BTreeSet<Condition>> {
        let fewer = ends_before(self.setting, at, count);
        let mut conditions = self.ruled_out(&[at], fewer)?;
        let more = doubted(self.setting, at, Doubt::GoesOn(count));
        conditions.extend(self.ruled_out(&[at], more)?);
        Some(conditions)
    }

    /// The conditions under which the first arrivals arm the mbarriers of a loop, and the other loop waits for them.
    pub(super) fn are_armed(
        &mut self,
        armed: &[Turned<'a>],
        [at, to]: [&Turned<'a>; 2],
        parity: ExprId,
        period: i64,
    ) -> Option<BTreeSet<Condition>> {
        let mut conditions = BTreeSet::new();
        match armed {
            [only] if only.of != at.of => {
                conditions.extend(self.makes_iterations(only, period)?);
                let twice = too_often(self.setting, only, period);
                conditions.extend(self.ruled_out(&[only], twice)?);
            }
            each => {
                let places: Option<BTreeSet<_>> = each.iter().map(|of| self.constant(of.number)).collect();
                let distinct = i64::try_from(places?.len()).ok()?;
                let all = i64::try_from(each.len()).ok()?;
                if [distinct, all] != [period; 2] || each.iter().any(|of| of.of != at.of) {
                    return None;
                }
            }
        }
        for (number, of) in (0..).zip(armed) {
            let own = [of, at, to];
            let other = unmatched(self.setting, [at, of], -number);
            conditions.extend(self.ruled_out(&own, other)?);
            let phases = Phases { first: 0, shift: number, period: ENDLESS };
            let unused = unwaited(self.setting, [of, to], parity, phases);
            conditions.extend(self.ruled_out(&own, unused)?);
        }
        let silent = doubted(self.setting, to, Doubt::Silent(0));
        conditions.extend(self.ruled_out(&[to], silent)?);
        Some(conditions)
    }
}

/// The turn at which two ways part by the value of one condition.
fn parted_by_branch(a: &[Turn<'_>], b: &[Turn<'_>]) -> Option<usize> {
    let common = common_turns(a, b);
    let ((cond, _), (other, _)) = (a.get(common)?.branch()?, b.get(common)?.branch()?);
    (cond == other).then_some(common)
}

/// An arrival before the loop of another one, which all threads make that come to this loop and are chosen there. One
/// that stands in no loop counts as in the first iteration.
pub(super) fn arming<'a>(number: ExprId, way: &[Turn<'a>], at: &Turned<'a>) -> Option<Turned<'a>> {
    let parted = parts_before(way, &at.way[..at.inside])?;
    // In a loop around both they would arrive in each round.
    if way[..parted].iter().any(|turn| turn.into_loop().is_some()) {
        return None;
    }
    let rest = &way[parted + 1..];
    let is_chosen = |turn: &Turn<'_>| match turn {
        Turn::At { .. } => true,
        Turn::Branch { cond, value } => at.chosen.contains(&(*cond, *value)),
        Turn::Into(of) => of.breaks.is_none(),
    };
    if !rest.iter().all(is_chosen) {
        return None;
    }
    let loops: Vec<_> =
        way.iter().enumerate().filter_map(|(at, turn)| Some((at, turn.into_loop()?))).collect();
    let (of, inside) = match loops[..] {
        [] => (at.of, way.len()),
        [(place, of)] => (of.id, place + 1),
        _ => return None,
    };
    // Others than those of the loop may arrive here too.
    let (chosen, syncs) = (rest.iter().filter_map(Turn::branch).collect(), Vec::new());
    Some(Turned { number, of, way: way.to_vec(), inside, chosen, syncs })
}
