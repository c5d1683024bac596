//! One device thread of a resident block.

use gpurace_abi::context::ThreadCtx;

use crate::collective::Collective;
use crate::fault::FaultKind;
use crate::fiber::{JumpFiber, JumpHandle};
use crate::stack::SlabStack;

/// The state of a device thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)] // Debuggers read which one it is.
pub(crate) enum LaneState {
    /// It has not started.
    Fresh,
    /// It runs, or may run.
    Ready,
    /// It gave way to the others and may run in the next round.
    Yielded,
    /// It waits at a block barrier.
    AtBarrier(u32),
    /// It waits at the barrier of the cluster.
    AtCluster,
    /// It waits for the other lanes of the mask.
    InCollective(Collective, u32),
    /// It asked which lanes are active.
    Asking,
    /// It has exited.
    Exited,
    /// It faulted; the block has the [`LaneFault`].
    Faulted,
}

/// One device thread. Its context comes first: entry points find the lane at the address of the
/// context that they are given.
#[repr(C)]
pub(crate) struct Lane {
    pub(crate) ctx: ThreadCtx,
    pub(crate) handle: JumpHandle,
    pub(crate) fiber: Option<JumpFiber>,
    /// Its stack, once it has started.
    pub(crate) stack: Option<SlabStack>,
    pub(crate) state: LaneState,
    /// The synchronisation instruction that it waits at.
    pub(crate) sync: u32,
    /// The site of its last checked atomic access.
    pub(crate) site: Option<u32>,
    /// The result of the collective that it waited in.
    pub(crate) result: u64,
    /// Digests of its private state, as it was at the last times that it yielded with another one.
    pub(crate) digests: [u64; 4],
    /// Digest of the calls that led to its question which lanes are active.
    pub(crate) asked_from: u64,
    /// Calls of `__gpurace_ignore(1)` without a matching call with 0.
    pub(crate) ignoring: u32,
    /// Atomic accesses that have begun and are not complete.
    pub(crate) in_atomic: u32,
    /// In a drawn schedule, it gives way after this share of its atomic accesses, in quarters.
    pub(crate) slowness: u32,
}

/// How a thread faulted.
#[derive(Clone, Debug)]
pub(crate) struct LaneFault {
    pub(crate) kind: FaultKind,
    pub(crate) message: String,
    pub(crate) sync: Option<u32>,
    /// The processor raised it.
    pub(crate) by_signal: bool,
    /// The access that faulted, if the block frame has it.
    pub(crate) access: Option<LastAccess>,
    /// The address of the instruction, if the processor raised it.
    pub(crate) instruction: Option<usize>,
}

/// The last access to an address that threads of a block left in the block frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LastAccess {
    /// Linear index of the thread.
    pub(crate) thread: u32,
    /// Site of the access.
    pub(crate) site: u32,
    pub(crate) writes: bool,
}
