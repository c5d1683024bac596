//! Records of several words at once, and the word of a region that holds them.

use crate::line::RECORDS;
use crate::word::{self, FULL, GRANULE, KEY_MASK, Op, READ, Span, THREAD_MASK, Touch, WRITE};

/// Application words of a region.
pub const WORDS: usize = 32;

/// Their bytes.
pub const BYTES: usize = WORDS * GRANULE;
pub(super) const ALL: u32 = u32::MAX;

/// The state of a region whose words have records of their own: a word with it has also
/// the uid and the clock of the block that opened it.
pub(super) const OPEN: u64 = word::EXPANDED << word::STATE_SHIFT;
/// The state of a region with several records.
pub(super) const RANGES: u64 = word::LINE << word::STATE_SHIFT;
/// Of a range by one thread: all words of a region are its first 32.
pub(crate) const ONE_THREAD: u8 = 5;

/// The records of one access to some words of a region: word `i` was accessed by thread
/// `base + (i >> shift)`, and where the record's span says so by others, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Range {
    /// The record of each of them, with thread 0.
    pub(crate) record: u64,
    /// Which words: bit `i` is the region's word `i`.
    pub(crate) mask: u32,
    /// The thread of word 0, if that were one of them.
    pub(crate) base: i16,
    /// How many words a thread has, as a power of 2; [`ONE_THREAD`] where one has all.
    pub(crate) shift: u8,
}

impl Range {
    /// Some consecutive words from a region's word `from` on, by one thread.
    pub(crate) fn of_thread(record: u64, thread: u32, from: usize, words: usize) -> Self {
        let mask = (u32::MAX >> (WORDS - words)) << from;
        // As of threads side by side that have as many each.
        let shift = if words.is_power_of_two() && from % words == 0 {
            words.trailing_zeros() as u8
        } else {
            ONE_THREAD
        };
        Self { record, mask, base: thread as i16 - (from >> shift) as i16, shift }
    }

    /// Whether another one of this kind says of its words what this one would.
    pub(crate) fn joins(&self, other: &Self) -> bool {
        (self.record, self.base, self.shift) == (other.record, other.base, other.shift)
    }

    /// Its words in order, each with the thread.
    pub(crate) fn threads(self) -> impl Iterator<Item = (u32, usize)> {
        words(self.mask).map(move |i| (self.thread(i) as u32, i as usize))
    }

    /// The record of its word `i`.
    pub(super) fn of(&self, i: u32) -> u64 {
        self.record | word::thread_bits(self.thread(i) as u32)
    }

    /// It as a region's word, where it is one that says so.
    pub(super) fn alone(&self) -> Option<u64> {
        (self.mask == ALL && self.shift == 0).then(|| self.of(0))
    }

    /// Whether it is of a write.
    pub(crate) fn writes(&self) -> bool {
        self.op() == WRITE
    }

    pub(super) fn op(&self) -> u64 {
        if word::span_of(self.record, READ).is_some() { READ } else { WRITE }
    }

    pub(super) fn span(&self) -> Span {
        word::span_of(self.record, self.op()).unwrap_or(Span::Thread)
    }

    pub(super) fn touch(&self) -> Touch {
        Touch { op: if self.op() == READ { Op::Read } else { Op::Write }, mask: FULL }
    }

    /// Which words of `mask` both have by one thread.
    pub(super) fn same_thread(&self, other: &Self, mask: u32) -> u32 {
        if self.shift == other.shift {
            return if self.base == other.base { mask } else { 0 };
        }
        words(mask).filter(|&i| self.thread(i) == other.thread(i)).fold(0, |m, i| m | 1 << i)
    }

