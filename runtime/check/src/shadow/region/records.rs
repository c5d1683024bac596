//! Records of several words of a region, and the content of a region's word.

use std::ops::Range;

use gpurace_abi::device::REGION_WORDS;

use crate::model::access::{FULL, GRANULE, Op, Touch};
use crate::model::record::{self, OpCode, Record};
use crate::model::relation::Span;
use crate::shadow::record_list::{ListRecord, RecordList};

/// Bytes of a region.
pub const BYTES: usize = REGION_WORDS * GRANULE;

/// The bytes of the region that holds an address.
pub(crate) fn bytes_at(address: usize) -> Range<usize> {
    let first = address & !(BYTES - 1);
    first..first + BYTES
}

/// The mask of all words of a region.
const ALL: u32 = u32::MAX;
const _: () = assert!(REGION_WORDS == u32::BITS as usize, "a mask has one bit per word");

/// The [`RegionRecord::step`] of a record by one thread: all words of a region are its first 32.
pub(crate) const ONE_THREAD: i8 = REGION_WORDS as i8;

/// A record of some words of a region, by threads at equal distances. Thread `base + (i + ahead) / step`
/// accessed word `i`; with [`FALLS`] in `ahead`, thread `base - (i + ahead) / step`. If the step is negative, threads
/// lie `-step` bytes apart: byte `b` of the region belongs to thread `base + (b + ahead) / -step`. The record's mask
/// then says which of its bytes each thread accessed, see [`mask_of_bytes`]. Other threads accessed them too where the
/// record's span says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RegionRecord {
    /// The record of each word, with thread 0.
    pub(crate) record: Record,
    /// The words: bit `i` is the region's word `i`.
    pub(crate) mask: u32,
    /// The thread of word 0, if that were one of them.
    pub(crate) base: i16,
    /// How many words from a thread to the next: up to [`ONE_THREAD`], where one has all. Negative: how
    /// many bytes, one of [`BYTE_STEPS`].
    pub(crate) step: i8,
    /// How many words, or bytes, that thread `base` has before word 0, less than a step. Then [`FALLS`], or how many
    /// bytes of its first and last word a record of bytes does not have.
    pub(crate) ahead: u8,
}
const _: () = assert!(size_of::<RegionList>() == 128, "a region's list has two cache lines");

/// The records of a region.
pub(crate) type RegionList = RecordList<RegionRecord>;

/// Set in [`RegionRecord::ahead`] if later words are those of earlier threads.
pub(crate) const FALLS: u8 = 1 << 7;

/// The bits of [`RegionRecord::ahead`] for the bytes before word 0, and those for the bytes that the first and the last
/// word lack, where threads lie some bytes apart.
const BYTES_AHEAD: u8 = 0b111;
const LACKS_SHIFT: [u8; 2] = [3, 5];
const LACKS: u8 = 0b11;

/// The distances of threads in bytes that a record can have.
pub(crate) const BYTE_STEPS: [usize; 4] = [1, 2, 3, 6];

/// Bytes of a thread that one bit of a record's mask stands for, where threads are so many bytes apart.
const fn bytes_of_bit(step: usize) -> usize {
    if step > GRANULE { 2 } else { 1 }
}

/// The mask of a record that says that threads, `step` bytes apart, accessed these of their bytes. `None` if no mask
/// says that. The mask of all is [`FULL`].
pub(crate) fn mask_of_bytes(step: usize, bytes: u128) -> Option<u8> {
    let bits = bytes_of_bit(step);
    let (part, mut mask) = ((1 << bits) - 1, 0);
    for i in 0..step / bits {
        match bytes >> (i * bits) & part {
            0 => {}
            all if all == part => mask |= 1 << i,
            _ => return None,
        }
    }
    Some(if mask == (1 << (step / bits)) - 1 { FULL } else { mask })
}

/// What a number of words or bytes, below 256, is multiplied by to divide it by a step, in 65536ths: rounded up.
const RECIPROCALS: [u32; REGION_WORDS + 1] = {
    let mut all = [0; REGION_WORDS + 1];
    let mut step = 1;
    while step <= REGION_WORDS {
        all[step] = (1_u32 << 16).div_ceil(step as u32);
        step += 1;
    }
    all
};

impl ListRecord for RegionRecord {
    #[inline(always)]
    fn is_none(&self) -> bool {
        self.mask == 0
    }
}

