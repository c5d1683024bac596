//! Atomics that order nothing, which wait for their shadow: the same races are found as if each was checked at once.

use std::collections::BTreeSet;

use gpurace_abi::scope::{AtomicKind, Order, Scope};
use gpurace_check::batch::Addresses;
use gpurace_check::{Block, Checker};
use gpurace_random::Random;

use crate::two_ways::{self, GLOBAL, SHARED, SHARED_APART, SHARED_BYTES, row};

const THREADS: u32 = 64;
/// Between two parts of global memory.
const FAR: usize = 0x2_0000;

/// The words of which a race was found, and the sites of the two accesses in order of their numbers.
fn races(block: &mut Block) -> BTreeSet<(usize, [u32; 2])> {
    let mut sites = |r: &gpurace_check::RaceRecord| {
        let (one, other) = (r.earlier.site, r.later.site);
        (r.address & !3, [one.min(other), one.max(other)])
    };
    block.take_traced().iter().map(&mut sites).collect()
}

/// Makes a random access: an atomic one, a plain one, or a row. Each kind of access to a word has its site.
fn access(block: &mut Block, random: &mut Random, shared: usize) {
    let thread = random.below(THREADS);
    // What is near together does not wait.
    let base = [shared, GLOBAL, GLOBAL, GLOBAL + FAR][random.below(4) as usize];
    let address = base + random.below(12) as usize * 4;
    match random.below(8) {
        0 => block.read(thread, address, 4, 0),
        1 => block.write(thread, address, 4, 1, None),
        2 => {
            let items: Vec<u64> = (0..u64::from(THREADS)).map(|t| (base as u64 + 0x30) + t * 4).collect();
            block.batches(&[row(2, 4, random.below(2) == 0, Addresses::Each(&items))], &(0..0));
        }
        kind => {
            let scope = if kind == 3 { Scope::Block } else { Scope::Device };
            let size = if random.below(6) == 0 { 8 } else { 4 };
            let (site, address) = (kind as u32, address & !(size as usize - 1));
            let kind = if kind == 4 { AtomicKind::Load } else { AtomicKind::Rmw };
            block.atomic(thread, address, size, site, kind, scope, Order::Relaxed);
            block.atomic_done(thread, address, size, site, kind, scope, Order::Relaxed);
        }
    }
}

fn history(seed: u64) -> usize {
    let random = &mut Random(seed);
    let checkers = [Checker::new(), Checker::new()];
    let launches = checkers.each_ref().map(|c| c.begin_launch(two_ways::launch(1, THREADS), &[]));
    let shared = |b: usize| SHARED + b * SHARED_APART;
    let mut blocks = [0, 1, 2].map(|b| {
        launches.each_ref().map(|launch| {
            let mut block = Block::begin(launch, b as u64, shared(b)..shared(b) + SHARED_BYTES);
            block.trace();
            block
        })
    });
    let mut found: [BTreeSet<_>; 2] = Default::default();
    for _ in 0..random.below(8) {
        let b = random.below(3) as usize;
        for _ in 0..random.below(40) {
            let mut same = Random(random.below(1 << 40));
            let [together, apart] = &mut blocks[b];
            access(together, &mut Random(same.0), shared(b));
            access(apart, &mut same, shared(b));
            // No access waits behind this.
            found[1].extend(races(apart));
        }
        if random.below(2) == 0 {
            blocks[b].iter_mut().for_each(Block::barrier);
        }
    }
    for [together, apart] in &mut blocks {
        found[0].extend(races(together));
        found[1].extend(races(apart));
    }
    let words = found.each_ref().map(|races| races.iter().map(|(word, _)| *word).collect::<BTreeSet<_>>());
    assert_eq!(words[0], words[1], "seed {seed}: {found:x?}");
    let checks = blocks.each_ref().map(|[together, apart]| (together.checks(), apart.checks()));
    assert!(checks.iter().all(|(t, a)| t == a), "seed {seed}: {checks:?}");
    words[0].len()
}

#[test]
fn atomics_that_wait_find_what_they_find_at_once() {
    two_ways::run_histories(600, history);
}
