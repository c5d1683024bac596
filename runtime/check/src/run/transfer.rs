//! Transfers: copies and fills as sides of races. Each is a launch of one thread, which reads and
//! writes ranges of bytes.
//!
//! A transfer leaves no records in the shadow: they would cost as much as a kernel that touches the
//! same bytes. Instead, launches that are concurrent with it compare each of their accesses with its
//! ranges. The transfer itself compares its ranges with the records of the launches before it. So
//! only transfers and launches that are concurrent with each other cost anything.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::batch::{Addresses, Batch, Value};
use crate::model::access::{Access, GRANULE, Op, Touch, overlap, word_mask};
use crate::model::entry::{Entry, Member};
use crate::model::race::KernelKey;
use crate::model::record::{Content, Record};
use crate::model::relation::Status;
use crate::model::step;
use crate::order::launches::LaunchData;
use crate::run::block::Block;
use crate::run::checker::Checker;
use crate::run::launch::{Launch, LaunchInfo, ProvedSites};
use crate::run::sighting::RaceReporter;
use crate::shadow::RaceSink;
use crate::shadow::process::{Stored, each_stored};
use crate::shadow::region;
use crate::shadow::word::{load, put};

/// A batch is compared with each range of a transfer that has so many at most.
const MOST_COMPARED: usize = 4;

/// A copy or fill.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// Unique among all transfers and launches of the process; later ones have larger ids.
    pub id: u64,
    /// Number, in the process, of site 0 of all transfers.
    pub site_base: u32,
    /// The stream, as the caller numbers them.
    pub stream: u64,
    /// As [`LaunchInfo::settled`].
    pub settled: u64,
}

/// Bytes that a transfer reads or writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touched {
    /// The bytes.
    pub bytes: Range<usize>,
    /// It writes them; otherwise it reads them.
    pub writes: bool,
    /// Its site for them, counted from [`Transfer::site_base`].
    pub site: u32,
}

impl Checker {
    /// Checks a transfer that is about to happen. It is ordered after every launch that began before
    /// it, except those whose ids are in `unordered`.
    pub fn transfer(
        &self,
        transfer: Transfer,
        unordered: &[u64],
        touched: impl IntoIterator<Item = Touched>,
    ) {
        let touched = TouchedRanges::new(touched);
        let launch = self.begin(transfer.info(), unordered, ProvedSites::default(), Some(touched.clone()));
        if !unordered.is_empty() {
            compare(&launch, &touched.list);
        }
        self.end_launch(&launch);
    }

    /// Checks a free of memory as a transfer that writes it, and that no operation to come meets.
    pub fn free(&self, free: Transfer, unordered: &[u64], touched: Touched) {
        let launch = self.begin(free.info(), unordered, ProvedSites::default(), None);
        compare(&launch, &[touched]);
        self.end_launch(&launch);
        self.inner.launching.lock().drop_last(free.id);
    }
}

impl Transfer {
    fn info(&self) -> LaunchInfo {
        let &Self { id, site_base, stream, settled } = self;
        LaunchInfo { site_base, stream, settled, ..LaunchInfo::new(id, KernelKey::NONE, 1, 1) }
    }
}

/// Compares the ranges of a transfer with what came before it.
fn compare(launch: &Arc<Launch>, touched: &[Touched]) {
    let mut block = Block::begin(launch, 0, 0..0);
    for Touched { bytes, writes, site } in touched {
        block.transfer_range(bytes, Op::plain(*writes), *site);
    }
    block.end();
}

/// All bytes that a transfer touches. Two ranges overlap only if one is read and the other written.
#[derive(Clone, Debug)]
pub(crate) struct TouchedRanges {
    /// In the order of their first bytes.
    list: Vec<Touched>,
    /// From the first byte of all ranges to the last.
    bounds: Range<usize>,
}

impl TouchedRanges {
    fn new(touched: impl IntoIterator<Item = Touched>) -> Self {
        let mut list: Vec<_> = touched.into_iter().collect();
        list.sort_by_key(|touched| touched.bytes.start);
        let start = list.first().map_or(0, |touched| touched.bytes.start);
        let ends = list.iter().map(|touched| touched.bytes.end);
        let bounds = start..ends.max().unwrap_or(start);
        Self { list, bounds }
    }

