//! Rows, compared with the same accesses one by one: both must find the same races.

use std::sync::Arc;

use gpurace_abi::batch::Lines;
use gpurace_check::batch::affine::{AffineAddresses, Threads};
use gpurace_check::batch::{Addresses, Batch, Values};
use gpurace_check::{Block, Checker, Launch, SyncFeatures};
use gpurace_random::Random;

use crate::two_ways::{
    self, Accessed, Both, GLOBAL, SHARED, SHARED_APART, SHARED_BYTES, Same, compare, one_by_one, row,
};

/// The first launch of a checker.
fn launch(checker: &Checker, threads: u32) -> Arc<Launch> {
    checker.begin_launch(two_ways::launch(1, threads), &[])
}

/// Random addresses of a row in a pattern that kernels have. Some threads are left out.
pub fn addresses(random: &mut Random, threads: u64, block: u64, shared: bool, size: u32) -> Vec<u64> {
    let base = if shared { SHARED + block as usize * SHARED_APART } else { GLOBAL } as u64;
    let size = u64::from(size);
    let span = if shared { SHARED_BYTES as u64 } else { 0x1000 };
    let shift = random.below(8) * size;
    let width = [1, 4, 16, 24, 32][random.below(5) as usize];
    let struct_bytes = [6, 12, 20, 24, 36, 48, 120][random.below(7) as usize];
    let pattern = random.below(14);
    let left_out = random.below(5);
    let cut = random.below(threads);
    (0..threads)
        .map(|t| {
            let across = block * threads + t;
            let at = match pattern {
                // Each block has a part of its own, or all have the same.
                0..=2 => across * size + shift,
                3 => t * size + shift,
                // Rows of a tile, and their first elements.
                4 => t % width * size,
                5 => t / width * size * width,
                6 => shift,
                // Nothing regular.
                7 => random.below(64) * size,
                // Fields of structs of threads.
                8 => t * size * 2 + shift % (2 * size),
                9 => t * 32 + shift % 32,
                10..=12 => across * struct_bytes + shift % struct_bytes,
                _ => (t ^ 1) * size,
            };
            let stays = match left_out {
                0 => t < cut,
                1 => t >= cut,
                2 => random.below(4) != 0,
                _ => true,
            };
            if stays { base + at % span } else { 0 }
        })
        .collect()
}

/// Random dimensions of a block of so many threads.
fn dims(random: &mut Random, threads: u32) -> [u32; 3] {
    let divisors = |n: u32| (1..=n).filter(|d| n.is_multiple_of(*d)).collect::<Vec<_>>();
    let one_of = |random: &mut Random, all: Vec<u32>| all[random.below(all.len() as u64) as usize];
    let x = if random.below(2) == 0 { threads } else { one_of(random, divisors(threads)) };
    let y = if random.below(2) == 0 { threads / x } else { one_of(random, divisors(threads / x)) };
    [x, y, threads / x / y]
}

/// The affine form of addresses in a block of these dimensions, and their threads; `None` if they
/// are not affine.
fn lines_of(items: &[u64], dim: [u32; 3]) -> Option<(Lines, Threads)> {
    let index = |t: usize| [t as u32 % dim[0], t as u32 / dim[0] % dim[1], t as u32 / dim[0] / dim[1]];
    let made: Vec<_> = (0..items.len()).filter(|&t| items[t] != 0).collect();
    let mut steps = [0; 3];
    for (axis, threads) in [1, dim[0], dim[0] * dim[1]].into_iter().enumerate() {
        let next = |t: usize| t + threads as usize;
        let has_next = |t: &&usize| index(**t)[axis] + 1 < dim[axis] && items[next(**t)] != 0;
        if let Some(&t) = made.iter().find(has_next) {
            steps[axis] = items[next(t)].wrapping_sub(items[t]);
        }
    }
    let offset = |t: usize| {
        (0..3).fold(0u64, |sum, axis| sum.wrapping_add(steps[axis].wrapping_mul(index(t)[axis].into())))
    };
    let first = made.first().map_or(0, |&t| items[t].wrapping_sub(offset(t)));
    let marks: Vec<_> = items.iter().map(|&item| u32::from(item != 0)).collect();
    let hold = made.iter().all(|&t| items[t] == first.wrapping_add(offset(t)));
    hold.then(|| (Lines { first, steps }, Threads::marked(&marks)))
}

/// Addresses in their affine form if there is one.
fn as_items<'a>(items: &'a [u64], lines: Option<&'a (Lines, Threads)>, dim: &'a [u32; 3]) -> Addresses<'a> {
    match lines {
        Some((of, active)) => Addresses::Affine(AffineAddresses { of, dim, active }),
        None => Addresses::Each(items),
    }
}

