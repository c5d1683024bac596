//! Regions: the shadow of 32 words at once.
//!
//! Most accesses of a GPU's threads are regular: neighbouring threads touch
//! neighbouring words, by one instruction, between the same two barriers. Such an
//! access to a row of words leaves one record for all of them, and meets records of its
//! kind in one step (after Wilcox, Finch, Flanagan, Freund, "Array Shadow State
//! Compression for Precise Dynamic Race Detection", ASE 2015). What a record of a row says of
//! one of its words is what that word's own would.
//!
//! A region's word has one of these states:
//!
//! | state | the records |
//! |---|---|
//! | 0 | none |
//! | open | each word's own; the word says who opened the region last, and when |
//! | a compact word's | one, for all words: thread after thread, one word each |
//! | ranges | up to 8 [`Range`]s, in a piece that the word points to |
//! | busy | one worker is changing it and the others wait |
//!
//! An access to one word, and a row that meets what is not regular, *opens* the region:
//! its words get records of their own. It is closed again by a row once all that its
//! words may hold is settled. Words of a closed region hold nothing, or what is settled.

mod past;
mod records;

use std::sync::atomic::{AtomicU64, Ordering};

use crate::block::State;
use crate::cell::put;
use crate::checker::Inner;
pub(crate) use crate::line::RECORDS;
use crate::shadow::{self, Place};
use crate::state::{self, Next, Relation, Status};
use crate::word::{self, CLOCK_VALUES, READ, Span, UID_VALUES, WRITE};

pub(crate) use past::{is_closed, records_of};
use records::{ALL, List, OPEN, RANGES, Region};
pub use records::{BYTES, WORDS};
pub(crate) use records::{ONE_THREAD, Range, Ranges};

/// What an access makes of a region's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Met {
    /// They stand for it already.
    Same,
    /// They have changed.
    Changed,
    /// It must be looked at word by word: it races with one of them, or they would be too many.
    Apart,
}

impl State {
    /// Whether a region's words have records of their own, and this block may use them.
    #[inline(always)]
    pub(crate) fn is_open(&self, w: u64, shared: bool) -> bool {
        // Of what it may be, the least and the greatest word.
        let (least, most) = if shared {
            let uid = self.order.word_uid().min(UID_VALUES);
            (word::when_bits(uid, self.order.floor()), word::when_bits(uid, CLOCK_VALUES - 1))
        } else {
            (
                word::when_bits(self.mine.start.min(UID_VALUES), 0),
                word::when_bits(UID_VALUES, CLOCK_VALUES - 1),
            )
        };
        w.wrapping_sub(OPEN | least) <= most - least
    }

    /// The words of regions of global memory that [`State::is_open`] holds of.
    pub(crate) fn open_words(&self) -> std::ops::Range<u64> {
        let [least, most] = [(self.mine.start, 0), (UID_VALUES, CLOCK_VALUES - 1)]
            .map(|(uid, clock)| OPEN | word::when_bits(uid.min(UID_VALUES), clock));
        least..most + 1
    }

    /// Whether who opened a region, and whatever was recorded in its words since, is settled.
    fn is_over(&self, w: u64, shared: bool) -> bool {
        let uid = word::uid_field(w);
        if uid == UID_VALUES {
            // It stands for all that do not fit.
            false
        } else if shared {
            uid != self.order.word_uid() || word::clock_field(w) < self.order.floor()
        } else {
            uid < self.settled
        }
    }

    /// What the word of a region is to be that this block opens.
    fn open_now(&self, shared: bool) -> u64 {
        OPEN | if shared {
            word::when_bits(self.order.word_uid().min(UID_VALUES), self.order.floor().min(CLOCK_VALUES - 1))
        } else {
            word::when_bits(self.mine.start.min(UID_VALUES), 0)
        }
    }

    /// How the threads of a range, all of them unsettled, stand to an access to these words
    /// of it. `None` where not all alike, or that takes more than is looked at here.
    fn range_standing(&self, r: &Range, a: &Range, words: u32) -> Option<(Relation, Status)> {
        let uid = word::uid_field(r.record);
        let span = r.span();
        if uid != self.order.word_uid() {
            let plain = self.mine.contains(&uid) && !self.order.has_past() && !self.order.knows_others();
            return plain.then_some((Relation::Grid, Status::Unsynced));
        }
        if span == Span::Grid {
            return Some((Relation::Grid, Status::Unsynced));
        }
        let clock = word::clock_field(r.record);
        if clock < self.order.floor() {
            return Some((Relation::Block, Status::Synced));
        }
        if self.late && clock > self.order.floor() {
            return Some((Relation::Block, Status::SameEpoch));
        }
        if span == Span::Thread && a.span() == Span::Thread {
            let own = r.same_thread(a, words);
            if own == words {
                return Some((Relation::Itself, Status::SameEpoch));
            }
            if own != 0 {
                return None;
            }
        }
        Some((Relation::Block, Status::Unsynced))
    }

