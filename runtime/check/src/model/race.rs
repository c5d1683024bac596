//! What a report says of one race.

use gpurace_abi::scope::Scope;
use serde::{Deserialize, Serialize};

use crate::model::access::Op;

/// A kernel, by a number of the caller's choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct KernelKey(pub u32);

impl KernelKey {
    /// The kernel of a launch that runs none: a copy or a fill.
    pub const NONE: Self = Self(u32::MAX);
}

/// What a side of a race did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SideOp {
    /// A plain read.
    Read,
    /// A plain write.
    Write,
    /// An atomic or volatile load.
    AtomicLoad,
    /// An atomic or volatile store, or a read-modify-write.
    AtomicWrite,
}

impl SideOp {
    /// What an access that leaves a record does.
    pub const fn of(op: Op) -> Self {
        match op {
            Op::Read => Self::Read,
            Op::Write => Self::Write,
            Op::Atomic { modifies: false, .. } => Self::AtomicLoad,
            Op::Atomic { modifies: true, .. } => Self::AtomicWrite,
        }
    }

    /// True if it changes memory.
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::AtomicWrite)
    }
}

/// A kind of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Space {
    /// A block's shared memory.
    Shared,
    /// Everything else: global memory, device variables, managed memory.
    Global,
}

/// The narrowest group of threads that holds both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum RaceScope {
    /// One warp.
    Warp,
    /// One block.
    Block,
    /// One cluster.
    Cluster,
    /// One launch.
    Grid,
    /// Different launches on one device.
    Device,
    /// A launch and the host.
    System,
}

/// One of the two accesses of a race. What is not known is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Side {
    /// What it did.
    pub op: SideOp,
    /// Its instruction: `site_base` of its launch plus the module's index.
    pub site: u32,
    /// Bytes; `None` for an earlier plain access: its instruction tells.
    pub size: Option<u32>,
    /// First byte.
    pub address: Option<usize>,
    /// Id of its launch.
    pub launch: u64,
    /// Stream of its launch.
    pub stream: u64,
    /// Linear index of its block in the launch.
    pub block: Option<u64>,
    /// Linear index of its thread in the block.
    pub thread: Option<u32>,
    /// Scope of an atomic or volatile access.
    pub scope: Option<Scope>,
}

impl Side {
    /// An access of which only this is known: neither its place, nor its launch, nor its thread.
    pub(crate) const fn unplaced(op: Op, site: u32) -> Self {
        Self {
            op: SideOp::of(op),
            site,
            size: None,
            address: None,
            launch: 0,
            stream: 0,
            block: None,
            thread: None,
            scope: op.scope(),
        }
    }
}

/// A data race.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RaceRecord {
    /// Kernel of the later access, or of the earlier one if the later one is a transfer's.
    pub kernel: KernelKey,
    /// Launch of the later access.
    pub launch: u64,
    /// The access that was seen first.
    pub earlier: Side,
    /// The access that found the race.
    pub later: Side,
    /// First byte that both cover.
    pub address: usize,
    /// The memory that it is in.
    pub space: Space,
    /// First byte of the shared memory of the later access's block.
    pub shared_base: usize,
    /// The narrowest group that holds both threads.
    pub scope: RaceScope,
    /// The same for all threads that were seen to race on this pair of sites.
    pub widest: RaceScope,
    /// True if both sides wrote equal values each time that the race was seen; `None` if one side
    /// does not write or a value is not known.
    pub same_value: Option<bool>,
    /// Number of accesses that found it.
    pub count: u64,
    /// The seed of the trial that found it, if one did.
    pub seed: Option<u64>,
}

impl RaceRecord {
    /// Its identity: its kernel, the smaller and the larger site.
    pub(crate) fn key(&self) -> (KernelKey, u32, u32) {
        let (a, b) = (self.earlier.site, self.later.site);
        (self.kernel, a.min(b), a.max(b))
    }
}
