//! Covered reads. Without their checks every race is found that is found with them, and nothing else
//! is reported.

use std::collections::BTreeSet;
use std::ops::Range;

use gpurace_check::{Block, Checker, CoveredRead, KernelKey, LaunchInfo, SyncFeatures};
use gpurace_random::Random;

const WORD: usize = 0x10_0000_0000;
const SHARED: Range<usize> = 0x20_0000_0000..0x20_0000_1000;

fn info(id: u64, blocks: u64, partial_masks: bool) -> LaunchInfo {
    let features = SyncFeatures {
        barriers: true,
        warp_syncs: true,
        partial_masks,
        suspends: true,
        ..Default::default()
    };
    LaunchInfo { site_base: 100, features, settled: id - 1, ..LaunchInfo::new(id, KernelKey(7), blocks, 64) }
}

/// Accesses of one thread to one address, with no point between them where other threads may run.
#[derive(Clone, Copy)]
struct Stretch {
    first: u32,
    form: Form,
}

#[derive(Clone, Copy, PartialEq)]
enum Form {
    ReadWrite,
    WriteRead,
    ReadRead,
    ReadWriteRead,
    Read,
    Write,
}

impl Form {
    const ALL: [Self; 6] =
        [Self::ReadWrite, Self::WriteRead, Self::ReadRead, Self::ReadWriteRead, Self::Read, Self::Write];

    /// Whether each access writes.
    fn accesses(self) -> &'static [bool] {
        match self {
            Self::ReadWrite => &[false, true],
            Self::WriteRead => &[true, false],
            Self::ReadRead => &[false, false],
            Self::ReadWriteRead => &[false, true, false],
            Self::Read => &[false],
            Self::Write => &[true],
        }
    }

    /// The access whose check stands for the others.
    fn kept(self) -> usize {
        self.accesses().iter().position(|write| *write).unwrap_or(0)
    }
}

impl Stretch {
    /// Makes the accesses; the covered reads only if they are not `left_out`.
    fn run(self, block: &mut Block, thread: u32, address: usize, size: u32, left_out: bool) {
        for (i, write) in self.form.accesses().iter().enumerate() {
            let site = self.first + i as u32;
            if *write {
                block.write(thread, address, size, site, None);
            } else if i == self.form.kept() || !left_out {
                block.read(thread, address, size, site);
            }
        }
    }
}

/// An access of a history.
struct Made {
    site: u32,
    write: bool,
    block: u64,
    thread: u32,
    address: usize,
    /// Barriers of the block before it, and syncs of its warp since the last of them.
    when: (usize, usize),
}

impl Made {
    /// True if two accesses race. The second one is made later.
    fn races(&self, later: &Self) -> bool {
        let same = self.address == later.address && (self.write || later.write);
        let shared = SHARED.contains(&self.address);
        if !same
            || (self.block, self.thread) == (later.block, later.thread)
            || (shared && self.block != later.block)
        {
            return false;
        }
        let same_warp = self.thread / 32 == later.thread / 32;
        self.block != later.block
            || if same_warp { self.when == later.when } else { self.when.0 == later.when.0 }
    }
}

/// The races that the checker finds in one random history, and all that it has: pairs of sites.
fn races(seed: u64, left_out: bool) -> [BTreeSet<(u32, u32)>; 2] {
    let mut random = Random(seed);
    let checker = Checker::new();
    let stretches: Vec<_> = (0..3).map(|i| Stretch { first: i * 3, form: random.pick(&Form::ALL) }).collect();
    if left_out {
        for stretch in &stretches {
            for i in (0..stretch.form.accesses().len()).filter(|i| *i != stretch.form.kept()) {
                let kept = stretch.form.kept();
                checker.cover(CoveredRead {
                    read: 100 + stretch.first + i as u32,
                    by: 100 + stretch.first + kept as u32,
                    before: i < kept,
                });
            }
        }
    }
    let blocks = 1 + random.below(2) as u64;
    let size = random.pick(&[4, 4, 4, 1, 2, 8]);
    let words = 1 + random.below(3);
    let launch = checker.begin_launch(info(1, blocks, random.below(2) == 0), &[]);
    let mut made: Vec<Made> = Vec::new();
    for index in 0..blocks {
        let mut block = Block::begin(&launch, index, SHARED);
        let base = if random.below(2) == 0 { WORD } else { SHARED.start };
        let (mut barriers, mut syncs) = (0, [0, 0]);
        for _ in 0..4 + random.below(20) {
            match random.below(8) {
                0 => {
                    block.barrier();
                    (barriers, syncs) = (barriers + 1, [0, 0]);
                }
                1 => {
                    let warp = random.below(2);
                    block.syncwarp(warp as u32, u32::MAX);
                    syncs[warp] += 1;
                }
                _ => {
                    let thread = random.pick(&[0, 1, 2, 32, 33]);
                    let address = base + 8 * random.below(words);
                    let stretch = random.pick(&stretches);
                    stretch.run(&mut block, thread, address, size, left_out);
                    let when = (barriers, syncs[thread as usize / 32]);
                    for (write, site) in stretch.form.accesses().iter().zip(stretch.first..) {
                        made.push(Made { site, write: *write, block: index, thread, address, when });
                    }
                }
            }
        }
        block.end();
    }
    checker.end_launch(&launch);
    let pair = |a: u32, b: u32| (a.min(b), a.max(b));
    let all = made.iter().enumerate().flat_map(|(i, a)| {
        made[i + 1..].iter().filter(|b| a.races(b)).map(move |b| pair(100 + a.site, 100 + b.site))
    });
    [checker.races().iter().map(|race| pair(race.earlier.site, race.later.site)).collect(), all.collect()]
}

#[test]
fn the_same_races_are_found() {
    let (mut racy, mut more) = (0, 0);
    for seed in 0..1_500 {
        let ([with, all], [without, _]) = (races(seed, false), races(seed, true));
        racy += usize::from(!all.is_empty());
        more += usize::from(without != with);
        assert_eq!(all.is_empty(), with.is_empty(), "seed {seed}");
        assert!(with.is_subset(&without), "seed {seed}: {with:?}, left out {without:?}");
        assert!(without.is_subset(&all), "seed {seed}: left out {without:?}, of {all:?}");
    }
    assert!(racy > 400, "{racy} histories race");
    // A read may be reported that would have left no record: if several threads made the covering access.
    assert!(more < 75, "{more} histories tell more");
}

/// A covered read is reported beside the write whose check found the race.
#[test]
fn a_read_is_named_beside_the_write() {
    let checker = Checker::new();
    checker.cover(CoveredRead { read: 100, by: 101, before: true });
    let launch = checker.begin_launch(info(1, 1, false), &[]);
    let mut block = Block::begin(&launch, 0, SHARED);
    block.write(0, WORD, 4, 5, None);
    block.write(1, WORD, 4, 1, None);
    block.end();
    let found: BTreeSet<_> =
        checker.races().iter().map(|race| (race.earlier.site, race.later.site)).collect();
    assert_eq!(found, BTreeSet::from([(105, 100), (105, 101)]));
    // It does not race if the other access only reads.
    let checker = Checker::new();
    checker.cover(CoveredRead { read: 100, by: 101, before: true });
    let launch = checker.begin_launch(info(1, 1, false), &[]);
    let mut block = Block::begin(&launch, 0, SHARED);
    block.read(0, WORD, 4, 5);
    block.write(1, WORD, 4, 1, None);
    block.end();
    assert_eq!(checker.races().len(), 1);
}
