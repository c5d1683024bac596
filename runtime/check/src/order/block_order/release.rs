//! What single threads of a block release and acquire: at named barriers and barriers of clusters,
//! by fences and atomics, and for asynchronous copies.
//!
//! Functions that return a `bool` return false, and order nothing, but in [`Mode::Exact`].

use gpurace_abi::scope::{Order, Scope};

use super::full_fences::FullFences;
use super::{BlockOrder, KnownCopies, Mode};
use crate::model::entry::COPIES;
use crate::order::carried::{Carried, Head, Location, Pending, Reach};
use crate::order::vector::Clocks;

/// Most locations for which a thread remembers what it released there.
const RELEASED_KEPT: usize = 32;

/// What a thread of an exact launch has acquired and released, if anything.
#[derive(Debug, Default)]
pub(super) struct ThreadSync {
    pub(super) acquired: Clocks,
    /// What the thread's fences released: its later atomic writes publish it.
    pub(super) fenced: Carried,
    /// What its `fence.sc` and those before it have released. See [`super::full_fences`].
    pub(super) full: FullFences,
    pub(super) pending: Vec<Pending>,
    /// What the thread's atomics released: its later atomic writes to the same location publish it
    /// again.
    pub(super) released: Vec<(Location, Carried)>,
    /// mbarriers that track the thread's copies, by address. The thread's next arrival there comes
    /// after its copies below an epoch.
    pub(super) tracked: Vec<(usize, u32)>,
}

impl BlockOrder {
    pub(super) fn sync_of(&mut self, thread: u32) -> &mut ThreadSync {
        self.sync[thread as usize].get_or_insert_default()
    }

    /// What a thread has acquired by itself, where it is about to acquire more.
    pub(super) fn acquired_of(&mut self, thread: u32) -> &mut Clocks {
        self.any_acquired = true;
        &mut self.sync_of(thread).acquired
    }

    /// What others learn from a release: all that the thread knows and has done. Its next epoch
    /// begins.
    fn release(&mut self, thread: u32) -> Clocks {
        self.tick(thread);
        let mut all = self.base.clone();
        if let Some(s) = &self.sync[thread as usize] {
            all.join(&s.acquired);
        }
        if self.floor > 0 {
            all.learn_block(self.uid, self.floor);
        }
        let warp = &self.warps[thread as usize / 32];
        let lane = thread as usize % 32;
        let mut lanes = warp.matrix.as_ref().map_or([0; 32], |m| m[lane]);
        for l in &mut lanes {
            *l = (*l).max(warp.floor);
        }
        lanes[lane] = self.clock.of(thread);
        all.learn_warp(self.uid, thread / 32, lanes);
        all
    }

    /// Lets a thread arrive at a named barrier without waiting (`bar.arrive`).
    pub fn arrive(&mut self, thread: u32, barrier: u32) -> bool {
        if self.mode != Mode::Exact {
            return false;
        }
        let released = self.release(thread);
        match self.arrivals.iter_mut().find(|a| a.0 == barrier) {
            Some(a) => a.1.join(&released),
            None => self.arrivals.push((barrier, released)),
        }
        true
    }

    /// Completes a named barrier at which these threads waited.
    pub fn named_barrier(&mut self, barrier: u32, waited: &[u32]) -> bool {
        if self.mode != Mode::Exact {
            return false;
        }
        let mut all = match self.arrivals.iter().position(|a| a.0 == barrier) {
            Some(i) => self.arrivals.swap_remove(i).1,
            None => Clocks::new(),
        };
        for &t in waited {
            all.join(&self.release(t));
        }
        for &t in waited {
            self.acquired_of(t).join(&all);
            self.learnt_by(t);
        }
        self.pass_on_full_fences(waited.iter().copied());
        true
    }

    /// Lets a thread arrive at the barrier of its cluster. Returns what the threads that wait learn:
    /// if the arrival does not release, what the thread's fences released.
    pub fn cluster_arrive(&mut self, thread: u32, order: Order) -> Clocks {
        if order.releases() {
            return self.release(thread);
        }
        match &self.sync[thread as usize] {
            Some(s) => s.fenced.of(Reach::Cluster),
            None => Clocks::new(),
        }
    }

    /// Lets a thread learn what others `released` at the barrier of its cluster.
    pub fn cluster_wait(&mut self, thread: u32, released: &Clocks) {
        self.acquired_of(thread).join(released);
    }

    /// Notes a fence of a thread.
    pub fn fence(&mut self, thread: u32, scope: Scope, order: Order) -> bool {
        if self.mode != Mode::Exact {
            return false;
        }
        let reach = self.reach(scope);
        if order.acquires()
            && let Some(s) = &mut self.sync[thread as usize]
        {
            self.any_acquired |= !s.pending.is_empty();
            let full = order == Order::SeqCst;
            for p in &s.pending {
                p.seen.teach_fence(&mut s.acquired, reach, full);
            }
            if reach == Reach::Launch && full {
                s.pending.clear();
            } else if reach == Reach::Launch {
                s.pending.retain_mut(|p| {
                    p.seen = Carried { full: p.seen.full.take(), ..Carried::default() };
                    !p.seen.is_empty()
                });
            }
            self.learnt_by(thread);
        }
        if order.releases() {
            let released = self.release(thread);
            if order == Order::SeqCst {
                self.full_fence(thread, &released, reach);
            }
            let narrowest = self.narrowest;
            self.sync_of(thread).fenced.set(released, reach, narrowest);
        }
        true
    }

