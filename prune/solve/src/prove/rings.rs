//! Two loops of different warps of a block, of which each hands over to the other at named barriers: producers that fill
//! the tiles of a ring, and consumers that read them.
//!
//! # The rule
//! All threads that arrive at some barriers are in one of two loops, and each loop arrives at one place. What one loop
//! does in iteration `k` meets what the other does in iteration `k + shift`: it arrives at the same barrier there, and
//! nowhere else. Then the arrivals of all threads at a barrier have one order, and their `n`th ones belong to its
//! `n`th phase, if
//!
//! * the barrier waits for as many threads as there may be in both loops, so a phase needs one arrival of each that has
//!   not ended. The threads of a loop leave it together, so none of them has ended when another one arrives;
//! * no thread arrives again before the phase of its arrival is over. A thread that waits there does not. For others,
//!   the order that follows from the barriers of both loops must show it. Take the first arrival for which it is wrong:
//!   all phases before it are as supposed, and so is the order.
//!
//! So an arrival in iteration `k` comes before the wait of the other loop in iteration `k + shift`. This order goes on
//! through the text of the loops, and from iteration to iteration. The least numbers of iterations after which it holds
//! are shortest ways in a graph. Two accesses are unordered only if their iterations are closer
//! ([`gpurace_protocol::interval::Near`]).

use std::collections::BTreeSet;

use gpurace_protocol::condition::Condition;
use gpurace_protocol::expr::LoopId;
use gpurace_protocol::interval::{Gap, Meeting, Near};
use gpurace_protocol::named::{WARP, WarpSets};
use gpurace_protocol::place::{Place, Turn};

use super::Prover;
use super::named_syncs::Arrival;
use crate::linear::Encoded;
use crate::pair::named::{Doubt, Turned, doubted, leaves_alone, too_often, unmatched};
use crate::pair::{PairFormula, Relation};

/// The most iterations between arrivals that meet.
const MOST_SHIFT: i64 = 4;
/// The most iterations between two arrivals at one barrier that are looked at.
const MOST_PERIOD: i64 = 8;

/// Two loops that hand over to each other.
#[derive(Debug)]
pub(super) struct Ring<'a> {
    loops: [LoopId; 2],
    /// The arrivals of all barriers.
    arrivals: Vec<Turned<'a>>,
    /// An arrival in iteration `k` comes before the wait of another one in iteration `k + shift`.
    before: Vec<Before>,
    conditions: BTreeSet<Condition>,
}

/// Order that a barrier makes.
#[derive(Clone, Copy, Debug)]
struct Before {
    arrival: usize,
    wait: usize,
    shift: i64,
}

/// A barrier of two loops, or one for each iteration.
struct Handover<'a> {
    arrivals: [Turned<'a>; 2],
    /// What the first loop does in iteration `k` meets what the second does in iteration `k + shift`.
    shift: i64,
    /// For each loop, the iterations between two arrivals at one barrier.
    periods: [i64; 2],
    /// For each arrival, the waits that come after it, by loop, with their shifts.
    before: Vec<(usize, usize, i64)>,
    conditions: BTreeSet<Condition>,
}

