//! Elements: rows of one segment whose threads access parts of elements that lie side by side.
//!
//! An array of structs is accessed by an instruction for each field, and each of them makes a row. If each row took the
//! records of a [region](crate::shadow::region) by itself, a struct of nine accesses would take them nine times. Here
//! all rows with one distance between threads meet a region together, if each thread stays within an element of its
//! own. What the rows leave together is found once: a write stands for a read of the same bytes, and accesses of one
//! instruction make one record.
//!
//! That holds where a region's records are settled, or of the same threads in this interval: no access races with
//! these. Where a region has others, each row meets them by itself.

mod bytes;

use std::ops::Range;

use gpurace_abi::device::REGION_WORDS;
use smallvec::SmallVec;

use crate::batch::affine::AffineAddresses;
use crate::batch::elements::bytes::BytePattern;
use crate::batch::rows::{self, CheckedRow, RowMask, RowRun};
use crate::batch::{Addresses, Batch, BatchChecks};
use crate::model::access::{FULL, GRANULE};
use crate::model::record::{OpCode, Record};
use crate::model::relation::Span;
use crate::shadow::region::{self, FALLS, RECORDS, RegionList, RegionRecord};

/// Rows of a segment that are checked together.
#[derive(Debug, Default)]
pub(crate) struct ElementRows {
    /// Which of the segment's rows they are, counted from the first one.
    rows: RowMask,
    /// The first one's number in the segment.
    first: usize,
    /// Bytes from a thread's element to the next one's.
    step: isize,
    /// The part of an element that they access, counted from the first row's address.
    part: Range<isize>,
}

impl ElementRows {
    /// Adds the last of these rows. False if it cannot be checked together with those that were added before.
    pub(crate) fn add(&mut self, rows: &[Batch<'_>]) -> bool {
        let Some((row, before)) = rows.split_last() else { return false };
        let Addresses::Affine(affine) = row.addresses else { return false };
        let (at, size) = (before.len(), row.size as isize);
        if self.rows == 0 {
            let Some(step) = affine.element_step() else { return false };
            let one = Self { rows: 1, first: at, step, part: 0..size };
            let fits = one.fits(affine);
            if fits {
                *self = one;
            }
            return fits;
        }
        let Addresses::Affine(others) = before[self.first].addresses else { return false };
        let from = affine.of.first.wrapping_sub(others.of.first) as isize;
        let alike = affine.of.steps == others.of.steps && affine.dim == others.dim;
        if !alike || from.unsigned_abs() > region::BYTES || affine.active != others.active {
            return false;
        }
        let part = self.part.start.min(from)..self.part.end.max(from + size);
        let Some(bit) = 1_u64.checked_shl((at - self.first) as u32) else { return false };
        let all = Self { rows: self.rows | bit, part, ..*self };
        let fits = all.fits(others);
        if fits {
            *self = all;
        }
        fits
    }

    /// Where the part of an element begins in its first word, and how many words it has. `first` is the first row.
    fn words(&self, first: AffineAddresses<'_>) -> (usize, usize) {
        let head = (first.of.first as usize).wrapping_add_signed(self.part.start) % GRANULE;
        (head, (head + self.part.len()).div_ceil(GRANULE))
    }

    /// True if elements share words.
    fn share_words(&self) -> bool {
        !self.step.unsigned_abs().is_multiple_of(GRANULE)
    }

    /// True if each thread has an element of its own, and words of its own if elements have whole words.
    fn fits(&self, first: AffineAddresses<'_>) -> bool {
        let (step, len) = (self.step.unsigned_abs(), self.part.len());
        let part = if self.share_words() { len } else { self.words(first).1 * GRANULE };
        step <= region::BYTES && part <= step
    }

    /// True if they may have some bytes in common with a row.
    pub(crate) fn may_meet(&self, rows: &[Batch<'_>], row: &Batch<'_>) -> bool {
        if self.rows == 0 {
            return false;
        }
        let Addresses::Affine(first) = rows[self.first].addresses else { return true };
        let Some(bounds) = first.bounds(0) else { return true };
        let from = bounds.start.saturating_add_signed(self.part.start);
        row.may_meet(&(from..bounds.end.saturating_add_signed(self.part.end)))
    }

    /// Checks the rows that were added, and takes them out.
    pub(crate) fn check(&mut self, block: &mut impl BatchChecks, rows: &[Batch<'_>], local: &Range<usize>) {
        let all = std::mem::take(self);
        let mut left = all.rows;
        if left == 0 {
            return;
        }
        if let Addresses::Affine(affine) = rows[all.first].addresses {
            if all.share_words() {
                if let Some(pattern) = BytePattern::of(block, rows, &all, local) {
                    return affine.visit_parts(|run, next| {
                        block.shadow().map.prefetch_region(next);
                        pattern.check(block, run);
                    });
                }
            } else if !(left.is_power_of_two() && rows::are_simple_runs(&rows[all.first]))
                && let Some(pattern) = Pattern::of(block, rows, &all, local)
            {
                return affine.visit_parts(|run, next| {
                    block.shadow().map.prefetch_region(next);
                    pattern.check(block, run);
                });
            }
        }
        while let Some(at) = next_row(&mut left) {
            super::check(block, &rows[..=all.first + at], local);
        }
    }
}

/// Takes the first of some rows out.
fn next_row(rows: &mut RowMask) -> Option<usize> {
    let at = (*rows != 0).then(|| rows.trailing_zeros() as usize)?;
    *rows &= *rows - 1;
    Some(at)
}

/// Accesses to the words of an element that have the same bytes of each.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    record: Record,
    /// The words of the element.
    words: u32,
}

/// A row of elements.
struct RowOfElements<'a> {
    checked: CheckedRow<'a>,
    /// Its bytes in an element.
    bytes: u128,
}

/// What rows do to each element.
struct Pattern<'a> {
    rows: RowsOfElements<'a>,
    /// What they leave, if they are the only ones.
    parts: SmallVec<[Part; RECORDS]>,
    /// Words from an element to the next one.
    step: usize,
    /// Words of an element that are accessed, from its first one on.
    words: usize,
    /// Where the first word lies, counted from the first row's address.
    from: isize,
    /// Later threads have elements at lower addresses.
    falls: bool,
}