    /// Drops what is settled of these words. What is settled for the device the host may not
    /// have waited for: of global memory the other words keep it, as shadow words do.
    fn drop_settled(&self, list: &mut List, words: u32, shared: bool) -> bool {
        let over = if shared { ALL } else { words };
        let mut changed = false;
        for r in &mut list.ranges[..list.count] {
            if r.mask & over != 0 && self.is_stale(r.record, shared) {
                r.mask &= !over;
                changed = true;
            }
        }
        list.retain(|r| r.mask != 0);
        changed
    }

    /// The records of a region, and an access to some of its words: the rules of
    /// [`crate::history`], for all the words of a record at once.
    fn meet(&self, list: &mut List, a: &Range, shared: bool) -> Met {
        let mut changed = self.drop_settled(list, a.mask, shared);
        let mut todo = a.mask;
        // Words of each record that the access would stand for, and those where one stands for it.
        let mut over = [0; RECORDS];
        let mut kept = 0;
        for i in 0..list.count {
            let r = list.ranges[i];
            let both = r.mask & a.mask;
            if both == 0 {
                continue;
            }
            let Some((relation, status)) = self.range_standing(&r, a, both) else { return Met::Apart };
            let same_site = (r.record ^ a.record) & word::SITE_MASK == 0
                && self.mine.contains(&word::uid_field(r.record));
            let step = state::step(r.touch(), r.span(), a.touch(), relation, status, same_site);
            if step.race {
                return Met::Apart;
            }
            match step.next {
                Next::Both => {}
                Next::Keep => kept |= both,
                Next::Replace => over[i] = both,
                Next::Join(span) => {
                    // An access joins one record.
                    let joins = both & todo;
                    todo &= !joins;
                    let in_warp = if relation == Relation::Block { r.same_warp(a, joins) } else { 0 };
                    let warp = r.span().max(a.span()).max(Span::Warp);
                    for (part, span) in [(joins & in_warp, warp), (joins & !in_warp, span)] {
                        if part == 0 || span == r.span() {
                            continue;
                        }
                        changed = true;
                        let record = r.record & !word::STATE_MASK | word::state_bits(r.op(), span);
                        if part == list.ranges[i].mask {
                            list.ranges[i].record = record;
                        } else {
                            list.ranges[i].mask &= !part;
                            if !list.push(Range { record, mask: part, ..r }) {
                                return Met::Apart;
                            }
                        }
                    }
                }
            }
        }
        todo &= !kept;
        // A read that a record among reads stands for already leaves the others.
        let stays = list.as_slice().iter().all(|r| r.op() == READ) && a.op() == READ;
        for (r, over) in list.ranges.iter_mut().zip(over) {
            let over = if stays { over & todo } else { over };
            changed |= over != 0;
            r.mask &= !over;
        }
        if todo != 0 {
            changed = true;
            let own = |r: &&mut Range| {
                (r.record, r.base, r.shift) == (a.record, a.base, a.shift) && r.mask & todo == 0
            };
            match list.ranges[..list.count].iter_mut().find(own) {
                Some(r) => r.mask |= todo,
                None => {
                    if list.count == RECORDS {
                        list.retain(|r| r.mask != 0);
                    }
                    if !list.push(Range { mask: todo, ..*a }) {
                        return Met::Apart;
                    }
                }
            }
        }
        list.retain(|r| r.mask != 0);
        if changed { Met::Changed } else { Met::Same }
    }

    /// A read of global memory that changes none of a region's records, all of them unsettled reads
    /// by other instructions or other words: what [`State::meet`] would do. False where it is not
    /// that: then nothing was done.
    fn range_read_among(&self, records: &mut Ranges, a: &Range) -> bool {
        if a.op() != READ {
            return false;
        }
        let Ranges(ranges) = records;
        let unordered = !self.order.has_past() && !self.order.knows_others();
        let mut todo = a.mask;
        let mut own = None;
        let mut end = ranges.len();
        for (i, r) in ranges.iter().enumerate() {
            let both = r.mask & a.mask;
            if r.mask == 0 {
                end = i;
                break;
            }
            if (r.record, r.base, r.shift) == (a.record, a.base, a.shift) {
                own = Some(i);
                todo &= !both;
            } else if both != 0 && !self.stays(r, a, unordered) {
                return false;
            }
        }
        match own {
            _ if todo == 0 => {}
            Some(i) => ranges[i].mask |= todo,
            None if end == ranges.len() => return false,
            None => ranges[end] = Range { mask: todo, ..*a },
        }
        true
    }

