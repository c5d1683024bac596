//! Accesses that the threads of a block entry leave in the block frame, handed to the checker.
//!
//! A site has either rows, with a place for each thread, or a pool of reads.

use std::ops::Range;

use gpurace_abi::context::ThreadCtx;
use gpurace_abi::image::{self, BLOCK_FRAME_COMMON, BLOCK_LINES, BLOCK_LINES_HOLD, BLOCK_ROWS, RowSite};
use gpurace_check::affine::{Addresses, AffineAddresses, Threads};
use gpurace_check::gathered::{Gathered, GatheredRead, GatheredReads, ReadRun};
use gpurace_check::rows::{Row, RowMask, Values};
use smallvec::SmallVec;

use super::of;
use crate::block::{Block, LastAccess};
use crate::slot;
use crate::thread::block_of;

/// The sites of a segment, and the block frame that holds their rows and pools.
struct FrameRows<'a> {
    frame: *mut u64,
    threads: usize,
    dim: &'a [u32; 3],
    sites: &'a [RowSite],
}

impl<'f> FrameRows<'f> {
    /// A row at an offset: one value for each thread.
    unsafe fn row<'a, T>(&self, at: u64) -> &'a mut [T] {
        // SAFETY: the frame holds whole rows; nobody else uses them meanwhile.
        unsafe {
            std::slice::from_raw_parts_mut(
                self.frame.byte_add(at as usize * self.threads).cast(),
                self.threads,
            )
        }
    }

