//! Counters that outgrow their fields: many blocks, barriers, warp syncs and launches. The verdicts
//! stay right, or the notes say what is lost.

use std::ops::Range;
use std::sync::Arc;

use gpurace_check::{
    AtomicKind, Block, Checker, KernelKey, Launch, LaunchInfo, Limits, Order, RaceRecord, RaceScope, Scope,
    SideOp, Space, SyncFeatures,
};

const WORD: usize = 0x10_0000_0000;
const SHARED: Range<usize> = 0x20_0000_0000..0x20_0000_1000;
const READ: u32 = 3;
const WRITE: u32 = 4;

fn info(id: u64, blocks: u64) -> LaunchInfo {
    let features = SyncFeatures { barriers: true, warp_syncs: true, suspends: true, ..Default::default() };
    LaunchInfo { site_base: 100, features, settled: id - 1, ..LaunchInfo::new(id, KernelKey(7), blocks, 64) }
}

fn launch(checker: &Checker, id: u64, blocks: u64) -> Arc<Launch> {
    checker.begin_launch(info(id, blocks), &[])
}

fn one_race(checker: &Checker) -> RaceRecord {
    let races = checker.races();
    assert_eq!(races.len(), 1, "{races:#?}");
    races.into_iter().next().unwrap()
}

#[test]
fn blocks_beyond_65536_are_told_apart() {
    let checker = Checker::new();
    let blocks = 200_000;
    let l = launch(&checker, 1, blocks);
    // Block b writes word b: no race. Block 70,001 also writes the word of block 4,465, which is 70,001
    // mod 65,536.
    let mut block = Block::begin(&l, 0, SHARED);
    for b in 0..blocks {
        block.restart(&l, b, SHARED);
        block.write(5, WORD + 4 * b as usize, 4, WRITE, None);
    }
    block.end();
    assert_eq!(checker.races(), []);
    let mut block = Block::begin(&l, 70_001, SHARED);
    block.write(5, WORD + 4 * 4_465, 4, WRITE, None);
    block.end();
    let race = one_race(&checker);
    assert_eq!((race.earlier.block, race.earlier.thread), (Some(4_465), Some(5)));
    assert_eq!((race.later.block, race.later.thread), (Some(70_001), Some(5)));
    assert_eq!((race.scope, race.space), (RaceScope::Grid, Space::Global));
    assert_eq!((race.earlier.site, race.later.site), (104, 104));
    assert_eq!(checker.end_launch(&l).checks_executed, blocks + 1);
    assert_eq!(checker.notes(), Vec::<String>::new());
}

#[test]
fn blocks_beyond_the_uid_field_are_checked_at_full_width() {
    let checker = Checker::new();
    let l = launch(&checker, 1, 1 << 26);
    for b in [5, (1 << 24) + 5, (1 << 25) + 5] {
        let mut block = Block::begin(&l, b, SHARED);
        block.read(0, WORD, 4, READ);
        block.write(1, WORD + 64 + 4 * (b >> 24) as usize, 4, WRITE, None);
        block.end();
    }
    assert_eq!(checker.races(), []);
    let mut block = Block::begin(&l, 6, SHARED);
    block.write(0, WORD, 4, WRITE, None);
    block.end();
    let race = one_race(&checker);
    assert_eq!((race.earlier.op, race.later.op), (SideOp::Read, SideOp::Write));
    assert_eq!(checker.notes(), Vec::<String>::new());
}

/// The races of a write by thread 0 and a read by `reader` after a block has synchronised `n` times.
fn after(n: usize, sync: impl Fn(&mut Block), reader: u32, word: usize) -> Vec<RaceRecord> {
    let checker = Checker::new();
    let l = launch(&checker, 1, 2);
    let mut block = Block::begin(&l, 0, SHARED);
    for i in 0..n {
        // In each interval one thread writes and reads the word.
        let thread = i as u32 % 2;
        block.write(thread, word, 4, WRITE, None);
        block.read(thread, word, 4, READ);
        sync(&mut block);
        if i % 4096 == 4095 {
            assert_eq!(checker.races(), [], "after {i}");
        }
    }
    block.write(0, word, 4, WRITE, None);
    block.read(reader, word, 4, READ);
    block.end();
    assert_eq!(checker.notes(), Vec::<String>::new());
    checker.races()
}

#[test]
fn a_hundred_thousand_barriers() {
    for word in [WORD, SHARED.start] {
        assert_eq!(after(100_000, Block::barrier, 0, word), []);
        for n in [8_191, 8_192, 16_384, 100_000] {
            let races = after(n, Block::barrier, 32, word);
            assert_eq!(races.len(), 1, "after {n} barriers");
            assert_eq!(races[0].scope, RaceScope::Block);
        }
    }
}

