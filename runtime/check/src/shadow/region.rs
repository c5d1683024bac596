//! Regions: the shadow of 32 words at once.
//!
//! Most accesses of a GPU's threads are regular: neighbouring threads touch neighbouring words, by
//! one instruction, between the same two barriers. Such a row of accesses leaves one record for all
//! its words, and meets records of its kind in one step (after Wilcox, Finch, Flanagan, Freund,
//! "Array Shadow State Compression for Precise Dynamic Race Detection", ASE 2015). A region's
//! record says of each of its words what the word's own record would say.
//!
//! A region's word has one of these states:
//!
//! | state | the records |
//! |---|---|
//! | empty | none |
//! | open | each word has its own; the region's word has the uid and clock of the block that opened it last |
//! | a record | one, for all words: thread after thread, one word each |
//! | list | up to 8 [`RegionRecord`]s |
//! | busy | one worker is changing it and the others wait |
//!
//! An access to one word, and a row that is not regular with what it meets, *opens* the region: its
//! words get records of their own. A row closes it again once all records of its words are settled.
//! Words of a closed region hold nothing, or records that are settled.

mod past;
mod records;

use std::sync::atomic::{AtomicU64, Ordering};

use gpurace_abi::device::REGION_WORDS;

use crate::model::record::{CLOCK_VALUES, Record, UID_VALUES, uid_and_clock};
use crate::model::relation::{Relation, Span, Status};
use crate::model::step::{self, Next, Step};
use crate::order::view::BlockView;
use crate::shadow::map::WordPlace;
use crate::shadow::process::{BlockShadow, Shadow};
pub(crate) use crate::shadow::record_list::RECORDS;
use crate::shadow::record_list::RecordList;
use crate::shadow::word::{load, put};

pub(crate) use past::{all_records, forget, is_closed, list_of, prefetch, records_of};
pub use records::BYTES;
use records::RegionContent;
pub(crate) use records::{BYTE_STEPS, FALLS, ONE_THREAD, RegionList, RegionRecord, bytes_at, mask_of_bytes};

/// What becomes of a region's records when an access meets them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Met {
    /// They represent it already.
    Same,
    /// They have changed.
    Changed,
    /// They do not tell: it races with one of them, or they would be too many. Each word must be
    /// checked by itself.
    Apart,
}

impl BlockView {
    /// The least and the greatest bits of the words of open regions whose words this block may use.
    #[inline(always)]
    fn open_bounds(&self, shared: bool) -> (u64, u64) {
        let open = Record::chain(0).bits();
        let (least, most) = if shared {
            let uid = self.order.word_uid().min(UID_VALUES);
            (uid_and_clock(uid, self.order.floor()), uid_and_clock(uid, CLOCK_VALUES - 1))
        } else {
            let uid = self.mine().start.min(UID_VALUES);
            (uid_and_clock(uid, 0), uid_and_clock(UID_VALUES, CLOCK_VALUES - 1))
        };
        (open | least, open | most)
    }

    /// True if a region's words have records of their own, and this block may use them.
    #[inline(always)]
    pub(crate) fn is_open(&self, region: Record, shared: bool) -> bool {
        let (least, most) = self.open_bounds(shared);
        region.bits().wrapping_sub(least) <= most - least
    }

    /// The bits of the words of regions that [`BlockView::is_open`] holds of.
    pub(crate) fn open_regions(&self, shared: bool) -> std::ops::Range<u64> {
        let (least, most) = self.open_bounds(shared);
        least..most + 1
    }

    /// True if all records that the words of an open region got since it was opened are settled.
    fn is_over(&self, region: Record, shared: bool) -> bool {
        let (uid, clock) = (region.uid(), region.clock());
        // A barrier does not settle copies under way. The last uid represents all that do not fit.
        !(self.copies && shared) && uid != UID_VALUES && self.has_settled(uid, clock, shared)
    }

    /// The word of a region that this block opens.
    fn opened(&self, shared: bool) -> Record {
        Record::chain(if shared {
            uid_and_clock(self.order.word_uid().min(UID_VALUES), self.order.floor().min(CLOCK_VALUES - 1))
        } else {
            uid_and_clock(self.mine().start.min(UID_VALUES), 0)
        })
    }

