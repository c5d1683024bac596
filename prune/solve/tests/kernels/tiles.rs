//! Accesses that syncs of some lanes order: tiles and constant masks.

use super::*;

const ONE: [u32; 3] = [1, 1, 1];

fn with_block(p: &Protocol, block: [u32; 3], expected: &[SiteId]) {
    at_launch(p, &launch(ONE, block, p, &[]), expected);
}

/// Each thread writes its element, syncs, and reads the element of `other` of its index.
fn exchange(
    sync: impl FnOnce(&mut Kernel),
    other: impl FnOnce(&mut Kernel, E) -> E,
) -> (Kernel, Vec<SiteId>) {
    let mut k = Kernel::new("exchange");
    let (s, t) = (k.shared("s", 4096), k.tid());
    let write = k.write(s, t);
    sync(&mut k);
    let at = other(&mut k, t);
    let read = k.read(s, at);
    (k, vec![write, read])
}

#[test]
fn tiles_exchange() {
    for size in [2, 4, 8, 16] {
        let within = |k: &mut Kernel, t| k.binc(BinOp::Xor, t, i64::from(size) - 1);
        assert_eq!(proved(exchange(|k| k.tile_sync(size), within).0), ["blockDim.y == 1", "blockDim.z == 1"]);
        let p = exchange(|k| k.tile_sync(size), within).0.done();
        for block in [[64, 1, 1], [48, 1, 1], [4, 1, 1]] {
            with_block(&p, block, &[]);
        }
        // A wider tile orders them too. A smaller one does not, and no sync does not.
        proved(exchange(|k| k.tile_sync(16), within).0);
        let (k, sites) = exchange(|k| k.tile_sync(size / 2), within);
        not_proved(k, &sites);
        let (k, sites) = exchange(|_| {}, within);
        not_proved(k, &sites);
        // Threads of two tiles are not ordered.
        let across = |k: &mut Kernel, t| k.binc(BinOp::Xor, t, i64::from(size));
        let (k, sites) = exchange(|k| k.tile_sync(size), across);
        let p = k.done();
        with_block(&p, [64, 1, 1], &sites);
        let (k, sites) = exchange(|k| k.tile_sync(size), across);
        not_proved(k, &sites);
    }
}

#[test]
fn tiles_do_not_reach_into_the_next_warp() {
    let mirrored = |k: &mut Kernel, t| k.binc(BinOp::Xor, t, 32);
    let (k, sites) = exchange(|k| k.tile_sync(16), mirrored);
    with_block(&k.done(), [64, 1, 1], &sites);
    let conditions = proved(exchange(|k| k.tile_sync(16), mirrored).0);
    assert!(conditions.contains(&"blockDim.x <= 32".to_owned()), "{conditions:?}");
}

/// A tree reduction in each tile of eight.
fn tile_reduction(sync: impl Fn(&mut Kernel)) -> (Kernel, Vec<SiteId>) {
    let mut k = Kernel::new("tile_reduction");
    let (s, t) = (k.shared("s", 4096), k.tid());
    let rank = k.binc(BinOp::And, t, 7);
    let mut sites = vec![k.write(s, t)];
    sync(&mut k);
    let half = k.c(4);
    let inner = k.halved(half, |k, v| {
        let lower = k.ult(rank, v);
        let sites = k.when(lower, |k| {
            let other = k.add(t, v);
            vec![k.read(s, other), k.read(s, t), k.write(s, t)]
        });
        sync(k);
        sites
    });
    sites.extend([inner[0], inner[2]]);
    (k, sites)
}

#[test]
fn reductions_in_tiles() {
    proved(tile_reduction(|k| k.tile_sync(8)).0);
    let p = tile_reduction(|k| k.tile_sync(8)).0.done();
    for block in [[256, 1, 1], [24, 1, 1]] {
        with_block(&p, block, &[]);
    }
    // Tiles of four only order all but the first round.
    let (k, sites) = tile_reduction(|k| k.tile_sync(4));
    with_block(&k.done(), [32, 1, 1], &sites[..2]);
    let (k, sites) = tile_reduction(|k| k.tile_sync(4));
    not_proved(k, &sites[..2]);
    let (k, sites) = tile_reduction(|_| {});
    not_proved(k, &sites);
}