impl RegionRecord {
    /// The record of one thread's access to consecutive words, from word `from` of a region on.
    pub(crate) fn of_thread(record: Record, thread: u32, from: usize, words: usize) -> Self {
        let mask = (ALL >> (REGION_WORDS - words)) << from;
        // Like that of threads side by side that have as many words each.
        let step = if words.is_power_of_two() && from.is_multiple_of(words) { words } else { REGION_WORDS };
        Self { record, mask, base: thread as i16 - (from / step) as i16, step: step as i8, ahead: 0 }
    }

    /// The record of some bytes of one region by threads that lie `step` bytes apart. The bytes of `thread` begin at
    /// `start`.
    pub(crate) fn of_bytes(
        record: Record,
        step: usize,
        (thread, start): (usize, usize),
        bytes: &Range<usize>,
    ) -> Self {
        let region = bytes.start & !(BYTES - 1);
        let before = (region as isize).wrapping_sub(start as isize);
        let end = bytes.end.next_multiple_of(GRANULE);
        let [from, to] = [bytes.start, end].map(|at| (at - region) / GRANULE);
        let lacks = [bytes.start % GRANULE, end - bytes.end];
        let ahead = before.rem_euclid(step as isize) as u8;
        let all = Self {
            record,
            mask: ((1_u64 << to) - (1 << from)) as u32,
            base: (thread as isize + before.div_euclid(step as isize)) as i16,
            step: -(step as i8),
            ahead: lacks.iter().zip(LACKS_SHIFT).fold(ahead, |all, (&n, shift)| all | (n as u8) << shift),
        };
        if all.touch().mask == FULL { all } else { all.part(all.accessed()) }
    }

    /// Its words of which some byte was accessed, where threads lie some bytes apart.
    fn accessed(&self) -> u32 {
        // All distances divide three words.
        const EVERY_THIRD: u32 = 0x4924_9249;
        let has_some =
            |i: &u32| (0..GRANULE).any(|b| self.bytes_of_word(*i) >> b & self.has_byte(*i, b) != 0);
        // A word has bytes of each kind if threads lie at most its length apart.
        let far = usize::from(self.step.unsigned_abs()) > GRANULE;
        let any = |i: &u32| !far || (0..GRANULE).any(|b| self.has_byte(*i, b) != 0);
        let whole = (0..3).filter(any).fold(0, |all, i| all | EVERY_THIRD << i);
        let ends = 1 << self.mask.trailing_zeros() | 1 << (31 - self.mask.leading_zeros());
        let cut = if self.is_cut() { self.mask & ends } else { 0 };
        self.mask & whole & !cut | words(cut).filter(has_some).fold(0, |all, i| all | 1 << i)
    }

    /// What it says of some words.
    #[inline]
    pub(super) fn part(self, words: u32) -> Self {
        let (mask, mut ahead) = (self.mask & words, self.ahead);
        if self.step < 0 {
            let [first, last] = LACKS_SHIFT.map(|shift| !(LACKS << shift));
            if mask.trailing_zeros() != self.mask.trailing_zeros() {
                ahead &= first;
            }
            if mask.leading_zeros() != self.mask.leading_zeros() {
                ahead &= last;
            }
        }
        Self { mask, ahead, ..self }
    }

    /// How many bytes its first and its last word lack.
    #[inline]
    fn lacks(&self) -> [u8; 2] {
        LACKS_SHIFT.map(|shift| if self.step < 0 { self.ahead >> shift & LACKS } else { 0 })
    }

    /// True if it has no whole first or last word.
    #[inline]
    fn is_cut(&self) -> bool {
        self.lacks() != [0; 2]
    }

    /// The bytes of word `i`, one of its words, that its threads have.
    fn bytes_of_word(&self, i: u32) -> u8 {
        let ([first, last], mut bytes) = (self.lacks(), FULL);
        if i == self.mask.trailing_zeros() {
            bytes &= FULL << first;
        }
        if i == 31 - self.mask.leading_zeros() {
            bytes &= FULL >> last;
        }
        bytes
    }

    /// The words in which the threads of both have the same bytes. They have none in common in other words. `None` if
    /// they have only some in common in a word.
    #[inline]
    pub(super) fn words_of_both(&self, other: &Self) -> Option<u32> {
        let mut both = self.mask & other.mask;
        if both != 0 && (self.is_cut() || other.is_cut()) {
            for i in words(both) {
                let [one, of_other] = [self, other].map(|r| r.bytes_of_word(i));
                match one & of_other {
                    0 => both &= !(1 << i),
                    _ if one == of_other => {}
                    _ => return None,
                }
            }
        }
        Some(both)
    }