    /// The transition of a region's record that is not settled, by an access to these words. `None`
    /// if it is not the same for all words, or the record's bits do not tell.
    fn region_step(&self, r: &RegionRecord, a: &RegionRecord, words: u32) -> Option<(Relation, Step)> {
        let (mut relation, mut status) = self.relation_to_other_warps(r.record, r.span())?;
        if !r.compares_with(a) {
            let step = Step { race: false, next: Next::Both };
            return (!r.writes() && !a.writes()).then_some((relation, step));
        }
        let alone = (r.span(), a.span()) == (Span::Thread, Span::Thread);
        if alone && (relation, status) == (Relation::Block, Status::Unsynced) {
            match r.same_thread(a, words)? {
                0 => {}
                own if own == words => (relation, status) = (Relation::Itself, Status::SameEpoch),
                _ => return None,
            }
        }
        // The relation is known of records of this launch alone.
        let same_site = r.record.has_site(a.record.site()) && self.may_join(relation, r.record.clock());
        Some((relation, step::step(r.touch(), r.span(), a.touch(), relation, status, same_site)))
    }

    /// Removes the settled records of these words. Settled for the device, they may not be settled
    /// for the host: the other words of global memory keep them, as shadow words do.
    fn drop_settled(&self, list: &mut RegionList, words: u32, shared: bool) -> bool {
        let over = if shared { !0 } else { words };
        let mut changed = false;
        for r in list.as_mut_slice() {
            if r.mask & over != 0 && self.is_settled(r.record, shared) {
                *r = r.part(!over);
                changed = true;
            }
        }
        list.retain(|r| r.mask != 0);
        changed
    }

    /// Lets an access meet the records of a list in place, where each of them that has some of its words is
    /// settled or of the same threads in this epoch, as in [`crate::shadow::fast`]. False in other cases:
    /// then nothing was done.
    #[inline]
    fn meet_own(&self, list: &mut RegionList, a: &RegionRecord, shared: bool) -> bool {
        // The words in which no record represents the access, and the records that it replaces there.
        let (mut todo, mut replaced) = (a.mask, 0_u32);
        for (i, r) in list.as_slice().iter().enumerate().filter(|(_, r)| r.mask & a.mask != 0) {
            let both = r.words_of_both(a);
            if self.is_settled(r.record, shared) {
                replaced |= 1 << i;
            } else if both == Some(0) {
                continue;
            } else if both != Some(r.mask & a.mask) || !r.is_of_same_threads(a) || !r.compares_with(a) {
                return false;
            } else if step::covers(r.touch(), a.touch(), true) {
                todo &= !r.mask;
            } else if step::covers(a.touch(), r.touch(), true) {
                replaced |= 1 << i;
            } else if r.record.has_site(a.record.site()) {
                return false;
            }
        }
        if todo == 0 {
            return true;
        }
        let loses = |i: usize| replaced >> i & 1 != 0;
        let new = a.part(todo);
        let records = list.as_mut_slice();
        let is_gap = |(i, r): (usize, &RegionRecord)| loses(i) && r.mask & !todo == 0;
        let gaps = records.iter().enumerate().filter(|&r| is_gap(r)).count();
        let gap = records.iter().enumerate().position(is_gap);
        let like = (0..records.len()).find(|&i| records[i].is_like(a) && !is_gap((i, &records[i])));
        if like.is_none() && gap.is_none() && !list.push(new) {
            return false;
        }
        let records = list.as_mut_slice();
        (0..records.len()).filter(|&i| loses(i)).for_each(|i| records[i] = records[i].part(!todo));
        match (like, gap) {
            (Some(like), _) => records[like].mask |= todo,
            (None, Some(gap)) => records[gap] = new,
            (None, None) => {}
        }
        if gaps > usize::from(like.is_none()) {
            list.retain(|r| r.mask != 0);
        }
        true
    }

