//! A launch that is repeated for the checker after later launches have begun.

use gpurace_check::{Block, Checker, KernelKey, LaunchInfo, SideOp};

const A: usize = 0x10_0000_0000;
const B: usize = 0x10_0001_0000;

/// Runs a launch of one block whose first thread writes a word.
fn write(checker: &Checker, id: u64, unordered: &[u64], address: usize) {
    let info = LaunchInfo { stream: 1, ..LaunchInfo::new(id, KernelKey(7), 1, 32) };
    let launch = checker.begin_launch(info, unordered);
    let mut block = Block::begin(&launch, 0, 0..0);
    block.write(0, address, 4, id as u32, None);
    block.end();
    checker.end_launch(&launch);
}

/// The launches of each race since the last call.
fn races(checker: &Checker) -> Vec<(u64, u64)> {
    let of = |race: &gpurace_check::RaceRecord| {
        assert_eq!((race.earlier.op, race.later.op), (SideOp::Write, SideOp::Write));
        (race.earlier.launch, race.later.launch)
    };
    checker.take_new_races().iter().map(of).collect()
}

#[test]
fn a_launch_after_it_is_not_ordered_after_those_that_began_meanwhile() {
    let checker = Checker::new();
    // Launch 2 is after launch 1. Launch 3 is after launch 1 only.
    write(&checker, 2, &[], B);
    write(&checker, 1, &[], A);
    write(&checker, 3, &[2], B);
    assert_eq!(races(&checker), [(2, 3)]);
    // It is ordered before launch 4.
    write(&checker, 4, &[], A);
    assert_eq!(races(&checker), []);
}

#[test]
fn it_races_with_later_launches_that_nothing_orders() {
    let checker = Checker::new();
    write(&checker, 2, &[], B);
    write(&checker, 1, &[], A);
    write(&checker, 3, &[1, 2], A);
    assert_eq!(races(&checker), [(1, 3)]);
    write(&checker, 4, &[3], B);
    assert_eq!(races(&checker), []);
}
