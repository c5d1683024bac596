//! Families of kernels that repeat one construct 1 to 50 times: accesses, barriers, conditionals, loops
//! without barriers, loops with barriers. All are proved, and the cost grows no faster than the text.
mod common;

use std::time::Instant;

use common::*;
use gpurace_protocol::protocol::*;

type Family = (&'static str, fn(i64) -> Protocol);

/// `a[tid] = ...; a[tid] = ...;`
fn accesses(n: i64) -> Protocol {
    let mut k = Kernel::new("accesses");
    let a = k.shared("a", 4096);
    let t = k.tid();
    for _ in 0..n {
        k.write(a, t);
    }
    k.done()
}

/// `a[tid] = ...; __syncthreads(); a[tid + 1] ...`, back and forth.
fn barriers(n: i64) -> Protocol {
    let mut k = Kernel::new("barriers");
    let a = k.shared("a", 8192);
    let t = k.tid();
    let next = k.addc(t, 1);
    for i in 0..n {
        if i % 2 == 0 {
            k.write(a, t)
        } else {
            k.read(a, next)
        };
        k.sync();
    }
    k.done()
}

/// `if (tid < n) { if (tid < n - 1) { ... a[tid] = ...; } }`
fn conditionals(n: i64) -> Protocol {
    let mut k = Kernel::new("conditionals");
    let a = k.shared("a", 4096);
    let t = k.tid();
    let mut conds = Vec::new();
    for i in 0..n {
        conds.push(k.ltc(t, 1000 - i));
        k.open();
    }
    k.write(a, t);
    for cond in conds.into_iter().rev() {
        let then = k.close();
        k.stmt(Stmt::If { cond, then, otherwise: Vec::new() });
        k.write(a, t);
    }
    k.done()
}

/// Nested loops with an access in the innermost one.
fn nested(n: i64, barrier: bool) -> Protocol {
    fn inner(k: &mut Kernel, a: ObjectId, left: i64, barrier: bool) {
        let t = k.tid();
        if left == 0 {
            k.write(a, t);
            return;
        }
        let end = k.scalar("n");
        k.range(0, end, |k, _| {
            inner(k, a, left - 1, barrier);
            if barrier {
                k.sync();
            }
        });
    }
    let mut k = Kernel::new(if barrier { "synchronised" } else { "unsynchronised" });
    let a = k.shared("a", 4096);
    inner(&mut k, a, n, barrier);
    k.done()
}

/// Loops one after another.
fn loops(n: i64, barrier: bool) -> Protocol {
    let mut k = Kernel::new(if barrier { "synchronised" } else { "unsynchronised" });
    let a = k.shared("a", 8192);
    let t = k.tid();
    let end = k.scalar("n");
    for _ in 0..n {
        k.range(0, end, |k, _| {
            k.write(a, t);
            if barrier {
                k.sync();
                let next = k.addc(t, 1);
                k.read(a, next);
                k.sync();
            }
        });
    }
    k.done()
}

const FAMILIES: [Family; 7] = [
    ("accesses", accesses),
    ("barriers", barriers),
    ("conditionals", conditionals),
    ("unsynchronised loops", |n| loops(n, false)),
    ("synchronised loops", |n| loops(n, true)),
    ("nested unsynchronised loops", |n| nested(n, false)),
    ("nested synchronised loops", |n| nested(n, true)),
];

#[test]
fn all_sizes_are_proved_and_cost_grows_with_the_text() {
    for (name, family) in FAMILIES {
        let mut row = Vec::new();
        for n in [1, 5, 10, 25, 50] {
            let protocol = family(n);
            let start = Instant::now();
            let outcome = prove(&protocol);
            let took = start.elapsed();
            assert!(all_proved(&outcome), "{name} {n}: {:?}", outcome.verdicts.sites);
            row.push((n, outcome.stats.asked, took));
        }
        println!("{name}:");
        for (n, asked, took) in &row {
            println!("  {n:>3}: {asked:>4} queries, {took:?}");
        }
        // The number of queries is the same on every machine: a fixed number for each repeated
        // construct.
        let (first, last) = (row[1], row[4]);
        assert!(last.1 <= first.1.max(10) * 50, "{name}: {} then {} queries", first.1, last.1);
    }
}

#[test]
fn a_barrier_less_is_found_in_the_longest() {
    // One barrier is missing between a write and the read of the neighbour.
    let mut k = Kernel::new("one_less");
    let a = k.shared("a", 8192);
    let t = k.tid();
    let next = k.addc(t, 1);
    let mut sites = Vec::new();
    for i in 0..50 {
        sites.push(if i % 2 == 0 { k.write(a, t) } else { k.read(a, next) });
        if i != 24 {
            k.sync();
        }
    }
    let outcome = prove(&k.done());
    let unproved: Vec<_> = words(&outcome)
        .iter()
        .enumerate()
        .filter(|(_, w)| !w.starts_with("proved"))
        .map(|(i, _)| i)
        .collect();
    assert_eq!(unproved, [24, 25]);
}
