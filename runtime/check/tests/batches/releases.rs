//! Rows of threads that synchronise by barriers alone, in kernels in which others release and acquire: compared with
//! the same accesses one by one.

use std::collections::HashMap;

use gpurace_abi::scope::{AtomicKind, Order, Scope};
use gpurace_check::batch::Addresses;
use gpurace_check::{Block, Checker, LaunchInfo, SyncFeatures};
use gpurace_random::Random;

use crate::rows::addresses;
use crate::two_ways::{self, Both, GLOBAL, SHARED, SHARED_APART, Same, row};

/// Where flags lie, beside the data.
const FLAGS: usize = GLOBAL + 0x8000;
const KINDS: [AtomicKind; 4] = [AtomicKind::Load, AtomicKind::Store, AtomicKind::Rmw, AtomicKind::Reduction];
const SCOPES: [Scope; 2] = [Scope::Block, Scope::Device];
const ORDERS: [Order; 5] = [Order::Relaxed, Order::Acquire, Order::Release, Order::AcqRel, Order::SeqCst];

/// What a thread does between two barriers.
#[derive(Clone, Copy, PartialEq)]
enum Does {
    Rows,
    Sync,
}

fn pick<T: Copy>(random: &mut Random, all: &[T]) -> T {
    all[random.below(all.len() as u64) as usize]
}

/// A fence or an atomic of a thread, in both ways.
fn sync(random: &mut Random, both: &mut Both<'_>, thread: u32) -> String {
    // Mostly one that passes on what a thread knows, and learns what others do.
    let much = random.below(4) != 0;
    let (scope, order) = match much {
        true => (Scope::Device, Order::AcqRel),
        false => (pick(random, &SCOPES), pick(random, &ORDERS)),
    };
    if random.below(4) == 0 && order != Order::Relaxed {
        both.together.fence(thread, scope, order);
        both.apart.fence(thread, scope, order);
        return format!("thread {thread}: fence {scope:?} {order:?}");
    }
    let kind = if much { AtomicKind::Rmw } else { pick(random, &KINDS) };
    // Mostly a flag beside the data.
    let address = match random.below(16) {
        0 => GLOBAL + 4 * random.below(32) as usize,
        1 => SHARED + both.index * SHARED_APART + 4 * random.below(32) as usize,
        n => FLAGS + 16 * (n as usize % 2),
    };
    let site = 20 + (kind as u32 * 2 + scope as u32) * 8 + order as u32;
    for block in [&mut *both.together, &mut *both.apart] {
        block.atomic(thread, address, 4, site, kind, scope, order);
        block.atomic_done(thread, address, 4, site, kind, scope, order);
    }
    both.accessed(site, address, 4, thread);
    format!("thread {thread}: {kind:?} {scope:?} {order:?} at {address:x}")
}

/// The addresses of a row: in a pattern of kernels, or within a few words of one of four pages.
fn row_of(random: &mut Random, threads: u32, block: u64, shared: bool, writes: bool, size: u32) -> Vec<u64> {
    let mut items = addresses(random, threads.into(), block, shared, size);
    if random.below(4) != 0 {
        let (base, page) = match shared {
            true => (SHARED + block as usize * SHARED_APART, 0),
            false => (GLOBAL, random.below(4) * 0x1000),
        };
        let near = |item: u64| base as u64 + page + (item - base as u64) % 32;
        items.iter_mut().filter(|item| **item != 0).for_each(|item| *item = near(*item));
    }
    if writes && random.below(4) != 0 {
        // One thread writes.
        let thread = pick(random, &[0, 1, 2, threads - 1]) as usize;
        (0..).zip(&mut items).filter(|(t, _)| *t != thread).for_each(|(_, item)| *item = 0);
    }
    items
}

