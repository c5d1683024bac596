//! Accesses that stay within the memory of their object, and arrays that share no byte because of that.
//!
//! # The rule
//! Two arrays lie apart. So they share a byte only if an access leaves one of them. Where no access to either does so
//! under some conditions, these stand for the condition that both are disjoint. A launch tests that one by ranges,
//! which know less: `tile[step - t + 1][t + 1]` stays within the tile since `t <= step`.
//!
//! That an access stays within its array may rest on values that threads hand to each other through memory. Such a
//! value is what it seems only if no access of another array reaches it. So the condition stays where the proof of
//! such a value needs it.

use std::collections::{BTreeMap, BTreeSet};

use gpurace_protocol::bounds::Bounds;
use gpurace_protocol::condition::Condition;
use gpurace_protocol::interval::{Gap, Meeting};
use gpurace_protocol::protocol::{ObjectId, Uniform};

use super::Prover;
use crate::pair::beyond;
use crate::values::assignments;

impl Prover<'_> {
    /// The conditions under which an access stays within its object's memory: none in the launch for which the proof
    /// is. `None` if it may leave it.
    pub(super) fn stays_within(&mut self, i: usize) -> Option<BTreeSet<Condition>> {
        if let Some(known) = self.within.get(&i) {
            return known.clone();
        }
        let found = self.find_within(i);
        self.within.insert(i, found.clone());
        found
    }

    /// What [`Self::stays_within`] returns, when it is first asked.
    fn find_within(&mut self, i: usize) -> Option<BTreeSet<Condition>> {
        let mut conditions = BTreeSet::new();
        let place = &self.places[i];
        let named = match Bounds::of(self.setting.protocol, self.setting.launch, place.access.object)? {
            Bounds::Known { named, .. } => named,
            Bounds::Kept(_) => return Some(conditions),
            Bounds::Addresses => return None,
        };
        let same = place.loops().map(|of| of.id).collect();
        let alone = Meeting { same, later: None, gap: Gap::Always };
        let mut each = assignments(self.setting, (place, place), &alone, Uniform::Thread);
        if each.is_empty() {
            each.push(Vec::new());
        }
        for fixed in each {
            let leaves = beyond(self.setting, &self.places[i], named, &fixed);
            conditions.extend(self.refuted("the access leaves its memory", leaves)?);
        }
        let holds = match self.setting.launch {
            Some(_) => conditions.is_empty(),
            None => self.not_vacuous(i, &conditions),
        };
        holds.then_some(conditions)
    }

    /// Puts conditions under which all accesses to two objects stay within them in the place of the condition that
    /// these are disjoint.
    pub(super) fn settle_disjoint(&mut self) {
        let handed = self.setting.handed.get().into_iter().flatten().flat_map(|handed| &handed.conditions);
        let counted = self.counters.all.iter().flat_map(|counter| &counter.conditions);
        let rests: BTreeSet<_> = self.steady.iter().chain(handed).chain(counted).cloned().collect();
        let of_sites = self.sites.values().flat_map(|found| &found.conditions);
        let wanted: BTreeSet<_> = of_sites
            .filter_map(|condition| match condition {
                Condition::Disjoint(a, b) if !rests.contains(condition) => Some((*a, *b)),
                _ => None,
            })
            .collect();
        let mut of_objects = BTreeMap::new();
        for (a, b) in wanted {
            let mut all = [a, b].into_iter().map(|object| {
                let known = of_objects.entry(object).or_insert_with(|| self.stay_within(object));
                known.clone()
            });
            let (Some(Some(within_a)), Some(Some(within_b))) = (all.next(), all.next()) else { continue };
            let disjoint = Condition::Disjoint(a, b);
            for found in self.sites.values_mut().filter(|found| found.conditions.contains(&disjoint)) {
                found.conditions.remove(&disjoint);
                found.conditions.extend(within_a.iter().chain(&within_b).chain(&self.steady).cloned());
            }
        }
    }

    /// The conditions under which all accesses to an object stay within its memory.
    fn stay_within(&mut self, object: ObjectId) -> Option<BTreeSet<Condition>> {
        Bounds::of(self.setting.protocol, self.setting.launch, object)?;
        let mut conditions = BTreeSet::new();
        for i in 0..self.places.len() {
            if self.places[i].access.object != object {
                continue;
            }
            if self.asker.out_of_time() {
                return None;
            }
            conditions.extend(self.stays_within(i)?);
        }
        Some(conditions)
    }
}
