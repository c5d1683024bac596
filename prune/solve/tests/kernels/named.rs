//! Named barriers: sets of warps that wait for each other, and loops that hand over to each other.

use super::ring::*;
use super::*;

ways! {
    /// How a kernel of two halves of a block goes wrong.
    Halves {
        /// Both halves use one barrier.
        OneNumber,
        /// The barrier of the block.
        Zero,
        /// The barrier waits for half of the threads.
        Few,
        /// Some threads do not come to the barrier.
        Some,
        /// A thread reads what the other half wrote.
        Across,
        /// A thread arrives and goes on.
        GoesOn,
        /// The number is the thread's own.
        OwnNumber,
    }
}

/// Each half of a block of 128 threads writes its part of an array, meets, and reads it.
fn halves(how: Halves) -> (Kernel, Vec<SiteId>) {
    let mut k = Kernel::new("halves");
    k.p.max_threads = 128;
    let (s, t) = (k.shared("s", 512), k.tid());
    let half = k.binc(BinOp::LShr, t, 6);
    let write = k.write(s, t);
    let first = match how {
        Halves::OneNumber => k.c(1),
        Halves::Zero => half,
        Halves::OwnNumber => {
            let own = k.binc(BinOp::And, t, 1);
            k.addc(own, 1)
        }
        _ => k.addc(half, 1),
    };
    let threads = k.c(if how == Halves::Few { 32 } else { 64 });
    let sync = |k: &mut Kernel| k.named(first, threads, how != Halves::GoesOn);
    if how == Halves::Some {
        let some = k.ltc(t, 100);
        k.when(some, sync);
    } else {
        sync(&mut k);
    }
    let other = k.binc(BinOp::Xor, t, if how == Halves::Across { 127 } else { 63 });
    let read = k.read(s, other);
    (k, vec![write, read])
}

#[test]
fn sets_of_warps_that_meet() {
    assert_eq!(proved(halves(Halves::Right).0), ONE_ROW);
    for how in Halves::WRONG {
        all_are_open(halves(*how), how);
    }
}

/// Threads from 32 on meet, beside the barrier of the block. `from` is the first that meets.
fn consumers(from: i64, block: bool) -> (Kernel, Vec<SiteId>) {
    let mut k = Kernel::new("consumers");
    k.p.max_threads = 160;
    let (s, t) = (k.shared("s", 640), k.tid());
    let write = k.write(s, t);
    if block {
        k.sync();
    }
    let (first, one, threads) = (k.c(32), k.c(1), k.c(128));
    let meets = k.le(first, t);
    let read = k.when(meets, |k| {
        let own = k.write(s, t);
        k.named(one, threads, true);
        let back = k.c(191);
        let other = k.sub(back, t);
        let shifted = k.addc(other, from - 32);
        vec![own, k.read(s, shifted)]
    });
    (k, [vec![write], read].concat())
}

#[test]
fn consumers_that_meet_without_the_producers() {
    proved(consumers(32, true).0);
    // The last consumer reads what a producer wrote before the barrier of the block.
    proved(consumers(31, true).0);
    let (k, sites) = consumers(31, false);
    not_proved(k, &[sites[0], sites[2]]);
}

ways! {
    /// What may go wrong where a warp fills tiles and three others read them.
    Tiles {
        /// The producer does not wait for readers.
        NoWait,
        /// It waits one round too late.
        LateWait,
        /// The consumers say too early that they have read.
        EarlyRelease,
        /// The producer says too early that it has written.
        EarlyFull,
        /// The barriers wait for fewer threads.
        Few,
        /// One thread of the producer leaves its loop early.
        Leaves,
        /// A thread of the consumers does not arrive in all rounds.
        Skips,
        /// The consumers read the tile that is filled next.
        NextTile,
        /// They use the barriers of the other stage.
        OtherStage,
        /// Both loops are of one warp: it may count as arrived when its threads of one loop have, if the others have
        /// ended.
        OneWarp,
        /// The number of a barrier is that of another one.
        OneNumber,
    }
}

/// `tiles` rounds over a ring of two tiles. Warp 0 writes, the others read, as in `full` and `empty` barriers.
fn tiles(how: Tiles) -> (Kernel, Vec<SiteId>) {
    use Tiles::*;
    let mut k = Kernel::new("tiles");
    k.p.max_threads = if how == OneWarp { 32 } else { 128 };
    let (s, t, n) = (k.shared("s", 2 * 96 * 4), k.tid(), k.scalar("n"));
    let threads = k.c(match how {
        OneWarp => 32,
        Few => 64,
        _ => 128,
    });
    let stage = |k: &mut Kernel, i: E, base: i64| {
        let of = k.binc(BinOp::And, i, 1);
        k.addc(of, base)
    };
    let (full, empty) = (1, if how == OneNumber { 2 } else { 3 });
    let produces = k.ltc(t, if how == OneWarp { 16 } else { 32 });
    let mut sites = Vec::new();
    let mut reads = Vec::new();
    k.when_else(
        produces,
        |k| {
            let last = if how == Leaves {
                let five = k.eqc(t, 5);
                let one = k.c(1);
                let less = k.sub(n, one);
                k.p.exprs.add(Expr::Select(five, less, n))
            } else {
                n
            };
            k.range(0, last, |k, i| {
                let tile = k.binc(BinOp::And, i, 1);
                if how != NoWait {
                    let (two, wait) = (k.c(if how == LateWait { 3 } else { 2 }), stage(k, i, empty));
                    let again = k.le(two, i);
                    k.when(again, |k| k.named(wait, threads, true));
                }
                let done = stage(k, i, full);
                if how == EarlyFull {
                    k.named(done, threads, false);
                }
                sites.push(write_tile(k, s, tile));
                if how != EarlyFull {
                    k.named(done, threads, false);
                }
            });
        },
        |k| {
            k.range(0, n, |k, i| {
                let other = if how == OtherStage { k.addc(i, 1) } else { i };
                let (ready, free) = (stage(k, other, full), stage(k, i, empty));
                k.named(ready, threads, true);
                let next = if how == NextTile { k.addc(i, 1) } else { i };
                let tile = k.binc(BinOp::And, next, 1);
                let two = k.addc(i, 2);
                let mut again = k.lt(two, n);
                if how == Skips {
                    let not = all_but(k, 50);
                    again = k.bin(BinOp::And, again, not);
                }
                let free = |k: &mut Kernel| k.when(again, |k| k.named(free, threads, false));
                if how == EarlyRelease {
                    free(k);
                }
                reads.push(read_tile(k, s, tile));
                if how != EarlyRelease {
                    free(k);
                }
            });
        },
    );
    sites.extend(reads);
    (k, sites)
}

#[test]
fn producers_and_consumers_hand_tiles_over() {
    is_proved(tiles(Tiles::Right).0);
    for how in Tiles::WRONG {
        all_are_open(tiles(*how), how);
    }
}