    /// An access to all words that a region has records of, which are all settled: it alone is left, as
    /// [`State::meet`] would have it. False where that is not so: then nothing was done.
    fn starts_over(&self, records: &mut Ranges, a: &Range, shared: bool) -> bool {
        let Ranges(ranges) = records;
        let known = ranges.iter().take_while(|r| r.mask != 0);
        if !known.clone().all(|r| (shared || r.mask & !a.mask == 0) && self.is_stale(r.record, shared)) {
            return false;
        }
        let count = known.count();
        ranges[..count].fill(Range::default());
        ranges[0] = *a;
        true
    }

    /// Whether records of a read by others and of a read, unordered and by two instructions, both stay.
    #[inline]
    fn stays(&self, r: &Range, a: &Range, unordered: bool) -> bool {
        if r.op() != READ || (r.record ^ a.record) & word::SITE_MASK == 0 {
            return false;
        }
        let uid = word::uid_field(r.record);
        if uid != self.order.word_uid() {
            return unordered && self.mine.contains(&uid);
        }
        // Of this block: by other threads, and since the last barrier.
        word::clock_field(r.record) >= self.order.floor()
            && r.span() != Span::Grid
            && r.shift == a.shift
            && r.base != a.base
            && (r.span(), a.span()) == (Span::Thread, Span::Thread)
    }

    /// Checks a plain access to some words of a region. False where it must be looked at
    /// word by word: then nothing was done.
    pub(crate) fn range(&mut self, region: &AtomicU64, a: &Range, shared: bool) -> bool {
        loop {
            let mut w = region.load(Ordering::Acquire);
            let at = Region::unpack(w);
            match at {
                Region::Busy => {
                    std::thread::yield_now();
                    continue;
                }
                Region::Open if !self.is_over(w, shared) => return false,
                Region::Alone(r) if r.stands_for(a) => return true,
                // What the word's own record would do: see `crate::common`.
                Region::Alone(r) if r.is_of_the_same(a) && (r.op() == WRITE || a.op() == READ) => {
                    return true;
                }
                Region::Alone(r)
                    if r.is_of_the_same(a)
                        && let Some(next) = a.alone() =>
                {
                    if put(region, &mut w, next, shared) {
                        return true;
                    }
                    continue;
                }
                // SAFETY: nobody else changes the records of a block's own memory.
                Region::Ranges(at) if shared && unsafe { (*at).0.iter().any(|r| r.stands_for(a)) } => {
                    return true;
                }
                Region::Ranges(_) => {
                    if !put(region, &mut w, word::BUSY_WORD, shared) {
                        continue;
                    }
                    // SAFETY: who made the region busy has its records.
                    if !shared
                        && let Region::Ranges(records) = at
                        && self.range_read_among(unsafe { &mut *records }, a)
                    {
                        region.store(w, Ordering::Release);
                        return true;
                    }
                    // SAFETY: as above.
                    if let Region::Ranges(records) = at
                        && self.starts_over(unsafe { &mut *records }, a, shared)
                    {
                        region.store(w, Ordering::Release);
                        return true;
                    }
                    let mut list = List::of(&at);
                    let met = self.meet(&mut list, a, shared);
                    let next = match met {
                        Met::Changed => self.region_word(&list, &at),
                        Met::Same | Met::Apart => w,
                    };
                    region.store(next, Ordering::Release);
                    return met != Met::Apart;
                }
                Region::Empty | Region::Open | Region::Alone(_) => {}
            }
            let over = match at {
                Region::Alone(r) => self.is_stale(r.record, shared),
                _ => true,
            };
            if over && let Some(next) = a.alone() {
                if put(region, &mut w, next, shared) {
                    return true;
                }
                continue;
            }
            let mut list = List::of(&at);
            match self.meet(&mut list, a, shared) {
                Met::Same => return true,
                Met::Apart => return false,
                Met::Changed => {}
            }
            match list.as_slice() {
                [one] if let Some(next) = one.alone() => {
                    if put(region, &mut w, next, shared) {
                        return true;
                    }
                }
                _ => {
                    if put(region, &mut w, word::BUSY_WORD, shared) {
                        region.store(self.region_word(&list, &at), Ordering::Release);
                        return true;
                    }
                }
            }
        }
    }

