//! Atomic and volatile accesses, which may order others, and the program's own annotations of
//! order.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::atomic::Ordering;

use gpurace_abi::meta::SyncFeatures;
use gpurace_abi::scope::{AtomicKind, Order, Scope};

use super::Block;
use crate::batch::Value;
use crate::model::access::Op;
use crate::order::block_order::BlockOrder;
use crate::order::carried::{Carried, Location};
use crate::order::observed::{AtomicOperation, Place};
use crate::order::syncvar::SyncVars;

/// Bit that is set in the addresses of annotations of order, and in no address of the program.
const HAPPENS: usize = 1 << 62;

/// The atomic and volatile accesses of a block.
#[derive(Debug, Default)]
pub(super) struct BlockAtomics {
    /// The kernel has fences: atomics order its threads.
    pub(super) fences: bool,
    /// The launch keeps logs of atomic operations.
    logs: bool,
    /// The block has logged operations on its shared memory.
    logged_shared: bool,
    /// An atomic write of the block was to memory that only the block reaches.
    pub(super) in_own_memory: bool,
    /// Addresses at which the block has released.
    published: HashSet<usize>,
    seen: Vec<Seen>,
}

impl BlockAtomics {
    pub(super) fn restart(&mut self, features: SyncFeatures) {
        (self.fences, self.logs) = (features.fences, features.observes);
        self.in_own_memory = false;
    }

    /// Ends the block. `memory`: the shared memory that only the block reached.
    pub(super) fn end(&mut self, syncvars: &SyncVars, order: &BlockOrder, memory: &Range<usize>) {
        self.seen.clear();
        for address in self.published.drain() {
            if memory.contains(&address) {
                // The next block's shared memory may lie there.
                syncvars.overwrite(address, 1);
            } else {
                syncvars.block_ended(order.home(), order.cluster(), address);
            }
        }
        if std::mem::take(&mut self.logged_shared) {
            syncvars.forget(memory.start, memory.len());
        }
    }
}

/// What a read-modify-write under way reads, looked up before its own release was published.
#[derive(Debug)]
struct Seen {
    thread: u32,
    /// Number of writes of the location, with this one.
    writes: u32,
    what: Carried,
}

/// An atomic or volatile access, as far as it orders threads.
#[derive(Clone, Copy)]
struct AtomicEffect {
    thread: u32,
    location: Location,
    kind: AtomicKind,
    scope: Scope,
    order: Order,
}

/// True if an access of this kind may read memory.
const fn reads(kind: AtomicKind) -> bool {
    matches!(kind, AtomicKind::Load | AtomicKind::VolatileLoad | AtomicKind::Rmw)
}

/// True if an access of this kind may change memory.
const fn modifies(kind: AtomicKind) -> bool {
    !matches!(kind, AtomicKind::Load | AtomicKind::VolatileLoad)
}

