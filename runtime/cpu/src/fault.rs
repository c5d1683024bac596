//! What ends a launch before its time, and what is wrong with one that ends.

use std::fmt;

/// Why a launch ended with an error.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// An access to an address that is not mapped.
    IllegalAddress {
        /// The address, or `None` where the processor does not tell it
        /// (a non-canonical address).
        address: Option<u64>,
        /// Whether it was written.
        write: bool,
    },
    /// `trap`, or an instruction that the compiler made unreachable.
    Trap,
    /// A failed `assert`.
    Assert,
    /// A thread ran out of stack.
    StackOverflow,
    /// The kernel reached something that the executor cannot run.
    Unsupported(String),
    /// Threads wait in loops for something that no thread will do.
    Deadlock,
    /// A barrier of a cluster used as PTX leaves undefined.
    Barrier,
    /// The processor refused an arithmetic operation (`SIGFPE`).
    Arithmetic,
    /// The system has not the memory or the mappings that the launch needs.
    TooManyResources,
    /// More blocks than can be resident together in a cooperative launch.
    CooperativeLaunchTooLarge {
        /// How many can.
        max_blocks: u64,
    },
    /// A grid or block of a size that CUDA does not allow.
    InvalidConfiguration,
}

/// The error that ended a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// What happened.
    pub kind: FaultKind,
    /// The kernel, by its mangled name.
    pub kernel: String,
    /// `blockIdx` of the thread that faulted.
    pub block: Option<[u32; 3]>,
    /// `threadIdx` of the thread that faulted.
    pub thread: Option<[u32; 3]>,
    /// Index of the synchronisation instruction that it was at
    /// ([`ModuleMeta::syncs`](gpurace_abi::meta::ModuleMeta::syncs)).
    pub sync: Option<u32>,
    /// Index of the last checked atomic access that it made
    /// ([`ModuleMeta::sites`](gpurace_abi::meta::ModuleMeta::sites)); known
    /// only in checked launches.
    pub site: Option<u32>,
    /// What happened, in words, without the kernel and the thread.
    pub message: String,
}

impl Fault {
    /// A fault that belongs to no thread.
    pub(crate) fn of_launch(kind: FaultKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            kernel: String::new(),
            block: None,
            thread: None,
            sync: None,
            site: None,
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

/// What threads of a block wait at.
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
    /// What it is.
    pub kind: WaitKind,
    /// How many threads.
    pub threads: u32,
    /// `threadIdx` of the first of them.
    pub example: [u32; 3],
}

/// Threads of a block by where they wait.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    pub(crate) waiting: Vec<Waiting>,
}

impl Groups {
    /// Adds a thread.
    pub(crate) fn add(&mut self, sync: u32, kind: WaitKind, thread: [u32; 3]) {
        match self.waiting.iter_mut().find(|w| w.sync == sync && w.kind == kind) {
            Some(group) => group.threads += 1,
            None => self.waiting.push(Waiting { sync, kind, threads: 1, example: thread }),
        }
    }
}

/// What is wrong with threads of a block that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DivergenceReason {
    /// No thread of the block can go on; the block was abandoned.
    Stuck,
    /// A collective's mask does not name its caller, which PTX leaves
    /// undefined; the caller went on with its own value.
    CallerNotInMask,
    /// A barrier of the whole block opened for threads that wait at several
    /// places in the source; they went on.
    Scattered,
}

/// Threads of a block that wait for threads that do not come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// What is wrong.
    pub reason: DivergenceReason,
    /// `blockIdx`.
    pub block: [u32; 3],
    /// Who waits where.
    pub waiting: Vec<Waiting>,
    /// How many threads have exited.
    pub exited: u32,
    /// `threadIdx` of the first of them.
    pub exited_example: Option<[u32; 3]>,
}
