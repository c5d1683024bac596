//! The device thread that runs on the current OS thread: its lane, its block, and how it stops.

use gpurace_abi::context::ThreadCtx;

use crate::block::{Block, Lane, LaneFault, LaneState};
use crate::fault::FaultKind;
use crate::fiber::{Fiber, JumpFiber};

/// The lane of a context.
pub(crate) fn lane_of(ctx: *mut ThreadCtx) -> *mut Lane {
    // A lane begins with its context.
    ctx.cast()
}

/// The block of a context.
///
/// # Safety
/// `ctx` is that of a running device thread.
pub(crate) unsafe fn block_of(ctx: *mut ThreadCtx) -> *mut Block {
    // SAFETY: `Block::bind` put it there.
    unsafe { (*ctx).block.cast() }
}

/// Switches to the scheduler until the lane is resumed.
///
/// # Safety
/// `lane` runs on the current fiber, and no reference into the block is held.
pub(crate) unsafe fn suspend(lane: *mut Lane) {
    // SAFETY: the handle is that of the lane's fiber, which runs.
    unsafe { JumpFiber::suspend((*lane).handle) };
}

/// Ends the launch with a fault of this thread; does not return.
///
/// # Safety
/// `ctx` is that of the running device thread.
pub(crate) unsafe fn fail(ctx: *mut ThreadCtx, kind: FaultKind, message: String, sync: Option<u32>) -> ! {
    // SAFETY: the thread runs, so its lane and block are live.
    unsafe {
        let lane = lane_of(ctx);
        (*block_of(ctx)).fault =
            Some(LaneFault { kind, message, sync, by_signal: false, access: None, instruction: None });
        loop {
            (*lane).state = LaneState::Faulted;
            suspend(lane);
        }
    }
}

/// True if the thread runs in a loop over threads, where it cannot wait.
///
/// # Safety
/// The block is bound to a live launch.
pub(crate) unsafe fn in_loop(b: *const Block) -> bool {
    // SAFETY: the caller's.
    unsafe { !(*(*b).launch).suspends }
}

/// Ends the launch: a thread in a loop would have to wait.
///
/// # Safety
/// As [`fail`].
pub(crate) unsafe fn fail_in_loop(ctx: *mut ThreadCtx, sync: u32) -> ! {
    // SAFETY: the caller's.
    unsafe {
        fail(
            ctx,
            FaultKind::Unsupported("synchronisation that the kernel's description leaves out".into()),
            "synchronisation in a kernel that is described as having none".into(),
            Some(sync),
        )
    }
}
