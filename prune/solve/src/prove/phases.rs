//! Mbarriers at which one loop of a block arrives, and another one waits for phases by their parity.
//!
//! # The rule
//! Threads of one loop arrive at the mbarriers of an array, at one place, and those of another loop wait there, at one
//! place too. All threads of a loop do so in an iteration if one of them does. The arrivals of iteration `k` are at the
//! mbarrier of iteration `k - period`, and at no mbarrier in between. So for each thread it is number `k / period`
//! there. In iteration `k + shift`, the other loop waits at this mbarrier for a phase of the same parity.
//!
//! * At most as many threads arrive as end a phase.
//! * No thread arrives again before the phase of its arrival is over, as the order of the ring shows
//!   ([`super::rings`]), or since the loop ends before.
//!
//! So at the end of phase `n`, each of these threads has made its arrival number `n`. A thread that waits for phase `n`
//! has waited for phase `n - 1` before. If it finds the other parity then, phase `n` is over, or a later one.
//!
//! Threads may also have arrived at each mbarrier once before their loop ([`super::armed`]).
//!
//! A wait that has no arrival to wait for proves nothing: no loop comes to an iteration for which the other one has
//! left its loop.

use std::collections::{BTreeMap, BTreeSet};

use gpurace_protocol::condition::Condition;
use gpurace_protocol::expr::ExprId;
use gpurace_protocol::named::{WARP, WarpSets};
use gpurace_protocol::place::{Place, Turn, syncs};
use gpurace_protocol::protocol::{ObjectId, Phase, Sync};

use super::Prover;
use super::armed::arming;
use super::rings::{Before, Handover, InTurn, turned};
use crate::pair::named::{Doubt, Turned, doubted, unmatched};
use crate::pair::phases::{Phases, both_arrive, unwaited};

/// A period that no loop comes to the end of.
pub(super) const ENDLESS: i64 = 1 << 62;

/// An arrival or a wait, and the way to it.
pub(super) type Step<'a> = (Phase, Vec<Turn<'a>>);

