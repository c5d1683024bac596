//! Rows: the accesses of a block's threads by one instruction between two barriers.
//!
//! Code that runs whole blocks collects the addresses of an instruction's accesses, thread by
//! thread, and hands them over where the threads come to a barrier. Until then nothing orders the
//! threads, so their accesses may be checked in any order that keeps each thread's own; and the
//! accesses of a thread to one word between two barriers leave the same record in any order.
//!
//! Neighbouring threads that access neighbouring bytes or words make a [`RowRun`], which is checked a
//! [region](crate::shadow::region) at a time. Other accesses are checked one by one. Rows of shared
//! memory that repeat are not checked again: see [`crate::batch::interval`].

use std::ops::Range;

use gpurace_abi::device::REGION_WORDS;

use crate::batch::sites::SiteEntry;
use crate::batch::{AHEAD, Addresses, Batch, BatchChecks, Value, WholeAccess};
use crate::model::access::{FULL, GRANULE, Op, word_mask};
use crate::model::record::{OpCode, Record};
use crate::model::relation::Span;
use crate::shadow::region::{self, ONE_THREAD, RegionRecord};

/// Some of the rows that are checked together: bit `i` is the `i`th of them.
pub type RowMask = u64;

impl Batch<'_> {
    /// Words that an access has bytes of, if it is aligned.
    fn words(&self) -> usize {
        (self.size as usize).div_ceil(GRANULE)
    }

    /// The code of an access to the word at an address.
    fn op_at(&self, address: usize) -> OpCode {
        let mask = if self.words() * GRANULE == self.size as usize {
            FULL
        } else {
            word_mask(address & !(GRANULE - 1), address, address + self.size as usize)
        };
        OpCode::plain(self.writes, mask)
    }

    /// The byte that a thread has written at an address, and the one that was there: `None` if it has
    /// not written it, `Some(None)` if they are not known.
    fn written(&self, thread: usize, byte: usize) -> Option<Option<(u8, u8)>> {
        let address = self.addresses.of(thread);
        let within = byte.checked_sub(address).filter(|&w| address != 0 && w < self.size as usize)?;
        let at = thread * self.size as usize + within;
        Some(self.values.map(|values| (values.written[at], values.before[at])))
    }

    /// What [`Self::written`] says of the last thread before `end` that has written the byte.
    fn last_written(&self, end: usize, byte: usize) -> Option<Option<(u8, u8)>> {
        let last = |from: usize, to: usize| (from..to.min(end)).rev().find_map(|t| self.written(t, byte));
        if let Addresses::Affine(affine) = self.addresses {
            let (size, mut found) = (self.size as usize, None);
            let are_runs = affine.runs(size, |run, _| {
                let (from, to) = run.threads_at(byte, size);
                found = last(from, to).or(found);
            });
            if are_runs {
                return found;
            }
        }
        last(0, self.addresses.threads())
    }
}

/// A thread's write in a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowWrite<'a> {
    /// All rows of the segment up to its own.
    rows: &'a [Batch<'a>],
    thread: usize,
}

impl RowWrite<'_> {
    /// True if the byte at an address held already the value that the write left there; `None` if that
    /// is not known. Threads may have run side by side: the order in which they are checked counts.
    pub(crate) fn left_equal(&self, byte: usize) -> Option<bool> {
        let (own, before) = self.rows.split_last()?;
        let (value, there) = own.written(self.thread, byte)??;
        let earlier = own.last_written(self.thread, byte);
        let all = |row: &Batch<'_>| row.last_written(usize::MAX, byte);
        match earlier.or_else(|| before.iter().rev().filter(|row| row.writes).find_map(all)) {
            Some(earlier) => Some(earlier?.0 == value),
            None => Some(there == value),
        }
    }
}

/// Threads of a row from `thread` on whose accesses lie at equal distances. Some may make none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowRun {
    pub(crate) thread: usize,
    /// The first thread's address.
    pub(crate) address: usize,
    /// Bytes from a thread to the next: 0, or see [`RowRun::may_step`].
    pub(crate) step: usize,
    /// How many threads; the last one makes an access.
    pub(crate) count: usize,
    /// How many of them make an access.
    pub(crate) accesses: usize,
}

/// For each step, the words of a region that are multiples of it.
const EVERY: [u64; REGION_WORDS + 1] = {
    let mut all = [0; REGION_WORDS + 1];
    let mut step = 1;
    while step <= REGION_WORDS {
        let mut word = 0;
        while word < REGION_WORDS {
            all[step] |= 1 << word;
            word += step;
        }
        step += 1;
    }
    all
};

/// Neighbouring threads without an access that a run goes over.
const GAP: usize = 32;

impl RowRun {
    /// The end of the last of its accesses of `size` bytes.
    #[inline]
    pub(crate) fn end(&self, size: usize) -> usize {
        self.address.wrapping_add((self.count - 1).wrapping_mul(self.step)).saturating_add(size)
    }

