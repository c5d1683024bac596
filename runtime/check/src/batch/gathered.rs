//! Gathered reads: reads of a block's threads in loops that the threads leave one by one.
//!
//! Code that runs whole blocks keeps such reads of one instruction in memory of the block. It hands
//! them over when that is full and at each barrier. A [`ReadRun`] is what one thread read at
//! consecutive addresses, and is checked a [region](crate::shadow::region) at a time. Where one
//! thread's run ends in a region and the next one's begins there (rows of a sparse matrix), all
//! runs in the region are checked together. Other reads are [`ReadItem`]s, which are checked
//! one by one.

use std::ops::Range;

use gpurace_abi::ablation::{self, Mechanism};
use gpurace_abi::batch::{ReadItem, ReadRun};
use gpurace_abi::device::REGION_WORDS;

use crate::batch::sites::SiteEntry;
use crate::batch::{AHEAD, BatchChecks, Value, WholeAccess};
use crate::model::access::{GRANULE, Op};
use crate::model::record::{OpCode, Record};
use crate::model::relation::Span;
use crate::shadow::record_list::RecordList;
use crate::shadow::region::{self, RegionRecord};

/// Gathered reads that are checked.
pub(super) struct CheckedReads<'a> {
    pub(super) site: u32,
    pub(super) size: u32,
    pub(super) entry: SiteEntry,
    /// The threads' own memory.
    pub(super) local: &'a Range<usize>,
}

impl CheckedReads<'_> {
    /// True for a read of the block that is to be checked.
    fn is_checked(&self, block: &impl BatchChecks, read: ReadItem) -> bool {
        let (thread, address) = (read.thread(), read.address());
        address != 0 && thread < block.view().order.threads() && !self.local.contains(&address)
    }

    fn check_one(&self, block: &mut impl BatchChecks, thread: u32, address: usize) {
        let &Self { size, site, entry, .. } = self;
        let (size, op, value) = (size.into(), Op::Read, Value::Unknown);
        block.check_one(&WholeAccess { thread, address, size, site, entry, op, value, copy: None });
    }

    pub(super) fn items(&self, block: &mut impl BatchChecks, reads: &[ReadItem]) {
        let plain = block.is_plain() && self.size == 4;
        let by_grid = self
            .entry
            .field()
            .filter(|_| plain && ablation::is_on(Mechanism::WordFastPath))
            .map(|site| block.view().read_by_grid(site));
        let mut met = 0;
        for (i, &read) in reads.iter().enumerate() {
            if let Some(ahead) = reads.get(i + AHEAD) {
                block.shadow().map.prefetch(ahead.address());
            }
            if !self.is_checked(block, read) {
                continue;
            }
            met += 1;
            let address = read.address();
            // Most often others have read it.
            if let Some(by_grid) = &by_grid
                && !block.own_memory().contains(&address)
                && address.is_multiple_of(GRANULE)
                && let Some(place) = block.shadow().map.existing_place(address)
                && by_grid.holds(place)
            {
                continue;
            }
            self.check_one(block, read.thread(), address);
        }
        block.count(met);
    }

    pub(super) fn runs(&self, block: &mut impl BatchChecks, runs: &[ReadRun]) {
        let size = self.size as usize;
        let plain = block.is_plain();
        let record = self.entry.field().filter(|_| plain);
        let record =
            record.map(|site| Record::new(OpCode::READ, Span::Thread, site, block.view().order.key(0)));
        let mut gathered = RunsOfRegion::default();
        for &ReadRun { first, end } in runs {
            let (thread, address, end) = (first.thread(), first.address(), end as usize);
            if address >= end || !self.is_checked(block, first) {
                continue;
            }
            block.count(((end - address) >> self.size.trailing_zeros()) as u64);
            let Some(record) = record.filter(|_| address & (size - 1) == 0) else {
                (address..end).step_by(size).for_each(|address| self.check_one(block, thread, address));
                continue;
            };
            // Bytes before the first whole word and behind the last one.
            let whole = address.next_multiple_of(GRANULE).min(end)..end & !(GRANULE - 1);
            let edges = (address..whole.start).chain(whole.end.max(whole.start)..end);
            for address in edges.step_by(size) {
                self.check_one(block, thread, address);
            }
            let (mut address, end) = (whole.start, whole.end);
            while address < end {
                let region = address & !(region::BYTES - 1);
                let to = end.min(region + region::BYTES);
                let (from, words) = (address / GRANULE % REGION_WORDS, (to - address) / GRANULE);
                let read = RegionRecord::of_thread(record, thread, from, words);
                if !gathered.add(region, read) {
                    gathered.check(block, self);
                    gathered = RunsOfRegion { region, reads: RecordList::of(read) };
                }
                address = to;
            }
        }
        gathered.check(block, self);
    }
}

/// Runs of reads of one region, by one thread after the other.
#[derive(Default)]
struct RunsOfRegion {
    region: usize,
    reads: RecordList<RegionRecord>,
}

impl RunsOfRegion {
    /// Adds the read of a region by a thread. False if it is of another region, or not behind
    /// all others.
    fn add(&mut self, region: usize, read: RegionRecord) -> bool {
        let Some(last) = self.reads.as_mut_slice().last_mut() else {
            *self = Self { region, reads: RecordList::of(read) };
            return true;
        };
        let behind = last.mask.leading_zeros() + read.mask.trailing_zeros() >= REGION_WORDS as u32;
        if self.region != region || !behind {
            return false;
        }
        if last.is_like(&read) {
            last.mask |= read.mask;
            return true;
        }
        self.reads.push(read)
    }

    /// Checks the reads.
    fn check(&self, block: &mut impl BatchChecks, checked: &CheckedReads<'_>) {
        let reads = self.reads.as_slice();
        let Some(first) = reads.first() else { return };
        let at = |i: usize| self.region + i * GRANULE;
        let shared = block.begins_access(at(first.mask.trailing_zeros() as usize));
        if block.begin_region(reads, self.region, shared) {
            return;
        }
        for read in reads {
            if block.check_region(read, self.region, shared) {
                continue;
            }
            let size = checked.size as usize;
            for (thread, word) in read.threads().step_by(size.div_ceil(GRANULE)) {
                for address in (at(word)..at(word) + GRANULE).step_by(size) {
                    checked.check_one(block, thread, address);
                }
            }
        }
    }
}
