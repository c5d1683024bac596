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
//! - It is below 1024, as the index of a thread in a block is: the table ends there.
//! - No thread makes a sync that does not name it. CUDA leaves the effect undefined.
//!
//! Lanes wait for each other with equal masks, wherever in the program they do. So a sync counts only if
//! the threads also make all others together that may have its mask. Beside a mask that is not known,
//! proofs use no order within warps. As the mask may order something in fact, there is no witness of a
//! race either.

use std::collections::BTreeSet;

use gpurace_protocol::condition::Condition;
use gpurace_protocol::expr::ExprId;
use gpurace_protocol::group::{Barriers, Group};
use gpurace_protocol::lanes::{self, KnownMasks, LaneSets};
use gpurace_protocol::named::KnownNamed;
use gpurace_protocol::place::syncs;
use gpurace_protocol::protocol::Sync;

use super::Prover;
use crate::pair::lanes::{no_lane, unnamed};

/// The most kinds of sets that proofs tell apart. The syncs of further ones order nothing.
const MOST_SETS: usize = 4;

/// The syncs of some lanes of a kernel, and its named barriers.
#[derive(Clone, Debug, Default)]
pub(super) struct PartSyncs {
    /// The masks that count.
    masks: KnownMasks,
    /// The conditions under which they do.
    conditions: BTreeSet<Condition>,
    /// The sets of the masks, those with few lanes first.
    sets: Vec<LaneSets>,
    /// True if there may be order that no set shows.
    more_order: bool,
    /// What is known of the named barriers.
    pub(super) named: KnownNamed,
    /// The conditions for that.
    pub(super) named_conditions: BTreeSet<Condition>,
}

impl PartSyncs {
    /// The barriers that order two threads of a group.
    pub(super) fn barriers(&self, group: Group) -> Barriers<'_> {
        Barriers { group, masks: &self.masks, named: &self.named }
    }

    /// The conditions under which the masks and the named barriers are known.
    pub(super) fn conditions(&self, group: Group) -> BTreeSet<Condition> {
        match group {
            // A mask that turns out to be another one could be that of any sync.
            Group::Lanes(_) => self.conditions.union(&self.named_conditions).cloned().collect(),
            Group::Warps(_) | Group::Block => self.named_conditions.clone(),
            Group::Grid => BTreeSet::new(),
        }
    }

    /// The sets that some mask names, those with few lanes first.
    pub(super) fn sets(&self) -> &[LaneSets] {
        &self.sets
    }

    /// True if lanes may be in an order that proofs do not use.
    pub(super) fn may_order_more(&self) -> bool {
        self.more_order || self.named != KnownNamed::default()
    }
}

impl Prover<'_> {
    /// Finds the syncs of some lanes whose order proofs use.
    pub(super) fn find_lane_syncs(&mut self) {
        let protocol = self.setting.protocol;
        let mut found = PartSyncs::default();
        for mask in lanes::masks(&protocol.body) {
            let Some((sets, conditions)) = self.known_sets(mask) else {
                found.more_order = true;
                continue;
            };
            found.masks.insert(mask, sets);
            found.conditions.extend(conditions);
            if !found.sets.contains(&sets) {
                found.sets.push(sets);
            }
        }
        found.sets.sort_by_key(|sets| (sets.size(), *sets));
        found.more_order |= found.sets.len() > MOST_SETS;
        found.sets.truncate(MOST_SETS);
        // One lane may pass on what it has learnt from lanes of one set to lanes of another.
        let all = &found.sets;
        found.more_order |= all.iter().any(|a| all.iter().any(|b| !a.nested(*b)));
        self.part_syncs = found;
    }

    /// The sets that a mask names, and the conditions for that.
    fn known_sets(&mut self, mask: ExprId) -> Option<(LaneSets, BTreeSet<Condition>)> {
        let setting = self.setting;
        let known = lanes::sets_of(setting.exprs, setting.launch, mask)?;
        let mut conditions = BTreeSet::new();
        if let Some(lane) = known.lane {
            conditions.extend(self.refuted("it counts the lanes", no_lane(setting, lane))?);
        }
        if !known.sets.names_all() {
            let made = syncs(setting.protocol);
            for (_, way) in made.iter().filter(|(sync, _)| *sync == Sync::Lanes(mask)) {
                let other = unnamed(setting, way, known.sets);
                conditions.extend(self.refuted("the mask names the thread", other)?);
            }
        }
        Some((known.sets, conditions))
    }
}
