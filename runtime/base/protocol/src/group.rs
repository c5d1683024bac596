//! Groups of threads, and the barriers that order them.

use crate::lanes::{KnownMasks, LaneSets};
use crate::named::{KnownNamed, WarpSets};
use crate::protocol::{Sync, Uniform};

/// A group that contains two threads. It determines the barriers that order them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Group {
    /// Two threads of one warp whose lanes are in one of these sets. Syncs that name at least the set
    /// order them, and so do block and grid barriers.
    Lanes(LaneSets),
    /// Two threads of a block that are in one of these sets of warps. Named barriers of at least the set order them,
    /// and so do block and grid barriers.
    Warps(WarpSets),
    /// Two threads of one block: block and grid barriers order them.
    Block,
    /// Two threads of the launch: grid barriers order them.
    Grid,
}

impl Group {
    /// Two threads of one warp.
    pub const WARP: Self = Self::Lanes(LaneSets::WHOLE);

    /// Returns the uniformity of control that lets the group pass barriers together.
    pub fn uniform(self) -> Uniform {
        match self {
            Self::Lanes(_) => Uniform::Warp,
            Self::Warps(_) | Self::Block => Uniform::Block,
            Self::Grid => Uniform::Grid,
        }
    }
}

/// The barriers that order two threads of a group.
#[derive(Clone, Copy, Debug)]
pub struct Barriers<'a> {
    /// The group.
    pub group: Group,
    /// The masks of syncs of some lanes whose sets are known. Other such syncs order nothing.
    pub masks: &'a KnownMasks,
    /// What is known of named barriers.
    pub named: &'a KnownNamed,
}

impl Barriers<'_> {
    /// True if barriers of this kind are among them.
    pub fn hold(self, sync: Sync) -> bool {
        match (self.group, sync) {
            (_, Sync::Grid) => true,
            (Group::Grid, _) => false,
            (_, Sync::Block) => true,
            (group, Sync::Named(sync)) => self.named.sets(sync).is_some_and(|sets| match group {
                Group::Warps(warps) => warps.within(sets),
                Group::Block => sets == WarpSets::BLOCK,
                // A set has whole warps.
                Group::Lanes(_) => true,
                Group::Grid => false,
            }),
            (Group::Block | Group::Warps(_), _) | (_, Sync::Phase(_)) => false,
            (Group::Lanes(_), Sync::Warp) => true,
            (Group::Lanes(lanes), Sync::Lanes(mask)) => {
                self.masks.get(&mask).is_some_and(|sets| lanes.within(*sets))
            }
        }
    }

    /// True if threads of the group must pass barriers of this kind together, so that they pass those
    /// that order them together. Lanes wait for each other with equal masks, wherever they do. So a sync
    /// of some lanes counts too if it has a mask of a sync that orders the group, in some lane.
    pub fn count(self, sync: Sync) -> bool {
        let shared = |mask| {
            let (Group::Lanes(lanes), Some(own)) = (self.group, self.masks.get(mask)) else { return false };
            self.masks.values().any(|sets| lanes.within(*sets) && own.share_a_set(*sets))
        };
        self.hold(sync) || matches!(sync, Sync::Lanes(mask) if shared(&mask))
    }
}
