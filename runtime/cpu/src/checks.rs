//! What device threads and their block report to the checker: accesses, barriers, annotations.

use gpurace_abi::context::ThreadCtx;
use gpurace_check::Block as BlockChecks;

use crate::block::Block;
use crate::collective::lanes;
use crate::slot;
use crate::thread::{block_of, lane_of};

mod block_frame;

pub(crate) use block_frame::{batches, hand_over_after_fault};

/// The checks of a running thread's block, or `None` if it has none or `address` is local memory of
/// the block's threads.
///
/// # Safety
/// `ctx` is that of the running device thread; the result is not kept over a switch.
#[inline(always)]
pub(crate) unsafe fn of<'a>(ctx: *mut ThreadCtx, address: usize) -> Option<&'a mut BlockChecks> {
    // SAFETY: `Block::start` filled the slots; nothing else uses the checks while the thread runs.
    unsafe {
        let checks = (*ctx).executor[slot::CHECKS].cast::<BlockChecks>();
        if checks.is_null() {
            return None;
        }
        let local = (*ctx).executor[slot::LOCAL_START].addr();
        let local_bytes = (*ctx).executor[slot::LOCAL_BYTES].addr();
        if address.wrapping_sub(local) < local_bytes { None } else { Some(&mut *checks) }
    }
}

/// Tells the checks of a running thread's block something about the thread, as [`of`] finds them. Null
/// lies in no thread's local memory.
///
/// # Safety
/// As [`of`].
#[inline(always)]
pub(crate) unsafe fn tell(ctx: *mut ThreadCtx, address: usize, tell: impl FnOnce(&mut BlockChecks, u32)) {
    // SAFETY: the caller's.
    unsafe {
        if let Some(checks) = of(ctx, address) {
            tell(checks, (*ctx).linear_tid);
        }
    }
}

/// The checks of a running thread's block if the thread's accesses are not checked because of an
/// annotation (`__gpurace_ignore`).
///
/// # Safety
/// As [`of`].
#[cold]
pub(crate) unsafe fn while_ignoring<'a>(ctx: *mut ThreadCtx, address: usize) -> Option<&'a mut BlockChecks> {
    // SAFETY: as in `of`; the thread runs, so its lane and block are live.
    unsafe {
        let checks = (*ctx).executor[slot::CHECKS].cast::<BlockChecks>();
        let (local, local_bytes) = (*block_of(ctx)).memory.local();
        let ignored = (*lane_of(ctx)).ignoring != 0;
        let is_local = address.wrapping_sub(local) < local_bytes;
        (!checks.is_null() && ignored && !is_local).then(|| &mut *checks)
    }
}

/// Begins (`on`) or ends a part of the thread in which its accesses are not checked.
///
/// # Safety
/// `ctx` is that of the running device thread.
pub(crate) unsafe fn ignore(ctx: *mut ThreadCtx, on: bool) {
    // SAFETY: the thread runs, so its lane and block are live.
    unsafe {
        let lane = lane_of(ctx);
        let depth = (*lane).ignoring;
        (*lane).ignoring = if on { depth + 1 } else { depth.saturating_sub(1) };
        // All addresses count as local memory, except 0, which fences pass.
        let (local, bytes) = match (*lane).ignoring {
            0 => (*block_of(ctx)).memory.local(),
            _ => (1, usize::MAX),
        };
        let slots = &mut (*ctx).executor;
        slots[slot::LOCAL_START] = std::ptr::without_provenance_mut(local);
        slots[slot::LOCAL_BYTES] = std::ptr::without_provenance_mut(bytes);
    }
}

/// Begins another thread on the lane of one that has ended.
///
/// # Safety
/// As [`ignore`].
#[inline]
pub(crate) unsafe fn begin_thread(ctx: *mut ThreadCtx) {
    // SAFETY: as in `ignore`.
    unsafe {
        if (*lane_of(ctx)).ignoring != 0 {
            (*lane_of(ctx)).ignoring = 1;
            ignore(ctx, false);
        }
    }
}

/// Reports that a barrier opens for the threads in `waiting`. `wanted`: the threads of the whole
/// block that the barrier waits for. Both are lanes by warp.
pub(crate) fn barrier(
    checks: &mut BlockChecks,
    id: u32,
    waiting: &[u32; 32],
    wanted: impl Iterator<Item = u32>,
) {
    checks.acquire_at_barrier(threads(waiting));
    if wanted.zip(waiting).all(|(wanted, &waiting)| wanted & !waiting == 0) {
        // A barrier of the whole block, with any id and count.
        checks.barrier();
    } else {
        let waited: Vec<u32> = threads(waiting).collect();
        checks.named_barrier(id, &waited);
    }
}

/// Reports a barrier between two segments of a block entry: no thread waits at it.
pub(crate) fn block_barrier(b: &mut Block) {
    let threads = b.threads();
    if let Some(checks) = &mut b.checks {
        checks.acquire_at_barrier(0..threads);
        checks.barrier();
    }
}

/// The threads of lanes by warp.
fn threads(lanes_by_warp: &[u32; 32]) -> impl Iterator<Item = u32> {
    (0u32..).zip(lanes_by_warp).flat_map(|(w, &mask)| lanes(mask).map(move |l| w * 32 + l as u32))
}
