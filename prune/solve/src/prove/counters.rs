//! The counters whose tickets proofs take for distinct: what other accesses write to them.

use std::collections::BTreeSet;
use std::rc::Rc;

use gpurace_protocol::expr::LoopId;
use gpurace_protocol::protocol::Op;

use super::Prover;
use crate::alias::{Alias, alias};
use crate::counted::Counted;
use crate::tickets::{Counter, Counters};

impl Prover<'_> {
    /// Keeps those counters that other writes leave alone, or only change where barriers order them with all
    /// additions. No proof uses tickets so far, so these proofs do not rest on each other.
    pub(super) fn find_counters(&mut self, candidates: Vec<Counter>) {
        let kept = candidates.into_iter().filter_map(|counter| self.beside_other_writes(counter));
        self.counters = Rc::new(Counters { all: kept.collect() });
    }

    /// True if tickets have the ranges that were supposed. The conditions for that become conditions of all proofs.
    pub(super) fn are_counted(&mut self, counted: &[Counted]) -> bool {
        let counters = Rc::clone(&self.counters);
        counted.iter().all(|of| {
            let counter = counters.all.iter().find(|counter| counter.object == of.object);
            let counter = counter.filter(|counter| counter.starts_anew_in == of.loops);
            self.steady.extend(counter.into_iter().flat_map(|counter| counter.conditions.clone()));
            counter.is_some()
        })
    }

    /// Returns the counter with the conditions under which other writes leave it alone, or only start it anew.
    fn beside_other_writes(&mut self, mut counter: Counter) -> Option<Counter> {
        let handed = self.setting.handed.get().map_or(&[][..], Vec::as_slice);
        for value in &counter.rests_on {
            counter.conditions.extend(handed.iter().find(|told| told.value == *value)?.conditions.clone());
        }
        if self.unseen_touching(counter.object).is_some() {
            return None;
        }
        let additions: BTreeSet<usize> = counter.additions.iter().map(|(_, of)| of.number).collect();
        for write in 0..self.places.len() {
            let access = self.places[write].access;
            if !access.op.writes() || additions.contains(&write) {
                continue;
            }
            match alias(self.setting, counter.object, access.object) {
                Alias::Never => {}
                Alias::Unless(condition) => {
                    counter.conditions.insert(condition);
                }
                // An atomic write needs no order to be free of races.
                Alias::Same(0) if access.op == Op::Write => {
                    counter.starts_anew_in.extend(self.loops_with_all(write, &additions)?);
                    for &addition in &additions {
                        let ordered = self.same_object(write, addition, 0).ok()?;
                        counter.conditions.extend(ordered);
                    }
                }
                Alias::Same(_) | Alias::OnePointer(_) | Alias::Within(_) | Alias::Unknown(_) => return None,
            }
        }
        Some(counter)
    }

    /// Returns the loops around a write that are also around the additions. `None` if these are not the same
    /// for all additions, or if the write stands between two additions.
    fn loops_with_all(&self, write: usize, additions: &BTreeSet<usize>) -> Option<BTreeSet<LoopId>> {
        if additions.first() < Some(&write) && Some(&write) < additions.last() {
            return None;
        }
        let loops = |number: usize| self.places[number].loops().map(|of| of.id).collect::<BTreeSet<_>>();
        let around = loops(write);
        let mut common = additions.iter().map(|addition| &around & &loops(*addition));
        let first = common.next()?;
        common.all(|other| other == first).then_some(first)
    }
}