    /// Records these accesses, each of words of its own, in a region whose records are all settled. False where
    /// some are not, or where it has each word's own: then nothing was done.
    pub(crate) fn begin_region(&mut self, region: &AtomicU64, accesses: &[Range], shared: bool) -> bool {
        let mut w = region.load(Ordering::Acquire);
        let at = Region::unpack(w);
        let free = match at {
            Region::Empty => true,
            Region::Open => self.is_over(w, shared),
            Region::Alone(r) => self.is_stale(r.record, shared),
            // Seen once they are this block's alone.
            Region::Ranges(_) => true,
            Region::Busy => false,
        };
        if !free || !put(region, &mut w, word::BUSY_WORD, shared) {
            return false;
        }
        let mut list = List::of(&at);
        let settled = list.as_slice().iter().all(|r| self.is_stale(r.record, shared));
        self.drop_settled(&mut list, accesses.iter().fold(0, |all, a| all | a.mask), shared);
        let done = settled && accesses.iter().all(|&a| list.push(a));
        let next = if done { self.region_word(&list, &at) } else { w };
        region.store(next, Ordering::Release);
        done
    }

    /// The word of a region with these records, which had those of `before`.
    fn region_word(&mut self, list: &List, before: &Region) -> u64 {
        if let [one] = list.as_slice()
            && let Some(alone) = one.alone()
        {
            if let Region::Ranges(at) = *before {
                self.ranges.give_back(at);
            }
            return alone;
        }
        let at = match *before {
            Region::Ranges(at) => at,
            Region::Empty | Region::Open | Region::Busy | Region::Alone(_) => self.ranges.take(),
        };
        // SAFETY: the piece is this block's alone.
        unsafe { at.write(Ranges(list.ranges)) };
        RANGES | at as u64
    }

    /// Gives a region's words the records that stand for them.
    fn spread(&mut self, inner: &Inner, list: &List, words: &[AtomicU64; WORDS]) {
        let any = list.as_slice().iter().fold(0, |any, r| any | r.mask);
        for i in records::words(any) {
            let mut records = [0; RECORDS];
            let mut count = 0;
            for r in list.as_slice().iter().filter(|r| r.mask >> i & 1 != 0) {
                records[count] = r.of(i);
                count += 1;
            }
            let next = if count == 1 { records[0] } else { self.line_word(inner, records) };
            // What it held is settled.
            let before = words[i as usize].swap(next, Ordering::Relaxed);
            inner.drop_chain(before);
        }
    }
}

impl State {
    /// Opens the region of a place.
    #[cold]
    #[inline(never)]
    pub(crate) fn open(&mut self, inner: &Inner, place: Place<'_>, shared: bool) {
        let Place { region, .. } = place;
        loop {
            let mut w = region.load(Ordering::Acquire);
            if self.is_open(w, shared) {
                return;
            }
            let opened = self.open_now(shared);
            let at = Region::unpack(w);
            match at {
                Region::Busy => std::thread::yield_now(),
                Region::Empty | Region::Open => {
                    if put(region, &mut w, opened, shared) {
                        return;
                    }
                }
                Region::Alone(_) | Region::Ranges(_) => {
                    if !put(region, &mut w, word::BUSY_WORD, shared) {
                        continue;
                    }
                    let mut list = List::of(&at);
                    self.drop_settled(&mut list, 0, shared);
                    self.spread(inner, &list, place.words());
                    if let Region::Ranges(at) = at {
                        self.ranges.give_back(at);
                    }
                    return region.store(opened, Ordering::Release);
                }
            }
        }
    }
}

impl State {
    /// The shadow word at a place, to be looked at by itself.
    #[inline(always)]
    pub(crate) fn opened_word(&mut self, inner: &Inner, place: Place<'_>, shared: bool) -> u64 {
        if !self.is_open(place.region.load(Ordering::Acquire), shared) {
            self.open(inner, place, shared);
        }
        place.word.load(Ordering::Acquire)
    }
}

/// Brings near what a region's word points to.
#[inline]
pub(crate) fn prefetch(w: u64) {
    if let Region::Ranges(at) = Region::unpack(w) {
        shadow::prefetch(at.cast());
        shadow::prefetch(at.cast::<u8>().wrapping_add(64));
    }
}
