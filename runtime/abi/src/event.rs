//! The log of a launch on a GPU: what its threads did, in an order in which it happened.
//!
//! Kernels whose threads are ordered by more than barriers of the block and of whole warps keep one, as long as there is room. An
//! event's place in it is taken before what it says happens, but where it is said otherwise, so that whatever orders two events
//! orders their places.
//!
//! `runtime/device/cpp/layout.h` has the same structure; a test of that crate compares sizes and numbers.

use crate::scope::{AtomicKind, Order, Scope};

/// Bits of [`Event::what`]: the thread, then the kind, and what it has to say of atomics and fences.
const KIND_SHIFT: u32 = 10;
const ATOMIC_SHIFT: u32 = KIND_SHIFT + 6;
const SCOPE_SHIFT: u32 = ATOMIC_SHIFT + 3;
const ORDER_SHIFT: u32 = SCOPE_SHIFT + 2;
const SHARED_SHIFT: u32 = ORDER_SHIFT + 3;
/// Of an access through a texture or a surface instead of all of these: geometry, then the two parts of [`Fetch::operation`] that lie higher, then
/// the logarithm of [`Fetch::size`].
const GEOMETRY_SHIFT: u32 = ATOMIC_SHIFT;
const MODE_SHIFT: u32 = GEOMETRY_SHIFT + 3;
const GATHER_SHIFT: u32 = MODE_SHIFT + 2;
const SIZE_SHIFT: u32 = GATHER_SHIFT + 3;

/// What a thread did. Numbers that are not here are none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum EventKind {
    /// Plainly reads [`Event::size`] bytes.
    Read = 1,
    /// Plainly writes them.
    Write = 2,
    /// Begins an atomic or volatile access.
    Atomic = 3,
    /// Has made an atomic or volatile access.
    AtomicDone = 4,
    /// A fence.
    Fence = 5,
    /// Has passed a barrier of the whole block; [`Event::extra`] is greater for later ones. One thread of the block at least says so, before any that has passed
    /// it does anything else.
    Barrier = 6,
    /// Comes to a `__syncwarp` of the lanes in [`Event::address`], not all of its warp's.
    WarpArrive = 7,
    /// Has passed it; or, where [`Event::extra`] is not 0, one of all lanes of its warp. That is greater for later ones, and one of those that come on
    /// together says so.
    WarpPassed = 8,
    /// Comes to the barrier of the block with the number that [`Event::address`] is; [`Event::extra`] is a [`NamedWait`].
    NamedArrive = 9,
    /// Has passed it.
    NamedPassed = 10,
    /// An asynchronous copy of it begins to read.
    AsyncRead = 11,
    /// An asynchronous copy of it begins to write.
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
    /// Does something that may order threads and that nothing more is known of.
    Unknown = 18,
    /// Ends, with the others of its warp's lanes that are in [`Event::address`], if any are.
    Leave = 19,
    /// From here on its accesses are not checked ([`Event::extra`] 1), until as many events with 0.
    Ignore = 20,
    /// Races on [`Event::size`] bytes are meant.
    Benign = 21,
    /// With [`Event::extra`] 0: what it has done is before what comes after such events with 1 and the same address.
    Happens = 22,
    /// The third and the fourth coordinate of its next access through a texture or a surface, in the lower and the upper half of
    /// [`Event::address`].
    Coordinates = 23,
    /// Fetches through the texture that [`Event::address`] is the handle of; [`Event::size`] and [`Event::extra`] are the first two
    /// coordinates. Which memory that is follows from what the handle stands for.
    Fetch = 24,
    /// Reads from a surface, likewise.
    SurfaceRead = 25,
    /// Writes to a surface, likewise.
    SurfaceWrite = 26,
}

impl EventKind {
    /// All of them, by number, from 1 on.
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

/// What an access through a texture or a surface is, but for the handle and the coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetch {
    /// [`EventKind::Fetch`], [`EventKind::SurfaceRead`] or [`EventKind::SurfaceWrite`].
    pub kind: EventKind,
    /// As the executor's entry points take it: the geometry in bits 0 to 7; of a texture integer coordinates in bit 8 and a
    /// gather of component n - 1 in bits 16 to 19; of a surface in bits 8 and 9 what happens outside.
    pub operation: u32,
    /// Bytes of an access to a surface, a power of two up to 16; 1 for a texture.
    pub size: u32,
}

