//! The event log of a launch on a GPU: what its threads did, in an order in which it happened.
//!
//! A launch keeps one if its threads may be ordered by more than barriers of the block and of whole
//! warps. If the log is full, its blocks log nothing more. A thread logs an event before it acts,
//! unless [`EventKind`] says otherwise. If something orders two actions, their events have the same
//! order in the log.
//!
//! `runtime/device/cpp/layout.h` has the same structures; a test of that crate compares sizes and
//! numbers.

use crate::scope::{AtomicKind, Order, Scope};

/// Bits of [`Event::what`]: the thread, the kind, and for atomics and fences their kind, scope and
/// order.
const KIND_SHIFT: u32 = 10;
const ATOMIC_SHIFT: u32 = KIND_SHIFT + 6;
const SCOPE_SHIFT: u32 = ATOMIC_SHIFT + 3;
const ORDER_SHIFT: u32 = SCOPE_SHIFT + 2;
const SHARED_SHIFT: u32 = ORDER_SHIFT + 3;
/// For an access to a texture or surface these follow the kind instead: the geometry, the two
/// higher parts of [`Fetch::operation`], the logarithm of [`Fetch::size`].
const GEOMETRY_SHIFT: u32 = ATOMIC_SHIFT;
const MODE_SHIFT: u32 = GEOMETRY_SHIFT + 3;
const GATHER_SHIFT: u32 = MODE_SHIFT + 2;
const SIZE_SHIFT: u32 = GATHER_SHIFT + 3;

/// What a thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum EventKind {
    /// Reads [`Event::size`] bytes, not atomically.
    Read = 1,
    /// Writes them, not atomically.
    Write = 2,
    /// Begins an atomic or volatile access.
    Atomic = 3,
    /// Has made an atomic or volatile access.
    AtomicDone = 4,
    /// A fence.
    Fence = 5,
    /// Has passed a barrier of the whole block. [`Event::extra`] increases from barrier to barrier.
    /// At least one thread of the block logs it, before any thread logs anything else behind the
    /// barrier.
    Barrier = 6,
    /// Comes to a `__syncwarp` of the lanes in [`Event::address`], which are not all of its warp.
    WarpArrive = 7,
    /// Has passed such a `__syncwarp`. If [`Event::extra`] is not 0: has passed one of all lanes of
    /// its warp. One of the lanes logs that, and the number increases.
    WarpPassed = 8,
    /// Comes to the barrier of the block with number [`Event::address`]; [`Event::extra`] is a
    /// [`NamedWait`].
    NamedArrive = 9,
    /// Has passed it.
    NamedPassed = 10,
    /// Its asynchronous copy begins to read.
    AsyncRead = 11,
    /// Its asynchronous copy begins to write.
    AsyncWrite = 12,
    /// Its copies so far become a group.
    AsyncCommit = 13,
    /// Has waited for all of its groups but the last [`Event::extra`].
    AsyncWait = 14,
    /// Its next arrival at the mbarrier happens when its copies so far are done.
    AsyncArrive = 15,
    /// Arrives at the barrier of the cluster.
    ClusterArrive = 16,
    /// Has passed it.
    ClusterPassed = 17,
    /// Does something unknown that may order threads.
    Unknown = 18,
    /// Ends, together with the lanes of its warp in [`Event::address`].
    Leave = 19,
    /// With [`Event::extra`] 1: its accesses are not checked from here on, until as many events
    /// with 0 follow.
    Ignore = 20,
    /// Races on [`Event::size`] bytes are intended.
    Benign = 21,
    /// With [`Event::extra`] 0: what it has done happens before everything behind later events with
    /// 1 and the same address.
    Happens = 22,
    /// The third and the fourth coordinate of its next access to a texture or surface, in the lower
    /// and the upper half of [`Event::address`].
    Coordinates = 23,
    /// Fetches from the texture whose handle is [`Event::address`]. [`Event::size`] and
    /// [`Event::extra`] are the first two coordinates.
    Fetch = 24,
    /// Reads from a surface, with the same fields.
    SurfaceRead = 25,
    /// Writes to a surface, with the same fields.
    SurfaceWrite = 26,
}

impl EventKind {
    /// All kinds, by number, from 1 on.
    pub const ALL: [Self; 26] = [
        Self::Read,
        Self::Write,
        Self::Atomic,
        Self::AtomicDone,
        Self::Fence,
        Self::Barrier,
        Self::WarpArrive,
        Self::WarpPassed,
        Self::NamedArrive,
        Self::NamedPassed,
        Self::AsyncRead,
        Self::AsyncWrite,
        Self::AsyncCommit,
        Self::AsyncWait,
        Self::AsyncArrive,
        Self::ClusterArrive,
        Self::ClusterPassed,
        Self::Unknown,
        Self::Leave,
        Self::Ignore,
        Self::Benign,
        Self::Happens,
        Self::Coordinates,
        Self::Fetch,
        Self::SurfaceRead,
        Self::SurfaceWrite,
    ];
}

/// An access to a texture or surface, without handle and coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// [`EventKind::Fetch`], [`EventKind::SurfaceRead`] or [`EventKind::SurfaceWrite`].
    pub kind: EventKind,
    /// As in [`FetchPoint::operation`](crate::texture::FetchPoint::operation).
    pub operation: u32,
    /// Bytes of an access to a surface, a power of two up to 16; 1 for a texture.
    pub size: u32,
}

impl Fetch {
    /// [`Event::what`] without the thread.
    pub const fn pack(&self) -> u32 {
        (self.kind as u32) << KIND_SHIFT
            | (self.operation & 7) << GEOMETRY_SHIFT
            | (self.operation >> 8 & 3) << MODE_SHIFT
            | (self.operation >> 16 & 7) << GATHER_SHIFT
            | self.size.trailing_zeros() << SIZE_SHIFT
    }
}

