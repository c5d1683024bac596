//! Gathered accesses: those of a block's threads in loops that the threads run one by one.
//!
//! Code that runs whole blocks keeps such accesses of one instruction in memory of the block. It hands
//! them over when that is full and at each barrier. A [`GatheredRun`] is what one thread accessed at
//! consecutive addresses, and is checked a [region](crate::shadow::region) at a time. Where one
//! thread's run ends in a region and the next one's begins there (rows of a sparse matrix), all
//! runs in the region are checked together. Other accesses are [`GatheredItem`]s, which are checked
//! one by one.

use std::ops::Range;

use gpurace_abi::batch::{GatheredItem, GatheredRun};
use gpurace_abi::device::REGION_WORDS;

use crate::batch::sites::SiteEntry;
use crate::batch::{AHEAD, BatchChecks, Value, WholeAccess};
use crate::model::access::{FULL, GRANULE, Op};
use crate::model::record::{OpCode, Record};
use crate::model::relation::Span;
use crate::shadow::region::{self, RegionList, RegionRecord};

/// Gathered accesses that are checked.
pub(super) struct CheckedItems<'a> {
    pub(super) site: u32,
    pub(super) size: u32,
    pub(super) writes: bool,
    pub(super) entry: SiteEntry,
    /// The threads' own memory.
    pub(super) local: &'a Range<usize>,
}

impl CheckedItems<'_> {
    /// True for an access of the block that is to be checked.
    fn is_checked(&self, block: &impl BatchChecks, item: GatheredItem) -> bool {
        let (thread, address) = (item.thread(), item.address());
        address != 0 && thread < block.view().order.threads() && !self.local.contains(&address)
    }

    /// Checks an access of an item's thread, which says the same of values.
    fn check_one(&self, block: &mut impl BatchChecks, item: GatheredItem, address: usize) {
        let &Self { size, site, entry, .. } = self;
        let (op, value) = match self.writes {
            true => (Op::Write, Value::Gathered(item.left_equal())),
            false => (Op::Read, Value::Unknown),
        };
        let (thread, size) = (item.thread(), size.into());
        block.check_one(&WholeAccess { thread, address, size, site, entry, op, value, copy: None });
    }

    /// The record of an access by thread 0, where many accesses can have one record.
    fn record(&self, block: &impl BatchChecks) -> Option<Record> {
        let op = OpCode::plain(self.writes, FULL);
        let site = self.entry.field().filter(|_| block.is_plain())?;
        Some(Record::new(op, Span::Thread, site, block.view().order.key(0)))
    }

    /// Checks accesses one by one.
    pub(super) fn items(&self, block: &mut impl BatchChecks, items: &[GatheredItem]) {
        let words = self.record(block).filter(|_| self.size == 4);
        let words = words.and_then(|record| block.view().word_checks(record));
        let mut met = 0;
        for (i, &item) in items.iter().enumerate() {
            if let Some(ahead) = items.get(i + AHEAD) {
                block.shadow().map.prefetch(ahead.address());
            }
            if !self.is_checked(block, item) {
                continue;
            }
            met += 1;
            let address = item.address();
            if let Some(words) = &words
                && address.is_multiple_of(GRANULE)
                && let shared = block.begins_access(address)
                && block.check_word(words, item.thread(), address, shared)
            {
                continue;
            }
            self.check_one(block, item, address);
        }
        block.count(met);
    }

    /// Checks runs, region by region where whole words allow it.
    pub(super) fn runs(&self, block: &mut impl BatchChecks, runs: &[GatheredRun]) {
        let size = self.size as usize;
        let record = self.record(block);
        let (mut gathered, mut checked) = (RunsOfRegion::default(), CheckedWords::default());
        for run in runs {
            let (first, Range { start: address, end }) = (run.first, run.bytes());
            if address >= end || !self.is_checked(block, first) {
                continue;
            }
            block.count(((end - address) >> self.size.trailing_zeros()) as u64);
            if self.writes && (address | end) & (GRANULE.max(size) - 1) != 0 {
                // Some of them are checked at once. Of two writes that race, the later one finds it.
                std::mem::take(&mut gathered).check(block, self);
            }
            let Some(record) = record.filter(|_| address & (size - 1) == 0) else {
                (address..end).step_by(size).for_each(|address| self.check_one(block, first, address));
                continue;
            };
            // Bytes before the first whole word and behind the last one.
            let whole = address.next_multiple_of(GRANULE).min(end)..end & !(GRANULE - 1);
            let edges = (address..whole.start).chain(whole.end.max(whole.start)..end);
            for address in edges.step_by(size) {
                self.check_one(block, first, address);
            }
            let (mut address, end) = (whole.start, whole.end);
            while address < end {
                let region = address & !(region::BYTES - 1);
                let to = end.min(region + region::BYTES);
                let (from, words) = (address / GRANULE % REGION_WORDS, (to - address) / GRANULE);
                let access = RegionRecord::of_thread(record, first.thread(), from, words);
                if !checked.adds(region, first, access.mask) {
                    address = to;
                    continue;
                }
                if !gathered.add(region, access, first.left_equal()) {
                    gathered.check(block, self);
                    let left_equal = first.left_equal();
                    gathered = RunsOfRegion { region, left_equal, accesses: RegionList::of(access) };
                }
                address = to;
            }
        }
        gathered.check(block, self);
    }
}

