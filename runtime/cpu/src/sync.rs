//! Arrivals at barriers and collectives, seen from a thread that arrives: the
//! last to come completes, makes the others ready and goes on without a switch.

use gpurace_abi::context::ThreadCtx;

use crate::barrier::{BARRIERS, Reduction};
use crate::block::{Block, Group, Lane, LaneFault, LaneState, slot};
use crate::checks;
use crate::collective::{self, Collective, Operand, lanes};
use crate::fault::{Divergence, DivergenceReason, FaultKind, Groups, WaitKind, Waiting};
use crate::fiber::{Fiber, JumpFiber};
use crate::matrix;

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
        (*block_of(ctx)).fault = Some(LaneFault { kind, message, sync, by_signal: false, left: None });
        loop {
            (*lane).state = LaneState::Faulted;
            suspend(lane);
        }
    }
}

/// Whether the thread runs in a loop over threads, where it cannot wait.
unsafe fn in_loop(b: *const Block) -> bool {
    // SAFETY: the caller's block is bound to a live launch.
    unsafe { !(*(*b).launch).suspends }
}

/// Ends the launch: a thread that cannot wait would have to.
unsafe fn fail_in_loop(ctx: *mut ThreadCtx, sync: u32) -> ! {
    // SAFETY: the caller's thread runs.
    unsafe {
        fail(
            ctx,
            FaultKind::Unsupported("synchronisation that the kernel's description leaves out".into()),
            "synchronisation in a kernel that is described as having none".into(),
            Some(sync),
        )
    }
}

/// Waits until every live lane of `mask` has come to the same kind of
/// collective with the same mask, and returns what it computes for this lane.
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
    // SAFETY: the thread runs, so its lane, warp and block are live; no
    // reference into the block is held over `suspend`.
    unsafe {
        let (lane, b) = (lane_of(ctx), block_of(ctx));
        let (w, l) = ((*ctx).warp as usize, (*ctx).lane);
        let bit = 1u32 << l;
        if mask & bit == 0 {
            report_outside_mask(ctx, b, kind, mask, sync);
            return operand.value;
        }
        if in_loop(b) {
            if (*b).threads == 1 {
                let mut operands = [Operand::default(); 32];
                operands[0] = operand;
                if kind == Collective::Multiply {
                    multiply(&operands, 1);
                }
                return result(kind, &operands, 1, 0);
            }
            fail_in_loop(ctx, sync);
        }
        let warp = &mut (&mut (*b).warps)[w];
        warp.operands[l as usize] = operand;
        let wanted = mask & warp.live;
        let group = match warp.groups.iter_mut().position(|g| g.kind == kind && g.mask == mask) {
            Some(i) => {
                warp.groups[i].arrived |= bit;
                let arrived = warp.groups[i].arrived;
                if wanted & !arrived == 0 {
                    warp.groups.swap_remove(i);
                }
                arrived
            }
            None => {
                if wanted != bit {
                    warp.groups.push(Group { kind, mask, arrived: bit });
                }
                bit
            }
        };
        (*lane).sync = sync;
        if wanted & !group == 0 {
            complete(b, w, kind, mask, group);
            // The caller goes on at once.
            (*lane).state = LaneState::Ready;
            (&mut (*b).warps)[w].ready &= !bit;
            if (&(*b).warps)[w].ready == 0 {
                (*b).ready_warps &= !(1 << w);
            }
        } else {
            (*lane).state = LaneState::InCollective(kind, mask);
            suspend(lane);
        }
        (*lane).result
    }
}

/// What a collective gives to one lane of its group.
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
    // SAFETY: as the caller vouches; what the lanes wait with stays where it is.
    unsafe { matrix::multiply(operands[first].mode, &operands.map(|operand| operand.value), group) };
}

/// Gives every lane of a complete group its result and makes it ready.
unsafe fn complete(b: *mut Block, w: usize, kind: Collective, mask: u32, group: u32) {
    // SAFETY: the caller's block is live; lanes of the group wait or, one of
    // them, call this.
    unsafe {
        let warp = &mut (&mut (*b).warps)[w];
        if kind == Collective::Multiply {
            multiply(&warp.operands, group);
        }
        let mut uniform: Option<(u32, u64)> = None;
        for l in lanes(group) {
            let lane = Block::lane(b, w * 32 + l);
            (*lane).result = match (kind, uniform) {
                // Votes and reductions are equal for all lanes of one mode.
                (Collective::Vote | Collective::Reduce, Some((mode, r))) if mode == warp.operands[l].mode => {
                    r
                }
                _ => result(kind, &warp.operands, group, l),
            };
            uniform = Some((warp.operands[l].mode, (*lane).result));
            (*lane).state = LaneState::Ready;
        }
        warp.ready |= group;
        (*b).ready_warps |= 1 << w;
        if let (Collective::Sync, Some(checks)) = (kind, &mut (*b).checks) {
            // Lanes that have exited count as arrived, as at a barrier.
            checks.syncwarp(w as u32, mask);
        }
    }
}