impl Fetch {
    /// [`Event::what`], but for the thread.
    pub const fn pack(&self) -> u32 {
        (self.kind as u32) << KIND_SHIFT
            | (self.operation & 7) << GEOMETRY_SHIFT
            | (self.operation >> 8 & 3) << MODE_SHIFT
            | (self.operation >> 16 & 7) << GATHER_SHIFT
            | self.size.trailing_zeros() << SIZE_SHIFT
    }
}

/// For whom a thread waits at a barrier with a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum NamedWait {
    /// It only arrives.
    None = 0,
    /// All threads of the block that have not ended.
    WholeBlock = 1,
    /// As many as the instruction says.
    Counted = 2,
}

/// One event.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Generic address of global memory, offset in the block's shared memory, or as [`EventKind`] says.
    pub address: u64,
    /// The thread's block, linear.
    pub block: u32,
    /// Thread, kind, and what atomics and fences are; 0 for an event that is not written.
    pub what: u32,
    /// Site of an access.
    pub site: u32,
    /// Its bytes.
    pub size: u32,
    /// As [`EventKind`] says. Of an access to the shared memory of another block of the cluster that block's rank, and 1 more.
    pub extra: u32,
    /// 1 for an event that is written: what a GPU writes at once to its host are 16 bytes.
    pub complete: u32,
}

impl Event {
    /// The thread, linear in its block.
    pub const fn thread(&self) -> u32 {
        self.what & ((1 << KIND_SHIFT) - 1)
    }

    /// What it did.
    pub fn kind(&self) -> Option<EventKind> {
        let number = self.what >> KIND_SHIFT & ((1 << (ATOMIC_SHIFT - KIND_SHIFT)) - 1);
        EventKind::ALL.get(number.checked_sub(1)? as usize).copied()
    }

    /// Of an atomic access.
    pub const fn atomic(&self) -> Option<AtomicKind> {
        AtomicKind::from_u32(self.what >> ATOMIC_SHIFT & 7)
    }

    /// Of an atomic access or a fence.
    pub const fn scope(&self) -> Option<Scope> {
        Scope::from_u32(self.what >> SCOPE_SHIFT & 3)
    }

    /// Of an atomic access, a fence, an arrival at the barrier of a cluster.
    pub const fn order(&self) -> Option<Order> {
        Order::from_u32(self.what >> ORDER_SHIFT & 7)
    }

    /// Whether [`Event::address`] is an offset in the block's shared memory.
    pub const fn is_shared(&self) -> bool {
        self.what >> SHARED_SHIFT & 1 == 1
    }

    /// Of an access through a texture or a surface.
    pub fn fetch(&self) -> Option<Fetch> {
        let kind = self.kind()?;
        if !matches!(kind, EventKind::Fetch | EventKind::SurfaceRead | EventKind::SurfaceWrite) {
            return None;
        }
        let part = |shift: u32, bits: u32| self.what >> shift & ((1 << bits) - 1);
        let operation = part(GEOMETRY_SHIFT, 3) | part(MODE_SHIFT, 2) << 8 | part(GATHER_SHIFT, 3) << 16;
        Some(Fetch { kind, operation, size: 1 << part(SIZE_SHIFT, 3) })
    }

    /// Whether it is written.
    pub const fn is_complete(&self) -> bool {
        self.what != 0 && self.complete != 0
    }

    /// What [`Event::what`] is for such an event.
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

/// What lies before a log's first event: a place of the same size.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogHead {
    /// Once the launch is over, how many events it has or would have had, and 1 more.
    pub over: u64,
    /// Accesses of which the shadow words keep no record, though the log has them: what may overlap the launch does not meet them.
    pub held: u64,
    /// Nothing.
    pub unused: [u64; 2],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_say_what_they_are_made_of() {
        assert_eq!(size_of::<Event>(), size_of::<LogHead>());
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
    fn fetches_say_what_they_are_made_of() {
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
