//! What the threads of a block leave in its frame for the checker, in code that runs whole blocks.

use std::ops::Range;

use gpurace_abi::context::ThreadCtx;
use gpurace_abi::image::{self, BLOCK_FRAME_COMMON, BLOCK_LINES, BLOCK_LINES_HOLD, BLOCK_ROWS, RowSite};
use gpurace_check::rows::{Items, Lines, Mask, Row, Threads, Values};
use gpurace_check::stream::{Item, Stream};
use smallvec::SmallVec;

use super::of;
use crate::block::{Block, slot};
use crate::sync;

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
        unsafe {
            std::slice::from_raw_parts_mut(
                self.frame.byte_add(at as usize * self.threads).cast(),
                self.threads,
            )
        }
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
            let Some((_, active)) =
                active.iter().find(|(at, _)| site.lines != RowSite::NO_LINES && *at == site.active)
            else {
                return Items::Each(self.row(site.items));
            };
            if self.lines_hold() {
                let at = BLOCK_LINES + site.lines * size_of::<image::Lines>() as u64;
                return Items::Lines(Lines { of: self.common(at), dim: self.dim, active });
            }
            // All threads have stored addresses.
            let items: &mut [u64] = self.row(site.items);
            items
                .iter_mut()
                .enumerate()
                .filter(|(t, _)| !active.contains(*t))
                .for_each(|(_, item)| *item = 0);
            Items::Each(items)
        }
    }

    /// The sites that have rows.
    fn of_rows(&self) -> impl Iterator<Item = &'f RowSite> {
        self.sites.iter().filter(|site| !site.is_pool())
    }

    /// Their rows, one for each.
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
                    items: self.items(site, active),
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

    /// Leaves these rows as they were before there were accesses.
    unsafe fn clear(&self, sites: &[RowSite], empty: Mask) {
        // Threads that make no access leave what is there.
        for (_, site) in (0..).zip(sites).filter(|(i, _)| empty >> i & 1 == 0) {
            // SAFETY: as `row`.
            match site.lines {
                RowSite::NO_LINES => unsafe { self.row::<u64>(site.items) }.fill(0),
                _ => unsafe { self.row::<u32>(site.active) }.fill(0),
            }
        }
    }

    /// Tells the checker of everything, in an order that keeps each thread's own. `rows` are those of the sites.
    unsafe fn tell(&self, ctx: *mut ThreadCtx, mut rows: &[Row<'_>]) {
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

/// What the threads of a block have left in its frame of their accesses.
///
/// # Safety
/// `ctx` is that of the running block, `frame` its frame, in which each row has its part for
/// each thread, and each pool its items.
pub(crate) unsafe fn rows(ctx: *mut ThreadCtx, frame: *mut u64, sites: &[RowSite]) {
    // SAFETY: the caller's; the frame holds whole rows.
    unsafe {
        let frame =
            Frame { frame, threads: (*sync::block_of(ctx)).threads as usize, dim: &(*ctx).ntid, sites };
        // Of all rows at once: some share their threads.
        let active = frame.active();
        frame.tell(ctx, &frame.rows(&active));
    }
}

/// The addresses of the threads' own memory.
unsafe fn local(ctx: *mut ThreadCtx) -> Range<usize> {
    // SAFETY: the slots hold what `Block::start` put there.
    let [start, bytes] = unsafe { [slot::LOCAL_START, slot::LOCAL_BYTES].map(|i| (*ctx).executor[i].addr()) };
    start..start.saturating_add(bytes)
}

/// What the threads of a block have left in a pool, which is empty then.
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
            match words {
                2 => checks.streams(std::slice::from_raw_parts(items.cast(), count), size, site, &local(ctx)),
                _ => {
                    checks.scattered(std::slice::from_raw_parts(items.cast(), count), size, site, &local(ctx))
                }
            }
        }
        // An item that a thread begins and does not come to the end of is so seen to be one.
        items.write_bytes(0, count * words);
    }
}

/// The items of a pool: the address of each, where its bytes end, and its thread.
unsafe fn items(pool: *const u64, kind: u32) -> impl DoubleEndedIterator<Item = (usize, usize, u32)> {
    // SAFETY: the caller's.
    unsafe {
        let (count, items) = (pool.read() as usize, pool.add(1));
        let of = move |item: &Item| (item.address(), item.thread());
        (0..count).map(move |i| {
            if kind & RowSite::STREAMS != 0 {
                let Stream { first, end } = &*items.cast::<Stream>().add(i);
                let (address, thread) = of(first);
                (address, *end as usize, thread)
            } else {
                let (address, thread) = of(&*items.cast::<Item>().add(i));
                (address, address + (kind & 0xff) as usize, thread)
            }
        })
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
        for site in sites.iter().filter(|site| address.is_none() && site.is_pool()) {
            // Of an access that no address can be told of the item holds none.
            let pool = frame.pool(site);
            pool.write(pool.read().saturating_sub(1));
        }
        let of_pool = sites.iter().rev().filter(|site| site.is_pool()).find_map(|site| {
            let is_in =
                |(start, end, _): &(usize, usize, u32)| address.is_some_and(|a| (*start..*end).contains(&a));
            let (.., thread) = items(frame.pool(site), site.kind).rev().find(is_in)?;
            Some(Left { thread, site: site.site, writes: false })
        });
        let of_rows: SmallVec<[RowSite; 8]> = frame.of_rows().copied().collect();
        let rows = frame.rows(&active);
        let found = if of_pool.is_some() { None } else { last_access(&rows, address) };
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
        // Threads store what they have written at the segment's end.
        rows.iter_mut().for_each(|row| row.values = None);
        if let (Some((at, _)), Some(made)) = (found, &made) {
            for (i, row) in
                rows.iter_mut().enumerate().skip(at).filter(|(i, _)| of_rows[*i].active == of_rows[at].active)
            {
                if let Items::Lines(lines) = &mut row.items {
                    lines.active = &made[usize::from(i > at)];
                }
            }
        }
        frame.tell(ctx, &rows);
        of_pool.or(found.map(|(at, thread)| Left {
            thread: thread as u32,
            site: of_rows[at].site,
            writes: rows[at].writes,
        }))
    }
}

/// Threads that run side by side in vectors, at most.
const VECTOR: usize = 64;

/// The row and the thread of the last access to an address.
fn last_access(rows: &[Row<'_>], address: Option<usize>) -> Option<(usize, usize)> {
    let address = address?;
    let is_in =
        |row: &Row<'_>, item: u64| item != 0 && address.wrapping_sub(item as usize) < row.size as usize;
    let each = (0..rows.len()).rev().find_map(|at| match rows[at].items {
        Items::Each(items) => Some((at, items.iter().rposition(|&item| is_in(&rows[at], item))?)),
        Items::Lines(_) => None,
    });
    // Where it is not said which access a thread has come to, none before the fault was to the address.
    each.or_else(|| {
        (0..rows.len())
            .find_map(|at| Some((at, rows[at].items.each().iter().position(|&item| is_in(&rows[at], item))?)))
    })
}
