//! What a running block tells the checker: its barriers, in the checker's terms.

use gpurace_abi::context::ThreadCtx;
use gpurace_abi::image::{BLOCK_FRAME_COMMON, BLOCK_ROWS, RowSite};
use gpurace_check::Block as BlockChecks;
use gpurace_check::rows::{Row, Values};
use smallvec::SmallVec;

use crate::block::{Block, slot};
use crate::collective::lanes;
use crate::sync;

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

/// The checks of a running thread's block, where the thread's accesses are not
/// checked because the program says so.
///
/// # Safety
/// As [`of`].
#[cold]
pub(crate) unsafe fn while_ignoring<'a>(
    ctx: *mut ThreadCtx,
    address: usize,
) -> Option<&'a mut BlockChecks> {
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
        (*lane).ignoring = if on {
            depth + 1
        } else {
            depth.saturating_sub(1)
        };
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
    if wanted
        .zip(waiting)
        .all(|(wanted, &waiting)| wanted & !waiting == 0)
    {
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

/// What the threads of a block have left in its frame of their accesses.
///
/// # Safety
/// `ctx` is that of the running block, `frame` its frame, in which each row has 8 bytes for
/// each thread.
pub(crate) unsafe fn rows(ctx: *mut ThreadCtx, frame: *mut u64, sites: &[RowSite]) {
    // SAFETY: the caller's; the frame holds whole rows.
    unsafe {
        let threads = (*sync::block_of(ctx)).threads as usize;
        let row = |at: u64| std::slice::from_raw_parts(frame.byte_add(at as usize * threads), threads);
        let local = (*ctx).executor[slot::LOCAL_START].addr();
        let local_bytes = (*ctx).executor[slot::LOCAL_BYTES].addr();
        let rows: SmallVec<[Row<'_>; 8]> = sites.iter().map(|site| Row {
            site: site.site,
            size: site.kind & 0xff,
            writes: site.kind & RowSite::WRITES != 0,
            items: row(site.items),
            values: (site.values != RowSite::NO_VALUES)
                .then(|| Values { written: row(site.values), before: row(site.before) }),
        }).collect();
        let empty = match of(ctx, 0) {
            Some(checks) => checks.rows(&rows, &(local..local.saturating_add(local_bytes))),
            None => 0,
        };
        // Threads that make no access leave what is there.
        for (_, site) in (0..).zip(sites).filter(|(i, _)| empty >> i & 1 == 0) {
            frame.byte_add(site.items as usize * threads).write_bytes(0, threads);
        }
    }
}

/// An access that a thread of a block has left in its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Left {
    /// Linear index of the thread.
    pub(crate) thread: u32,
    /// The module's index of the instruction.
    pub(crate) site: u32,
    pub(crate) writes: bool,
}

/// Tells what the threads of a block have left in its frame so far, of which one has faulted.
/// Gives the last access to `address` among it.
///
/// # Safety
/// The block's launch has an entry for blocks, which ran and will not go on.
pub(crate) unsafe fn rows_so_far(b: *mut Block, address: Option<usize>) -> Option<Left> {
    // SAFETY: the caller's; the frame names a table of the launch's image, or none.
    unsafe {
        let frame = Block::frame(b);
        let named = frame.sub(BLOCK_FRAME_COMMON as usize).add(BLOCK_ROWS as usize).cast::<*const RowSite>();
        let (sites, count) = (named.read(), named.add(1).read().addr());
        if sites.is_null() {
            return None;
        }
        let sites = std::slice::from_raw_parts(sites, count);
        let threads = (*b).threads as usize;
        let found = sites.iter().rev().find_map(|site| {
            let items = std::slice::from_raw_parts(frame.cast::<u64>().byte_add(site.items as usize * threads), threads);
            let size = (site.kind & 0xff) as usize;
            let thread = items.iter().rposition(|&item| item != 0 && address.is_some_and(|a| a.wrapping_sub(item as usize) < size))?;
            Some(Left { thread: thread as u32, site: site.site, writes: site.kind & RowSite::WRITES != 0 })
        });
        rows(&raw mut (*Block::lane(b, 0)).ctx, frame.cast(), sites);
        found
    }
}

/// The threads of lanes by warp.
fn threads(lanes_by_warp: &[u32; 32]) -> impl Iterator<Item = u32> {
    (0u32..)
        .zip(lanes_by_warp)
        .flat_map(|(w, &mask)| lanes(mask).map(move |l| w * 32 + l as u32))
}
