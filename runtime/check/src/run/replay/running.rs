//! The threads of a running block: what they wait for, and what their events mean to the checker.

use std::ops::Range;
use std::sync::Arc;

use gpurace_abi::event::{Event, EventKind, NamedWait};
use gpurace_abi::scope::{AtomicKind, Order, Scope};
use smallvec::SmallVec;

use super::SHARED;
use crate::order::cluster::ClusterBarrier;
use crate::run::block::Block;
use crate::run::launch::Launch;

/// Addresses below this one have a shadow.
const ADDRESSES: u64 = 1 << 47;
/// Barriers of a block (PTX ISA, `bar`: ids 0 to 15).
const BARRIERS: usize = 16;
/// Most atomic accesses of one instruction.
const MOST_UNDER_WAY: usize = 64;
/// Most bytes of an access that is no range.
const RANGE: u32 = 16;

/// A block with a thread that has not left.
pub(super) struct Running {
    checks: Block,
    shared: Range<usize>,
    /// Shared memory of the blocks of its cluster, by rank.
    peers: Vec<Range<usize>>,
    threads: Vec<Thread>,
    /// Global memory that its threads marked as benign.
    benign: Vec<Range<usize>>,
    /// Number of threads that have left.
    left: usize,
    /// Number of the last barrier of the whole block that was passed.
    passed: u32,
    /// For each warp, the number of the last sync of all lanes that was passed.
    synced: Vec<u32>,
    /// For each named barrier, the threads that wait there. Some may have left meanwhile.
    waiting: [Vec<u32>; BARRIERS],
}

/// The state of a thread.
#[derive(Clone, Default)]
struct Thread {
    left: bool,
    /// The lanes of the `__syncwarp` at which it waits; 0 for none.
    lanes: u32,
    /// The named barrier at which it waits.
    waits_at: Option<u8>,
    /// The instruction at that barrier gives a number of threads.
    counted: bool,
    /// The phase of its cluster's barrier at which it has arrived and that it has not passed.
    arrived: Option<u32>,
    /// Address, size and kind of the atomic accesses that it has begun: several for the elements of
    /// a vector.
    under_way: SmallVec<[(usize, u32, AtomicKind); 1]>,
    /// Number of calls of `__gpurace_ignore(1)` without a matching call with 0.
    ignores: u32,
}

impl Running {
    /// Begins a block.
    pub(super) fn new(launch: &Arc<Launch>, index: u64, threads: u32, shared: Range<usize>) -> Self {
        Self {
            checks: Block::begin(launch, index, shared.clone()),
            shared,
            peers: Vec::new(),
            threads: vec![Thread::default(); threads as usize],
            benign: Vec::new(),
            left: 0,
            passed: 0,
            synced: vec![0; threads.div_ceil(32) as usize],
            waiting: Default::default(),
        }
    }

    pub(super) fn shared(&self) -> Range<usize> {
        self.shared.clone()
    }

    pub(super) fn join_cluster(&mut self, shared: &[Range<usize>]) {
        self.checks.join_cluster(shared);
        self.peers = shared.to_vec();
    }

    /// Ends the block. Returns the global memory that its threads marked as benign.
    pub(super) fn end(self) -> Vec<Range<usize>> {
        self.checks.end();
        self.benign
    }

    pub(super) fn has_left(&self, thread: u32) -> bool {
        self.threads[thread as usize].left
    }

    /// Ends a thread. True if all threads have left.
    pub(super) fn leave(&mut self, thread: u32) -> bool {
        self.threads[thread as usize] = Thread { left: true, ..Thread::default() };
        self.left += 1;
        self.left == self.threads.len()
    }

    /// Ends the block's shared memory with its last thread: see [`Block::shared_memory_ends`].
    pub(super) fn shared_memory_ends(&mut self, thread: u32) {
        self.checks.shared_memory_ends(thread, self.shared.clone());
    }

