//! What a running block tells the checker: its barriers, in the checker's terms.

use gpurace_abi::context::ThreadCtx;
use gpurace_abi::image::{self, BLOCK_FRAME_COMMON, BLOCK_LINES, BLOCK_LINES_HOLD, BLOCK_ROWS, RowSite};
use gpurace_check::Block as BlockChecks;
use gpurace_check::rows::{Items, Lines, Mask, Row, Threads, Values};
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

/// Rows of a block's frame.
struct Frame<'a> {
    frame: *mut u64,
    threads: usize,
    dim: &'a [u32; 3],
    sites: &'a [RowSite],
}

impl<'f> Frame<'f> {
    /// The part of the frame in which each thread has its own of this.
    unsafe fn row<'a, T>(&self, at: u64) -> &'a mut [T] {
        // SAFETY: the frame holds whole rows; nobody else uses them meanwhile.
        unsafe { std::slice::from_raw_parts_mut(self.frame.byte_add(at as usize * self.threads).cast(), self.threads) }
    }

    /// A number of the part that the threads share.
    unsafe fn common<T>(&self, at: u64) -> &'f T {
        // SAFETY: the part lies below the frame.
        unsafe { &*self.frame.byte_sub(BLOCK_FRAME_COMMON as usize).byte_add(at as usize).cast() }
    }

    /// Whether the threads have not stored addresses that follow from their indices.
    unsafe fn lines_hold(&self) -> bool {
        // SAFETY: as `common`.
        unsafe { *self.common::<u64>(BLOCK_LINES_HOLD) != 0 }
    }

    /// The threads that made the accesses of rows with lines, by where they say so.
    unsafe fn active(&self) -> SmallVec<[(u64, Threads); 2]> {
        let mut found = SmallVec::<[(u64, Threads); 2]>::new();
        for site in self.sites.iter().filter(|site| site.lines != RowSite::NO_LINES) {
            if found.iter().all(|(at, _)| *at != site.active) {
                // SAFETY: as `row`.
                found.push((site.active, Threads::marked(unsafe { self.row(site.active) })));
            }
        }
        found
    }

    /// Where the accesses of a row are.
    unsafe fn items<'a>(&self, site: &RowSite, active: &'a [(u64, Threads)]) -> Items<'a>
    where
        'f: 'a,
    {
        // SAFETY: as `row` and `common`.
        unsafe {
            let Some((_, active)) = active.iter().find(|(at, _)| site.lines != RowSite::NO_LINES && *at == site.active) else {
                return Items::Each(self.row(site.items));
            };
            if self.lines_hold() {
                let at = BLOCK_LINES + site.lines * size_of::<image::Lines>() as u64;
                return Items::Lines(Lines { of: self.common(at), dim: self.dim, active });
            }
            // All threads have stored addresses.
            let items: &mut [u64] = self.row(site.items);
            items.iter_mut().enumerate().filter(|(t, _)| !active.contains(*t)).for_each(|(_, item)| *item = 0);
            Items::Each(items)
        }
    }

    unsafe fn rows<'a>(&self, active: &'a [(u64, Threads)]) -> SmallVec<[Row<'a>; 8]>
    where
        'f: 'a,
    {
        // SAFETY: as `row`.
        self.sites.iter().map(|site| unsafe {
            Row {
                site: site.site,
                size: site.kind & 0xff,
                writes: site.kind & RowSite::WRITES != 0,
                items: self.items(site, active),
                values: (site.values != RowSite::NO_VALUES).then(|| match site.kind & 0xff {
                    4 => Values::Words { written: self.row(site.values), before: self.row(site.before) },
                    _ => Values::Pairs { written: self.row(site.values), before: self.row(site.before) },
                }),
            }
        }).collect()
    }

    /// Leaves the frame as it was before there were accesses.
    unsafe fn clear(&self, empty: Mask) {
        // Threads that make no access leave what is there.
        for (_, site) in (0..).zip(self.sites).filter(|(i, _)| empty >> i & 1 == 0) {
            // SAFETY: as `row`.
            match site.lines {
                RowSite::NO_LINES => unsafe { self.row::<u64>(site.items) }.fill(0),
                _ => unsafe { self.row::<u32>(site.active) }.fill(0),
            }
        }
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
        let frame = Frame { frame, threads: (*sync::block_of(ctx)).threads as usize, dim: &(*ctx).ntid, sites };
        let active = frame.active();
        tell(ctx, &frame, &frame.rows(&active));
    }
}

unsafe fn tell(ctx: *mut ThreadCtx, frame: &Frame<'_>, rows: &[Row<'_>]) {
    // SAFETY: that of `rows`.
    unsafe {
        let local = (*ctx).executor[slot::LOCAL_START].addr();
        let local_bytes = (*ctx).executor[slot::LOCAL_BYTES].addr();
        let empty = match of(ctx, 0) {
            Some(checks) => checks.rows(rows, &(local..local.saturating_add(local_bytes))),
            None => 0,
        };
        frame.clear(empty);
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
        let ctx = &raw mut (*Block::lane(b, 0)).ctx;
        let sites = std::slice::from_raw_parts(sites, count);
        let frame = Frame { frame: frame.cast(), threads: (*b).threads as usize, dim: &(*ctx).ntid, sites };
        let active = frame.active();
        let rows = frame.rows(&active);
        let found = last_access(&rows, address);
        // What a thread says holds for all accesses of a basic block: it has not made those behind the fault, nor
        // have those that ran beside it in vectors.
        let made = |&(at, thread): &(usize, usize)| match rows[at].items {
            Items::Each(_) => None,
            Items::Lines(lines) => Some([thread + 1, (thread + 1).saturating_sub(VECTOR)].map(|end| {
                let mut threads = lines.active.clone();
                threads.truncate(end);
                threads
            })),
        };
        let made = found.as_ref().and_then(made);
        let mut rows = frame.rows(&active);
        if let (Some((at, _)), Some(made)) = (found, &made) {
            for (i, row) in rows.iter_mut().enumerate().skip(at).filter(|(i, _)| sites[*i].active == sites[at].active) {
                if let Items::Lines(lines) = &mut row.items {
                    lines.active = &made[usize::from(i > at)];
                }
            }
        }
        tell(ctx, &frame, &rows);
        found.map(|(at, thread)| Left { thread: thread as u32, site: sites[at].site, writes: rows[at].writes })
    }
}

/// Threads that run side by side in vectors, at most.
const VECTOR: usize = 64;

/// The row and the thread of the last access to an address.
fn last_access(rows: &[Row<'_>], address: Option<usize>) -> Option<(usize, usize)> {
    let address = address?;
    let is_in = |row: &Row<'_>, item: u64| item != 0 && address.wrapping_sub(item as usize) < row.size as usize;
    let each = (0..rows.len()).rev().find_map(|at| match rows[at].items {
        Items::Each(items) => Some((at, items.iter().rposition(|&item| is_in(&rows[at], item))?)),
        Items::Lines(_) => None,
    });
    // Where it is not said which access a thread has come to, none before the fault was to the address.
    each.or_else(|| (0..rows.len()).find_map(|at| Some((at, rows[at].items.each().iter().position(|&item| is_in(&rows[at], item))?))))
}

/// The threads of lanes by warp.
fn threads(lanes_by_warp: &[u32; 32]) -> impl Iterator<Item = u32> {
    (0u32..)
        .zip(lanes_by_warp)
        .flat_map(|(w, &mask)| lanes(mask).map(move |l| w * 32 + l as u32))
}
