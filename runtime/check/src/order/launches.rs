//! The launches whose blocks records may name, and how they are ordered to each other.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};

use crate::model::race::KernelKey;
use crate::model::relation::Relation;
use crate::order::cluster::Clusters;
use crate::order::kernel_sites::KernelSites;
use crate::order::vector::Clocks;

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
    /// What its threads knew of other launches: those that began before it, and what blocks that
    /// have ended acquired. Later launches know it too. It does not tell of the launch's own blocks.
    pub(crate) learnt: Mutex<Clocks>,
}

impl LaunchData {
    /// True if its id is among these, the smallest first.
    pub(crate) fn is_among(&self, ids: &[u64]) -> bool {
        ids.binary_search(&self.id).is_ok()
    }
}

/// The launches of the process, and the uids of their blocks.
#[derive(Debug, Default)]
pub(crate) struct Launches {
    next_uid: AtomicU64,
    /// By first uid.
    all: RwLock<Vec<Arc<LaunchData>>>,
    /// Uids that blocks took while they ran.
    further: RwLock<HashMap<u64, (Arc<LaunchData>, u64)>>,
}

impl Launches {
    /// The uid that the next block gets.
    pub(crate) fn next_uid(&self) -> u64 {
        self.next_uid.load(Ordering::Relaxed)
    }

    /// Takes uids for the blocks of a launch, and returns the first.
    pub(crate) fn take_uids(&self, blocks: u64) -> u64 {
        self.next_uid.fetch_add(blocks, Ordering::Relaxed)
    }

    pub(crate) fn push(&self, launch: Arc<LaunchData>) {
        self.all.write().push(launch);
    }

    /// Forgets all launches: no record names them any more.
    pub(crate) fn clear(&self) {
        self.all.write().clear();
        self.further.write().clear();
    }

    /// A further uid for a running block.
    pub(crate) fn further_uid(&self, data: &Arc<LaunchData>, index: u64) -> u64 {
        let uid = self.take_uids(1);
        self.further.write().insert(uid, (data.clone(), index));
        uid
    }

    /// The launch of a uid, and the linear index of the block in it.
    pub(crate) fn of(&self, uid: u64) -> Option<(Arc<LaunchData>, u64)> {
        let launches = self.all.read();
        let i = launches.partition_point(|l| l.first_uid <= uid);
        if let Some(l) = i.checked_sub(1).map(|i| &launches[i])
            && uid - l.first_uid < l.blocks
        {
            return Some((l.clone(), uid - l.first_uid));
        }
        self.further.read().get(&uid).cloned()
    }
}

/// How a launch is ordered to all others.
pub(crate) struct LaunchOrder {
    pub(crate) launches: Arc<Launches>,
    pub(crate) data: Arc<LaunchData>,
    /// Records count uids from here.
    pub(crate) base: u64,
    /// Blocks with smaller uids happen before all launches from this one on.
    pub(crate) settled_uid: u64,
    /// Launches with smaller first uids are settled for it, and for all that ran when it began.
    pub(crate) settled_for_all: u64,
    /// The ids of earlier launches that do not happen before it.
    pub(crate) unordered: Vec<u64>,
    /// The launches that began before it and are not settled: their blocks' uids in ascending order. Neighbours that
    /// happen before it are one.
    pub(crate) earlier: Vec<Earlier>,
    pub(crate) clusters: Option<Clusters>,
}

/// How the launch of a block is ordered to another launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Before everything from this launch on.
    Settled,
    /// It is this launch.
    Mine,
    /// Before this launch.
    Before,
    /// Concurrent with this launch: its first uid.
    Concurrent(u64),
}

/// How some launches are ordered to a later one.
#[derive(Clone, Debug)]
pub(crate) struct Earlier {
    /// The uids with which their blocks begin.
    uids: Range<u64>,
    origin: Origin,
}

impl Earlier {
    /// Describes the launches among `all`, in the order in which they began, that are not settled for a later launch.
    pub(crate) fn list(all: &[Arc<LaunchData>], unordered: &[u64]) -> Vec<Self> {
        let mut list: Vec<Self> = Vec::new();
        for launch in all {
            let uids = launch.first_uid..launch.first_uid + launch.blocks;
            let concurrent = launch.is_among(unordered);
            let origin = if concurrent { Origin::Concurrent(launch.first_uid) } else { Origin::Before };
            match list.last_mut() {
                Some(last) if !concurrent && last.origin == origin && last.uids.end == uids.start => {
                    last.uids.end = uids.end;
                }
                _ => list.push(Self { uids, origin }),
            }
        }
        list
    }
}

impl LaunchOrder {
    /// The uid below which all blocks are settled, as records count uids.
    pub(crate) fn settled_in_records(&self) -> u64 {
        self.settled_uid.saturating_sub(self.base)
    }

    /// The smallest uid of this launch and of earlier ones that are concurrent with it, as records count uids.
    pub(crate) fn first_concurrent_in_records(&self) -> u64 {
        let concurrent = self.earlier.iter().find(|e| e.origin != Origin::Before);
        concurrent.map_or(self.data.first_uid, |e| e.uids.start) - self.base
    }

    /// How the block that began with this uid is ordered to this launch, if it is of an earlier launch that is not
    /// settled.
    pub(crate) fn earlier(&self, uid: u64) -> Option<Origin> {
        let i = self.earlier.partition_point(|e| e.uids.start <= uid).checked_sub(1)?;
        self.earlier[i].uids.contains(&uid).then_some(self.earlier[i].origin)
    }

    /// How the launch of the block with this uid is ordered to this launch.
    pub(crate) fn origin(&self, uid: u64) -> Origin {
        let first = self.data.first_uid;
        if uid < self.settled_uid {
            Origin::Settled
        } else if self.owns(uid) {
            Origin::Mine
        } else if let Some(origin) = self.earlier(uid) {
            origin
        } else {
            match self.launches.of(uid) {
                // Only launches before the last clear are unknown.
                None => Origin::Settled,
                Some((l, _)) if l.first_uid == first => Origin::Mine,
                // It began while this one was running.
                Some((l, _)) if l.first_uid > first => Origin::Concurrent(l.first_uid),
                Some((l, _)) if l.is_among(&self.unordered) => Origin::Concurrent(l.first_uid),
                Some(_) => Origin::Before,
            }
        }
    }

    /// True if a block of this launch began with this uid.
    #[inline]
    pub(crate) fn owns(&self, uid: u64) -> bool {
        let first = self.data.first_uid;
        uid >= first && uid - first < self.data.blocks
    }

    /// The uids with which its blocks begin, as records count uids.
    pub(crate) fn uids_in_records(&self) -> Range<u64> {
        let first = self.data.first_uid - self.base;
        first..first + self.data.blocks
    }

    /// The relation of two blocks of this launch: one with this uid, one with this index.
    pub(crate) fn relation(&self, uid: u64, index: u64) -> Relation {
        let Some(clusters) = &self.clusters else {
            return Relation::Grid;
        };
        match self.owner(uid) {
            Some((_, other)) if clusters.first_of(other) == clusters.first_of(index) => Relation::Cluster,
            _ => Relation::Grid,
        }
    }

    /// The launch of a uid that a record names, and the block's index in it.
    pub(crate) fn owner(&self, uid: u64) -> Option<(Arc<LaunchData>, u64)> {
        if self.owns(uid) {
            Some((self.data.clone(), uid - self.data.first_uid))
        } else {
            self.launches.of(uid)
        }
    }
}
