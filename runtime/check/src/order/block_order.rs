//! The clocks of one block's threads.
//!
//! Each thread has a clock. The time in which the clock has one value is an *epoch*. A thread knows
//! of another thread the first epoch that did not happen before: an access in epoch `c` happens
//! before each thread that knows a number above `c`.
//!
//! A barrier sets all clocks of the block to one more than the largest. Each thread then knows this
//! number of each other thread: the *floor*. A sync of a whole warp does the same for the warp. In a
//! kernel that has only these two ([`Mode::Regular`]), one number tells both the barrier interval
//! and the warp interval.
//!
//! In kernels that also have asynchronous copies ([`Mode::Copies`]), it is also kept for each thread which of its
//! copies the thread, its warp and its block know to be done.
//!
//! In other kernels ([`Mode::Exact`]) a warp that synced some of its lanes has a matrix of what each
//! lane knows of each other. A thread that acquired through an atomic or waited at a named barrier
//! has a sparse vector clock. Barriers and warp syncs pass on what a thread acquired. A release
//! begins a new epoch of its thread, since it does not release what follows.
//!
//! What a `fence.sc` has released, barriers pass on to the atomics of other threads ([`full_fences`]).
//!
//! A thread that has done none of this since the last barrier knows the floor of its block's threads, as in
//! [`Mode::Regular`]. The floor also rises where all threads learn of all others without a barrier ([`known_to_all`]).

mod full_fences;
mod known_to_all;
mod release;

use std::ops::Range;

use gpurace_abi::context::lanes_of_warp;
use gpurace_abi::scope::Scope;

use crate::model::record::Key;
use crate::order::carried::Narrowest;
use crate::order::vector::{Clocks, Lanes, raise};

use full_fences::FullFencesOfBlock;
use known_to_all::KnownToAll;
use release::ThreadSync;

/// The kinds of synchronisation in a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Only barriers of the whole block and syncs of whole warps.
    #[default]
    Regular,
    /// The same, and asynchronous copies that their threads wait for.
    Copies,
    /// Anything.
    Exact,
}

/// The clock of each thread.
#[derive(Debug, Default)]
struct EachClock {
    threads: u32,
    /// The clock of all threads, if it is the same.
    all: Option<u32>,
    /// Otherwise the clock of each thread.
    each: Vec<u32>,
}

impl EachClock {
    fn set_all(&mut self, threads: u32, clock: u32) {
        (self.threads, self.all) = (threads, Some(clock));
    }

    #[inline]
    fn of(&self, thread: u32) -> u32 {
        self.all.unwrap_or_else(|| self.each[thread as usize])
    }

    fn of_mut(&mut self, thread: u32) -> &mut u32 {
        if let Some(all) = self.all.take() {
            self.each.clear();
            self.each.resize(self.threads as usize, all);
        }
        &mut self.each[thread as usize]
    }
}

/// What syncs of a warp have told its lanes of each other.
#[derive(Debug, Default)]
struct WarpSync {
    /// What all lanes know of each other.
    floor: u32,
    /// What each lane (row) knows of each other, if some synced alone since the last barrier or
    /// sync of the whole warp.
    matrix: Option<Box<[[u32; 32]; 32]>>,
}

impl WarpSync {
    /// Lets the lanes of `mask` know what any of them knows of others, and of each other all before `clock`.
    fn join(&mut self, mask: u32, clock: u32) {
        let lanes = || (0..32).filter(|l| mask >> l & 1 != 0);
        let matrix = self.matrix.get_or_insert_with(|| Box::new([[0; 32]; 32]));
        let mut joined = [0; 32];
        lanes().for_each(|l| raise(&mut joined, &matrix[l]));
        lanes().for_each(|l| joined[l] = clock);
        lanes().for_each(|l| matrix[l] = joined);
    }
}

/// Which of a thread's asynchronous copies are known to be done: those of the epochs below these.
#[derive(Clone, Copy, Debug, Default)]
struct KnownCopies {
    /// The thread itself knows.
    own: u32,
    /// All lanes of its warp know.
    warp: u32,
    /// All threads of its block know.
    block: u32,
}

