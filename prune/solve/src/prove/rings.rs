//! Two loops of different warps of a block, of which each hands over to the other at named barriers: producers that
//! fill the tiles of a ring, and consumers that read them.
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
//!
//! Loops may be around them, as in a kernel whose blocks work on several tiles. Then the number of an iteration is that
//! of all rounds ([`gpurace_protocol::expr::Expr::Total`]). It orders the iterations of a thread as that of one loop
//! does. The two nests have the same rounds.
//!
//! Where only some threads arrive or wait, they do so for the others of their warp by its syncs ([`super::chosen`]).

use std::collections::BTreeSet;

use gpurace_protocol::condition::Condition;
use gpurace_protocol::expr::{ExprId, LoopId};
use gpurace_protocol::group::Group;
use gpurace_protocol::interval::{Gap, Meeting, Near};
use gpurace_protocol::named::{WARP, WarpSets};
use gpurace_protocol::place::{Place, Turn};
use gpurace_protocol::protocol::{Loop, SiteId, Test};

use super::Prover;
use super::chosen::{from_wait, to_arrival};
use super::named_syncs::Arrival;
use super::phases::Step;
use crate::encode::Encoder;
use crate::linear::Encoded;
use crate::pair::named::{Doubt, Turned, doubted, leaves_early, rounds_differ, too_often, unmatched};
use crate::pair::{Question, Relation};

/// The most iterations between arrivals that meet.
const MOST_SHIFT: i64 = 4;
/// The most iterations between two arrivals at one barrier that are looked at.
const MOST_PERIOD: i64 = 8;

/// Two loops that hand over to each other.
#[derive(Debug)]
pub(super) struct Ring<'a> {
    loops: [LoopId; 2],
    /// What is known of its barriers, together.
    of: Handover<'a>,
}

/// Order that a barrier makes: an arrival in iteration `k` comes before a wait in iteration `k + shift`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    pub arrival: usize,
    pub wait: usize,
    pub shift: i64,
}

/// An arrival must come after a wait of the other loop, by at most so many iterations. Then no thread arrives again
/// before the phase of its arrival is over.
#[derive(Clone, Copy, Debug)]
pub(super) struct InTurn {
    pub arrival: usize,
    /// `None` if nobody waits.
    pub wait: Option<usize>,
    pub most: i64,
}

/// A barrier of two loops, or one for each iteration.
#[derive(Clone, Debug, Default)]
pub(super) struct Handover<'a> {
    pub arrivals: Vec<Turned<'a>>,
    pub waits: Vec<Turned<'a>>,
    pub before: Vec<Before>,
    pub in_turn: Vec<InTurn>,
    /// Asynchronous copies that are done when the phase of an arrival in the same iteration is over.
    pub copies: Vec<(SiteId, usize)>,
    pub conditions: BTreeSet<Condition>,
}