impl Block {
    /// Checks an atomic or volatile access before it happens, and publishes what it releases. Its
    /// thread does nothing else before [`Block::atomic_done`]. Other threads may.
    ///
    /// An acquire is ordered after the release that it reads, and passes it on if it also releases. So
    /// it acquires first.
    #[expect(clippy::too_many_arguments, reason = "the arguments of the entry point")]
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
        let effect = AtomicEffect { thread, location: (address, size), kind, scope, order };
        self.acquire_first(effect);
        let (modifies, volatile) = (modifies(kind), self.races_as_volatile(kind));
        let op = Op::Atomic { modifies, volatile, scope, start: 0, size: size as u8 };
        // A proved access still has its effect on order.
        let entry = self.entry(site);
        if !entry.is_proved() {
            self.checks += 1;
            self.check_small(thread, address, size, site, entry, op, Value::Unknown);
        }
        if self.orders_nothing(order) {
            return;
        }
        self.announce(effect, (!volatile).then_some(site));
    }

    /// As [`Block::atomic`], for an access that is not checked: only its effect on order counts.
    pub fn atomic_unchecked(
        &mut self,
        thread: u32,
        address: usize,
        size: u32,
        kind: AtomicKind,
        scope: Scope,
        order: Order,
    ) {
        let effect = AtomicEffect { thread, location: (address, size), kind, scope, order };
        self.acquire_first(effect);
        self.announce(effect, None);
    }

    /// Lets a thread acquire what its access is about to read. If other writes of the location are under
    /// way, the access may read any of them, as in [`Block::atomic_done`].
    #[inline]
    fn acquire_first(&mut self, effect: AtomicEffect) {
        if reads(effect.kind) && effect.order.acquires() && !self.inner.syncvars.is_empty() {
            self.acquire_read(effect, None);
        }
    }

    /// Lets a thread learn what an access reads. `log`: the operation and its launch, if it is a load that is logged.
    fn acquire_read(&mut self, effect: AtomicEffect, log: Option<(u64, AtomicOperation)>) {
        let AtomicEffect { thread, location, scope, order, .. } = effect;
        let seen = self.inner.syncvars.read(location, self.view.order.head(thread, scope), log);
        self.view.order.observe(thread, location, scope, order, seen);
    }

    /// True for a volatile access that races with other volatile ones.
    fn races_as_volatile(&self, kind: AtomicKind) -> bool {
        matches!(kind, AtomicKind::VolatileLoad | AtomicKind::VolatileStore)
            && !self.inner.relaxed_volatile.load(Ordering::Relaxed)
    }

    /// True if an atomic access has no effect on order: it makes none, and changes or passes on none
    /// that another launch made.
    #[inline(always)]
    fn orders_nothing(&self, order: Order) -> bool {
        order == Order::Relaxed && self.has_no_sync()
    }

    /// True if atomics of the launch order nothing, and no location carries what another launch released.
    #[inline(always)]
    fn has_no_sync(&self) -> bool {
        !self.sync.fences && !self.sync.logs && self.inner.syncvars.is_empty()
    }

    /// Publishes what an atomic access releases. `site`: the site of an access that is checked and
    /// races as an atomic.
    fn announce(&mut self, effect: AtomicEffect, site: Option<u32>) {
        let AtomicEffect { thread, location, kind, scope, order } = effect;
        if order != Order::Relaxed && (!self.sync.fences || self.view.order.is_unforeseen(scope)) {
            self.unforeseen();
        }
        // A launch that orders nothing itself may still overwrite, or pass on, what a concurrent one
        // released.
        if self.has_no_sync() {
            return;
        }
        // A release that tells that the thread's copies are done tells more than the thread knows. So
        // the thread must not read it back.
        let looks =
            kind == AtomicKind::Rmw && !self.copies.is_empty() && self.memory.holding(location.0).is_some();
        let head = self.view.order.head(thread, scope);
        let seen = looks.then(|| self.inner.syncvars.read(location, head, None));
        if !modifies(kind) {
            return;
        }
        self.sync.in_own_memory |= self.memory.own.contains(&location.0);
        // Logged before the release begins a new epoch.
        let log = self.logged(effect, site);
        let what = self.view.order.publish(thread, location, scope, order);
        let rmw = matches!(kind, AtomicKind::Rmw | AtomicKind::Reduction);
        let writes = self.inner.syncvars.write(location, head, &what, rmw, log);
        if let Some(what) = seen {
            self.sync.seen.push(Seen { thread, writes, what });
        }
        let is_own = !what.is_empty() && self.memory.own.contains(&location.0);
        if is_own || !what.block.is_empty() {
            self.sync.published.insert(location.0);
        }
    }

    /// Lets a thread learn what the access of its last [`Block::atomic`] acquires: it has happened.
    #[expect(clippy::too_many_arguments, reason = "the arguments of the entry point")]
    #[inline]
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
        if !self.has_no_sync() {
            self.note_done(AtomicEffect { thread, location: (address, size), kind, scope, order }, site);
        }
    }

    /// What [`Block::atomic_done`] does if the block may learn something, or others may from it.
    fn note_done(&mut self, effect: AtomicEffect, site: u32) {
        let AtomicEffect { thread, location, kind, .. } = effect;
        if kind == AtomicKind::Rmw
            && let Some(own) = self.sync.seen.iter().position(|seen| seen.thread == thread)
        {
            let own = self.sync.seen.swap_remove(own);
            return self.looked_up_done(own, effect);
        }
        if reads(kind) {
            let raced = (!self.races_as_volatile(kind)).then_some(site);
            let log = if modifies(kind) { None } else { self.logged(effect, raced) };
            self.acquire_read(effect, log);
        }
        if modifies(kind) {
            self.inner.syncvars.written(location, self.view.order.uid(), thread);
        }
    }

    /// Ends a read-modify-write for which [`Seen`] was looked up.
    fn looked_up_done(&mut self, own: Seen, effect: AtomicEffect) {
        let AtomicEffect { thread, location, scope, order, .. } = effect;
        let syncvars = &self.inner.syncvars;
        let Seen { writes, what: mut seen, .. } = own;
        if syncvars.written(location, self.view.order.uid(), thread) != writes {
            // Other threads have written there since, before or after it, so it may have read what
            // they wrote. What that tells of its copies is its own release.
            let mut others = syncvars.read(location, self.view.order.head(thread, scope), None);
            others.forget_copies(self.view.order.home(), thread);
            seen.join(&others);
        }
        self.view.order.observe(thread, location, scope, order, seen);
    }

    /// The program says that what this thread has done happens before whatever follows a
    /// [`Block::happens_after`] with the same address.
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

    /// An atomic operation and its launch, if the launch keeps logs. `site`: the site of an access
    /// that is checked and races as an atomic.
    fn logged(&mut self, effect: AtomicEffect, site: Option<u32>) -> Option<(u64, AtomicOperation)> {
        let AtomicEffect { thread, location: (address, _), kind, scope, .. } = effect;
        if !self.sync.logs || address & HAPPENS != 0 {
            return None;
        }
        self.sync.logged_shared |= self.memory.own.contains(&address);
        let (data, order) = (&self.launch.order.data, &self.view.order);
        let op = AtomicOperation {
            uid: order.uid(),
            thread,
            clock: order.clock(thread),
            site: site.map(|site| data.site_base + site),
            scope,
            modifies: modifies(kind),
            under_way: false,
            place: Place::default(),
        };
        Some((data.id, op))
    }
}