/// The accesses of an instruction to an element.
struct Accesses {
    record: Record,
    writes: bool,
    bytes: u128,
}

type RowsOfElements<'a> = SmallVec<[RowOfElements<'a>; 16]>;
type AccessesOfElements = SmallVec<[Accesses; RECORDS]>;

/// The rows of elements, and what is left of their accesses if they are the only ones. Bytes are counted from `from`,
/// as the first row's address is. `None` if the rows cannot be checked together.
fn rows_and_accesses<'a>(
    block: &mut impl BatchChecks,
    rows: &'a [Batch<'a>],
    all: &ElementRows,
    from: isize,
    local: &'a Range<usize>,
) -> Option<(RowsOfElements<'a>, AccessesOfElements)> {
    let Addresses::Affine(first) = rows[all.first].addresses else { return None };
    let (mut elements, mut left): (RowsOfElements<'a>, AccessesOfElements) = Default::default();
    let mut chosen = all.rows;
    while let Some(at) = next_row(&mut chosen) {
        let until = &rows[..=all.first + at];
        let row = &rows[all.first + at];
        let entry = block.entry(row.site);
        let checked = CheckedRow::new(block, until, row, entry, local);
        let (record, Addresses::Affine(affine)) = (checked.record?, row.addresses) else { return None };
        if row.addresses.first().is_some_and(|first| local.contains(&first)) {
            return None;
        }
        let offset = (affine.of.first.wrapping_sub(first.of.first) as isize - from) as u32;
        let bytes = (u128::MAX >> (128 - row.size)) << offset;
        elements.push(RowOfElements { checked, bytes });
        let mut new = bytes;
        for earlier in &mut left {
            if row.writes && !earlier.writes {
                earlier.bytes &= !new;
            } else {
                new &= !earlier.bytes;
            }
        }
        match left.iter_mut().find(|of| of.record == record && of.writes == row.writes) {
            Some(same) => same.bytes |= new,
            None => left.push(Accesses { record, writes: row.writes, bytes: new }),
        }
    }
    Some((elements, left))
}

/// For each step, all multiples of it.
const MULTIPLES: [u64; REGION_WORDS + 1] = {
    let mut all = [0; REGION_WORDS + 1];
    let mut step = 1;
    while step <= REGION_WORDS {
        let mut word = 0;
        while word < 64 {
            all[step] |= 1 << word;
            word += step;
        }
        step += 1;
    }
    all
};

/// Appends the parts of accesses to these bytes. `record` has all bytes of each word.
fn push_parts(parts: &mut SmallVec<[Part; RECORDS]>, record: Record, writes: bool, mut bytes: u128) {
    let first = parts.len();
    let mut word = 0;
    while bytes != 0 {
        let empty = bytes.trailing_zeros() as usize / GRANULE;
        bytes >>= empty * GRANULE;
        word += empty;
        let record = record.with(OpCode::plain(writes, bytes as u8 & FULL), Span::Thread);
        match parts[first..].iter_mut().find(|part| part.record == record) {
            Some(part) => part.words |= 1 << word,
            None => parts.push(Part { record, words: 1 << word }),
        }
        bytes >>= GRANULE;
        word += 1;
    }
}

impl<'a> Pattern<'a> {
    /// What these rows do. `None` if it is not the same for all elements, or too much.
    fn of(
        block: &mut impl BatchChecks,
        rows: &'a [Batch<'a>],
        all: &ElementRows,
        local: &'a Range<usize>,
    ) -> Option<Self> {
        let Addresses::Affine(first) = rows[all.first].addresses else { return None };
        let (head, words) = all.words(first);
        let from = all.part.start - head as isize;
        let (elements, left) = rows_and_accesses(block, rows, all, from, local)?;
        let mut parts = SmallVec::new();
        for Accesses { record, writes, bytes } in left {
            push_parts(&mut parts, record, writes, bytes);
        }
        let (step, falls) = (all.step.unsigned_abs() / GRANULE, all.step < 0);
        (parts.len() <= RECORDS).then_some(Self { rows: elements, parts, step, words, from, falls })
    }

    /// Checks a run of the first row, and those of the others beside it.
    fn check(&self, block: &mut impl BatchChecks, run: &RowRun) {
        block.count((run.accesses * self.rows.len()) as u64);
        let shared = block.begins_access(run.address);
        let elements = Elements::of(self, run);
        let mut word = elements.start & !(REGION_WORDS - 1);
        while word < elements.end {
            let region = elements.region(word);
            let address = word * GRANULE;
            block.shadow().map.prefetch_region(address + region::BYTES);
            let mut records = RegionList::default();
            for part in &self.parts {
                let record = region.record(part);
                // There is room for each part.
                let _ = record.mask != 0 && records.push(record);
            }
            let done = match records.as_slice() {
                [] => true,
                [one] => block.check_region(one, address, shared),
                all => block.check_together(all, address, shared),
            };
            if !done {
                self.check_rows(block, &region, address, shared);
            }
            word += REGION_WORDS;
        }
    }

    /// Checks the accesses to a region row by row.
    #[cold]
    fn check_rows(
        &self,
        block: &mut impl BatchChecks,
        region: &RegionOfElements<'_, '_>,
        address: usize,
        shared: bool,
    ) {
        let mut parts = SmallVec::new();
        for RowOfElements { checked, bytes } in &self.rows {
            parts.clear();
            let Some(record) = checked.record else { continue };
            push_parts(&mut parts, record, checked.row.writes, *bytes);
            let met = |part| {
                let record = region.record(part);
                record.mask == 0 || block.check_region(&record, address, shared)
            };
            if !parts.iter().all(met) {
                checked.each(block, region.threads(*bytes));
            }
        }
    }
}

