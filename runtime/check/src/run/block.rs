//! A running block: its accesses and its synchronisation.
//!
//! One worker runs a block and owns its [`Block`]. The worker calls it for each access just before
//! it happens, and for each synchronisation when it takes effect. Blocks of one launch, or of
//! concurrent launches, may run on several workers at once. They meet in the shadow words, which
//! change by compare-and-swap, and in chains, which a worker takes by making the word busy.

mod access;
mod atomic;
mod batches;
mod cluster;
mod copies;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use gpurace_abi::scope::{Order, Scope};

use crate::batch::Value;
use crate::batch::deferred::OwnLog;
use crate::batch::interval::Intervals;
use crate::batch::sites::{SiteCache, SiteEntry};
use crate::model::race::RaceRecord;
use crate::order::copies::ThreadCopies;
use crate::order::launches::LaunchOrder;
use crate::order::view::BlockView;
use crate::run::benign::Benign;
use crate::run::checker::Inner;
use crate::run::launch::Launch;
use crate::run::sighting::{RaceReporter, Sightings};
use crate::shadow::process::BlockShadow;

use atomic::BlockAtomics;

pub(crate) use batches::record_reads;

/// The number of checks that the launch is told of together. A long run shows how many there were.
const CHECKS_UNTOLD: u64 = 1 << 14;

/// A running block.
pub struct Block {
    pub(crate) inner: Arc<Inner>,
    pub(crate) launch: Arc<Launch>,
    pub(crate) view: BlockView,
    pub(crate) memory: BlockMemory,
    pub(crate) shadow: BlockShadow,
    sites: SiteCache,
    sync: BlockAtomics,
    /// The asynchronous copies of each thread; empty if the kernel has none.
    copies: Vec<ThreadCopies>,
    /// The intervals of its shared memory.
    intervals: Intervals,
    /// The deferred reads of its worker.
    log: OwnLog<Launch>,
    pub(crate) sightings: Sightings,
    /// Bytes of its shared memory on which races are intended.
    benign: Benign,
    checks: u64,
    /// Those of the checks that the launch has been told of.
    told: u64,
}

/// The shared memory that a block reaches.
#[derive(Debug, Default)]
pub(crate) struct BlockMemory {
    /// Memory that only this block reaches: none in a launch with clusters.
    pub(crate) own: Range<usize>,
    /// In a launch with clusters, the shared memory of each block of the cluster.
    pub(crate) cluster: Vec<Range<usize>>,
}

impl BlockMemory {
    /// The shared memory of one block that holds an address.
    pub(crate) fn holding(&self, address: usize) -> Option<&Range<usize>> {
        let mut all = std::iter::once(&self.own).chain(&self.cluster);
        all.find(|shared| shared.contains(&address))
    }
}

impl Block {
    /// Begins block `index` (linear) of a launch, with its shared memory.
    pub fn begin(launch: &Arc<Launch>, index: u64, shared: Range<usize>) -> Self {
        let mut block = Self {
            inner: launch.inner.clone(),
            launch: launch.clone(),
            view: BlockView::new(launch.order.clone()),
            memory: BlockMemory::default(),
            shadow: BlockShadow::new(&launch.inner.shadow),
            sites: SiteCache::new(),
            sync: BlockAtomics::default(),
            copies: Vec::new(),
            intervals: Intervals::default(),
            log: OwnLog::default(),
            sightings: Sightings::default(),
            benign: Benign::default(),
            checks: 0,
            told: 0,
        };
        block.start(index, shared);
        block
    }

    /// Ends this block and begins another in its place.
    pub fn restart(&mut self, launch: &Arc<Launch>, index: u64, shared: Range<usize>) {
        self.finish();
        if !Arc::ptr_eq(&self.inner, &launch.inner) {
            self.inner = launch.inner.clone();
            self.shadow = BlockShadow::new(&self.inner.shadow);
        }
        if !Arc::ptr_eq(&self.launch, launch) {
            self.launch = launch.clone();
            self.view.launch = launch.order.clone();
            self.sites = SiteCache::new();
            self.sightings.forget();
            self.intervals.clear();
        }
        self.start(index, shared);
    }

    /// Begins a block of its launch.
    fn start(&mut self, index: u64, shared: Range<usize>) {
        let (launch, mode) = (&self.launch, self.launch.mode());
        let LaunchOrder { data, base, clusters, .. } = &*launch.order;
        let uid = data.first_uid + index;
        // The first uid of its first block names a cluster.
        let cluster = clusters.as_ref().map(|clusters| data.first_uid + clusters.first_of(index));
        let before = launch.before.clone();
        self.view.order.restart(mode, launch.threads, uid, uid - base, before, cluster);
        if !launch.features.narrow_order && cluster.is_none() {
            self.view.order.orders_widely();
        }
        self.view.restart(index, launch.features.async_copies, !launch.transfers.is_empty());
        self.memory = match clusters {
            None => BlockMemory { own: shared, cluster: Vec::new() },
            Some(_) => BlockMemory { own: 0..0, cluster: vec![shared] },
        };
        self.sync.restart(launch.features);
        self.copies.clear();
        let copying = if launch.features.async_copies { launch.threads } else { 0 };
        self.copies.resize_with(copying as usize, ThreadCopies::default);
    }

