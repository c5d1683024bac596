//! One kernel for each proof technique, proved, beside its neighbour in which
//! the same access must not be. Where a launch is given, the same holds there,
//! and the oracle agrees.
mod common;

use common::*;
use gpurace_protocol::expr::*;
use gpurace_protocol::protocol::*;
use gpurace_protocol::verdict::Verdict;

#[test]
fn objects_that_are_only_read() {
    let kernel = |written: bool| {
        let mut k = Kernel::new("lookup");
        let table = k.pointer("table");
        let (i, any) = (k.gid(), k.opaque("value loaded from `idx`", Width::W32, Uniform::Thread, &[]));
        let read = k.read(table, any);
        if written {
            k.write(table, i);
        }
        (k, read)
    };
    assert_eq!(proved(kernel(false).0), Vec::<String>::new());
    let (k, read) = kernel(true);
    not_proved(k, &[read]);
}

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
        let mut site = SiteId(0);
        k.when(cond, |k| site = k.write(s, zero));
        (k, site)
    };
    assert_eq!(proved(kernel(true).0), ["blockDim.y == 1", "blockDim.z == 1"]);
    let (k, _) = kernel(false);
    assert!(proved(k).contains(&"blockDim.x == 1".to_owned()));
    let p = kernel(false).0.done();
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
        let mut site = SiteId(0);
        k.when(first, |k| site = k.write(out, at));
        (k, site)
    };
    proved(kernel(true).0);
    // Every block writes the first element; only one block is right.
    let (k, _) = kernel(false);
    assert!(proved(k).contains(&"gridDim.x == 1".to_owned()));
}

#[test]
fn grid_stride_loop() {
    let kernel = |whole_grid: bool| {
        let mut k = Kernel::new("grid_stride");
        let (x, n) = (k.pointer("x"), k.scalar("n"));
        let (i, b, g) = (k.gid(), k.bdim(), k.gdim());
        let step = if whole_grid { k.mul(b, g) } else { b };
        let mut site = SiteId(0);
        k.looped(i, Step::Add(step), |k, v| k.lt(v, n), |k, v| site = k.write(x, v));
        (k, site)
    };
    let conditions = proved(kernel(true).0);
    assert!(conditions.iter().any(|c| c.contains("fits 32 bits")), "{conditions:?}");
    let p = kernel(true).0.done();
    at_launch(&p, &launch([3, 1, 1], [8, 1, 1], &p, &[100]), &[]);
    // Steps of one block's size: blocks overtake one another.
    let (k, site) = kernel(false);
    let p = k.done();
    assert_eq!(words(&prove(&p)), ["racy"]);
    at_launch(&p, &launch([3, 1, 1], [8, 1, 1], &p, &[100]), &[site]);
}

/// Linear over x, y and z of block and grid.
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
        let mut site = SiteId(0);
        k.when(inside, |k| {
            let start = k.mul(row, w);
            let i = k.add(start, col);
            site = k.write(a, i);
        });
        (k, site)
    };
    proved(kernel(true).0);
    let (k, site) = kernel(false);
    // Without the guard the launch has to keep columns inside the row.
    let conditions = proved(k);
    assert!(conditions.contains(&"blockDim.x * gridDim.x <= w".to_owned()), "{conditions:?}");
    let p = kernel(false).0.done();
    at_launch(&p, &launch([2, 1, 1], [4, 2, 1], &p, &[8, 2]), &[]);
    at_launch(&p, &launch([2, 1, 1], [4, 2, 1], &p, &[7, 2]), &[site]);
}

/// Blocks of 16 threads that write eight pieces of a row each: how wide a block
/// is follows from several factors.
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
    let mut site = SiteId(0);
    k.range(0, to, |k, i| {
        let apart = k.mulc(i, 16);
        let at = k.add(at, apart);
        site = k.write(a, at);
    });
    (k, site)
}

#[test]
fn rows_hold_what_their_blocks_write() {
    let conditions = proved(pieces_of_a_row(8).0);
    assert!(conditions.iter().any(|c| c.contains("gridDim.x") && c.ends_with("* 128 <= w")), "{conditions:?}");
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
            let mut site = SiteId(0);
            k.when(guard, |k| {
                let zero = k.c(0);
                site = k.write(a, zero);
            });
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
    // One that asks which thread it is, is for several.
    let (k, site) = kernel(true);
    not_proved(k, &[site]);
}