/// The threads that a thread waits for at a barrier with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum NamedWait {
    /// None: it only arrives.
    None = 0,
    /// All threads of the block that have not ended.
    WholeBlock = 1,
    /// As many as the instruction counts.
    Counted = 2,
}

/// One event.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Generic address of global memory, or offset in the block's shared memory, or a number that
    /// [`EventKind`] describes.
    pub address: u64,
    /// The thread's block, linear.
    pub block: u32,
    /// The packed thread, kind, and further parts; 0 if the event is not written yet.
    pub what: u32,
    /// The access's site.
    pub site: u32,
    /// The access's size in bytes.
    pub size: u32,
    /// A number that [`EventKind`] describes. For an access to the shared memory of another block
    /// of the cluster: 1 + that block's rank.
    pub extra: u32,
    /// 1 if the event is written. `what` alone does not show it: a GPU writes to its host 16 bytes
    /// at a time.
    pub complete: u32,
}

impl Event {
    /// The thread, linear in its block.
    pub const fn thread(&self) -> u32 {
        self.what & ((1 << KIND_SHIFT) - 1)
    }

    /// The kind, if the number is one.
    pub fn kind(&self) -> Option<EventKind> {
        let number = self.what >> KIND_SHIFT & ((1 << (ATOMIC_SHIFT - KIND_SHIFT)) - 1);
        EventKind::ALL.get(number.checked_sub(1)? as usize).copied()
    }

    /// The kind of an atomic access.
    pub const fn atomic(&self) -> Option<AtomicKind> {
        AtomicKind::from_u32(self.what >> ATOMIC_SHIFT & 7)
    }

    /// The scope of an atomic access or a fence.
    pub const fn scope(&self) -> Option<Scope> {
        Scope::from_u32(self.what >> SCOPE_SHIFT & 3)
    }

    /// The order of an atomic access, a fence, or an arrival at the barrier of a cluster.
    pub const fn order(&self) -> Option<Order> {
        Order::from_u32(self.what >> ORDER_SHIFT & 7)
    }

    /// True if [`Event::address`] is an offset in the block's shared memory.
    pub const fn is_shared(&self) -> bool {
        self.what >> SHARED_SHIFT & 1 == 1
    }

    /// The access to a texture or surface, if it is one.
    pub fn fetch(&self) -> Option<Fetch> {
        let kind = self.kind()?;
        if !matches!(kind, EventKind::Fetch | EventKind::SurfaceRead | EventKind::SurfaceWrite) {
            return None;
        }
        let part = |shift: u32, bits: u32| self.what >> shift & ((1 << bits) - 1);
        let operation = part(GEOMETRY_SHIFT, 3) | part(MODE_SHIFT, 2) << 8 | part(GATHER_SHIFT, 3) << 16;
        Some(Fetch { kind, operation, size: 1 << part(SIZE_SHIFT, 3) })
    }

    /// True if the event is written.
    pub const fn is_complete(&self) -> bool {
        self.what != 0 && self.complete != 0
    }

    /// [`Event::what`] of such an event.
    pub const fn pack(
        thread: u32,
        kind: EventKind,
        atomic: AtomicKind,
        scope: Scope,
        order: Order,
        shared: bool,
    ) -> u32 {
        thread
            | (kind as u32) << KIND_SHIFT
            | (atomic as u32) << ATOMIC_SHIFT
            | (scope as u32) << SCOPE_SHIFT
            | (order as u32) << ORDER_SHIFT
            | (shared as u32) << SHARED_SHIFT
    }
}

/// The head of an event log. It lies before the first event, and has the size of one.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventLogHead {
    /// 0 while the launch runs; then 1 + the number of events that it logged or had no room for.
    pub over: u64,
    /// Number of accesses that the log has and no shadow word has a record of: launches that
    /// overlap this one miss races with them.
    pub held: u64,
    /// Padding.
    pub unused: [u64; 2],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_unpack_to_what_was_packed() {
        assert_eq!(size_of::<Event>(), size_of::<EventLogHead>());
        for (n, kind) in EventKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, n + 1);
            let what = Event::pack(1023, kind, AtomicKind::Reduction, Scope::System, Order::SeqCst, true);
            let event = Event { what, ..Event::default() };
            assert_eq!((event.thread(), event.kind()), (1023, Some(kind)));
            assert_eq!((event.atomic(), event.scope()), (Some(AtomicKind::Reduction), Some(Scope::System)));
            assert_eq!((event.order(), event.is_shared()), (Some(Order::SeqCst), true));
        }
        assert_eq!(Event::default().kind(), None);
        assert_eq!(Event { what: 27 << KIND_SHIFT, ..Event::default() }.kind(), None);
    }

    #[test]
    fn fetches_unpack_to_what_was_packed() {
        for kind in EventKind::ALL {
            let is_fetch =
                matches!(kind, EventKind::Fetch | EventKind::SurfaceRead | EventKind::SurfaceWrite);
            for operation in [0, 6, 5 | 1 << 8, 4 | 2 << 8, 1 | 4 << 16] {
                for size in [1, 2, 4, 8, 16] {
                    let fetch = Fetch { kind, operation, size };
                    let event = Event { what: 1023 | fetch.pack(), ..Event::default() };
                    assert_eq!(
                        (event.thread(), event.kind(), event.fetch()),
                        (1023, Some(kind), is_fetch.then_some(fetch))
                    );
                }
            }
        }
    }
}