/// Order among the threads of a block, and what they know of other blocks.
#[derive(Debug, Default)]
pub struct BlockOrder {
    mode: Mode,
    threads: u32,
    /// First uid of the block: its identity.
    home: u64,
    uid: u64,
    /// The uid as records hold it.
    word_uid: u64,
    /// Earlier uids of the block.
    past: Vec<u64>,
    floor: u32,
    /// The largest clock.
    max: u32,
    clock: EachClock,
    /// The key of thread 0, if all threads have one clock and all their keys fit.
    common: Option<Key>,
    /// Otherwise the key of each thread; [`Key::NONE`] if it does not fit.
    keys: Vec<Key>,
    warps: Vec<WarpSync>,
    sync: Vec<Option<Box<ThreadSync>>>,
    /// What is known of each thread's copies in [`Mode::Copies`]; else empty.
    copies: Vec<KnownCopies>,
    /// Some thread may have acquired something by itself since the last barrier.
    any_acquired: bool,
    /// Some thread has acquired what another block may have released.
    acquired_elsewhere: bool,
    /// In [`Mode::Exact`], what is known to all threads, beyond barriers.
    known_to_all: KnownToAll,
    /// What barriers of the block pass on of `fence.sc`.
    full_fences: FullFencesOfBlock,
    /// What every thread knows of other blocks and of other launches.
    base: Clocks,
    /// `base` has more than what happened before the launch.
    base_has_grown: bool,
    /// The block's cluster, by the first uid of its first block; `None` in a launch without
    /// clusters.
    cluster: Option<u64>,
    /// How far what threads acquire reaches at least.
    narrowest: Narrowest,
    /// What the arrivals at each named barrier (`bar.arrive`) have released.
    arrivals: Vec<(u32, Clocks)>,
}

impl BlockOrder {
    /// Begins a block, in place of another one. `word_uid`: its uid as records hold it. `before`:
    /// what happened before its launch. `cluster`: see [`BlockOrder::cluster`].
    pub fn restart(
        &mut self,
        mode: Mode,
        threads: u32,
        uid: u64,
        word_uid: u64,
        before: Clocks,
        cluster: Option<u64>,
    ) {
        self.mode = mode;
        self.threads = threads;
        (self.home, self.uid, self.word_uid) = (uid, uid, word_uid);
        (self.floor, self.max) = (0, 0);
        self.past.clear();
        self.clock.set_all(threads, 0);
        self.keys.resize(threads as usize, Key::NONE);
        self.warps.clear();
        self.warps.resize_with(threads.div_ceil(32) as usize, WarpSync::default);
        self.sync.clear();
        self.sync.resize_with(if mode == Mode::Exact { threads as usize } else { 0 }, || None);
        self.known_to_all.restart(self.sync.len());
        self.full_fences = FullFencesOfBlock::default();
        self.copies.clear();
        self.copies.resize(if mode == Mode::Copies { threads as usize } else { 0 }, KnownCopies::default());
        self.any_acquired = false;
        self.acquired_elsewhere = false;
        self.base = before;
        self.base_has_grown = false;
        self.cluster = cluster;
        self.narrowest = if cluster.is_some() { Narrowest::BlockOfCluster } else { Narrowest::Block };
        self.arrivals.clear();
        self.set_all_keys();
    }

    /// Tells that fences and atomics of the launch, which has no clusters, order threads by device scope alone.
    pub fn orders_widely(&mut self) {
        self.narrowest = Narrowest::Launch;
    }

    /// True if the block, as its launch was described, does not order threads by this scope.
    pub fn is_unforeseen(&self, scope: Scope) -> bool {
        self.narrowest == Narrowest::Launch && scope < Scope::Device
    }

    /// The uid that new records carry.
    pub fn uid(&self) -> u64 {
        self.uid
    }

    /// The same as records of 64 bits hold it.
    pub fn word_uid(&self) -> u64 {
        self.word_uid
    }

    /// The block's identity in the order: its first uid.
    pub fn home(&self) -> u64 {
        self.home
    }

    /// Number of threads.
    pub fn threads(&self) -> u32 {
        self.threads
    }

    /// Its cluster, by the first uid of its first block; `None` in a launch without clusters.
    pub fn cluster(&self) -> Option<u64> {
        self.cluster
    }

    /// True if this is an earlier uid of the block.
    pub fn was(&self, uid: u64) -> bool {
        self.past.contains(&uid)
    }

    /// True if the block had another uid before.
    #[inline]
    pub fn has_past(&self) -> bool {
        !self.past.is_empty()
    }

    /// The epoch of a thread.
    #[inline]
    pub fn clock(&self, thread: u32) -> u32 {
        self.clock.of(thread)
    }