    /// Lets an access to some words of a region meet its records: what
    /// [`history::check`](crate::shadow::history::check) does, for all words of a record at once.
    fn meet(&self, list: &mut RegionList, a: &RegionRecord, shared: bool) -> Met {
        let mut changed = self.drop_settled(list, a.mask, shared);
        let mut todo = a.mask;
        // For each record, the words in which the access's record replaces it; and the words in
        // which some record represents the access.
        let mut replaced = [0; RECORDS];
        let mut kept = 0;
        for (i, replaced) in replaced.iter_mut().enumerate().take(list.len()) {
            let r = list.as_slice()[i];
            if r.mask & a.mask == 0 {
                continue;
            }
            let both = match r.words_of_both(a) {
                Some(0) => continue,
                Some(both) => both,
                None if !r.writes() && !a.writes() => continue,
                None => return Met::Apart,
            };
            let Some((relation, Step { race: false, next })) = self.region_step(&r, a, both) else {
                return Met::Apart;
            };
            match next {
                Next::Both | Next::Extend => {}
                // The threads of one record lie at one distance.
                Next::Join(_) if !r.splits_words_like(a) => {}
                Next::Keep => kept |= both,
                Next::Replace => *replaced = both,
                Next::Join(span) => {
                    // An access joins one record.
                    let joins = both & todo;
                    todo &= !joins;
                    let in_warp = match relation {
                        Relation::Block if joins != 0 => r.same_warp(a, joins),
                        _ => Some(0),
                    };
                    let Some(in_warp) = in_warp else { return Met::Apart };
                    let warp = r.span().max(a.span()).max(Span::Warp);
                    for (part, span) in [(joins & in_warp, warp), (joins & !in_warp, span)] {
                        if part == 0 || span == r.span() {
                            continue;
                        }
                        changed = true;
                        let record = r.record.with(r.op(), span);
                        let stored = &mut list.as_mut_slice()[i];
                        if part == stored.mask {
                            stored.record = record;
                        } else {
                            *stored = stored.part(!part);
                            if !list.push(RegionRecord { record, ..r.part(part) }) {
                                return Met::Apart;
                            }
                        }
                    }
                }
            }
        }
        todo &= !kept;
        // A read that a record among reads represents already leaves the others.
        let reads = list.as_slice().iter().chain([a]).all(|r| !r.writes());
        for (r, words) in list.as_mut_slice().iter_mut().zip(replaced) {
            let words = if reads { words & todo } else { words };
            changed |= words != 0;
            *r = r.part(!words);
        }
        list.retain(|r| r.mask != 0);
        if todo != 0 {
            changed = true;
            let like = list.as_slice().iter().position(|r| r.is_like(a) && r.mask & todo == 0);
            match like {
                Some(i) => list.as_mut_slice()[i].mask |= todo,
                None if list.push(a.part(todo)) => {}
                None => return Met::Apart,
            }
        }
        if changed { Met::Changed } else { Met::Same }
    }
}