/// The lower half of each warp exchanges, with a constant mask.
fn half(mask: i64, lanes: i64) -> (Kernel, Vec<SiteId>) {
    let mut k = Kernel::new("half");
    let (s, t) = (k.shared("s", 4096), k.tid());
    let lane = k.binc(BinOp::And, t, 31);
    let lower = k.ltc(lane, lanes);
    let sites = k.when(lower, |k| {
        let write = k.write(s, t);
        let mask = k.c(mask);
        k.lane_sync(mask);
        let at = k.binc(BinOp::Xor, t, 15);
        vec![write, k.read(s, at)]
    });
    (k, sites)
}

#[test]
fn halves_with_constant_masks() {
    proved(half(0xffff, 16).0);
    let p = half(0xffff, 16).0.done();
    for block in [[64, 1, 1], [20, 1, 1]] {
        with_block(&p, block, &[]);
    }
    // The mask leaves lanes out, names others or some that never arrive, or does not name the thread.
    for (mask, lanes) in [(0xff, 16), (0xf_ffff, 16), (0xffff_0000, 16), (0xffff, 17), (0xfffe, 16), (0, 16)]
    {
        let (k, sites) = half(mask, lanes);
        not_proved(k, &sites);
    }
}

#[test]
fn both_halves_of_a_warp() {
    only_with(|right| {
        let mut k = Kernel::new("halves");
        let (s, t) = (k.shared("s", 4096), k.tid());
        let lane = k.binc(BinOp::And, t, 31);
        let (low, high) = (k.c(0xffff), k.c(0xffff_0000));
        let write = k.write(s, t);
        let lower = k.ltc(lane, 16);
        let (a, b) = if right { (low, high) } else { (high, low) };
        k.when_else(lower, |k| k.lane_sync(a), |k| k.lane_sync(b));
        let at = k.binc(BinOp::Xor, t, 15);
        let read = k.read(s, at);
        (k, vec![write, read])
    });
    // One mask that the lane chooses names tiles.
    only_with(|right| {
        exchange(
            |k| {
                let lane = k.lane();
                let lower = k.ltc(lane, if right { 16 } else { 15 });
                let (low, high) = (k.c(0xffff), k.c(0xffff_0000));
                let mask = k.p.exprs.select(lower, low, high);
                k.lane_sync(mask);
            },
            |k, t| k.binc(BinOp::Xor, t, 15),
        )
    });
}

/// `__syncwarp(0xf << (threadIdx.x & 28))`
fn quads_by_thread(k: &mut Kernel) {
    let (tile, t) = (k.c(0xf), k.tid());
    let at = k.binc(BinOp::And, t, 28);
    let mask = k.bin(BinOp::Shl, tile, at);
    k.lane_sync(mask);
}

#[test]
fn lanes_that_are_computed_from_the_thread() {
    let mirrored = |k: &mut Kernel, t| k.binc(BinOp::Xor, t, 3);
    let conditions = proved(exchange(quads_by_thread, mirrored).0);
    assert_eq!(conditions, ["blockDim.y == 1", "blockDim.z == 1"]);
    // In a block of several rows `threadIdx.x` is the lane only if each row consists of whole warps.
    let row = |k: &mut Kernel, x| {
        let (y, width) = (k.tidy(), k.bdim());
        let row = k.mul(y, width);
        k.add(row, x)
    };
    let kernel = |sync: fn(&mut Kernel)| {
        let mut k = Kernel::new("rows");
        let (s, x) = (k.shared("s", 4096), k.tid());
        let at = row(&mut k, x);
        let write = k.write(s, at);
        sync(&mut k);
        let x = k.binc(BinOp::Xor, x, 3);
        let at = row(&mut k, x);
        let read = k.read(s, at);
        (k.done(), vec![write, read])
    };
    let (p, sites) = kernel(quads_by_thread);
    with_block(&p, [32, 2, 1], &[]);
    with_block(&p, [64, 1, 2], &sites);
    let not_at = |p: &Protocol, block| {
        let outcome = prove_with(p, &launch(ONE, block, p, &[]));
        assert!(outcome.verdicts.sites.iter().all(|site| matches!(site.verdict, Verdict::Unknown(_))));
        assert!(!racing(p, &launch(ONE, block, p, &[]), 0).is_empty());
    };
    // In the second row, the masks name lanes of the first.
    not_at(&p, [8, 8, 1]);
    not_at(&p, [12, 2, 1]);
    // By the lane itself, tiles lie in rows if the rows are wide enough for them.
    let (p, sites) = kernel(|k| k.tile_sync(4));
    for block in [[8, 8, 1], [12, 2, 1], [4, 3, 1]] {
        with_block(&p, block, &[]);
    }
    with_block(&p, [6, 2, 1], &sites);
}

