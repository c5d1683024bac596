//! Accesses that barriers of blocks and of warps separate, in loops and under conditions.

use super::*;

/// A transpose through a padded tile, which is written by rows and read by columns.
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

/// A tree reduction in shared memory. The stride halves from half of any block size on.
fn reduction(back_barrier: bool, overlap: i64) -> (Kernel, Vec<SiteId>) {
    let mut k = Kernel::new("reduce");
    let s = k.shared("s", 4096);
    let t = k.tid();
    k.write(s, t);
    k.sync();
    let size = k.bdim();
    let half = k.binc(BinOp::LShr, size, 1);
    let sites = k.halved(half, |k, v| {
        let limit = k.addc(v, overlap);
        let lower = k.ult(t, limit);
        let sites = k.when(lower, |k| {
            let other = k.add(t, v);
            vec![k.read(s, other), k.read(s, t), k.write(s, t)]
        });
        if back_barrier {
            k.sync();
        }
        sites
    });
    (k, sites)
}

#[test]
fn tree_reduction_with_exact_halves() {
    assert_eq!(proved(reduction(true, 0).0), ["blockDim.y == 1", "blockDim.z == 1"]);
    // From 48 the strides are 24, 12, 6, 3, 1. They are no powers of two, and still nothing races.
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
    only_with(|twice: bool| {
        let mut k = Kernel::new("doubling");
        let (s, t, size) = (k.shared("s", 4096), k.tid(), k.bdim());
        let sites = k.doubled(size, |k, v| {
            let stride = k.mulc(v, if twice { 2 } else { 1 });
            let at = k.mul(stride, t);
            let inside = k.ult(at, size);
            let sites = k.when(inside, |k| {
                let other = k.add(at, v);
                vec![k.read(s, other), k.write(s, at)]
            });
            k.sync();
            sites
        });
        (k, sites)
    });
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
        let (t, size) = (k.tid(), k.bdim());
        let sites = k.doubled(size, |k, v| {
            let write = k.write(a, t);
            if barrier {
                k.sync();
            }
            let partner = k.bin(BinOp::Xor, t, v);
            let read = k.read(a, partner);
            k.sync();
            k.write(b, t);
            [write, read]
        });
        (k, sites)
    };
    proved(kernel(true).0);
    let (k, sites) = kernel(false);
    let p = k.done();
    at_launch(&p, &launch([1, 1, 1], [8, 1, 1], &p, &[]), &sites);
}

/// A bitonic sort. The lower partner of each pair swaps.
#[test]
fn bitonic_sort() {
    only_with(|guarded: bool| {
        let mut k = Kernel::new("bitonic");
        let (s, t, size, two) = (k.shared("s", 4096), k.tid(), k.bdim(), k.c(2));
        let exchange = |k: &mut Kernel, v: E| {
            let partner = k.bin(BinOp::Xor, t, v);
            let lower = k.ult(t, partner);
            let cond = if guarded { lower } else { k.p.exprs.truth(true) };
            let sites = k.when(cond, |k| vec![k.read(s, t), k.write(s, partner), k.write(s, t)]);
            k.sync();
            sites
        };
        let all_sizes = |k: &mut Kernel, v: E| k.p.exprs.cmp(CmpOp::Ule, v, size);
        let sites = k.looped(two, Step::Mul(2), all_sizes, |k, outer| {
            let half = k.binc(BinOp::LShr, outer, 1);
            k.halved(half, exchange)
        });
        (k, sites)
    });
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
    for (sync, across) in [(true, 0), (false, 0), (true, 32)] {
        let (k, sites) = kernel(sync, across);
        let p = k.done();
        let racing = if (sync, across) == (true, 0) { &[][..] } else { &sites };
        at_launch(&p, &launch([1, 1, 1], [64, 1, 1], &p, &[]), racing);
    }
    only_with(|sync| kernel(sync, 0));
}