/// Starts or awaits asynchronous copies of a block's threads, one by one in both ways.
fn copies(random: &mut Random, threads: u32, both: &mut Both<'_>) -> String {
    let [together, apart] = [&mut *both.together, &mut *both.apart];
    match random.below(4) {
        0 => {
            let groups = random.below(2) as u32;
            for block in [together, apart] {
                (0..threads).for_each(|thread| block.async_wait(thread, groups));
            }
            format!("all wait for their copies but {groups} groups")
        }
        1 => {
            for block in [together, apart] {
                (0..threads).for_each(|thread| block.async_commit(thread));
            }
            "all commit".to_owned()
        }
        _ => {
            let (shared, writes) = (random.below(4) != 0, random.below(3) != 0);
            let (site, size) = (8 + random.below(2) as u32, [4, 8, 16][random.below(3) as usize]);
            let items = addresses(random, threads.into(), both.index as u64, shared, size);
            for (thread, &at) in (0..).zip(&items).filter(|(_, at)| **at != 0) {
                let (address, bytes) = (at as usize, u64::from(size));
                for block in [&mut *both.together, &mut *both.apart] {
                    match writes {
                        true => block.async_write(thread, address, bytes, site),
                        false => block.async_read(thread, address, bytes, site),
                    }
                }
                both.accessed(site, address, size as usize, thread);
            }
            format!("copies, site {site}, size {size}, writes: {writes}, {items:x?}")
        }
    }
}

fn history(seed: u64, with_copies: bool) -> usize {
    let random = &mut Random(seed);
    let threads = [32, 48, 64, 100][random.below(4) as usize];
    let dim = dims(random, threads);
    let features = SyncFeatures { async_copies: with_copies, ..SyncFeatures::default() };
    two_ways::history(seed, threads, features, (30, 5, Same::Later), random, |random, both| {
        if with_copies && random.below(2) == 0 {
            return copies(random, threads, both);
        }
        let shared = random.below(2) == 0;
        let writes = random.below(4) == 0;
        let (site, size) =
            (random.below(6) as u32, [1, 1, 2, 3, 4, 4, 4, 8, 12, 16, 36, 64][random.below(12) as usize]);
        let items = addresses(random, threads.into(), both.index as u64, shared, size);
        let lines = lines_of(&items, dim);
        let row = row(site, size, writes, as_items(&items, lines.as_ref(), &dim));
        // Rows and single accesses must mix.
        both.rows(&[row], random.below(4) == 0);
        format!("row, site {site}, size {size}, writes: {writes}, {items:x?}")
    })
}

#[test]
fn rows_find_what_accesses_find_one_by_one() {
    two_ways::run_histories(600, |seed| history(seed, false));
}

#[test]
fn rows_beside_asynchronous_copies() {
    two_ways::run_histories(600, |seed| history(seed, true));
}

/// Random kernels with more rows in a segment than are checked together.
#[test]
fn many_rows_at_once() {
    two_ways::run_histories(100, |seed| {
        let random = &mut Random(seed);
        let threads = [32, 48, 64][random.below(3) as usize];
        let dim = dims(random, threads);
        two_ways::history(
            seed,
            threads,
            SyncFeatures::default(),
            (3, 2, Same::Sites),
            random,
            |random, both| {
                let count = [1, 63, 64, 65, 128, 129, 200][random.below(7) as usize];
                // Rows of one kind may be checked together, also those on both sides of a limit.
                let alike = random.below(2) == 0;
                let mut last = None;
                let all: Vec<_> = (0..count)
                    .map(|_| {
                        let (shared, writes) = (random.below(2) == 0, random.below(16) == 0);
                        let (site, size) = (random.below(6) as u32, [1, 4, 4, 8][random.below(4) as usize]);
                        let items = addresses(random, threads.into(), both.index as u64, shared, size);
                        let kept = last.clone().filter(|_| alike && random.below(4) != 0);
                        let (size, items) = kept.unwrap_or((size, items));
                        last = Some((size, items.clone()));
                        let lines = lines_of(&items, dim);
                        (site, size, writes, items, lines)
                    })
                    .collect();
                let rows: Vec<_> = all
                    .iter()
                    .map(|(site, size, writes, items, lines)| {
                        row(*site, *size, *writes, as_items(items, lines.as_ref(), &dim))
                    })
                    .collect();
                both.rows(&rows, false);
                format!("{count} rows")
            },
        )
    });
}

/// What is handed over at once: rows by site, size, whether they write, and addresses; and whether
/// the checker that takes rows gets them as rows.
type Step = (Vec<(u32, u32, bool, Vec<u64>)>, bool);