#[test]
fn the_linear_index_is_a_lane() {
    let kernel = |right| {
        let mut k = Kernel::new("linear");
        let (s, x, y, width) = (k.shared("s", 4096), k.tid(), k.tidy(), k.bdim());
        let row = k.mul(y, if right { width } else { x });
        let t = k.add(row, x);
        let own = k.mul(y, width);
        let own = k.add(own, x);
        let write = k.write(s, own);
        let at = k.binc(BinOp::And, t, 24);
        let tile = k.c(0xff);
        let mask = k.bin(BinOp::Shl, tile, at);
        k.lane_sync(mask);
        let there = k.binc(BinOp::Xor, own, 7);
        let read = k.read(s, there);
        (k, vec![write, read])
    };
    assert_eq!(proved(kernel(true).0), ["blockDim.z == 1"]);
    // With one row, the other one is right too.
    assert_eq!(proved(kernel(false).0), ["blockDim.y == 1", "blockDim.z == 1"]);
    for block in [[8, 8, 1], [16, 2, 1]] {
        with_block(&kernel(true).0.done(), block, &[]);
        let p = kernel(false).0.done();
        let launch = launch(ONE, block, &p, &[]);
        assert_eq!(words(&prove_with(&p, &launch)), ["unknown", "unknown"]);
        assert!(!racing(&p, &launch, 0).is_empty());
    }
}

/// Rows of 32 threads, whose masks name tiles of eight where `is_low`, and tiles of four elsewhere.
fn masks_of_rows(is_low: impl Fn(&mut Kernel, E, E) -> (E, E)) -> (Kernel, Vec<SiteId>) {
    let mut k = Kernel::new("rows");
    let (s, x, y, width) = (k.shared("s", 4096), k.tid(), k.tidy(), k.bdim());
    let row = k.mul(y, width);
    let own = k.add(row, x);
    let write = k.write(s, own);
    let (lane, low) = is_low(&mut k, x, y);
    let [eights, fours] = [(0xff, 24), (0xf, 28)].map(|(bits, places)| {
        let (tile, at) = (k.c(bits), k.binc(BinOp::And, lane, places));
        k.bin(BinOp::Shl, tile, at)
    });
    let mask = k.p.exprs.add(Expr::Select(low, eights, fours));
    k.lane_sync(mask);
    let there = k.binc(BinOp::Xor, own, 7);
    let read = k.read(s, there);
    (k, vec![write, read])
}

#[test]
fn masks_that_depend_on_more_than_the_lane() {
    // It is the lane modulo 32, and greater than any index in the second row.
    let beyond = || {
        masks_of_rows(|k, x, y| {
            let far = k.binc(BinOp::Mul, y, 4096);
            let lane = k.add(far, x);
            (lane, k.ltc(lane, 1024))
        })
    };
    // Two expressions are the lane modulo 32, and differ in the second row.
    let two = || {
        masks_of_rows(|k, x, y| {
            let width = k.bdim();
            let row = k.mul(y, width);
            let linear = k.add(row, x);
            let (a, b) = (k.binc(BinOp::LShr, x, 5), k.binc(BinOp::LShr, linear, 5));
            (x, k.eq(a, b))
        })
    };
    for (p, sites) in [beyond(), two()].map(|(k, sites)| (k.done(), sites)) {
        let launch = launch(ONE, [32, 2, 1], &p, &[]);
        assert!(!all_proved(&prove_with(&p, &launch)));
        assert!(racing(&p, &launch, 0).contains(&sites[1]));
    }
}

#[test]
fn the_launch_gives_the_size_of_tiles() {
    let mut k = Kernel::new("sized");
    let (s, n, t, lane) = (k.shared("s", 4096), k.scalar("n"), k.tid(), k.lane());
    let (one, zero) = (k.c(1), k.c(0));
    let bits = k.bin(BinOp::Shl, one, n);
    let tile = k.sub(bits, one);
    let minus = k.sub(zero, n);
    let at = k.bin(BinOp::And, lane, minus);
    let mask = k.bin(BinOp::Shl, tile, at);
    let write = k.write(s, t);
    k.lane_sync(mask);
    let there = k.binc(BinOp::Xor, t, 7);
    let read = k.read(s, there);
    let p = k.done();
    for size in [8, 16] {
        at_launch(&p, &launch(ONE, [64, 1, 1], &p, &[size]), &[]);
    }
    at_launch(&p, &launch(ONE, [64, 1, 1], &p, &[4]), &[write, read]);
    // With 6, masks name lanes that name others.
    for size in [6, 0] {
        let launch = launch(ONE, [64, 1, 1], &p, &[size]);
        let outcome = prove_with(&p, &launch);
        assert!(!all_proved(&outcome) && racing(&p, &launch, 0).contains(&read));
    }
    let outcome = prove(&p);
    assert!(words(&outcome).iter().all(|word| *word == "unknown"), "{:?}", words(&outcome));
}

