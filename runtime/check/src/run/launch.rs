//! Running launches.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gpurace_abi::meta::SyncFeatures;

use crate::batch::deferred::DeferringLaunch;
pub use crate::batch::sites::ProvedSites;
use crate::model::race::KernelKey;
use crate::order::block_order::Mode;
use crate::order::cluster::Clusters;
use crate::order::launches::LaunchOrder;
use crate::order::vector::Clocks;
use crate::run::checker::Inner;
use crate::run::transfer::UnsettledTransfer;
use crate::shadow::page::Marks;

/// What the checker must know of a launch.
#[derive(Clone, Copy, Debug)]
pub struct LaunchInfo {
    /// Unique in the process; later launches have larger ids.
    pub id: u64,
    /// The kernel.
    pub kernel: KernelKey,
    /// Number, in the process, of the module's site 0.
    pub site_base: u32,
    /// What synchronisation the kernel can reach.
    pub features: SyncFeatures,
    /// Threads of a block.
    pub threads_per_block: u32,
    /// Blocks.
    pub blocks: u64,
    /// How the blocks form clusters, if clusters have several blocks or threads may reach other
    /// blocks' shared memory.
    pub clusters: Option<Clusters>,
    /// The stream, as the caller numbers them.
    pub stream: u64,
    /// Launches with ids up to this one happen before every launch still to come: `id - 1` if there
    /// is only one stream. It never goes down.
    pub settled: u64,
}

impl LaunchInfo {
    /// A launch of blocks without clusters, by a kernel that does not synchronise. It is on stream 0,
    /// and no launch is settled.
    pub fn new(id: u64, kernel: KernelKey, blocks: u64, threads_per_block: u32) -> Self {
        Self {
            id,
            kernel,
            site_base: 0,
            features: SyncFeatures::default(),
            threads_per_block,
            blocks,
            clusters: None,
            stream: 0,
            settled: 0,
        }
    }
}

/// Size of the word of a grid's barrier, bytes.
const GRID_BARRIER_BYTES: u32 = 4;

/// The statistics of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchStats {
    /// Checks that ran.
    pub checks_executed: u64,
}

/// A running launch.
pub struct Launch {
    pub(crate) inner: Arc<Inner>,
    /// How it is ordered to other launches.
    pub(crate) order: Arc<LaunchOrder>,
    pub(crate) kernel: KernelKey,
    pub(crate) features: SyncFeatures,
    pub(crate) threads: u32,
    pub(crate) marks: Marks,
    /// Its reads may be deferred.
    pub(crate) defers: bool,
    /// Transfers that are concurrent with it.
    pub(crate) transfers: Vec<Arc<UnsettledTransfer>>,
    /// What its threads know from their start: the earlier unsettled launches, and what those have
    /// learnt. Releases pass this on to threads of concurrent launches.
    pub(crate) before: Clocks,
    /// Sites that are not checked.
    pub(crate) proved: ProvedSites,
    pub(crate) checks: AtomicU64,
}

impl Launch {
    /// Checks so far. Blocks tell of theirs at barriers and at their end.
    pub fn checks_so_far(&self) -> u64 {
        self.checks.load(Ordering::Relaxed)
    }

    /// Says where the barrier of the grid has its word, before the first block begins, and how many blocks are checked.
    /// They are ordered by phases of the barrier, not by which arrivals a block happens to see.
    pub fn begin_grid_barrier(&self, address: usize, blocks: u64) {
        self.inner.syncvars.begin_grid_barrier((address, GRID_BARRIER_BYTES), blocks);
    }

    /// Ends the life of the grid's barrier, after the last block.
    pub fn end_grid_barrier(&self, address: usize) {
        self.inner.syncvars.end_grid_barrier((address, GRID_BARRIER_BYTES));
    }

    /// The kinds of synchronisation that order its threads.
    pub(crate) fn mode(&self) -> Mode {
        let f = self.features;
        let clusters = self.order.clusters.is_some();
        if f.partial_masks || f.named_barriers || f.fences || clusters {
            Mode::Exact
        } else if f.async_copies {
            Mode::Copies
        } else {
            Mode::Regular
        }
    }
}

impl DeferringLaunch for Launch {
    fn order(&self) -> &LaunchOrder {
        &self.order
    }

    fn threads(&self) -> usize {
        self.threads as usize
    }
}
