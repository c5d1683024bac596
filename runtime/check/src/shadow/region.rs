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

mod meet;
mod past;
mod records;

use std::sync::atomic::{AtomicU64, Ordering};

use gpurace_abi::device::REGION_WORDS;

use crate::model::record::{CLOCK_VALUES, Record, UID_VALUES, uid_and_clock};
use crate::model::step;
use crate::order::view::BlockView;
use crate::shadow::map::WordPlace;
use crate::shadow::process::{BlockShadow, Shadow};
pub(crate) use crate::shadow::record_list::RECORDS;
use crate::shadow::record_list::RecordList;
use crate::shadow::word::{load, put};

use meet::Met;
pub(crate) use past::{all_records, forget, is_closed, list_of, prefetch, records_of};
pub use records::BYTES;
use records::RegionContent;
pub(crate) use records::{BYTE_STEPS, FALLS, ONE_THREAD, RegionList, RegionRecord, bytes_at, mask_of_bytes};

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
                RegionContent::Empty
                | RegionContent::Open
                | RegionContent::Alone(_)
                | RegionContent::List(_) => {}
            }
            let checked = match content {
                RegionContent::List(at) => self.check_list(view, region, (w, at), a, shared),
                _ => self.check_records(view, region, (w, content), a, shared),
            };
            if let Some(checked) = checked {
                return checked;
            }
        }
    }

    /// Checks an access to a region whose word `w` points to a list. `None` if the word has changed meanwhile.
    #[inline(always)]
    fn check_list(
        &mut self,
        view: &BlockView,
        region: &AtomicU64,
        (mut w, at): (Record, *mut RegionList),
        a: &RegionRecord,
        shared: bool,
    ) -> Option<bool> {
        if !put(region, &mut w, Record::BUSY, shared) {
            return None;
        }
        // SAFETY: whoever made the region busy owns its records.
        let list = unsafe { &mut *at };
        // A record of all words needs no list.
        if a.alone().is_none() && view.meet_own(list, a, shared) {
            region.store(w.bits(), Ordering::Release);
            return Some(true);
        }
        let mut changed = list.copied();
        let met = view.meet(&mut changed, a, shared);
        let next = match met {
            Met::Changed => self.region_word(&changed, RegionContent::List(at)),
            Met::Same | Met::Apart => w,
        };
        region.store(next.bits(), Ordering::Release);
        Some(met != Met::Apart)
    }

    /// Checks an access to a region whose word `w` points to no list. `None` if the word has changed meanwhile.
    #[inline(always)]
    fn check_records(
        &mut self,
        view: &BlockView,
        region: &AtomicU64,
        (mut w, content): (Record, RegionContent),
        a: &RegionRecord,
        shared: bool,
    ) -> Option<bool> {
        let over = match content {
            RegionContent::Alone(r) => view.is_settled(r.record, shared),
            _ => true,
        };
        if over && let Some(next) = a.alone() {
            return put(region, &mut w, next, shared).then_some(true);
        }
        let mut list = content.records();
        match view.meet(&mut list, a, shared) {
            Met::Same => return Some(true),
            Met::Apart => return Some(false),
            Met::Changed => {}
        }
        if let [one] = list.as_slice()
            && let Some(next) = one.alone()
        {
            return put(region, &mut w, next, shared).then_some(true);
        }
        if !put(region, &mut w, Record::BUSY, shared) {
            return None;
        }
        region.store(self.region_word(&list, content).bits(), Ordering::Release);
        Some(true)
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