    /// Replays an event of a thread that has not left. False if it is left out.
    pub(super) fn event(&mut self, kind: EventKind, event: &Event) -> bool {
        let thread = event.thread();
        match kind {
            EventKind::Read | EventKind::Write | EventKind::AsyncRead | EventKind::AsyncWrite => {
                return self.access(kind, event);
            }
            EventKind::Atomic => return self.atomic(event),
            EventKind::AtomicDone => return self.atomic_done(event),
            EventKind::Fence => {
                let (Some(scope), Some(order)) = (event.scope(), event.order()) else { return false };
                self.checks.fence(thread, scope, order);
            }
            EventKind::Barrier => self.barrier(event.extra),
            EventKind::WarpArrive => self.warp_arrive(thread, event.address as u32),
            EventKind::WarpPassed if event.extra > 0 => self.warp_synced(thread / 32, event.extra),
            EventKind::WarpPassed => self.warp_passed(thread),
            EventKind::NamedArrive | EventKind::NamedPassed => {
                let Ok(number @ 0..BARRIERS) = usize::try_from(event.address) else { return false };
                match kind {
                    EventKind::NamedPassed => self.named_passed(thread, number),
                    _ if event.extra == NamedWait::None as u32 => {
                        self.checks.barrier_arrive(thread, number as u32)
                    }
                    _ => self.named_wait(thread, number, event.extra == NamedWait::Counted as u32),
                }
            }
            EventKind::AsyncCommit => self.checks.async_commit(thread),
            EventKind::AsyncWait => self.checks.async_wait(thread, event.extra),
            EventKind::AsyncArrive => {
                let Some(mbarrier) = self.address(event) else { return false };
                self.checks.async_arrive(thread, mbarrier);
            }
            EventKind::Ignore if event.extra == 0 => {
                self.of_mut(thread).ignores = self.of_mut(thread).ignores.saturating_sub(1)
            }
            EventKind::Ignore => self.of_mut(thread).ignores += 1,
            EventKind::Benign | EventKind::Happens => {
                let Some(address) = self.address(event) else { return false };
                match (kind, event.extra) {
                    (EventKind::Benign, _) => {
                        self.checks.benign(address, event.size as usize);
                        if !event.is_shared() {
                            self.benign.push(address..address + event.size as usize);
                        }
                    }
                    (_, 0) => self.checks.happens_before(thread, address),
                    _ => self.checks.happens_after(thread, address),
                }
            }
            // The caller, which knows the memory, turns these into reads and writes.
            EventKind::Coordinates | EventKind::Fetch | EventKind::SurfaceRead | EventKind::SurfaceWrite => {
                return false;
            }
            // These concern more than this block.
            EventKind::ClusterArrive | EventKind::ClusterPassed | EventKind::Unknown | EventKind::Leave => {
                return false;
            }
        }
        true
    }

    /// The address of an event's bytes in the checker; `None` if some lie where no memory can be.
    fn address(&self, event: &Event) -> Option<usize> {
        let end = event.address.checked_add(event.size.into())?;
        if event.is_shared() {
            let peer = if names_peer(event) { event.extra.checked_sub(1) } else { None };
            let shared = peer.map_or(Some(&self.shared), |rank| self.peers.get(rank as usize))?;
            return (end <= shared.len() as u64).then(|| shared.start + event.address as usize);
        }
        let is_apart = end <= SHARED.start as u64 || event.address >= SHARED.end as u64;
        (end <= ADDRESSES && is_apart).then_some(event.address as usize)
    }

    /// Replays a plain access, or one of an asynchronous copy.
    fn access(&mut self, kind: EventKind, event: &Event) -> bool {
        let Some(address) = self.address(event) else { return false };
        let (thread, size, site) = (event.thread(), event.size, event.site);
        match kind {
            _ if size == 0 || self.threads[thread as usize].ignores > 0 => {}
            EventKind::AsyncRead => self.checks.async_read(thread, address, size.into(), site),
            EventKind::AsyncWrite => self.checks.async_write(thread, address, size.into(), site),
            EventKind::Read if size > RANGE => self.checks.read_range(thread, address, size.into(), site),
            EventKind::Read => self.checks.read(thread, address, size, site),
            _ if size > RANGE => self.checks.write_range(thread, address, size.into(), site),
            _ => self.checks.write(thread, address, size, site, None),
        }
        true
    }

    /// Begins an atomic or volatile access.
    fn atomic(&mut self, event: &Event) -> bool {
        let Some((address, kind)) = self.atomic_at(event) else { return false };
        let (Some(scope), Some(order)) = (event.scope(), event.order()) else { return false };
        let under_way = &mut self.of_mut(event.thread()).under_way;
        if under_way.len() == MOST_UNDER_WAY {
            return false;
        }
        under_way.push((address, event.size, kind));
        match is_load(kind) {
            true => self.checks.begin_load(address, event.size),
            false => self.begin_atomic(event, address, kind, scope, order),
        }
        true
    }

    /// Ends an atomic or volatile access: it has been made.
    fn atomic_done(&mut self, event: &Event) -> bool {
        let Some((address, kind)) = self.atomic_at(event) else { return false };
        let (Some(scope), Some(order)) = (event.scope(), event.order()) else { return false };
        let (thread, size, site) = (event.thread(), event.size, event.site);
        let under_way = &mut self.of_mut(thread).under_way;
        let Some(begun) = under_way.iter().position(|begun| *begun == (address, size, kind)) else {
            return false;
        };
        under_way.remove(begun);
        // A load publishes nothing, so it is checked when it is known to have been made.
        if is_load(kind) {
            self.begin_atomic(event, address, kind, scope, order);
        }
        self.checks.atomic_done(thread, address, size, site, kind, scope, order);
        if is_load(kind) {
            self.checks.end_load(address, size);
        }
        true
    }

    /// Checks an atomic access that is not done, and publishes what it releases.
    fn begin_atomic(&mut self, event: &Event, address: usize, kind: AtomicKind, scope: Scope, order: Order) {
        let (thread, size) = (event.thread(), event.size);
        match self.threads[thread as usize].ignores {
            0 => self.checks.atomic(thread, address, size, event.site, kind, scope, order),
            _ => self.checks.atomic_unchecked(thread, address, size, kind, scope, order),
        }
    }

