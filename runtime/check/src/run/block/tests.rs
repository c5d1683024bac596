//! Words with several records.

use std::sync::Arc;

use gpurace_abi::meta::SyncFeatures;
use gpurace_abi::scope::{AtomicKind, Order, Scope};

use super::Block;
use crate::batch::{Addresses, Batch};
use crate::model::access::Op;
use crate::model::race::{KernelKey, RaceScope, SideOp};
use crate::model::record::{Content, Record};
use crate::run::checker::Checker;
use crate::run::host::HostAccess;
use crate::run::launch::{Launch, LaunchInfo};
use crate::run::transfer::{Touched, Transfer};
use crate::shadow::record_list::RecordList;
use crate::shadow::word::load;

const WORD: usize = 0x1000;

fn launch(checker: &Checker, id: u64, settled: u64) -> Arc<Launch> {
    let info = LaunchInfo { stream: 1, settled, ..LaunchInfo::new(id, KernelKey(1), 2, 64) };
    checker.begin_launch(info, &[])
}

/// A launch whose first threads read one word, each by an instruction of its own.
fn read_by(readers: u32) -> Checker {
    let checker = Checker::new();
    let launch = launch(&checker, 1, 0);
    let mut block = Block::begin(&launch, 0, 0..0);
    (0..readers).for_each(|t| block.read(t, WORD, 4, t));
    block.end();
    checker.end_launch(&launch);
    checker
}

/// The instructions that a write by the other block races with.
fn racing_with_a_write(readers: u32) -> Vec<u32> {
    let checker = Checker::new();
    let launch = launch(&checker, 1, 0);
    let mut blocks = [0, 1].map(|i| Block::begin(&launch, i, 0..0));
    (0..readers).for_each(|t| blocks[0].read(t, WORD, 4, t));
    blocks[1].write(0, WORD, 4, 99, None);
    blocks.into_iter().for_each(Block::end);
    let mut sites: Vec<_> = checker.races().iter().map(|r| r.earlier.site).collect();
    sites.sort_unstable();
    sites
}

#[test]
fn every_reader_is_known_in_a_list_and_beyond_it() {
    for readers in [1, 2, 3, 7, 8, 9, 20] {
        assert_eq!(racing_with_a_write(readers), (0..readers).collect::<Vec<_>>());
    }
}

#[test]
fn readers_by_one_instruction_are_one_record() {
    let checker = Checker::new();
    let launch = launch(&checker, 1, 0);
    let mut block = Block::begin(&launch, 0, 0..0);
    for t in 0..64 {
        (0..3).for_each(|site| block.read(t, WORD, 4, site));
    }
    let place = checker.inner.shadow.map.existing_place(WORD).expect("shadow");
    let Content::List(at) = load(place.word).content() else { panic!("{:?}", load(place.word)) };
    // SAFETY: the word owns the list, and no block changes it meanwhile.
    let list = unsafe { &*(at as *const RecordList<Record>) };
    // The first read of a thread represents its further reads in one epoch.
    assert!(list.as_slice().len() <= 3);
    let is_read = |r: &Record| r.fields().is_some_and(|fields| fields.touch.op == Op::Read);
    assert!(list.as_slice().iter().all(is_read));
    block.end();
}

#[test]
fn a_settled_list_goes_and_its_memory_is_used_again() {
    let checker = read_by(5);
    for id in 2..5 {
        let launch = launch(&checker, id, id - 1);
        let mut block = Block::begin(&launch, 1, 0..0);
        block.write(3, WORD, 4, 7, None);
        block.end();
        checker.end_launch(&launch);
    }
    assert_eq!(checker.races().len(), 0);
    let cell = checker.inner.shadow.map.existing_place(WORD).expect("shadow").word;
    assert!(load(cell).is_record());
    assert_eq!(checker.inner.shadow.chains(), 0);
}

#[test]
fn copies_and_the_host_meet_each_record() {
    let checker = read_by(4);
    let transfer = Transfer { id: 2, site_base: 1000, stream: 2, settled: 0 };
    let touched = Touched { bytes: WORD..WORD + 4, writes: true, site: 0 };
    checker.transfer(transfer, &[1], [touched]);
    assert_eq!(checker.races().len(), 4);
    assert!(checker.races().iter().all(|r| (r.earlier.op, r.later.op) == (SideOp::Read, SideOp::Write)));
    let checker = read_by(4);
    checker.host_access(HostAccess { address: WORD, writes: true, site: 9 }, &|_| true);
    assert_eq!(checker.races().len(), 4);
}

