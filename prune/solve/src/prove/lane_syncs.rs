//! Syncs of some lanes, `__syncwarp(mask)`, whose order proofs use.
//!
//! # The rule
//! A sync orders two threads of a warp if it names both in one set, and both make it in the same order
//! with the other barriers that order them. So a sync of whole warps is the special case that names all
//! lanes, and the rule of barrier intervals ([`gpurace_protocol::interval`]) serves for both.
//!
//! The sets of a mask are known if a table of its values shows them ([`gpurace_protocol::lanes`]). A sync
//! counts only if these are shown for all threads of the launch:
//!
//! - What the kernel takes for the lane is the lane. `threadIdx.x` is, modulo 32, in blocks with one
//!   dimension or with rows of whole warps.
//! - No thread makes a sync that does not name it. CUDA leaves the effect undefined.
//!
//! A mask that is not known orders nothing in proofs. As it may order something in fact, there is no
//! witness of a race beside it.

use std::collections::{BTreeMap, BTreeSet};

use gpurace_protocol::condition::Condition;
use gpurace_protocol::expr::ExprId;
use gpurace_protocol::interval::{Barriers, Group};
use gpurace_protocol::lanes::{self, KnownMasks, LaneSets};
use gpurace_protocol::place::syncs;
use gpurace_protocol::protocol::Sync;

use super::Prover;
use crate::pair::{no_lane, unnamed};

/// The most sets of lanes that proofs tell apart. Further ones order nothing.
const MOST_SETS: usize = 4;

/// The syncs of some lanes of a kernel.
#[derive(Clone, Debug, Default)]
pub(super) struct LaneSyncs {
    /// The masks that count.
    masks: KnownMasks,
    /// For each mask, the conditions under which it counts.
    conditions: BTreeMap<ExprId, BTreeSet<Condition>>,
    /// The sets of the masks, those with few lanes first.
    sets: Vec<LaneSets>,
    /// True if there may be order that no set shows.
    more_order: bool,
}

impl LaneSyncs {
    /// The barriers that order two threads of a group.
    pub(super) fn barriers(&self, group: Group) -> Barriers<'_> {
        Barriers { group, masks: &self.masks }
    }

    /// The conditions under which the masks that order a group count.
    pub(super) fn conditions(&self, group: Group) -> BTreeSet<Condition> {
        let orders = |mask: &ExprId| self.barriers(group).hold(Sync::Lanes(*mask));
        self.conditions.iter().filter(|(mask, _)| orders(mask)).flat_map(|(_, all)| all.clone()).collect()
    }

    /// The sets that some mask names, those with few lanes first.
    pub(super) fn sets(&self) -> &[LaneSets] {
        &self.sets
    }

    /// True if lanes may be in an order that proofs do not use.
    pub(super) fn may_order_more(&self) -> bool {
        self.more_order
    }
}

impl Prover<'_> {
    /// Finds the syncs of some lanes whose order proofs use.
    pub(super) fn find_lane_syncs(&mut self) {
        let protocol = self.setting.protocol;
        let mut found = LaneSyncs::default();
        for mask in lanes::masks(&protocol.body) {
            match self.known_sets(mask) {
                Some((sets, conditions)) if found.sets.contains(&sets) || found.sets.len() < MOST_SETS => {
                    found.masks.insert(mask, sets);
                    found.conditions.insert(mask, conditions);
                    if !found.sets.contains(&sets) {
                        found.sets.push(sets);
                    }
                }
                _ => found.more_order = true,
            }
        }
        found.sets.sort_by_key(|sets| (sets.size(), *sets));
        // One lane may pass on what it has learnt from lanes of one set to lanes of another.
        let all = &found.sets;
        found.more_order |= all.iter().any(|a| all.iter().any(|b| !a.nested(*b)));
        self.named = found;
    }

    /// The sets that a mask names, and the conditions for that.
    fn known_sets(&mut self, mask: ExprId) -> Option<(LaneSets, BTreeSet<Condition>)> {
        let setting = self.setting;
        let known = lanes::sets_of(setting.exprs, setting.launch, mask)?;
        let mut conditions = BTreeSet::new();
        for lane in known.lanes {
            let built = no_lane(setting, lane, &self.candidates).ok()?;
            conditions.extend(self.decide("it counts the lanes", &built).ok()?);
        }
        if !known.sets.names_all() {
            let made = syncs(setting.protocol);
            for (_, way) in made.iter().filter(|(sync, _)| *sync == Sync::Lanes(mask)) {
                let built = unnamed(setting, way, known.sets, &self.candidates).ok()?;
                conditions.extend(self.decide("the mask names the thread", &built).ok()?);
            }
        }
        Some((known.sets, conditions))
    }
}
