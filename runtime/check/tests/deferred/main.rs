//! Deferred reads: they leave no record until something writes the memory that they have read.

use std::sync::Arc;

use gpurace_abi::batch::{GatheredItem, GatheredRun, Lines};
use gpurace_check::batch::affine::{AffineAddresses, Threads};
use gpurace_check::batch::{Addresses, Batch};
use gpurace_check::{Block, Checker, HostAccess, KernelKey, Launch, LaunchInfo, SideOp, Touched, Transfer};

mod concurrent;

/// Where global memory lies.
const GLOBAL: usize = 0x10_0000;

/// Threads of a block.
const THREADS: u32 = 32;
/// A distance larger than any piece of memory whose reads are recorded together.
const FAR: usize = 1 << 20;

fn launch(checker: &Checker, id: u64, settled: u64, unordered: &[u64]) -> Arc<Launch> {
    let info = LaunchInfo { stream: 1, settled, ..LaunchInfo::new(id, KernelKey(1), 8, THREADS) };
    checker.begin_launch(info, unordered)
}

fn block(launch: &Arc<Launch>, index: u64) -> Block {
    Block::begin(launch, index, 0..0)
}

/// Makes each thread read one word, one behind the other.
fn read(block: &mut Block, address: usize, site: u32) {
    let active = Threads::marked(&[1; THREADS as usize]);
    let lines = AffineAddresses {
        of: &Lines { first: address as u64, steps: [4, 0, 0] },
        dim: &[THREADS, 1, 1],
        active: &active,
    };
    block.batches(&[Batch::reads(site, 4, Addresses::Affine(lines))], &(0..0));
}

/// The sites of the races since the last call, earlier and later.
fn races(checker: &Checker) -> Vec<(u32, u32)> {
    checker.take_new_races().iter().map(|race| (race.earlier.site, race.later.site)).collect()
}

/// The races between a launch's accesses in a block and those of a later launch, which is ordered
/// after it or concurrent.
fn of_two(
    first: impl Fn(&mut Block),
    second: impl Fn(&mut Block),
    unordered: &[u64],
    settled: u64,
) -> Vec<(u32, u32)> {
    let checker = Checker::new();
    for (id, unordered, settled, accesses) in
        [(1, &[][..], 0, &first as &dyn Fn(&mut Block)), (2, unordered, settled, &second)]
    {
        let launch = launch(&checker, id, settled, unordered);
        let mut block = block(&launch, 3);
        accesses(&mut block);
        block.end();
        checker.end_launch(&launch);
    }
    races(&checker)
}

#[test]
fn a_write_meets_what_was_read_before_it() {
    type Reads<'a> = (&'a str, &'a dyn Fn(&mut Block));
    let reads: [Reads; 4] = [
        ("a row", &|block| read(block, GLOBAL, 0)),
        ("a row of addresses", &|block| {
            let items: Vec<_> = (0..THREADS as u64).map(|t| GLOBAL as u64 + 4 * t).collect();
            block.batches(&[Batch::reads(0, 4, Addresses::Each(&items))], &(0..0));
        }),
        ("a run", &|block| {
            let run = GatheredRun { first: GatheredItem::new(3, GLOBAL), end: GLOBAL as u64 + 64 };
            block.batches(&[Batch::reads(0, 4, Addresses::Runs(&[run]))], &(0..0))
        }),
        ("one read", &|block| {
            let item = GatheredItem::new(3, GLOBAL + 12);
            block.batches(&[Batch::reads(0, 4, Addresses::Items(&[item]))], &(0..0))
        }),
    ];
    for (what, reads) in reads {
        let write = |block: &mut Block| block.write(3, GLOBAL + 12, 4, 1, None);
        assert_eq!(of_two(reads, write, &[1], 0), [(0, 1)], "{what}");
        assert_eq!(of_two(reads, write, &[], 0), [], "{what}, then the write");
        assert_eq!(of_two(reads, write, &[], 1), [], "{what}, and all know that it is over");
        let beside = |block: &mut Block| block.write(3, GLOBAL + 4 * THREADS as usize, 4, 1, None);
        assert_eq!(of_two(reads, beside, &[1], 0), [], "{what}, and another word");
        // In the other order.
        assert_eq!(of_two(write, reads, &[1], 0), [(1, 0)], "{what} after the write");
    }
}

