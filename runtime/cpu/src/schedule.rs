//! Runs the threads of one block, each until it must wait.
//!
//! A *round* ends when no thread is ready; those that gave way are then ready
//! again. Without a seed, warps and lanes run in order, and a warp is left
//! only when none of its lanes is ready; with one, every choice is drawn.

use std::sync::atomic::Ordering;

use gpurace_abi::context::ThreadCtx;

use crate::block::{Block, Lane, LaneFault, LaneState, unflatten};
use crate::checks;
use crate::fault::FaultKind;
use crate::fiber::{Fiber, JumpFiber, JumpHandle, Turn};
use crate::signal::Raised;
use crate::sync;

/// How far a block came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// All its threads have exited.
    Finished,
    /// Rounds have gone by in which threads only gave way to each other.
    Yielding {
        /// Whether any thread changed its private state in them.
        moved: bool,
    },
    /// No thread can go on.
    Stuck,
    /// This thread faulted; [`Block::fault`] says how.
    Faulted(*const Lane),
    /// Another worker's fault ended the launch.
    Aborted,
}

/// Runs block `b` until it ends or, at most, `rounds` rounds.
///
/// # Safety
/// `b` is live, bound and started, and the current OS thread has entered
/// [`crate::signal::enter`] with the block's `running`.
pub(crate) unsafe fn run(b: *mut Block, rounds: u32) -> Step {
    // SAFETY: passed on.
    unsafe { if (*(*b).launch).suspends { run_threads(b, rounds) } else { run_loop(b) } }
}

unsafe fn run_threads(b: *mut Block, rounds: u32) -> Step {
    // SAFETY: the caller's; no reference into the block is held while a fiber runs.
    unsafe {
        let launch = (*b).launch;
        let mut moved = false;
        for _ in 0..rounds {
            while (*b).ready_warps != 0 {
                if (*launch).abort.load(Ordering::Relaxed) {
                    return Step::Aborted;
                }
                let w = match &mut (*b).rng {
                    Some(rng) => rng.bit_of((*b).ready_warps),
                    None => (*b).ready_warps.trailing_zeros(),
                } as usize;
                if let Some(lane) = run_warp(b, w) {
                    return Step::Faulted(lane);
                }
            }
            if (*b).live == 0 {
                return Step::Finished;
            }
            if (*b).yielded_warps == 0 {
                return Step::Stuck;
            }
            moved |= (*b).moved;
            (*b).moved = false;
            (*b).ready_warps = (*b).yielded_warps;
            (*b).yielded_warps = 0;
            for warp in &mut (*b).warps {
                warp.ready |= std::mem::take(&mut warp.yielded);
            }
        }
        Step::Yielding { moved }
    }
}

/// Runs lanes of warp `w`: all that are ready, or with a seed one of them.
/// Returns the lane that faulted, if one did.
unsafe fn run_warp(b: *mut Block, w: usize) -> Option<*const Lane> {
    // SAFETY: as in `run_threads`.
    unsafe {
        let warp = (&raw mut (*b).warps).as_mut()?.as_mut_ptr().add(w);
        while (*warp).ready != 0 {
            let l = match &mut (*b).rng {
                Some(rng) => rng.bit_of((*warp).ready),
                None => (*warp).ready.trailing_zeros(),
            };
            let bit = 1u32 << l;
            (*warp).ready &= !bit;
            let lane = Block::lane(b, w * 32 + l as usize);
            match resume(b, lane) {
                Turn::Suspended => match (*lane).state {
                    LaneState::Yielded => {
                        (*warp).yielded |= bit;
                        (*b).yielded_warps |= 1 << w;
                    }
                    LaneState::Asking => (*warp).asking |= bit,
                    // Its fiber is forgotten amid its frames.
                    LaneState::Exited => Block::retire(b, w, l),
                    LaneState::Faulted => return Some(lane),
                    LaneState::AtBarrier(_) | LaneState::AtCluster | LaneState::InCollective(..) => {}
                    // Another lane cannot have made it ready before it was suspended.
                    LaneState::Fresh | LaneState::Ready => {}
                },
                Turn::Finished => Block::retire(b, w, l),
                Turn::Trapped => {
                    note_trap(b, lane);
                    return Some(lane);
                }
            }
            if (*warp).ready == 0 && (*warp).asking != 0 {
                sync::answer_active(b, w);
            }
            if (*b).rng.is_some() {
                break;
            }
        }
        if (*warp).ready == 0 {
            (*b).ready_warps &= !(1 << w);
        }
        None
    }
}

/// Gives a lane its turn, making its fiber first where it has not started.
unsafe fn resume(b: *mut Block, lane: *mut Lane) -> Turn {
    // SAFETY: the lane is live; its stack is used by no other fiber.
    unsafe {
        if (*lane).state == LaneState::Fresh {
            (*b).moved = true;
            start_fiber(lane, thread_body);
        }
        (*lane).state = LaneState::Ready;
        let running = (*b).running;
        (*running).lane.set(lane);
        let turn = match &mut (*lane).fiber {
            Some(fiber) => JumpFiber::resume(fiber),
            None => Turn::Finished,
        };
        (*running).lane.set(std::ptr::null_mut());
        turn
    }
}

unsafe fn start_fiber(lane: *mut Lane, body: unsafe fn(*mut u8, JumpHandle)) {
    // SAFETY: the lane's last fiber, if any, has ended; its stack is free.
    unsafe { (*lane).fiber = Some(JumpFiber::new((*lane).stack, body, lane.cast())) };
}

