//! The checks that a running block makes.
//!
//! One worker runs a block and owns its [`Block`]. The worker calls it for
//! each access just before it happens, and for each synchronisation when it
//! takes effect. Blocks of one launch, or of concurrent ones, may run on
//! several workers at once: they meet in the shadow words, which change by
//! compare-and-swap, and in chains, which a worker takes by making the word busy.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use gpurace_abi::scope::{AtomicKind, Order, Scope};

use crate::benign::Benign;
use crate::chain::Chain;
use crate::common::Sites;
use crate::copies::{self, ThreadCopies};
use crate::deferred;
use crate::interval::Intervals;
use crate::launch::{Inner, Launch};
use crate::line::Line;
use crate::observed::{Logged, Place};
use crate::order::{BlockOrder, Mode};
use crate::pool::Pool;
use crate::race::RaceRecord;
use crate::region::Ranges;
use crate::rows::Item;
use crate::sighting::Sightings;
use crate::syncvar::{Carried, Location};
use crate::word::{self, FULL, GRANULE, Op, Touch};

/// Set in the addresses of annotations of order, so that no location of the
/// program has one of them.
const HAPPENS: usize = 1 << 62;

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
    /// What the read-modify-write under way has read, where that was looked up before it.
    seen: Option<Carried>,
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

/// What is known of the bytes that an access writes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    /// Nothing, or it writes none.
    Unknown,
    /// They are these, and memory still holds what was there before.
    Bytes(u64),
    /// They are there already, as a row says.
    Item(Item<'a>),
}

