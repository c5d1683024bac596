//! Named barriers, `bar.sync id, n`, whose order proofs use.
//!
//! # The rule
//! All threads that ever arrive at a barrier with one number are in one set of `n` threads, and none arrives without
//! waiting. So each phase needs every thread of the set, and the barrier is for the set what `__syncthreads` is for the
//! block. Threads of a set that make these syncs in different orders wait for ever.
//!
//! Two syncs may name one barrier if the solver finds threads whose numbers are equal there. Such syncs are judged
//! together. The sets are tried: they begin at thread 0, or at a constant of the kernel.

use std::collections::BTreeSet;

use gpurace_protocol::condition::Condition;
use gpurace_protocol::expr::{Expr, ExprId};
use gpurace_protocol::named::WarpSets;
use gpurace_protocol::place::{Turn, syncs};
use gpurace_protocol::protocol::{Named, Sync};
use gpurace_protocol::uniform::uniform_value;

use super::Prover;
use crate::pair::named::{NUMBERS, at_one_barrier, unnumbered};

/// The most arrivals of a kernel that are compared with each other.
const MOST_ARRIVALS: usize = 24;
/// The most first threads of sets that are tried.
const MOST_FIRST: usize = 8;

/// An arrival, and the way to it.
pub(super) type Arrival<'a> = (Named, Vec<Turn<'a>>);

impl<'a> Prover<'a> {
    /// Finds the named barriers whose order proofs use. Returns all arrivals, in groups that have no barrier in common:
    /// two loops of a set of warps may also hand over to each other.
    pub(super) fn find_named_syncs(&mut self) -> Vec<Vec<Arrival<'a>>> {
        let made: Vec<Arrival<'a>> = syncs(self.setting.protocol)
            .into_iter()
            .filter_map(|(sync, way)| match sync {
                Sync::Named(named) => Some((named, way)),
                _ => None,
            })
            .collect();
        // What is not seen may arrive at any barrier.
        let more = self.unknowns.iter().any(|unknown| unknown.syncs);
        if made.is_empty() || made.len() > MOST_ARRIVALS || more {
            return Vec::new();
        }
        let mut conditions = BTreeSet::new();
        for arrival in &made {
            match self.are_numbers_of_named(arrival) {
                Some(used) => conditions.extend(used),
                None => return Vec::new(),
            }
        }
        let groups = self.by_barrier(&made, &mut conditions);
        for of in &groups {
            let found = self.sets_of(of, &mut conditions);
            for (sync, _) in of {
                self.part_syncs.named.insert(*sync, found);
            }
        }
        self.part_syncs.named_conditions = conditions;
        groups
    }

    /// The conditions under which no arrival is at the barrier of the block.
    fn are_numbers_of_named(&mut self, (sync, way): &Arrival<'a>) -> Option<BTreeSet<Condition>> {
        if let Some(number) = self.constant(sync.id) {
            return NUMBERS.contains(&number).then(BTreeSet::new);
        }
        let other = unnumbered(self.setting, (*sync, way));
        self.decide_reaching(&[way], "its number is that of a named barrier", other)
    }

    /// The arrivals, in groups that have no barrier in common. Adds the conditions under which they have none.
    fn by_barrier(
        &mut self,
        made: &[Arrival<'a>],
        conditions: &mut BTreeSet<Condition>,
    ) -> Vec<Vec<Arrival<'a>>> {
        let mut groups: Vec<Vec<Arrival<'a>>> = Vec::new();
        for arrival in made {
            let (same, other): (Vec<_>, Vec<_>) = std::mem::take(&mut groups)
                .into_iter()
                .partition(|group| group.iter().any(|of| self.may_be_one_barrier(of, arrival, conditions)));
            groups = other;
            let mut joined: Vec<_> = same.into_iter().flatten().collect();
            joined.push(arrival.clone());
            groups.push(joined);
        }
        groups
    }

    /// True if two arrivals may be at one barrier. Else adds the conditions under which they are not.
    fn may_be_one_barrier(
        &mut self,
        a: &Arrival<'a>,
        b: &Arrival<'a>,
        conditions: &mut BTreeSet<Condition>,
    ) -> bool {
        if let (Some(x), Some(y)) = (self.constant(a.0.id), self.constant(b.0.id)) {
            return x == y;
        }
        if a.0 == b.0 {
            return true;
        }
        let both = [(a.0, a.1.as_slice()), (b.0, b.1.as_slice())];
        let ways = both.map(|(_, way)| way);
        let one = at_one_barrier(self.setting, both, None);
        match self.decide_reaching(&ways, "two arrivals at one barrier", one) {
            Some(used) => {
                conditions.extend(used);
                false
            }
            None => true,
        }
    }

    /// The sets of threads that wait for each other at a barrier. Adds the conditions under which they do.
    fn sets_of(&mut self, of: &[Arrival<'a>], conditions: &mut BTreeSet<Condition>) -> Option<WarpSets> {
        let threads = self.constant(of[0].0.threads)?;
        let is_alike = |(sync, _): &Arrival<'_>| sync.waits && self.constant(sync.threads) == Some(threads);
        if !of.iter().all(is_alike) {
            return None;
        }
        if threads == 0 {
            return Some(WarpSets::BLOCK);
        }
        let size = u32::try_from(threads).ok()?;
        let sets: Vec<_> =
            self.first_threads().into_iter().filter_map(|at| WarpSets::new(at, size)).collect();
        sets.into_iter().find(|sets| match self.arrive_in_sets(of, *sets) {
            Some(used) => {
                conditions.extend(used);
                true
            }
            None => false,
        })
    }

    /// The conditions under which all threads that arrive at one barrier are in one set.
    fn arrive_in_sets(&mut self, of: &[Arrival<'a>], sets: WarpSets) -> Option<BTreeSet<Condition>> {
        let mut conditions = BTreeSet::new();
        for (at, a) in of.iter().enumerate() {
            for b in &of[at..] {
                let both = [(a.0, a.1.as_slice()), (b.0, b.1.as_slice())];
                let ways = both.map(|(_, way)| way);
                let apart = at_one_barrier(self.setting, both, Some(sets));
                conditions.extend(self.decide_reaching(&ways, "a set of warps waits", apart)?);
            }
        }
        Some(conditions)
    }

    /// The threads with which sets may begin.
    pub(super) fn first_threads(&self) -> Vec<u32> {
        let constants = self.setting.protocol.exprs.iter().filter_map(|(_, node)| match node {
            Expr::Const { bits, .. } => {
                u32::try_from(bits).ok().filter(|bits| *bits < 1024 && bits % 32 == 0)
            }
            _ => None,
        });
        let all: BTreeSet<u32> = constants.chain([0]).collect();
        all.into_iter().take(MOST_FIRST).collect()
    }

    /// The value of an expression that all threads share, if it is known.
    pub(super) fn constant(&self, id: ExprId) -> Option<u64> {
        match (self.setting.exprs.get(id), self.setting.launch) {
            (Expr::Const { bits, .. }, _) => Some(bits),
            (_, Some(launch)) => uniform_value(self.setting.exprs, launch, id),
            (_, None) => None,
        }
    }
}