#[test]
fn double_buffer() {
    // Each iteration writes to the half that no other thread reads, and then swaps the halves.
    let kernel = |turned: bool| {
        let mut k = Kernel::new("double_buffer");
        let (s, n) = (k.shared("s", 8192), k.scalar("n"));
        let t = k.tid();
        let sites = k.range(0, n, |k, v| {
            let half = k.binc(BinOp::And, v, 1);
            let there = k.mulc(half, 1024);
            let own = k.add(there, t);
            let write = k.write(s, own);
            k.sync();
            let size = k.bdim();
            let up = k.addc(t, 1);
            let next = k.bin(BinOp::URem, up, size);
            let there = if turned { there } else { k.c(0) };
            let neighbour = k.add(there, next);
            [write, k.read(s, neighbour)]
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
    only_with(|uniform: bool| {
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
    });
}

/// How a kernel differs from one whose threads behind `n` end before the barrier.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Exit {
    /// `if (i >= n) return; s[t] = ..; barrier; .. = s[0]`
    Early,
    /// It ends in the middle too: `if (t >= m) return; s[t] = ..; barrier; .. = s[m - 1 - t]`.
    Twice,
    /// Those that end read what no other thread writes.
    EndsApart,
    /// There is no barrier.
    NoBarrier,
    /// Those that end write before what others read behind the barrier.
    WritesBefore,
    /// Those that end read what others write.
    ReadsAfter,
    /// Those that end come to a barrier behind that of the others.
    LaterBarrier,
    /// It is in a loop.
    InLoop,
    /// Of those that go on only some come to the barrier, and all to the next one.
    Apart,
    /// How often those that go on come to the barrier differs.
    Rounds,
}

/// Returns the kernel, and the sites that are not proved.
fn exit(case: Exit) -> (Kernel, Vec<SiteId>) {
    let mut k = Kernel::new("exit");
    let (s, n, m) = (k.shared("s", 4096), k.scalar("n"), k.scalar("m"));
    let (i, t) = (k.gid(), k.tid());
    let mut open = Vec::new();
    if case == Exit::WritesBefore {
        open.push(k.write(s, t));
    }
    let inside = k.lt(i, n);
    let body = |k: &mut Kernel| {
        let mut open = Vec::new();
        let own = k.write(s, t);
        let (zero, next) = (k.c(0), k.addc(t, 1));
        let few = k.ltc(t, 2);
        match case {
            Exit::NoBarrier => {}
            Exit::Apart => {
                k.when(few, Kernel::sync);
                k.sync();
            }
            Exit::Rounds => k.range(0, t, |k, _| k.sync()),
            _ => k.sync(),
        }
        let read = k.read(s, if case == Exit::WritesBefore { next } else { zero });
        if matches!(case, Exit::NoBarrier | Exit::Apart | Exit::Rounds | Exit::LaterBarrier | Exit::InLoop) {
            open.extend([own, read]);
        } else if case == Exit::WritesBefore {
            open.push(read);
        } else if case == Exit::ReadsAfter {
            open.push(own);
        } else if case == Exit::Twice {
            k.sync();
            let goes_on = k.lt(t, m);
            k.when(goes_on, |k| {
                k.write(s, t);
                k.sync();
                let last = k.addc(m, -1);
                let other = k.sub(last, t);
                k.read(s, other);
            });
        }
        open
    };
    if case == Exit::InLoop {
        open.extend(k.range(0, m, |k, _| k.when(inside, body)));
    } else {
        open.extend(k.when(inside, body));
    }
    let after = k.addc(t, if case == Exit::EndsApart { 512 } else { -1 });
    match case {
        Exit::EndsApart => {
            k.read(s, after);
        }
        Exit::ReadsAfter => open.push(k.read(s, after)),
        Exit::LaterBarrier => k.sync(),
        _ => {}
    }
    (k, open)
}

#[test]
fn threads_that_end_before_a_barrier() {
    for case in [Exit::Early, Exit::Twice, Exit::EndsApart] {
        let p = exit(case).0.done();
        for (n, m) in [(16, 8), (15, 7), (13, 3), (9, 1), (3, 2)] {
            let launch = launch([2, 1, 1], [8, 1, 1], &p, &[n, m]);
            assert!(racing(&p, &launch, 0).is_empty(), "{case:?}");
            let outcome = prove_with(&p, &launch);
            assert!(all_proved(&outcome), "{case:?}, {n}, {m}: {:?}", outcome.verdicts.sites);
        }
    }
}

#[test]
fn threads_that_end_order_nothing_else() {
    for case in [
        Exit::NoBarrier,
        Exit::WritesBefore,
        Exit::ReadsAfter,
        Exit::LaterBarrier,
        Exit::InLoop,
        Exit::Apart,
        Exit::Rounds,
    ] {
        let (k, open) = exit(case);
        let p = k.done();
        let launch = launch([2, 1, 1], [8, 1, 1], &p, &[13, 2]);
        let outcome = prove_with(&p, &launch);
        for site in &outcome.verdicts.sites {
            let is_open = !matches!(site.verdict, Verdict::Proved | Verdict::ProvedIf(_));
            assert_eq!(is_open, open.contains(&site.site), "{case:?}: {site:?}");
        }
    }
}
