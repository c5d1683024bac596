//! Arrivals at the barriers of a block.

use gpurace_abi::batch::BLOCK_ENDED;
use gpurace_abi::context::{ThreadCtx, lanes_of_warp};
use gpurace_abi::meta::UNDER_CONDITION;

use crate::barrier::{BARRIERS, Reduction};
use crate::block::{Block, LaneState};
use crate::checks;
use crate::collective::lanes;
use crate::fault::{Divergence, DivergenceReason, FaultKind, WaitKind};
use crate::thread::{block_of, fail, fail_in_loop, in_loop, lane_of, suspend};

/// What a thread does at a block barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// `bar.sync`.
    Wait,
    /// `bar.arrive`.
    Pass,
    /// `bar.red` with this operator and predicate.
    Reduce(u32, bool),
}

/// Arrives at barrier `id`, waits if the arrival does, and returns the result of `bar.red`. `place` is the number of
/// the synchronisation, and may have [`UNDER_CONDITION`].
///
/// # Safety
/// `ctx` is that of the running device thread.
pub(crate) unsafe fn barrier(
    ctx: *mut ThreadCtx,
    id: u32,
    threads: u32,
    arrival: Arrival,
    place: u32,
) -> u32 {
    let sync = place & !UNDER_CONDITION;
    // SAFETY: the thread runs, so its lane, warp and block are live; no reference into the block is
    // held over `suspend`.
    unsafe {
        let (lane, b) = (lane_of(ctx), block_of(ctx));
        let (w, l) = ((*ctx).warp as usize, (*ctx).lane);
        if id as usize >= BARRIERS {
            let message = format!("barrier id `{id}` where 0 to {} were wanted", BARRIERS - 1);
            fail(ctx, FaultKind::Unsupported(message.clone()), message, Some(sync));
        }
        if in_loop(b) {
            if (*b).threads() == 1 {
                return match arrival {
                    Arrival::Reduce(_, predicate) => u32::from(predicate),
                    Arrival::Wait | Arrival::Pass => 0,
                };
            }
            fail_in_loop(ctx, sync);
        }
        let (waits, predicate, op) = match arrival {
            Arrival::Wait => (true, None, 0),
            Arrival::Pass => (false, None, 0),
            Arrival::Reduce(op, predicate) => (true, Some(predicate), op),
        };
        (*lane).sync = sync;
        (*lane).result = u64::from(op);
        let live = (*b).live();
        let bar = (*b).barriers.used(id);
        bar.arrive(w, l, threads, waits, predicate);
        if waits {
            bar.note_place(place);
        }
        if let (false, Some(c)) = (waits, &mut (*b).checks) {
            c.barrier_arrive((*ctx).linear_tid, id);
        }
        if bar.is_complete((*b).warps.live(), live) {
            let reduction = open(b, id);
            if !waits {
                return 0;
            }
            (*b).warps.continue_running(w, l);
            reduction.by(op)
        } else if waits {
            (*lane).state = LaneState::AtBarrier(id);
            suspend(lane);
            (*lane).result as u32
        } else {
            0
        }
    }
}

/// Opens the barriers that only waited for lane `l` of warp `w`, which has exited.
///
/// # Safety
/// As [`super::retire`].
pub(super) unsafe fn open_without(b: *mut Block, w: usize, l: u32) {
    // SAFETY: the caller's.
    unsafe {
        let live = (*b).live();
        for id in (*b).barriers.ids_used() {
            let bar = (*b).barriers.used(id as u32);
            if !bar.in_use() {
                continue;
            }
            bar.exited(w, l);
            if bar.in_use() && bar.is_complete((*b).warps.live(), live) {
                open(b, id as u32);
            }
        }
    }
}

/// Opens a barrier: makes its threads ready with their results.
unsafe fn open(b: *mut Block, id: u32) -> Reduction {
    // SAFETY: the caller's block is live; the threads wait or, one of them, call this.
    unsafe {
        let bar = (*b).barriers.used(id);
        let counts = bar.counts();
        let scattered = !counts && bar.is_scattered();
        let skipped = !counts && bar.is_under_condition() && (*b).live() < (*b).threads();
        let (waiting, reduction) = bar.open();
        if scattered {
            report_scattered(b, id, &waiting);
        }
        if skipped {
            report_skipped(b, id, &waiting);
        }
        let (threads, warps) = ((*b).threads(), (*b).warps.count());
        if let Some(c) = &mut (*b).checks {
            // A barrier with a count waits for so many threads, exited ones not among them.
            let live = (0u32..).zip((*b).warps.live());
            let wanted = live.map(|(i, live)| if counts { lanes_of_warp(threads, i) } else { live });
            checks::barrier(c, id, &waiting, wanted);
        }
        for (w, &mask) in waiting.iter().enumerate().take(warps).filter(|(_, mask)| **mask != 0) {
            (*b).warps.wake(w, mask);
            for l in lanes(mask) {
                let lane = Block::lane(b, w * 32 + l);
                (*lane).state = LaneState::Ready;
                (*lane).result = u64::from(reduction.by((*lane).result as u32));
            }
        }
        reduction
    }
}

/// Reports the places in the source at which the threads of an opening barrier wait.
#[cold]
unsafe fn report_scattered(b: *mut Block, id: u32, waiting: &[u32; 32]) {
    // SAFETY: as in `open`.
    unsafe { (*(*b).launch).report_scattered(divergence_at(b, id, waiting, DivergenceReason::Scattered)) };
}

/// Reports that threads have ended which the source lets skip an opening barrier.
#[cold]
unsafe fn report_skipped(b: *mut Block, id: u32, waiting: &[u32; 32]) {
    // SAFETY: as in `open`.
    unsafe {
        let mut skipped = divergence_at(b, id, waiting, DivergenceReason::Skipped);
        for thread in 0..(*b).threads() {
            let lane = Block::lane(b, thread as usize);
            if (*lane).state == LaneState::Exited {
                skipped.add_exited((*lane).ctx.tid);
            }
        }
        (*(*b).launch).report_skipped(skipped);
    }
}

/// The divergence of the threads that wait at an opening barrier. Exited threads are not added.
unsafe fn divergence_at(b: *mut Block, id: u32, waiting: &[u32; 32], reason: DivergenceReason) -> Divergence {
    // SAFETY: as in `open`.
    unsafe {
        let mut divergence = Divergence::of_block((*b).ctaid(), reason);
        for (w, &mask) in waiting.iter().enumerate() {
            for l in lanes(mask) {
                let lane = Block::lane(b, w * 32 + l);
                divergence.add_waiting((*lane).sync, WaitKind::Barrier(id), (*lane).ctx.tid);
            }
        }
        divergence
    }
}

/// Reports that threads have ended which the source lets skip a barrier of a block entry. `points` has the point of
/// each thread.
///
/// # Safety
/// `b` is live.
#[cold]
pub(crate) unsafe fn block_skips(b: *mut Block, points: &[u32], sync: u32) {
    // SAFETY: the caller's.
    unsafe {
        let mut skipped = Divergence::of_block((*b).ctaid(), DivergenceReason::Skipped);
        let shape = &(*(*b).launch).shape;
        for (thread, &point) in (0..).zip(points) {
            let tid = shape.thread_index(thread);
            match point {
                BLOCK_ENDED => skipped.add_exited(tid),
                _ => skipped.add_waiting(sync & !UNDER_CONDITION, WaitKind::Barrier(0), tid),
            }
        }
        (*(*b).launch).report_skipped(skipped);
    }
}
