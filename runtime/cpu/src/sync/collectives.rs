//! Arrivals at the collectives of a warp.

use gpurace_abi::context::ThreadCtx;

use crate::block::{Block, LaneState};
use crate::collective::{self, Collective, Operand, lanes};
use crate::fault::{Divergence, DivergenceReason, WaitKind};
use crate::matrix;
use crate::thread::{block_of, fail_in_loop, in_loop, lane_of, suspend};

/// Waits until every live lane of `mask` has come to the same kind of collective with the same
/// mask, and returns the result for this lane.
///
/// # Safety
/// `ctx` is that of the running device thread.
pub(crate) unsafe fn collective(
    ctx: *mut ThreadCtx,
    kind: Collective,
    mask: u32,
    operand: Operand,
    sync: u32,
) -> u64 {
    // SAFETY: the thread runs, so its lane, warp and block are live; no reference into the block is
    // held over `suspend`.
    unsafe {
        let (lane, b) = (lane_of(ctx), block_of(ctx));
        let (w, l) = ((*ctx).warp as usize, (*ctx).lane);
        if mask >> l & 1 == 0 {
            let waiting = match kind {
                Collective::Sync => WaitKind::SyncWarp(mask),
                _ => WaitKind::Collective(mask),
            };
            report_outside_mask(b, waiting, sync, (*ctx).tid);
            return operand.value;
        }
        if in_loop(b) {
            if (*b).threads() == 1 {
                let mut operands = [Operand::default(); 32];
                operands[0] = operand;
                if kind == Collective::Multiply {
                    multiply(&operands, 1);
                }
                return result(kind, &operands, 1, 0);
            }
            fail_in_loop(ctx, sync);
        }
        (*lane).sync = sync;
        match (*b).warps.warp(w).join(kind, mask, l, operand) {
            Some(group) => {
                complete(b, w, kind, mask, group);
                (*lane).state = LaneState::Ready;
                (*b).warps.continue_running(w, l);
            }
            None => {
                (*lane).state = LaneState::InCollective(kind, mask);
                suspend(lane);
            }
        }
        (*lane).result
    }
}

/// Completes the collectives that only waited for lane `l` of warp `w`, which has exited.
///
/// # Safety
/// As [`super::retire`].
pub(crate) unsafe fn completes_without(b: *mut Block, w: usize, l: u32) {
    // SAFETY: the caller's.
    unsafe {
        while let Some(group) = (*b).warps.warp(w).complete_without(l) {
            complete(b, w, group.kind, group.mask, group.arrived);
        }
    }
}

/// The result of a collective for one lane of its group.
fn result(kind: Collective, operands: &[Operand; 32], group: u32, lane: usize) -> u64 {
    match kind {
        Collective::Sync | Collective::Multiply => 0,
        Collective::Shuffle => collective::shuffle(operands, group, lane),
        Collective::Vote => collective::vote(operands, group, operands[lane].mode),
        Collective::Match => collective::matching(operands, group, lane),
        Collective::Reduce => collective::reduce(operands, group, operands[lane].mode),
    }
}

/// Multiplies the matrices that the lanes of a group hold.
///
/// # Safety
/// The values of the group's operands are the addresses of the lanes' buffers.
unsafe fn multiply(operands: &[Operand; 32], group: u32) {
    let first = group.trailing_zeros() as usize & 31;
    // SAFETY: the caller's; the buffers of lanes that wait stay where they are.
    unsafe { matrix::multiply(operands[first].mode, &operands.map(|operand| operand.value), group) };
}

/// Gives every lane of a complete group its result, and makes it ready.
unsafe fn complete(b: *mut Block, w: usize, kind: Collective, mask: u32, group: u32) {
    // SAFETY: the caller's block is live; lanes of the group wait or, one of them, call this.
    unsafe {
        let operands = (*b).warps.warp(w).operands();
        if kind == Collective::Multiply {
            multiply(operands, group);
        }
        let mut uniform: Option<(u32, u64)> = None;
        for l in lanes(group) {
            let lane = Block::lane(b, w * 32 + l);
            (*lane).result = match (kind, uniform) {
                // Votes and reductions are equal for all lanes of one mode.
                (Collective::Vote | Collective::Reduce, Some((mode, r))) if mode == operands[l].mode => r,
                _ => result(kind, operands, group, l),
            };
            uniform = Some((operands[l].mode, (*lane).result));
            (*lane).state = LaneState::Ready;
        }
        (*b).warps.wake(w, group);
        if let (Collective::Sync, Some(checks)) = (kind, &mut (*b).checks) {
            // Lanes that have exited count as arrived, as at a barrier.
            checks.syncwarp(w as u32, mask);
        }
    }
}

/// Reports, once for each place, that a mask leaves out its caller.
///
/// # Safety
/// `b` is live and bound to a live launch.
pub(super) unsafe fn report_outside_mask(b: *mut Block, kind: WaitKind, sync: u32, tid: [u32; 3]) {
    // SAFETY: the caller's.
    unsafe {
        let seen = &mut (*b).outside_mask;
        if seen.contains(&sync) {
            return;
        }
        seen.push(sync);
        let mut outside = Divergence::of_block((*b).ctaid(), DivergenceReason::CallerNotInMask);
        outside.add_waiting(sync, kind, tid);
        (*(*b).launch).report(outside);
    }
}
