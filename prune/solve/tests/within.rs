//! Accesses that stay within their array, which only the relation of their parts shows, beside neighbours that leave
//! it.
mod common;

use common::*;
use gpurace_protocol::condition::Condition;
use gpurace_protocol::expr::*;
use gpurace_protocol::launch::Launch;
use gpurace_protocol::protocol::*;
use gpurace_protocol::race::threads;
use gpurace_protocol::run::trace;
use gpurace_protocol::verdict::{SiteVerdict, Verdict};
use gpurace_random::Random;
use gpurace_solve::Outcome;

/// A merge of keys and values in shared memory, of which one array has this many elements. The stride halves from a
/// parameter on.
fn merge(elements: u64) -> Protocol {
    let mut k = Kernel::new("merge");
    let (keys, values) = (k.shared("keys", elements * 4), k.shared("values", 512 * 4));
    let (t, from) = (k.tid(), k.scalar("from"));
    k.halved(from, |k, stride| {
        k.sync();
        let mask = k.addc(stride, -1);
        let low = k.bin(BinOp::And, t, mask);
        let twice = k.mulc(t, 2);
        let near = k.sub(twice, low);
        let far = k.add(near, stride);
        for array in [keys, values] {
            for at in [near, far] {
                k.read(array, at);
                k.write(array, at);
            }
        }
    });
    k.done()
}

#[test]
fn keys_and_values_of_a_merge() {
    let verdicts = |elements, from, threads| {
        let p = merge(elements);
        let outcome = prove_with(&p, &launch([8, 1, 1], [threads, 1, 1], &p, &[from]));
        assert!(outcome.stats.units < 5_000_000, "{:?}", outcome.stats);
        words(&outcome)
    };
    for from in [1, 2, 16, 128, 256] {
        assert_eq!(verdicts(512, from, 256), ["proved"; 8], "from {from}");
    }
    // The last thread's second element lies behind the keys, and may be a value. Only the first ones are apart from
    // all.
    let mut second = ["unknown"; 8];
    second[..2].fill("proved");
    assert_eq!(verdicts(511, 256, 256), second);
    // Both elements of a further thread lie behind both arrays.
    assert_eq!(verdicts(512, 256, 257), ["unknown"; 8]);
    // With strides from 512 on, the elements of the first threads do.
    assert_eq!(verdicts(512, 512, 256), ["unknown"; 8]);
}

/// A wavefront in a tile of 16 by 16 with a border, beside an array of 16 by 16 that it reads. The tile has this many
/// elements, and the elements of a thread lie `later` further back.
fn wavefront(elements: u64, later: i64) -> Protocol {
    let mut k = Kernel::new("wavefront");
    let (tile, costs) = (k.shared("tile", elements * 4), k.shared("costs", 256 * 4));
    let (t, end) = (k.tid(), k.c(16));
    let of_tile = k.ult(t, end);
    k.when(of_tile, |k| k.write(costs, t));
    k.range(0, end, |k, step| {
        k.sync();
        let next = k.addc(step, 1);
        let on_diagonal = k.ult(t, next);
        k.when(on_diagonal, |k| {
            let y = k.sub(step, t);
            let (down, left) = (k.mulc(y, 17), k.mulc(y, 16));
            let (at, cost) = (k.add(down, t), k.add(left, t));
            let there = k.addc(at, 18 + later);
            k.read(costs, cost);
            k.write(tile, there);
        });
    });
    k.done()
}

/// No launch has to show that arrays are disjoint where no access leaves its own in any launch.
#[test]
fn arrays_that_no_access_leaves_are_disjoint_in_all_launches() {
    let disjoint = |elements, later| {
        let outcome = prove(&wavefront(elements, later));
        assert!(all_proved(&outcome), "{:?}", words(&outcome));
        let has = |site: &SiteVerdict| match &site.verdict {
            Verdict::ProvedIf(all) => all.iter().any(|of| matches!(of, Condition::Disjoint(..))),
            _ => false,
        };
        outcome.verdicts.sites.iter().any(has)
    };
    // Thread 0 writes the last element in the last step.
    let last = 15 * 17 + 18;
    assert!(!disjoint(last + 1, 0));
    assert!(!disjoint(last + 2, 1));
    assert!(disjoint(last, 0), "an element too few");
    assert!(disjoint(last + 1, 1), "an element further back");
    assert!(disjoint(last + 1, -19), "before the tile");
}