    /// False if no range has bytes in common with `bytes`.
    pub(crate) fn may_meet(&self, bytes: &Range<usize>) -> bool {
        overlap(&self.bounds, bytes)
    }

    /// The ranges that have bytes in common with `bytes`.
    fn meeting(&self, bytes: Range<usize>) -> impl Iterator<Item = &Touched> {
        let begun = self.list.partition_point(|t| t.bytes.start <= bytes.start);
        let end = self.list.partition_point(|t| t.bytes.start < bytes.end);
        // Of the ranges that begin before `bytes`, only the last read one and the last written one
        // may reach into it.
        let last = |writes| {
            let before = self.list[..begun].iter().rev();
            before.into_iter().find(|t| t.writes == writes)
        };
        let reaching = [last(false), last(true)].into_iter().flatten();
        reaching.chain(&self.list[begun..end.max(begun)]).filter(move |t| overlap(&t.bytes, &bytes))
    }
}

/// A transfer that something to come may be concurrent with.
pub(crate) struct UnsettledTransfer {
    pub(crate) launch: Arc<LaunchData>,
    pub(crate) touched: TouchedRanges,
}

impl UnsettledTransfer {
    /// The same without the ranges that overlap `bytes`, whose memory was freed.
    pub(crate) fn without(&self, bytes: &Range<usize>) -> Self {
        let stays = |t: &&Touched| !overlap(&t.bytes, bytes);
        Self {
            launch: self.launch.clone(),
            touched: TouchedRanges::new(self.touched.list.iter().filter(stays).cloned()),
        }
    }

    /// Its accesses to the bytes of `mask` of a word, as records.
    pub(crate) fn entries(&self, word: usize, mask: u8) -> impl Iterator<Item = Entry> {
        let bytes = word..word + GRANULE;
        self.touched.meeting(bytes).filter_map(move |touched| {
            let common = word_mask(word, touched.bytes.start, touched.bytes.end) & mask;
            (common != 0).then(|| Entry {
                touch: Touch { op: Op::plain(touched.writes), mask: common },
                site: self.launch.site_base + touched.site,
                member: Member::thread(self.launch.first_uid, 0, 0),
            })
        })
    }
}

impl Launch {
    /// True if a transfer that is concurrent with the launch touches some of these bytes.
    pub(crate) fn meets_transfers(&self, bytes: &Range<usize>) -> bool {
        let mut near = self.transfers.iter().filter(|transfer| transfer.touched.may_meet(bytes));
        near.any(|transfer| transfer.touched.meeting(bytes.clone()).next().is_some())
    }

    /// True if one may touch what a batch accesses.
    pub(crate) fn may_meet_transfers(&self, batch: &Batch<'_>) -> bool {
        let bounds = match batch.addresses {
            Addresses::Affine(affine) => affine.bounds(batch.size as usize),
            _ => None,
        };
        let may_be_near = |transfer: &&Arc<UnsettledTransfer>| {
            bounds.as_ref().is_none_or(|bounds| transfer.touched.may_meet(bounds))
        };
        self.transfers.iter().filter(may_be_near).any(|transfer| {
            let TouchedRanges { list, bounds } = &transfer.touched;
            match list.len() <= MOST_COMPARED {
                true => list.iter().any(|t| batch.may_meet(&t.bytes)),
                false => batch.may_meet(bounds),
            }
        })
    }
}