/// A thread's fiber: runs the kernel once.
unsafe fn thread_body(lane: *mut u8, handle: JumpHandle) {
    let lane = lane.cast::<Lane>();
    // SAFETY: `start_fiber` passed its lane, which outlives the fiber.
    unsafe {
        (*lane).handle = handle;
        let launch = (*sync::block_of(&raw mut (*lane).ctx)).launch;
        ((*launch).entry)(&raw mut (*lane).ctx, (*launch).args());
    }
}

/// Runs the threads of a kernel that never waits one after the other, or a block at
/// once where the kernel has an entry for that, in one
/// fiber: it catches faults and overflows as those of threads do.
unsafe fn run_loop(b: *mut Block) -> Step {
    // SAFETY: as in `run_threads`; a block in a loop has one lane.
    unsafe {
        let lane = Block::lane(b, 0);
        loop {
            if (*(*b).launch).abort.load(Ordering::Relaxed) {
                return Step::Aborted;
            }
            if (*lane).fiber.is_none() || (*lane).state == LaneState::Fresh {
                start_fiber(lane, loop_body);
            }
            (*lane).state = LaneState::Ready;
            (*(*b).running).lane.set(lane);
            let turn = match &mut (*lane).fiber {
                Some(fiber) => JumpFiber::resume(fiber),
                None => Turn::Finished,
            };
            (*(*b).running).lane.set(std::ptr::null_mut());
            match turn {
                Turn::Finished => {
                    (*b).live = 0;
                    return Step::Finished;
                }
                Turn::Trapped => {
                    note_trap(b, lane);
                    return Step::Faulted(lane);
                }
                Turn::Suspended if (*lane).state == LaneState::Exited => {
                    // One thread has exited amid its frames: the rest go on
                    // in a new fiber.
                    (*lane).fiber = None;
                    thread_exit(b, &raw const (*lane).ctx);
                }
                Turn::Suspended => return Step::Faulted(lane),
            }
        }
    }
}

/// The fiber of a loop over threads.
unsafe fn loop_body(lane: *mut u8, handle: JumpHandle) {
    let lane = lane.cast::<Lane>();
    // SAFETY: as in `thread_body`.
    unsafe {
        (*lane).handle = handle;
        let ctx = &raw mut (*lane).ctx;
        let b = sync::block_of(ctx);
        let launch = (*b).launch;
        let (entry, args) = ((*launch).entry, (*launch).args());
        let (threads, dim) = ((*b).threads, (*launch).block);
        if let Some(block_entry) = (*launch).block_entry {
            let frame = Block::frame(b);
            (block_entry.run)(ctx, args, frame);
            while Block::go_on(b) {
                (block_entry.run)(ctx, args, frame);
            }
            return;
        }
        while (*b).next_thread < threads {
            let i = u64::from((*b).next_thread);
            (*b).next_thread += 1;
            let linear = match (*b).rng {
                Some(_) => {
                    let at = i * u64::from((*b).stride) + u64::from((*b).start);
                    (at % u64::from(threads)) as u32
                }
                None => i as u32,
            };
            set_thread(ctx, linear, dim);
            entry(ctx, args);
            thread_exit(b, ctx);
        }
    }
}

/// Makes `ctx` that of another thread of the block.
unsafe fn set_thread(ctx: *mut ThreadCtx, linear: u32, dim: [u32; 3]) {
    // SAFETY: the lane is live and its kernel does not run.
    unsafe {
        (*ctx).tid = if linear < dim[0] { [linear, 0, 0] } else { unflatten(u64::from(linear), dim) };
        (*ctx).linear_tid = linear;
        checks::begin_thread(ctx);
        (*ctx).lane = linear % 32;
        (*ctx).warp = linear / 32;
    }
}

/// Tells the checks that a thread of a loop has exited.
unsafe fn thread_exit(b: *mut Block, ctx: *const ThreadCtx) {
    // SAFETY: the block is live.
    unsafe {
        if let Some(checks) = &mut (*b).checks {
            checks.thread_exit((*ctx).linear_tid);
        }
    }
}

/// Puts into words what a signal handler noted of a thread.
unsafe fn note_trap(b: *mut Block, lane: *const Lane) {
    // SAFETY: the block and the lane are live, and no fiber runs.
    unsafe {
        let mut raised = (*(*b).running).raised.take();
        let in_rows = (*(*b).launch).block_entry.is_some() && (*b).checks.is_some();
        let address = raised.as_ref().and_then(|raised| raised.address);
        let left = in_rows.then(|| checks::rows_so_far(b, address)).flatten();
        if let (Some(raised), Some(left)) = (&mut raised, left) {
            // What a write is compared with is read first.
            raised.write |= left.writes;
        }
        let (kind, message) = describe(raised, &*lane);
        (*b).fault = Some(LaneFault { kind, message, sync: None, by_signal: true, left });
    }
}

fn describe(raised: Option<Raised>, lane: &Lane) -> (FaultKind, String) {
    let Some(raised) = raised else {
        return (FaultKind::Trap, "trap".into());
    };
    match (raised.signal, raised.address) {
        (libc::SIGSEGV, Some(address)) if lane.stack.guards(address) => {
            (FaultKind::StackOverflow, "stack overflow".into())
        }
        (libc::SIGFPE, _) => (FaultKind::Arithmetic, "arithmetic error".into()),
        (libc::SIGILL, _) => (FaultKind::Trap, "trap".into()),
        (_, Some(address)) => (
            FaultKind::IllegalAddress { address: Some(address as u64), write: raised.write },
            format!("illegal {} of address {address:#x}", access(raised.write)),
        ),
        (_, None) => (
            FaultKind::IllegalAddress { address: None, write: raised.write },
            "illegal access of an address outside the address space".into(),
        ),
    }
}

fn access(write: bool) -> &'static str {
    if write { "write" } else { "read" }
}