/// Says once per place that a mask leaves out its caller.
unsafe fn report_outside_mask(ctx: *mut ThreadCtx, b: *mut Block, kind: Collective, mask: u32, sync: u32) {
    // SAFETY: the caller's thread runs.
    unsafe {
        let seen = &mut (*b).outside_mask;
        if seen.contains(&sync) {
            return;
        }
        seen.push(sync);
        let kind = match kind {
            Collective::Sync => WaitKind::SyncWarp(mask),
            Collective::Shuffle
            | Collective::Vote
            | Collective::Match
            | Collective::Reduce
            | Collective::Multiply => WaitKind::Collective(mask),
        };
        (*(*b).launch).report(Divergence {
            reason: DivergenceReason::CallerNotInMask,
            block: (*ctx).ctaid,
            waiting: vec![Waiting { sync, kind, threads: 1, example: (*ctx).tid }],
            exited: 0,
            exited_example: None,
        });
    }
}

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

/// Arrives at barrier `id`, waits if told to, and returns `bar.red`'s result.
///
/// # Safety
/// `ctx` is that of the running device thread.
pub(crate) unsafe fn barrier(ctx: *mut ThreadCtx, id: u32, threads: u32, arrival: Arrival, sync: u32) -> u32 {
    // SAFETY: as in `collective`.
    unsafe {
        let (lane, b) = (lane_of(ctx), block_of(ctx));
        let (w, l) = ((*ctx).warp as usize, (*ctx).lane);
        if id as usize >= BARRIERS {
            let message = format!("barrier id `{id}` where 0 to {} were wanted", BARRIERS - 1);
            fail(ctx, FaultKind::Unsupported(message.clone()), message, Some(sync));
        }
        if in_loop(b) {
            if (*b).threads == 1 {
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
        (*b).used_barriers |= 1 << id;
        (*lane).sync = sync;
        (*lane).result = u64::from(op);
        let bar = &mut (*b).barriers[id as usize];
        bar.arrive(w, l, threads, waits, predicate);
        if waits {
            bar.note_place(sync);
        }
        if let (false, Some(c)) = (waits, &mut (*b).checks) {
            c.barrier_arrive((*ctx).linear_tid, id);
        }
        let live = (*b).live;
        if bar.is_complete((&(*b).warps).iter().map(|w| w.live), live) {
            let reduction = open(b, id);
            if !waits {
                return 0;
            }
            // The caller goes on at once.
            let warp = &mut (&mut (*b).warps)[w];
            warp.ready &= !(1 << l);
            if warp.ready == 0 {
                (*b).ready_warps &= !(1 << w);
            }
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

/// The lanes of a block's warp, whether they have exited or not.
fn block_lanes(threads: u32, warp: u32) -> u32 {
    match threads - warp * 32 {
        n if n >= 32 => !0,
        n => (1 << n) - 1,
    }
}

/// Opens a barrier: makes its threads ready with their results.
unsafe fn open(b: *mut Block, id: u32) -> Reduction {
    // SAFETY: the caller's block is live; the threads wait or, one of them, call this.
    unsafe {
        let bar = &mut (*b).barriers[id as usize];
        let counts = bar.counts();
        let scattered = !counts && bar.is_scattered();
        let (waiting, reduction) = bar.open();
        if scattered {
            report_scattered(b, id, &waiting);
        }
        if let Some(c) = &mut (*b).checks {
            // A count asks for as many threads, and says nothing of those that have exited.
            let threads = (*b).threads;
            let warps = (0u32..).zip(&(*b).warps);
            let wanted = warps.map(|(i, w)| if counts { block_lanes(threads, i) } else { w.live });
            checks::barrier(c, id, &waiting, wanted);
        }
        for (w, warp) in (&mut (*b).warps).iter_mut().enumerate() {
            if waiting[w] == 0 {
                continue;
            }
            warp.ready |= waiting[w];
            (*b).ready_warps |= 1 << w;
            for l in lanes(waiting[w]) {
                let lane = Block::lane(b, w * 32 + l);
                (*lane).state = LaneState::Ready;
                (*lane).result = u64::from(reduction.by((*lane).result as u32));
            }
        }
        reduction
    }
}

/// Tells from which places in the source the threads came that a barrier opens for.
#[cold]
unsafe fn report_scattered(b: *mut Block, id: u32, waiting: &[u32; 32]) {
    // SAFETY: as in `open`.
    unsafe {
        let mut groups = Groups::default();
        for (w, &mask) in waiting.iter().enumerate() {
            for l in lanes(mask) {
                let lane = Block::lane(b, w * 32 + l);
                groups.add((*lane).sync, WaitKind::Barrier(id), (*lane).ctx.tid);
            }
        }
        (*(*b).launch).report_scattered(Divergence {
            reason: DivergenceReason::Scattered,
            block: (*b).ctaid,
            waiting: groups.waiting,
            exited: 0,
            exited_example: None,
        });
    }
}

/// Completes what only waited for lane `l` of warp `w`, which has exited.
///
/// # Safety
/// As [`Block::retire`].
pub(crate) unsafe fn after_exit(b: *mut Block, w: usize, l: u32) {
    // SAFETY: the caller's.
    unsafe {
        let mut i = 0;
        while let Some(&group) = (&(*b).warps)[w].groups.get(i) {
            let wanted = group.mask & (&(*b).warps)[w].live;
            if group.mask >> l & 1 != 0 && wanted & !group.arrived == 0 {
                (&mut (*b).warps)[w].groups.swap_remove(i);
                complete(b, w, group.kind, group.mask, group.arrived);
            } else {
                i += 1;
            }
        }
        for id in lanes((*b).used_barriers) {
            let bar = &mut (*b).barriers[id];
            if !bar.in_use() {
                continue;
            }
            bar.exited(w, l);
            let live = (*b).live;
            if bar.in_use() && bar.is_complete((&(*b).warps).iter().map(|w| w.live), live) {
                open(b, id as u32);
            }
        }
    }
}

/// Answers the lanes of a warp that asked which lanes are active: those that
/// asked from one place are active together.
///
/// # Safety
/// `b` is live, and no lane of warp `w` is ready.
pub(crate) unsafe fn answer_active(b: *mut Block, w: usize) {
    // SAFETY: the caller's.
    unsafe {
        let warp = &mut (&mut (*b).warps)[w];
        let mut asking = std::mem::take(&mut warp.asking);
        warp.ready |= asking;
        (*b).ready_warps |= 1 << w;
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

/// Asks which lanes of the warp are active here.
///
/// # Safety
/// `ctx` is that of the running device thread.
pub(crate) unsafe fn active_lanes(ctx: *mut ThreadCtx, from: u64) -> u32 {
    // SAFETY: as in `collective`.
    unsafe {
        let (lane, b) = (lane_of(ctx), block_of(ctx));
        let warp = &(&(*b).warps)[(*ctx).warp as usize];
        if in_loop(b) || warp.ready | warp.asking == 0 {
            return 1 << (*ctx).lane;
        }
        (*lane).asked_from = from;
        (*lane).state = LaneState::Asking;
        suspend(lane);
        (*lane).result as u32
    }
}

/// Gives way to the others for a round; `digest` is of the thread's private state.
///
/// # Safety
/// `ctx` is that of the running device thread.
pub(crate) unsafe fn give_way(ctx: *mut ThreadCtx, digest: u64) {
    // SAFETY: as in `collective`.
    unsafe {
        let (lane, b) = (lane_of(ctx), block_of(ctx));
        if in_loop(b) {
            (*ctx).executor[slot::COUNTDOWN] = std::ptr::without_provenance_mut(usize::MAX);
            return;
        }
        if (*lane).digest != digest {
            (*lane).digest = digest;
            (*b).moved = true;
        }
        (*lane).state = LaneState::Yielded;
        suspend(lane);
        (*ctx).executor[slot::COUNTDOWN] = std::ptr::without_provenance_mut(next_countdown(b));
    }
}

/// Calls of `__gpurace_yield` until the next switch: fewer where nothing but
/// waiting threads was found in the last round, and as the seed says.
unsafe fn next_countdown(b: *mut Block) -> usize {
    use crate::block::YIELD_PERIOD;
    // SAFETY: the caller's block is live.
    unsafe {
        match &mut (*b).rng {
            Some(rng) => rng.below(YIELD_PERIOD as u32) as usize,
            None if (*b).moved => YIELD_PERIOD,
            None => YIELD_PERIOD / 8,
        }
    }
}