/// Which words the runs of a batch accessed already, of some regions: a region and a thread have one place. To
/// check a word again would change nothing: the same thread accesses it by the same instruction, between the same two
/// barriers.
#[derive(Default)]
struct CheckedWords([WordsOfRegion; 1 << Self::BITS]);

/// Words of a region that a thread accessed. Writes say the same of the values in memory.
#[derive(Clone, Copy, Default)]
struct WordsOfRegion {
    region: usize,
    /// The thread and what a write says of values; without an address.
    by: u64,
    words: u32,
}

impl CheckedWords {
    const BITS: u32 = 5;

    /// Adds words of a region. False if it has them already.
    #[inline]
    fn adds(&mut self, region: usize, by: GatheredItem, words: u32) -> bool {
        let by = by.0 - by.address() as u64;
        // Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4).
        let hash = (region as u64 ^ by).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let place = &mut self.0[(hash >> (u64::BITS - Self::BITS)) as usize];
        if (place.region, place.by) != (region, by) {
            *place = WordsOfRegion { region, by, words: 0 };
        }
        let adds = words & !place.words != 0;
        place.words |= words;
        adds
    }
}

/// Runs in one region, by one thread after the other.
#[derive(Default)]
struct RunsOfRegion {
    region: usize,
    /// What all of them say of the values in memory.
    left_equal: Option<bool>,
    accesses: RegionList,
}

impl RunsOfRegion {
    /// Adds the accesses of a region by a thread. False if they are of another region, not behind all others, or say
    /// something else of values.
    fn add(&mut self, region: usize, access: RegionRecord, left_equal: Option<bool>) -> bool {
        let Some(last) = self.accesses.as_mut_slice().last_mut() else {
            *self = Self { region, left_equal, accesses: RegionList::of(access) };
            return true;
        };
        let behind = last.mask.leading_zeros() + access.mask.trailing_zeros() >= REGION_WORDS as u32;
        if self.region != region || self.left_equal != left_equal || !behind {
            return false;
        }
        if last.is_like(&access) {
            last.mask |= access.mask;
            return true;
        }
        self.accesses.push(access)
    }

    /// Checks the accesses.
    fn check(&self, block: &mut impl BatchChecks, checked: &CheckedItems<'_>) {
        let accesses = self.accesses.as_slice();
        let Some(first) = accesses.first() else { return };
        let at = |i: usize| self.region + i * GRANULE;
        let shared = block.begins_access(at(first.mask.trailing_zeros() as usize));
        if block.check_together(accesses, self.region, shared) {
            return;
        }
        for access in accesses {
            if block.check_region(access, self.region, shared) {
                continue;
            }
            let size = checked.size as usize;
            for (thread, word) in access.threads().step_by(size.div_ceil(GRANULE)) {
                let item = GatheredItem::new(thread, 0).with(self.left_equal);
                for address in (at(word)..at(word) + GRANULE).step_by(size) {
                    checked.check_one(block, item, address);
                }
            }
        }
    }
}
