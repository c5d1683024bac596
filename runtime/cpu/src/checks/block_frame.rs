//! Accesses that the threads of a block entry leave in the block frame, handed to the checker.

use std::ops::Range;

use gpurace_abi::batch::{BatchAccess, FrameAddresses, FrameBatch, FrameCommon, GatheredItem, GatheredRun};
use gpurace_abi::context::ThreadCtx;
use gpurace_check::batch::affine::{AffineAddresses, Threads};
use gpurace_check::batch::{Addresses, Batch, Values};
use smallvec::SmallVec;

use super::of;
use crate::block::{Block, LastAccess};
use crate::slot;
use crate::thread::block_of;

/// Batches in the block frame.
struct FrameBatches<'a> {
    frame: *mut u64,
    common: &'a FrameCommon,
    threads: usize,
    dim: &'a [u32; 3],
    all: &'a [FrameBatch],
}

/// The threads that made the accesses of affine rows, by the place that says so. Places at which no thread is marked
/// are left out.
type Active = SmallVec<[(u32, Threads); 2]>;

impl<'a> FrameBatches<'a> {
    /// The batches of a block frame.
    ///
    /// # Safety
    /// `ctx` is that of the running block; `frame` is its block frame, with these batches. Nobody
    /// else uses it meanwhile.
    unsafe fn new(ctx: *mut ThreadCtx, frame: *mut u64, all: &'a [FrameBatch]) -> Self {
        // SAFETY: the caller's; the common part lies before the frame.
        unsafe {
            let (common, threads) = (&*frame.cast::<FrameCommon>().sub(1), (*block_of(ctx)).threads());
            Self { frame, common, threads: threads as usize, dim: &(*ctx).ntid, all }
        }
    }

    /// What lies at a place.
    unsafe fn at<T>(&self, place: u32) -> *mut T {
        // SAFETY: the frame holds all places.
        unsafe { self.frame.byte_add(place as usize * self.threads).cast() }
    }