/// A tile with padding, written by rows and read by columns.
fn transpose(tile: i64, pad: i64, barrier: bool, diagonal: bool) -> (Kernel, Vec<SiteId>) {
    let mut k = Kernel::new("transpose");
    let (inp, out) = (k.pointer("in"), k.pointer("out"));
    let (w, h) = (k.scalar("w"), k.scalar("h"));
    let s = k.shared("tile", (tile * (tile + pad) * 4) as u64);
    let (tx, ty) = (k.tid(), k.tidy());
    let (mut bx, mut by) = (k.bid(), k.bidy());
    if diagonal {
        // Blocks are renumbered along diagonals (square grids).
        let g = k.gdim();
        let sum = k.add(bx, by);
        (by, bx) = (bx, k.bin(BinOp::URem, sum, g));
    }
    let (cx, cy) = (k.mulc(bx, tile), k.mulc(by, tile));
    let (x, y) = (k.add(cx, tx), k.add(cy, ty));
    let row = k.mul(y, w);
    let from = k.add(row, x);
    k.read(inp, from);
    let line = k.mulc(ty, tile + pad);
    let here = k.add(line, tx);
    let write = k.write(s, here);
    if barrier {
        k.sync();
    }
    let column = k.mulc(tx, tile + pad);
    let there = k.add(column, ty);
    let read = k.read(s, there);
    let (ox, oy) = (k.add(cy, tx), k.add(cx, ty));
    let row = k.mul(oy, h);
    let to = k.add(row, ox);
    let store = k.write(out, to);
    (k, vec![write, read, store])
}

#[test]
fn tiled_transposes() {
    for (pad, diagonal) in [(0, false), (1, false), (1, true)] {
        let p = transpose(16, pad, true, diagonal).0.done();
        at_launch(&p, &launch([2, 2, 1], [16, 16, 1], &p, &[32, 32]), &[]);
        let (k, sites) = transpose(16, pad, false, diagonal);
        let p = k.done();
        at_launch(&p, &launch([2, 2, 1], [16, 16, 1], &p, &[32, 32]), &sites[..2]);
    }
    let conditions = proved(transpose(16, 1, true, false).0);
    assert!(conditions.contains(&"blockDim.x <= 16".to_owned()), "{conditions:?}");
    let (k, sites) = transpose(16, 1, false, false);
    not_proved(k, &sites[..2]);
}

/// Tree reduction in shared memory; halving from any block size.
fn reduction(back_barrier: bool, overlap: i64) -> (Kernel, Vec<SiteId>) {
    let mut k = Kernel::new("reduce");
    let s = k.shared("s", 4096);
    let t = k.tid();
    k.write(s, t);
    k.sync();
    let size = k.bdim();
    let half = k.binc(BinOp::LShr, size, 1);
    let zero = k.c(0);
    let mut sites = Vec::new();
    k.looped(half, Step::UDiv(2), |k, v| k.ult(zero, v), |k, v| {
        let limit = k.addc(v, overlap);
        let lower = k.ult(t, limit);
        k.when(lower, |k| {
            let other = k.add(t, v);
            sites.push(k.read(s, other));
            sites.push(k.read(s, t));
            sites.push(k.write(s, t));
        });
        if back_barrier {
            k.sync();
        }
    });
    (k, sites)
}

#[test]
fn tree_reduction_with_exact_halves() {
    assert_eq!(proved(reduction(true, 0).0), ["blockDim.y == 1", "blockDim.z == 1"]);
    // 48 halves to 24, 12, 6, 3, 1: not powers of two, and still apart.
    let p = reduction(true, 0).0.done();
    for size in [48, 33, 64, 1] {
        at_launch(&p, &launch([1, 1, 1], [size, 1, 1], &p, &[]), &[]);
    }
    let (k, sites) = reduction(false, 0);
    not_proved(k, &[sites[0], sites[2]]);
    let (k, sites) = reduction(true, 1);
    not_proved(k, &[sites[0], sites[2]]);
}