    fn of_mut(&mut self, thread: u32) -> &mut Thread {
        &mut self.threads[thread as usize]
    }

    /// Address and kind of an atomic access; `None` if it makes no sense.
    fn atomic_at(&self, event: &Event) -> Option<(usize, AtomicKind)> {
        let fits = matches!(event.size, 1 | 2 | 4 | 8 | 16);
        self.address(event).filter(|_| fits).zip(event.atomic())
    }

    /// Notes that a thread has passed the barrier of the whole block with this number.
    fn barrier(&mut self, number: u32) {
        if number > self.passed {
            self.passed = number;
            self.whole_block();
        }
    }

    /// Orders all threads that have not left: they pass a barrier.
    fn whole_block(&mut self) {
        let threads = (0..).zip(&self.threads);
        self.checks.acquire_at_barrier(threads.filter(|(_, thread)| !thread.left).map(|(n, _)| n));
        self.checks.barrier();
    }

    /// Notes that a thread has passed the sync of all lanes of its warp with this number.
    fn warp_synced(&mut self, warp: u32, number: u32) {
        let synced = &mut self.synced[warp as usize];
        if number > *synced {
            *synced = number;
            self.checks.syncwarp(warp, u32::MAX >> (32 - (self.threads.len() as u32 - warp * 32).min(32)));
        }
    }

    /// Notes that a thread has come to a sync of these lanes of its warp.
    fn warp_arrive(&mut self, thread: u32, lanes: u32) {
        // A thread that is not among the lanes does not wait.
        let waits = lanes >> (thread % 32) & 1 == 1;
        self.threads[thread as usize].lanes = if waits { lanes } else { 0 };
    }

    /// Notes that a thread has passed the sync at which it waits: all lanes that wait there pass it.
    fn warp_passed(&mut self, thread: u32) {
        let (warp, lanes) = (thread / 32, self.threads[thread as usize].lanes);
        if lanes == 0 {
            return;
        }
        let mut synced = 0;
        for (lane, other) in self.threads.iter_mut().skip(warp as usize * 32).take(32).enumerate() {
            let waits = other.lanes == lanes;
            if waits {
                other.lanes = 0;
            }
            // Lanes that have left count as arrived.
            synced |= u32::from(waits || other.left) << lane;
        }
        self.checks.syncwarp(warp, lanes & synced);
    }

    /// Notes that a thread waits at a named barrier.
    fn named_wait(&mut self, thread: u32, number: usize, counted: bool) {
        let waits_at = Some(number as u8);
        self.of_mut(thread).counted = counted;
        if self.threads[thread as usize].waits_at != waits_at {
            self.threads[thread as usize].waits_at = waits_at;
            self.waiting[number].push(thread);
        }
    }

    /// Notes that a thread has passed the named barrier at which it waits: all threads that wait
    /// there pass it.
    fn named_passed(&mut self, thread: u32, number: usize) {
        let waits_at = Some(number as u8);
        if self.threads[thread as usize].waits_at != waits_at {
            return;
        }
        let mut waited = std::mem::take(&mut self.waiting[number]);
        waited.retain(|&t| {
            self.threads[t as usize].waits_at.take_if(|at| usize::from(*at) == number).is_some()
        });
        // A barrier with a number of threads is one of the whole block only if no thread has left.
        let ended = if self.threads[thread as usize].counted { 0 } else { self.left };
        if waited.len() == self.threads.len() - ended {
            return self.whole_block();
        }
        waited.sort_unstable();
        self.checks.acquire_at_barrier(waited.iter().copied());
        self.checks.named_barrier(number as u32, &waited);
    }

    pub(super) fn cluster_arrive(
        &mut self,
        thread: u32,
        order: Order,
        barrier: &mut ClusterBarrier,
        phase: u32,
    ) {
        self.threads[thread as usize].arrived = Some(phase);
        self.checks.cluster_arrive(thread, order, barrier);
    }

    pub(super) fn cluster_passed(&mut self, thread: u32, barrier: &mut ClusterBarrier, phase: &mut u32) {
        let Some(arrived) = self.threads[thread as usize].arrived.take() else { return };
        if arrived == *phase {
            *phase += 1;
            barrier.complete();
        }
        self.checks.acquire_at_barrier([thread]);
        self.checks.cluster_wait(thread, barrier);
    }
}

/// True if [`Event::extra`] says in which block of the cluster the shared memory is.
fn names_peer(event: &Event) -> bool {
    use EventKind::{AsyncArrive, AsyncRead, AsyncWrite, Atomic, AtomicDone, Read, Write};
    matches!(event.kind(), Some(Read | Write | Atomic | AtomicDone | AsyncRead | AsyncWrite | AsyncArrive))
}

fn is_load(kind: AtomicKind) -> bool {
    matches!(kind, AtomicKind::Load | AtomicKind::VolatileLoad)
}