    /// The key of a thread now; [`Key::NONE`] if it does not fit.
    #[inline]
    pub fn key(&self, thread: u32) -> Key {
        match self.common {
            Some(first) => first.with_thread(thread),
            None => self.keys[thread as usize],
        }
    }

    /// What every thread of the block knows of every other: epochs below have happened.
    #[inline]
    pub fn floor(&self) -> u32 {
        self.floor
    }

    /// What all lanes of a warp know of each other.
    #[inline]
    pub fn warp_floor(&self, warp: u32) -> u32 {
        self.warps[warp as usize].floor.max(self.floor)
    }

    /// The largest clock of a thread.
    pub fn max_clock(&self) -> u32 {
        self.max
    }

    /// Sets all clocks of a block that has just begun, as if its threads had come there by barriers.
    pub(crate) fn set_clock(&mut self, clock: u32) {
        (self.floor, self.max) = (clock, clock);
        self.clock.set_all(self.threads, clock);
        self.warps.iter_mut().for_each(|w| w.floor = clock);
        self.set_all_keys();
    }

    /// Sets the keys of all threads, which have one clock.
    fn set_all_keys(&mut self) {
        let last = Key::new(self.threads.saturating_sub(1), self.word_uid, self.max);
        self.common = last.map(|last| last.with_thread(0));
        if self.common.is_none() {
            self.set_keys(0..self.threads);
        }
    }

    /// Sets the keys of threads whose clocks have changed.
    fn set_keys(&mut self, threads: Range<u32>) {
        if let Some(first) = self.common.take() {
            (0..).zip(&mut self.keys).for_each(|(t, key)| *key = first.with_thread(t));
        }
        for t in threads {
            self.keys[t as usize] = Key::new(t, self.word_uid, self.clock.of(t)).unwrap_or(Key::NONE);
        }
    }

    /// Begins the next epoch of a thread.
    fn tick(&mut self, thread: u32) {
        let c = self.clock.of_mut(thread);
        *c += 1;
        self.max = self.max.max(*c);
        self.set_keys(thread..thread + 1);
    }

    /// For each lane of a warp of a block with this uid, the first epoch that `thread` does not know.
    pub fn known(&self, thread: u32, uid: u64, warp: u32) -> Lanes {
        let mut known = self.base.of_warp(uid, warp);
        if self.any_acquired
            && let Some(s) = &self.sync[thread as usize]
        {
            raise(&mut known, &s.acquired.of_warp(uid, warp));
        }
        if uid == self.uid {
            let own = (thread / 32 == warp).then(|| &self.warps[warp as usize]);
            raise(&mut known, &[own.map_or(0, |own| own.floor).max(self.floor); 32]);
            if let Some(matrix) = own.and_then(|own| own.matrix.as_ref()) {
                raise(&mut known, &matrix[thread as usize % 32]);
            }
        }
        known
    }

    /// True if `thread` knows that all of the launch with this first uid has happened.
    pub fn knows_launch(&self, thread: u32, first_uid: u64) -> bool {
        self.base.knows_launch(first_uid)
            || self.any_acquired
                && self.sync[thread as usize].as_ref().is_some_and(|s| s.acquired.knows_launch(first_uid))
    }

    /// True if vector clocks may order the block's threads, one by one.
    #[inline(always)]
    pub fn is_exact(&self) -> bool {
        self.mode == Mode::Exact
    }

    /// The first epoch of a block with this uid, at one of its barriers, that a thread does not know.
    pub fn known_floor(&self, thread: u32, uid: u64) -> u32 {
        let acquired = self.sync.get(thread as usize).and_then(Option::as_ref).map(|s| s.acquired.floor(uid));
        self.base.floor(uid).max(acquired.unwrap_or(0))
    }

    /// True if some thread may know something of other blocks or launches.
    #[inline]
    pub fn knows_others(&self) -> bool {
        self.any_acquired || !self.base.is_empty()
    }

    /// True if some thread may know something of other blocks of its launch.
    #[inline]
    pub fn knows_grid(&self) -> bool {
        self.any_acquired || self.base_has_grown
    }

    /// True if a thread may have acquired something of another block since this block began.
    pub fn has_acquired(&self) -> bool {
        self.acquired_elsewhere
    }

