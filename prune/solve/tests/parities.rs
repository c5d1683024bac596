//! Indices that are linear over bits: bit reversal, Gray and Morton codes, swizzles. Each proved kernel
//! stands beside a neighbour that must not be.
mod common;

use common::*;
use gpurace_protocol::expr::*;
use gpurace_protocol::protocol::*;
use gpurace_random::{Random, number};

/// The bits of a 32-bit value in the opposite order, as the pass writes it.
fn reversed(k: &mut Kernel, x: E) -> E {
    let mut value = x;
    for (half, low) in [(16, 0xffff), (8, 0xff_00ff), (4, 0x0f0f_0f0f), (2, 0x3333_3333), (1, 0x5555_5555)] {
        let down = k.binc(BinOp::LShr, value, half);
        let (down, up) = (k.binc(BinOp::And, down, low), k.binc(BinOp::And, value, low));
        let up = k.binc(BinOp::Shl, up, half);
        value = k.bin(BinOp::Or, up, down);
    }
    value
}

/// The bits of a value with a gap after each.
fn spread(k: &mut Kernel, x: E) -> E {
    let mut value = k.binc(BinOp::And, x, 0xffff);
    for (by, mask) in [(8, 0xff_00ff), (4, 0x0f0f_0f0f), (2, 0x3333_3333), (1, 0x5555_5555)] {
        let moved = k.binc(BinOp::Shl, value, by);
        let both = k.bin(BinOp::Xor, value, moved);
        value = k.binc(BinOp::And, both, mask);
    }
    value
}

#[test]
fn bits_in_the_opposite_order() {
    // A block has 1,024 threads at most. One bit less is left in the neighbour.
    let kernel = |kept: bool| {
        let mut k = Kernel::new("reversed");
        let (x, t) = (k.pointer("x"), k.tid());
        let bits = reversed(&mut k, t);
        let at = k.binc(BinOp::LShr, bits, if kept { 22 } else { 23 });
        let site = k.write(x, at);
        (k, vec![site])
    };
    let conditions = proved(kernel(true).0);
    assert!(!conditions.iter().any(|c| c.contains("blockDim.x")), "{conditions:?}");
    // A smaller block still has places of its own.
    let (p, sites) = (kernel(false).0.done(), kernel(false).1);
    at_launch(&p, &launch([1, 1, 1], [512, 1, 1], &p, &[]), &[]);
    at_launch(&p, &launch([1, 1, 1], [513, 1, 1], &p, &[]), &sites);
}

#[test]
fn bits_in_the_opposite_order_up_to_a_number() {
    // `if (i < n) x[__brev(i) >> (32 - log)]`
    let mut k = Kernel::new("reversed_up_to");
    let (x, n, log) = (k.pointer("x"), k.scalar("n"), k.scalar("log"));
    let i = k.gid();
    let width = k.c(32);
    let by = k.sub(width, log);
    let inside = k.ult(i, n);
    let site = k.when(inside, |k| {
        let bits = reversed(k, i);
        let at = k.bin(BinOp::LShr, bits, by);
        k.write(x, at)
    });
    let p = k.done();
    at_launch(&p, &launch([4, 1, 1], [64, 1, 1], &p, &[256, 8]), &[]);
    // A number beyond the bits.
    at_launch(&p, &launch([5, 1, 1], [64, 1, 1], &p, &[257, 8]), &[site]);
}

/// Each pair of places belongs to one thread.
#[test]
fn places_exchanged_with_their_mirror_images() {
    let kernel = |once: bool| {
        let mut k = Kernel::new("exchanged");
        let (s, t) = (k.shared("s", 4 * 64), k.tid());
        let bits = reversed(&mut k, t);
        let other = k.binc(BinOp::LShr, bits, 26);
        let cond = if once { k.ult(t, other) } else { k.p.exprs.truth(true) };
        let sites = k.when(cond, |k| vec![k.write(s, t), k.write(s, other)]);
        (k.done(), sites)
    };
    let (p, _) = kernel(true);
    at_launch(&p, &launch([1, 1, 1], [64, 1, 1], &p, &[]), &[]);
    let (p, sites) = kernel(false);
    at_launch(&p, &launch([1, 1, 1], [64, 1, 1], &p, &[]), &sites);
}

#[test]
fn gray_codes() {
    let kernel = |apart: bool| {
        let mut k = Kernel::new("gray");
        let (x, i) = (k.pointer("x"), k.gid());
        let half = k.binc(BinOp::LShr, i, 1);
        let mut at = k.bin(BinOp::Xor, i, half);
        if !apart {
            at = k.binc(BinOp::LShr, at, 1);
        }
        let site = k.write(x, at);
        (k, vec![site])
    };
    proved(kernel(true).0);
    let (k, sites) = kernel(false);
    let p = k.done();
    at_launch(&p, &launch([2, 1, 1], [64, 1, 1], &p, &[]), &sites);
}

#[test]
fn a_mask_that_all_threads_have() {
    // In the neighbour each thread has a mask of its own.
    let kernel = |same: bool| {
        let mut k = Kernel::new("partner");
        let (x, t, m) = (k.pointer("x"), k.tid(), k.scalar("m"));
        let own = k.opaque("value loaded from `masks`", Width::W32, Uniform::Thread, &[]);
        let at = k.bin(BinOp::Xor, t, if same { m } else { own });
        let site = k.write(x, at);
        (k, vec![site])
    };
    only_with(kernel);
}

