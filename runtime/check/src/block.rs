//! The checks that a running block makes.
//!
//! One worker runs a block and owns its [`Block`]. The worker calls it for
//! each access just before it happens, and for each synchronisation when it
//! takes effect. Blocks of one launch, or of concurrent ones, may run on
//! several workers at once: they meet in the shadow words, which change by
//! compare-and-swap, and in chains, which a worker takes by making the word busy.

mod access;
mod atomic;

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use gpurace_abi::scope::{Order, Scope};

use crate::benign::Benign;
use crate::chain::Chain;
use crate::checker::Inner;
use crate::common::Sites;
use crate::copies::{self, ThreadCopies};
use crate::deferred;
use crate::interval::Intervals;
use crate::launch::Launch;
use crate::line::Line;
use crate::order::{BlockOrder, Mode};
use crate::pool::Pool;
use crate::race::RaceRecord;
use crate::region::Ranges;
use crate::sighting::Sightings;

pub(crate) use access::{Access, Value};

/// A running block.
pub struct Block {
    pub(crate) inner: Arc<Inner>,
    pub(crate) state: State,
}

/// What changes while words are looked at.
pub(crate) struct State {
    pub(crate) launch: Arc<Launch>,
    pub(crate) index: u64,
    pub(crate) order: BlockOrder,
    /// Shared memory that only this block reaches: none in a launch with clusters.
    pub(crate) shared: Range<usize>,
    /// Shared memory of the blocks of its cluster, in a launch with clusters.
    pub(crate) peers: Vec<Range<usize>>,
    pub(crate) sightings: Sightings,
    pub(crate) exact: bool,
    /// Uids in words below this one are of launches before everything to come.
    pub(crate) settled: u64,
    /// Uids, in words, with which blocks of this launch begin.
    pub(crate) mine: Range<u64>,
    pub(crate) fences: bool,
    /// Its launch keeps logs of locations.
    logs: bool,
    /// It has logged operations on its shared memory.
    logged_shared: bool,
    /// No copy may be under way.
    pub(crate) no_copies: bool,
    pub(crate) sites: Sites,
    /// What repeats in its shared memory.
    pub(crate) intervals: Intervals,
    /// Shared memory of the block on which races are meant.
    pub(crate) benign: Benign,
    pub(crate) checks: u64,
    /// Locations on which this block released.
    published: HashSet<usize>,
    /// What read-modify-writes under way have read, where that was looked up before them.
    seen: Vec<atomic::Seen>,
    /// By thread, in kernels that have asynchronous copies.
    pub(crate) copies: Vec<ThreadCopies>,
    /// Chains without a word, to be used again.
    #[expect(clippy::vec_box, reason = "words hold their addresses")]
    pub(crate) pool: Vec<Box<Chain>>,
    /// Lines without a word, to be used again.
    pub(crate) lines: Pool<Line>,
    /// It stands for a block whose reads are looked at later than they were made.
    pub(crate) late: bool,
    /// Its reads without records.
    pub(crate) log: deferred::Own,
    /// Regions' records without a region, to be used again.
    pub(crate) ranges: Pool<Ranges>,
    /// Chains and lines that the process's count does not know of yet.
    pub(crate) more_chains: i64,
}

impl Block {
    /// Begins block `index` (linear) of a launch, with its shared memory.
    pub fn begin(launch: &Arc<Launch>, index: u64, shared: Range<usize>) -> Self {
        let uid = launch.data.first_uid + index;
        let mode = mode(launch);
        let (shared, peers) = of_one_or_all(launch, shared);
        Self {
            inner: launch.inner.clone(),
            state: State {
                order: BlockOrder::new(
                    mode,
                    launch.threads,
                    uid,
                    uid - launch.base,
                    launch.before.clone(),
                    cluster_of(launch, index),
                ),
                launch: launch.clone(),
                index,
                shared,
                peers,
                sightings: Sightings::default(),
                exact: mode == Mode::Exact,
                settled: launch.settled_in_words(),
                mine: launch.uids_in_words(),
                fences: launch.features.fences,
                logs: launch.features.observes,
                logged_shared: false,
                no_copies: launch.copies.is_empty(),
                sites: Sites::new(),
                intervals: Intervals::default(),
                benign: Benign::default(),
                checks: 0,
                published: HashSet::new(),
                seen: Vec::new(),
                copies: copies::of_threads(launch),
                pool: Vec::new(),
                lines: Pool::new(launch.inner.lines.clone()),
                late: false,
                log: deferred::Own::default(),
                ranges: Pool::new(launch.inner.ranges.clone()),
                more_chains: 0,
            },
        }
    }

    /// Ends this block and begins another in its place.
    pub fn restart(&mut self, launch: &Arc<Launch>, index: u64, shared: Range<usize>) {
        self.finish();
        let uid = launch.data.first_uid + index;
        let s = &mut self.state;
        let mode = mode(launch);
        if !Arc::ptr_eq(&self.inner, &launch.inner) {
            self.inner = launch.inner.clone();
            s.lines = Pool::new(launch.inner.lines.clone());
            s.ranges = Pool::new(launch.inner.ranges.clone());
        }
        s.order.restart(
            mode,
            launch.threads,
            uid,
            uid - launch.base,
            launch.before.clone(),
            cluster_of(launch, index),
        );
        if !Arc::ptr_eq(&s.launch, launch) {
            s.launch = launch.clone();
            s.sites = Sites::new();
            s.intervals.clear();
        }
        s.index = index;
        (s.shared, s.peers) = of_one_or_all(launch, shared);
        s.exact = mode == Mode::Exact;
        s.settled = launch.settled_in_words();
        s.mine = launch.uids_in_words();
        s.fences = launch.features.fences;
        s.logs = launch.features.observes;
        s.no_copies = launch.copies.is_empty();
        s.copies.clear();
        s.copies.extend(copies::of_threads(launch));
    }

