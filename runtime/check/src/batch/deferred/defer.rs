//! Which reads of a running block are deferred.

use std::ops::Range;
use std::sync::Arc;

use gpurace_abi::batch::{GatheredItem, GatheredRun, Lines};
use smallvec::SmallVec;

use super::patterns;
use super::{BlockThen, DeferringLaunch, LoggedReads, OwnLog, ReadAddresses, ReadBatch, ReadLogs, push_all};
use crate::batch::affine::{AffineAddresses, Threads, affine_addresses_of};
use crate::batch::rows::RowMask;
use crate::batch::{Addresses, Batch};
use crate::model::access::overlap;
use crate::shadow::map::ShadowMap;
use crate::shadow::page::{Marks, STRETCH};

/// How many stretches that gathered accesses may wait for are remembered.
const STRETCHES_KEPT: usize = 8;
/// Gathered accesses are logged as they come until the log of a launch has so many bytes. To find patterns
/// takes longer.
const BYTES_AS_THEY_COME: usize = 1 << 20;
/// Most bytes between the first and the last read of a row that is deferred.
const MOST_SPAN: usize = 1 << 21;

/// A running block whose reads may be deferred.
pub(crate) struct Deferrer<'a, L> {
    pub(crate) log: &'a mut OwnLog<L>,
    pub(crate) logs: &'a Arc<ReadLogs<L>>,
    pub(crate) launch: &'a Arc<L>,
    pub(crate) block: BlockThen,
    pub(crate) memory: DeferralMemory<'a>,
}

/// The memory whose reads may be deferred.
pub(crate) struct DeferralMemory<'a> {
    pub(crate) map: &'a ShadowMap,
    pub(crate) marks: &'a Marks,
    /// Memory whose reads are never deferred: the block's shared memory, and its threads' own.
    pub(crate) others: [&'a Range<usize>; 2],
}

impl DeferralMemory<'_> {
    fn has_none_of(&self, bytes: &Range<usize>) -> bool {
        !self.others.iter().any(|other| overlap(bytes, other))
    }

    /// Marks bytes as read. True if their reads may be deferred.
    #[inline]
    fn reads(&self, bytes: &Range<usize>) -> bool {
        self.has_none_of(bytes) && self.map.reads(bytes, self.marks)
    }

    /// The same for all bytes of a stretch.
    fn reads_stretch(&self, stretch: usize) -> bool {
        let bytes = stretch * STRETCH..(stretch + 1) * STRETCH;
        self.has_none_of(&bytes) && self.map.reads_stretch(bytes.start, self.marks)
    }
}

/// The last stretches that were met and whose reads may all be deferred.
struct KeptStretches<'a> {
    memory: &'a DeferralMemory<'a>,
    last: [usize; STRETCHES_KEPT],
}

impl<'a> KeptStretches<'a> {
    fn new(memory: &'a DeferralMemory<'a>) -> Self {
        Self { memory, last: [usize::MAX; STRETCHES_KEPT] }
    }

    /// Marks bytes as read. True if their reads may be deferred.
    #[inline]
    fn reads(&mut self, bytes: &Range<usize>) -> bool {
        if bytes.is_empty() {
            return true;
        }
        let stretch = bytes.start / STRETCH;
        let last = &mut self.last[stretch % STRETCHES_KEPT];
        if (bytes.end - 1) / STRETCH == stretch {
            if *last == stretch {
                return true;
            }
            if self.memory.reads_stretch(stretch) {
                *last = stretch;
                return true;
            }
        }
        self.memory.reads(bytes)
    }
}

/// A row that may be deferred, if its memory has no unsettled write.
struct Candidate<'a> {
    /// Its number among the rows.
    at: usize,
    of: Lines,
    dim: [u32; 3],
    active: Option<&'a Threads>,
    bounds: Range<usize>,
}

/// The reads of a row.
fn items_of(addresses: &[u64]) -> Vec<GatheredItem> {
    let made = (0..).zip(addresses).filter(|&(_, &address)| address != 0);
    made.map(|(thread, &address)| GatheredItem::new(thread, address as usize)).collect()
}