#[test]
fn doubling_strides() {
    // s[2 * stride * tid] += s[2 * stride * tid + stride]
    let kernel = |factor: i64| {
        let mut k = Kernel::new("doubling");
        let s = k.shared("s", 4096);
        let (t, size, one) = (k.tid(), k.bdim(), k.c(1));
        let mut sites = Vec::new();
        k.looped(one, Step::Mul(2), |k, v| k.ult(v, size), |k, v| {
            let twice = k.mulc(v, factor);
            let at = k.mul(twice, t);
            let inside = k.ult(at, size);
            k.when(inside, |k| {
                let other = k.add(at, v);
                sites.push(k.read(s, other));
                sites.push(k.write(s, at));
            });
            k.sync();
        });
        (k, sites)
    };
    proved(kernel(2).0);
    let (k, sites) = kernel(1);
    not_proved(k, &sites);
}

#[test]
fn tiled_matrix_product_needs_both_barriers() {
    let kernel = |first: bool, second: bool| {
        let mut k = Kernel::new("matmul");
        let (a, b, c, n) = (k.pointer("a"), k.pointer("b"), k.pointer("c"), k.scalar("n"));
        let (sa, sb) = (k.shared("sa", 1024), k.shared("sb", 1024));
        let (tx, ty, bx, by) = (k.tid(), k.tidy(), k.bid(), k.bidy());
        let (y0, x0) = (k.mulc(by, 16), k.mulc(bx, 16));
        let (row, col) = (k.add(y0, ty), k.add(x0, tx));
        let tiles = k.binc(BinOp::SDiv, n, 16);
        let line = k.mulc(ty, 16);
        let here = k.add(line, tx);
        let mut shared = Vec::new();
        k.range(0, tiles, |k, m| {
            let from = k.mulc(m, 16);
            let start = k.mul(row, n);
            let across = k.add(from, tx);
            let ia = k.add(start, across);
            k.read(a, ia);
            shared.push(k.write(sa, here));
            let down = k.add(from, ty);
            let start = k.mul(down, n);
            let ib = k.add(start, col);
            k.read(b, ib);
            shared.push(k.write(sb, here));
            if first {
                k.sync();
            }
            let sixteen = k.c(16);
            k.range(0, sixteen, |k, j| {
                let ia = k.add(line, j);
                shared.push(k.read(sa, ia));
                let down = k.mulc(j, 16);
                let ib = k.add(down, tx);
                shared.push(k.read(sb, ib));
            });
            if second {
                k.sync();
            }
        });
        let start = k.mul(row, n);
        let to = k.add(start, col);
        k.write(c, to);
        (k, shared)
    };
    let conditions = proved(kernel(true, true).0);
    for needed in ["blockDim.x <= 16", "blockDim.y <= 16", "gridDim.x * 16 <= n"] {
        assert!(conditions.contains(&needed.to_owned()), "{needed} in {conditions:?}");
    }
    for (first, second) in [(true, false), (false, true)] {
        let (k, shared) = kernel(first, second);
        let p = k.done();
        let outcome = prove(&p);
        for s in outcome.verdicts.sites.iter().filter(|s| shared.contains(&s.site)) {
            assert!(!matches!(s.verdict, Verdict::Proved | Verdict::ProvedIf(_)), "{s:?}");
        }
        at_launch(&p, &launch([2, 2, 1], [16, 16, 1], &p, &[32]), &shared);
    }
}