#[test]
fn what_a_later_launch_leaves_out_the_host_still_meets() {
    let checker = Checker::new();
    // Both fields of 64 structs, then one field of the first 5: the others keep their records.
    for (id, fields, threads) in [(1, 2, 64), (2, 1, 5)] {
        let launch = launch(&checker, id, id - 1);
        let mut block = Block::begin(&launch, 0, 0..0);
        for field in 0..fields {
            let address = |t: u64| if t < threads { WORD as u64 + t * 12 + field * 4 } else { 0 };
            let addresses: Vec<_> = (0..64).map(address).collect();
            let row = Batch::reads(10 * id as u32 + field as u32, 4, Addresses::Each(&addresses));
            block.batches(&[Batch { writes: true, ..row }], &(0..0));
        }
        block.end();
        checker.end_launch(&launch);
    }
    let met = |thread: usize, field: usize| {
        let address = WORD + thread * 12 + field * 4;
        checker.host_access(HostAccess { address, writes: false, site: 99 }, &|_| true);
        checker.take_new_races().iter().map(|race| race.earlier.site).collect::<Vec<_>>()
    };
    assert_eq!([met(3, 0), met(3, 1), met(7, 0)], [[20], [11], [10]]);
}

/// A worker's counts last from block to block of a launch, and are told once.
#[test]
fn each_block_of_a_worker_counts_its_own_sightings() {
    let checker = Checker::new();
    for id in [1, 2] {
        let info = LaunchInfo { stream: 1, settled: id - 1, ..LaunchInfo::new(id, KernelKey(1), 3, 64) };
        let launch = checker.begin_launch(info, &[]);
        let mut block = Block::begin(&launch, 0, 0..0);
        for index in 0..3 {
            if index > 0 {
                block.restart(&launch, index, 0..0);
            }
            let word = WORD + 8 * index as usize;
            // The first block races within a warp only. All but the first thread race, with an access of two words.
            let threads = if index == 0 { 0..4 } else { 30..34 };
            threads.for_each(|t| block.write(t, word, 8, 5, None));
        }
        block.end();
        checker.end_launch(&launch);
        let races = checker.races();
        let [race] = races.as_slice() else { panic!("{races:?}") };
        assert_eq!((race.count, race.scope, race.widest), (9 * id, RaceScope::Warp, RaceScope::Block));
    }
}

/// Blocks meet at the grid's barrier. One of them goes on and arrives for the next phase before the other one looks.
#[test]
fn an_arrival_for_the_next_phase_orders_nothing() {
    const BARRIER: usize = 0x2004;
    let races = |is_barrier: bool, phase_of_write: u32| {
        let checker = Checker::new();
        let features = SyncFeatures { fences: true, uses_atomics: true, ..SyncFeatures::default() };
        let info = LaunchInfo { stream: 1, features, ..LaunchInfo::new(1, KernelKey(1), 2, 64) };
        let launch = checker.begin_launch(info, &[]);
        if is_barrier {
            launch.begin_grid_barrier(BARRIER, 2);
        }
        let [mut slow, mut quick] = [0, 1].map(|i| Block::begin(&launch, i, 0..0));
        let access = |block: &mut Block, kind, order| {
            block.atomic(0, BARRIER, 4, 1, kind, Scope::Device, order);
            block.atomic_done(0, BARRIER, 4, 1, kind, Scope::Device, order);
        };
        let arrive = |block: &mut Block| access(block, AtomicKind::Rmw, Order::Release);
        let look = |block: &mut Block| access(block, AtomicKind::Load, Order::Acquire);
        arrive(&mut slow);
        if phase_of_write == 1 {
            quick.write(0, WORD, 4, 2, None);
        }
        arrive(&mut quick);
        look(&mut quick);
        if phase_of_write == 2 {
            quick.write(0, WORD, 4, 2, None);
        }
        arrive(&mut quick);
        look(&mut slow);
        slow.read(0, WORD, 4, 3);
        [slow, quick].into_iter().for_each(Block::end);
        checker.races().len()
    };
    assert_eq!([races(true, 1), races(true, 2)], [0, 1]);
    // Of another word it is not known that the block need not have seen the second arrival.
    assert_eq!([races(false, 1), races(false, 2)], [0, 0]);
}
