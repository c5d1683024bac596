//! Arrivals at barriers and collectives, and exits, as a thread makes them. The last thread to
//! arrive completes the operation, makes the others ready, and goes on without a switch.

mod barriers;
mod collectives;
mod warp_step;

pub(crate) use barriers::{Arrival, barrier, block_skips};
pub(crate) use collectives::{collective, completes_without};
pub(crate) use warp_step::{WarpStep, step_warp};

use gpurace_abi::context::ThreadCtx;

use crate::block::{Block, LaneState, YIELD_PERIOD};
use crate::cluster::Cluster;
use crate::collective::lanes;
use crate::slot;
use crate::thread::{block_of, in_loop, lane_of, suspend};

/// Notes that a lane has exited, and completes what waited for it alone.
///
/// # Safety
/// `b` is live and none of its fibers runs, or the call is the last thing that the lane's fiber
/// does.
pub(crate) unsafe fn retire(b: *mut Block, w: usize, l: u32) {
    // SAFETY: the caller's.
    unsafe {
        let lane = Block::lane(b, w * 32 + l as usize);
        (*lane).state = LaneState::Exited;
        Block::retire(b, w, l);
        completes_without(b, w, l);
        barriers::open_without(b, w, l);
        if !(*b).seat.cluster.is_null() {
            Cluster::exited(b, (*lane).ctx.linear_tid);
        }
    }
}

/// Answers the lanes of a warp that asked which lanes are active: those that asked from one place
/// are active together.
///
/// # Safety
/// `b` is live, and no lane of warp `w` is ready.
pub(crate) unsafe fn answer_active(b: *mut Block, w: usize) {
    // SAFETY: the caller's.
    unsafe {
        let mut asking = (*b).warps.take_asking(w);
        while asking != 0 {
            let from = |l: usize| (*Block::lane(b, w * 32 + l)).asked_from;
            let place = from(asking.trailing_zeros() as usize);
            let group = lanes(asking).filter(|&l| from(l) == place).fold(0u32, |mask, l| mask | 1 << l);
            for l in lanes(group) {
                let lane = Block::lane(b, w * 32 + l);
                (*lane).result = u64::from(group);
                (*lane).state = LaneState::Ready;
            }
            asking &= !group;
        }
    }
}

/// Returns the lanes of the warp that are active here. `from`: a digest of the calls that led here.
///
/// # Safety
/// `ctx` is that of the running device thread.
pub(crate) unsafe fn active_lanes(ctx: *mut ThreadCtx, from: u64) -> u32 {
    // SAFETY: the thread runs, so its lane, warp and block are live; no reference into the block is
    // held over `suspend`.
    unsafe {
        let (lane, b) = (lane_of(ctx), block_of(ctx));
        let warp = (*b).warps.warp((*ctx).warp as usize);
        if in_loop(b) || warp.ready() | warp.asking() == 0 {
            return 1 << (*ctx).lane;
        }
        (*lane).asked_from = from;
        (*lane).state = LaneState::Asking;
        suspend(lane);
        (*lane).result as u32
    }
}

/// Gives way to the others for a round. `digest`: of the thread's private state.
///
/// # Safety
/// `ctx` is that of the running device thread.
pub(crate) unsafe fn give_way(ctx: *mut ThreadCtx, digest: u64) {
    // SAFETY: as in `active_lanes`.
    unsafe {
        let (lane, b) = (lane_of(ctx), block_of(ctx));
        if in_loop(b) {
            (*ctx).executor[slot::COUNTDOWN] = std::ptr::without_provenance_mut(usize::MAX);
            return;
        }
        // A loop may give way at several places: then it comes back to the state that the thread had there.
        if !(*lane).digests.contains(&digest) {
            (*lane).digests.rotate_right(1);
            (*lane).digests[0] = digest;
            (*b).moved = true;
        }
        (*lane).state = LaneState::Yielded;
        suspend(lane);
        (*ctx).executor[slot::COUNTDOWN] = std::ptr::without_provenance_mut(next_countdown(b));
    }
}

/// Notes that an atomic access is complete. In a drawn schedule, the thread then may give way for a
/// round.
///
/// # Safety
/// As [`active_lanes`].
pub(crate) unsafe fn after_atomic(ctx: *mut ThreadCtx) {
    // SAFETY: as in `active_lanes`.
    unsafe {
        let (lane, b) = (lane_of(ctx), block_of(ctx));
        (*lane).in_atomic = (*lane).in_atomic.saturating_sub(1);
        // One instruction may access several elements, each with a check of its own.
        if (*lane).in_atomic != 0 || in_loop(b) {
            return;
        }
        if let Some(rng) = &mut (*b).rng
            && rng.below(4) < (*lane).slowness
        {
            (*b).moved = true;
            (*lane).state = LaneState::Yielded;
            suspend(lane);
        }
    }
}

/// Calls of `__gpurace_yield` until the next switch: few if the last round found nothing but
/// waiting threads, a random number with a seed.
unsafe fn next_countdown(b: *mut Block) -> usize {
    // SAFETY: the caller's block is live.
    unsafe {
        match &mut (*b).rng {
            Some(rng) => rng.below(YIELD_PERIOD as u32) as usize,
            None if (*b).moved => YIELD_PERIOD,
            None => YIELD_PERIOD / 8,
        }
    }
}