impl BlockShadow {
    /// Checks a plain access to some words of a region. False if each word must be checked by
    /// itself: then nothing was done.
    pub(crate) fn check_region(
        &mut self,
        view: &BlockView,
        region: &AtomicU64,
        a: &RegionRecord,
        shared: bool,
    ) -> bool {
        loop {
            let mut w = load(region);
            let content = RegionContent::of(w);
            match content {
                RegionContent::Busy => {
                    std::thread::yield_now();
                    continue;
                }
                RegionContent::Open if !view.is_over(w, shared) => return false,
                RegionContent::Alone(r) if r.represents(a) => return true,
                // The cases of one thread in one epoch, as in `crate::shadow::fast`.
                RegionContent::Alone(r)
                    if r.is_of_same_threads(a)
                        && r.compares_with(a)
                        && step::covers(r.touch(), a.touch(), true) =>
                {
                    return true;
                }
                RegionContent::Alone(r)
                    if r.is_of_same_threads(a)
                        && step::covers(a.touch(), r.touch(), true)
                        && let Some(next) = a.alone() =>
                {
                    if put(region, &mut w, next, shared) {
                        return true;
                    }
                    continue;
                }
                RegionContent::List(at)
                    if shared && {
                        // SAFETY: nobody else changes the records of a block's own memory.
                        let list = unsafe { &*at };
                        list.as_slice().iter().any(|r| r.represents(a))
                    } =>
                {
                    return true;
                }
                RegionContent::List(at) => {
                    if !put(region, &mut w, Record::BUSY, shared) {
                        continue;
                    }
                    // SAFETY: whoever made the region busy owns its records.
                    let list = unsafe { &mut *at };
                    // A record of all words needs no list.
                    if a.alone().is_none() && view.meet_own(list, a, shared) {
                        region.store(w.bits(), Ordering::Release);
                        return true;
                    }
                    let mut changed = list.copied();
                    let met = view.meet(&mut changed, a, shared);
                    let next = match met {
                        Met::Changed => self.region_word(&changed, content),
                        Met::Same | Met::Apart => w,
                    };
                    region.store(next.bits(), Ordering::Release);
                    return met != Met::Apart;
                }
                RegionContent::Empty | RegionContent::Open | RegionContent::Alone(_) => {}
            }
            let over = match content {
                RegionContent::Alone(r) => view.is_settled(r.record, shared),
                _ => true,
            };
            if over && let Some(next) = a.alone() {
                if put(region, &mut w, next, shared) {
                    return true;
                }
                continue;
            }
            let mut list = content.records();
            match view.meet(&mut list, a, shared) {
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
                    if put(region, &mut w, Record::BUSY, shared) {
                        region.store(self.region_word(&list, content).bits(), Ordering::Release);
                        return true;
                    }
                }
            }
        }
    }

    /// Checks accesses of one interval to a region, where its records are all settled, or of the same threads in
    /// this interval. False where they are not, or the region is open: then nothing was done.
    pub(crate) fn check_together(
        &mut self,
        view: &BlockView,
        region: &AtomicU64,
        accesses: &[RegionRecord],
        shared: bool,
    ) -> bool {
        let mut w = load(region);
        let content = RegionContent::of(w);
        let free = match content {
            RegionContent::Empty | RegionContent::Alone(_) => true,
            RegionContent::Open => view.is_over(w, shared),
            // Only the worker that makes it busy can tell.
            RegionContent::List(_) => true,
            RegionContent::Busy => false,
        };
        if !free || !put(region, &mut w, Record::BUSY, shared) {
            return false;
        }
        let mut list = content.records();
        let settled = list.as_slice().iter().all(|r| view.is_settled(r.record, shared));
        let done = if settled {
            view.drop_settled(&mut list, accesses.iter().fold(0, |all, a| all | a.mask), shared);
            accesses.iter().all(|&a| list.push(a))
        } else {
            accesses.iter().all(|a| view.meet_own(&mut list, a, shared))
        };
        let next = if done { self.region_word(&list, content) } else { w };
        region.store(next.bits(), Ordering::Release);
        done
    }

    /// The word of a region with these records; `before` is what the word held.
    fn region_word(&mut self, list: &RegionList, before: RegionContent) -> Record {
        if let [one] = list.as_slice()
            && let Some(alone) = one.alone()
        {
            if let RegionContent::List(at) = before {
                self.region_lists.give_back(at);
            }
            return alone;
        }
        if let RegionContent::List(at) = before {
            // SAFETY: only this block has the list.
            unsafe { (*at).replace(list) };
            return Record::list(at as u64);
        }
        let at = self.region_lists.take();
        // SAFETY: nobody else has the piece.
        unsafe { at.write(*list) };
        Record::list(at as u64)
    }

    /// Gives each word of a region the records that the region has of it.
    fn spread(
        &mut self,
        shadow: &Shadow,
        view: &BlockView,
        records: &RegionList,
        cells: &[AtomicU64; REGION_WORDS],
    ) {
        let records = records.as_slice();
        for i in records::words(records.iter().fold(0, |any, r| any | r.mask)) {
            let of_word = || records.iter().filter(|r| r.mask >> i & 1 != 0).flat_map(|r| r.of_word(i));
            let mut list = RecordList::default();
            let fits = of_word().all(|record| list.push(record));
            let next = match *list.as_slice() {
                [one] => one,
                _ if fits => self.list_word(shadow, list),
                _ => {
                    let mut chain = self.new_chain(shadow);
                    chain.entries.extend(of_word().filter_map(Record::fields).map(|f| view.entry(&f)));
                    chain.find_common();
                    self.word_of(shadow, view, chain)
                }
            };
            // What it held is settled.
            let before = cells[i as usize].swap(next.bits(), Ordering::Relaxed);
            shadow.drop_history(Record::from_bits(before));
        }
    }

    /// Opens the region of a place.
    #[cold]
    #[inline(never)]
    pub(crate) fn open(&mut self, shadow: &Shadow, view: &BlockView, place: WordPlace<'_>, shared: bool) {
        let region = place.region;
        loop {
            let mut w = load(region);
            if view.is_open(w, shared) {
                return;
            }
            let opened = view.opened(shared);
            let content = RegionContent::of(w);
            match content {
                RegionContent::Busy => std::thread::yield_now(),
                RegionContent::Empty | RegionContent::Open => {
                    if put(region, &mut w, opened, shared) {
                        return;
                    }
                }
                RegionContent::Alone(_) | RegionContent::List(_) => {
                    if !put(region, &mut w, Record::BUSY, shared) {
                        continue;
                    }
                    let mut list = content.records();
                    view.drop_settled(&mut list, 0, shared);
                    self.spread(shadow, view, &list, place.words());
                    if let RegionContent::List(at) = content {
                        self.region_lists.give_back(at);
                    }
                    return region.store(opened.bits(), Ordering::Release);
                }
            }
        }
    }

    /// The shadow word at a place whose region is open now.
    #[inline(always)]
    pub(crate) fn opened_word(
        &mut self,
        shadow: &Shadow,
        view: &BlockView,
        place: WordPlace<'_>,
        shared: bool,
    ) -> Record {
        if !view.is_open(load(place.region), shared) {
            self.open(shadow, view, place, shared);
        }
        load(place.word)
    }
}
