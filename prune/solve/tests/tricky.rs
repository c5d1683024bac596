//! Kernels that race, or do not, because of a loop's first or last iteration, of a renumbering of
//! blocks, or of an index from memory. Each comes with and without a race. They follow the
//! descriptions in Faial's paper ("Checking data-race freedom of GPU kernels, compositionally", CAV
//! 2021) and its successor.
mod common;

use common::*;
use gpurace_protocol::expr::*;
use gpurace_protocol::protocol::*;

/// Builds a kernel: racy for true, free of races for false.
type Family = fn(bool) -> Protocol;

/// The access before a loop, and that of the first iteration, which a barrier ends.
fn first_iteration(racy: bool) -> Protocol {
    let mut k = Kernel::new("first_iteration");
    let (s, n, t, next) = k.neighbours();
    k.write(s, t);
    k.range(0, n, |k, v| {
        // Only later iterations read the neighbour.
        let zero = k.c(0);
        let later = k.lt(zero, v);
        let cond = if racy { k.p.exprs.truth(true) } else { later };
        k.when(cond, |k| k.read(s, next));
        k.sync();
    });
    k.done()
}

/// The last iteration's access behind the barrier, and the one after the loop.
fn last_iteration(racy: bool) -> Protocol {
    let mut k = Kernel::new("last_iteration");
    let (s, n, t, next) = k.neighbours();
    let last = k.addc(n, -1);
    k.range(0, n, |k, v| {
        k.sync();
        let earlier = k.lt(v, last);
        let cond = if racy { k.p.exprs.truth(true) } else { earlier };
        k.when(cond, |k| k.read(s, next));
    });
    k.write(s, t);
    k.done()
}

/// The last iteration of one loop, and the first of the next.
fn last_then_first(racy: bool) -> Protocol {
    let mut k = Kernel::new("last_then_first");
    let (s, n, t, next) = k.neighbours();
    k.range(0, n, |k, _| {
        k.sync();
        k.read(s, next);
    });
    if !racy {
        k.sync();
    }
    k.range(0, n, |k, _| {
        k.write(s, t);
        k.sync();
    });
    k.done()
}

/// An access after the inner loop, and that loop's first iteration in the next iteration of the
/// outer loop.
fn nested_rounds(racy: bool) -> Protocol {
    let mut k = Kernel::new("nested_rounds");
    let (s, n, m) = (k.shared("s", 4096), k.scalar("n"), k.scalar("m"));
    let t = k.tid();
    let next = k.addc(t, 1);
    k.range(0, n, |k, _| {
        k.range(0, m, |k, _| {
            k.write(s, t);
            k.sync();
            k.read(s, next);
            k.sync();
        });
        k.read(s, if racy { next } else { t });
    });
    k.done()
}

/// Blocks renumbered along diagonals before a tiled transpose.
fn transpose_diagonal(racy: bool) -> Protocol {
    let mut k = Kernel::new("transpose_diagonal");
    let (inp, out) = (k.pointer("in"), k.pointer("out"));
    let (w, h) = (k.scalar("w"), k.scalar("h"));
    let tile = k.shared("tile", 16 * 17 * 4);
    let (tx, ty) = (k.tid(), k.tidy());
    let (bid_x, bid_y, grid) = (k.bid(), k.bidy(), k.gdim());
    let by = bid_x;
    let sum = k.add(bid_x, bid_y);
    let bx = k.bin(BinOp::URem, sum, grid);
    let (left, top) = (k.mulc(bx, 16), k.mulc(by, 16));
    let (x, y) = (k.add(left, tx), k.add(top, ty));
    let row = k.mul(y, w);
    let from = k.add(row, x);
    k.read(inp, from);
    let line = k.mulc(ty, 17);
    let here = k.add(line, tx);
    k.write(tile, here);
    if !racy {
        k.sync();
    }
    let line = k.mulc(tx, 17);
    let there = k.add(line, ty);
    k.read(tile, there);
    let (x, y) = (k.add(top, tx), k.add(left, ty));
    let row = k.mul(y, h);
    let to = k.add(row, x);
    k.write(out, to);
    k.done()
}

/// The index of a write comes from memory. Only the run itself can tell.
fn read_index() -> Protocol {
    let mut k = Kernel::new("read_index");
    let (index, out) = (k.pointer("index"), k.pointer("out"));
    let i = k.gid();
    k.read(index, i);
    let any = k.opaque("value loaded from `index`", Width::W32, Uniform::Thread, &[]);
    k.write(out, any);
    k.done()
}

fn unproved(outcome: &gpurace_solve::Outcome) -> bool {
    words(outcome).iter().any(|w| !w.starts_with("proved"))
}

#[test]
fn iterations_at_the_edges() {
    let kernels: [(Family, &[u64]); 4] =
        [(first_iteration, &[3]), (last_iteration, &[3]), (last_then_first, &[3]), (nested_rounds, &[3, 2])];
    for (kernel, scalars) in kernels {
        let free = kernel(false);
        let outcome = prove(&free);
        assert!(all_proved(&outcome), "{}: {:?}", free.kernel, outcome.verdicts.sites);
        let at = launch([1, 1, 1], [32, 1, 1], &free, scalars);
        assert!(all_proved(&prove_with(&free, &at)), "{}", free.kernel);

        let racy = kernel(true);
        let outcome = prove(&racy);
        assert!(words(&outcome).contains(&"racy"), "{}: {:?}", racy.kernel, outcome.verdicts.sites);
        let at = launch([1, 1, 1], [32, 1, 1], &racy, scalars);
        assert!(words(&prove_with(&racy, &at)).contains(&"racy"), "{}", racy.kernel);
    }
}

#[test]
fn loops_that_do_not_run_let_accesses_meet() {
    // A loop contains the only barrier. With `n == 0` there is none.
    let mut k = Kernel::new("zero_trips");
    let (s, n, t, next) = k.neighbours();
    k.write(s, t);
    k.range(0, n, |k, _| k.sync());
    k.read(s, next);
    let p = k.done();
    assert!(unproved(&prove(&p)));
    let words_at = |n| words(&prove_with(&p, &launch([1, 1, 1], [32, 1, 1], &p, &[n])));
    assert_eq!(words_at(0), ["racy", "racy"]);
    assert_eq!(words_at(1), ["proved", "proved"]);
}

#[test]
fn diagonal_transpose() {
    let free = transpose_diagonal(false);
    let at = launch([2, 2, 1], [16, 16, 1], &free, &[32, 32]);
    assert!(all_proved(&prove_with(&free, &at)));
    let at = launch([128, 128, 1], [16, 16, 1], &free, &[2048, 2048]);
    assert!(all_proved(&prove_with(&free, &at)));
    // Two blocks get the same place if their columns differ by the number of blocks of a row.
    let at = launch([128, 256, 1], [16, 16, 1], &free, &[4096, 2048]);
    assert!(!all_proved(&prove_with(&free, &at)));
    let racy = transpose_diagonal(true);
    let at = launch([2, 2, 1], [16, 16, 1], &racy, &[32, 32]);
    assert!(words(&prove_with(&racy, &at)).contains(&"racy"));
    assert!(unproved(&prove(&racy)));
}

#[test]
fn an_index_that_was_read_is_left_to_the_run() {
    let outcome = prove(&read_index());
    assert_eq!(words(&outcome), ["proved-if", "unknown"]);
    assert!(outcome.verdicts.sites[1].why.contains("value loaded from `index`"));
}