impl RaceReporter<'_> {
    /// Compares an access with the transfers that are concurrent with the launch.
    #[inline]
    pub(crate) fn meet_transfers(&mut self, a: &Access) {
        let launch = self.launch;
        for transfer in &launch.transfers {
            if transfer.touched.may_meet(&(a.word..a.word + GRANULE)) {
                transfer.entries(a.word, a.touch.mask).for_each(|entry| self.compare(&entry, a));
            }
        }
    }

    /// Reports the race of a record with an access that leaves none, if they race.
    fn compare(&mut self, entry: &Entry, a: &Access) {
        let s = self.view.standing(a.thread, &entry.member, false);
        if s.status == Status::Unsynced && step::conflict(entry.touch, a.touch, s.relation) {
            self.race(entry, &s, a, 0);
        }
    }

    /// Compares an access that leaves no record with the records of a word in which `w` was seen.
    fn compare_with_word(&mut self, cell: &AtomicU64, mut w: Record, a: &Access) {
        let points = loop {
            match w.content() {
                Content::Busy => {
                    std::thread::yield_now();
                    w = load(cell);
                }
                Content::Empty | Content::Record(_) => break false,
                Content::Chain(_) | Content::List(_) if put(cell, &mut w, Record::BUSY, false) => break true,
                Content::Chain(_) | Content::List(_) => {}
            }
        };
        let view = self.view;
        let each = |stored: Stored<'_>| match stored {
            Stored::Entry(entry) => self.compare(entry, a),
            Stored::Record(fields) => self.compare(&view.entry(&fields), a),
        };
        // SAFETY: whoever makes a word busy owns what it points to, until the word is stored back.
        unsafe { each_stored(w, each) };
        if points {
            cell.store(w.bits(), Ordering::Release);
        }
    }
}

