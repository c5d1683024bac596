//! Atomic and volatile accesses, which may order others, and the program's own annotations of order.

use std::sync::atomic::Ordering;

use gpurace_abi::scope::{AtomicKind, Order, Scope};

use super::access::Value;
use super::{Block, State};
use crate::common::Sites;
use crate::observed::{Logged, Place};
use crate::syncvar::{Carried, Location};
use crate::word::{GRANULE, Op};

/// Set in the addresses of annotations of order, so that no location of the
/// program has one of them.
const HAPPENS: usize = 1 << 62;

/// What a read-modify-write under way has read, looked up before it.
#[derive(Debug)]
pub(super) struct Seen {
    thread: u32,
    /// How many writes the location has had with it.
    writes: u32,
    what: Carried,
}

impl Block {
    /// An atomic or volatile access, before it happens: what it releases is
    /// published. Its thread does nothing else before [`Block::atomic_done`]; others, also of the block, may.
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
            (false, _) => Op::Atomic { modifies, scope, start: 0, size: size as u8 },
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
        // What tells of its copies is more than the thread knows itself, and it does not read it back.
        let looks = kind == AtomicKind::Rmw && !s.copies.is_empty() && s.shared_of(location.0).is_some();
        let seen = looks.then(|| self.inner.syncvars.read(location, s.order.head(thread, scope), None));
        if modifies {
            // Before what it releases ends its epoch.
            let log = s.logged(thread, location, site, scope, true);
            let what = s.order.publish(thread, location, scope, order);
            let head = s.order.head(thread, scope);
            let rmw = matches!(kind, AtomicKind::Rmw | AtomicKind::Reduction);
            let writes = self.inner.syncvars.write(location, head, &what, rmw, log);
            if let Some(what) = seen {
                s.seen.push(Seen { thread, writes, what });
            }
            if !what.block.is_empty() {
                s.published.insert(location.0);
            }
        }
    }

    /// The access of the thread's last [`Block::atomic`] has happened: what it
    /// acquires is learnt.
    #[expect(clippy::too_many_arguments, reason = "the arguments of the entry point")]
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
        if kind == AtomicKind::Rmw
            && let Some(own) = s.seen.iter().position(|seen| seen.thread == thread)
        {
            let own = s.seen.swap_remove(own);
            return self.looked_up_done(own, (address, size), scope, order);
        }
        if reads {
            let head = s.order.head(thread, scope);
            let raced = (kind == AtomicKind::Load).then_some(site);
            let log = match writes {
                true => None,
                false => s.logged(thread, (address, size), raced, scope, false),
            };
            let seen = self.inner.syncvars.read((address, size), head, log);
            s.order.observe(thread, (address, size), scope, order, seen);
        }
        if writes {
            self.inner.syncvars.written((address, size), s.order.uid(), thread);
        }
    }

    /// A read-modify-write has happened before which it was looked up what it reads.
    fn looked_up_done(&mut self, own: Seen, location: Location, scope: Scope, order: Order) {
        let (s, syncvars) = (&mut self.state, &self.inner.syncvars);
        let Seen { thread, writes, what: mut seen } = own;
        if syncvars.written(location, s.order.uid(), thread) != writes {
            // Others have written there since, before it or after it: it may have read what they wrote,
            // and what tells of its copies is still its own. In a log it may be what another one has learnt of them before.
            let mut others = syncvars.read(location, s.order.head(thread, scope), None);
            if self.inner.limits.reports_undecided {
                others.forget_copies(s.order.home(), thread);
            }
            seen.join(&others);
        }
        s.order.observe(thread, location, scope, order, seen);
    }

    /// An atomic load begins of which it is told late that it has been made, by [`Block::atomic_done`] and then [`Block::end_load`]. Others may write meanwhile.
    pub(crate) fn begin_load(&self, address: usize, size: u32) {
        self.inner.syncvars.begin_load((address, size));
    }

    /// See [`Block::begin_load`].
    pub(crate) fn end_load(&self, address: usize, size: u32) {
        self.inner.syncvars.end_load((address, size));
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
            under_way: false,
            place: Place::default(),
        };
        Some((data.id, op))
    }
}