#[test]
fn a_hundred_thousand_warp_syncs() {
    for word in [WORD, SHARED.start] {
        let sync = |b: &mut Block| b.syncwarp(0, !0);
        assert_eq!(after(100_000, sync, 0, word), []);
        for n in [8_191, 8_192, 16_384, 100_000] {
            let races = after(n, sync, 1, word);
            assert_eq!(races.len(), 1, "after {n} warp syncs");
            assert_eq!((races[0].scope, races[0].earlier.thread), (RaceScope::Warp, Some(0)));
        }
    }
}

#[test]
fn barriers_and_warp_syncs_in_turn() {
    let sync = |b: &mut Block| {
        b.syncwarp(0, !0);
        b.syncwarp(1, !0);
        b.barrier();
    };
    assert_eq!(after(20_000, sync, 0, WORD), []);
    assert_eq!(after(20_000, sync, 33, WORD).len(), 1);
}

#[test]
fn an_older_uid_of_a_block_is_no_other_block() {
    // The block writes under its first uid, and passes more barriers than the clock field holds. The
    // write happens before its own read, but not before another block's.
    let checker = Checker::new();
    let l = launch(&checker, 1, 2);
    let mut block = Block::begin(&l, 0, SHARED);
    block.write(0, WORD, 4, WRITE, None);
    for _ in 0..30_000 {
        block.barrier();
    }
    block.read(40, WORD, 4, READ);
    assert_eq!(checker.races(), []);
    let mut other = Block::begin(&l, 1, SHARED);
    other.read(0, WORD, 4, READ);
    let race = one_race(&checker);
    assert_eq!((race.earlier.block, race.earlier.thread), (Some(0), Some(0)));
    block.end();
    other.end();
}

#[test]
fn ten_thousand_launches_are_ordered() {
    let checker = Checker::new();
    for id in 1..=10_000 {
        let l = launch(&checker, id, 4);
        let mut block = Block::begin(&l, id % 4, SHARED);
        block.write(id as u32 % 64, WORD, 4, WRITE, None);
        block.read(id as u32 % 64, WORD + 4, 4, READ);
        block.end();
        assert_eq!(checker.end_launch(&l).checks_executed, 2);
    }
    assert_eq!(checker.races(), []);
    let l = launch(&checker, 10_001, 4);
    for b in 0..2 {
        let mut block = Block::begin(&l, b, SHARED);
        block.write(0, WORD, 4, WRITE, None);
        block.end();
    }
    assert_eq!(one_race(&checker).launch, 10_001);
}

#[test]
fn launches_of_sixty_million_blocks_in_all_are_ordered() {
    let checker = Checker::new();
    for id in 1..=2_000 {
        let l = launch(&checker, id, 30_000);
        let mut block = Block::begin(&l, id * 7 % 30_000, SHARED);
        block.write(0, WORD, 4, WRITE, None);
        block.write(1, WORD + 5, 1, WRITE, None);
        block.end();
        checker.end_launch(&l);
    }
    assert_eq!(checker.races(), []);
    assert_eq!(checker.notes(), Vec::<String>::new());
}

#[test]
fn sites_beyond_the_field_are_still_named() {
    let checker = Checker::new();
    let l = launch(&checker, 1, 1);
    let mut block = Block::begin(&l, 0, SHARED);
    for site in 0..5_000 {
        block.write(0, WORD + 4 * site as usize, 4, site, None);
    }
    for site in 0..5_000 {
        block.read(1, WORD + 4 * site as usize, 4, 5_000 + site);
    }
    block.end();
    let races = checker.races();
    assert_eq!(races.len(), 5_000);
    for (i, r) in (0..).zip(&races) {
        assert_eq!((r.earlier.site, r.later.site), (100 + i, 5_100 + i));
        assert_eq!((r.earlier.thread, r.later.thread, r.count), (Some(0), Some(1), 1));
    }
}

#[test]
fn one_record_per_pair_counts_how_often() {
    let checker = Checker::new();
    let l = launch(&checker, 1, 1);
    let mut block = Block::begin(&l, 0, SHARED);
    for i in 0..10 {
        block.write(0, WORD + 16 * i, 8, WRITE, None);
        block.read(1, WORD + 16 * i, 8, READ);
        block.write(0, WORD + 16 * i, 8, WRITE, None);
    }
    block.end();
    // Two words each, counted once.
    let race = one_race(&checker);
    assert_eq!(race.count, 20);
    assert_eq!((race.earlier.op, race.later.op), (SideOp::Write, SideOp::Read));
}

