//! Rings of tiles at launches that tell the bounds of loops: a flat loop beside nested ones, and numbers of tiles that
//! are computed from those of the loops.

use super::ring::*;
use super::*;

/// The tiles of a ring.
const STAGES: i64 = 3;

ways! {
    /// What may go wrong where a warp fills `m * n` tiles in one loop, and three others read them in two.
    Flat {
        /// The producer does not wait for readers.
        NoWait,
        /// The consumers do not wait for the writes.
        Unread,
        /// They say too early that they have read.
        EarlyRelease,
        /// The ring has a tile less than mbarriers.
        Short,
        /// The consumers make a tile less in each round.
        FewerTiles,
        /// They make a round less.
        FewerRounds,
        /// They make a tile more in each round, and number the tiles as if they did not.
        MoreTiles,
        /// The flat loop ends a tile earlier.
        EndsEarly,
        /// The consumers leave out a round.
        LeavesRound,
        /// Each round has its own number of tiles.
        Triangle,
        /// The consumers number the tiles as in rounds of other lengths.
        OtherNumber,
    }
}

/// `it = i * n + j`. With `both`, the producer has two loops too.
fn flat(how: Flat, both: bool) -> (Kernel, Vec<SiteId>) {
    use Flat::*;
    let mut k = Kernel::new("flat");
    k.p.max_threads = 128;
    let (s, t, n, m) = (k.shared("s", 3 * 96 * 4), k.tid(), k.scalar("n"), k.scalar("m"));
    let (full, empty) = (k.shared("full", 8 * STAGES as u64), k.shared("empty", 8 * STAGES as u64));
    k.sync();
    let (writers, readers) = (32, 96);
    let produces = k.ltc(t, 32);
    let (mut sites, mut reads) = (Vec::new(), Vec::new());
    let tile = |k: &mut Kernel, it: E| k.binc(BinOp::SRem, it, STAGES - i64::from(how == Short));
    k.when_else(
        produces,
        |k| {
            let mut fill = |k: &mut Kernel, it: E| {
                let stage = k.binc(BinOp::SRem, it, STAGES);
                let odd = parity(k, it, STAGES, false);
                if how != NoWait {
                    k.phase(empty, stage, readers, Some(odd));
                }
                let tile = tile(k, it);
                sites.push(write_tile(k, s, tile));
                k.phase(full, stage, writers, None);
            };
            if both {
                k.range(0, m, |k, i| {
                    k.range(0, n, |k, j| {
                        let row = k.mul(i, n);
                        let it = k.add(row, j);
                        fill(k, it);
                    });
                });
            } else {
                let all = k.mul(m, n);
                let all = if how == EndsEarly { k.addc(all, -1) } else { all };
                k.range(0, all, |k, it| fill(k, it));
            }
        },
        |k| {
            let m = if how == FewerRounds { k.addc(m, -1) } else { m };
            k.range(0, m, |k, i| {
                let tiles = match how {
                    FewerTiles => k.addc(n, -1),
                    MoreTiles => k.addc(n, 1),
                    Triangle => k.addc(i, 2),
                    _ => n,
                };
                let mut inner = |k: &mut Kernel| {
                    k.range(0, tiles, |k, j| {
                        let length = if how == OtherNumber { k.addc(n, 1) } else { n };
                        let row = k.mul(i, length);
                        let it = k.add(row, j);
                        let stage = k.binc(BinOp::SRem, it, STAGES);
                        let odd = parity(k, it, STAGES, true);
                        if how != Unread {
                            k.phase(full, stage, writers, Some(odd));
                        }
                        if how == EarlyRelease {
                            k.phase(empty, stage, readers, None);
                        }
                        let tile = tile(k, it);
                        reads.push(read_tile(k, s, tile));
                        if how != EarlyRelease {
                            k.phase(empty, stage, readers, None);
                        }
                    });
                };
                if how == LeavesRound {
                    let third = k.eqc(i, 3);
                    let others = k.binc(BinOp::Xor, third, 1);
                    k.when(others, inner);
                } else {
                    inner(k);
                }
            });
        },
    );
    sites.extend(reads);
    (k, sites)
}

#[test]
fn loops_whose_iterations_the_launch_tells() {
    for (both, n) in [(false, 4), (true, 4), (false, 6), (true, 7)] {
        let proves = |how| {
            let p = flat(how, both).0.done();
            let known = launch([1, 1, 1], [128, 1, 1], &p, &[n, 5]);
            words(&prove_with(&p, &known))
        };
        assert_eq!(proves(Flat::Right), ["proved"; 2], "{both} {n}");
        for how in Flat::WRONG.iter().filter(|how| !both || **how != Flat::EndsEarly) {
            assert_eq!(proves(*how), ["unknown"; 2], "{how:?} {both} {n}");
        }
    }
}
