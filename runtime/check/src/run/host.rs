//! Accesses by the host, checked against the records of launches, and against transfers.

use gpurace_abi::scope::Scope;
use serde::{Deserialize, Serialize};

use crate::model::access::{GRANULE, Op};
use crate::model::entry::Entry;
use crate::model::race::{KernelKey, RaceRecord, RaceScope, Side, Space};
use crate::order::view::member;
use crate::run::checker::Checker;
use crate::run::transfer::{Touched, Transfer};
use crate::shadow::process::Stored;

/// An access of one byte by the host.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct HostAccess {
    /// The byte.
    pub address: usize,
    /// It is written; otherwise it is read.
    pub writes: bool,
    /// Its instruction, by a number that no other site of the process has.
    pub site: u32,
}

impl Checker {
    /// Checks an access by the host. It races with conflicting accesses of each launch for whose id
    /// `overlaps` is true. No launch may be running. Transfers are compared by [`Self::host_meets_transfer`].
    ///
    /// It never races with atomics of system scope: the host's access is assumed to be atomic there.
    pub fn host_access(&self, access: HostAccess, overlaps: &dyn Fn(u64) -> bool) {
        let inner = &self.inner;
        let word = access.address & !(GRANULE - 1);
        inner.record_reads(&(word..word + GRANULE));
        let base = inner.launching.lock().base;
        let of = |entry: &Entry| self.host_meets_record(&access, entry, overlaps);
        inner.shadow.visit(word, |stored| match stored {
            Stored::Entry(entry) => of(entry),
            Stored::Record(fields) => {
                let member = member(&fields, base);
                if let Some((launch, _)) = inner.launches.of(member.uid) {
                    let site = launch.site_base + launch.sites.site(fields.site);
                    of(&Entry { touch: fields.touch, site, member });
                }
            }
        });
    }

    /// Checks an access by the host against bytes that a transfer of the host's program touches. The host has not
    /// waited for it.
    pub fn host_meets_transfer(&self, access: &HostAccess, transfer: &Transfer, touched: &Touched) {
        let meets = touched.bytes.contains(&access.address) && (touched.writes || access.writes);
        if !meets || self.inner.benign.ranges().holds(access.address) {
            return;
        }
        let earlier = Side {
            launch: transfer.id,
            stream: transfer.stream,
            ..Side::unplaced(Op::plain(touched.writes), transfer.site_base + touched.site)
        };
        self.add_host_race(access, KernelKey::NONE, earlier);
    }

    /// Adds the race of an access by the host with a record, if they race.
    fn host_meets_record(&self, access: &HostAccess, entry: &Entry, overlaps: &dyn Fn(u64) -> bool) {
        let byte = 1u8 << (access.address % GRANULE);
        let conflict = match entry.touch.op {
            Op::Read => access.writes,
            Op::Write => true,
            Op::Atomic { scope: Scope::System, volatile: false, .. } => false,
            Op::Atomic { modifies, .. } => modifies || access.writes,
        };
        if !conflict || entry.touch.mask & byte == 0 {
            return;
        }
        if self.inner.benign.ranges().holds(access.address) {
            return;
        }
        let Some((launch, block)) = self.inner.launches.of(entry.member.uid) else {
            return;
        };
        // The records of transfers are not complete: those that nothing on the device meets leave none.
        if launch.kernel == KernelKey::NONE || !overlaps(launch.id) {
            return;
        }
        let earlier = Side {
            launch: launch.id,
            stream: launch.stream,
            block: Some(block),
            thread: Some(entry.member.thread.into()),
            ..Side::unplaced(entry.touch.op, entry.site)
        };
        self.add_host_race(access, launch.kernel, earlier);
    }

