//! The threads of a history, and what they do.

use gpurace_check::{AtomicKind, Order, Scope};

/// A thread: its index in [`Machine::threads`].
pub type Thread = usize;

/// The threads of a history.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Launch, block in the launch, linear thread in the block.
    pub threads: Vec<(usize, u64, u32)>,
    /// For each launch, those that it is not ordered after.
    pub unordered: Vec<Vec<usize>>,
    /// The launches whose kernels have only barriers and syncs of whole warps.
    pub regular: Vec<usize>,
    /// Number of blocks of a cluster; 0 without clusters.
    pub cluster: u64,
    /// Volatile accesses race as relaxed atomics at system scope do.
    pub relaxed_volatile: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Read,
    Write,
    Atomic(AtomicKind, Scope, Order),
}

impl Op {
    /// An access of this kind. The scope of a volatile one is always the system.
    pub fn atomic(kind: AtomicKind, scope: Scope, order: Order) -> Self {
        match Op::Atomic(kind, scope, order) {
            op if op.is_volatile() => Op::Atomic(kind, Scope::System, order),
            op => op,
        }
    }

    pub fn modifies(self) -> bool {
        match self {
            Op::Read => false,
            Op::Write => true,
            Op::Atomic(kind, ..) => !matches!(kind, AtomicKind::Load | AtomicKind::VolatileLoad),
        }
    }

    pub(super) fn reads_atomically(self) -> bool {
        match self {
            Op::Read | Op::Write => false,
            Op::Atomic(kind, ..) => !matches!(kind, AtomicKind::Store | AtomicKind::VolatileStore),
        }
    }

    pub fn is_volatile(self) -> bool {
        matches!(self, Op::Atomic(AtomicKind::VolatileLoad | AtomicKind::VolatileStore, ..))
    }

    /// The threads to which it is atomic; `None` for a plain access.
    pub(super) fn scope(self) -> Option<Scope> {
        match self {
            Op::Read | Op::Write => None,
            Op::Atomic(_, scope, _) => Some(scope),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    Access {
        thread: Thread,
        op: Op,
        address: usize,
        size: usize,
        site: u32,
    },
    Fence {
        thread: Thread,
        scope: Scope,
        order: Order,
    },
    /// One side of an asynchronous copy.
    Copy {
        thread: Thread,
        op: Op,
        address: usize,
        size: usize,
        site: u32,
    },
    /// The thread's copies so far become a group.
    Commit {
        thread: Thread,
    },
    /// The thread waits for all its groups but the last `but`.
    CopyWait {
        thread: Thread,
        but: u32,
    },
    /// A releasing read-modify-write that happens when the thread's copies so far are done.
    CopyArrive {
        thread: Thread,
        address: usize,
        size: usize,
        site: u32,
    },
    /// Lanes of a warp sync.
    Syncwarp {
        launch: usize,
        block: u64,
        warp: u32,
        mask: u32,
    },
    Barrier {
        launch: usize,
        block: u64,
    },
    Arrive {
        thread: Thread,
        barrier: u32,
    },
    /// A barrier at which these threads of one block waited.
    NamedBarrier {
        barrier: u32,
        waited: Vec<Thread>,
    },
    /// The thread arrives at the barrier of its cluster.
    ClusterArrive {
        thread: Thread,
        order: Order,
    },
    /// A phase of a cluster's barrier is over. `first`: the first block of the cluster.
    ClusterOver {
        launch: usize,
        first: u64,
    },
    ClusterWait {
        thread: Thread,
    },
}

impl Event {
    /// True if it orders threads by less than device scope.
    pub fn is_narrow_order(&self) -> bool {
        match *self {
            Self::Access { op: Op::Atomic(_, scope, order), .. } => {
                scope < Scope::Device && order != Order::Relaxed
            }
            Self::Fence { scope, .. } => scope < Scope::Device,
            Self::CopyArrive { .. } => true,
            _ => false,
        }
    }

    /// The thread of an event of one thread.
    pub fn thread(&self) -> Option<Thread> {
        match *self {
            Self::Access { thread, .. }
            | Self::Fence { thread, .. }
            | Self::Copy { thread, .. }
            | Self::Commit { thread }
            | Self::CopyWait { thread, .. }
            | Self::CopyArrive { thread, .. }
            | Self::ClusterArrive { thread, .. }
            | Self::ClusterWait { thread }
            | Self::Arrive { thread, .. } => Some(thread),
            Self::Syncwarp { .. }
            | Self::Barrier { .. }
            | Self::ClusterOver { .. }
            | Self::NamedBarrier { .. } => None,
        }
    }
}