impl<L: DeferringLaunch> Deferrer<'_, L> {
    /// Logs those rows of the mask `some` whose memory has no unsettled write. Returns the mask of the rows that were
    /// logged, and the number of their reads.
    pub(crate) fn defer_rows(mut self, rows: &[Batch<'_>], some: RowMask) -> (RowMask, u64) {
        let threads = self.launch.threads();
        let mut all = None;
        let mut scattered = SmallVec::<[(usize, Vec<GatheredItem>); 4]>::new();
        let mut candidates = SmallVec::<[Candidate<'_>; 8]>::new();
        for (at, row) in rows.iter().enumerate().filter(|(at, _)| some >> at & 1 != 0) {
            let (of, dim, active) = match row.addresses {
                Addresses::Affine(affine) => (*affine.of, *affine.dim, Some(affine.active)),
                addresses => match affine_addresses_of(&addresses.each()) {
                    Some((of, dim)) => (of, dim, None),
                    None => {
                        scattered.push((at, items_of(&addresses.each())));
                        continue;
                    }
                },
            };
            let active_or_all = active.unwrap_or_else(|| all.get_or_insert_with(|| Threads::first(threads)));
            let affine = AffineAddresses { of: &of, dim: &dim, active: active_or_all };
            let bounds = affine.bounds(row.size as usize).filter(|bounds| bounds.len() <= MOST_SPAN);
            candidates.extend(bounds.map(|bounds| Candidate { at, of, dim, active, bounds }));
        }
        let (mut deferred, mut checks) = (0, 0);
        for (at, items) in scattered {
            let batch = Batch { addresses: Addresses::Items(&items), ..rows[at] };
            if let Some(made) = self.defer_gathered(&batch) {
                checks += made;
                deferred |= 1 << at;
            }
        }
        if candidates.is_empty() {
            return (deferred, checks);
        }
        let bytes = candidates.len() * (size_of::<ReadBatch>() + size_of::<Threads>());
        self.in_log(bytes, |block, memory, log| {
            // Most rows have the same threads as the row before: their set, its index in the log, and
            // their number.
            let mut last = (None::<&Threads>, None, threads as u64);
            for &Candidate { at, of, dim, active, ref bounds } in &candidates {
                if !memory.reads(bounds) {
                    continue;
                }
                if last.0.map(std::ptr::from_ref) != active.map(std::ptr::from_ref) {
                    let some = active.filter(|active| !active.is_all(threads));
                    let index = some.map(|some| log.push_threads(some));
                    last = (active, index, some.map_or(threads as u64, Threads::count));
                }
                let addresses = ReadAddresses::Affine { of, dim, active: last.1 };
                log.push(block, rows[at].site, rows[at].size, addresses);
                checks += last.2;
                deferred |= 1 << at;
            }
        });
        (deferred, checks)
    }

    /// Logs gathered accesses, if all their memory has no unsettled write. Returns how many they are;
    /// `None` if they are not logged.
    pub(crate) fn defer_gathered(&mut self, batch: &Batch<'_>) -> Option<u64> {
        let (items, runs) = match batch.addresses {
            Addresses::Items(items) => (items, &[][..]),
            Addresses::Runs(runs) => (&[][..], runs),
            Addresses::Each(_) | Addresses::Affine(_) => return None,
        };
        let mut checks = None;
        let bytes = size_of::<ReadBatch>() + size_of_val(items) + size_of_val(runs);
        self.in_log(bytes, |block, memory, log| {
            let mut stretches = KeptStretches::new(memory);
            let bytes =
                items.iter().map(|read| read.bytes(batch.size)).chain(runs.iter().map(GatheredRun::bytes));
            // The number of reads, if they may be deferred.
            let count = |bytes: Range<usize>| {
                stretches.reads(&bytes).then_some(bytes.len() as u64 / u64::from(batch.size))
            };
            checks = bytes.map(count).sum();
            if checks.is_some() {
                let each = items
                    .iter()
                    .map(|read| GatheredRun { first: *read, end: read.bytes(batch.size).end as u64 });
                let size = if runs.is_empty() { size_of::<GatheredItem>() } else { size_of::<GatheredRun>() };
                let found = match log.bytes() < BYTES_AS_THEY_COME {
                    true => None,
                    false => patterns::find(each.chain(runs.iter().copied()), size),
                };
                let addresses = match (found, runs) {
                    (Some(found), _) => ReadAddresses::Patterns(push_all(&mut log.patterns, &found)),
                    (None, []) => ReadAddresses::Items(push_all(&mut log.items, items)),
                    (None, _) => ReadAddresses::Runs(push_all(&mut log.runs, runs)),
                };
                log.push(block, batch.site, batch.size, addresses);
            }
        });
        checks
    }

    /// Locks the worker's log, and appends to the reads of the launch if there is room for so many
    /// bytes.
    fn in_log(
        &mut self,
        bytes: usize,
        append: impl FnOnce(BlockThen, &DeferralMemory<'_>, &mut LoggedReads),
    ) {
        if self.log.0.as_ref().is_none_or(|(logs, _)| !Arc::ptr_eq(logs, self.logs)) {
            *self.log = OwnLog(Some((self.logs.clone(), self.logs.take())));
        }
        let Some((_, log)) = &self.log.0 else { return };
        let mut log = log.lock();
        if let Some(of) = log.of(self.launch, bytes) {
            let before = of.reads.bytes();
            append(self.block, &self.memory, &mut of.reads);
            let more = of.reads.bytes() - before;
            log.bytes += more;
        }
    }
}