    /// Adds the race of an access by the host with an earlier side.
    fn add_host_race(&self, access: &HostAccess, kernel: KernelKey, earlier: Side) {
        let record = RaceRecord {
            kernel,
            launch: earlier.launch,
            earlier,
            later: Side {
                address: Some(access.address),
                ..Side::unplaced(Op::plain(access.writes), access.site)
            },
            address: access.address,
            space: Space::Global,
            shared_base: 0,
            scope: RaceScope::System,
            widest: RaceScope::System,
            same_value: None,
            count: 1,
            seed: None,
        };
        self.inner.races.see(record.key(), record);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Batch;
    use crate::model::race::SideOp;
    use crate::run::block::Block;
    use crate::run::launch::LaunchInfo;

    /// Runs launch `id`, which makes accesses in its block 2. Launches up to `settled` are settled.
    fn run(checker: &Checker, id: u64, settled: u64, accesses: impl FnOnce(&mut Block)) {
        let info =
            LaunchInfo { site_base: 10, stream: 5, settled, ..LaunchInfo::new(id, KernelKey(1), 4, 32) };
        let launch = checker.begin_launch(info, &[]);
        let mut block = Block::begin(&launch, 2, 0..0);
        accesses(&mut block);
        block.end();
        checker.end_launch(&launch);
    }

    fn launched() -> Checker {
        let checker = Checker::new();
        run(&checker, 3, 0, |block| {
            block.read(7, 0x1000, 4, 0);
            block.write(8, 0x1004, 4, 1, None);
            block.write(9, 0x1009, 1, 2, None);
        });
        checker
    }

    #[track_caller]
    fn expect(address: usize, writes: bool, races: usize) {
        let checker = launched();
        let access = HostAccess { address, writes, site: 99 };
        checker.host_access(access, &|id| id != 3);
        assert_eq!(checker.races().len(), 0);
        checker.host_access(access, &|id| id == 3);
        assert_eq!(checker.races().len(), races);
    }

    #[test]
    fn the_host_races_with_conflicting_accesses_to_the_same_bytes() {
        expect(0x1000, false, 0);
        expect(0x1000, true, 1);
        expect(0x1006, false, 1);
        expect(0x1004, true, 1);
        // A byte beside the one that was written, in the same word.
        expect(0x1008, true, 0);
        expect(0x1009, false, 1);
        expect(0x100c, true, 0);
        expect(0x7000_0000, true, 0);
    }

    /// Runs a launch in which threads from 0 on access neighbouring words as a row.
    fn row(checker: &Checker, id: u64, writes: bool, words: std::ops::Range<usize>) {
        let items: Vec<_> = words.map(|w| 0x1000 + 4 * w as u64).collect();
        let row = Batch {
            site: 0,
            size: 4,
            writes,
            addresses: crate::batch::Addresses::Each(&items),
            values: None,
        };
        run(checker, id, id - 1, |block| {
            block.batches(&[row], &(0..0));
        });
    }

    #[test]
    fn what_a_later_launch_did_not_touch_the_host_still_meets() {
        for one_by_one in [false, true] {
            let checker = if one_by_one { launched() } else { Checker::new() };
            // Launch 3 writes, then launch 4 reads other words of the region.
            match one_by_one {
                true => row(&checker, 4, false, 2..9),
                false => {
                    row(&checker, 3, true, 0..32);
                    row(&checker, 4, false, 2..9);
                }
            }
            let met = |word: usize, launch: u64| {
                let before = checker.races().len();
                let access = HostAccess { address: 0x1000 + 4 * word, writes: false, site: 90 + word as u32 };
                checker.host_access(access, &|id| id == launch);
                checker.races().len() - before
            };
            assert_eq!((met(1, 3), met(5, 3), met(5, 4)), (1, 0, 0), "{one_by_one}");
        }
    }

    #[test]
    fn both_sides_are_named() {
        let checker = launched();
        let access = HostAccess { address: 0x1005, writes: false, site: 99 };
        checker.host_access(access, &|_| true);
        checker.host_access(access, &|_| true);
        let races = checker.races();
        let [race] = &races[..] else { panic!("found {races:?}") };
        assert_eq!((race.scope, race.count), (RaceScope::System, 2));
        assert_eq!((race.kernel, race.address), (KernelKey(1), 0x1005));
        let earlier = race.earlier;
        assert_eq!((earlier.site, earlier.stream, earlier.launch), (11, 5, 3));
        assert_eq!((earlier.block, earlier.thread), (Some(2), Some(8)));
        assert_eq!((race.later.site, race.later.op), (99, SideOp::Read));
        assert_eq!((race.later.block, race.later.thread), (None, None));
    }

    #[test]
    fn forgotten_sightings_are_new_again() {
        let checker = launched();
        let access = |address, site| {
            checker.host_access(HostAccess { address, writes: true, site }, &|id| id == 3);
            checker.take_new_races().len()
        };
        assert_eq!((access(0x1000, 98), access(0x1004, 99), access(0x1000, 98)), (1, 1, 0));
        assert_eq!(checker.races().iter().map(|race| race.count).collect::<Vec<_>>(), [2, 1]);
        checker.restore_races(&[1]);
        assert_eq!(checker.races().iter().map(|race| race.count).collect::<Vec<_>>(), [1]);
        assert_eq!((access(0x1000, 98), access(0x1004, 99)), (0, 1));
        assert_eq!(checker.races().iter().map(|race| race.count).collect::<Vec<_>>(), [2, 1]);
    }
}
