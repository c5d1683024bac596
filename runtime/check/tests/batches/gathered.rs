//! Gathered accesses, compared with the same accesses one by one: both must find the same races.

use gpurace_abi::batch::{GatheredItem, GatheredRun};
use gpurace_check::batch::{Addresses, Batch};
use gpurace_check::{Block, Checker, SyncFeatures};
use gpurace_random::Random;

use crate::two_ways::{self, GLOBAL, SHARED, SHARED_APART, SHARED_BYTES, Same, row};

const GLOBAL_BYTES: usize = 0x1000;

/// What threads access through one instruction.
#[derive(Debug)]
enum Accesses {
    Runs(Vec<GatheredRun>),
    Scattered(Vec<GatheredItem>),
}

/// Random accesses as kernels make them: rows of a matrix one after the other, or anywhere.
fn accesses(random: &mut Random, threads: u64, base: usize, bytes: usize, size: u64) -> Accesses {
    let anywhere = |random: &mut Random| base + (random.below(bytes as u64 / size / 2) * size) as usize;
    if random.below(3) == 0 {
        let near = anywhere(random);
        let close = random.below(2) == 0;
        let items = (0..threads).flat_map(|t| (0..random.below(3)).map(move |_| t).collect::<Vec<_>>());
        let items: Vec<_> = items.collect();
        return Accesses::Scattered(
            items
                .into_iter()
                .map(|t| {
                    let misaligned = if random.below(40) == 0 { random.below(size) as usize } else { 0 };
                    let at = if close { near + (random.below(16) * size) as usize } else { anywhere(random) };
                    GatheredItem::new(t as u32, at + misaligned)
                })
                .collect(),
        );
    }
    let longest = [2, 5, 17, 50][random.below(4) as usize];
    let equal = random.below(4) == 0;
    let misaligned = if random.below(6) == 0 { random.below(size) } else { 0 };
    let mut at = anywhere(random) + misaligned as usize;
    let mut runs = Vec::new();
    for t in 0..threads {
        for _ in 0..1 + random.below(6) / 4 {
            match random.below(12) {
                0 => at = anywhere(random) + misaligned as usize,
                // It also accesses what another thread has accessed.
                1 => at = at.saturating_sub((random.below(8) * size) as usize).max(base),
                // It accesses again what it has accessed last.
                2 => at = runs.last().map_or(at, |last: &GatheredRun| last.first.address()),
                _ => {}
            }
            let count = if equal { longest } else { random.below(longest) };
            let end = at + (count * size) as usize;
            if end > base + bytes {
                continue;
            }
            runs.push(GatheredRun { first: GatheredItem::new(t as u32, at), end: end as u64 });
            at = end;
        }
    }
    Accesses::Runs(runs)
}

/// The accesses, one by one.
fn each(accesses: &Accesses, size: usize) -> Vec<(u32, usize)> {
    match accesses {
        Accesses::Runs(runs) => {
            let of = |s: &GatheredRun| {
                s.bytes().step_by(size).map(|at| (s.first.thread(), at)).collect::<Vec<_>>()
            };
            runs.iter().flat_map(of).collect()
        }
        Accesses::Scattered(items) => items.iter().map(|item| (item.thread(), item.address())).collect(),
    }
}

fn history(seed: u64) -> usize {
    let random = &mut Random(seed);
    let threads = [32, 48, 64, 100][random.below(4) as usize];
    let features = SyncFeatures { fences: random.below(8) == 0, ..SyncFeatures::default() };
    two_ways::history(seed, threads, features, (24, 9, Same::Later), random, |random, both| {
        let shared = random.below(3) == 0;
        let (base, bytes) =
            if shared { (SHARED + both.index * SHARED_APART, SHARED_BYTES) } else { (GLOBAL, GLOBAL_BYTES) };
        let site = random.below(6) as u32;
        let size = [1, 1, 2, 4, 4, 4, 8, 16][random.below(8) as usize];
        match random.below(8) {
            0 => {
                // Few writes, so that some words have had no race.
                let thread = random.below(threads);
                let at = base + (random.below(bytes as u64 / size) * size) as usize;
                both.together.write(thread, at, size as u32, site, None);
                both.apart.write(thread, at, size as u32, site, None);
                both.accessed(site, at, size as usize, thread);
                format!("write {size} at {at:#x} by {thread}, site {site}")
            }
            1 => {
                // Neighbouring threads, so that regions have records, too.
                let (writes, some) = (random.below(2) == 0, random.below(threads) as usize);
                let first = random.below(bytes as u64 / 4 - u64::from(threads)) as usize;
                let at = |t: usize| if t < some { (base + 4 * (first + t)) as u64 } else { 0 };
                let items: Vec<_> = (0..threads as usize).map(at).collect();
                both.rows(&[row(site, 4, writes, Addresses::Each(&items))], false);
                format!("row, writes: {writes}, site {site}, {some} words from {first}")
            }
            _ => {
                let accesses = accesses(random, threads.into(), base, bytes, size);
                let gathered = match &accesses {
                    Accesses::Runs(runs) => Addresses::Runs(runs),
                    Accesses::Scattered(items) => Addresses::Items(items),
                };
                let writes = random.below(4) == 0;
                let batch = Batch { writes, ..Batch::reads(site, size as u32, gathered) };
                both.together.batches(&[batch], &(0..0));
                for (thread, at) in each(&accesses, size as usize) {
                    if writes {
                        both.apart.write(thread, at, size as u32, site, None);
                    } else {
                        both.apart.read(thread, at, size as u32, site);
                    }
                    both.accessed(site, at, size as usize, thread);
                }
                format!("access of {size}, writes: {writes}, site {site}: {accesses:x?}")
            }
        }
    })
}