    /// The first and the end of its threads whose accesses of `size` bytes would have this byte.
    fn threads_at(&self, byte: usize, size: usize) -> (usize, usize) {
        let ahead = byte.wrapping_sub(self.address);
        let (at, within, count) = match self.step {
            0 => (0, ahead, self.count),
            step => (ahead / step, ahead % step, 1),
        };
        let has = at < self.count && within < size;
        (self.thread + at.min(self.count), self.thread + if has { at + count } else { 0 })
    }

    /// True if accesses of this size at this distance make runs, one of them at `first`. The distance is 0,
    /// or a power of 2 with no access over a multiple of it, or the size of a struct whose parts of the
    /// access's size are aligned. So no access is of two regions.
    #[inline]
    pub(crate) fn may_step(first: usize, step: usize, size: usize) -> bool {
        if step == 0 {
            return true;
        }
        if size > step || step > region::BYTES {
            return false;
        }
        if step.is_power_of_two() {
            return (first & (step - 1)) + size <= step;
        }
        let aligned = |n: usize| n & (size - 1) == 0;
        step.is_multiple_of(GRANULE) && size.is_power_of_two() && aligned(step) && aligned(first)
    }

    /// True if none of its accesses goes over the end of its region, or over a word that it does not fill.
    fn fits_words(&self, size: usize) -> bool {
        let whole = |within: usize| (self.address & (within - 1)) + size <= within;
        self.address & (size.min(GRANULE) - 1) == 0
            && match self.step {
                0 => whole(region::BYTES),
                step if step.is_power_of_two() => whole(step),
                // [`RowRun::may_step`] has seen to it.
                _ => true,
            }
    }

    /// The run from a thread on that makes an access.
    fn next(addresses: &[u64], thread: usize, size: usize) -> Self {
        let at = |t: usize| addresses[t] as usize;
        let first = at(thread);
        let alone = Self { thread, address: first, step: size.next_power_of_two(), count: 1, accesses: 1 };
        let Some(second) = (thread + 1..addresses.len().min(thread + GAP)).find(|&t| addresses[t] != 0)
        else {
            return alone;
        };
        let (distance, threads) = (at(second).wrapping_sub(first), second - thread);
        // Mostly it is the next thread: a division would cost more than the rest.
        let (step, exact) =
            if threads == 1 { (distance, true) } else { (distance / threads, distance % threads == 0) };
        if !exact || !Self::may_step(first, step, size) {
            return alone;
        }
        let mut end = thread + 1;
        // Eight together, as long as no access is missing.
        while let Some(eight) = addresses[end..].first_chunk::<8>() {
            let expected = first.wrapping_add((end - thread) * step);
            let differ =
                (0..8).fold(0, |differ, i| differ | eight[i] ^ expected.wrapping_add(i * step) as u64);
            if differ != 0 {
                break;
            }
            end += 8;
        }
        let (mut last, mut accesses) = (end - 1, end - thread);
        while end < addresses.len() && end - last <= GAP {
            if addresses[end] != 0 {
                if at(end) != first.wrapping_add((end - thread) * step) {
                    break;
                }
                last = end;
                accesses += 1;
            }
            end += 1;
        }
        Self { thread, address: first, step, count: last + 1 - thread, accesses }
    }
}

/// True if the accesses of an affine row make runs that are checked a region at a time.
pub(super) fn are_simple_runs(row: &Batch<'_>) -> bool {
    let (size, mut simple) = (row.size as usize, true);
    match row.addresses {
        Addresses::Affine(affine) => affine.runs(size, |run, _| simple &= run.fits_words(size)) && simple,
        _ => false,
    }
}

/// True if some three of these neighbours access memory at equal distances: they may be part of a run.
fn is_regular(addresses: &[u64; 16]) -> bool {
    (2..addresses.len()).fold(false, |any, i| {
        let distance = |i: usize| addresses[i].wrapping_sub(addresses[i - 1]);
        any | (distance(i) == distance(i - 1) && distance(i) <= region::BYTES as u64)
    })
}

/// The first thread from `thread` on that makes an access.
pub(crate) fn next_access(addresses: &[u64], mut thread: usize) -> Option<usize> {
    if *addresses.get(thread)? != 0 {
        return Some(thread);
    }
    while let Some(eight) = addresses[thread..].first_chunk::<8>() {
        if eight.iter().fold(0, |any, address| any | address) != 0 {
            break;
        }
        thread += 8;
    }
    addresses[thread..].iter().position(|&address| address != 0).map(|i| thread + i)
}

