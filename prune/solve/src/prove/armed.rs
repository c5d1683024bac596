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

use std::collections::BTreeSet;

use gpurace_protocol::condition::Condition;
use gpurace_protocol::expr::ExprId;
use gpurace_protocol::place::Turn;

use super::Prover;
use super::phases::ENDLESS;
use crate::pair::named::{Doubt, Turned, doubted, too_often, unmatched};
use crate::pair::phases::{Phases, ends_before, unwaited};

impl<'a> Prover<'a> {
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
                let own = std::slice::from_ref(only);
                let early = |p: &Self| ends_before(p.setting, only, period, &p.candidates);
                conditions.extend(self.no_matter(own, early)?);
                let late = Doubt::GoesOn(period);
                conditions.extend(self.no_matter(own, |p| doubted(p.setting, only, late, &p.candidates))?);
                let twice = |p: &Self| too_often(p.setting, only, period, &p.candidates);
                conditions.extend(self.no_matter(own, twice)?);
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
            let own = [of.clone(), at.clone(), to.clone()];
            let other = |p: &Self| unmatched(p.setting, [at, of], -number, &p.candidates);
            conditions.extend(self.no_matter(&own, other)?);
            let phases = Phases { first: 0, shift: number, period: ENDLESS };
            let unused = |p: &Self| unwaited(p.setting, [of, to], parity, phases, &p.candidates);
            conditions.extend(self.no_matter(&own, unused)?);
        }
        let silent = |p: &Self| doubted(p.setting, to, Doubt::Silent(0), &p.candidates);
        conditions.extend(self.no_matter(std::slice::from_ref(to), silent)?);
        Some(conditions)
    }
}

/// An arrival before the loop of another one, which all threads make that come to this loop and are chosen there. One
/// that stands in no loop counts as in the first iteration.
pub(super) fn arming<'a>(number: ExprId, way: &[Turn<'a>], at: &Turned<'a>) -> Option<Turned<'a>> {
    let parted = way.iter().zip(&at.way[..at.inside]).position(|(x, y)| !x.is_same(y))?;
    let (Turn::At { index, .. }, Turn::At { index: later, .. }) = (way[parted], at.way[parted]) else {
        return None;
    };
    // In a loop around both they would arrive in each round.
    if way[..parted].iter().any(|turn| matches!(turn, Turn::Into(_))) {
        return None;
    }
    let rest = &way[parted + 1..];
    let is_chosen = |turn: &Turn<'_>| match turn {
        Turn::At { .. } => true,
        Turn::Branch { cond, value } => at.chosen.contains(&(*cond, *value)),
        Turn::Into(of) => of.breaks.is_none(),
    };
    let into: Vec<_> = way.iter().enumerate().filter(|(_, turn)| matches!(turn, Turn::Into(_))).collect();
    let (of, inside) = match into[..] {
        [] => (at.of, way.len()),
        [(place, Turn::Into(of))] if place > parted => (of.id, place + 1),
        _ => return None,
    };
    // Others than those of the loop may arrive here too.
    let own = |turn: &Turn<'_>| match turn {
        Turn::Branch { cond, value } => Some((*cond, *value)),
        Turn::At { .. } | Turn::Into(_) => None,
    };
    let (chosen, syncs) = (rest.iter().filter_map(own).collect(), Vec::new());
    let before = index < later && rest.iter().all(is_chosen);
    before.then(|| Turned { number, of, way: way.to_vec(), inside, chosen, syncs })
}