    /// Which words of `mask` both have by threads of one warp.
    pub(super) fn same_warp(&self, other: &Self, mask: u32) -> u32 {
        let warps =
            |r: &Self| (r.thread(mask.trailing_zeros()) >> 5, r.thread(31 - mask.leading_zeros()) >> 5);
        match (warps(self), warps(other)) {
            ((a, b), (c, d)) if a == b && c == d => {
                if a == c {
                    mask
                } else {
                    0
                }
            }
            _ => words(mask)
                .filter(|&i| self.thread(i) >> 5 == other.thread(i) >> 5)
                .fold(0, |m, i| m | 1 << i),
        }
    }

    /// Whether it stands for another one, of this epoch, already.
    pub(super) fn stands_for(&self, a: &Self) -> bool {
        if a.mask & !self.mask != 0 || (self.record ^ a.record) & !word::SPAN_MASK != 0 {
            return false;
        }
        match (self.span(), a.span()) {
            (Span::Block, _) => true,
            (Span::Warp, Span::Thread | Span::Warp) => self.same_warp(a, a.mask) == a.mask,
            (Span::Thread, Span::Thread) => (self.base, self.shift) == (a.base, a.shift),
            _ => false,
        }
    }

    /// Whether each word is by one thread, the same in both, between the same two barriers.
    pub(super) fn is_of_the_same(&self, other: &Self) -> bool {
        const WHEN: u64 = KEY_MASK & !THREAD_MASK;
        (self.record ^ other.record) & WHEN == 0
            && (self.base, self.shift) == (other.base, other.shift)
            && (self.span(), other.span()) == (Span::Thread, Span::Thread)
    }

    pub(super) fn thread(&self, i: u32) -> i32 {
        i32::from(self.base) + (i >> self.shift) as i32
    }
}

/// The words of a mask.
pub(super) fn words(mask: u32) -> impl Iterator<Item = u32> {
    (0..WORDS as u32).filter(move |i| mask >> i & 1 != 0)
}

/// Records of a region side by side: those before the first without words.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Ranges(pub(super) [Range; RECORDS]);

/// What a region's word says.
pub(super) enum Region {
    Empty,
    Open,
    Busy,
    Alone(Range),
    Ranges(*mut Ranges),
}

impl Region {
    pub(super) fn unpack(w: u64) -> Self {
        match w & word::STATE_MASK {
            0 => Region::Empty,
            OPEN => Region::Open,
            RANGES => Region::Ranges((w & KEY_MASK) as *mut Ranges),
            word::BUSY_WORD => Region::Busy,
            _ => Region::Alone(Range {
                record: w & !THREAD_MASK,
                mask: ALL,
                base: word::thread_field(w) as i16,
                shift: 0,
            }),
        }
    }
}

/// Records under construction.
pub(super) struct List {
    pub(super) ranges: [Range; RECORDS],
    pub(super) count: usize,
}

impl List {
    pub(super) fn of(region: &Region) -> Self {
        let mut list = Self { ranges: [Range::default(); RECORDS], count: 0 };
        match *region {
            Region::Alone(range) => {
                list.ranges[0] = range;
                list.count = 1;
            }
            Region::Ranges(at) => {
                // SAFETY: the region owned them; who made it busy has them.
                list.ranges = unsafe { (*at).0 };
                list.count = list.ranges.iter().take_while(|r| r.mask != 0).count();
            }
            Region::Empty | Region::Open | Region::Busy => {}
        }
        list
    }

    pub(super) fn as_slice(&self) -> &[Range] {
        &self.ranges[..self.count]
    }

    #[must_use]
    pub(super) fn push(&mut self, range: Range) -> bool {
        if self.count == RECORDS {
            return false;
        }
        self.ranges[self.count] = range;
        self.count += 1;
        true
    }

    /// Keeps those of which `keep` holds.
    pub(super) fn retain(&mut self, keep: impl Fn(&Range) -> bool) {
        let before = self.count;
        self.count = 0;
        for i in 0..before {
            if keep(&self.ranges[i]) {
                self.ranges[self.count] = self.ranges[i];
                self.count += 1;
            }
        }
        self.ranges[self.count..before].fill(Range::default());
    }
}