impl Block {
    /// Compares a range of a transfer with other transfers, and with the records of the shadow.
    fn transfer_range(&mut self, bytes: &Range<usize>, op: Op, site: u32) {
        if op == Op::Write {
            self.inner.record_reads(bytes);
        }
        self.sightings.next_access();
        let access = |word: usize| Access {
            thread: 0,
            touch: Touch { op, mask: word_mask(word, bytes.start, bytes.end) },
            site,
            number: None,
            word,
            address: bytes.start,
            size: bytes.len() as u64,
            shared: false,
            copy: None,
        };
        let (mut races, ..) = self.reporter(Value::Unknown);
        let launch = races.launch;
        for transfer in launch.transfers.iter().filter(|transfer| transfer.touched.may_meet(bytes)) {
            for touched in transfer.touched.meeting(bytes.clone()) {
                let word = touched.bytes.start.max(bytes.start) & !(GRANULE - 1);
                let a = access(word);
                transfer.entries(word, a.touch.mask).for_each(|entry| races.compare(&entry, &a));
            }
        }
        let inner = self.inner.clone();
        inner.shadow.map.regions(bytes, |start, place| {
            if region::is_closed(load(place.region)) {
                let is_before = |record: Record| self.view.is_of_launch_before(record.uid());
                if region::all_records(place.region, is_before) {
                    return;
                }
                self.shadow.open(&inner.shadow, &self.view, place, false);
            }
            let (mut races, ..) = self.reporter(Value::Unknown);
            for (word, cell) in (start..).step_by(GRANULE).zip(place.words()) {
                let w = load(cell);
                let beside = word + GRANULE <= bytes.start || bytes.end <= word;
                if beside || w == Record::EMPTY || w.is_record() && races.view.is_of_launch_before(w.uid()) {
                    continue;
                }
                races.compare_with_word(cell, w, &access(word));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::race::{RaceScope, SideOp};

    const KERNEL: KernelKey = KernelKey(7);

    fn kernel(checker: &Checker, id: u64, unordered: &[u64], write: bool, addresses: &[usize]) {
        let info = LaunchInfo { site_base: 100, stream: 1, ..LaunchInfo::new(id, KERNEL, 2, 32) };
        let launch = checker.begin_launch(info, unordered);
        let mut block = Block::begin(&launch, 1, 0..0);
        for &address in addresses {
            if write {
                block.write(3, address, 4, 1, None);
            } else {
                block.read(3, address, 4, 2);
            }
        }
        block.end();
        checker.end_launch(&launch);
    }

    fn copy(checker: &Checker, id: u64, unordered: &[u64], to: Range<usize>, from: Range<usize>) {
        let transfer = Transfer { id, site_base: 1 << 30, stream: 2, settled: 0 };
        let side = |bytes, writes| Touched { bytes, writes, site: u32::from(writes) };
        checker.transfer(transfer, unordered, [side(from, false), side(to, true)]);
    }

    fn found(checker: &Checker) -> Vec<(KernelKey, SideOp, SideOp, RaceScope)> {
        let races = checker.take_new_races();
        let of = |r: &crate::RaceRecord| (r.kernel, r.earlier.op, r.later.op, r.scope);
        races.iter().map(of).collect()
    }

    #[test]
    fn a_copy_races_with_unordered_kernels_before_and_after_it() {
        use SideOp::{Read, Write};
        let checker = Checker::new();
        kernel(&checker, 1, &[], true, &[0x1000, 0x2000]);
        // Bytes of a word that the kernel did not write.
        copy(&checker, 2, &[1], 0x3000..0x3100, 0x1004..0x1104);
        assert_eq!(found(&checker), []);
        copy(&checker, 3, &[1], 0x3100..0x3200, 0xfff..0x1001);
        assert_eq!(found(&checker), [(KERNEL, Write, Read, RaceScope::Device)]);
        // It reads the last word that the copy wrote.
        kernel(&checker, 4, &[3], false, &[0x31fc, 0x3200]);
        assert_eq!(found(&checker), [(KERNEL, Write, Read, RaceScope::Device)]);
        // The same pair as in the first race, in the other order.
        kernel(&checker, 5, &[3], true, &[0x1000]);
        assert_eq!(found(&checker), []);
        assert_eq!(checker.races()[0].count, 2);
    }

    #[test]
    fn an_ordered_copy_does_not_race_and_two_unordered_ones_do() {
        use SideOp::Write;
        let checker = Checker::new();
        kernel(&checker, 1, &[], true, &[0x1000]);
        copy(&checker, 2, &[], 0x1000..0x1010, 0x2000..0x2010);
        kernel(&checker, 3, &[], true, &[0x1000, 0x2000]);
        assert_eq!(found(&checker), []);
        copy(&checker, 4, &[], 0x4000..0x4010, 0x5000..0x5010);
        copy(&checker, 5, &[4], 0x400f..0x4020, 0x5000..0x5011);
        let races = checker.take_new_races();
        assert_eq!(races.len(), 1);
        assert_eq!((races[0].kernel, races[0].address), (KernelKey::NONE, 0x400f));
        assert_eq!((races[0].earlier.op, races[0].later.op), (Write, Write));
        assert_eq!((races[0].earlier.stream, races[0].later.launch), (2, 5));
        assert_eq!(races[0].same_value, None);
    }

    #[test]
    fn ranges_are_found_as_by_looking_at_each() {
        let mut list = Vec::new();
        let mut add = |bytes, writes| list.push(Touched { bytes, writes, site: 0 });
        for row in 0..5 {
            add(100 + 16 * row..107 + 16 * row, true);
            add(90 + 20 * row..108 + 20 * row, false);
        }
        add(300..340, false);
        add(300..301, true);
        let ranges = TouchedRanges::new(list.clone());
        for start in 80..350 {
            for size in [1, 4, 30] {
                let bytes = start..start + size;
                let mut wanted: Vec<_> = list.iter().filter(|t| overlap(&t.bytes, &bytes)).collect();
                wanted.sort_by_key(|t| (t.bytes.start, t.writes));
                let mut found: Vec<_> = ranges.meeting(bytes.clone()).collect();
                found.sort_by_key(|t| (t.bytes.start, t.writes));
                assert_eq!(found, wanted, "{bytes:?}");
                assert!(wanted.is_empty() || ranges.may_meet(&bytes));
            }
        }
    }

    #[test]
    fn memory_that_was_freed_was_not_copied() {
        let checker = Checker::new();
        copy(&checker, 1, &[], 0x1000..0x1010, 0x2000..0x2010);
        checker.forget(0x1000, 0x10);
        kernel(&checker, 2, &[1], true, &[0x1000]);
        assert_eq!(found(&checker), []);
        kernel(&checker, 3, &[1], true, &[0x2000]);
        assert_eq!(found(&checker).len(), 1);
    }
}
