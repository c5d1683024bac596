//! Addresses that tell threads apart: by their indices in block and grid, under conditions, in
//! loops.

use super::*;

#[test]
fn saxpy_needs_one_dimension_and_distinct_arrays() {
    let mut k = Kernel::new("saxpy");
    let (x, y, n) = (k.pointer("x"), k.pointer("y"), k.scalar("n"));
    let i = k.gid();
    let inside = k.lt(i, n);
    k.when(inside, |k| {
        k.read(x, i);
        k.read(y, i);
        k.write(y, i);
    });
    assert_eq!(
        proved(k),
        [
            "blockDim.y == 1",
            "blockDim.z == 1",
            "blockIdx.x * blockDim.x + threadIdx.x fits 32 bits",
            "disjoint(x, y)",
            "gridDim.y == 1",
            "gridDim.z == 1",
        ]
    );
}

#[test]
fn neighbours_in_one_array_are_not_apart() {
    let mut k = Kernel::new("shift_in_place");
    let x = k.pointer("x");
    let i = k.gid();
    let next = k.addc(i, 1);
    let read = k.read(x, next);
    let write = k.write(x, i);
    let outcome = not_proved(k, &[read, write]);
    assert_eq!(words(&outcome), ["racy", "racy"]);
}

#[test]
fn block_index_left_out_needs_one_block() {
    let mut k = Kernel::new("per_block");
    let x = k.pointer("x");
    let i = k.tid();
    k.write(x, i);
    assert!(proved(k).contains(&"gridDim.x == 1".to_owned()));
}

#[test]
fn one_thread_of_the_block() {
    let kernel = |guarded: bool| {
        let mut k = Kernel::new("total");
        let s = k.shared("total", 4);
        let (t, zero) = (k.tid(), k.c(0));
        let first = k.eqc(t, 0);
        let cond = if guarded { first } else { k.p.exprs.truth(true) };
        k.when(cond, |k| k.write(s, zero));
        k
    };
    assert_eq!(proved(kernel(true)), ["blockDim.y == 1", "blockDim.z == 1"]);
    assert!(proved(kernel(false)).contains(&"blockDim.x == 1".to_owned()));
    let p = kernel(false).done();
    at_launch(&p, &launch([1, 1, 1], [2, 1, 1], &p, &[]), &[SiteId(0)]);
}

#[test]
fn one_thread_of_each_block_writes_global_memory() {
    let kernel = |by_block: bool| {
        let mut k = Kernel::new("partial_sums");
        let out = k.pointer("out");
        let (t, b, zero) = (k.tid(), k.bid(), k.c(0));
        let first = k.eqc(t, 0);
        let at = if by_block { b } else { zero };
        k.when(first, |k| k.write(out, at));
        k
    };
    proved(kernel(true));
    // Every block writes the first element. That is right for one block alone.
    assert!(proved(kernel(false)).contains(&"gridDim.x == 1".to_owned()));
}

#[test]
fn grid_stride_loop() {
    let kernel = |whole_grid: bool| {
        let mut k = Kernel::new("grid_stride");
        let (x, n) = (k.pointer("x"), k.scalar("n"));
        let (i, b, g) = (k.gid(), k.bdim(), k.gdim());
        let step = if whole_grid { k.mul(b, g) } else { b };
        let site = k.looped(i, Step::Add(step), |k, v| k.lt(v, n), |k, v| k.write(x, v));
        (k, site)
    };
    let conditions = proved(kernel(true).0);
    assert!(conditions.iter().any(|c| c.contains("fits 32 bits")), "{conditions:?}");
    let p = kernel(true).0.done();
    at_launch(&p, &launch([3, 1, 1], [8, 1, 1], &p, &[100]), &[]);
    // The step is the size of one block, so blocks access each other's elements.
    let (k, site) = kernel(false);
    let p = k.done();
    assert_eq!(words(&prove(&p)), ["racy"]);
    at_launch(&p, &launch([3, 1, 1], [8, 1, 1], &p, &[100]), &[site]);
}

/// The linear index of a thread in a block of three dimensions.
#[test]
fn linearised_ids_in_three_dimensions() {
    let kernel = |swapped: bool| {
        let mut k = Kernel::new("linear_3d");
        let s = k.dynamic("s");
        let (x, y) = (k.tid(), k.tidy());
        let z = k.p.exprs.add(Expr::Tid(Axis::Z));
        let (nx, ny) = if swapped { (k.bdimy(), k.bdim()) } else { (k.bdim(), k.bdimy()) };
        let plane = k.mul(z, ny);
        let row = k.add(plane, y);
        let rows = k.mul(row, nx);
        let i = k.add(rows, x);
        let site = k.write(s, i);
        (k, site)
    };
    proved(kernel(false).0);
    let (k, site) = kernel(true);
    let p = k.done();
    at_launch(&p, &launch([1, 1, 1], [4, 2, 2], &p, &[]), &[site]);
}