/// A random index of a thread. Its parts are related: a part of a number is taken from it, a guard compares them.
fn index(k: &mut Kernel, r: &mut Random, known: &[E], depth: u32) -> E {
    if depth == 0 || r.chance(20) {
        return r.pick(known);
    }
    let (a, b) = (index(k, r, known, depth - 1), index(k, r, known, depth - 1));
    match r.below(7) {
        0 => k.add(a, b),
        1 => k.sub(a, b),
        2 => {
            let factor = 1 + r.below(3) as i64;
            k.mulc(a, factor)
        }
        3 => k.bin(BinOp::And, a, b),
        4 => {
            let (mask, twice) = (k.addc(b, -1), k.mulc(a, 2));
            let low = k.bin(BinOp::And, a, mask);
            k.sub(twice, low)
        }
        5 => k.binc(BinOp::UDiv, a, 2),
        _ => k.binc(BinOp::And, a, 15),
    }
}

/// Atomics on one array at random indices, reads of another one at the thread's index. They conflict only where an
/// atomic leaves its array.
fn random(r: &mut Random, size: u64) -> Protocol {
    let mut k = Kernel::new("random");
    let (bins, more) = (k.shared("bins", size), k.shared("more", 4096));
    let (t, n, end) = (k.tid(), k.scalar("n"), k.c(16));
    k.read(more, t);
    let (depth, guarded, swapped) = (1 + r.below(3) as u32, r.chance(50), r.chance(30));
    let access = |k: &mut Kernel, r: &mut Random, known: &[E]| {
        let at = index(k, r, known, depth);
        if guarded {
            let bound = r.pick(known);
            let holds = if swapped { k.ult(bound, at) } else { k.ult(at, bound) };
            k.when(holds, |k| k.atomic(bins, at));
        } else {
            k.atomic(bins, at);
        }
    };
    match r.below(3) {
        0 => access(&mut k, r, &[t, n, end]),
        1 => k.halved(n, |k, step| access(k, r, &[t, n, step])),
        _ => k.doubled(n, |k, step| access(k, r, &[t, n, step])),
    }
    k.done()
}

/// The ends of all accesses to an object in bytes, and whether one begins before it.
fn reach(p: &Protocol, launch: &Launch, object: u32) -> (i64, bool) {
    let (mut end, mut before) = (0, false);
    for thread in threads(launch) {
        let ran = trace(p, launch, thread, &mut |_| 0, 100_000).expect("it ends");
        for touch in ran.touches.iter().filter(|touch| touch.object == object) {
            end = end.max(touch.offset.saturating_add(touch.size as i64));
            before |= touch.offset < 0;
        }
    }
    (end, before)
}

/// True if every site is proved for a launch by proofs for all launches.
fn hold(p: &Protocol, outcome: &Outcome, at: &Launch) -> bool {
    outcome.verdicts.sites.iter().all(|site| match &site.verdict {
        Verdict::Proved => true,
        Verdict::ProvedIf(all) => all.iter().all(|of| of.holds(p, &outcome.verdicts.exprs, at)),
        Verdict::Racy(_) | Verdict::Unknown(_) => false,
    })
}

/// Nothing is proved where some thread leaves the array. Where none does, most is.
#[test]
fn random_indices_stay_within_as_those_of_all_threads_do() {
    let (mut stay, mut proved, mut general) = (0, 0, 0);
    for seed in 0..200 {
        let made = |size| random(&mut Random(seed), size);
        let mut r = Random(seed + 1_000_000);
        let (block, n) = (1 + r.below(24) as u32, r.below(33));
        let p = made(4096);
        let at = launch([1, 1, 1], [block, 1, 1], &p, &[n]);
        let (end, before) = reach(&p, &at, 0);
        if !(4..=1 << 16).contains(&end) {
            continue;
        }
        // The array ends with the last access, or with an element less.
        for (size, leaves) in [(end as u64, before), (end as u64 - 4, true)] {
            let p = made(size);
            let outcome = prove_with(&p, &launch([1, 1, 1], [block, 1, 1], &p, &[n]));
            let all = words(&outcome).iter().all(|word| *word == "proved");
            let in_all_launches = hold(&p, &prove(&p), &at);
            assert!(
                !(leaves && (all || in_all_launches)),
                "seed {seed}, {size} bytes: an access leaves them"
            );
            stay += usize::from(!leaves);
            proved += usize::from(!leaves && all);
            general += usize::from(!leaves && in_all_launches);
        }
    }
    println!("{stay} stay within, {proved} of these proved, {general} by proofs for all launches");
    assert!(stay >= 50 && proved * 10 >= stay * 8, "{proved} of {stay}");
}