/// The elements of a run.
struct Elements<'p, 'a> {
    pattern: &'p Pattern<'a>,
    run: &'p RowRun,
    /// The first word that may be accessed, and the end of them.
    start: usize,
    end: usize,
    /// How many words before their parts the elements begin, as records name their threads. Elements of a
    /// power of two words begin at a multiple of it, so that all segments name the same threads.
    before: usize,
}

impl<'p, 'a> Elements<'p, 'a> {
    fn of(pattern: &'p Pattern<'a>, run: &'p RowRun) -> Self {
        let lowest = if pattern.falls { (run.count - 1) * pattern.step * GRANULE } else { 0 };
        let start = run.address.wrapping_sub(lowest).wrapping_add_signed(pattern.from) / GRANULE;
        let end = start + (run.count - 1) * pattern.step + pattern.words;
        let aligned = if pattern.step.is_power_of_two() { start % pattern.step } else { 0 };
        let before = if aligned + pattern.words <= pattern.step { aligned } else { 0 };
        Self { pattern, run, start, end, before }
    }

    /// The elements in the region whose first word is this one.
    fn region(&self, word: usize) -> RegionOfElements<'_, 'a> {
        let step = self.pattern.step;
        let (start, word) = (self.start as isize, word as isize);
        let (element, phase) =
            ((word - start).div_euclid(step as isize), (word - start).rem_euclid(step as isize));
        let phase = phase as usize;
        let low = (start - word).clamp(0, REGION_WORDS as isize - 1);
        let high = (self.end as isize - word).min(REGION_WORDS as isize);
        let mut words = (u32::MAX << low) & (u32::MAX >> (REGION_WORDS as isize - high));
        if self.run.accesses < self.run.count {
            words &= self.active(element, phase);
        }
        RegionOfElements { of: self, element, phase, words }
    }

