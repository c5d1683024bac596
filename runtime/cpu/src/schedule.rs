//! Runs the threads of one block, each until it must wait.
//!
//! A *round* ends when no thread is ready. Then the threads that gave way are ready again. The seed says
//! which warps and lanes come first ([`Choice`](crate::launch::Choice)). Unless every choice is drawn, the
//! scheduler leaves a warp when none of its lanes is ready.

use std::sync::atomic::Ordering;

use gpurace_abi::LaunchShape;
use gpurace_abi::context::{ThreadCtx, WARP_SIZE};

use crate::block::{Block, BlockMemory, Lane, LaneFault, LaneState};
use crate::checks;
use crate::fault::{Fault, FaultKind};
use crate::fiber::{Fiber, JumpFiber, JumpHandle, Turn};
use crate::signal::Raised;
use crate::sync;
use crate::thread::block_of;

/// The state of a block after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockTurn {
    /// All its threads have exited.
    Finished,
    /// All rounds of the turn are over, and threads gave way in each.
    Yielding {
        /// True if a thread changed its private state in them.
        moved: bool,
    },
    /// No thread can go on.
    Stuck,
    /// This thread faulted; [`Block::fault`] has the fault.
    Faulted(*const Lane),
    /// Another worker's fault ended the launch.
    Aborted,
}

/// Runs block `b` until it ends, at most for `rounds` rounds.
///
/// # Safety
/// `b` is live, bound and started, and the current OS thread has entered
/// [`crate::signal::enter`] with the block's `running`.
pub(crate) unsafe fn run(b: *mut Block, rounds: u32) -> BlockTurn {
    // SAFETY: the caller's.
    unsafe { if (*(*b).launch).suspends { run_threads(b, rounds) } else { run_loop(b) } }
}

/// What [`run`] does if each thread has a stack of its own.
unsafe fn run_threads(b: *mut Block, rounds: u32) -> BlockTurn {
    // SAFETY: the caller's; no reference into the block is held while a fiber runs.
    unsafe {
        let launch = (*b).launch;
        let mut moved = false;
        for _ in 0..rounds {
            while (*b).warps.ready() != 0 {
                if (*launch).abort.load(Ordering::Relaxed) {
                    return BlockTurn::Aborted;
                }
                let w = choose(b, (*b).warps.ready(), (*b).threads().div_ceil(WARP_SIZE)) as usize;
                let before = (*b).steps();
                if let Some(lane) = run_warp(b, w) {
                    return BlockTurn::Faulted(lane);
                }
                (*launch).count_steps((*b).steps() - before);
            }
            if (*b).live() == 0 {
                return BlockTurn::Finished;
            }
            if !(*b).warps.next_round() {
                return BlockTurn::Stuck;
            }
            moved |= (*b).moved;
            (*b).moved = false;
        }
        BlockTurn::Yielding { moved }
    }
}

/// The warp or lane to run of those whose bits are set, of `count`.
unsafe fn choose(b: *mut Block, ready: u32, count: u32) -> u32 {
    // SAFETY: as in `run_threads`.
    unsafe {
        match &mut (*b).rng {
            Some(rng) => rng.bit_of(ready),
            None => (*(*b).launch).choice.bit(ready, count),
        }
    }
}

/// Runs lanes of warp `w`: all that are ready or, in a drawn schedule, one of them. Returns the lane
/// that faulted, if one did.
unsafe fn run_warp(b: *mut Block, w: usize) -> Option<*const Lane> {
    // SAFETY: as in `run_threads`.
    unsafe {
        let warp = &raw mut *(*b).warps.warp(w);
        while (*warp).ready() != 0 {
            let l = choose(b, (*warp).ready(), WARP_SIZE);
            (*warp).take(l);
            let lane = Block::lane(b, w * 32 + l as usize);
            match resume(b, lane) {
                Turn::Suspended => match (*lane).state {
                    LaneState::Yielded => (*b).warps.yield_lane(w, l),
                    LaneState::Asking => (*warp).ask(l),
                    // Its fiber is dropped with stack frames on it.
                    LaneState::Exited => sync::retire(b, w, l),
                    LaneState::Faulted => return Some(lane),
                    LaneState::AtBarrier(_) | LaneState::AtCluster | LaneState::InCollective(..) => {}
                    // No other lane runs before this one is suspended.
                    LaneState::Fresh | LaneState::Ready => {}
                },
                Turn::Finished => sync::retire(b, w, l),
                Turn::Trapped => {
                    note_trap(b, lane);
                    return Some(lane);
                }
            }
            if (*warp).ready() == 0 && (*warp).asking() != 0 {
                sync::answer_active(b, w);
            }
            if (*b).rng.is_some() {
                break;
            }
        }
        (*b).warps.leave(w);
        None
    }
}

