//! Reads of a block's threads in loops, together.
//!
//! In a loop that its threads leave one by one each reads what it likes, thread after thread. Code that runs
//! whole blocks leaves such reads of one instruction in a pool, and hands it over when it is full and at each barrier.
//! What a thread read at consecutive addresses is one [`Stream`], which [`crate::region`] meets a region at a time;
//! where one thread's ends in a region and the next one's begins there (rows of a sparse matrix) all that a region
//! has of them are looked at together. Other reads are [`Item`]s of their own, looked at one by one.

use std::ops::Range;

use gpurace_abi::image::POOL_THREAD_SHIFT;

use crate::block::{Block, Value};
use crate::common::Sites;
use crate::region;
use crate::word::{self, GRANULE, Op, READ, Span};

/// A thread, and an address that it read: 0 where it did not come to that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct Item(pub u64);

impl Item {
    /// The thread of this index read at `address`, which has 47 bits.
    pub const fn new(thread: u32, address: usize) -> Self {
        Self((thread as u64) << POOL_THREAD_SHIFT | address as u64)
    }

    /// The address.
    pub const fn address(self) -> usize {
        (self.0 & ((1 << POOL_THREAD_SHIFT) - 1)) as usize
    }

    /// Linear index of the thread.
    pub const fn thread(self) -> u32 {
        (self.0 >> POOL_THREAD_SHIFT) as u32
    }
}

/// Reads of one thread that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Stream {
    /// The first.
    pub first: Item,
    /// Where the last one ends; not behind the first where the thread did not come to that.
    pub end: u64,
}

/// How many reads ahead the shadow is asked for.
const AHEAD: usize = 12;

impl Block {
    /// Reads of `size` bytes each by one instruction since the last barrier. They have happened already.
    /// Those of `local` memory are not looked at.
    pub fn scattered(&mut self, items: &[Item], size: u32, site: u32, local: &Range<usize>) {
        if !self.defer_items(items, size, site, local) {
            self.scattered_now(items, size, site, local);
        }
    }

    /// The same, with records of them.
    pub(crate) fn scattered_now(&mut self, items: &[Item], size: u32, site: u32, local: &Range<usize>) {
        let plain = self.is_plain();
        let s = &mut self.state;
        let entry = s.sites.get(site, &s.launch.proved, &s.launch.data.sites);
        if Sites::is_proved(entry) {
            return;
        }
        let threads = s.launch.threads;
        let seen = Sites::bits(entry).filter(|_| plain && size == 4).map(|site| s.seen_by_grid(site));
        let mut met = 0;
        for (i, &item) in items.iter().enumerate() {
            if let Some(ahead) = items.get(i + AHEAD) {
                self.inner.shadow.prefetch(ahead.address());
            }
            let (thread, address) = (item.thread(), item.address());
            if address == 0 || thread >= threads || local.contains(&address) {
                continue;
            }
            met += 1;
            // Most often others have read it.
            if let Some(seen) = &seen
                && !self.state.shared.contains(&address)
                && address % GRANULE == 0
                && let Some(place) = self.inner.shadow.existing_place(address)
                && seen.holds(place)
            {
                continue;
            }
            self.of_a_few_bytes(thread, address, size, site, entry, Op::Read, Value::Unknown);
        }
        self.state.checks += met;
    }

    /// Reads of `size` bytes each by one instruction, at addresses that follow each other, as [`Block::scattered`].
    pub fn streams(&mut self, streams: &[Stream], size: u32, site: u32, local: &Range<usize>) {
        if !self.defer_streams(streams, size, site, local) {
            self.streams_now(streams, size, site, local);
        }
    }

    /// The same, with records of them.
    pub(crate) fn streams_now(&mut self, streams: &[Stream], size: u32, site: u32, local: &Range<usize>) {
        let plain = self.is_plain();
        let s = &mut self.state;
        let entry = s.sites.get(site, &s.launch.proved, &s.launch.data.sites);
        if Sites::is_proved(entry) {
            return;
        }
        let threads = s.launch.threads;
        let record = Sites::bits(entry)
            .filter(|_| plain)
            .map(|site| word::state_bits(READ, Span::Thread) | site | s.order.key(0));
        let shift = size.trailing_zeros();
        let mut gathered = Gathered::default();
        for &Stream { first, end } in streams {
            let (thread, mut address, end) = (first.thread(), first.address(), end as usize);
            if address == 0 || address >= end || thread >= threads || local.contains(&address) {
                continue;
            }
            self.state.checks += ((end - address) >> shift) as u64;
            let Some(record) = record.filter(|_| address & (size as usize - 1) == 0) else {
                self.one_by_one(thread, address..end, size, site, entry);
                continue;
            };
            while address < end {
                let region = address & !(region::BYTES - 1);
                let to = end.min(region + region::BYTES);
                let range = region::Range::of_thread(
                    record,
                    thread,
                    address / GRANULE % region::WORDS,
                    (to - address) / GRANULE,
                );
                if !gathered.add(region, range) {
                    self.settle(&mut gathered, size, site, entry);
                    gathered.add(region, range);
                }
                address = to;
            }
        }
        self.settle(&mut gathered, size, site, entry);
    }

    /// Looks at what is gathered of a region.
    fn settle(&mut self, gathered: &mut Gathered, size: u32, site: u32, entry: u64) {
        let Gathered { region, ref ranges, count } = *gathered;
        gathered.count = 0;
        if count == 0 {
            return;
        }
        let ranges = &ranges[..count];
        let at = |range: &region::Range| region + range.mask.trailing_zeros() as usize * GRANULE;
        let shared = self.is_shared(at(&ranges[0]));
        let Some(place) = self.inner.shadow.place(region) else { return };
        if self.state.begin_region(place.region, ranges, shared) {
            return;
        }
        for range in ranges {
            if self.words_of(range, region, shared) {
                continue;
            }
            let words = size as usize / GRANULE;
            for (thread, word) in range.threads().step_by(words) {
                self.of_a_few_bytes(
                    thread,
                    region + word * GRANULE,
                    size,
                    site,
                    entry,
                    Op::Read,
                    Value::Unknown,
                );
            }
        }
    }

    /// The reads of a thread, one after the other.
    fn one_by_one(&mut self, thread: u32, bytes: Range<usize>, size: u32, site: u32, entry: u64) {
        for address in bytes.step_by(size as usize) {
            self.of_a_few_bytes(thread, address, size, site, entry, Op::Read, Value::Unknown);
        }
    }
}

/// What threads read of one region, one after the other.
#[derive(Default)]
struct Gathered {
    region: usize,
    ranges: [region::Range; region::RECORDS],
    count: usize,
}

impl Gathered {
    /// Adds what a thread read of a region, if it comes behind all that is there.
    fn add(&mut self, region: usize, range: region::Range) -> bool {
        let Some(last) = self.ranges[..self.count].last_mut() else {
            (self.region, self.ranges[0], self.count) = (region, range, 1);
            return true;
        };
        let behind = last.mask.leading_zeros() + range.mask.trailing_zeros() >= region::WORDS as u32;
        if self.region != region || !behind {
            return false;
        }
        if last.joins(&range) {
            last.mask |= range.mask;
            return true;
        }
        let fits = self.count < region::RECORDS;
        if fits {
            self.ranges[self.count] = range;
            self.count += 1;
        }
        fits
    }
}