    /// Ends the block.
    pub fn end(mut self) {
        self.finish();
    }

    fn finish(&mut self) {
        let s = &mut self.state;
        s.launch.checks.fetch_add(s.checks, Ordering::Relaxed);
        s.checks = 0;
        s.seen.clear();
        s.benign.clear();
        s.intervals.end(&s.shared);
        s.tell_chains(&self.inner);
        s.sightings.flush(&self.inner.races);
        if s.order.has_acquired() {
            s.launch.data.learnt.lock().join(&s.order.learnt());
        }
        for address in s.published.drain() {
            if s.shared.contains(&address) {
                // The next block's shared memory may lie there.
                self.inner.syncvars.overwrite(address, 1);
            } else {
                self.inner.syncvars.block_ended(s.order.home(), s.order.cluster(), address);
            }
        }
        if std::mem::take(&mut s.logged_shared) {
            self.inner.syncvars.forget(s.shared.start, s.shared.len());
        }
    }

    /// Races on `size` bytes are meant: none is found from here on, until the
    /// memory is freed, or for shared memory the block ends.
    pub fn benign(&mut self, address: usize, size: usize) {
        if self.state.shared.contains(&address) {
            self.state.benign.add(address, size);
        } else {
            self.inner.benign.write().add(address, size);
        }
    }

    /// A fence.
    pub fn fence(&mut self, thread: u32, scope: Scope, order: Order) {
        if !self.state.fences || !self.state.order.fence(thread, scope, order) {
            self.unforeseen();
        }
    }

    /// Threads wait at a barrier of their block. CUDA's own programs take that
    /// for an acquire: the last block of a reduction fences before its atomic, and
    /// has a barrier alone after it (CUDA C++ Programming Guide, "Memory Fence
    /// Functions"; cuda-samples, `threadFenceReduction`). PTX asks for a fence
    /// there too.
    pub fn acquire_at_barrier(&mut self, threads: impl IntoIterator<Item = u32>) {
        if self.state.fences {
            threads.into_iter().for_each(|thread| self.state.order.acquire(thread));
        }
    }

    /// All live threads of the block have arrived at barrier 0, and go on.
    pub fn barrier(&mut self) {
        let s = &mut self.state;
        s.intervals.end(&s.shared);
        let further = (s.order.max_clock() + 1 >= self.inner.limits.clock).then(|| {
            let uid = self.inner.further_uid(&s.launch.data, s.index);
            (uid, uid - s.launch.base)
        });
        s.order.barrier(further);
    }

    /// A thread arrives at a named barrier without waiting (`bar.arrive`).
    pub fn barrier_arrive(&mut self, thread: u32, barrier: u32) {
        if !self.state.order.arrive(thread, barrier) {
            self.unforeseen();
        }
    }

    /// A named barrier, or a barrier of a part of the block, completes: the
    /// threads in `waited` go on. Those that arrived without waiting have been
    /// told by [`Block::barrier_arrive`].
    pub fn named_barrier(&mut self, barrier: u32, waited: &[u32]) {
        if !self.state.order.named_barrier(barrier, waited) {
            self.unforeseen();
        }
    }

    /// The lanes of `mask` have synced (`__syncwarp(mask)`), and go on.
    /// Lanes that the block does not have are ignored.
    pub fn syncwarp(&mut self, warp: u32, mask: u32) {
        if !self.state.order.syncwarp(warp, mask) {
            self.unforeseen();
        }
    }

    /// A thread has ended: for barriers still to come it counts as arrived.
    pub fn thread_exit(&mut self, _thread: u32) {}

    /// Forgets all accesses to a range: this block has freed it, or newly allocated it.
    pub fn forget(&mut self, address: usize, size: usize) {
        self.inner.forget(address, size);
    }

    /// From now on keeps every sighting of a race, for [`Block::take_traced`]:
    /// so a test sees what each single access found.
    pub fn trace(&mut self) {
        self.state.sightings.trace();
    }

    /// The sightings since the last call, where [`Block::trace`] was called.
    pub fn take_traced(&mut self) -> Vec<RaceRecord> {
        self.state.sightings.take_traced()
    }

    /// Checks made since the block began.
    pub fn checks(&self) -> u64 {
        self.state.checks
    }

    #[cold]
    pub(crate) fn unforeseen(&self) {
        self.inner.unforeseen_sync.fetch_add(1, Ordering::Relaxed);
    }
}

/// A block's shared memory, as what it alone reaches or as what its cluster does.
fn of_one_or_all(launch: &Launch, shared: Range<usize>) -> (Range<usize>, Vec<Range<usize>>) {
    match launch.clusters {
        None => (shared, Vec::new()),
        Some(_) => (0..0, vec![shared]),
    }
}

/// What the cluster of a block is known by: the first uid of its first block.
fn cluster_of(launch: &Launch, index: u64) -> Option<u64> {
    let clusters = launch.clusters.as_ref()?;
    Some(launch.data.first_uid + clusters.first_of(index))
}

fn mode(launch: &Launch) -> Mode {
    let f = launch.features;
    let clusters = launch.clusters.is_some();
    if f.partial_masks || f.named_barriers || f.fences || f.async_copies || clusters {
        Mode::Exact
    } else {
        Mode::Regular
    }
}