#[test]
fn butterfly_exchange_needs_a_barrier_between() {
    let kernel = |barrier: bool| {
        let mut k = Kernel::new("butterfly");
        let (a, b) = (k.shared("a", 4096), k.shared("b", 4096));
        let (t, size, one) = (k.tid(), k.bdim(), k.c(1));
        let mut sites = Vec::new();
        k.looped(one, Step::Mul(2), |k, v| k.ult(v, size), |k, v| {
            sites.push(k.write(a, t));
            if barrier {
                k.sync();
            }
            let partner = k.bin(BinOp::Xor, t, v);
            sites.push(k.read(a, partner));
            k.sync();
            k.write(b, t);
        });
        (k, sites)
    };
    proved(kernel(true).0);
    let (k, sites) = kernel(false);
    let p = k.done();
    at_launch(&p, &launch([1, 1, 1], [8, 1, 1], &p, &[]), &sites);
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

/// Bitonic sort: the lower partner of each pair swaps.
#[test]
fn bitonic_sort() {
    let kernel = |guarded: bool| {
        let mut k = Kernel::new("bitonic");
        let s = k.shared("s", 4096);
        let (t, size, two, zero) = (k.tid(), k.bdim(), k.c(2), k.c(0));
        let mut sites = Vec::new();
        k.looped(two, Step::Mul(2), |k, v| k.p.exprs.cmp(CmpOp::Ule, v, size), |k, outer| {
            let half = k.binc(BinOp::LShr, outer, 1);
            k.looped(half, Step::UDiv(2), |k, v| k.ult(zero, v), |k, v| {
                let partner = k.bin(BinOp::Xor, t, v);
                let lower = k.ult(t, partner);
                let cond = if guarded { lower } else { k.p.exprs.truth(true) };
                k.when(cond, |k| {
                    sites.push(k.read(s, t));
                    sites.push(k.write(s, partner));
                    sites.push(k.write(s, t));
                });
                k.sync();
            });
        });
        (k, sites)
    };
    proved(kernel(true).0);
    let (k, sites) = kernel(false);
    not_proved(k, &sites);
}

#[test]
fn two_parts_of_dynamic_shared_memory() {
    let kernel = |guarded: bool| {
        let mut k = Kernel::new("carved");
        let (s, n) = (k.dynamic("s"), k.scalar("n"));
        let t = k.tid();
        let inside = k.lt(t, n);
        let cond = if guarded { inside } else { k.p.exprs.truth(true) };
        k.when(cond, |k| {
            k.write(s, t);
            let second = k.add(n, t);
            k.write(s, second);
        });
        k
    };
    let guarded = proved(kernel(true));
    assert!(!guarded.contains(&"blockDim.x <= n".to_owned()), "{guarded:?}");
    let conditions = proved(kernel(false));
    assert!(conditions.contains(&"blockDim.x <= n".to_owned()), "{conditions:?}");
}

#[test]
fn warps_between_warp_syncs() {
    let kernel = |sync: bool, across: i64| {
        let mut k = Kernel::new("warp");
        let s = k.shared("s", 4096);
        let (t, lane) = (k.tid(), k.lane());
        let base = k.sub(t, lane);
        let w = k.write(s, t);
        if sync {
            k.warp_sync();
        }
        // The same warp's first element, or the next warp's.
        let other = k.addc(base, across);
        let r = k.read(s, other);
        (k, vec![w, r])
    };
    let p = kernel(true, 0).0.done();
    at_launch(&p, &launch([1, 1, 1], [64, 1, 1], &p, &[]), &[]);
    let (k, sites) = kernel(false, 0);
    let p = k.done();
    at_launch(&p, &launch([1, 1, 1], [64, 1, 1], &p, &[]), &sites);
    let (k, sites) = kernel(true, 32);
    let p = k.done();
    at_launch(&p, &launch([1, 1, 1], [64, 1, 1], &p, &[]), &sites);
    proved(kernel(true, 0).0);
    let (k, sites) = kernel(false, 0);
    not_proved(k, &sites);
}

#[test]
fn atomics_on_the_same_bytes() {
    let kernel = |scope: ScopeOf, size: i64, plain: bool| {
        let mut k = Kernel::new("histogram");
        let bins = k.pointer("bins");
        let any = k.opaque("value loaded from `data`", Width::W32, Uniform::Thread, &[]);
        let low = k.binc(BinOp::And, any, 255);
        let first = k.access(Op::Atomic { scope, writes: true }, bins, low, 4);
        let index = k.p.exprs.zext(Width::W64, low);
        let by = k.p.exprs.c64(4);
        let offset = k.p.exprs.product(index, by);
        let op = if plain { Op::Read } else { Op::Atomic { scope, writes: true } };
        let second = k.access_bytes(op, bins, offset, size);
        (k, vec![first, second])
    };
    assert_eq!(proved(kernel(ScopeOf::Device, 4, false).0), Vec::<String>::new());
    for (scope, size, plain) in
        [(ScopeOf::Block, 4, false), (ScopeOf::Device, 8, false), (ScopeOf::Device, 4, true)]
    {
        let (k, sites) = kernel(scope, size, plain);
        let racing = if scope == ScopeOf::Block { sites } else { vec![sites[0], sites[1]] };
        not_proved(k, &racing);
    }
}

#[test]
fn bytes_not_elements() {
    // float4 by one kernel half, one of its floats by the other
    let kernel = |apart: i64| {
        let mut k = Kernel::new("vectors");
        let s = k.shared("s", 1 << 16);
        let t = k.tid();
        let wide = k.p.exprs.zext(Width::W64, t);
        let by = k.p.exprs.c64(apart);
        let offset = k.p.exprs.product(wide, by);
        let site = k.access_bytes(Op::Write, s, offset, 16);
        (k, site)
    };
    proved(kernel(16).0);
    let (k, site) = kernel(12);
    not_proved(k, &[site]);
}

#[test]
fn double_buffer() {
    // Writes the half that the others do not read, then turns.
    let kernel = |turned: bool| {
        let mut k = Kernel::new("double_buffer");
        let (s, n) = (k.shared("s", 8192), k.scalar("n"));
        let t = k.tid();
        let mut sites = Vec::new();
        k.range(0, n, |k, v| {
            let half = k.binc(BinOp::And, v, 1);
            let there = k.mulc(half, 1024);
            let own = k.add(there, t);
            sites.push(k.write(s, own));
            k.sync();
            let size = k.bdim();
            let up = k.addc(t, 1);
            let next = k.bin(BinOp::URem, up, size);
            let there = if turned { there } else { k.c(0) };
            let neighbour = k.add(there, next);
            sites.push(k.read(s, neighbour));
        });
        (k, sites)
    };
    proved(kernel(true).0);
    let (k, sites) = kernel(false);
    let p = k.done();
    at_launch(&p, &launch([1, 1, 1], [8, 1, 1], &p, &[4]), &sites);
}

#[test]
fn stencil_with_two_buffers_and_in_place() {
    let kernel = |in_place: bool| {
        let mut k = Kernel::new("stencil");
        let (a, n) = (k.pointer("a"), k.scalar("n"));
        let b = if in_place { a } else { k.pointer("b") };
        let i = k.gid();
        let last = k.addc(n, -1);
        let zero = k.c(0);
        let (low, high) = (k.lt(zero, i), k.lt(i, last));
        let inside = k.p.exprs.both(low, high);
        let mut sites = Vec::new();
        k.when(inside, |k| {
            for d in [-1, 0, 1] {
                let at = k.addc(i, d);
                sites.push(k.read(a, at));
            }
            sites.push(k.write(b, i));
        });
        (k, sites)
    };
    let conditions = proved(kernel(false).0);
    assert!(conditions.contains(&"disjoint(a, b)".to_owned()));
    let (k, sites) = kernel(true);
    not_proved(k, &[sites[0], sites[2], sites[3]]);
}

#[test]
fn disjoint_is_tested_by_bytes() {
    let mut k = Kernel::new("copy");
    let (a, b) = (k.pointer("a"), k.pointer("b"));
    let i = k.gid();
    k.read(a, i);
    k.write(b, i);
    let p = k.done();
    let outcome = prove(&p);
    let holds = |shift: u64| {
        let mut at = launch([2, 1, 1], [32, 1, 1], &p, &[]);
        let base = at.params[0] + shift;
        at.params[1] = base;
        // Both in one large allocation, as pools do it.
        let pool = Some((at.params[0], at.params[0] + (1 << 20)));
        at.objects[0].as_mut().unwrap().allocation = pool;
        *at.objects[1].as_mut().unwrap() =
            gpurace_protocol::launch::Extent { base, allocation: pool };
        outcome.verdicts.sites.iter().all(|s| match &s.verdict {
            Verdict::ProvedIf(all) => all.iter().all(|c| c.holds(&p, &outcome.verdicts.exprs, &at)),
            Verdict::Proved => true,
            _ => false,
        })
    };
    assert!(holds(256));
    assert!(!holds(252));
    assert!(!holds(0));
}

#[test]
fn in_place_at_a_launch() {
    // The same array for input and output: right, where each thread reads what
    // it writes.
    let mut k = Kernel::new("square");
    let (a, b) = (k.pointer("a"), k.pointer("b"));
    let i = k.gid();
    k.read(a, i);
    k.write(b, i);
    let p = k.done();
    let mut at = launch([2, 1, 1], [32, 1, 1], &p, &[]);
    at.params[1] = at.params[0];
    at.objects[1] = at.objects[0];
    at_launch(&p, &at, &[]);
    let base = at.params[0] + 4;
    at.params[1] = base;
    at.objects[1].as_mut().unwrap().base = base;
    at_launch(&p, &at, &[SiteId(0), SiteId(1)]);
}

#[test]
fn wrapping_is_a_condition() {
    // Three bytes a thread, in an 8-bit index: 86 threads come around.
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
    // Three has an inverse modulo 256: no two of 256 threads meet, and the
    // launch's own proof sees it.
    at_launch(&p, &launch([1, 1, 1], [256, 1, 1], &p, &[]), &[]);
    at_launch(&p, &launch([1, 1, 1], [257, 1, 1], &p, &[]), &[SiteId(0)]);
    assert_eq!(proved(kernel(Width::W32).0), ["blockDim.y == 1", "blockDim.z == 1"]);
}

#[test]
fn barriers_under_thread_dependent_control_order_nothing() {
    let kernel = |uniform: bool| {
        let mut k = Kernel::new("divergent");
        let s = k.shared("s", 4096);
        let t = k.tid();
        let n = k.scalar("n");
        let w = k.write(s, t);
        let cond = if uniform { k.ltc(n, 16) } else { k.ltc(t, 16) };
        k.when(cond, |k| k.sync());
        k.sync();
        let zero = k.c(0);
        let r = k.read(s, zero);
        (k, vec![w, r])
    };
    proved(kernel(true).0);
    let (k, sites) = kernel(false);
    not_proved(k, &sites);
}

#[test]
fn early_exit_before_a_barrier_is_settled_by_the_launch() {
    // `if (i >= n) return;` before a barrier: uniform where blocks are full.
    let mut k = Kernel::new("early_exit");
    let (s, n) = (k.shared("s", 4096), k.scalar("n"));
    let (i, t) = (k.gid(), k.tid());
    let inside = k.lt(i, n);
    let mut sites = Vec::new();
    k.when(inside, |k| {
        sites.push(k.write(s, t));
        k.sync();
        let zero = k.c(0);
        sites.push(k.read(s, zero));
    });
    let p = k.done();
    let full = launch([2, 1, 1], [8, 1, 1], &p, &[16]);
    assert!(all_proved(&prove_with(&p, &full)));
    let ragged = launch([2, 1, 1], [8, 1, 1], &p, &[15]);
    assert!(!all_proved(&prove_with(&p, &ragged)));
}

#[test]
fn unseen_code_keeps_what_it_can_reach() {
    let mut k = Kernel::new("calls");
    let (s, x) = (k.shared("s", 4096), k.pointer("x"));
    let (t, i) = (k.tid(), k.gid());
    k.write(s, t);
    k.write(x, i);
    let why = "call to unknown function 'f'".to_owned();
    k.stmt(Stmt::Unknown(Unknown { why, touches: Some(Space::Global), syncs: false }));
    let outcome = prove(&k.done());
    assert_eq!(words(&outcome), ["proved-if", "unknown"]);
}

#[test]
fn opaque_pointers_meet_everything_of_their_space() {
    let mut k = Kernel::new("opaque");
    let (s, x) = (k.shared("s", 4096), k.pointer("x"));
    let any = k.object("*table", ObjectKind::Opaque { space: Space::Global, uniform: Uniform::Thread });
    let (t, i) = (k.tid(), k.gid());
    k.write(s, t);
    k.write(x, i);
    k.read(any, i);
    let outcome = prove(&k.done());
    assert_eq!(words(&outcome), ["proved-if", "unknown", "unknown"]);
}

#[test]
fn assumptions_that_leave_no_execution_prove_nothing() {
    // With `blockDim.x == 1` asked for by an unused x, `blockDim.x > 1` is
    // never reached: that is no proof.
    let mut k = Kernel::new("vacuous");
    let s = k.shared("s", 4);
    let size = k.bdim();
    let one = k.c(1);
    let many = k.ult(one, size);
    let zero = k.c(0);
    let mut site = SiteId(0);
    k.when(many, |k| site = k.write(s, zero));
    not_proved(k, &[site]);
}