#[test]
fn unknown_masks_order_nothing_and_exclude_witnesses() {
    for uniform in [Uniform::Thread, Uniform::Warp, Uniform::Grid] {
        let open = |k: &mut Kernel| {
            let mask = k.opaque("a mask", Width::W32, uniform, &[]);
            k.lane_sync(mask);
        };
        let (k, _) = exchange(open, |k, t| k.binc(BinOp::Xor, t, 1));
        let outcome = prove(&k.done());
        assert_eq!(words(&outcome), ["unknown", "unknown"]);
        let (k, _) = exchange(open, |_, t| t);
        proved(k);
    }
}

#[test]
fn another_sync_with_the_same_mask_may_be_met() {
    // Lane 0 meets the others' first sync at one of its own, so it is a sync ahead of them.
    let quads = |k: &mut Kernel| k.tile_sync(4);
    let constant = |mask: i64| {
        move |k: &mut Kernel| {
            let mask = k.c(mask);
            k.lane_sync(mask);
        }
    };
    let open = |k: &mut Kernel| {
        let mask = k.opaque("a mask", Width::W32, Uniform::Grid, &[]);
        k.lane_sync(mask);
    };
    let kernel = |first: &dyn Fn(&mut Kernel), lanes: i64, then: &dyn Fn(&mut Kernel)| {
        let mut k = Kernel::new("ahead");
        let (s, t) = (k.shared("s", 4096), k.tid());
        let lane = k.binc(BinOp::And, t, 31);
        let some = k.ltc(lane, lanes);
        k.when(some, |k| first(k));
        let write = k.write(s, t);
        then(&mut k);
        let at = k.binc(BinOp::Xor, t, 3);
        let read = k.read(s, at);
        (k, vec![write, read])
    };
    let whole = |k: &mut Kernel| k.warp_sync();
    for (first, lanes, then) in [
        (&constant(0xf) as &dyn Fn(&mut Kernel), 1, &quads as &dyn Fn(&mut Kernel)),
        (&quads, 3, &quads),
        (&whole, 3, &whole),
        (&open, 4, &quads),
        (&open, 4, &whole),
    ] {
        let (k, sites) = kernel(first, lanes, then);
        not_proved(k, &sites);
    }
    // All lanes that may meet there do, or the masks differ.
    proved(kernel(&constant(0xf), 4, &quads).0);
    proved(kernel(&quads, 4, &quads).0);
    proved(kernel(&constant(0xff), 8, &quads).0);
    proved(kernel(&constant(0xff), 8, &whole).0);
    // No lane that its mask leaves out waits.
    let (k, sites) = kernel(&constant(0xff), 9, &whole);
    not_proved(k, &sites);
}

/// In a tile, under a condition on these bits of the index.
fn divergent(bits: i64) -> (Kernel, Vec<SiteId>) {
    let mut k = Kernel::new("divergent");
    let (s, t) = (k.shared("s", 4096), k.tid());
    let write = k.write(s, t);
    let some = k.binc(BinOp::And, t, bits);
    let cond = k.eqc(some, 0);
    let read = k.when(cond, |k| {
        k.tile_sync(8);
        let at = k.binc(BinOp::Xor, t, 7);
        k.read(s, at)
    });
    (k, vec![write, read])
}

#[test]
fn tiles_that_decide_together() {
    // All threads of a tile take the same way.
    for bits in [8, 16, 24, 32] {
        proved(divergent(bits).0);
        with_block(&divergent(bits).0.done(), [64, 1, 1], &[]);
    }
    for bits in [1, 4, 12] {
        let (k, sites) = divergent(bits);
        not_proved(k, &sites);
    }
}

/// Rounds of an exchange. Their number depends on these bits of the index.
fn rounds(bits: i64, both: bool) -> (Kernel, Vec<SiteId>) {
    let mut k = Kernel::new("rounds");
    let (s, t) = (k.shared("s", 4096), k.tid());
    let count = k.binc(BinOp::And, t, bits);
    let sites = k.range(0, count, |k, _| {
        let write = k.write(s, t);
        k.tile_sync(8);
        let at = k.binc(BinOp::Xor, t, 5);
        let read = k.read(s, at);
        if both {
            k.tile_sync(8);
        }
        vec![write, read]
    });
    (k, sites)
}

