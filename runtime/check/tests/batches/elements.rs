//! Rows whose threads access parts of elements side by side, compared with the same accesses one by one.

use gpurace_abi::batch::Lines;
use gpurace_check::batch::affine::{AffineAddresses, Threads};
use gpurace_check::batch::{Addresses, Batch};
use gpurace_check::{Block, Checker, SyncFeatures};
use gpurace_random::Random;

use crate::two_ways::{self, GLOBAL, SHARED, SHARED_APART, SHARED_BYTES, Same, row};

/// One of these.
fn one_of<T: Copy>(random: &mut Random, all: &[T]) -> T {
    all[random.below(all.len() as u64) as usize]
}

/// Threads that take part: all, up to one, from one on, or any.
fn active(random: &mut Random, threads: u32) -> Threads {
    let (kind, cut) = (random.below(8), random.below(u64::from(threads)) as u32);
    let marks = (0..threads).map(|t| match kind {
        0 => u32::from(t < cut),
        1 => u32::from(t >= cut),
        2 => u32::from(random.below(3) != 0),
        _ => 1,
    });
    Threads::marked(&marks.collect::<Vec<_>>())
}

/// The distances of threads of any elements, and of those that share words.
const ANY: &[u64] = &[1, 2, 3, 4, 5, 6, 8, 12, 16, 20, 24, 28, 32, 40, 64, 100, 128];
const SHARED_WORDS: &[u64] = &[2, 3, 3, 6];

/// A random history of rows at these distances.
fn history(seed: u64, distances: &[u64], sizes: &[u32]) -> usize {
    let random = &mut Random(seed);
    let threads = one_of(random, &[32, 64, 96, 35]);
    let dim = match threads {
        35 => one_of(random, &[[35, 1, 1], [7, 5, 1]]),
        _ => one_of(random, &[[threads, 1, 1], [16, threads / 16, 1], [8, 4, threads / 32]]),
    };
    // Few shapes, so that rows of several segments meet.
    let shapes: Vec<(u64, u64)> = (0..2).map(|_| (one_of(random, distances), random.below(8))).collect();
    two_ways::history(seed, threads, SyncFeatures::default(), (24, 5, Same::Later), random, |random, both| {
        let (step, shift) = one_of(random, &shapes);
        let bytes = step * u64::from(threads);
        let shared = random.below(2) == 0 && bytes + 0xc0 <= SHARED_BYTES as u64;
        let base = if shared { SHARED + both.index * SHARED_APART } else { GLOBAL } as u64;
        // Mostly each block has elements of its own.
        let block = if random.below(6) == 0 { 0 } else { both.index as u64 * u64::from(threads) };
        let falls = random.below(4) == 0;
        let by_x = if falls { step.wrapping_neg() } else { step };
        let pitch =
            if !shared && !falls && random.below(4) == 0 { 8 * step + 4 * random.below(3) } else { step };
        let steps = [by_x, by_x.wrapping_mul(dim[0].into()), by_x.wrapping_mul((dim[0] * dim[1]).into())];
        let odd = u64::saturating_sub(random.below(6), 2);
        let steps = if pitch == step { steps } else { [by_x, pitch * 4 + odd, pitch * 16 + 4 * odd] };
        let of_block = base + bytes * u64::from(falls) + if shared { 0 } else { block * step };
        let all = active(random, threads);
        let rows: Vec<_> = (0..1 + random.below(6))
            .map(|_| {
                let size = one_of(random, sizes).min(step.next_power_of_two() as u32);
                let (site, writes) = (random.below(5) as u32, random.below(3) == 0);
                let aligned = random.below(4) != 0;
                let within = random.below((step + 1).saturating_sub(size.into()).max(1));
                let within =
                    if aligned { within & !u64::from(size.next_power_of_two().min(4) - 1) } else { within };
                // Seldom it is of the next element, too.
                let within = if random.below(20) == 0 { within + step / 2 } else { within };
                let first = of_block + shift * if aligned { 4 } else { 1 } + within;
                let active = if random.below(8) == 0 { active(random, threads) } else { all.clone() };
                (site, size, writes, Lines { first, steps }, active)
            })
            .collect();
        let batches: Vec<Batch<'_>> = rows
            .iter()
            .map(|(site, size, writes, of, active)| {
                row(*site, *size, *writes, Addresses::Affine(AffineAddresses { of, dim: &dim, active }))
            })
            .collect();
        // Rows and single accesses must mix.
        both.rows(&batches, random.below(5) == 0);
        format!("rows {rows:x?} of {dim:?}")
    })
}

#[test]
fn rows_of_elements_find_what_accesses_find_one_by_one() {
    let sizes = &[1, 1, 2, 3, 4, 4, 4, 8, 12, 16, 20, 64, 128];
    two_ways::run_histories(300, |seed| history(seed, ANY, sizes));
}

#[test]
fn rows_of_elements_that_share_words_find_what_accesses_find_one_by_one() {
    two_ways::run_histories(600, |seed| history(seed, SHARED_WORDS, &[1, 1, 1, 2, 2, 3]));
}

/// A row in which some threads make no access meets what another block wrote, up to accesses of a whole region.
#[test]
fn rows_of_some_threads_race_at_each_size() {
    const THREADS: u32 = 32;
    let active = Threads::marked(&(0..THREADS).map(|t| u32::from(t % 5 != 4)).collect::<Vec<_>>());
    for size in [4, 8, 16, 32, 64, 128] {
        let checker = Checker::new();
        let launch = checker.begin_launch(two_ways::launch(2, THREADS), &[]);
        let mut writer = Block::begin(&launch, 1, 0..0);
        for t in 0..THREADS {
            writer.write(0, GLOBAL + (128 * t + size) as usize - 4, 4, 1, None);
        }
        let mut reader = Block::begin(&launch, 2, 0..0);
        reader.trace();
        let of = Lines { first: GLOBAL as u64, steps: [128, 0, 0] };
        let affine = AffineAddresses { of: &of, dim: &[THREADS, 1, 1], active: &active };
        reader.batches(&[row(0, size, false, Addresses::Affine(affine))], &(0..0));
        let found: Vec<_> = reader.take_traced().iter().filter_map(|race| race.later.thread).collect();
        let wanted: Vec<_> = (0..THREADS).filter(|t| t % 5 != 4).collect();
        assert_eq!(found, wanted, "{size} bytes");
    }
}