/// Random accesses of a block's threads between two barriers.
fn interval(random: &mut Random, threads: u64) -> Vec<Step> {
    (0..1 + random.below(3))
        .map(|_| {
            let rows = (0..1 + random.below(3)).map(|_| {
                let shared = random.below(4) != 0;
                let (site, size) = (random.below(6) as u32, [1, 2, 4, 4, 4, 8][random.below(6) as usize]);
                let writes = random.below(3) == 0;
                let mut items = addresses(random, threads, 0, shared, size);
                // A pointer may lead here or there.
                if random.below(8) == 0 {
                    let other = addresses(random, threads, 0, !shared, size);
                    let from = random.below(threads) as usize;
                    items[from..].copy_from_slice(&other[from..]);
                }
                (site, size, writes, items)
            });
            (rows.collect(), random.below(8) != 0)
        })
        .collect()
}

/// Runs blocks whose intervals repeat, wholly or up to some access. Returns the number of races.
fn repeating(seed: u64) -> usize {
    let random = &mut Random(seed);
    let checkers = [Checker::new(), Checker::new()];
    let threads = [32, 48, 64][random.below(3) as usize];
    let dim = dims(random, threads);
    let launches = checkers.each_ref().map(|checker| launch(checker, threads));
    let shared = SHARED..SHARED + SHARED_BYTES;
    let [mut together, mut apart] = launches.each_ref().map(|l| {
        let mut block = Block::begin(l, 0, shared.clone());
        block.trace();
        block
    });
    // Some kernels have one interval only, so that all of it repeats.
    let known: Vec<_> = (0..1 + random.below(4)).map(|_| interval(random, threads.into())).collect();
    let (mut accessed, mut log, mut found) = (Accessed::default(), Vec::new(), 0);
    let mut barriers = 0;
    for block in 0..3 {
        if block > 0 {
            together.restart(&launches[0], block, shared.clone());
            apart.restart(&launches[1], block, shared.clone());
        }
        for _ in 0..random.below(8) {
            let mut steps = known[random.below(known.len() as u64) as usize].clone();
            for _ in 0..1 + random.below(2) {
                match random.below(10) {
                    8 => {
                        // Each thread decides for itself.
                        for items in steps.iter_mut().flat_map(|(rows, _)| rows).map(|row| &mut row.3) {
                            let all = random.below(3);
                            items
                                .iter_mut()
                                .for_each(|item| *item *= if all < 2 { all } else { random.below(2) });
                        }
                    }
                    0 => steps.truncate(random.below(steps.len() as u64 + 1) as usize),
                    1 => steps.extend(interval(random, threads.into())),
                    2 if !steps.is_empty() => {
                        let step = random.below(steps.len() as u64) as usize;
                        let (rows, in_rows) = &mut steps[step];
                        let row = random.below(rows.len() as u64) as usize;
                        let thread = random.below(threads) as usize;
                        rows[row].3[thread] =
                            if random.below(2) == 0 { 0 } else { (SHARED as u64) + random.below(16) * 8 };
                        *in_rows ^= random.below(4) == 0;
                    }
                    _ => {}
                }
            }
            for (step, in_rows) in steps {
                let lines: Vec<_> = step.iter().map(|(.., items)| lines_of(items, dim)).collect();
                let rows: Vec<_> = step
                    .iter()
                    .zip(&lines)
                    .map(|((site, size, writes, items), lines)| {
                        row(*site, *size, *writes, as_items(items, lines.as_ref(), &dim))
                    })
                    .collect();
                if in_rows {
                    together.batches(&rows, &(0..0));
                }
                for row in &rows {
                    if !in_rows {
                        one_by_one(&mut together, row);
                    }
                    one_by_one(&mut apart, row);
                    accessed.add_row(row, (1, block, barriers));
                }
                log.push((block, Some((step.clone(), in_rows))));
                found += compare(&mut together, &mut apart, &accessed, Same::Later, || {
                    format!("seed {seed}: after {log:#x?}")
                });
            }
            together.barrier();
            apart.barrier();
            barriers += 1;
            log.push((block, None));
        }
        assert_eq!(together.checks(), apart.checks(), "seed {seed}");
    }
    found
}

#[test]
fn intervals_that_repeat_are_found_as_they_are() {
    two_ways::run_histories(300, repeating);
}