/// Gives a lane its turn. Makes its fiber first if it has not started.
unsafe fn resume(b: *mut Block, lane: *mut Lane) -> Turn {
    // SAFETY: the lane is live; its stack is used by no other fiber.
    unsafe {
        if (*lane).state == LaneState::Fresh {
            (*b).moved = true;
            if let Err(error) = Block::start_fiber(b, lane, thread_body) {
                return without_stack(b, lane, &error);
            }
        }
        resume_fiber(b, lane)
    }
}

/// Resumes the fiber of a lane, as the fiber that runs on this OS thread.
unsafe fn resume_fiber(b: *mut Block, lane: *mut Lane) -> Turn {
    // SAFETY: the lane is live.
    unsafe {
        (*lane).state = LaneState::Ready;
        (*b).turns += 1;
        let Some(fiber) = &mut (*lane).fiber else { return Turn::Finished };
        let fiber = &raw mut *fiber;
        (*(*b).running).fiber.set(JumpFiber::handle(fiber));
        let turn = JumpFiber::resume(fiber);
        (*(*b).running).fiber.set(JumpHandle::NONE);
        turn
    }
}

/// Makes the fault of a lane for which the system has no stack.
#[cold]
unsafe fn without_stack(b: *mut Block, lane: *mut Lane, error: &std::io::Error) -> Turn {
    let message = format!("no memory for the stack of a thread: {error}");
    let kind = FaultKind::TooManyResources;
    // SAFETY: the block and the lane are live, and no fiber runs.
    unsafe {
        (*lane).state = LaneState::Faulted;
        (*b).fault =
            Some(LaneFault { kind, message, sync: None, by_signal: false, access: None, instruction: None });
    }
    Turn::Suspended
}

/// The body of a thread's fiber: runs the kernel once.
unsafe fn thread_body(lane: *mut u8, handle: JumpHandle) {
    let lane = lane.cast::<Lane>();
    // SAFETY: `Block::start_fiber` passed its lane, which outlives the fiber.
    unsafe {
        (*lane).handle = handle;
        let launch = (*block_of(&raw mut (*lane).ctx)).launch;
        ((*launch).entry)(&raw mut (*lane).ctx, (*launch).args());
    }
}

/// Runs the threads of a kernel that never waits one after the other, or the kernel's block entry.
/// All run in one fiber, which catches faults and overflows as a thread's fiber does.
unsafe fn run_loop(b: *mut Block) -> BlockTurn {
    // SAFETY: as in `run_threads`; a block in a loop has one lane.
    unsafe {
        let lane = Block::lane(b, 0);
        loop {
            if (*(*b).launch).abort.load(Ordering::Relaxed) {
                return BlockTurn::Aborted;
            }
            let is_new = (*lane).fiber.is_none() || (*lane).state == LaneState::Fresh;
            if is_new && let Err(error) = Block::start_fiber(b, lane, loop_body) {
                without_stack(b, lane, &error);
                return BlockTurn::Faulted(lane);
            }
            match resume_fiber(b, lane) {
                Turn::Finished => {
                    (*b).finish();
                    return BlockTurn::Finished;
                }
                Turn::Trapped => {
                    note_trap(b, lane);
                    return BlockTurn::Faulted(lane);
                }
                Turn::Suspended if (*lane).state == LaneState::Exited => {
                    // A thread has exited with stack frames on the fiber: the rest run in a new
                    // one.
                    (*lane).fiber = None;
                }
                Turn::Suspended => return BlockTurn::Faulted(lane),
            }
        }
    }
}

/// The body of the fiber that runs a block's threads as a loop, or its block entry.
unsafe fn loop_body(lane: *mut u8, handle: JumpHandle) {
    let lane = lane.cast::<Lane>();
    // SAFETY: as in `thread_body`.
    unsafe {
        (*lane).handle = handle;
        let ctx = &raw mut (*lane).ctx;
        let b = block_of(ctx);
        let launch = (*b).launch;
        let (entry, args) = ((*launch).entry, (*launch).args());
        if let Some(block_entry) = (*launch).block_entry {
            let frame = (*b).frame.address();
            (block_entry.run)(ctx, args, frame);
            while Block::go_on(b) {
                (block_entry.run)(ctx, args, frame);
            }
            (*launch).count_steps(u64::from((*b).threads()) + (*b).steps());
            return;
        }
        let (threads, shape) = ((*b).threads(), (*launch).shape);
        while let Some(linear) = (*b).order.next(threads) {
            let before = (*b).steps();
            set_thread(ctx, linear, &shape);
            entry(ctx, args);
            if !(*launch).count_steps(1 + (*b).steps() - before) {
                return;
            }
        }
    }
}

