//! Faults, which end a launch, and divergence.

use std::fmt;

/// The kind of a [`Fault`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// An access to an address that is not mapped.
    IllegalAddress {
        /// The address, or `None` if the processor does not report it (a non-canonical address).
        address: Option<u64>,
        /// True for a write.
        write: bool,
    },
    /// An access that is not in its shared array.
    LeavesArray {
        /// The array's name in the source.
        name: String,
        /// Its bytes.
        size: u64,
        /// Bytes from its end to the access, or from its start if negative.
        distance: i64,
    },
    /// An access beside the shared memory of its block.
    LeavesShared {
        /// Bytes from the start of shared memory to the access.
        offset: i64,
    },
    /// `trap`, or an instruction that the compiler made unreachable.
    Trap,
    /// A failed `assert`.
    Assert,
    /// A thread ran out of stack.
    StackOverflow,
    /// The kernel reached something that the executor cannot run.
    Unsupported(String),
    /// All threads wait in loops, without progress.
    EndlessWait,
    /// A use of a cluster's barrier that PTX leaves undefined.
    Barrier,
    /// The processor refused an arithmetic operation (`SIGFPE`).
    Arithmetic,
    /// The system lacks the memory or the mappings that the launch needs.
    TooManyResources,
    /// More blocks than can be resident together in a cooperative launch.
    CooperativeLaunchTooLarge {
        /// The number that can be.
        max_blocks: u64,
    },
    /// A grid or block of a size that CUDA does not allow.
    InvalidConfiguration,
}

/// The error that ended a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// Its kind.
    pub kind: FaultKind,
    /// The kernel, by its mangled name.
    pub kernel: String,
    /// `blockIdx` of the thread that faulted.
    pub block: Option<[u32; 3]>,
    /// `threadIdx` of the thread that faulted.
    pub thread: Option<[u32; 3]>,
    /// Index of the synchronisation instruction that the thread was at
    /// ([`ModuleMeta::syncs`](gpurace_abi::meta::ModuleMeta::syncs)).
    pub sync: Option<u32>,
    /// Index of the access that faulted or, if that is not known, of the thread's last checked
    /// atomic access ([`ModuleMeta::sites`](gpurace_abi::meta::ModuleMeta::sites)). Known in
    /// checked launches only.
    pub site: Option<u32>,
    /// The access of `site` is the one that faulted.
    pub is_at_site: bool,
    /// The address of the host instruction that faulted.
    pub instruction: Option<usize>,
    /// The message, without the kernel and the thread.
    pub message: String,
}

impl Fault {
    /// A fault of no particular thread.
    pub(crate) fn of_launch(kind: FaultKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            kernel: String::new(),
            block: None,
            thread: None,
            sync: None,
            site: None,
            is_at_site: false,
            instruction: None,
            message: message.into(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in kernel `{}`", self.message, self.kernel)?;
        if let Some([x, y, z]) = self.block {
            write!(f, ", block ({x},{y},{z})")?;
        }
        if let Some([x, y, z]) = self.thread {
            write!(f, ", thread ({x},{y},{z})")?;
        }
        Ok(())
    }
}

impl std::error::Error for Fault {}

/// The kind of operation that threads wait at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitKind {
    /// A block barrier of this id.
    Barrier(u32),
    /// The barrier of the cluster.
    Cluster,
    /// `__syncwarp` of this mask.
    SyncWarp(u32),
    /// A warp collective (shuffle, vote, match, reduction) of this mask.
    Collective(u32),
}

/// Threads of a block that wait at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Index of the synchronisation instruction
    /// ([`ModuleMeta::syncs`](gpurace_abi::meta::ModuleMeta::syncs)).
    pub sync: u32,
    /// Its kind.
    pub kind: WaitKind,
    /// Number of threads.
    pub threads: u32,
    /// `threadIdx` of the first of them.
    pub example: [u32; 3],
}

/// The kind of a [`Divergence`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DivergenceReason {
    /// No thread of the block can go on; the block was abandoned.
    Stuck,
    /// A collective's mask leaves out its caller, which PTX leaves undefined. The caller went on
    /// with its own value.
    CallerNotInMask,
    /// The threads of a barrier of the whole block waited at several places in the source. They
    /// went on.
    Scattered,
    /// A barrier of the whole block stands under a condition in the source, and threads that skip it had ended. The
    /// others went on.
    Skipped,
}

/// Divergence: threads of a block wait at different barriers, or some have ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// Its kind.
    pub reason: DivergenceReason,
    /// `blockIdx`.
    pub block: [u32; 3],
    /// The threads that wait, by place.
    pub waiting: Vec<Waiting>,
    /// Number of threads that have exited.
    pub exited: u32,
    /// `threadIdx` of the first of them.
    pub exited_example: Option<[u32; 3]>,
}

impl Divergence {
    /// A divergence of a block. Its threads are to be added, the first ones first.
    pub(crate) fn of_block(block: [u32; 3], reason: DivergenceReason) -> Self {
        Self { reason, block, waiting: Vec::new(), exited: 0, exited_example: None }
    }

    /// Adds a thread that waits.
    pub(crate) fn add_waiting(&mut self, sync: u32, kind: WaitKind, thread: [u32; 3]) {
        match self.waiting.iter_mut().find(|w| w.sync == sync && w.kind == kind) {
            Some(group) => group.threads += 1,
            None => self.waiting.push(Waiting { sync, kind, threads: 1, example: thread }),
        }
    }

    /// Adds a thread that has exited.
    pub(crate) fn add_exited(&mut self, thread: [u32; 3]) {
        self.exited += 1;
        self.exited_example.get_or_insert(thread);
    }
}