/// The number of races of blocks of 32 threads, which write to these addresses: for each block and
/// interval, pairs of a thread and its address.
fn of_writes(blocks: &[&[&[(usize, usize)]]]) -> usize {
    let checker = Checker::new();
    let launch = launch(&checker, 32);
    let shared = SHARED..SHARED + SHARED_BYTES;
    let mut block = Block::begin(&launch, 0, shared.clone());
    block.trace();
    for (b, intervals) in (0..).zip(blocks) {
        if b > 0 {
            block.restart(&launch, b, shared.clone());
        }
        for interval in *intervals {
            let mut items = [0; 32];
            interval.iter().for_each(|&(thread, address)| items[thread] = address as u64);
            block.batches(&[row(0, 4, true, Addresses::Each(&items))], &(0..0));
            block.barrier();
        }
    }
    block.take_traced().len()
}

#[test]
fn threads_that_decide_are_no_race_of_those_that_decided_otherwise() {
    let [one, other, both] = [&[(0, SHARED)][..], &[(1, SHARED)], &[(0, SHARED), (1, SHARED)]];
    assert_eq!(of_writes(&[&[one, other, one, other]]), 0);
    assert_eq!(of_writes(&[&[one, other, both]]), 1);
    assert_eq!(of_writes(&[&[one, other], &[both]]), 1);
}

#[test]
fn what_nobody_accesses_this_time_is_no_race_of_what_follows() {
    let checker = Checker::new();
    let launch = launch(&checker, 32);
    let mut block = Block::begin(&launch, 0, SHARED..SHARED + SHARED_BYTES);
    let mut interval = |writes: &[[Option<(usize, usize)>; 2]]| {
        for rows in writes {
            let items = rows.map(|write| {
                let mut items = [0; 32];
                write.into_iter().for_each(|(thread, address)| items[thread] = address as u64);
                items
            });
            let row = |site: usize| row(site as u32, 4, true, Addresses::Each(&items[site]));
            block.batches(&[row(0), row(1)], &(0..0));
        }
        block.barrier();
    };
    let (one, other) = (Some((0, SHARED)), Some((1, SHARED + 4)));
    interval(&[[one, other]]);
    // The first row has no access this time, so that another thread may write there.
    interval(&[[None, other], [Some((2, SHARED)), None]]);
    assert!(checker.races().is_empty());
    interval(&[[one, other], [Some((2, SHARED)), None]]);
    drop(block);
    assert_eq!(checker.races().len(), 1);
}

#[test]
fn pointers_to_both_memories_are_looked_at_each_time() {
    let mixed = &[(0, SHARED), (1, GLOBAL)][..];
    assert_eq!(of_writes(&[&[mixed, mixed]]), 0);
    assert_eq!(of_writes(&[&[mixed], &[mixed]]), 1);
}

/// What the races of two writes to one word say about equal values. Each write is a block, a thread
/// of it, what it wrote and what was there before.
fn same_value(
    one: (usize, usize, u64, u64),
    other: (usize, usize, u64, u64),
    known: bool,
) -> Vec<Option<bool>> {
    let checker = Checker::new();
    let launch = launch(&checker, 32);
    let mut blocks = [0, 1].map(|b| Block::begin(&launch, b, 0..0));
    let mut rows = Vec::new();
    for (site, (block, thread, value, there)) in (0..).zip([one, other]) {
        let at = |value: u64| (0..32).map(|t| if t == thread { value } else { 0 }).collect::<Vec<_>>();
        rows.push((block, site, at(GLOBAL as u64), at(value), at(there)));
    }
    let row = |(_, site, items, written, before): &'_ (usize, u32, Vec<u64>, Vec<u64>, Vec<u64>)| {
        // They live as long as the test.
        let [written, before] = [written, before]
            .map(|v| &*v.iter().flat_map(|&v| (v as u32).to_le_bytes()).collect::<Vec<_>>().leak());
        let items = items.clone().leak();
        let values = known.then_some(Values { written, before });
        Batch { values, ..self::row(*site, 4, true, Addresses::Each(items)) }
    };
    for (b, block) in blocks.iter_mut().enumerate() {
        block.batches(&rows.iter().filter(|r| r.0 == b).map(row).collect::<Vec<_>>(), &(0..0));
    }
    blocks.into_iter().for_each(Block::end);
    checker.races().iter().map(|r| r.same_value).collect()
}

#[test]
fn equal_values_are_told() {
    // Threads of one block run side by side: what memory held says nothing.
    assert_eq!(same_value((0, 3, 5, 1), (0, 7, 5, 1), true), [Some(true)]);
    assert_eq!(same_value((0, 3, 5, 1), (0, 7, 6, 6), true), [Some(false)]);
    // For two blocks, what memory held counts.
    assert_eq!(same_value((0, 3, 5, 1), (1, 3, 5, 5), true), [Some(true)]);
    assert_eq!(same_value((0, 3, 5, 1), (1, 3, 5, 1), true), [Some(false)]);
    assert_eq!(same_value((0, 3, 5, 1), (1, 3, 5, 5), false), [None]);
}