impl<'a> Prover<'a> {
    /// The arrivals and waits at each object that holds mbarriers. None if what is not seen may arrive at any of them.
    pub(super) fn phase_steps(&self) -> Vec<Vec<Step<'a>>> {
        if self.unknowns.iter().any(|unknown| unknown.syncs) {
            return Vec::new();
        }
        let mut arrays: BTreeMap<ObjectId, Vec<Step<'a>>> = BTreeMap::new();
        for (sync, way) in syncs(self.setting.protocol) {
            if let Sync::Phase(phase) = sync {
                arrays.entry(phase.of).or_default().push((phase, way));
            }
        }
        arrays.into_values().collect()
    }

    /// What is known of an array of mbarriers.
    pub(super) fn phase_handover(&mut self, steps: &[Step<'a>]) -> Option<Handover<'a>> {
        let (waits, arrivals): (Vec<_>, Vec<_>) = steps.iter().partition(|(phase, _)| phase.parity.is_some());
        let ([wait], Some((arrival, earlier))) = (waits.as_slice(), arrivals.split_last()) else {
            return None;
        };
        let parity = wait.0.parity?;
        let count = u32::try_from(self.constant(arrival.0.count)?).ok()?;
        let mut at = turned(arrival.0.at, &arrival.1)?;
        let mut to = turned(wait.0.at, &wait.1)?;
        if at.of == to.of {
            return None;
        }
        self.choose(&mut at);
        self.choose(&mut to);
        let armed =
            earlier.iter().map(|(phase, way)| arming(phase.at, way, &at)).collect::<Option<Vec<_>>>()?;
        let each: Vec<_> = armed.iter().chain([&at]).collect();
        let mut conditions = self.at_most_arrive(&each, count)?;
        let apart = unmatched(self.setting, [&at, &at], 0);
        conditions.extend(self.ruled_out(&[&at], apart)?);
        let period = self.period(&at, &mut conditions);
        let later = unmatched(self.setting, [&at, &at], -period);
        conditions.extend(self.ruled_out(&[&at], later)?);
        if !armed.is_empty() {
            conditions.extend(self.are_armed(&armed, [&at, &to], parity, period)?);
        }
        let (first, shifts) = if armed.is_empty() { (0, 0..=period) } else { (1, period..=period) };
        let (shift, used) = shifts.into_iter().find_map(|shift| {
            Some((shift, self.is_waited_for(&at, &to, parity, Phases { first, shift, period })?))
        })?;
        conditions.extend(used);
        let in_turn = match armed.is_empty() && self.ends_within(&at, period) {
            true => vec![],
            false => vec![InTurn { arrival: 0, wait: Some(0), most: period - shift }],
        };
        conditions.extend(self.find_syncs_of_chosen(&mut at));
        conditions.extend(self.find_syncs_of_chosen(&mut to));
        Some(Handover {
            copies: self.copies_told(arrival.0),
            arrivals: vec![at],
            waits: vec![to],
            before: vec![Before { arrival: 0, wait: 0, shift }],
            in_turn,
            conditions,
        })
    }

    /// True if no thread comes to an iteration from this one on, in any launch.
    fn ends_within(&mut self, at: &Turned<'a>, rounds: i64) -> bool {
        let before = self.accepted.clone();
        let late = doubted(self.setting, at, Doubt::GoesOn(rounds));
        let ends = self.ruled_out(&[at], late).is_some_and(|conditions| conditions.is_empty());
        self.accepted = before;
        ends
    }

    /// The conditions under which no more than `count` threads make some of these arrivals.
    pub(super) fn at_most_arrive(&mut self, each: &[&Turned<'a>], count: u32) -> Option<BTreeSet<Condition>> {
        if count == 1 {
            return self.one_arrives(each, WarpSets::BLOCK);
        }
        // All of some threads arrive, or one of each warp.
        let firsts = self.first_threads();
        let ways: Vec<_> =
            [1, WARP].into_iter().flat_map(|size| firsts.iter().map(move |&first| (size, first))).collect();
        let before = self.accepted.clone();
        let known = ways.into_iter().filter_map(|of| {
            self.accepted.clone_from(&before);
            Some((self.arrive_in(each, count, of)?.len(), of))
        });
        // Those with the fewest conditions.
        let (_, of) = known.min()?;
        self.accepted = before;
        self.arrive_in(each, count, of)
    }

    /// The conditions under which at most one thread arrives of each `size` consecutive ones, for so many of these sets
    /// from thread `first` on.
    fn arrive_in(
        &mut self,
        each: &[&Turned<'a>],
        count: u32,
        (size, first): (u32, u32),
    ) -> Option<BTreeSet<Condition>> {
        let threads = count.checked_mul(size).filter(|threads| *threads <= WarpSets::BLOCK.size())?;
        let outside = Doubt::Outside(first, first + threads);
        let mut conditions = BTreeSet::new();
        for at in each {
            let outside = doubted(self.setting, at, outside);
            conditions.extend(self.ruled_out(&[at], outside)?);
        }
        if size > 1 {
            conditions.extend(self.one_arrives(each, WarpSets::new(first, size)?)?);
        }
        Some(conditions)
    }

    /// The conditions under which one thread at most of each of these sets makes some of these arrivals.
    fn one_arrives(&mut self, each: &[&Turned<'a>], sets: WarpSets) -> Option<BTreeSet<Condition>> {
        let mut conditions = BTreeSet::new();
        for (number, a) in each.iter().enumerate() {
            for b in &each[number..] {
                let two = both_arrive(self.setting, [a, b], sets);
                conditions.extend(self.ruled_out(&[a, b], two)?);
            }
        }
        Some(conditions)
    }

    /// The conditions under which a loop waits in iteration `k + shift` for the phase of the arrivals in iteration `k`.
    fn is_waited_for(
        &mut self,
        at: &Turned<'a>,
        to: &Turned<'a>,
        parity: ExprId,
        phases: Phases,
    ) -> Option<BTreeSet<Condition>> {
        let shift = phases.shift;
        let other = unwaited(self.setting, [at, to], parity, phases);
        let mut conditions = self.ruled_out(&[at, to], other)?;
        let silent = doubted(self.setting, to, Doubt::Silent(shift));
        conditions.extend(self.ruled_out(&[at, to], silent)?);
        let alone = unmatched(self.setting, [to, at], -shift);
        conditions.extend(self.ruled_out(&[at, to], alone)?);
        conditions.extend(self.none_leaves_early([to, at], shift)?);
        Some(conditions)
    }

    /// The copies that are done at the end of the phase of an arrival, the first one of its barrier.
    pub(super) fn copies_told(&self, arrival: Phase) -> Vec<(gpurace_protocol::protocol::SiteId, usize)> {
        let all = &self.setting.protocol.told;
        let told = all.iter().filter(|told| (told.of, told.at) == (arrival.of, arrival.at));
        let only = told.filter(|told| {
            Place::only(&self.places, told.site).is_some()
                && all.iter().filter(|other| other.site == told.site).count() == 1
        });
        only.map(|told| (told.site, 0)).collect()
    }
}