    /// The record of all words by a region's word, which holds that of word 0.
    fn of_all(word: Record) -> Self {
        Self { record: word.with_thread(0), mask: ALL, base: word.thread() as i16, step: 1, ahead: 0 }
    }

    /// True if one record can say what both say.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let whole = !self.is_cut() && !other.is_cut();
        self.record == other.record && whole && self.is_by_threads_of(other)
    }

    /// Its words in order, each with its first thread.
    pub(crate) fn threads(self) -> impl Iterator<Item = (u32, usize)> {
        words(self.mask).map(move |i| (self.thread(i) as u32, i as usize))
    }

    /// The records of its word `i`: one for each thread that accessed some bytes of it.
    pub(super) fn of_word(self, i: u32) -> impl Iterator<Item = Record> {
        let first = self.thread(i);
        let last = if self.step < 0 { self.thread_of(i, GRANULE - 1) } else { first };
        (first..=last).filter_map(move |thread| {
            let op = match self.step {
                ..0 => {
                    let bytes = self.bytes_of_word(i);
                    let is_its =
                        |&b: &usize| self.thread_of(i, b) == thread && bytes >> b & self.has_byte(i, b) != 0;
                    let mask = (0..GRANULE).filter(is_its).fold(0, |mask, b| mask | 1 << b);
                    (mask != 0).then(|| OpCode::plain(self.writes(), mask))?
                }
                _ => self.op(),
            };
            Some(self.record.with(op, self.span()).with_thread(thread as u32))
        })
    }

    /// 1 if threads that lie some bytes apart accessed a byte of word `i` if it is theirs, else 0.
    fn has_byte(&self, i: u32, byte: usize) -> u8 {
        let step = usize::from(self.step.unsigned_abs());
        let within = (i as usize * GRANULE + byte + self.ahead_of_base() as usize) % step;
        self.touch().mask >> (within / bytes_of_bit(step)) & 1
    }

    /// How many words, or bytes, that thread `base` has before word 0.
    #[inline]
    fn ahead_of_base(&self) -> u32 {
        (self.ahead & if self.step < 0 { BYTES_AHEAD } else { !FALLS }).into()
    }

    /// What tells which threads have which words or bytes, but for `base`.
    #[inline]
    fn distances(&self) -> (i8, u8) {
        (self.step, if self.step < 0 { self.ahead & BYTES_AHEAD } else { self.ahead })
    }

    /// True if both records give each word to the same threads.
    fn is_by_threads_of(&self, other: &Self) -> bool {
        self.base == other.base && self.distances() == other.distances()
    }

    /// The region's word that says the same; `None` if that takes a list.
    pub(super) fn alone(&self) -> Option<Record> {
        (self.mask == ALL && self.step == 1 && self.ahead == 0)
            .then(|| self.record.with_thread(self.thread(0) as u32))
    }

    /// True for the record of a write.
    pub(crate) fn writes(&self) -> bool {
        matches!(self.touch().op, Op::Write)
    }

    pub(super) fn op(&self) -> OpCode {
        self.record.op()
    }

    pub(super) fn span(&self) -> Span {
        self.record.span()
    }

    pub(super) fn touch(&self) -> Touch {
        self.op().touch()
    }

    /// True if records with one mask have the same bytes of each word.
    pub(super) fn splits_words_like(&self, other: &Self) -> bool {
        let words = self.step > 0 && other.step > 0;
        words || self.distances() == other.distances()
    }

    /// True if the masks of both records tell which bytes they have in common.
    pub(super) fn compares_with(&self, other: &Self) -> bool {
        let of_words = |r: &Self| r.step > 0 || r.touch().mask == FULL;
        self.splits_words_like(other) || of_words(self) && of_words(other)
    }

    /// The words of `mask` that one thread accessed in both records. `None` if that holds of some
    /// bytes of a word and not of others.
    pub(super) fn same_thread(&self, other: &Self, mask: u32) -> Option<u32> {
        if self.distances() == other.distances() {
            return Some(if self.base == other.base { mask } else { 0 });
        }
        self.words_where(other, mask, |a, b| a == b)
    }

    /// The words of `mask` that threads of one warp accessed in both records. `None` if that holds of
    /// some bytes of a word and not of others.
    pub(super) fn same_warp(&self, other: &Self, mask: u32) -> Option<u32> {
        let (first, last) = (mask.trailing_zeros(), 31 - mask.leading_zeros());
        let warps = |r: &Self| (r.thread_of(first, 0) >> 5, r.thread_of(last, GRANULE - 1) >> 5);
        match (warps(self), warps(other)) {
            ((a, b), (c, d)) if a == b && c == d => Some(if a == c { mask } else { 0 }),
            _ => self.words_where(other, mask, |a, b| a >> 5 == b >> 5),
        }
    }

    /// The words of `mask` whose bytes' threads in both records are so. `None` if some bytes of a word
    /// differ from others.
    fn words_where(&self, other: &Self, mask: u32, are: impl Fn(i32, i32) -> bool) -> Option<u32> {
        let mut found = 0;
        for i in words(mask) {
            let bytes = if self.step.min(other.step) < 0 { GRANULE } else { 1 };
            match (0..bytes).filter(|&b| are(self.thread_of(i, b), other.thread_of(i, b))).count() {
                0 => {}
                all if all == bytes => found |= 1 << i,
                _ => return None,
            }
        }
        Some(found)
    }

    /// True if it represents another record, of this epoch, already.
    pub(super) fn represents(&self, a: &Self) -> bool {
        let cut = self.is_cut() || a.is_cut();
        let has_words = a.mask & !self.mask == 0 && (!cut || (self.mask, self.ahead) == (a.mask, a.ahead));
        let bytes = has_words && self.compares_with(a);
        if !bytes || !self.record.equals_but_for_span(a.record) {
            return false;
        }
        match (self.span(), a.span()) {
            (Span::Block, _) => true,
            (Span::Warp, Span::Thread | Span::Warp) => self.same_warp(a, a.mask) == Some(a.mask),
            (Span::Thread, Span::Thread) => self.is_by_threads_of(a),
            _ => false,
        }
    }

    /// True if one thread accessed each word that both records have, between the same two barriers.
    pub(super) fn is_of_same_threads(&self, other: &Self) -> bool {
        self.record.in_epoch_of(other.record.key())
            && (self.span(), other.span()) == (Span::Thread, Span::Thread)
            && (self.is_by_threads_of(other) || {
                let both = self.mask & other.mask;
                self.same_thread(other, both) == Some(both)
            })
    }

    /// The first thread of word `i`.
    fn thread(&self, i: u32) -> i32 {
        self.thread_of(i, 0)
    }

    /// The thread of a byte of word `i`.
    #[inline]
    fn thread_of(&self, i: u32, byte: usize) -> i32 {
        let steps = match usize::try_from(self.step) {
            Ok(step) => ((i + self.ahead_of_base()) * RECIPROCALS[step]) >> 16,
            Err(_) => {
                let bytes = i * GRANULE as u32 + byte as u32 + self.ahead_of_base();
                (bytes * RECIPROCALS[usize::from(self.step.unsigned_abs())]) >> 16
            }
        };
        let falls = self.ahead & FALLS != 0;
        i32::from(self.base) + if falls { -(steps as i32) } else { steps as i32 }
    }
}

