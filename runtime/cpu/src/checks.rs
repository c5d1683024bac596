//! What a running block tells the checker: its barriers, in the checker's terms.

use gpurace_abi::context::ThreadCtx;
use gpurace_check::Block as BlockChecks;

use crate::block::{Block, slot};
use crate::collective::lanes;
use crate::sync;

mod frame;

pub(crate) use frame::{Left, reads, rows, rows_so_far};

/// The checks of a launch.
pub use gpurace_check::Launch as LaunchChecks;

/// Begins the checks of the block that is started, if they are wanted.
pub(crate) fn begin(b: &mut Block) {
    // SAFETY: a bound block's launch is live.
    let launch = unsafe { &*b.launch };
    let wanted = launch.checked_blocks.as_ref().is_none_or(|wanted| wanted(b.index));
    match &launch.checks {
        Some(checks) if wanted => {
            let shared = b.shared.0..b.shared.0 + b.shared.1;
            match &mut b.checks {
                Some(c) => c.restart(checks, b.index, shared),
                None => b.checks = Some(BlockChecks::begin(checks, b.index, shared)),
            }
        }
        Some(_) | None => end(b),
    }
}

/// Ends the checks of the block's last run.
pub(crate) fn end(b: &mut Block) {
    if let Some(checks) = b.checks.take() {
        checks.end();
    }
}

/// The checks of a running thread's block, where `[address, address + 1)` is
/// not local memory of the block's threads.
///
/// # Safety
/// `ctx` is that of the running device thread; the result is not kept over a switch.
#[inline(always)]
pub(crate) unsafe fn of<'a>(ctx: *mut ThreadCtx, address: usize) -> Option<&'a mut BlockChecks> {
    // SAFETY: the slots hold what `Block::start` put there; nothing else uses
    // the checks while the thread runs.
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

/// The checks of a running thread's block, where the thread's accesses are not
/// checked because the program says so.
///
/// # Safety
/// As [`of`].
#[cold]
pub(crate) unsafe fn while_ignoring<'a>(ctx: *mut ThreadCtx, address: usize) -> Option<&'a mut BlockChecks> {
    // SAFETY: as in `of`; the thread runs, so its lane and block are live.
    unsafe {
        let checks = (*ctx).executor[slot::CHECKS].cast::<BlockChecks>();
        let (local, local_bytes) = (*sync::block_of(ctx)).local;
        let ignored = (*sync::lane_of(ctx)).ignoring != 0;
        let is_local = address.wrapping_sub(local) < local_bytes;
        (!checks.is_null() && ignored && !is_local).then(|| &mut *checks)
    }
}

/// The thread's accesses are not checked from now on, or are again.
///
/// # Safety
/// `ctx` is that of the running device thread.
pub(crate) unsafe fn ignore(ctx: *mut ThreadCtx, on: bool) {
    // SAFETY: the thread runs, so its lane and block are live.
    unsafe {
        let lane = sync::lane_of(ctx);
        let depth = (*lane).ignoring;
        (*lane).ignoring = if on { depth + 1 } else { depth.saturating_sub(1) };
        // Everything but address 0, which fences have, counts as local memory.
        let (local, bytes) = match (*lane).ignoring {
            0 => (*sync::block_of(ctx)).local,
            _ => (1, usize::MAX),
        };
        let slots = &mut (*ctx).executor;
        slots[slot::LOCAL_START] = std::ptr::without_provenance_mut(local);
        slots[slot::LOCAL_BYTES] = std::ptr::without_provenance_mut(bytes);
    }
}

/// A further thread runs in place of one that has ended.
///
/// # Safety
/// As [`ignore`].
#[inline]
pub(crate) unsafe fn begin_thread(ctx: *mut ThreadCtx) {
    // SAFETY: as in `ignore`.
    unsafe {
        if (*sync::lane_of(ctx)).ignoring != 0 {
            (*sync::lane_of(ctx)).ignoring = 1;
            ignore(ctx, false);
        }
    }
}

/// A block barrier opens: the threads in `waiting` go on. `wanted` are those
/// that the whole block has for this barrier; both are lanes by warp.
pub(crate) fn barrier(
    checks: &mut BlockChecks,
    id: u32,
    waiting: &[u32; 32],
    wanted: impl Iterator<Item = u32>,
) {
    checks.acquire_at_barrier(threads(waiting));
    if wanted.zip(waiting).all(|(wanted, &waiting)| wanted & !waiting == 0) {
        // The whole block, whatever the barrier's id and count.
        checks.barrier();
    } else {
        let waited: Vec<u32> = threads(waiting).collect();
        checks.named_barrier(id, &waited);
    }
}

/// All threads of a block have come to a barrier that none of them waits at.
pub(crate) fn block_barrier(b: &mut Block) {
    if let Some(checks) = &mut b.checks {
        checks.acquire_at_barrier(0..b.threads);
        checks.barrier();
    }
}

/// The threads of lanes by warp.
fn threads(lanes_by_warp: &[u32; 32]) -> impl Iterator<Item = u32> {
    (0u32..).zip(lanes_by_warp).flat_map(|(w, &mask)| lanes(mask).map(move |l| w * 32 + l as u32))
}