#[test]
fn gathered_accesses_find_what_they_find_one_by_one() {
    two_ways::run_histories(600, history);
}

/// The number of races of a block that reads and then writes a word. `runs`: the thread, the first
/// word and the end of each run. `write`: a thread and its word.
fn races(runs: &[(u32, usize, usize)], barrier: bool, write: (u32, usize)) -> usize {
    let checker = Checker::new();
    let launch = checker.begin_launch(two_ways::launch(1, 64), &[]);
    let mut block = Block::begin(&launch, 0, SHARED..SHARED + SHARED_BYTES);
    block.trace();
    let runs: Vec<_> = runs
        .iter()
        .map(|&(t, from, end)| GatheredRun {
            first: GatheredItem::new(t, GLOBAL + 4 * from),
            end: (GLOBAL + 4 * end) as u64,
        })
        .collect();
    block.batches(&[Batch::reads(0, 4, Addresses::Runs(&runs))], &(0..0));
    if barrier {
        block.barrier();
    }
    block.write(write.0, GLOBAL + 4 * write.1, 4, 1, None);
    block.take_traced().len()
}

#[test]
fn a_word_is_read_by_the_thread_of_its_run() {
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
    assert_eq!(races(&[(0, 0, 6), (1, 5, 9), (0, 5, 6)], false, (0, 5)), 1);
    assert_eq!(races(&[(0, 0, 6), (0, 4, 9)], false, (1, 8)), 1);
}

#[test]
fn a_read_that_a_thread_did_not_reach_is_none() {
    // A run without a read: its end is not behind its first address.
    assert_eq!(races(&[(0, 8, 8), (1, 8, 7)], false, (2, 8)), 0);
    assert_eq!(races(&[(0, 8, 9)], false, (2, 8)), 1);
    // No thread of the block.
    assert_eq!(races(&[(64, 8, 9)], false, (2, 8)), 0);
}

/// What is said of values where a thread writes a word and another one then writes it once for each of `left_equal`, in
/// runs of `words`.
fn same_values(size: u32, words: usize, left_equal: &[Option<bool>]) -> Vec<Option<bool>> {
    let checker = Checker::new();
    let launch = checker.begin_launch(two_ways::launch(1, 64), &[]);
    let mut block = Block::begin(&launch, 0, SHARED..SHARED + SHARED_BYTES);
    block.trace();
    block.write(0, GLOBAL + 8, 4, 0, None);
    let run = |&equal: &Option<bool>| GatheredRun {
        first: GatheredItem::new(1, GLOBAL).with(equal),
        end: GatheredItem::new(0, GLOBAL + 4 * words).with(equal).0,
    };
    let runs: Vec<_> = left_equal.iter().map(run).collect();
    block.batches(&[Batch { writes: true, ..Batch::reads(1, size, Addresses::Runs(&runs)) }], &(0..0));
    block.take_traced().iter().map(|race| race.same_value).collect()
}

#[test]
fn writes_that_follow_each_other_say_whether_memory_held_their_values() {
    for equal in [Some(true), Some(false), None] {
        assert_eq!(same_values(4, 8, &[equal]), [equal]);
    }
    // Of 8 bytes that differ, these 4 may be equal.
    assert_eq!(same_values(8, 8, &[Some(false)]), [None]);
    assert_eq!(same_values(8, 8, &[Some(true)]), [Some(true)]);
}

#[test]
fn a_run_that_says_something_else_of_values_is_checked_again() {
    assert_eq!(same_values(4, 8, &[Some(true), Some(true)]), [Some(true)]);
    // It differs from what its own thread wrote: nothing is known of the other thread's value.
    assert_eq!(same_values(4, 8, &[Some(true), Some(false)]), [Some(true), None]);
}