impl<'a> Prover<'a> {
    /// Finds the rings of barriers. Each group of arrivals has barriers of its own.
    pub(super) fn find_rings(&mut self, barriers: &[Vec<Arrival<'a>>]) {
        let mut pairs: Vec<([LoopId; 2], Vec<Handover<'a>>)> = Vec::new();
        for arrivals in barriers {
            let [a, b] = arrivals.as_slice() else { continue };
            let (Some(a), Some(b)) = (turned(a), turned(b)) else { continue };
            let both = if a.of <= b.of { [a, b] } else { [b, a] };
            let loops = [both[0].of, both[1].of];
            if loops[0] == loops[1] {
                continue;
            }
            let Some(found) = self.handover(both) else { continue };
            match pairs.iter_mut().find(|(known, _)| *known == loops) {
                Some((_, all)) => all.push(found),
                None => pairs.push((loops, vec![found])),
            }
        }
        self.rings = pairs.into_iter().filter_map(|(loops, all)| ring(loops, all)).collect();
    }

    /// What is known of a barrier; `None` if the two arrivals are not matched.
    fn handover(&mut self, arrivals: [Turned<'a>; 2]) -> Option<Handover<'a>> {
        let [a, b] = &arrivals;
        let threads = self.constant(a.sync.threads)?;
        if self.constant(b.sync.threads)? != threads || !(a.sync.waits || b.sync.waits) {
            return None;
        }
        let size = u32::try_from(threads).ok()?;
        let mut conditions = BTreeSet::new();
        let first = self.first_threads().into_iter().find(|first| {
            let of = WarpSets::new(*first, size).and_then(|_| self.threads_of(&arrivals, *first, size));
            of.map(|used| conditions.extend(used)).is_some()
        });
        first?;
        for at in &arrivals {
            conditions
                .extend(self.no_matter(&arrivals, |p| unmatched(p.setting, [at, at], 0, &p.candidates))?);
            conditions.extend(self.no_matter(&arrivals, |p| leaves_alone(p.setting, at, &p.candidates))?);
        }
        let shifts = (0..=MOST_SHIFT).flat_map(|shift| [shift, -shift]);
        let (shift, used) =
            shifts.into_iter().find_map(|shift| Some((shift, self.are_matched(&arrivals, shift)?)))?;
        conditions.extend(used);
        let mut before = Vec::new();
        for (arrival, wait, shift) in [(0, 0, 0), (0, 1, shift), (1, 0, -shift), (1, 1, 0)] {
            let to = &arrivals[wait];
            if !to.sync.waits || shift < 0 {
                continue;
            }
            let silent = |p: &Self| doubted(p.setting, to, Doubt::Silent(shift), &p.candidates);
            if let Some(used) = self.no_matter(&arrivals, silent) {
                conditions.extend(used);
                before.push((arrival, wait, shift));
            }
        }
        let periods = [0, 1].map(|of| self.period(&arrivals[of], &mut conditions));
        Some(Handover { arrivals, shift, periods, before, conditions })
    }

    /// The conditions under which all threads of both loops are among `size` ones from `first` on, and each loop leaves
    /// out a warp of these. So a phase has arrivals of both.
    fn threads_of(
        &mut self,
        arrivals: &[Turned<'a>; 2],
        first: u32,
        size: u32,
    ) -> Option<BTreeSet<Condition>> {
        let mut conditions = BTreeSet::new();
        for at in arrivals {
            let mut shown =
                |doubt| self.no_matter(arrivals, |p| doubted(p.setting, at, doubt, &p.candidates));
            conditions.extend(shown(Doubt::Outside(first, first + size))?);
            let ends = [first, first + size - WARP];
            conditions.extend(ends.into_iter().find_map(|warp| shown(Doubt::Inside(warp, warp + WARP)))?);
        }
        Some(conditions)
    }

    /// The conditions under which what the first loop does in iteration `k` meets what the second does in `k + shift`.
    fn are_matched(&mut self, arrivals: &[Turned<'a>; 2], shift: i64) -> Option<BTreeSet<Condition>> {
        let [a, b] = arrivals;
        let mut conditions = BTreeSet::new();
        for (from, to, shift) in [(a, b, shift), (b, a, -shift)] {
            let early = Doubt::TooEarly(shift);
            conditions.extend(self.no_matter(arrivals, |p| doubted(p.setting, from, early, &p.candidates))?);
            conditions.extend(
                self.no_matter(arrivals, |p| unmatched(p.setting, [from, to], shift, &p.candidates))?,
            );
        }
        Some(conditions)
    }

    /// The least number of iterations between two arrivals at one barrier.
    fn period(&mut self, at: &Turned<'a>, conditions: &mut BTreeSet<Condition>) -> i64 {
        let mut period = 1;
        while period < MOST_PERIOD {
            let Some(used) = self
                .no_matter(std::slice::from_ref(at), |p| too_often(p.setting, at, period + 1, &p.candidates))
            else {
                break;
            };
            conditions.extend(used);
            period += 1;
        }
        period
    }

    /// The conditions under which a formula has no solution, although threads arrive.
    fn no_matter(
        &mut self,
        arrivals: &[Turned<'a>],
        build: impl Fn(&Self) -> Encoded<PairFormula<'a>>,
    ) -> Option<BTreeSet<Condition>> {
        let built = build(self).ok()?;
        let ways: Vec<_> = arrivals.iter().map(|at| at.way.as_slice()).collect();
        self.decide_reaching(&ways, "two loops hand over to each other", &built)
    }

    /// The ways in which two accesses of different threads meet, less those that the order of a ring rules out, and the
    /// conditions for that.
    pub(super) fn within_rings(
        &self,
        i: usize,
        j: usize,
        relation: Relation,
        ways: Vec<Meeting>,
    ) -> (Vec<Meeting>, BTreeSet<Condition>) {
        let (a, b) = (&self.places[i], &self.places[j]);
        let in_flight = [a, b].iter().any(|place| place.access.op.passes() > 0);
        if in_flight || matches!(relation, Relation::OtherBlock | Relation::OwnThread) {
            return (ways, BTreeSet::new());
        }
        let mut gaps = Vec::new();
        let mut conditions = BTreeSet::new();
        for ring in &self.rings {
            let (Some(x), Some(y)) = (ring.loop_of(a), ring.loop_of(b)) else { continue };
            let most = |from, to| ring.distance(from, to).map(|least| least - 1);
            let (most, least) = (most((x, a), (y, b)), most((y, b), (x, a)).map(|most| -most));
            if most.is_some() || least.is_some() {
                gaps.push(Gap::Near(Near { of: [x, y], least, most }));
                conditions.extend(ring.conditions.iter().cloned());
            }
        }
        let near = |meeting: Meeting| {
            let gap = Gap::all(gaps.iter().cloned().chain([meeting.gap]));
            Meeting { gap, ..meeting }
        };
        (ways.into_iter().map(near).collect(), conditions)
    }
}

/// An arrival that stands in one loop, which only its condition ends.
fn turned<'a>((sync, way): &Arrival<'a>) -> Option<Turned<'a>> {
    let into = |turn: &Turn<'_>| matches!(turn, Turn::Into(_));
    let at = way.iter().position(into)?;
    let Turn::Into(of) = way[at] else { return None };
    let alone = of.breaks.is_none() && !way[at + 1..].iter().any(into);
    alone.then(|| Turned { sync: *sync, of: of.id, way: way.clone(), inside: at + 1 })
}

/// The order of two loops by their barriers. Barriers for which a thread might arrive again too early are left out.
fn ring<'a>(loops: [LoopId; 2], mut all: Vec<Handover<'a>>) -> Option<Ring<'a>> {
    loop {
        let mut ring = Ring { loops, arrivals: vec![], before: vec![], conditions: BTreeSet::new() };
        for handover in &all {
            let at = ring.arrivals.len();
            ring.arrivals.extend(handover.arrivals.iter().cloned());
            ring.before.extend(handover.before.iter().map(|&(x, y, shift)| Before {
                arrival: at + x,
                wait: at + y,
                shift,
            }));
            ring.conditions.extend(handover.conditions.iter().cloned());
        }
        let before = all.len();
        let mut at = 0;
        all.retain(|handover| {
            at += 2;
            ring.is_in_turn(handover, at - 2)
        });
        if all.len() == before {
            return (!all.is_empty()).then_some(ring);
        }
    }
}

impl Ring<'_> {
    /// True if no thread arrives at a barrier again before the phase of its arrival is over. The barrier's arrivals have
    /// the numbers `at` and `at + 1`.
    fn is_in_turn(&self, handover: &Handover<'_>, at: usize) -> bool {
        [(0, handover.shift), (1, -handover.shift)].into_iter().all(|(own, shift)| {
            // The other loop waits for the phase in iteration `k + shift`; the next arrival is in `k + period`.
            let other = 1 - own;
            let next = || {
                let waits = handover.arrivals[other].sync.waits;
                waits.then(|| self.wait_to_arrival(at + other, at + own)).flatten()
            };
            handover.arrivals[own].sync.waits
                || next().is_some_and(|least| least <= handover.periods[own] - shift)
        })
    }

    /// The loop of the ring that an access is in.
    fn loop_of(&self, place: &Place<'_>) -> Option<LoopId> {
        self.loops.into_iter().find(|of| place.loops().any(|around| around.id == *of))
    }

    /// The least number of iterations from a wait to an arrival that comes after it.
    fn wait_to_arrival(&self, wait: usize, arrival: usize) -> Option<i64> {
        let known = self.waits_after(|to| self.step(wait, to));
        let direct = self.step(wait, arrival);
        let by_others =
            known.iter().enumerate().filter_map(|(at, least)| Some((*least)? + self.step(at, arrival)?));
        by_others.chain(direct).min()
    }

    /// The least number of iterations after which an access of one loop comes before another thread's.
    fn distance(&self, (x, a): (LoopId, &Place<'_>), (y, b): (LoopId, &Place<'_>)) -> Option<i64> {
        let steps = |of, way: &[Turn<'_>], to: usize| {
            (self.arrivals[to].of == of).then(|| i64::from(!comes_before(way, &self.arrivals[to].way)))
        };
        let known = self.waits_after(|to| steps(x, &a.way, to));
        let ends = known.iter().enumerate().filter_map(|(at, least)| {
            let own = &self.arrivals[at];
            let last = (own.of == y).then(|| i64::from(!comes_before(&own.way, &b.way)))?;
            Some((*least)? + last)
        });
        ends.min()
    }

    /// For each wait, the least number of iterations after which it comes, if `first` says this of arrivals.
    fn waits_after(&self, first: impl Fn(usize) -> Option<i64>) -> Vec<Option<i64>> {
        let mut known = vec![None; self.arrivals.len()];
        loop {
            let mut changed = false;
            for before in &self.before {
                let through = known.iter().enumerate().filter_map(|(at, least): (usize, &Option<i64>)| {
                    Some((*least)? + self.step(at, before.arrival)?)
                });
                let Some(least) = through.chain(first(before.arrival)).min() else { continue };
                let least = least + before.shift;
                if known[before.wait].is_none_or(|known| least < known) {
                    known[before.wait] = Some(least);
                    changed = true;
                }
            }
            if !changed {
                return known;
            }
        }
    }

    /// The iterations from a wait of a thread to its arrival at another barrier, in one loop.
    fn step(&self, wait: usize, arrival: usize) -> Option<i64> {
        let (from, to) = (&self.arrivals[wait], &self.arrivals[arrival]);
        (from.of == to.of).then(|| i64::from(!comes_before(&from.way, &to.way)))
    }
}

/// True if a thread that makes both in one iteration makes the first one first.
fn comes_before(first: &[Turn<'_>], second: &[Turn<'_>]) -> bool {
    let parted = first.iter().zip(second).find(|(x, y)| !x.is_same(y));
    matches!(parted, Some((Turn::At { body, index }, Turn::At { body: same, index: later }))
        if std::ptr::eq(body.as_ptr(), same.as_ptr()) && index < later)
}