/// The row that is checked.
pub(super) struct CheckedRow<'a> {
    /// All rows up to it, and it.
    rows: &'a [Batch<'a>],
    pub(super) row: &'a Batch<'a>,
    entry: SiteEntry,
    /// The record of an access by thread 0, where many accesses can have one record.
    pub(super) record: Option<Record>,
    /// The threads' own memory.
    local: &'a Range<usize>,
}

/// Checks `row`, the last of these batches.
pub(super) fn check(
    block: &mut impl BatchChecks,
    rows: &[Batch<'_>],
    row: &Batch<'_>,
    entry: SiteEntry,
    local: &Range<usize>,
) {
    let checked = CheckedRow::new(block, rows, row, entry, local);
    // A few accesses among others that are few are seldom part of a pattern.
    let mut scattered = false;
    if let Addresses::Affine(affine) = row.addresses {
        let has_runs = affine.runs(row.size as usize, |run, next| {
            block.shadow().map.prefetch_region(next);
            checked.run(block, run, &mut scattered);
        });
        if has_runs {
            return;
        }
    }
    let (addresses, mut thread) = (row.addresses.each(), 0);
    while let Some(first) = next_access(&addresses, thread) {
        if scattered
            && let Some(chunk) = addresses[first..].first_chunk()
            && !is_regular(chunk)
        {
            let accesses = checked.each(block, first..first + chunk.len());
            block.count(accesses);
            thread = first + chunk.len();
            continue;
        }
        let run = RowRun::next(&addresses, first, row.size as usize);
        thread = run.thread + run.count;
        checked.run(block, &run, &mut scattered);
    }
}

impl<'a> CheckedRow<'a> {
    /// The last of these rows.
    pub(super) fn new(
        block: &impl BatchChecks,
        rows: &'a [Batch<'a>],
        row: &'a Batch<'a>,
        entry: SiteEntry,
        local: &'a Range<usize>,
    ) -> Self {
        let plain = block.is_plain();
        let record = entry.field().filter(|_| plain).map(|site| {
            Record::new(OpCode::plain(row.writes, FULL), Span::Thread, site, block.view().order.key(0))
        });
        Self { rows, row, entry, record, local }
    }

    /// Checks a run. `scattered` says that the one before was of a few accesses.
    #[inline]
    fn run(&self, block: &mut impl BatchChecks, run: &RowRun, scattered: &mut bool) {
        if self.local.contains(&run.address) {
            return;
        }
        let few = run.accesses < 3;
        match self.record {
            Some(record) if !(few && *scattered) && run.fits_words(self.row.size as usize) => {
                block.count(run.accesses as u64);
                let shared = block.begins_access(run.address);
                match run.step {
                    0 => self.one_place(block, record, run, shared),
                    step if step < GRANULE => self.within_words(block, record, run, shared),
                    _ => self.neighbours(block, record, run, shared),
                }
            }
            _ => {
                let accesses = self.each(block, run.thread..run.thread + run.count);
                block.count(accesses);
            }
        }
        *scattered = few;
    }

    /// Checks the accesses of some threads one by one, and returns their number.
    pub(super) fn each(&self, block: &mut impl BatchChecks, threads: Range<usize>) -> u64 {
        let &Self { rows, row, entry, local, .. } = self;
        let words = self.record.filter(|_| row.size as usize == GRANULE);
        let words = words.and_then(|record| block.view().word_checks(record));
        let mut accesses = 0;
        for thread in threads {
            let address = row.addresses.of(thread);
            if address == 0 || local.contains(&address) {
                continue;
            }
            accesses += 1;
            let shared = block.begins_access(address);
            // The shadow of shared memory is in the cache.
            if !shared && thread + AHEAD < row.addresses.threads() {
                block.shadow().map.prefetch(row.addresses.of(thread + AHEAD));
            }
            if let Some(words) = &words
                && address.is_multiple_of(GRANULE)
                && block.check_word(words, thread as u32, address, shared)
            {
                continue;
            }
            let (op, value) = match row.writes {
                true => (Op::Write, Value::Row(RowWrite { rows, thread })),
                false => (Op::Read, Value::Unknown),
            };
            let (thread, size, site) = (thread as u32, row.size.into(), row.site);
            block.check_one(&WholeAccess { thread, address, size, site, entry, op, value, copy: None });
        }
        accesses
    }

    /// Checks a run of threads that access words of their own, at equal distances.
    fn neighbours(&self, block: &mut impl BatchChecks, record: Record, run: &RowRun, shared: bool) {
        let row = self.row;
        let (words, step) = (row.words(), run.step / GRANULE);
        let record = record.with(row.op_at(run.address), Span::Thread);
        // A thread's words begin at a multiple of the step if that is a power of 2. So the records of all
        // fields of a struct name equal threads.
        let before = if step.is_power_of_two() { run.address / GRANULE % step } else { 0 };
        // The words that threads would access in a region, the first thread at word 0.
        let firsts = ((1_u64 << words) - 1) * EVERY[step];
        let mut done = 0;
        while done < run.count {
            let address = run.address.wrapping_add(done * run.step);
            let from = address / GRANULE % REGION_WORDS;
            let count = (REGION_WORDS - from).div_ceil(step).min(run.count - done);
            let threads = run.thread + done..run.thread + done + count;
            let end = from + (count - 1) * step + words;
            let mut mask = (firsts << from) as u32 & u32::MAX >> (REGION_WORDS - end);
            if run.accesses < run.count {
                mask &= match row.addresses {
                    Addresses::Affine(affine) if step == 1 => {
                        affine.active.part(threads.start, count) << from
                    }
                    addresses => {
                        let one = u32::MAX >> (REGION_WORDS - words);
                        let accessed = |i: &usize| addresses.of(threads.start + i) != 0;
                        (0..count).filter(accessed).fold(0, |mask, i| mask | one << (from + i * step))
                    }
                };
            }
            let steps = (from - before).div_ceil(step);
            let ahead = (steps * step - (from - before)) as u8;
            let base = threads.start as i16 - steps as i16;
            let records = RegionRecord { record, mask, base, step: step as i8, ahead };
            if mask != 0 && !block.check_region(&records, address, shared) {
                self.each(block, threads);
            }
            done += count;
        }
    }

    /// Checks a run of threads that access neighbouring bytes, several of each word.
    fn within_words(&self, block: &mut impl BatchChecks, record: Record, run: &RowRun, shared: bool) {
        let bytes = run.address..run.end(self.row.size as usize);
        if run.accesses < run.count || run.step != self.row.size as usize || bytes.len() < GRANULE {
            self.each(block, run.thread..run.thread + run.count);
            return;
        }
        let mut at = bytes.start;
        while at < bytes.end {
            let to = bytes.end.min((at & !(region::BYTES - 1)) + region::BYTES);
            let first = (run.thread, run.address);
            let records = RegionRecord::of_bytes(record, run.step, first, &(at..to));
            if !block.check_region(&records, at, shared) {
                let [from, to] = [at, to].map(|at| run.thread + (at - run.address) / run.step);
                self.each(block, from..to);
            }
            at = to;
        }
    }

    /// Checks a run of threads that access one place.
    fn one_place(&self, block: &mut impl BatchChecks, record: Record, run: &RowRun, shared: bool) {
        let mask = (u32::MAX >> (REGION_WORDS - self.row.words())) << (run.address / GRANULE % REGION_WORDS);
        // Reads of one instruction are one record; writes race.
        let one_warp = run.thread / 32 == (run.thread + run.count - 1) / 32;
        let span = if one_warp { Span::Warp } else { Span::Block };
        let record = record.with(self.row.op_at(run.address), span);
        let base = run.thread as i16;
        let records = RegionRecord { record, mask, base, step: ONE_THREAD, ahead: 0 };
        if self.row.writes || !block.check_region(&records, run.address, shared) {
            self.each(block, run.thread..run.thread + run.count);
        }
    }
}