#[test]
fn rows_of_a_matrix_with_a_guarded_column() {
    let kernel = |guarded: bool| {
        let mut k = Kernel::new("matrix");
        let (a, w, h) = (k.pointer("a"), k.scalar("w"), k.scalar("h"));
        let (col, row) = (k.gid(), k.gidy());
        let (in_row, in_col) = (k.lt(row, h), k.lt(col, w));
        let inside = if guarded { k.p.exprs.both(in_row, in_col) } else { in_row };
        let site = k.when(inside, |k| {
            let start = k.mul(row, w);
            let i = k.add(start, col);
            k.write(a, i)
        });
        (k, site)
    };
    proved(kernel(true).0);
    let (k, site) = kernel(false);
    // Without the guard, the launch must have no more columns than a row.
    let conditions = proved(k);
    assert!(conditions.contains(&"blockDim.x * gridDim.x <= w".to_owned()), "{conditions:?}");
    let p = kernel(false).0.done();
    at_launch(&p, &launch([2, 1, 1], [4, 2, 1], &p, &[8, 2]), &[]);
    at_launch(&p, &launch([2, 1, 1], [4, 2, 1], &p, &[7, 2]), &[site]);
}

/// Blocks of 16 threads that write eight pieces of a row each. The width of a block follows from
/// several factors.
fn pieces_of_a_row(pieces: i64) -> (Kernel, SiteId) {
    let mut k = Kernel::new("pieces");
    let (a, w) = (k.pointer("a"), k.scalar("w"));
    let (row, bid, tid) = (k.bidy(), k.bid(), k.tid());
    let start = k.mul(row, w);
    let first = k.mulc(bid, 8);
    let first = k.mulc(first, 16);
    let column = k.add(first, tid);
    let at = k.add(start, column);
    let to = k.c(pieces);
    let site = k.range(0, to, |k, i| {
        let apart = k.mulc(i, 16);
        let at = k.add(at, apart);
        k.write(a, at)
    });
    (k, site)
}

#[test]
fn rows_hold_what_their_blocks_write() {
    let conditions = proved(pieces_of_a_row(8).0);
    assert!(
        conditions.iter().any(|c| c.contains("gridDim.x") && c.ends_with("* 128 <= w")),
        "{conditions:?}"
    );
    let p = pieces_of_a_row(8).0.done();
    at_launch(&p, &launch([2, 2, 1], [16, 1, 1], &p, &[256]), &[]);
    at_launch(&p, &launch([2, 2, 1], [16, 1, 1], &p, &[128]), &[SiteId(0)]);
    // A ninth piece is the next block's first.
    let (k, site) = pieces_of_a_row(9);
    not_proved(k, &[site]);
}

#[test]
fn a_kernel_that_looks_at_no_index_is_for_one_thread() {
    let kernel = |index: bool| {
        let mut k = Kernel::new("sum");
        let (a, n) = (k.pointer("a"), k.scalar("n"));
        if index {
            let tid = k.tid();
            let guard = k.lt(tid, n);
            let zero = k.c(0);
            let site = k.when(guard, |k| k.write(a, zero));
            return (k, site);
        }
        let zero = k.c(0);
        let site = k.write(a, zero);
        (k, site)
    };
    let conditions = proved(kernel(false).0);
    assert!(conditions.contains(&"blockDim.x == 1".to_owned()), "{conditions:?}");
    assert!(conditions.contains(&"gridDim.x == 1".to_owned()), "{conditions:?}");
    let p = kernel(false).0.done();
    at_launch(&p, &launch([1, 1, 1], [1, 1, 1], &p, &[1]), &[]);
    at_launch(&p, &launch([1, 1, 1], [2, 1, 1], &p, &[1]), &[SiteId(0)]);
    // A kernel that uses the thread's index is for several threads.
    let (k, site) = kernel(true);
    not_proved(k, &[site]);
}

#[test]
fn xor_permutes_threads() {
    let kernel = |mask: i64, op: BinOp| {
        let mut k = Kernel::new("xor");
        let s = k.shared("s", 4096);
        let t = k.tid();
        let i = k.binc(op, t, mask);
        let site = k.write(s, i);
        (k, site)
    };
    assert_eq!(proved(kernel(5, BinOp::Xor).0), ["blockDim.y == 1", "blockDim.z == 1"]);
    let (k, site) = kernel(5, BinOp::Or);
    not_proved(k, &[site]);
}

#[test]
fn wrapping_is_a_condition() {
    // Each thread skips three bytes, in an 8-bit index. With 86 threads it wraps.
    let kernel = |width: Width| {
        let mut k = Kernel::new("narrow");
        let s = k.shared("s", 4096);
        let t = k.tid();
        let i = k.mulc(t, 3);
        let cut = k.p.exprs.trunc(width, i);
        let wide = k.p.exprs.zext(Width::W64, cut);
        let site = k.access_bytes(Op::Write, s, wide, 1);
        (k, site)
    };
    let p = kernel(Width::W8).0.done();
    let outcome = prove(&p);
    let holds = |size: u32| {
        let at = launch([1, 1, 1], [size, 1, 1], &p, &[]);
        match &outcome.verdicts.sites[0].verdict {
            Verdict::ProvedIf(all) => all.iter().all(|c| c.holds(&p, &outcome.verdicts.exprs, &at)),
            other => panic!("{other:?}"),
        }
    };
    assert!(holds(85));
    assert!(!holds(87));
    // Three has an inverse modulo 256, so no two of 256 threads meet. The proof for one launch finds
    // that.
    at_launch(&p, &launch([1, 1, 1], [256, 1, 1], &p, &[]), &[]);
    at_launch(&p, &launch([1, 1, 1], [257, 1, 1], &p, &[]), &[SiteId(0)]);
    assert_eq!(proved(kernel(Width::W32).0), ["blockDim.y == 1", "blockDim.z == 1"]);
}