#[test]
fn morton_codes() {
    let kernel = |by: i64| {
        let mut k = Kernel::new("morton");
        let (x, c, r) = (k.pointer("x"), k.tid(), k.tidy());
        let (low, high) = (spread(&mut k, c), spread(&mut k, r));
        let high = k.binc(BinOp::Shl, high, by);
        let at = if by == 1 { k.bin(BinOp::Or, low, high) } else { k.bin(BinOp::Xor, low, high) };
        let site = k.write(x, at);
        (k, vec![site])
    };
    proved(kernel(1).0);
    let (k, sites) = kernel(2);
    let p = k.done();
    at_launch(&p, &launch([1, 1, 1], [8, 8, 1], &p, &[]), &sites);
}

/// Random indices over the indices of a thread and its block, against all threads of a launch.
#[test]
fn no_random_index_is_taken_for_different() {
    let (first, cases) = (number("GPURACE_SEED", 1), number("GPURACE_CASES", 100));
    let (mut proved, mut free, mut racing) = (0, 0, 0);
    for seed in first..first + cases {
        let mut r = Random(seed);
        let mut k = Kernel::new(&format!("random_{seed}"));
        let x = k.pointer("x");
        let (t, y, b, n) = (k.tid(), k.tidy(), k.bid(), k.scalar("n"));
        let linear = {
            let (w, eight) = (k.bdim(), k.c(8));
            let row = k.mul(y, w);
            let wide = k.mul(b, eight);
            let all = [k.add(row, t), k.add(wide, t)];
            r.pick(&all)
        };
        let leaves = [t, t, y, b, n, linear];
        let at = index(&mut k, &mut r, &leaves, 4);
        let at = k.binc(BinOp::And, at, 0xffff);
        let bound = k.c(r.pick(&[5, 8, 16, 1000]));
        let few = k.ult(t, bound);
        let site = k.when(few, |k| k.access(Op::Write, x, at, 1));
        let p = k.done();
        let at_compile_time = prove(&p);
        for shape in
            [([1, 1, 1], [16, 1, 1]), ([2, 1, 1], [8, 2, 1]), ([3, 1, 1], [8, 1, 1]), ([1, 1, 1], [5, 3, 1])]
        {
            let launch = launch(shape.0, shape.1, &p, &[r.below(20)]);
            let races = racing_sites(&p, &launch, site);
            let outcome = prove_with(&p, &launch);
            let is_proved = words(&outcome) == ["proved"];
            assert!(!is_proved || !races, "seed {seed}, {launch:?}: {p:#?}");
            let verdicts = &at_compile_time.verdicts;
            let held = match &verdicts.sites[0].verdict {
                gpurace_protocol::verdict::Verdict::Proved => true,
                gpurace_protocol::verdict::Verdict::ProvedIf(all) => {
                    all.iter().all(|c| c.holds(&p, &verdicts.exprs, &launch))
                }
                _ => false,
            };
            assert!(!held || !races, "seed {seed}, {launch:?}: {p:#?}");
            proved += u32::from(is_proved);
            free += u32::from(!races);
            racing += u32::from(races);
        }
    }
    println!("{proved} of {free} launches proved, {racing} race");
    assert!(cases < 100 || (proved * 10 > free * 8 && racing > 100));
}

fn racing_sites(p: &Protocol, launch: &gpurace_protocol::launch::Launch, site: SiteId) -> bool {
    racing(p, launch, 0).contains(&site)
}

/// A random value. Most are linear over bits.
fn index(k: &mut Kernel, r: &mut Random, leaves: &[E], depth: u32) -> E {
    if depth == 0 || r.chance(10) {
        return r.pick(leaves);
    }
    let x = index(k, r, leaves, depth - 1);
    let masks =
        [0x1, 0x3, 0x5, 0x7, 0xf, 0xa, 0x55, 0x33, 0xf0f, 0x5555_5555, 0x3333_3333, 0xff_00ff, -1, -2, -8];
    let amount = r.below(6) as i64;
    match r.below(12) {
        0..=3 => {
            let y = index(k, r, leaves, depth - 1);
            k.bin(BinOp::Xor, x, y)
        }
        4 => k.binc(BinOp::Shl, x, amount),
        5 => k.binc(BinOp::LShr, x, amount),
        6 => k.binc(BinOp::And, x, r.pick(&masks)),
        7 => k.binc(BinOp::Xor, x, r.pick(&masks)),
        8 => {
            let bits = reversed(k, x);
            k.binc(BinOp::LShr, bits, r.pick(&[26, 27, 28, 29, 24, 16, 0]))
        }
        9 => {
            // Disjoint bits, or nearly.
            let y = index(k, r, leaves, depth - 1);
            let (x, y) = (k.binc(BinOp::And, x, 0xf), k.binc(BinOp::Shl, y, r.pick(&[4, 4, 3, 5])));
            let op = r.pick(&[BinOp::Or, BinOp::Add]);
            k.bin(op, x, y)
        }
        10 => {
            let half = k.binc(BinOp::LShr, x, 1);
            k.bin(BinOp::Xor, x, half)
        }
        _ => {
            let wide = k.p.exprs.zext(Width::W64, x);
            let moved = k.binc(BinOp::Mul, wide, 1 << amount);
            k.p.exprs.trunc(Width::W32, moved)
        }
    }
}
