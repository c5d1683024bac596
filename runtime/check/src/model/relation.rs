//! The threads of a record, and how they stand to the thread of a new access.

/// The narrowest group that holds the later thread and the earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Relation {
    /// One thread.
    Itself,
    /// Threads of one warp.
    Warp,
    /// Threads of one block.
    Block,
    /// Blocks of one cluster.
    Cluster,
    /// Blocks of one launch.
    Grid,
    /// Different launches.
    Launch,
}

impl Relation {
    /// True if one block made both accesses.
    pub const fn in_block(self) -> bool {
        matches!(self, Relation::Itself | Relation::Warp | Relation::Block)
    }
}

/// How the accesses of a record are ordered to the new access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// At least one of them does not happen before it.
    Unsynced,
    /// All of them happen before it.
    Synced,
    /// One thread made all of them and the new access in one epoch: no access can be ordered after
    /// one of them and not after the other.
    SameEpoch,
    /// All of them happen before everything that can still come.
    Settled,
}

/// How many threads made the accesses of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Span {
    /// One thread. *Represents* its accesses in one epoch; *allows* that thread, and whoever is
    /// ordered after the epoch; *rejects* others that conflict.
    Thread = 0,
    /// At least two lanes of one warp, between two syncs of the warp. *Allows* the warp after its
    /// next sync, the block after its next barrier.
    Warp = 1,
    /// At least two warps of one block, between two of its barriers. *Allows* the block after its
    /// next barrier; *rejects* every conflicting access before.
    Block = 2,
    /// At least two blocks of one launch. *Allows* only what is ordered after the launch.
    Grid = 3,
}

impl Span {
    pub(crate) const ALL: [Span; 4] = [Span::Thread, Span::Warp, Span::Block, Span::Grid];
}

/// How a record stands to a new access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) relation: Relation,
    pub(crate) status: Status,
    /// The lanes of the record that happen before the access or are its own thread.
    pub(crate) ordered: u32,
    /// One launch made the record and the access.
    pub(crate) mine: bool,
}

impl Standing {
    /// The standing of a record that is settled.
    pub(crate) const fn settled(mine: bool) -> Self {
        Self { relation: Relation::Grid, status: Status::Settled, ordered: !0, mine }
    }

    /// A standing that is the same for all lanes.
    pub(crate) fn of_all(relation: Relation, status: Status, mine: bool) -> Self {
        Self { relation, status, ordered: if matches!(status, Status::Unsynced) { 0 } else { !0 }, mine }
    }
}