/// The words of a mask.
pub(super) fn words(mask: u32) -> impl Iterator<Item = u32> {
    (0..REGION_WORDS as u32).filter(move |i| mask >> i & 1 != 0)
}

/// What the word of a region holds.
#[derive(Clone, Copy)]
pub(super) enum RegionContent {
    /// No records.
    Empty,
    /// The words have records of their own.
    Open,
    /// A worker is changing it.
    Busy,
    /// One record of all words.
    Alone(RegionRecord),
    /// Several records.
    List(*mut RegionList),
}

impl RegionContent {
    #[inline]
    pub(super) fn of(word: Record) -> Self {
        match word.state() {
            record::EMPTY => Self::Empty,
            record::CHAIN => Self::Open,
            record::LIST => Self::List(word.address() as *mut RegionList),
            record::BUSY => Self::Busy,
            _ => Self::Alone(RegionRecord::of_all(word)),
        }
    }

    /// A copy of the records.
    pub(super) fn records(&self) -> RegionList {
        match *self {
            Self::Alone(record) => RecordList::of(record),
            // SAFETY: the region owned the list, and whoever made it busy owns the list now.
            Self::List(at) => unsafe { (*at).copied() },
            Self::Empty | Self::Open | Self::Busy => RecordList::default(),
        }
    }
}

#[cfg(test)]
mod tests;