impl<'a> Prover<'a> {
    /// Finds the rings of named barriers and mbarriers. Each group of arrivals has named barriers of its own.
    pub(super) fn find_rings(&mut self, barriers: &[Vec<Arrival<'a>>], arrays: &[Vec<Step<'a>>]) {
        let mut pairs: Vec<([LoopId; 2], Vec<Handover<'a>>)> = Vec::new();
        let named: Vec<_> = barriers.iter().filter_map(|arrivals| self.named_handover(arrivals)).collect();
        let phases: Vec<_> = arrays.iter().filter_map(|steps| self.phase_handover(steps)).collect();
        for found in named.into_iter().chain(phases) {
            let Some(loops) = found.loops() else { continue };
            match pairs.iter_mut().find(|(known, _)| *known == loops) {
                Some((_, all)) => all.push(found),
                None => pairs.push((loops, vec![found])),
            }
        }
        self.rings = pairs.into_iter().filter_map(|(loops, all)| ring(loops, all)).collect();
    }

    /// What is known of a named barrier; `None` if it is not one of two loops, or the two arrivals are not matched.
    fn named_handover(&mut self, arrivals: &[Arrival<'a>]) -> Option<Handover<'a>> {
        let [a, b] = arrivals else { return self.armed_handover(arrivals) };
        let syncs = [a.0, b.0];
        let arrivals = [turned(a.0.id, &a.1)?, turned(b.0.id, &b.1)?];
        let [a, b] = &arrivals;
        let threads = self.constant(syncs[0].threads)?;
        let waits = syncs.map(|sync| sync.waits);
        if a.of == b.of || self.constant(syncs[1].threads)? != threads || waits == [false; 2] {
            return None;
        }
        let both = [a, b];
        let mut conditions = self.threads_of_some(&both, u32::try_from(threads).ok()?)?;
        conditions.extend(self.go_together(both)?);
        let mut shifts = (0..=MOST_SHIFT).flat_map(|shift| [shift, -shift]);
        let (shift, used) = shifts.find_map(|shift| Some((shift, self.are_met(both, shift)?)))?;
        conditions.extend(used);
        // The numbers of the waits.
        let wait = [waits[0].then_some(0), waits[1].then_some(usize::from(waits[0]))];
        let mut found = Handover { waits: Vec::new(), ..Handover::default() };
        found.waits.extend(arrivals.iter().zip(waits).filter(|(_, waits)| *waits).map(|(at, _)| at.clone()));
        for (arrival, to, shift) in [(0, 0, 0), (0, 1, shift), (1, 0, -shift), (1, 1, 0)] {
            let Some(wait) = wait[to].filter(|_| shift >= 0) else { continue };
            let silent = doubted(self.setting, both[to], Doubt::Silent(shift));
            if let Some(used) = self.ruled_out(&both, silent) {
                conditions.extend(used);
                found.before.push(Before { arrival, wait, shift });
            }
        }
        for (own, shift) in [(0, shift), (1, -shift)] {
            let period = self.period(&arrivals[own], &mut conditions);
            if !waits[own] {
                // The other loop waits for the phase in iteration `k + shift`; the next arrival is in `k + period`.
                found.in_turn.push(InTurn { arrival: own, wait: wait[1 - own], most: period - shift });
            }
        }
        Some(Handover { arrivals: arrivals.into(), conditions, ..found })
    }

    /// The conditions under which all threads of two loops are among `size` ones with consecutive indices, and each
    /// loop leaves out a warp of these. So a phase has arrivals of both.
    pub(super) fn threads_of_some(
        &mut self,
        arrivals: &[&Turned<'a>],
        size: u32,
    ) -> Option<BTreeSet<Condition>> {
        let firsts = self.first_threads().into_iter().filter(|first| WarpSets::new(*first, size).is_some());
        firsts.collect::<Vec<_>>().into_iter().find_map(|first| self.threads_of(arrivals, first, size))
    }

    /// The same, for the threads from `first` on.
    fn threads_of(&mut self, arrivals: &[&Turned<'a>], first: u32, size: u32) -> Option<BTreeSet<Condition>> {
        let mut conditions = BTreeSet::new();
        for at in arrivals {
            let mut shown = |doubt| self.ruled_out(arrivals, doubted(self.setting, at, doubt));
            conditions.extend(shown(Doubt::Outside(first, first + size))?);
            let ends = [first, first + size - WARP];
            conditions.extend(ends.into_iter().find_map(|warp| shown(Doubt::Inside(warp, warp + WARP)))?);
        }
        Some(conditions)
    }

    /// The conditions under which the threads of each of two loops arrive at one barrier in an iteration, and leave the
    /// loop together.
    pub(super) fn go_together(&mut self, both: [&Turned<'a>; 2]) -> Option<BTreeSet<Condition>> {
        let mut conditions = BTreeSet::new();
        for at in both {
            let other = unmatched(self.setting, [at, at], 0);
            conditions.extend(self.ruled_out(&both, other)?);
            conditions.extend(self.none_leaves_early([at, at], 0)?);
        }
        Some(conditions)
    }

    /// The conditions under which what the first loop does in iteration `k` meets what the second does in `k + shift`,
    /// and both have these iterations.
    fn are_met(&mut self, [a, b]: [&Turned<'a>; 2], shift: i64) -> Option<BTreeSet<Condition>> {
        let mut conditions = BTreeSet::new();
        for (from, shift) in [(a, shift), (b, -shift)] {
            let early = doubted(self.setting, from, Doubt::TooEarly(shift));
            conditions.extend(self.ruled_out(&[a, b], early)?);
        }
        conditions.extend(self.are_matched([a, b], shift)?);
        Some(conditions)
    }

    /// The conditions under which what the first loop does in iteration `k` is at the barrier of what the second does
    /// in `k + shift`, and the other way round.
    pub(super) fn are_matched(
        &mut self,
        [a, b]: [&Turned<'a>; 2],
        shift: i64,
    ) -> Option<BTreeSet<Condition>> {
        let mut conditions = BTreeSet::new();
        for (pair, shift) in [([a, b], shift), ([b, a], -shift)] {
            let other = unmatched(self.setting, pair, shift);
            conditions.extend(self.ruled_out(&[a, b], other)?);
        }
        Some(conditions)
    }

    /// The conditions under which no thread comes to an iteration of the first one's loop that is more than `shift`
    /// after the last one of a thread in the second one's loop. Loops with others around them have the same rounds, or
    /// so many iterations in each round that all of them are known.
    pub(super) fn none_leaves_early(
        &mut self,
        [later, at]: [&Turned<'a>; 2],
        shift: i64,
    ) -> Option<BTreeSet<Condition>> {
        let both = [later, at];
        let depths = both.map(|of| of.into().count());
        let encoder = Encoder::new(self.setting, Group::Block);
        if depths == [1, 1] || depths[0] != depths[1] && encoder.has_equal_rounds(at.of) {
            return self.ruled_out(&both, leaves_early(self.setting, both, shift));
        }
        let mut conditions = BTreeSet::new();
        for depth in 0..depths[0] {
            let differ = rounds_differ(self.setting, both, depth);
            conditions.extend(self.ruled_out(&both, differ)?);
        }
        (depths[0] == depths[1]).then_some(conditions)
    }

    /// The least number of iterations between two arrivals at one barrier, as far as is looked at.
    pub(super) fn period(&mut self, at: &Turned<'a>, conditions: &mut BTreeSet<Condition>) -> i64 {
        let mut period = 1;
        while period < MOST_PERIOD {
            let more_often = too_often(self.setting, at, period + 1);
            let Some(used) = self.ruled_out(&[at], more_often) else { break };
            conditions.extend(used);
            period += 1;
        }
        period
    }

    /// The conditions under which the answer to a question is no, although threads come to the arrivals.
    pub(super) fn ruled_out(
        &mut self,
        arrivals: &[&Turned<'a>],
        question: Encoded<Question<'a>>,
    ) -> Option<BTreeSet<Condition>> {
        let ways: Vec<_> = arrivals.iter().map(|at| at.way.as_slice()).collect();
        self.decide_reaching(&ways, "two loops hand over to each other", question)
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
        if relation == Relation::OtherBlock {
            return (ways, BTreeSet::new());
        }
        let mut gaps = Vec::new();
        let mut conditions = BTreeSet::new();
        for ring in &self.rings {
            let (Some(x), Some(y)) = (ring.loop_of(a), ring.loop_of(b)) else { continue };
            // Nobody knows when another access in flight takes place.
            let is_known = |place: &Place<'_>| place.access.op.passes() == 0 || ring.copy(place).is_some();
            if !is_known(a) || !is_known(b) {
                continue;
            }
            let most = |from, to| ring.distance(from, to).map(|least| least - 1);
            let (most, least) = (most((x, a), (y, b)), most((y, b), (x, a)).map(|most| -most));
            if most.is_some() || least.is_some() {
                gaps.push(Gap::Near(Near { of: [x, y], least, most }));
                conditions.extend(ring.of.conditions.iter().cloned());
            }
        }
        let near = |meeting: Meeting| {
            let gap = Gap::all(gaps.iter().cloned().chain([meeting.gap]));
            Meeting { gap, ..meeting }
        };
        (ways.into_iter().map(near).collect(), conditions)
    }
}

/// An arrival or a wait that stands in a loop. Only its condition ends the loop. If there are loops around it, all of
/// them ask their conditions before each iteration.
pub(super) fn turned<'a>(number: ExprId, way: &[Turn<'a>]) -> Option<Turned<'a>> {
    let loops: Vec<_> =
        way.iter().enumerate().filter_map(|(at, turn)| Some((at, turn.into_loop()?))).collect();
    let &(at, of) = loops.last()?;
    let is_plain = |of: &Loop| of.breaks.is_none() && (loops.len() == 1 || of.test == Test::Before);
    let (chosen, syncs) = (Vec::new(), Vec::new());
    let turned = Turned { number, of: of.id, way: way.to_vec(), inside: at + 1, chosen, syncs };
    loops.iter().all(|(_, of)| is_plain(of)).then_some(turned)
}

/// The order of two loops by their barriers. Barriers for which a thread might arrive again too early are left out.
fn ring<'a>(loops: [LoopId; 2], mut all: Vec<Handover<'a>>) -> Option<Ring<'a>> {
    loop {
        let mut ring = Ring { loops, of: Handover::default() };
        let first: Vec<_> = all.iter().map(|handover| ring.of.join(handover)).collect();
        let is_in_turn = |(handover, first): (&Handover<'a>, &[usize; 2])| {
            handover.in_turn.iter().all(|turn| ring.is_in_turn(turn, *first))
        };
        let stays: Vec<bool> = all.iter().zip(&first).map(is_in_turn).collect();
        if stays.iter().all(|stays| *stays) {
            return (!all.is_empty()).then_some(ring);
        }
        let mut stays = stays.into_iter();
        all.retain(|_| stays.next() == Some(true));
    }
}

impl<'a> Handover<'a> {
    /// The loops of its arrivals and waits, if they are two.
    fn loops(&self) -> Option<[LoopId; 2]> {
        let all: BTreeSet<_> = self.arrivals.iter().chain(&self.waits).map(|at| at.of).collect();
        Vec::from_iter(all).try_into().ok()
    }

    /// Adds another barrier. Returns the numbers of its first arrival and wait.
    fn join(&mut self, other: &Self) -> [usize; 2] {
        let first @ [arrivals, waits] = [self.arrivals.len(), self.waits.len()];
        self.arrivals.extend(other.arrivals.iter().cloned());
        self.waits.extend(other.waits.iter().cloned());
        self.before.extend(other.before.iter().map(|&Before { arrival, wait, shift }| Before {
            arrival: arrivals + arrival,
            wait: waits + wait,
            shift,
        }));
        self.copies.extend(other.copies.iter().map(|&(site, arrival)| (site, arrivals + arrival)));
        self.conditions.extend(other.conditions.iter().cloned());
        first
    }
}

impl Ring<'_> {
    /// True if an arrival comes so soon after a wait, if the first arrival and wait of its barrier have these numbers.
    fn is_in_turn(&self, turn: &InTurn, [arrivals, waits]: [usize; 2]) -> bool {
        let least = turn.wait.and_then(|wait| self.wait_to_arrival(waits + wait, arrivals + turn.arrival));
        least.is_some_and(|least| least <= turn.most)
    }

    /// The loop of the ring that an access is in.
    fn loop_of(&self, place: &Place<'_>) -> Option<LoopId> {
        self.loops.into_iter().find(|of| place.loops().any(|around| around.id == *of))
    }

    /// The arrival that tells when an asynchronous copy is done.
    fn copy(&self, place: &Place<'_>) -> Option<usize> {
        let (_, arrival) = self.of.copies.iter().find(|(site, _)| *site == place.access.site)?;
        let mut around = place.loops().map(|of| of.id);
        around.any(|of| of == self.of.arrivals[*arrival].of).then_some(*arrival)
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
        let copy = self.copy(a);
        let steps = |to: usize| match copy {
            // It may be done as late as that.
            Some(arrival) => (arrival == to).then_some(0),
            None => {
                let arrival = &self.of.arrivals[to];
                (arrival.of == x).then(|| to_arrival(&a.way, arrival)).flatten()
            }
        };
        let known = self.waits_after(steps);
        let ends = known.iter().enumerate().filter_map(|(at, least)| {
            let own = &self.of.waits[at];
            let last = (own.of == y).then(|| from_wait(own, &b.way)).flatten()?;
            Some((*least)? + last)
        });
        ends.min()
    }

    /// For each wait, the least number of iterations after which it comes, if `first` says this of arrivals.
    fn waits_after(&self, first: impl Fn(usize) -> Option<i64>) -> Vec<Option<i64>> {
        let mut known = vec![None; self.of.waits.len()];
        loop {
            let mut changed = false;
            for before in &self.of.before {
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

    /// The iterations from a wait to an arrival at another barrier that comes after it, in one loop.
    fn step(&self, wait: usize, arrival: usize) -> Option<i64> {
        let (from, to) = (&self.of.waits[wait], &self.of.arrivals[arrival]);
        (from.of == to.of).then(|| from_wait(from, &to.way)).flatten()
    }
}
