//! Accesses that barriers keep apart, those of blocks and of warps, in loops and under conditions.

use super::*;

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
    k.looped(
        half,
        Step::UDiv(2),
        |k, v| k.ult(zero, v),
        |k, v| {
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
        },
    );
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
        k.looped(
            one,
            Step::Mul(2),
            |k, v| k.ult(v, size),
            |k, v| {
                let twice = k.mulc(v, factor);
                let at = k.mul(twice, t);
                let inside = k.ult(at, size);
                k.when(inside, |k| {
                    let other = k.add(at, v);
                    sites.push(k.read(s, other));
                    sites.push(k.write(s, at));
                });
                k.sync();
            },
        );
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
        k.looped(
            one,
            Step::Mul(2),
            |k, v| k.ult(v, size),
            |k, v| {
                sites.push(k.write(a, t));
                if barrier {
                    k.sync();
                }
                let partner = k.bin(BinOp::Xor, t, v);
                sites.push(k.read(a, partner));
                k.sync();
                k.write(b, t);
            },
        );
        (k, sites)
    };
    proved(kernel(true).0);
    let (k, sites) = kernel(false);
    let p = k.done();
    at_launch(&p, &launch([1, 1, 1], [8, 1, 1], &p, &[]), &sites);
}

/// Bitonic sort: the lower partner of each pair swaps.
#[test]
fn bitonic_sort() {
    let kernel = |guarded: bool| {
        let mut k = Kernel::new("bitonic");
        let s = k.shared("s", 4096);
        let (t, size, two, zero) = (k.tid(), k.bdim(), k.c(2), k.c(0));
        let mut sites = Vec::new();
        k.looped(
            two,
            Step::Mul(2),
            |k, v| k.p.exprs.cmp(CmpOp::Ule, v, size),
            |k, outer| {
                let half = k.binc(BinOp::LShr, outer, 1);
                k.looped(
                    half,
                    Step::UDiv(2),
                    |k, v| k.ult(zero, v),
                    |k, v| {
                        let partner = k.bin(BinOp::Xor, t, v);
                        let lower = k.ult(t, partner);
                        let cond = if guarded { lower } else { k.p.exprs.truth(true) };
                        k.when(cond, |k| {
                            sites.push(k.read(s, t));
                            sites.push(k.write(s, partner));
                            sites.push(k.write(s, t));
                        });
                        k.sync();
                    },
                );
            },
        );
        (k, sites)
    };
    proved(kernel(true).0);
    let (k, sites) = kernel(false);
    not_proved(k, &sites);
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
