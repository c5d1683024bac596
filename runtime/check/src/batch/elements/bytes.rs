//! Elements that share words: `uchar3`, three `short`s, bytes at distances of two.
//!
//! A region's record tells of such threads by the distance of their bytes ([`RegionRecord`]).

use std::ops::Range;

use smallvec::SmallVec;

use super::{Accesses, ElementRows, RowOfElements, RowsOfElements, rows_and_accesses};
use crate::batch::rows::{CheckedRow, RowRun};
use crate::batch::{Batch, BatchChecks};
use crate::model::record::{OpCode, Record};
use crate::model::relation::Span;
use crate::shadow::region::{self, RECORDS, RegionList, RegionRecord, mask_of_bytes};

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
        if run.accesses < run.count {
            return elements.check_each(block, &all);
        }
        let mut at = all.start;
        while at < all.end {
            let region = at & !(region::BYTES - 1);
            let to = all.end.min(region + region::BYTES);
            block.shadow().map.prefetch_region(region + region::BYTES);
            let bytes = at..to;
            let done = match self.parts.as_slice() {
                [] => true,
                &[record] => elements.check(block, record, &bytes, shared),
                all => {
                    let mut records = RegionList::default();
                    for &record in all {
                        // There is room for each part.
                        let record = elements.record(record, &bytes);
                        let _ = record.mask != 0 && records.push(record);
                    }
                    records.as_slice().is_empty() || block.check_together(records.as_slice(), at, shared)
                }
            };
            if !done {
                elements.check_rows(block, &bytes, shared);
            }
            at = to;
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
    /// The record of the accesses to some bytes of a region.
    fn record(&self, record: Record, bytes: &Range<usize>) -> RegionRecord {
        RegionRecord::of_bytes(record, self.pattern.step, (self.run.thread, self.start), bytes)
    }

    /// Checks accesses with this record to some bytes of a region. False if each must be checked by itself.
    fn check(&self, block: &mut impl BatchChecks, record: Record, at: &Range<usize>, shared: bool) -> bool {
        let record = self.record(record, at);
        record.mask == 0 || block.check_region(&record, at.start, shared)
    }

    /// Checks the accesses to some bytes of a region row by row.
    #[cold]
    fn check_rows(&self, block: &mut impl BatchChecks, at: &Range<usize>, shared: bool) {
        for RowOfElements { checked, bytes } in &self.pattern.rows {
            let record = checked
                .record
                .and_then(|record| record_of(record, checked.row.writes, *bytes, self.pattern.step));
            if !record.is_some_and(|record| self.check(block, record, at, shared)) {
                self.check_row(block, checked, *bytes, at);
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