#[test]
fn loops_with_tiles() {
    proved(rounds(24, true).0);
    with_block(&rounds(24, true).0.done(), [64, 1, 1], &[]);
    // Without the second sync, the next round overtakes.
    let (k, sites) = rounds(24, false);
    with_block(&k.done(), [64, 1, 1], &sites);
    let (k, sites) = rounds(24, false);
    not_proved(k, &sites);
    let (k, sites) = rounds(28, true);
    not_proved(k, &sites);
}

#[test]
fn threads_that_leave_early() {
    // `if (t >= n) return`: tiles at the end are not whole.
    only_with(|whole| {
        let mut k = Kernel::new("early");
        let (s, n, t) = (k.shared("s", 4096), k.scalar("n"), k.tid());
        let n = if whole { k.binc(BinOp::And, n, 0x7ff8) } else { n };
        let write = k.write(s, t);
        let inside = k.ult(t, n);
        let read = k.when(inside, |k| {
            k.tile_sync(8);
            let at = k.binc(BinOp::Xor, t, 7);
            k.read(s, at)
        });
        (k, vec![write, read])
    });
}

#[test]
fn several_sets_in_one_kernel() {
    // Pairs, then tiles of eight, then the whole warp: each access rests on the sync before it.
    let kernel = |sizes: [u32; 2], whole: bool| {
        let mut k = Kernel::new("nested");
        let (s, t) = (k.shared("s", 4096), k.tid());
        let mut sites = vec![k.write(s, t)];
        for (size, by) in sizes.into_iter().zip([1, 7]) {
            k.tile_sync(size);
            let at = k.binc(BinOp::Xor, t, by);
            sites.push(k.read(s, at));
        }
        if whole {
            k.warp_sync();
        }
        let at = k.binc(BinOp::Xor, t, 31);
        sites.push(k.read(s, at));
        (k, sites)
    };
    proved(kernel([2, 8], true).0);
    with_block(&kernel([2, 8], true).0.done(), [64, 1, 1], &[]);
    let (k, sites) = kernel([2, 8], false);
    with_block(&k.done(), [64, 1, 1], &[sites[0], sites[3]]);
    let (k, sites) = kernel([2, 4], true);
    with_block(&k.done(), [64, 1, 1], &[sites[0], sites[2]]);
    let (k, sites) = kernel([2, 4], true);
    not_proved(k, &[sites[0], sites[2]]);
}

#[test]
fn a_lane_of_two_sets_passes_order_on() {
    // Lane 2 waits with lanes 0 to 2, then with lanes 2 to 4. So lane 0's write is before lane 4's read,
    // which no proof uses, and which is no race either.
    let mut k = Kernel::new("chain");
    let (s, t) = (k.shared("s", 4096), k.tid());
    let (two, four) = (k.c(2), k.c(4));
    let zero = k.eqc(t, 0);
    let at = k.c(0);
    let write = k.when(zero, |k| k.write(s, at));
    let low = k.le(t, two);
    let mask = k.c(0b111);
    k.when(low, |k| k.lane_sync(mask));
    let (from, to) = (k.le(two, t), k.le(t, four));
    let high = k.p.exprs.both(from, to);
    let mask = k.c(0b11100);
    k.when(high, |k| k.lane_sync(mask));
    let last = k.eqc(t, 4);
    let read = k.when(last, |k| k.read(s, at));
    let p = k.done();
    for outcome in [prove(&p), prove_with(&p, &launch(ONE, [32, 1, 1], &p, &[]))] {
        assert_eq!(words(&outcome), ["unknown", "unknown"], "{write:?} {read:?}");
    }
}

/// Two halves of a tile: the block has at most as many threads as lie between them, and it may have that many. The
/// stride of a row elsewhere is smaller.
#[test]
fn a_block_is_as_large_as_half_of_its_tile() {
    let mut k = Kernel::new("halves");
    let (s, x, t, b) = (k.shared("s", 4 * 512), k.pointer("x"), k.tid(), k.bid());
    let (second, row) = (k.addc(t, 256), k.mulc(b, 64));
    k.read(x, row);
    k.write(s, t);
    k.write(s, second);
    let conditions = proved(k);
    assert!(conditions.contains(&"blockDim.x <= 256".to_owned()), "{conditions:?}");
}