/// One access to one word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access<'a> {
    pub(crate) thread: u32,
    pub(crate) touch: Touch,
    /// The module's index of the instruction.
    pub(crate) site: u32,
    /// Address of the word.
    pub(crate) word: usize,
    /// The whole access.
    pub(crate) address: usize,
    pub(crate) size: u64,
    /// What a write is about to leave.
    pub(crate) value: Value<'a>,
    /// Where an asynchronous copy of the thread makes the access: the epoch of its copies.
    pub(crate) copy: Option<u32>,
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
                seen: None,
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
                self.inner.syncvars.overwrite(address, 1, None);
            } else {
                self.inner.syncvars.block_ended(s.order.home(), s.order.cluster(), address);
            }
        }
        if std::mem::take(&mut s.logged_shared) {
            self.inner.syncvars.forget(s.shared.start, s.shared.len());
        }
    }

    /// A plain read of `size` bytes by thread `thread` (linear).
    #[inline]
    pub fn read(&mut self, thread: u32, address: usize, size: u32, site: u32) {
        self.plain(thread, address, size, site, Op::Read, Value::Unknown);
    }

    /// A plain write of `size` bytes; `value` holds the bytes about to be
    /// written, zero-extended, where they are known and at most 8.
    #[inline]
    pub fn write(&mut self, thread: u32, address: usize, size: u32, site: u32, value: Option<u64>) {
        // What a location released is gone, whether the write is checked or not.
        self.inner.syncvars.overwrite(address, size as usize, None);
        self.plain(thread, address, size, site, Op::Write, value.map_or(Value::Unknown, Value::Bytes));
    }

    /// A plain access of a few bytes.
    #[inline(always)]
    fn plain(&mut self, thread: u32, address: usize, size: u32, site: u32, op: Op, value: Value<'_>) {
        let s = &mut self.state;
        let entry = s.sites.get(site, &s.launch.proved, &s.launch.data.sites);
        if Sites::is_proved(entry) {
            return;
        }
        s.checks += 1;
        self.of_a_few_bytes(thread, address, size, site, entry, op, value);
    }

    /// A plain access of a few bytes by an instruction that is checked.
    #[expect(clippy::too_many_arguments, reason = "what an access is")]
    #[inline(always)]
    pub(crate) fn of_a_few_bytes(&mut self, thread: u32, address: usize, size: u32, site: u32, entry: u64, op: Op, value: Value<'_>) {
        if size == 4 && address % GRANULE == 0 {
            return self.one_word(thread, address, site, entry, op, value);
        }
        self.whole_words(thread, address, size, site, entry, op, value);
    }

    /// Whether memory is shared memory of the block alone. It is about to be accessed.
    #[inline(always)]
    pub(crate) fn is_shared(&mut self, address: usize) -> bool {
        let shared = self.state.shared.contains(&address);
        if shared && self.state.intervals.matters() {
            self.otherwise();
        }
        shared
    }

    /// An access to a whole word alone.
    #[inline(always)]
    fn one_word(&mut self, thread: u32, address: usize, site: u32, entry: u64, op: Op, value: Value<'_>) {
        let Some(code) = word::op_code(Touch { op, mask: FULL }) else {
            return self.words(thread, address, 4, site, op, value, None);
        };
        let shared = self.is_shared(address);
        let Some(place) = self.inner.shadow.place(address) else { return };
        if op != Op::Read && !shared {
            self.state.before_write(&self.inner, place, address);
        }
        let w = self.state.opened_word(&self.inner, place, shared);
        if !self.state.common(place.word, w, thread, entry, code, shared) {
            self.whole_word(thread, address, address, 4, site, op, value, w);
        }
    }

    /// A plain access of a few bytes, where it is not to one word.
    #[expect(clippy::too_many_arguments, reason = "what an access is")]
    fn whole_words(&mut self, thread: u32, address: usize, size: u32, site: u32, entry: u64, op: Op, value: Value<'_>) {
        if (address | size as usize) % GRANULE != 0 {
            return self.words(thread, address, size.into(), site, op, value, None);
        }
        // Its words count once.
        self.state.sightings.next_access();
        let code = if op == Op::Write { word::WRITE } else { word::READ };
        let shared = self.is_shared(address);
        for word in (address..address.saturating_add(size as usize)).step_by(GRANULE) {
            let Some(place) = self.inner.shadow.place(word) else { continue };
            if op != Op::Read && !shared {
                self.state.before_write(&self.inner, place, word);
            }
            let w = self.state.opened_word(&self.inner, place, shared);
            if !self.state.common(place.word, w, thread, entry, code, shared) {
                self.whole_word(thread, word, address, size, site, op, value, w);
            }
        }
    }

    /// A whole word of an access, in which `w` was seen.
    #[expect(clippy::too_many_arguments, reason = "what an access is")]
    #[inline(never)]
    fn whole_word(
        &mut self,
        thread: u32,
        word: usize,
        address: usize,
        size: u32,
        site: u32,
        op: Op,
        value: Value<'_>,
        w: u64,
    ) {
        let Some(place) = self.inner.shadow.place(word) else { return };
        let touch = Touch { op, mask: FULL };
        let access = Access { thread, touch, site, word, address, size: size.into(), value, copy: None };
        self.state.word(&self.inner, place.word, w, &access);
    }

    /// A plain read of any length.
    pub fn read_range(&mut self, thread: u32, address: usize, size: u64, site: u32) {
        if self.state.launch.proved.contains(site) {
            return;
        }
        self.state.checks += 1;
        self.words(thread, address, size, site, Op::Read, Value::Unknown, None);
    }

    /// A plain write of any length.
    pub fn write_range(&mut self, thread: u32, address: usize, size: u64, site: u32) {
        self.inner.syncvars.overwrite(address, size as usize, None);
        if self.state.launch.proved.contains(site) {
            return;
        }
        self.state.checks += 1;
        self.words(thread, address, size, site, Op::Write, Value::Unknown, None);
    }

    /// An atomic or volatile access, before it happens: what it releases is
    /// published. Nothing else of the block may run before [`Block::atomic_done`].
    #[expect(
        clippy::too_many_arguments,
        reason = "the arguments of the entry point"
    )]
    pub fn atomic(
        &mut self,
        thread: u32,
        address: usize,
        size: u32,
        site: u32,
        kind: AtomicKind,
        scope: Scope,
        order: Order,
    ) {
        let (modifies, volatile) = match kind {
            AtomicKind::Load => (false, false),
            AtomicKind::Store | AtomicKind::Rmw | AtomicKind::Reduction => (true, false),
            AtomicKind::VolatileLoad => (false, true),
            AtomicKind::VolatileStore => (true, true),
        };
        // A volatile access carries order as an atomic one does, and races as a plain one.
        let op = match (volatile, modifies) {
            (true, false) => Op::Read,
            (true, true) => Op::Write,
            (false, _) => Op::Atomic {
                modifies,
                scope,
                start: 0,
                size: size as u8,
            },
        };
        // A proved access keeps its effect on order.
        let s = &mut self.state;
        let entry = s.sites.get(site, &s.launch.proved, &s.launch.data.sites);
        if !Sites::is_proved(entry) {
            s.checks += 1;
            if size == 4 && address % GRANULE == 0 {
                self.one_word(thread, address, site, entry, op, Value::Unknown);
            } else {
                self.words(thread, address, size.into(), site, op, Value::Unknown, None);
            }
        }
        if self.orders_nothing(order) {
            return;
        }
        let raced = (!volatile).then_some(site);
        self.announce(thread, (address, size), raced, kind, scope, order);
    }

    /// As [`Block::atomic`] for an access that is not to be checked: only what
    /// it orders counts.
    pub fn atomic_unchecked(
        &mut self,
        thread: u32,
        address: usize,
        size: u32,
        kind: AtomicKind,
        scope: Scope,
        order: Order,
    ) {
        self.announce(thread, (address, size), None, kind, scope, order);
    }

    /// Whether an atomic access neither makes an order nor changes or passes on what another launch's has made.
    #[inline(always)]
    fn orders_nothing(&self, order: Order) -> bool {
        let s = &self.state;
        !s.fences && !s.logs && order == Order::Relaxed && self.inner.syncvars.is_empty()
    }

    /// What an atomic access that is about to happen does to others' order. `site`: that of
    /// one that races as an atomic.
    fn announce(
        &mut self,
        thread: u32,
        location: Location,
        site: Option<u32>,
        kind: AtomicKind,
        scope: Scope,
        order: Order,
    ) {
        let modifies = !matches!(kind, AtomicKind::Load | AtomicKind::VolatileLoad);
        let s = &mut self.state;
        if !s.fences && order != Order::Relaxed {
            self.inner.unforeseen_sync.fetch_add(1, Ordering::Relaxed);
        }
        // Where this launch orders nothing itself, it may still overwrite, or
        // pass on, what a concurrent one released.
        if !s.fences && !s.logs && self.inner.syncvars.is_empty() {
            return;
        }
        if kind == AtomicKind::Rmw && !s.copies.is_empty() && s.shared_of(location.0).is_some() {
            // What tells of its copies is more than the thread knows itself, and it
            // does not read it back. Nobody else changes the block's memory, or that of
            // its cluster, meanwhile: one worker runs them all.
            let head = s.order.head(thread, scope);
            s.seen = Some(self.inner.syncvars.read(location, head, None));
        }
        if modifies {
            // Before what it releases ends its epoch.
            let log = s.logged(thread, location, site, scope, true);
            let what = s.order.publish(thread, location, scope, order);
            let head = s.order.head(thread, scope);
            let rmw = matches!(kind, AtomicKind::Rmw | AtomicKind::Reduction);
            self.inner.syncvars.write(location, head, &what, rmw, log);
            if !what.block.is_empty() {
                s.published.insert(location.0);
            }
        }
    }

    /// The access of the last [`Block::atomic`] has happened: what it
    /// acquires is learnt.
    #[expect(
        clippy::too_many_arguments,
        reason = "the arguments of the entry point"
    )]
    pub fn atomic_done(
        &mut self,
        thread: u32,
        address: usize,
        size: u32,
        site: u32,
        kind: AtomicKind,
        scope: Scope,
        order: Order,
    ) {
        let s = &mut self.state;
        if !s.fences && !s.logs && self.inner.syncvars.is_empty() {
            return;
        }
        let (reads, writes) = match kind {
            AtomicKind::Load | AtomicKind::VolatileLoad => (true, false),
            AtomicKind::Store | AtomicKind::VolatileStore | AtomicKind::Reduction => (false, true),
            AtomicKind::Rmw => (true, true),
        };
        if reads {
            let head = s.order.head(thread, scope);
            let seen = match s.seen.take() {
                Some(seen) => seen,
                None => {
                    let raced = (kind == AtomicKind::Load).then_some(site);
                    let log = match writes {
                        true => None,
                        false => s.logged(thread, (address, size), raced, scope, false),
                    };
                    self.inner.syncvars.read((address, size), head, log)
                }
            };
            s.order.observe(thread, (address, size), scope, order, seen);
        }
        if writes {
            self.inner.syncvars.written((address, size), s.order.uid(), thread);
        }
    }

    /// The program says that what this thread has done is before what comes
    /// after a [`Block::happens_after`] with the same address.
    pub fn happens_before(&mut self, thread: u32, address: usize) {
        let (address, kind, order) = (address | HAPPENS, AtomicKind::Rmw, Order::Release);
        self.atomic_unchecked(thread, address, 1, kind, Scope::Device, order);
        self.atomic_done(thread, address, 1, 0, kind, Scope::Device, order);
    }

    /// See [`Block::happens_before`].
    pub fn happens_after(&mut self, thread: u32, address: usize) {
        let (address, kind, order) = (address | HAPPENS, AtomicKind::Load, Order::Acquire);
        self.atomic_done(thread, address, 1, 0, kind, Scope::Device, order);
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
            threads
                .into_iter()
                .for_each(|thread| self.state.order.acquire(thread));
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

    /// Checks each word that an access covers.
    #[expect(clippy::too_many_arguments, reason = "what an access is")]
    pub(crate) fn words(
        &mut self,
        thread: u32,
        address: usize,
        size: u64,
        site: u32,
        op: Op,
        value: Value<'_>,
        copy: Option<u32>,
    ) {
        let end = address.saturating_add(size as usize);
        let mut at = address & !(GRANULE - 1);
        self.state.sightings.next_access();
        while at < end {
            let from = address.max(at) - at;
            let to = end.min(at + GRANULE) - at;
            let mask = (FULL << from) & (FULL >> (GRANULE - to));
            let op = match op {
                Op::Atomic {
                    modifies,
                    scope,
                    size,
                    ..
                } => {
                    let start = address.wrapping_sub(at) as i8;
                    Op::Atomic {
                        modifies,
                        scope,
                        start,
                        size,
                    }
                }
                Op::Read | Op::Write => op,
            };
            let touch = Touch { op, mask };
            let shared = self.is_shared(at);
            if let Some(place) = self.inner.shadow.place(at) {
                if op != Op::Read && !shared {
                    self.state.before_write(&self.inner, place, at);
                }
                let w = self.state.opened_word(&self.inner, place, shared);
                let access = Access {
                    thread,
                    touch,
                    site,
                    word: at,
                    address,
                    size,
                    value,
                    copy,
                };
                self.state.word(&self.inner, place.word, w, &access);
            }
            at += GRANULE;
        }
    }
}

impl State {
    /// An atomic operation and its launch, for the log of the location, where the launch
    /// keeps logs. `site`: that of one that is checked, and races as an atomic.
    fn logged(
        &mut self,
        thread: u32,
        (address, _): Location,
        site: Option<u32>,
        scope: Scope,
        modifies: bool,
    ) -> Option<(u64, Logged)> {
        if !self.logs || address & HAPPENS != 0 {
            return None;
        }
        self.logged_shared |= self.shared.contains(&address);
        let data = &self.launch.data;
        let op = Logged {
            uid: self.order.uid(),
            thread,
            clock: self.order.clock(thread),
            site: site.map(|site| data.site_base + site),
            scope,
            modifies,
            place: Place::default(),
        };
        Some((data.id, op))
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