    /// A row at a place: one value for each thread.
    unsafe fn row<T>(&self, place: u32) -> &'a mut [T] {
        // SAFETY: the frame holds whole rows.
        unsafe { std::slice::from_raw_parts_mut(self.at(place), self.threads) }
    }

    /// The bytes of a row at a place, `size` for each thread.
    unsafe fn bytes(&self, place: u32, size: u32) -> &'a [u8] {
        // SAFETY: the frame holds whole rows.
        unsafe { std::slice::from_raw_parts(self.at(place), self.threads * size as usize) }
    }

    /// The items of a buffer at a place.
    unsafe fn buffer<T>(&self, place: u32) -> &'a mut [T] {
        // SAFETY: the frame holds whole buffers, which begin with the number of items.
        unsafe {
            let count: *mut u64 = self.at(place);
            std::slice::from_raw_parts_mut(count.add(1).cast(), *count as usize)
        }
    }

    /// Empties the buffer at a place. Items are zero until a thread completes them.
    unsafe fn empty<T>(&self, place: u32) {
        // SAFETY: as `buffer`.
        unsafe {
            let items: &mut [T] = self.buffer(place);
            items.as_mut_ptr().write_bytes(0, items.len());
            self.at::<u64>(place).write(0);
        }
    }

    /// The threads of all affine rows. Inlined: the result is large.
    #[inline(always)]
    unsafe fn active(&self) -> Active {
        let (mut found, mut seen) = (Active::new(), None);
        for batch in self.all {
            // The rows of a basic block follow each other, and have one place.
            if let FrameAddresses::Affine { active: at, .. } = batch.addresses
                && seen.replace(at) != Some(at)
                && found.iter().all(|(known, _)| *known != at)
            {
                // SAFETY: the batch says what lies at its places.
                let marks: &[u32] = unsafe { self.row(at) };
                if marks.iter().fold(0, |any, mark| any | mark) != 0 {
                    found.push((at, Threads::marked(marks)));
                }
            }
        }
        found
    }

    /// The addresses of a batch; `None` for an affine row of which no thread made an access.
    #[inline(always)]
    unsafe fn addresses<'b>(&self, of: FrameAddresses, active: &'b Active) -> Option<Addresses<'b>>
    where
        'a: 'b,
    {
        // SAFETY: the batch says what lies at its places.
        let addresses = unsafe {
            match of {
                FrameAddresses::Each { at } => Addresses::Each(self.row(at)),
                FrameAddresses::Items { at } => Addresses::Items(self.buffer(at)),
                FrameAddresses::Runs { at } => Addresses::Runs(self.buffer(at)),
                FrameAddresses::Affine { at, lines, active: place } => {
                    let (_, active) = active.iter().find(|(at, _)| *at == place)?;
                    if self.common.lines_hold != 0 {
                        let of = &self.common.lines[lines as usize];
                        Addresses::Affine(AffineAddresses { of, dim: self.dim, active })
                    } else {
                        // All threads have stored addresses; those of inactive threads are cleared.
                        let items: &mut [u64] = self.row(at);
                        for (t, item) in items.iter_mut().enumerate() {
                            *item *= u64::from(active.contains(t));
                        }
                        Addresses::Each(items)
                    }
                }
            }
        };
        Some(addresses)
    }

    /// The batches with their accesses, without affine rows of which no thread made an access. Inlined: the result is
    /// large.
    #[inline(always)]
    unsafe fn batches<'b>(&self, active: &'b Active) -> SmallVec<[Batch<'b>; 8]>
    where
        'a: 'b,
    {
        let mut found = SmallVec::new();
        for &FrameBatch { site, size, does, addresses } in self.all {
            // SAFETY: the batch says what lies at its places.
            unsafe {
                let Some(addresses) = self.addresses(addresses, active) else { continue };
                let values = match does {
                    BatchAccess::Read | BatchAccess::Write => None,
                    BatchAccess::WriteValues { written, before } => {
                        let [written, before] = [written, before].map(|at| self.bytes(at, size));
                        Some(Values { written, before })
                    }
                };
                found.push(Batch { site, size, writes: does != BatchAccess::Read, values, addresses });
            }
        }
        found
    }

    /// Hands these batches, which come from [`Self::batches`], to the checker. Then clears them in the frame.
    unsafe fn hand_over(&self, ctx: *mut ThreadCtx, active: &Active, batches: &[Batch<'_>]) {
        // SAFETY: the context is that of the running block; the batch says what lies at its places.
        unsafe {
            if let Some(checks) = of(ctx, 0) {
                checks.batches(batches, &local(ctx));
            }
            // Threads without access do not write.
            for (at, _) in active {
                self.row::<u32>(*at).fill(0);
            }
            for batch in self.all {
                match batch.addresses {
                    FrameAddresses::Affine { .. } => {}
                    FrameAddresses::Each { at } => self.row::<u64>(at).fill(0),
                    FrameAddresses::Items { at } => self.empty::<GatheredItem>(at),
                    FrameAddresses::Runs { at } => self.empty::<GatheredRun>(at),
                }
            }
        }
    }
}

/// Hands batches in a block frame to the checker.
///
/// # Safety
/// `ctx` is that of the running block; `frame` is its block frame, with these batches.
pub(crate) unsafe fn batches(ctx: *mut ThreadCtx, frame: *mut u64, all: &[FrameBatch]) {
    // SAFETY: the caller's.
    unsafe {
        let frame = FrameBatches::new(ctx, frame, all);
        let active = frame.active();
        frame.hand_over(ctx, &active, &frame.batches(&active));
    }
}

/// The addresses of the threads' local memory.
unsafe fn local(ctx: *mut ThreadCtx) -> Range<usize> {
    // SAFETY: `Block::start` filled the slots.
    let [start, bytes] = unsafe { [slot::LOCAL_START, slot::LOCAL_BYTES].map(|i| (*ctx).executor[i].addr()) };
    start..start.saturating_add(bytes)
}

/// Hands the accesses in a block's frame to the checker after a thread has faulted. Returns the
/// last access to `address` among them.
///
/// # Safety
/// The block's launch has a block entry, which ran and will not go on.
pub(crate) unsafe fn hand_over_after_fault(b: *mut Block, address: Option<usize>) -> Option<LastAccess> {
    // SAFETY: the caller's; the frame names batches of the launch's image, or none.
    unsafe {
        let frame: *mut u64 = (*b).frame.address().cast();
        let common = &*frame.cast::<FrameCommon>().sub(1);
        if common.batches.is_null() {
            return None;
        }
        let ctx = &raw mut (*Block::lane(b, 0)).ctx;
        let all = std::slice::from_raw_parts(common.batches, common.batch_count as usize);
        let frame = FrameBatches::new(ctx, frame, all);
        let threads = frame.active();
        let made;
        let mut batches = frame.batches(&threads);
        for batch in &mut batches {
            // Threads store the written values at the segment's end.
            batch.values = None;
            // An access without a reported address has left an incomplete item.
            match &mut batch.addresses {
                Addresses::Items([reads @ .., _]) if address.is_none() => {
                    batch.addresses = Addresses::Items(reads)
                }
                Addresses::Runs([runs @ .., _]) if address.is_none() => {
                    batch.addresses = Addresses::Runs(runs)
                }
                _ => {}
            }
        }
        let found = last_access(&batches, address);
        // A thread counts as active for all accesses of a basic block. But the thread that faulted has not made those
        // behind the fault. Neither have the threads that ran beside it in vectors.
        if let Some((at, thread)) = found
            && let Addresses::Affine(AffineAddresses { active, .. }) = batches[at].addresses
        {
            made = [thread + 1, (thread + 1).saturating_sub(VECTOR)].map(|end| {
                let mut threads = active.clone();
                threads.truncate(end);
                threads
            });
            for (i, batch) in batches.iter_mut().enumerate().skip(at) {
                match &mut batch.addresses {
                    Addresses::Affine(lines) if std::ptr::eq(lines.active, active) => {
                        lines.active = &made[usize::from(i > at)];
                    }
                    _ => {}
                }
            }
        }
        frame.hand_over(ctx, &threads, &batches);
        found.map(|(at, thread)| {
            let Batch { site, writes, .. } = batches[at];
            LastAccess { thread: thread as u32, site, writes }
        })
    }
}

/// The most threads that run side by side in vectors.
const VECTOR: usize = 64;

/// The batch and the thread of the last access to an address.
fn last_access(batches: &[Batch<'_>], address: Option<usize>) -> Option<(usize, usize)> {
    let address = address?;
    let is_in = |size: u32, item: u64| item != 0 && address.wrapping_sub(item as usize) < size as usize;
    let thread = |&Batch { size, addresses, .. }: &Batch<'_>| match addresses {
        Addresses::Items(reads) => {
            let read = reads.iter().rfind(|read| read.bytes(size).contains(&address))?;
            Some(read.thread() as usize)
        }
        Addresses::Runs(runs) => {
            let run = runs.iter().rfind(|run| run.bytes().contains(&address))?;
            Some(run.first.thread() as usize)
        }
        Addresses::Each(items) => items.iter().rposition(|&item| is_in(size, item)),
        // In affine rows the first access to the address is the one that faulted.
        Addresses::Affine(_) => addresses.each().iter().position(|&item| is_in(size, item)),
    };
    let order = |&at: &usize| match batches[at].addresses {
        Addresses::Items(_) | Addresses::Runs(_) => (0, batches.len() - at),
        Addresses::Each(_) => (1, batches.len() - at),
        Addresses::Affine(_) => (2, at),
    };
    let mut all: Vec<_> = (0..batches.len()).collect();
    all.sort_by_key(order);
    all.into_iter().find_map(|at| Some((at, thread(&batches[at])?)))
}