    /// Ends the block.
    pub fn end(mut self) {
        self.finish();
    }

    fn finish(&mut self) {
        self.tell_checks();
        (self.checks, self.told) = (0, 0);
        self.benign.clear();
        self.intervals.end(&self.memory.own);
        self.shadow.add_counts(&self.inner.shadow);
        self.sightings.flush(&self.inner.races);
        let order = &self.view.order;
        if order.has_acquired() {
            // Whoever is after the launch is after its blocks, too.
            let data = &self.launch.order.data;
            let learnt = order.learnt(&(data.first_uid..data.first_uid + data.blocks));
            data.learnt.lock().join(&learnt);
        }
        self.sync.end(&self.inner.syncvars, order, &self.memory.own);
    }

    /// Marks `size` bytes as ones on which races are intended. No race is found on them from here on,
    /// until the memory is freed or, for shared memory, the block ends.
    pub fn benign(&mut self, address: usize, size: usize) {
        if self.memory.own.contains(&address) {
            self.benign.add(address, size);
        } else {
            self.inner.benign.change().add(address, size);
        }
    }

    /// Notes a fence of a thread.
    pub fn fence(&mut self, thread: u32, scope: Scope, order: Order) {
        let is_known = self.sync.fences && !self.view.order.is_unforeseen(scope);
        if !self.view.order.fence(thread, scope, order) || !is_known {
            self.unforeseen();
        }
    }

    /// Lets threads acquire at a barrier of their block, as CUDA's own programs rely on: the last
    /// block of a reduction has a fence before its atomic, but only a barrier after it (CUDA C++
    /// Programming Guide, "Memory Fence Functions"; cuda-samples, `threadFenceReduction`). PTX also
    /// requires a fence there.
    pub fn acquire_at_barrier(&mut self, threads: impl IntoIterator<Item = u32>) {
        if self.sync.fences {
            threads.into_iter().for_each(|thread| self.view.order.acquire(thread));
        }
    }

    /// Adds the checks to those of the launch.
    fn tell_checks(&mut self) {
        self.launch.checks.fetch_add(self.checks.saturating_sub(self.told), Ordering::Relaxed);
        self.told = self.checks;
    }

    /// Completes barrier 0: all live threads of the block have arrived.
    pub fn barrier(&mut self) {
        if self.checks.saturating_sub(self.told) >= CHECKS_UNTOLD {
            self.tell_checks();
        }
        self.intervals.end(&self.memory.own);
        let BlockView { order, launch, index, .. } = &mut self.view;
        let further = (order.max_clock() + 1 >= self.inner.limits.clock).then(|| {
            let uid = launch.launches.further_uid(&launch.data, *index);
            (uid, uid - launch.base)
        });
        order.barrier(further);
    }

    /// Lets a thread arrive at a named barrier without waiting (`bar.arrive`).
    pub fn barrier_arrive(&mut self, thread: u32, barrier: u32) {
        if !self.view.order.arrive(thread, barrier) {
            self.unforeseen();
        }
    }

    /// Completes a named barrier, or a barrier of a part of the block, at which the threads in
    /// `waited` waited. [`Block::barrier_arrive`] came before for threads that did not wait.
    pub fn named_barrier(&mut self, barrier: u32, waited: &[u32]) {
        if !self.view.order.named_barrier(barrier, waited) {
            self.unforeseen();
        }
    }

    /// Orders the lanes of `mask`, which have synced (`__syncwarp(mask)`). Lanes that the block does
    /// not have are ignored.
    pub fn syncwarp(&mut self, warp: u32, mask: u32) {
        if !self.view.order.syncwarp(warp, mask) {
            self.unforeseen();
        }
    }

    /// Forgets all accesses to a range: this block has freed it, or newly allocated it.
    pub fn forget(&mut self, address: usize, size: usize) {
        self.inner.forget(&(address..address.saturating_add(size)));
    }

    /// Keeps every further sighting of a race for [`Block::take_traced`], so that a test sees what
    /// each single access found.
    pub fn trace(&mut self) {
        self.sightings.trace();
    }

    /// The sightings since the last call, if [`Block::trace`] was called.
    pub fn take_traced(&mut self) -> Vec<RaceRecord> {
        self.sightings.take_traced()
    }

    /// Checks made since the block began.
    pub fn checks(&self) -> u64 {
        self.checks
    }

    /// Counts synchronisation that the launch's features did not announce.
    #[cold]
    pub(crate) fn unforeseen(&self) {
        self.inner.unforeseen_sync.fetch_add(1, Ordering::Relaxed);
    }

    /// The entry of an instruction.
    #[inline(always)]
    fn entry(&mut self, site: u32) -> SiteEntry {
        self.sites.get(site, &self.launch.proved, &self.launch.order.data.sites)
    }

    /// Reports the races of an access that leaves this value.
    #[inline(always)]
    pub(crate) fn reporter<'a>(
        &'a mut self,
        value: Value<'a>,
    ) -> (RaceReporter<'a>, &'a mut BlockShadow, &'a Inner) {
        let Self { inner, launch, view, memory, shadow, sightings, benign, .. } = self;
        (RaceReporter { launch, view, memory, benign, sightings, value }, shadow, inner)
    }
}
