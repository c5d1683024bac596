//! Launches, and where they stand to each other.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use gpurace_abi::meta::SyncFeatures;
use parking_lot::Mutex;

use crate::checker::Inner;
use crate::cluster::Clusters;
use crate::kernel_sites::KernelSites;
use crate::page::Marks;
use crate::state::Relation;
use crate::transfer::Copied;
use crate::vector::Clocks;

/// A kernel, by a number of the caller's choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KernelKey(pub u32);

impl KernelKey {
    /// Of a launch that is no kernel: a copy, a fill.
    pub const NONE: Self = Self(u32::MAX);
}

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
    /// How the blocks form clusters, where threads may reach other blocks' shared memory
    /// or clusters have several blocks.
    pub clusters: Option<Clusters>,
    /// The stream, as the caller numbers them.
    pub stream: u64,
    /// Launches with ids up to this one happen before every launch still to
    /// come. `id - 1` where there is but one stream. Never goes down.
    pub settled: u64,
}

/// The module's sites whose accesses need no check in a launch: nothing that
/// they do in it can race.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProvedSites(Vec<u64>);

impl ProvedSites {
    /// Adds a site.
    pub fn insert(&mut self, site: u32) {
        let at = site as usize / 64;
        if at >= self.0.len() {
            self.0.resize(at + 1, 0);
        }
        self.0[at] |= 1 << (site % 64);
    }

    /// Whether the site is one of them.
    #[inline]
    pub fn contains(&self, site: u32) -> bool {
        self.0.get(site as usize / 64).is_some_and(|word| word >> (site % 64) & 1 == 1)
    }
}

/// What a launch came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchStats {
    /// Checks that ran.
    pub checks_executed: u64,
}

/// What stays known of a launch while the shadow may name its blocks.
#[derive(Debug)]
pub(crate) struct LaunchData {
    pub(crate) id: u64,
    pub(crate) kernel: KernelKey,
    pub(crate) first_uid: u64,
    pub(crate) blocks: u64,
    pub(crate) site_base: u32,
    pub(crate) stream: u64,
    pub(crate) sites: Arc<KernelSites>,
    /// What its threads knew of other launches: those that began before it,
    /// and what blocks that have ended acquired. Later launches know it too.
    pub(crate) learnt: Mutex<Clocks>,
}

/// A running launch.
pub struct Launch {
    pub(crate) inner: Arc<Inner>,
    pub(crate) data: Arc<LaunchData>,
    pub(crate) kernel: KernelKey,
    pub(crate) features: SyncFeatures,
    pub(crate) threads: u32,
    pub(crate) clusters: Option<Clusters>,
    /// Uids in words are counted from here.
    pub(crate) base: u64,
    /// Blocks with smaller uids happen before all launches from this one on.
    pub(crate) settled_uid: u64,
    /// Launches with smaller first uids are settled for all that run beside it, too.
    pub(crate) unsettled: u64,
    pub(crate) marks: Marks,
    /// Its reads may be looked at later.
    pub(crate) defers: bool,
    pub(crate) unordered: Vec<u64>,
    /// Copies that are concurrent with it.
    pub(crate) copies: Vec<Arc<Copied>>,
    /// What its threads know from their start, where some launch is concurrent
    /// with others: by a release elsewhere it reaches threads of those.
    pub(crate) before: Clocks,
    /// Accesses that are not checked.
    pub(crate) proved: ProvedSites,
    pub(crate) checks: AtomicU64,
}

/// Where a block stands to a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Before everything from this launch on.
    Settled,
    /// In this launch.
    Mine,
    /// In a launch that happens before this one.
    Before,
    /// In a launch that is concurrent with this one: its first uid.
    Concurrent(u64),
}

impl Launch {
    /// Uids in words below this one are settled.
    pub(crate) fn settled_in_words(&self) -> u64 {
        self.settled_uid.saturating_sub(self.base)
    }

    /// The smallest uid of a launch that is concurrent with this one, as words
    /// hold it.
    pub(crate) fn first_concurrent_in_words(&self) -> u64 {
        let launches = self.inner.launches.read();
        let concurrent = launches.iter().rev();
        let first = concurrent
            .take_while(|l| l.first_uid >= self.settled_uid)
            .filter(|l| self.unordered.contains(&l.id))
            .map(|l| l.first_uid)
            .min();
        first.unwrap_or(self.data.first_uid) - self.base
    }

    /// Where the block with this uid stands to this launch.
    pub(crate) fn origin(&self, uid: u64) -> Origin {
        let first = self.data.first_uid;
        if uid < self.settled_uid {
            Origin::Settled
        } else if uid >= first && uid - first < self.data.blocks {
            Origin::Mine
        } else {
            match self.inner.launch_of(uid) {
                // Only a launch before the last clear is not known any more.
                None => Origin::Settled,
                Some((l, _)) if l.first_uid == first => Origin::Mine,
                // It began while this one was running.
                Some((l, _)) if l.first_uid > first => Origin::Concurrent(l.first_uid),
                Some((l, _)) if self.unordered.contains(&l.id) => Origin::Concurrent(l.first_uid),
                Some(_) => Origin::Before,
            }
        }
    }

    /// Whether a uid is that with which a block of this launch began.
    #[inline]
    pub(crate) fn owns(&self, uid: u64) -> bool {
        let first = self.data.first_uid;
        uid >= first && uid - first < self.data.blocks
    }

    /// The uids with which its blocks begin, as words hold them.
    pub(crate) fn uids_in_words(&self) -> Range<u64> {
        let first = self.data.first_uid - self.base;
        first..first + self.data.blocks
    }

    /// How the blocks of this launch with this uid and this index are related.
    pub(crate) fn relation(&self, uid: u64, index: u64) -> Relation {
        let Some(clusters) = &self.clusters else {
            return Relation::Grid;
        };
        match self.owner(uid) {
            Some((_, other)) if clusters.first_of(other) == clusters.first_of(index) => Relation::Cluster,
            _ => Relation::Grid,
        }
    }

    /// The launch and block index of a uid that a word names.
    pub(crate) fn owner(&self, uid: u64) -> Option<(Arc<LaunchData>, u64)> {
        if self.owns(uid) {
            Some((self.data.clone(), uid - self.data.first_uid))
        } else {
            self.inner.launch_of(uid)
        }
    }
}