    /// A value of the frame's common part.
    unsafe fn common<T>(&self, at: u64) -> &'f T {
        // SAFETY: the part lies below the frame.
        unsafe { &*self.frame.byte_sub(BLOCK_FRAME_COMMON as usize).byte_add(at as usize).cast() }
    }

    /// True if affine addresses replace the rows of addresses.
    unsafe fn lines_hold(&self) -> bool {
        // SAFETY: as `common`.
        unsafe { *self.common::<u64>(BLOCK_LINES_HOLD) != 0 }
    }

    /// The threads that made the accesses of affine rows, by the offset of the row that says so.
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

    /// The addresses of a row.
    unsafe fn items<'a>(&self, site: &RowSite, active: &'a [(u64, Threads)]) -> Addresses<'a>
    where
        'f: 'a,
    {
        // SAFETY: as `row` and `common`.
        unsafe {
            let Some((_, active)) =
                active.iter().find(|(at, _)| site.lines != RowSite::NO_LINES && *at == site.active)
            else {
                return Addresses::Each(self.row(site.items));
            };
            if self.lines_hold() {
                let at = BLOCK_LINES + site.lines * size_of::<image::Lines>() as u64;
                return Addresses::Affine(AffineAddresses { of: self.common(at), dim: self.dim, active });
            }
            // All threads have stored addresses; those of inactive threads are cleared.
            let items: &mut [u64] = self.row(site.items);
            items
                .iter_mut()
                .enumerate()
                .filter(|(t, _)| !active.contains(*t))
                .for_each(|(_, item)| *item = 0);
            Addresses::Each(items)
        }
    }

    /// The sites with rows.
    fn of_rows(&self) -> impl Iterator<Item = &'f RowSite> {
        self.sites.iter().filter(|site| !site.is_pool())
    }

    /// The rows of these sites.
    unsafe fn rows<'a>(&self, active: &'a [(u64, Threads)]) -> SmallVec<[Row<'a>; 8]>
    where
        'f: 'a,
    {
        // SAFETY: as `row`.
        self.of_rows()
            .map(|site| unsafe {
                Row {
                    site: site.site,
                    size: site.kind & 0xff,
                    writes: site.kind & RowSite::WRITES != 0,
                    addresses: self.items(site, active),
                    values: (site.values != RowSite::NO_VALUES).then(|| match site.kind & 0xff {
                        4 => Values::Words { written: self.row(site.values), before: self.row(site.before) },
                        _ => Values::Pairs { written: self.row(site.values), before: self.row(site.before) },
                    }),
                }
            })
            .collect()
    }

    /// The pool of a site.
    unsafe fn pool(&self, site: &RowSite) -> *mut u64 {
        // SAFETY: the frame holds whole pools.
        unsafe { self.frame.byte_add(site.items as usize * self.threads) }
    }

    /// Clears these rows for the next accesses. `empty`: mask of the rows without accesses.
    unsafe fn clear(&self, sites: &[RowSite], empty: RowMask) {
        // Threads without access do not write.
        for (_, site) in (0..).zip(sites).filter(|(i, _)| empty >> i & 1 == 0) {
            match site.lines {
                // SAFETY: as `row`.
                RowSite::NO_LINES => unsafe { self.row::<u64>(site.items) }.fill(0),
                // SAFETY: as `row`.
                _ => unsafe { self.row::<u32>(site.active) }.fill(0),
            }
        }
    }

    /// Hands all rows and pools to the checker, in an order that keeps each thread's own order.
    unsafe fn hand_over(&self, ctx: *mut ThreadCtx, mut rows: &[Row<'_>]) {
        for sites in self.sites.chunk_by(|a, b| !a.is_pool() && !b.is_pool()) {
            // SAFETY: the context is that of the running block, whose frame it is.
            unsafe {
                if let [site] = sites
                    && site.is_pool()
                {
                    reads(ctx, self.pool(site), site.kind, site.site);
                    continue;
                }
                let (now, later) = rows.split_at(sites.len());
                rows = later;
                let empty = match of(ctx, 0) {
                    Some(checks) => checks.rows(now, &local(ctx)),
                    None => 0,
                };
                self.clear(sites, empty);
            }
        }
    }
}

/// Hands the accesses in a block frame to the checker.
///
/// # Safety
/// `ctx` is that of the running block; `frame` is its block frame, with the rows and pools of
/// `sites`.
pub(crate) unsafe fn rows(ctx: *mut ThreadCtx, frame: *mut u64, sites: &[RowSite]) {
    // SAFETY: the caller's; the frame holds whole rows.
    unsafe {
        let frame =
            FrameRows { frame, threads: (*block_of(ctx)).threads() as usize, dim: &(*ctx).ntid, sites };
        // For all rows at once, since rows share the threads.
        let active = frame.active();
        frame.hand_over(ctx, &frame.rows(&active));
    }
}

/// The addresses of the threads' local memory.
unsafe fn local(ctx: *mut ThreadCtx) -> Range<usize> {
    // SAFETY: `Block::start` filled the slots.
    let [start, bytes] = unsafe { [slot::LOCAL_START, slot::LOCAL_BYTES].map(|i| (*ctx).executor[i].addr()) };
    start..start.saturating_add(bytes)
}

/// Hands the reads in a pool to the checker, and empties the pool.
///
/// # Safety
/// `ctx` is that of the running block; `pool` is one of its frame, as [`RowSite`] says.
pub(crate) unsafe fn reads(ctx: *mut ThreadCtx, pool: *mut u64, kind: u32, site: u32) {
    // SAFETY: the caller's.
    unsafe {
        let count = pool.read() as usize;
        if count == 0 {
            return;
        }
        pool.write(0);
        let (size, items, words) =
            (kind & 0xff, pool.add(1), if kind & RowSite::STREAMS != 0 { 2 } else { 1 });
        if let Some(checks) = of(ctx, 0) {
            let reads = match words {
                2 => Gathered::Runs(std::slice::from_raw_parts(items.cast(), count)),
                _ => Gathered::Each(std::slice::from_raw_parts(items.cast(), count)),
            };
            checks.gathered(GatheredReads { site, size, reads }, &local(ctx));
        }
        // Items are zero until a thread completes them.
        items.write_bytes(0, count * words);
    }
}

/// The items of a pool: start, end and thread of each.
unsafe fn items(pool: *const u64, kind: u32) -> impl DoubleEndedIterator<Item = (usize, usize, u32)> {
    // SAFETY: the caller's.
    unsafe {
        let (count, items) = (pool.read() as usize, pool.add(1));
        let of = move |item: &GatheredRead| (item.address(), item.thread());
        (0..count).map(move |i| {
            if kind & RowSite::STREAMS != 0 {
                let ReadRun { first, end } = &*items.cast::<ReadRun>().add(i);
                let (address, thread) = of(first);
                (address, *end as usize, thread)
            } else {
                let (address, thread) = of(&*items.cast::<GatheredRead>().add(i));
                (address, address + (kind & 0xff) as usize, thread)
            }
        })
    }
}

/// Hands the accesses in a block's frame to the checker after a thread has faulted. Returns the
/// last access to `address` among them.
///
/// # Safety
/// The block's launch has a block entry, which ran and will not go on.
pub(crate) unsafe fn hand_over_after_fault(b: *mut Block, address: Option<usize>) -> Option<LastAccess> {
    // SAFETY: the caller's; the frame names a table of the launch's image, or none.
    unsafe {
        let frame = (*b).frame.address();
        let named = frame.sub(BLOCK_FRAME_COMMON as usize).add(BLOCK_ROWS as usize).cast::<*const RowSite>();
        let (sites, count) = (named.read(), named.add(1).read().addr());
        if sites.is_null() {
            return None;
        }
        let ctx = &raw mut (*Block::lane(b, 0)).ctx;
        let sites = std::slice::from_raw_parts(sites, count);
        let frame =
            FrameRows { frame: frame.cast(), threads: (*b).threads() as usize, dim: &(*ctx).ntid, sites };
        let active = frame.active();
        for site in sites.iter().filter(|site| address.is_none() && site.is_pool()) {
            // An access without a reported address has left an incomplete item.
            let pool = frame.pool(site);
            pool.write(pool.read().saturating_sub(1));
        }
        let of_pool = sites.iter().rev().filter(|site| site.is_pool()).find_map(|site| {
            let is_in =
                |(start, end, _): &(usize, usize, u32)| address.is_some_and(|a| (*start..*end).contains(&a));
            let (.., thread) = items(frame.pool(site), site.kind).rev().find(is_in)?;
            Some(LastAccess { thread, site: site.site, writes: false })
        });
        let of_rows: SmallVec<[RowSite; 8]> = frame.of_rows().copied().collect();
        let rows = frame.rows(&active);
        let found = if of_pool.is_some() { None } else { last_access(&rows, address) };
        // A thread counts as active for all accesses of a basic block. The thread that faulted has not
        // made the accesses behind the fault, nor have the threads that ran beside it in vectors.
        let made = |&(at, thread): &(usize, usize)| match rows[at].addresses {
            Addresses::Each(_) => None,
            Addresses::Affine(lines) => Some([thread + 1, (thread + 1).saturating_sub(VECTOR)].map(|end| {
                let mut threads = lines.active.clone();
                threads.truncate(end);
                threads
            })),
        };
        let made = found.as_ref().and_then(made);
        let mut rows = frame.rows(&active);
        // Threads store the written values at the segment's end.
        rows.iter_mut().for_each(|row| row.values = None);
        if let (Some((at, _)), Some(made)) = (found, &made) {
            for (i, row) in
                rows.iter_mut().enumerate().skip(at).filter(|(i, _)| of_rows[*i].active == of_rows[at].active)
            {
                if let Addresses::Affine(lines) = &mut row.addresses {
                    lines.active = &made[usize::from(i > at)];
                }
            }
        }
        frame.hand_over(ctx, &rows);
        of_pool.or(found.map(|(at, thread)| LastAccess {
            thread: thread as u32,
            site: of_rows[at].site,
            writes: rows[at].writes,
        }))
    }
}

/// The most threads that run side by side in vectors.
const VECTOR: usize = 64;

/// The row and the thread of the last access to an address.
fn last_access(rows: &[Row<'_>], address: Option<usize>) -> Option<(usize, usize)> {
    let address = address?;
    let is_in =
        |row: &Row<'_>, item: u64| item != 0 && address.wrapping_sub(item as usize) < row.size as usize;
    let each = (0..rows.len()).rev().find_map(|at| match rows[at].addresses {
        Addresses::Each(items) => Some((at, items.iter().rposition(|&item| is_in(&rows[at], item))?)),
        Addresses::Affine(_) => None,
    });
    // In affine rows the first access to the address is the one that faulted.
    each.or_else(|| {
        (0..rows.len()).find_map(|at| {
            Some((at, rows[at].addresses.each().iter().position(|&item| is_in(&rows[at], item))?))
        })
    })
}
