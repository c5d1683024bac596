//! Reads that are looked at together, as loops leave them, against the same reads one by one: what
//! each finds must be the same.

use std::sync::Arc;

use gpurace_check::affine::Addresses;
use gpurace_check::gathered::{Gathered, GatheredRead, GatheredReads, ReadRun};
use gpurace_check::rows::Row;
use gpurace_check::{Block, Checker, Launch, LaunchInfo, SyncFeatures};
use gpurace_random::Random;

mod two_ways;

use two_ways::{Accessed, GLOBAL, SHARED, SHARED_BYTES, compare};

const GLOBAL_BYTES: usize = 0x1000;

fn launch(checker: &Checker, id: u64, threads: u32, settled: u64, features: SyncFeatures) -> Arc<Launch> {
    checker.begin_launch(LaunchInfo { features, ..two_ways::launch(id, threads, settled) }, &[])
}

/// What threads read through one instruction.
#[derive(Debug)]
enum Reads {
    Streams(Vec<ReadRun>),
    Scattered(Vec<GatheredRead>),
}

/// Reads as kernels make them: rows of a matrix one after the other, or anywhere.
fn reads(random: &mut Random, threads: u64, base: usize, bytes: usize, size: u64) -> Reads {
    let anywhere = |random: &mut Random| base + (random.below(bytes as u64 / size / 2) * size) as usize;
    if random.below(3) == 0 {
        let near = anywhere(random);
        let close = random.below(2) == 0;
        let items = (0..threads).flat_map(|t| (0..random.below(3)).map(move |_| t).collect::<Vec<_>>());
        let items: Vec<_> = items.collect();
        return Reads::Scattered(
            items
                .into_iter()
                .map(|t| {
                    let misaligned = if random.below(40) == 0 { random.below(size) as usize } else { 0 };
                    let at = if close { near + (random.below(16) * size) as usize } else { anywhere(random) };
                    GatheredRead::new(t as u32, at + misaligned)
                })
                .collect(),
        );
    }
    let longest = [2, 5, 17, 50][random.below(4) as usize];
    let equal = random.below(4) == 0;
    let misaligned = if random.below(6) == 0 { random.below(size) } else { 0 };
    let mut at = anywhere(random) + misaligned as usize;
    let mut streams = Vec::new();
    for t in 0..threads {
        for _ in 0..1 + random.below(6) / 5 {
            match random.below(12) {
                0 => at = anywhere(random) + misaligned as usize,
                // What another thread has read, too.
                1 => at = at.saturating_sub((random.below(8) * size) as usize).max(base),
                _ => {}
            }
            let count = if equal { longest } else { random.below(longest) };
            let end = at + (count * size) as usize;
            if end > base + bytes {
                continue;
            }
            streams.push(ReadRun { first: GatheredRead::new(t as u32, at), end: end as u64 });
            at = end;
        }
    }
    Reads::Streams(streams)
}

/// The reads, one by one.
fn each(reads: &Reads, size: usize) -> Vec<(u32, usize)> {
    match reads {
        Reads::Streams(streams) => {
            let of = |s: &ReadRun| {
                (s.first.address()..s.end as usize)
                    .step_by(size)
                    .map(|at| (s.first.thread(), at))
                    .collect::<Vec<_>>()
            };
            streams.iter().flat_map(of).collect()
        }
        Reads::Scattered(items) => items.iter().map(|item| (item.thread(), item.address())).collect(),
    }
}

