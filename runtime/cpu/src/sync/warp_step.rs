//! The next step of a warp in a block entry: which of its lanes run on, and from which point. The lanes that meet at a
//! collective are those that would meet there on fibers ([`super::collectives`]).

use gpurace_abi::batch::BLOCK_ENDED;
use gpurace_abi::context::{ThreadCtx, WARP_SIZE};
use gpurace_abi::warp::{WaitsFor, WarpLanes, WarpPoint};

use super::collectives::report_outside_mask;
use crate::block::Block;
use crate::collective::lanes;
use crate::fault::{Divergence, DivergenceReason, WaitKind};
use crate::thread::block_of;

/// What a warp does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WarpStep {
    /// Lanes run on from a point.
    Run { lanes: u32, from: u32 },
    /// All lanes wait for the block at a point, or have ended.
    Wait { at: u32 },
}

/// What one step found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// The warp goes on with this step.
    Step(WarpStep),
    /// This lane waits with a mask that leaves it out.
    OutsideMask(u32),
    /// Lanes wait for others that do not come.
    Stuck,
}

/// Finds what a warp does next. `first` is the linear index of its first lane.
///
/// # Safety
/// `ctx` is that of the running block entry, `points` are those of its kernel.
pub(crate) unsafe fn step_warp(
    ctx: *mut ThreadCtx,
    warp: &mut WarpLanes,
    points: *const WarpPoint,
    first: u32,
) -> WarpStep {
    // SAFETY: the lanes' points are those of the kernel; the block and its launch are live.
    unsafe {
        let waits = |point: u32| (point != BLOCK_ENDED).then(|| *points.add(point as usize));
        let b = block_of(ctx);
        loop {
            match next(warp, |point| waits(point).map(|at| at.waits)) {
                Found::Step(WarpStep::Wait { .. }) if warp.stuck != 0 => {
                    return WarpStep::Wait { at: BLOCK_ENDED };
                }
                Found::Step(step) => {
                    if let WarpStep::Run { lanes, from } = step
                        && let Some(WaitsFor::Sync) = waits(from).map(|at| at.waits)
                    {
                        check_sync(b, warp, first / WARP_SIZE, lanes);
                    }
                    return step;
                }
                Found::OutsideMask(lane) => {
                    let at = lane as usize;
                    if let Some(WarpPoint { waits, sync }) = waits(warp.points[at]) {
                        let waiting = wait_kind(waits, warp.masks[at]).unwrap_or(WaitKind::Collective(0));
                        let tid = (*(*b).launch).shape.thread_index(first + lane);
                        report_outside_mask(b, waiting, sync, tid);
                    }
                    meet(warp, 1 << lane);
                }
                Found::Stuck => {
                    warp.stuck = 1;
                    report_stuck(b, warp, waits, first);
                    return WarpStep::Wait { at: BLOCK_ENDED };
                }
            }
        }
    }
}

/// Tells the checks that lanes run on from a sync. A group whose lanes stand at several points runs in several steps,
/// its lowest lane first: that one counts.
///
/// # Safety
/// `b` is live.
unsafe fn check_sync(b: *mut Block, warp: &WarpLanes, index: u32, lanes: u32) {
    // SAFETY: the caller's.
    if let Some(checks) = unsafe { &mut (*b).checks } {
        let lowest = lanes.trailing_zeros() as usize & 31;
        if warp.groups[lowest].trailing_zeros() as usize == lowest {
            // Lanes that have exited count as arrived, as at a barrier.
            checks.syncwarp(index, warp.masks[lowest]);
        }
    }
}

/// Reports that lanes of a warp wait for others that do not come. `waits` says where a lane waits at a point, `None` at
/// the end.
///
/// # Safety
/// `b` and its launch are live.
#[cold]
unsafe fn report_stuck(
    b: *mut Block,
    warp: &WarpLanes,
    waits: impl Fn(u32) -> Option<WarpPoint>,
    first: u32,
) {
    // SAFETY: the caller's.
    unsafe {
        let launch = &*(*b).launch;
        let mut stuck = Divergence::of_block((*b).ctaid(), DivergenceReason::Stuck);
        for (lane, (&point, &mask)) in (0..).zip(warp.points.iter().zip(&warp.masks)) {
            let tid = launch.shape.thread_index(first + lane);
            match waits(point) {
                Some(at) => {
                    let kind = wait_kind(at.waits, mask).unwrap_or(WaitKind::Barrier(0));
                    stuck.add_waiting(at.sync, kind, tid);
                }
                None => stuck.add_exited(tid),
            }
        }
        launch.report(stuck);
    }
}