fn history(seed: u64) -> usize {
    let random = &mut Random(seed);
    let threads = [32, 48, 64][random.below(3) as usize];
    let features = SyncFeatures { fences: true, narrow_order: true, ..SyncFeatures::default() };
    let mut doing: HashMap<((u64, u64, usize), u32), Does> = HashMap::new();
    two_ways::history(seed, threads, features, (60, 5, Same::Later), random, |random, both| {
        let when = both.when;
        // Few threads synchronise.
        let thread = pick(random, &[0, 1, threads - 1]);
        if random.below(2) == 0 && doing.get(&(when, thread)) != Some(&Does::Rows) {
            doing.insert((when, thread), Does::Sync);
            return sync(random, both, thread);
        }
        let (shared, writes) = (random.below(4) == 0, random.below(4) == 0);
        let (site, size) = (random.below(2) as u32 * 2 + u32::from(writes), pick(random, &[1, 4, 4, 8]));
        let mut items = row_of(random, threads, both.index as u64, shared, writes, size);
        // Rows and single accesses must mix.
        let calls = random.below(3) == 0;
        for (thread, item) in (0..).zip(&mut items).filter(|(_, item)| **item != 0) {
            if *doing.entry((when, thread)).or_insert(Does::Rows) == Does::Sync && !calls {
                *item = 0;
            }
        }
        both.rows(&[row(site, size, writes, Addresses::Each(&items))], calls);
        format!("row, site {site}, size {size}, writes: {writes}, calls: {calls}, {items:x?}")
    })
}

/// Block 0 reads a word in a row. Then its thread 0 reads it by the same instruction, and releases. Block 1 acquires
/// that, and writes the word.
fn races_after_a_later_read(barrier: bool) -> usize {
    let checker = Checker::new();
    let features = SyncFeatures { fences: true, ..SyncFeatures::default() };
    let launch = checker.begin_launch(LaunchInfo { features, ..two_ways::launch(1, 32) }, &[]);
    let [mut reader, mut writer] = [0, 1].map(|b| Block::begin(&launch, b, 0..0));
    let mut items = [0; 32];
    items[1] = GLOBAL as u64;
    reader.batches(&[row(0, 4, false, Addresses::Each(&items))], &(0..0));
    if barrier {
        reader.barrier();
    }
    reader.fence(0, Scope::Device, Order::SeqCst);
    reader.read(0, GLOBAL, 4, 0);
    for block in [&mut reader, &mut writer] {
        let (kind, scope, order) = (AtomicKind::Rmw, Scope::Device, Order::AcqRel);
        block.atomic(0, FLAGS, 4, 2, kind, scope, order);
        block.atomic_done(0, FLAGS, 4, 2, kind, scope, order);
    }
    writer.write(0, GLOBAL, 4, 1, None);
    [reader, writer].into_iter().for_each(Block::end);
    checker.races().len()
}

#[test]
fn a_later_read_represents_a_row_behind_a_barrier_alone() {
    assert_eq!(races_after_a_later_read(true), 0);
    assert_eq!(races_after_a_later_read(false), 1);
}

/// Block 0 writes a word and releases on a flag, by an atomic that is not checked. Then a row of it writes words from
/// this address on. Block 1 acquires on the flag, and writes the first word. Returns the races with the write before
/// the release.
fn races_behind_an_overwrite(row_at: usize) -> usize {
    let checker = Checker::new();
    let features = SyncFeatures { fences: true, ..SyncFeatures::default() };
    let launch = checker.begin_launch(LaunchInfo { features, ..two_ways::launch(1, 32) }, &[]);
    let [mut first, mut second] = [0, 1].map(|b| Block::begin(&launch, b, 0..0));
    let atomic = |block: &mut Block| {
        let (kind, scope, order) = (AtomicKind::Rmw, Scope::Device, Order::AcqRel);
        block.atomic_unchecked(0, FLAGS, 4, kind, scope, order);
        block.atomic_done(0, FLAGS, 4, 2, kind, scope, order);
    };
    first.write(0, GLOBAL, 4, 0, None);
    atomic(&mut first);
    first.barrier();
    let items: Vec<_> = (0..32).map(|t| (row_at + 4 * t) as u64).collect();
    first.batches(&[row(1, 4, true, Addresses::Each(&items))], &(0..0));
    first.barrier();
    atomic(&mut second);
    second.write(0, GLOBAL, 4, 3, None);
    [first, second].into_iter().for_each(Block::end);
    checker.races().iter().filter(|race| race.earlier.site == 0).count()
}

#[test]
fn a_row_that_writes_a_flag_ends_what_it_carries() {
    assert_eq!(races_behind_an_overwrite(FLAGS), 1);
    assert_eq!(races_behind_an_overwrite(FLAGS + 0x100), 0);
}

#[test]
fn rows_beside_releases() {
    two_ways::run_histories(1500, history);
}