/// The same history in two ways. How many races it has.
fn history(seed: u64) -> usize {
    let random = &mut Random(seed);
    let checkers = [Checker::new(), Checker::new()];
    let threads = [32, 48, 64, 100][random.below(4) as usize];
    let features = SyncFeatures { fences: random.below(8) == 0, ..SyncFeatures::default() };
    let (mut found, mut log) = (0, Vec::new());
    let mut accessed = Accessed::default();
    for id in 1..=1 + random.below(3) {
        let settled = if random.below(2) == 0 { id - 1 } else { 0 } * u64::from(seed.is_multiple_of(2));
        let launches = checkers.each_ref().map(|c| launch(c, id, threads, settled, features));
        let mut blocks = [0, 1, 2].map(|b| {
            launches.each_ref().map(|l| {
                let at = SHARED + b * 0x10_0000;
                let mut block = Block::begin(l, b as u64, at..at + SHARED_BYTES);
                block.trace();
                block
            })
        });
        let mut barriers = [0; 3];
        for _ in 0..random.below(24) {
            let b = random.below(3) as usize;
            let [together, apart] = &mut blocks[b];
            let shared = random.below(3) == 0;
            let (base, bytes) =
                if shared { (SHARED + b * 0x10_0000, SHARED_BYTES) } else { (GLOBAL, GLOBAL_BYTES) };
            let site = random.below(6) as u32;
            let size = [4, 4, 4, 8, 16][random.below(5) as usize];
            match random.below(9) {
                0 => {
                    together.barrier();
                    apart.barrier();
                    barriers[b] += 1;
                    log.push(format!("block {b}: barrier"));
                }
                1 => {
                    // Few enough for something to be left that no race has met.
                    let (t, at) =
                        (random.below(threads), base + (random.below(bytes as u64 / size) * size) as usize);
                    [&mut *together, &mut *apart]
                        .into_iter()
                        .for_each(|block| block.write(t, at, size as u32, site, None));
                    accessed.add(site, at, size as usize, (id, b as u64, barriers[b], t));
                    log.push(format!("block {b}: write {size} at {at:#x} by {t}, site {site}"));
                }
                2 => {
                    // Neighbouring threads, so that regions have their records, too.
                    let (size, writes, some) = (4, random.below(2) == 0, random.below(threads) as usize);
                    let first = random.below(bytes as u64 / 4 - u64::from(threads)) as usize;
                    let items: Vec<_> = (0..threads as usize)
                        .map(|t| if t < some { (base + 4 * (first + t)) as u64 } else { 0 })
                        .collect();
                    together.rows(
                        &[Row { site, size, writes, addresses: Addresses::Each(&items), values: None }],
                        &(0..0),
                    );
                    for (t, &at) in (0..).zip(&items[..some]) {
                        match writes {
                            true => apart.write(t, at as usize, size, site, None),
                            false => apart.read(t, at as usize, size, site),
                        }
                        accessed.add(site, at as usize, 4, (id, b as u64, barriers[b], t));
                    }
                    log.push(format!(
                        "block {b}: row, writes: {writes}, site {site}, {some} words from {first}"
                    ));
                }
                _ => {
                    let reads = reads(random, threads.into(), base, bytes, size);
                    let gathered = match &reads {
                        Reads::Streams(runs) => Gathered::Runs(runs),
                        Reads::Scattered(reads) => Gathered::Each(reads),
                    };
                    together.gathered(GatheredReads { site, size: size as u32, reads: gathered }, &(0..0));
                    for (t, at) in each(&reads, size as usize) {
                        apart.read(t, at, size as u32, site);
                        accessed.add(site, at, size as usize, (id, b as u64, barriers[b], t));
                    }
                    log.push(format!("block {b}: read {size}, site {site}: {reads:x?}"));
                }
            }
            found += compare(together, apart, &accessed, || format!("seed {seed}: after {log:#?}"));
        }
        let checks = blocks.each_ref().map(|[t, a]| (t.checks(), a.checks()));
        assert!(checks.iter().all(|(t, a)| t == a), "seed {seed}: {checks:?}");
        for block in blocks.into_iter().flatten() {
            block.end();
        }
        checkers.iter().zip(&launches).for_each(|(c, l)| _ = c.end_launch(l));
        if random.below(4) == 0 {
            let (at, bytes) = (GLOBAL + random.below(0x800) as usize, random.below(0x400) as usize);
            checkers.iter().for_each(|c| c.forget(at, bytes));
        }
        log.push(format!("launch {id} ends"));
    }
    found
}

#[test]
fn streams_find_what_reads_find_one_by_one() {
    let histories = std::env::var("GPURACE_ROW_HISTORIES").map_or(600, |n| n.parse().expect("a number"));
    let found: usize = (0..histories).map(history).sum();
    println!("{found} races in {histories} histories");
    assert!(found > 0);
}

/// The races of a block that reads and then writes a word, both by these threads.
fn races(streams: &[(u32, usize, usize)], barrier: bool, write: (u32, usize)) -> usize {
    let checker = Checker::new();
    let launch = launch(&checker, 1, 64, 0, SyncFeatures::default());
    let mut block = Block::begin(&launch, 0, SHARED..SHARED + SHARED_BYTES);
    block.trace();
    let streams: Vec<_> = streams
        .iter()
        .map(|&(t, from, end)| ReadRun {
            first: GatheredRead::new(t, GLOBAL + 4 * from),
            end: (GLOBAL + 4 * end) as u64,
        })
        .collect();
    block.gathered(GatheredReads { site: 0, size: 4, reads: Gathered::Runs(&streams) }, &(0..0));
    if barrier {
        block.barrier();
    }
    block.write(write.0, GLOBAL + 4 * write.1, 4, 1, None);
    block.take_traced().len()
}

#[test]
fn each_word_is_its_threads() {
    let rows = [(0, 0, 5), (1, 5, 40), (2, 40, 41), (3, 41, 64)];
    for (thread, from, end) in rows {
        for word in from..end {
            assert_eq!(races(&rows, false, (thread, word)), 0, "thread {thread} writes word {word}");
            assert_eq!(
                races(&rows, false, (thread + 1, word)),
                1,
                "thread {} writes word {word}",
                thread + 1
            );
            assert_eq!(races(&rows, true, (thread + 1, word)), 0);
        }
    }
    // Two threads have read word 5.
    assert_eq!(races(&[(0, 0, 6), (1, 5, 9)], false, (0, 5)), 1);
    assert_eq!(races(&[(0, 0, 6), (1, 5, 9)], false, (0, 4)), 0);
}

#[test]
fn what_a_thread_did_not_come_to_is_no_read() {
    // Begun, and not gone on: its end is none yet, or one before it.
    assert_eq!(races(&[(0, 8, 8), (1, 8, 7)], false, (2, 8)), 0);
    assert_eq!(races(&[(0, 8, 9)], false, (2, 8)), 1);
    // No thread of the block.
    assert_eq!(races(&[(64, 8, 9)], false, (2, 8)), 0);
}