    /// Lets a thread acquire all that its atomics have seen, as by a `fence.sc` of device scope.
    pub fn acquire(&mut self, thread: u32) {
        if let Some(s) = self.sync.get_mut(thread as usize).and_then(Option::as_mut) {
            self.any_acquired |= !s.pending.is_empty();
            for p in std::mem::take(&mut s.pending) {
                p.seen.teach_fence(&mut s.acquired, Reach::Launch, true);
            }
        }
    }

    /// What an atomic write of a thread publishes.
    pub fn publish(&mut self, thread: u32, location: Location, scope: Scope, order: Order) -> Carried {
        if self.mode != Mode::Exact {
            return Carried::default();
        }
        let mut what = match &self.sync[thread as usize] {
            Some(s) => {
                let mut what = s.fenced.clone();
                if let Some((_, released)) = s.released.iter().find(|r| r.0 == location) {
                    what.join(released);
                }
                what
            }
            None => Carried::default(),
        };
        if order.releases() {
            let mut released = self.release(thread);
            // This release alone tells that the copies are done. Later ones publish it again, like
            // any other, as far as its scope reaches.
            if let Some(s) = &mut self.sync[thread as usize]
                && let Some(i) = s.tracked.iter().position(|t| t.0 == location.0)
            {
                let (_, epoch) = s.tracked.swap_remove(i);
                learn_copies(&mut released, self.home, thread, epoch);
            }
            let mut own = Carried::default();
            own.set(released, self.reach(scope), self.narrowest);
            what.join(&own);
            let list = &mut self.sync_of(thread).released;
            match list.iter_mut().find(|r| r.0 == location) {
                Some(r) => r.1.join(&own),
                None => {
                    if list.len() == RELEASED_KEPT {
                        list.remove(0);
                    }
                    list.push((location, own));
                }
            }
        }
        what.by = Some((self.uid, thread));
        what.full = self.passed_on(thread).map(Box::new);
        what
    }

    /// Notes what an atomic read of a thread has `seen`.
    pub fn observe(&mut self, thread: u32, location: Location, scope: Scope, order: Order, seen: Carried) {
        if self.mode != Mode::Exact {
            return;
        }
        if !seen.is_empty() {
            self.acquired_elsewhere = true;
            Pending::add(&mut self.sync_of(thread).pending, location, seen);
        }
        let reach = self.reach(scope);
        if order.acquires()
            && let Some(s) = &mut self.sync[thread as usize]
            && let Some(at) = s.pending.iter().position(|p| p.location == location)
        {
            self.any_acquired = true;
            let seen = &s.pending[at].seen;
            seen.teach(&mut s.acquired, reach);
            if seen.is_within(reach) {
                s.pending.swap_remove(at);
            }
            self.learnt_by(thread);
        }
    }

    /// Lets a thread learn that its asynchronous copies below `epoch` are done.
    pub fn wait_for_copies(&mut self, thread: u32, epoch: u32) {
        if let Some(known) = self.copies.get_mut(thread as usize) {
            known.own = epoch;
            return;
        }
        let home = self.home;
        learn_copies(self.acquired_of(thread), home, thread, epoch);
    }

    /// Makes what the thread publishes next at `address` tell that its asynchronous copies below
    /// `epoch` are done.
    pub fn track_copies(&mut self, thread: u32, address: usize, epoch: u32) {
        if self.mode != Mode::Exact {
            return;
        }
        let list = &mut self.sync_of(thread).tracked;
        match list.iter_mut().find(|t| t.0 == address) {
            Some(t) => t.1 = epoch,
            None => list.push((address, epoch)),
        }
    }

    /// The first epoch of the asynchronous copies of thread `other` that `thread` does not know to
    /// be done. `home`: the first uid of the other's block.
    pub fn known_copies(&self, thread: u32, home: u64, other: u32) -> u32 {
        if let Some(known) = self.known_of(home, other) {
            return if thread == other {
                known.own
            } else if thread / 32 == other / 32 {
                known.warp
            } else {
                known.block
            };
        }
        let acquired = match self.sync.get(thread as usize).and_then(Option::as_ref) {
            Some(s) => s.acquired.of(home | COPIES, other),
            None => 0,
        };
        acquired.max(self.base.of(home | COPIES, other))
    }

    /// The first such epoch that not all threads of the block know to be done.
    pub fn all_know_copies(&self, home: u64, other: u32) -> u32 {
        self.known_of(home, other).map_or_else(|| self.base.of(home | COPIES, other), |known| known.block)
    }

    /// What is known of the copies of a thread of this block, in [`Mode::Copies`].
    fn known_of(&self, home: u64, thread: u32) -> Option<KnownCopies> {
        self.copies.get(thread as usize).filter(|_| home == self.home).copied()
    }

    /// An atomic operation of a thread.
    pub fn head(&self, thread: u32, scope: Scope) -> Head {
        Head { home: self.home, thread, cluster: self.cluster, reach: self.reach(scope) }
    }

    /// How far a scope reaches. Without clusters each block is one.
    fn reach(&self, scope: Scope) -> Reach {
        match scope {
            Scope::Block => Reach::Block,
            Scope::Cluster if self.cluster.is_none() => Reach::Block,
            Scope::Cluster => Reach::Cluster,
            Scope::Device | Scope::System => Reach::Launch,
        }
    }
}

/// Adds to `clocks` that a thread's asynchronous copies below an epoch are done.
fn learn_copies(clocks: &mut Clocks, home: u64, thread: u32, epoch: u32) {
    let mut lanes = [0; 32];
    lanes[thread as usize % 32] = epoch;
    clocks.learn_warp(home | COPIES, thread / 32, lanes);
}
