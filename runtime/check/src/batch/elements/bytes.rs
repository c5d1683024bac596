//! Elements that share words: `uchar3`, three `short`s, bytes at distances of two.
//!
//! A region's record tells of such threads by the distance of their bytes ([`RegionRecord`]). It has whole words. So
//! the accesses to words in which the first or the last element ends are checked one by one.

use std::ops::Range;

use smallvec::SmallVec;

use super::{Accesses, ElementRows, RowOfElements, RowsOfElements, rows_and_accesses};
use crate::batch::rows::{CheckedRow, RowRun};
use crate::batch::{Batch, BatchChecks};
use crate::model::access::GRANULE;
use crate::model::record::{OpCode, Record};
use crate::model::relation::Span;
use crate::shadow::record_list::{RECORDS, RecordList};
use crate::shadow::region::{self, RegionRecord, mask_of_bytes};

/// What rows do to each element, where elements share words.
pub(super) struct BytePattern<'a> {
    rows: RowsOfElements<'a>,
    /// The records that they leave, if they are the only ones.
    parts: SmallVec<[Record; RECORDS]>,
    /// Bytes from an element to the next one.
    step: usize,
    /// Where the first element begins, counted from the first row's address.
    from: isize,
}

impl<'a> BytePattern<'a> {
    /// What these rows do. `None` if no records of regions say it.
    pub(super) fn of(
        block: &mut impl BatchChecks,
        rows: &'a [Batch<'a>],
        all: &ElementRows,
        local: &'a Range<usize>,
    ) -> Option<Self> {
        let (from, step) = (all.part.start, usize::try_from(all.step).ok()?);
        let (rows, left) = rows_and_accesses(block, rows, all, from, local)?;
        let parts: Option<SmallVec<_>> = left
            .iter()
            .filter(|accesses| accesses.bytes != 0)
            .map(|&Accesses { record, writes, bytes }| record_of(record, writes, bytes, step))
            .collect();
        let fits = |parts: &SmallVec<_>| parts.len() <= RECORDS;
        // Each row must have a record of its own, too.
        let one_by_one = rows.iter().all(|row| mask_of_bytes(step, row.bytes).is_some());
        Some(Self { parts: parts.filter(fits).filter(|_| one_by_one)?, rows, step, from })
    }

    /// Checks a run of the first row, and those of the others beside it.
    pub(super) fn check(&self, block: &mut impl BatchChecks, run: &RowRun) {
        block.count((run.accesses * self.rows.len()) as u64);
        let shared = block.begins_access(run.address);
        let start = run.address.wrapping_add_signed(self.from);
        let elements = ByteElements { pattern: self, run, start };
        let all = start..start + run.count * self.step;
        let whole = all.start.next_multiple_of(GRANULE)..all.end & !(GRANULE - 1);
        if run.accesses < run.count || whole.is_empty() {
            return elements.check_each(block, &all);
        }
        let mut at = whole.start;
        while at < whole.end {
            let region = at & !(region::BYTES - 1);
            let to = whole.end.min(region + region::BYTES);
            block.shadow().map.prefetch_region(region + region::BYTES);
            let place = elements.place(region, &(at..to));
            let done = match self.parts.as_slice() {
                [] => true,
                &[record] => block.check_region(&RegionRecord { record, ..place }, at, shared),
                all => {
                    let mut records = RecordList::default();
                    for &record in all {
                        // There is room for each part.
                        let _ = records.push(RegionRecord { record, ..place });
                    }
                    block.check_together(records.as_slice(), at, shared)
                }
            };
            if !done {
                elements.check_rows(block, place, &(at..to), shared);
            }
            at = to;
        }
        for edge in [all.start..whole.start, whole.end..all.end] {
            if !edge.is_empty() {
                elements.check_each(block, &edge);
            }
        }
    }
}

/// The record of accesses to these bytes of elements. `record` has all bytes of a word.
fn record_of(record: Record, writes: bool, bytes: u128, step: usize) -> Option<Record> {
    Some(record.with(OpCode::plain(writes, mask_of_bytes(step, bytes)?), Span::Thread))
}

/// The elements of a run.
struct ByteElements<'p, 'a> {
    pattern: &'p BytePattern<'a>,
    run: &'p RowRun,
    /// The address of the first one.
    start: usize,
}

impl ByteElements<'_, '_> {
    /// The threads and words of some bytes of the region that begins at an address.
    fn place(&self, region: usize, bytes: &Range<usize>) -> RegionRecord {
        let step = self.pattern.step as isize;
        let before = (region as isize).wrapping_sub(self.start as isize);
        let [from, to] = [bytes.start, bytes.end].map(|at| (at - region) / GRANULE);
        RegionRecord {
            mask: ((1_u64 << to) - (1 << from)) as u32,
            base: (self.run.thread as isize + before.div_euclid(step)) as i16,
            step: -step as i8,
            ahead: before.rem_euclid(step) as u8,
            ..RegionRecord::default()
        }
    }

    /// Checks the accesses to some words of a region row by row. `place` has these words.
    #[cold]
    fn check_rows(
        &self,
        block: &mut impl BatchChecks,
        place: RegionRecord,
        words: &Range<usize>,
        shared: bool,
    ) {
        for RowOfElements { checked, bytes } in &self.pattern.rows {
            let record = checked.record.and_then(|record| {
                let record = record_of(record, checked.row.writes, *bytes, self.pattern.step)?;
                Some(RegionRecord { record, ..place })
            });
            if !record.is_some_and(|record| block.check_region(&record, words.start, shared)) {
                self.check_row(block, checked, *bytes, words);
            }
        }
    }

    /// Checks the accesses that have some of these bytes one by one.
    fn check_each(&self, block: &mut impl BatchChecks, bytes: &Range<usize>) {
        for row in &self.pattern.rows {
            self.check_row(block, &row.checked, row.bytes, bytes);
        }
    }

    /// Checks those of one row, which have `accessed` bytes of each element.
    fn check_row(
        &self,
        block: &mut impl BatchChecks,
        row: &CheckedRow<'_>,
        accessed: u128,
        bytes: &Range<usize>,
    ) {
        let &Self { pattern: BytePattern { step, .. }, run, start } = self;
        let (first, end) = (accessed.trailing_zeros() as usize, 128 - accessed.leading_zeros() as usize);
        let mut from = (bytes.start - start) / step;
        if start + from * step + end <= bytes.start {
            from += 1;
        }
        let mut to = (bytes.end - start).div_ceil(*step);
        if to > 0 && start + (to - 1) * step + first >= bytes.end {
            to -= 1;
        }
        let to = to.min(run.count);
        if from < to {
            row.each(block, run.thread + from..run.thread + to);
        }
    }
}