#[test]
fn equal_values_are_recognised() {
    fn memory(address: usize, size: u32) -> Option<u64> {
        let word: u64 = 0x8877_6655_4433_2211;
        (address == WORD).then_some(if size == 8 { word } else { word & ((1 << (8 * size)) - 1) })
    }
    for (size, value, want) in [
        (4, Some(0x4433_2211), Some(true)),
        (4, Some(0x4433_2210), Some(false)),
        (4, None, None),
        (8, Some(0x8877_6655_4433_2211), Some(true)),
        (8, Some(0x9977_6655_4433_2211), Some(false)),
        (1, Some(0x11), Some(true)),
    ] {
        let checker = Checker::with(Limits::default(), Some(memory));
        let l = launch(&checker, 1, 1);
        let mut block = Block::begin(&l, 0, SHARED);
        block.write(0, WORD, size, WRITE, None);
        block.write(1, WORD, size, WRITE, value);
        block.end();
        assert_eq!(one_race(&checker).same_value, want, "{size} bytes of {value:x?}");
    }
}

#[test]
fn forgotten_memory_is_new() {
    let checker = Checker::new();
    let l = launch(&checker, 1, 2);
    let mut a = Block::begin(&l, 0, SHARED);
    let mut b = Block::begin(&l, 1, SHARED);
    for offset in [0, 5] {
        a.write(0, WORD + offset, 4, WRITE, None);
    }
    a.forget(WORD, 16);
    for offset in [0, 5] {
        b.write(0, WORD + offset, 4, WRITE, None);
    }
    assert_eq!(checker.races(), []);
    a.end();
    b.end();
}

#[test]
fn what_is_lost_is_said() {
    let limits = Limits { entries: 2, ..Limits::default() };
    let checker = Checker::with(limits, None);
    let l = launch(&checker, 1, 1);
    let mut block = Block::begin(&l, 0, SHARED);
    // More records than a list holds.
    for i in 0..12 {
        block.read(i, WORD, 4, READ + i);
    }
    block.end();
    assert_eq!(checker.notes().len(), 1, "{:?}", checker.notes());

    let checker = Checker::with(Limits { chains: 0, ..limits }, None);
    let l = launch(&checker, 1, 1);
    let mut block = Block::begin(&l, 0, SHARED);
    // The first word has the only list, which takes the racing write too.
    for word in [WORD, WORD + 4] {
        block.read(0, word, 4, READ);
        block.read(1, word, 4, READ + 1);
    }
    block.write(2, WORD, 4, WRITE, None);
    block.end();
    assert_eq!(checker.races().len(), 2);
    assert_eq!(checker.notes().len(), 1, "{:?}", checker.notes());
}

#[test]
fn synchronisation_that_was_not_foreseen_is_said() {
    let checker = Checker::new();
    let l = launch(&checker, 1, 1);
    let mut block = Block::begin(&l, 0, SHARED);
    block.syncwarp(0, 1);
    block.fence(0, Scope::Device, Order::SeqCst);
    block.named_barrier(1, &[0, 1]);
    block.atomic(0, WORD, 4, WRITE, AtomicKind::Rmw, Scope::Device, Order::AcqRel);
    block.end();
    let notes = checker.notes();
    assert_eq!(notes.len(), 1);
    assert!(notes[0].starts_with("4 synchronisations not modelled"), "{notes:?}");
}

#[test]
fn workers_in_parallel_agree_with_one() {
    // Blocks read a common word, write their own words, and update a counter. Each races on one word.
    let run = |workers: u64| {
        let checker = Checker::new();
        let blocks = 4_000;
        let l = launch(&checker, 1, blocks);
        std::thread::scope(|s| {
            for w in 0..workers {
                let l = &l;
                s.spawn(move || {
                    let shared = SHARED.start + w as usize * 0x1000;
                    let shared = shared..shared + 0x1000;
                    let mut block = Block::begin(l, w, shared.clone());
                    for b in (w..blocks).step_by(workers as usize) {
                        block.restart(l, b, shared.clone());
                        for t in 0..64 {
                            block.read(t, WORD, 4, 0);
                            block.read(t, WORD, 4, 1 + t % 3);
                            block.write(t, WORD + 64 + 4 * (b as usize * 64 + t as usize), 4, 5, None);
                            block.write(t, shared.start + 4 * t as usize, 4, 6, None);
                            block.atomic(t, WORD + 4, 4, 7, AtomicKind::Rmw, Scope::Device, Order::Relaxed);
                        }
                        block.barrier();
                        for t in 0..64 {
                            block.read(t, shared.start + 4 * (63 - t as usize), 4, 8);
                        }
                        block.read(0, WORD + 8, 1, 9);
                        block.write(0, WORD + 8, 4, 10, None);
                    }
                    block.end();
                });
            }
        });
        assert_eq!(checker.notes(), Vec::<String>::new());
        let checks = checker.end_launch(&l).checks_executed;
        let mut pairs: Vec<_> = checker
            .races()
            .iter()
            .map(|r| (r.earlier.site.min(r.later.site) - 100, r.earlier.site.max(r.later.site) - 100))
            .collect();
        pairs.sort_unstable();
        (pairs, checks)
    };
    let alone = run(1);
    assert_eq!(alone.0, [(9, 10), (10, 10)]);
    assert_eq!(run(4), alone);
}
