//! What a running block tells the checker: its barriers, in the checker's terms.

use gpurace_abi::context::ThreadCtx;
use gpurace_check::Block as BlockChecks;

use crate::block::{Block, slot};
use crate::collective::lanes;

/// The checks of a launch.
pub use gpurace_check::Launch as LaunchChecks;

/// Begins the checks of the block that is started, if they are wanted.
pub(crate) fn begin(b: &mut Block) {
    // SAFETY: a bound block's launch is live.
    let launch = unsafe { &*b.launch };
    let wanted = launch
        .checked_blocks
        .as_ref()
        .is_none_or(|wanted| wanted(b.index));
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
        if address.wrapping_sub(local) < local_bytes {
            None
        } else {
            Some(&mut *checks)
        }
    }
}

/// A block barrier opens: the threads in `waiting` go on. `live` are those
/// that have not exited; both are lanes by warp.
pub(crate) fn barrier(
    checks: &mut BlockChecks,
    id: u32,
    waiting: &[u32; 32],
    live: impl Iterator<Item = u32>,
) {
    if live
        .zip(waiting)
        .all(|(live, &waiting)| live & !waiting == 0)
    {
        // The whole block, whatever the barrier's id and count.
        checks.barrier();
    } else {
        let waited: Vec<u32> = (0u32..)
            .zip(waiting)
            .flat_map(|(w, &mask)| lanes(mask).map(move |l| w * 32 + l as u32))
            .collect();
        checks.named_barrier(id, &waited);
    }
}