/// What lanes wait for, as reports say it; `None` for other waits than for lanes.
fn wait_kind(waits: WaitsFor, mask: u32) -> Option<WaitKind> {
    match waits {
        WaitsFor::Nothing | WaitsFor::Block | WaitsFor::ActiveLanes => None,
        WaitsFor::Sync => Some(WaitKind::SyncWarp(mask)),
        WaitsFor::Shuffle | WaitsFor::Vote | WaitsFor::Match | WaitsFor::Reduce => {
            Some(WaitKind::Collective(mask))
        }
    }
}

/// Notes that lanes have met.
fn meet(warp: &mut WarpLanes, group: u32) {
    for lane in lanes(group) {
        warp.groups[lane] = group;
    }
    warp.met |= group;
}

/// The lanes for which a test of their two words holds.
fn lanes_with(points: &[u32; WARP_SIZE as usize], test: impl Fn(u32) -> bool) -> u32 {
    (0..).zip(points).fold(0, |mask, (lane, &point)| mask | u32::from(test(point)) << lane)
}

/// Finds the lanes that run next. Lanes that have met run before all others: another lane could overwrite operands that
/// they still have to read. `waits` says what a lane waits for at a point, `None` at the end.
fn next(warp: &mut WarpLanes, waits: impl Fn(u32) -> Option<WaitsFor>) -> Found {
    if let Some(found) = next_of_whole_warp(warp, &waits) {
        return found;
    }
    loop {
        if warp.met != 0 {
            let from = warp.points[warp.met.trailing_zeros() as usize];
            let group = lanes_with(&warp.points, |point| point == from) & warp.met;
            warp.met &= !group;
            return run(group, from);
        }
        match next_group(warp, &waits) {
            Ok(group) => meet(warp, group),
            Err(found) => return found,
        }
    }
}

/// What [`next`] finds where all lanes stand at one point with full masks, as they mostly do; `None` where they do not.
#[inline(always)]
fn next_of_whole_warp(warp: &mut WarpLanes, waits: &impl Fn(u32) -> Option<WaitsFor>) -> Option<Found> {
    let first = warp.points[0];
    let differs = |words: &[u32; WARP_SIZE as usize], from: u32| words.iter().fold(0, |d, &w| d | (w ^ from));
    if differs(&warp.points, first) != 0 || warp.met != 0 {
        return None;
    }
    match waits(first) {
        None | Some(WaitsFor::Block) => return Some(Found::Step(WarpStep::Wait { at: first })),
        Some(WaitsFor::Nothing) => {}
        Some(WaitsFor::ActiveLanes) => warp.groups.fill(u32::MAX),
        Some(_) if differs(&warp.masks, u32::MAX) == 0 => warp.groups.fill(u32::MAX),
        Some(_) => return None,
    }
    Some(run(u32::MAX, first))
}

/// The next lanes that meet. `Err`: none can meet now, and this is what the warp does instead.
fn next_group(warp: &WarpLanes, waits: &impl Fn(u32) -> Option<WaitsFor>) -> Result<u32, Found> {
    let ended = lanes_with(&warp.points, |point| point == BLOCK_ENDED);
    let (mut asking, mut open) = (0, !ended);
    while open != 0 {
        let lane = open.trailing_zeros() as usize;
        let (from, mask) = (warp.points[lane], warp.masks[lane]);
        let together = lanes_with(&warp.points, |point| point == from) & open;
        let Some(kind) = waits(from) else { break };
        match kind {
            WaitsFor::Nothing => return Err(run(together, from)),
            WaitsFor::Block => open &= !together,
            WaitsFor::ActiveLanes => {
                asking |= together;
                open &= !together;
            }
            _ => {
                if mask >> lane & 1 == 0 {
                    return Err(Found::OutsideMask(lane as u32));
                }
                let same = |&lane: &usize| warp.masks[lane] == mask && waits(warp.points[lane]) == Some(kind);
                // Lanes that the mask leaves out do not belong to the group, also if they name the same mask.
                let come = lanes(open & mask).filter(same).fold(0, |come, lane| come | 1 << lane);
                if mask & !ended & !come == 0 {
                    return Ok(come);
                }
                open &= !come;
            }
        }
    }
    if asking != 0 {
        let from = warp.points[asking.trailing_zeros() as usize];
        return Ok(lanes_with(&warp.points, |point| point == from));
    }
    Err(wait_for_block(warp, waits, !ended))
}

/// What a warp does whose `live` lanes neither run nor meet: it waits for the block, if all of them do.
fn wait_for_block(warp: &WarpLanes, waits: &impl Fn(u32) -> Option<WaitsFor>, live: u32) -> Found {
    let mut at = BLOCK_ENDED;
    for point in lanes(live).map(|lane| warp.points[lane]) {
        at = point;
        if waits(point) != Some(WaitsFor::Block) {
            return Found::Stuck;
        }
    }
    Found::Step(WarpStep::Wait { at })
}