#[cfg(test)]
mod tests {
    use gpurace_abi::batch::Lines;

    use super::*;
    use crate::batch::Values;
    use crate::batch::affine::{AffineAddresses, Threads};

    #[test]
    fn the_last_write_of_a_byte_is_that_of_a_search() {
        let bytes: Vec<u8> = (0..=255).cycle().take(64 * 8).collect();
        let values = Some(Values { written: &bytes, before: &bytes });
        let marks: Vec<u32> = (0..64).map(|t| u32::from(t % 7 != 3)).collect();
        let active = Threads::marked(&marks);
        for (dim, steps) in [
            ([64, 1, 1], [4, 0, 0]),
            ([64, 1, 1], [0, 0, 0]),
            ([64, 1, 1], [16, 0, 0]),
            ([64, 1, 1], [4_u64.wrapping_neg(), 0, 0]),
            ([16, 4, 1], [4, 32, 0]),
            ([16, 4, 1], [0, 8, 0]),
            ([8, 4, 2], [8, 64, 0]),
            ([64, 1, 1], [12, 0, 0]),
        ] {
            let of = Lines { first: 4096, steps };
            let affine = AffineAddresses { of: &of, dim: &dim, active: &active };
            let each: Vec<u64> = affine.each();
            for size in [1, 4, 8] {
                let row = |addresses| Batch { site: 0, size, writes: true, values, addresses };
                let (affine, each) = (row(Addresses::Affine(affine)), row(Addresses::Each(&each)));
                for (byte, end) in (3800..5200).flat_map(|byte| [0, 1, 20, 64].map(|end| (byte, end))) {
                    assert_eq!(
                        affine.last_written(end, byte),
                        each.last_written(end, byte),
                        "{dim:?} {steps:?}, size {size}, byte {byte}, end {end}"
                    );
                }
            }
        }
    }
}