#[test]
fn a_read_behind_a_barrier_is_no_earlier_read() {
    let races_of = |barriers: usize| {
        let checker = Checker::new();
        let launch = launch(&checker, 1, 0, &[]);
        let mut block = block(&launch, 0);
        read(&mut block, GLOBAL, 0);
        block.barrier();
        // A single read is checked at once.
        block.read(7, GLOBAL + 28, 4, 1);
        (0..barriers).for_each(|_| block.barrier());
        block.write(8, GLOBAL + 28, 4, 2, None);
        block.end();
        races(&checker)
    };
    assert_eq!(races_of(0), [(1, 2)]);
    assert_eq!(races_of(1), []);
}

#[test]
fn settled_reads_do_not_race() {
    let checker = Checker::new();
    let (first, other) = (GLOBAL, GLOBAL + FAR);
    // Two workers: the log of the first one stays as it is.
    let before = launch(&checker, 1, 0, &[]);
    let mut idle = block(&before, 0);
    read(&mut idle, first, 0);
    checker.end_launch(&before);
    let after = launch(&checker, 2, 1, &[]);
    let mut block = block(&after, 0);
    block.write(3, first, 4, 1, None);
    // The write makes records of the unsettled reads of this page, and of no others.
    read(&mut block, other, 2);
    block.write(5, other, 4, 3, None);
    assert_eq!(races(&checker), [(2, 3)]);
    block.end();
    idle.end();
}

#[test]
fn a_copy_meets_what_was_read_before_it() {
    let of = |unordered: &[u64], to: usize| {
        let checker = Checker::new();
        let launch = launch(&checker, 1, 0, &[]);
        let mut block = block(&launch, 0);
        read(&mut block, GLOBAL, 0);
        block.end();
        checker.end_launch(&launch);
        let transfer = Transfer { id: 2, site_base: 1 << 20, stream: 2, settled: 0 };
        checker.transfer(transfer, unordered, [Touched { bytes: to..to + 64, writes: true, site: 0 }]);
        races(&checker)
    };
    assert_eq!(of(&[1], GLOBAL + 64), [(0, 1 << 20)]);
    assert_eq!(of(&[], GLOBAL + 64), []);
    assert_eq!(of(&[1], GLOBAL + 4 * THREADS as usize), []);
}

#[test]
fn the_host_meets_what_was_read_before_it() {
    for watched in [false, true] {
        let checker = Checker::new();
        checker.watch_host(watched);
        for id in 1..3 {
            let launch = launch(&checker, id, id - 1, &[]);
            let mut block = block(&launch, 0);
            read(&mut block, GLOBAL + FAR * id as usize, id as u32);
            block.end();
            checker.end_launch(&launch);
        }
        let of = |id: usize| {
            checker.host_access(HostAccess { address: GLOBAL + FAR * id, writes: true, site: 9 }, &|_| true);
            races(&checker)
        };
        // Reads that are settled for launches may not be settled for the host: if its accesses are
        // watched, reads leave records.
        assert_eq!(of(1), if watched { vec![(1, 9)] } else { vec![] });
        assert_eq!(of(2), [(2, 9)]);
    }
}

#[test]
fn memory_that_was_freed_was_not_read() {
    let checker = Checker::new();
    let first = launch(&checker, 1, 0, &[]);
    let mut reader = block(&first, 0);
    read(&mut reader, GLOBAL, 0);
    read(&mut reader, GLOBAL + FAR, 1);
    reader.end();
    checker.end_launch(&first);
    checker.forget(GLOBAL, 64);
    let second = launch(&checker, 2, 0, &[1]);
    let mut writer = block(&second, 0);
    writer.write(0, GLOBAL + 60, 4, 2, None);
    assert_eq!(races(&checker), []);
    writer.write(0, GLOBAL + 64, 4, 3, None);
    writer.write(0, GLOBAL + FAR, 4, 4, None);
    assert_eq!(races(&checker), [(0, 3), (1, 4)]);
    writer.end();
}

#[test]
fn more_than_a_log_holds_is_found_too() {
    let checker = Checker::new();
    let first = launch(&checker, 1, 0, &[]);
    let mut reader = block(&first, 0);
    const ROWS: usize = 600_000;
    let address = |row: usize| GLOBAL + row * 128;
    (0..ROWS).for_each(|row| read(&mut reader, address(row), 0));
    reader.end();
    checker.end_launch(&first);
    let second = launch(&checker, 2, 0, &[1]);
    let mut writer = block(&second, 0);
    for (site, row) in (1..).zip([0, ROWS / 2, ROWS - 1]) {
        writer.write(0, address(row), 4, site, None);
    }
    let mut found = races(&checker);
    found.sort_unstable();
    assert_eq!(found, [(0, 1), (0, 2), (0, 3)]);
    assert!(checker.races().iter().all(|race| race.earlier.op == SideOp::Read));
    writer.end();
}