    /// The thread of an element, also of one before the first.
    fn thread(&self, element: isize) -> isize {
        let RowRun { thread, count, .. } = *self.run;
        if self.pattern.falls { (thread + count - 1) as isize - element } else { thread as isize + element }
    }

    /// The words of a region whose elements' threads make an access.
    fn active(&self, element: isize, phase: usize) -> u32 {
        let Addresses::Affine(affine) = self.pattern.rows[0].checked.row.addresses else { return 0 };
        let step = self.pattern.step;
        let whole = u64::MAX >> (64 - step);
        let (mut words, mut at) = (0, -(phase as isize));
        for element in element.. {
            if at >= REGION_WORDS as isize || element >= self.run.count as isize {
                break;
            }
            if element >= 0 && affine.active.contains(self.thread(element) as usize) {
                words |= if at >= 0 { whole << at } else { whole >> -at };
            }
            at += step as isize;
        }
        words as u32
    }
}

/// The elements in a region.
struct RegionOfElements<'e, 'a> {
    of: &'e Elements<'e, 'a>,
    /// The element that holds the region's first word, and the word's number in it.
    element: isize,
    phase: usize,
    /// The region's words that may be accessed.
    words: u32,
}

impl RegionOfElements<'_, '_> {
    /// The record of the accesses to a part of each element.
    #[inline]
    fn record(&self, part: &Part) -> RegionRecord {
        let step = self.of.pattern.step;
        let all = u64::from(part.words).wrapping_mul(MULTIPLES[step]);
        let ahead = self.phase + self.of.before;
        let (element, ahead) =
            if ahead < step { (self.element, ahead) } else { (self.element + 1, ahead - step) };
        RegionRecord {
            record: part.record,
            mask: (all >> self.phase) as u32 & self.words,
            base: self.of.thread(element) as i16,
            step: step as i8,
            ahead: ahead as u8 | if self.of.pattern.falls { FALLS } else { 0 },
        }
    }

    /// The threads whose accesses to these bytes of their elements are of the region.
    fn threads(&self, bytes: u128) -> Range<usize> {
        let (first, last) =
            (bytes.trailing_zeros() as usize / GRANULE, (127 - bytes.leading_zeros() as usize) / GRANULE);
        let step = self.of.pattern.step as isize;
        // The words of element `n`, counted from the region's first one, begin here.
        let at = |n: isize| (n - self.element) * step - self.phase as isize;
        let mut from = self.element.max(0);
        while at(from) + (last as isize) < 0 {
            from += 1;
        }
        let mut to = from;
        while to < self.of.run.count as isize && at(to) + (first as isize) < REGION_WORDS as isize {
            to += 1;
        }
        if from >= to {
            return 0..0;
        }
        let (one, other) = (self.of.thread(from) as usize, self.of.thread(to - 1) as usize);
        one.min(other)..one.max(other) + 1
    }
}
