//! Warps whose lanes may part, in code that runs whole blocks.
//!
//! Such code runs the lanes of a warp from *point* to point. Where the lanes take different ways, each has
//! a point of its own. Before each segment the code calls `__gpurace_warp_step`, which says which lanes run
//! on and from which point.

use crate::context::WARP_SIZE;

const LANES: usize = WARP_SIZE as usize;

/// Where the lanes of a warp are.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct WarpLanes {
    /// The point that each lane has reached, or [`BLOCK_ENDED`](crate::batch::BLOCK_ENDED).
    pub points: [u32; LANES],
    /// The mask of lanes for which each lane waits, if it waits for lanes.
    pub masks: [u32; LANES],
    /// The lanes that each lane has met, itself included.
    pub groups: [u32; LANES],
    /// The lanes that have met, and have not run since.
    pub met: u32,
    /// 1 if lanes of the block wait for lanes that never come.
    pub stuck: u32,
}

/// A point, as the pass describes it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarpPoint {
    /// What a lane waits for there.
    pub waits: WaitsFor,
    /// The synchronisation there: an index into [`ModuleMeta::syncs`](crate::meta::ModuleMeta::syncs).
    pub sync: u32,
}

/// What a lane waits for at a point. Lanes meet if they wait for the same with the same mask.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// For nothing.
    Nothing = 0,
    /// For the whole block.
    Block = 1,
    /// For the lanes that reach this point as well, until no other lane of the warp can run.
    ActiveLanes = 2,
    /// For the lanes of its mask, in `bar.warp.sync`.
    Sync = 3,
    /// In `shfl.sync`.
    Shuffle = 4,
    /// In `vote.sync`.
    Vote = 5,
    /// In `match.sync`.
    Match = 6,
    /// In `redux.sync`.
    Reduce = 7,
}