/// Makes `ctx` that of another thread of the block.
unsafe fn set_thread(ctx: *mut ThreadCtx, linear: u32, shape: &LaunchShape) {
    // SAFETY: the lane is live and its kernel does not run.
    unsafe {
        (*ctx).tid = if linear < shape.block[0] { [linear, 0, 0] } else { shape.thread_index(linear) };
        (*ctx).linear_tid = linear;
        checks::begin_thread(ctx);
        (*ctx).lane = linear % 32;
        (*ctx).warp = linear / 32;
    }
}

/// Makes the block's fault from the signal that a thread raised.
unsafe fn note_trap(b: *mut Block, lane: *const Lane) {
    // SAFETY: the block and the lane are live, and no fiber runs.
    unsafe {
        let mut raised = (*(*b).running).raised.take();
        let in_rows = (*(*b).launch).block_entry.is_some() && (*b).checks.is_some();
        let address = raised.as_ref().and_then(|raised| raised.address);
        let instruction = raised.as_ref().map(|raised| raised.instruction);
        let access = in_rows.then(|| checks::hand_over_after_fault(b, address)).flatten();
        if let (Some(raised), Some(access)) = (&mut raised, access) {
            // A checked write first reads the value before it.
            raised.write |= access.writes;
        }
        let (kind, message) = describe(raised, &*lane, &(*b).memory);
        (*b).fault = Some(LaneFault { kind, message, sync: None, by_signal: true, access, instruction });
    }
}

/// The kind of a fault that a signal raised, and its message.
fn describe(raised: Option<Raised>, lane: &Lane, memory: &BlockMemory) -> (FaultKind, String) {
    let Some(raised) = raised else {
        return (FaultKind::Trap, "trap".into());
    };
    match (raised.signal, raised.address) {
        (libc::SIGSEGV, Some(address)) if overflows(lane, address, raised.stack_pointer) => {
            (FaultKind::StackOverflow, "stack overflow".into())
        }
        (libc::SIGFPE, _) => (FaultKind::Arithmetic, "arithmetic error".into()),
        (libc::SIGILL, _) => (FaultKind::Trap, "trap".into()),
        (_, Some(address)) => match memory.guarded_offset(address) {
            Some(offset) => (
                FaultKind::LeavesShared { offset },
                format!("illegal {} beside the shared memory of the block", access(raised.write)),
            ),
            None => (
                FaultKind::IllegalAddress { address: Some(address as u64), write: raised.write },
                format!("illegal {} of address {address:#x}", access(raised.write)),
            ),
        },
        (_, None) => (
            FaultKind::IllegalAddress { address: None, write: raised.write },
            "illegal access of an address outside the address space".into(),
        ),
    }
}

/// True if an access to `address` shows that the stack of a lane has grown into its guard pages.
fn overflows(lane: &Lane, address: usize, stack_pointer: usize) -> bool {
    lane.stack.is_some_and(|stack| stack.overflows(address, stack_pointer))
}

fn access(write: bool) -> &'static str {
    if write { "write" } else { "read" }
}

/// Ends the launch with the fault of a thread.
///
/// # Safety
/// `block` and `lane` are live and no fiber of the block runs.
pub(crate) unsafe fn fail_thread(block: *const Block, lane: *const Lane) {
    // SAFETY: the caller's; the block's launch outlives it.
    let (b, l, launch) = unsafe { (&*block, &*lane, &*(*block).launch) };
    let Some(fault) = &b.fault else { return };
    // In a vectorised loop over all threads, the context does not name the thread that faulted.
    let current = || (launch.names_threads() || !fault.by_signal).then_some(l.ctx.tid);
    launch.fail(Fault {
        kind: fault.kind.clone(),
        kernel: String::new(),
        block: Some(b.ctaid()),
        thread: fault.access.map(|access| launch.shape.thread_index(access.thread)).or_else(current),
        sync: fault.sync,
        site: fault.access.map(|access| access.site).or(l.site),
        is_at_site: fault.access.is_some(),
        instruction: fault.instruction,
        message: fault.message.clone(),
    });
}
