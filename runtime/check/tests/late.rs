//! A launch whose accesses are made known after later launches have begun.

use gpurace_check::{Block, Checker, KernelKey, LaunchInfo, SideOp, SyncFeatures};

const A: usize = 0x10_0000_0000;
const B: usize = 0x10_0001_0000;

/// A launch of one block whose first thread writes a word.
fn write(checker: &Checker, id: u64, unordered: &[u64], address: usize) {
    let info = LaunchInfo {
        id,
        kernel: KernelKey(7),
        site_base: 0,
        features: SyncFeatures::default(),
        threads_per_block: 32,
        blocks: 1,
        clusters: None,
        stream: 1,
        settled: 0,
    };
    let launch = checker.begin_launch(info, unordered);
    let mut block = Block::begin(&launch, 0, 0..0);
    block.write(0, address, 4, id as u32, None);
    block.end();
    checker.end_launch(&launch);
}

/// The launches of each race.
fn races(checker: &Checker) -> Vec<(u64, u64)> {
    let of = |race: &gpurace_check::RaceRecord| {
        assert_eq!((race.earlier.op, race.later.op), (SideOp::Write, SideOp::Write));
        (race.earlier.launch, race.later.launch)
    };
    checker.take_new_races().iter().map(of).collect()
}

#[test]
fn what_comes_after_it_does_not_know_those_that_began_meanwhile() {
    let checker = Checker::new();
    // The second is after the first, the third after the first alone.
    write(&checker, 2, &[], B);
    write(&checker, 1, &[], A);
    write(&checker, 3, &[2], B);
    assert_eq!(races(&checker), [(2, 3)]);
    // Nor is it taken for one that is unordered with those it came before.
    write(&checker, 4, &[], A);
    assert_eq!(races(&checker), []);
}

#[test]
fn it_meets_those_after_it_that_nothing_orders() {
    let checker = Checker::new();
    write(&checker, 2, &[], B);
    write(&checker, 1, &[], A);
    write(&checker, 3, &[1, 2], A);
    assert_eq!(races(&checker), [(1, 3)]);
    write(&checker, 4, &[3], B);
    assert_eq!(races(&checker), []);
}