/// The step in which these lanes run on from a point.
fn run(lanes: u32, from: u32) -> Found {
    Found::Step(WarpStep::Run { lanes, from })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: WaitsFor = WaitsFor::Shuffle;

    /// Points: 0 nothing, 1 block, 2 shuffle, 3 shuffle at another place, 4 vote, 5 active lanes.
    fn waits(point: u32) -> Option<WaitsFor> {
        use WaitsFor::*;
        [Nothing, Block, HERE, HERE, Vote, ActiveLanes].get(point as usize).copied()
    }

    fn warp(point: impl Fn(u32) -> u32, mask: impl Fn(u32) -> u32) -> WarpLanes {
        let each = |of: &dyn Fn(u32) -> u32| std::array::from_fn(|lane| of(lane as u32));
        WarpLanes { points: each(&point), masks: each(&mask), groups: [0; 32], met: 0, stuck: 0 }
    }

    fn steps(warp: &mut WarpLanes) -> Found {
        next(warp, waits)
    }

    #[test]
    fn a_warp_that_is_together() {
        let at = |point| steps(&mut warp(|_| point, |_| u32::MAX));
        assert_eq!(at(0), run(u32::MAX, 0));
        assert_eq!(at(1), Found::Step(WarpStep::Wait { at: 1 }));
        assert_eq!(at(2), run(u32::MAX, 2));
        assert_eq!(at(5), run(u32::MAX, 5));
        assert_eq!(at(BLOCK_ENDED), Found::Step(WarpStep::Wait { at: BLOCK_ENDED }));
        let mut meets = warp(|_| 4, |_| u32::MAX);
        assert_eq!((steps(&mut meets), meets.groups), (run(u32::MAX, 4), [u32::MAX; 32]));
    }

    #[test]
    fn lanes_meet_those_of_their_mask() {
        // Eight lanes shuffle, the others wait for the block.
        let mut some = warp(|lane| if lane < 8 { 2 } else { 1 }, |_| 0xff);
        assert_eq!((steps(&mut some), some.groups[7], some.met), (run(0xff, 2), 0xff, 0));
        // Two halves under masks of their own, from one place.
        let mut halves = warp(|_| 2, |lane| if lane < 16 { 0xffff } else { 0xffff_0000 });
        assert_eq!(steps(&mut halves), run(0xffff, 2));
        (0..16).for_each(|lane| halves.points[lane] = 0);
        assert_eq!(steps(&mut halves), run(0xffff, 0), "who waits for nothing runs");
        (0..16).for_each(|lane| halves.points[lane] = 1);
        assert_eq!(steps(&mut halves), run(0xffff_0000, 2));
        // One mask at two places of the same kind: both run before anything else.
        let mut places = warp(|lane| 2 + lane % 2, |_| u32::MAX);
        assert_eq!(steps(&mut places), run(0x5555_5555, 2));
        (0..32).step_by(2).for_each(|lane| places.points[lane] = 0);
        assert_eq!(steps(&mut places), run(0xaaaa_aaaa, 3));
        assert_eq!(places.groups, [u32::MAX; 32]);
    }

    #[test]
    fn lanes_that_have_ended_are_not_waited_for() {
        let mut some = warp(|lane| if lane < 20 { 4 } else { BLOCK_ENDED }, |_| u32::MAX);
        assert_eq!((steps(&mut some), some.groups[3]), (run(0xf_ffff, 4), 0xf_ffff));
    }

    #[test]
    fn active_lanes_are_known_when_no_other_lane_runs() {
        let mut asking = warp(|lane| if lane < 4 { 5 } else { 0 }, |_| 0);
        assert_eq!(steps(&mut asking), run(!0xf, 0));
        (4..32).for_each(|lane| asking.points[lane] = 1);
        assert_eq!((steps(&mut asking), asking.groups[0]), (run(0xf, 5), 0xf));
    }

    #[test]
    fn lanes_that_never_meet() {
        // Of another kind, and with another mask.
        assert_eq!(steps(&mut warp(|lane| if lane < 16 { 2 } else { 4 }, |_| u32::MAX)), Found::Stuck);
        let mut masks = warp(|_| 2, |lane| if lane < 16 { u32::MAX } else { 0xffff_ffff << 1 });
        assert_eq!(steps(&mut masks), Found::Stuck);
        // The others are at the barrier of the block.
        assert_eq!(steps(&mut warp(|lane| if lane < 16 { 2 } else { 1 }, |_| u32::MAX)), Found::Stuck);
    }

    #[test]
    fn lanes_that_their_mask_leaves_out() {
        assert_eq!(steps(&mut warp(|_| 2, |_| 1 << 5)), Found::OutsideMask(0));
        // The lanes of the mask meet without those that only name it.
        let mut half = warp(|_| 2, |_| 0xffff);
        assert_eq!((steps(&mut half), half.groups[15], half.groups[16]), (run(0xffff, 2), 0xffff, 0));
        (0..16).for_each(|lane| half.points[lane] = 1);
        assert_eq!(steps(&mut half), Found::OutsideMask(16));
    }
}