    /// All that the block's threads know of others than these blocks, together.
    pub fn learnt(&self, except: &Range<u64>) -> Clocks {
        let mut learnt = self.base.clone();
        learnt.forget_blocks(except);
        for s in self.sync.iter().flatten() {
            let mut acquired = s.acquired.clone();
            acquired.forget_blocks(except);
            learnt.join(&acquired);
        }
        learnt
    }

    /// The lanes, among these of a warp, whose epoch `clock` happened before, as far as `thread`
    /// knows.
    pub fn known_lanes(&self, thread: u32, uid: u64, warp: u32, lanes: u32, clock: u32) -> u32 {
        let learnt =
            self.any_acquired && self.sync[thread as usize].as_ref().is_some_and(|s| !s.acquired.is_empty());
        if !learnt && (uid != self.uid || self.warps[warp as usize].matrix.is_none()) {
            if uid != self.uid && self.base.is_empty() {
                return 0;
            }
            if uid == self.uid {
                // The same for all lanes: the base says no more of the block than the floor.
                let own = warp == thread / 32;
                let known = if own { self.warp_floor(warp) } else { self.floor };
                return if clock < known { lanes } else { 0 };
            }
        }
        let known = self.known(thread, uid, warp);
        (0..32).fold(0, |all, l| all | u32::from(clock < known[l]) << l) & lanes
    }

    /// Orders all threads of the block: those that live pass barrier 0. `further`: a new uid for a
    /// block whose clock grew too large, and the same as records hold it.
    pub fn barrier(&mut self, further: Option<(u64, u64)>) {
        if self.any_acquired {
            let mut base = std::mem::take(&mut self.base);
            for s in self.sync.iter_mut().flatten() {
                base.join(&s.acquired);
                s.acquired = Clocks::new();
            }
            self.base = base;
            self.base_has_grown = true;
            self.any_acquired = false;
            self.known_to_all.restart(self.sync.len());
        }
        self.pass_on_full_fences_to_all();
        for known in &mut self.copies {
            (known.warp, known.block) = (known.own, known.own);
        }
        if let Some((uid, word_uid)) = further {
            if self.mode == Mode::Exact {
                // Whoever learns of the new uid also learns all that was before.
                self.base.learn_block(self.uid, u32::MAX);
            }
            self.past.push(self.uid);
            (self.uid, self.word_uid) = (uid, word_uid);
            self.max = 0;
        } else {
            self.max += 1;
        }
        self.floor = self.max;
        self.clock.set_all(self.threads, self.max);
        for w in &mut self.warps {
            w.floor = self.max;
            w.matrix = None;
        }
        self.set_all_keys();
    }

    /// The lanes that a warp of this block has.
    pub fn lanes(&self, warp: u32) -> u32 {
        lanes_of_warp(self.threads, warp)
    }

    /// Orders the lanes of `mask`, which sync. False if the mode cannot express this: then nothing is
    /// ordered.
    pub fn syncwarp(&mut self, warp: u32, mask: u32) -> bool {
        let all = self.lanes(warp);
        let mask = mask & all;
        if mask != all && self.mode != Mode::Exact {
            return false;
        }
        let base = warp * 32;
        let lanes = || (0..32).filter(|l| mask >> l & 1 != 0);
        let clock = 1 + lanes().map(|l| self.clock.of(base + l)).max().unwrap_or(0);
        if mask == all {
            let w = &mut self.warps[warp as usize];
            w.floor = clock;
            w.matrix = None;
            for known in self.copies.iter_mut().skip(base as usize).take(32) {
                known.warp = known.own;
            }
        } else {
            self.warps[warp as usize].join(mask, clock);
        }
        if self.any_acquired {
            self.join_acquired(base, mask);
        }
        self.pass_on_full_fences(lanes().map(|l| base + l));
        for l in lanes() {
            *self.clock.of_mut(base + l) = clock;
            self.set_keys(base + l..base + l + 1);
        }
        self.max = self.max.max(clock);
        true
    }

    /// Lets the lanes of `mask` know what any of them has acquired. `base`: the warp's first thread.
    fn join_acquired(&mut self, base: u32, mask: u32) {
        let lanes = || (0..32).filter(|l| mask >> l & 1 != 0);
        let mut acquired = Clocks::new();
        for s in lanes().filter_map(|l| self.sync[(base + l) as usize].as_ref()) {
            acquired.join(&s.acquired);
        }
        if !acquired.is_empty() {
            for l in lanes() {
                *self.acquired_of(base + l) = acquired.clone();
            }
        }
    }
}
