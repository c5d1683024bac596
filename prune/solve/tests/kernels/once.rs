//! Mbarriers that are used once: outside of loops, or one in each iteration.

use super::ring::*;
use super::*;

ways! {
    /// What may go wrong where a warp fills a tile and three others read it in a loop.
    Once {
        /// The readers do not wait.
        Unread,
        /// They wait for the other parity.
        Parity,
        /// They wait at another mbarrier.
        Other,
        /// One of them does not wait.
        SomeWait,
        /// They wait behind their first reads.
        LateWait,
        /// They wait in some rounds.
        Sometimes,
        /// The phase ends before all have arrived.
        Few,
        /// Threads arrive twice.
        Twice,
        /// They arrive in each round of a loop.
        Rounds,
        /// They arrive before they write, or at another mbarrier.
        Early,
        /// One of them writes, and does not arrive.
        Leaves,
        /// The readers arrive too.
        Readers,
        /// The warp writes once more behind its arrival.
        Again,
    }
}

/// Who fills tiles.
struct Producers {
    /// Arrivals that end a phase.
    writers: i64,
    /// True for the threads of warp 0.
    produces: ExprId,
    /// True for those of them that fill tiles.
    copying: ExprId,
}

/// Warp 0, or its first thread if it copies. `few`: phases end before all of them have arrived.
fn producers(k: &mut Kernel, t: ExprId, copies: bool, few: bool) -> Producers {
    let first = k.ltc(t, if few { 2 } else { 1 });
    Producers {
        writers: if copies { 1 } else { 32 } - i64::from(few && !copies),
        produces: k.ltc(t, 32),
        copying: if copies { first } else { k.p.exprs.truth(true) },
    }
}

/// Warp 0 writes a tile, or its first thread copies it. The others wait before their loop, or in each of its rounds.
fn once(how: Once, copies: bool, inside: bool) -> (Kernel, Vec<SiteId>) {
    use Once::*;
    let mut k = Kernel::new("once");
    k.p.max_threads = 128;
    let (s, t, n) = (k.shared("s", 96 * 4), k.tid(), k.scalar("n"));
    let ready = k.shared("ready", 16);
    k.sync();
    let (zero, one) = (k.c(0), k.c(1));
    let Producers { writers, produces, copying } = producers(&mut k, t, copies, how == Few);
    let mut sites = Vec::new();
    let mut reads = Vec::new();
    k.when_else(
        produces,
        |k| {
            k.when(copying, |k| {
                let place = if how == Early { one } else { zero };
                if copies {
                    sites.push(k.told(s, zero, 4 * 96, ready, place));
                } else if how == Early {
                    k.phase(ready, zero, writers, None);
                    sites.push(write_tile(k, s, zero));
                } else {
                    sites.push(write_tile(k, s, zero));
                }
                let arrive = |k: &mut Kernel| k.phase(ready, place, writers, None);
                match how {
                    Early if !copies => {}
                    Rounds => k.range(0, n, |k, _| arrive(k)),
                    Leaves => {
                        let others = all_but(k, 5);
                        k.when(others, arrive);
                    }
                    _ => arrive(k),
                }
                if how == Twice {
                    arrive(k);
                }
                if how == Again {
                    // What comes before the arrival is in order, if it is no copy.
                    sites.truncate(usize::from(copies));
                    sites.push(write_tile(k, s, zero));
                }
            });
        },
        |k| {
            if how == Readers {
                k.phase(ready, zero, writers, None);
            }
            let wait = |k: &mut Kernel| {
                let at = if how == Other { one } else { zero };
                let odd = k.p.exprs.truth(how == Parity);
                k.phase(ready, at, writers, Some(odd));
            };
            let waits = |k: &mut Kernel| match how {
                Unread | LateWait => {}
                SomeWait => {
                    let others = all_but(k, 50);
                    k.when(others, wait);
                }
                _ => wait(k),
            };
            if !inside && how != Sometimes {
                waits(k);
            }
            k.range(0, n, |k, i| {
                if how == Sometimes {
                    let third = k.eqc(i, 2);
                    k.when(third, wait);
                } else if inside {
                    waits(k);
                }
                reads.push(read_tile(k, s, zero));
                if how == LateWait {
                    wait(k);
                }
            });
        },
    );
    sites.extend(reads);
    (k, sites)
}

#[test]
fn readers_wait_once_for_a_tile() {
    for (copies, inside) in [(false, false), (true, false), (false, true), (true, true)] {
        is_proved(once(Once::Right, copies, inside).0);
        for how in Once::WRONG {
            // The only thread that copies is another one.
            if copies && *how == Once::Leaves {
                continue;
            }
            all_are_open(once(*how, copies, inside), &(how, copies, inside));
        }
    }
}

ways! {
    /// What may go wrong where a loop fills all tiles, and another one reads them.
    Each {
        /// The readers do not wait.
        Unread,
        /// They wait for the other parity.
        Parity,
        /// They wait for the first tile alone.
        First,
        /// They read the next tile.
        NextTile,
        /// Phases end before all have arrived.
        Few,
        /// All arrive at one mbarrier.
        OnePlace,
        /// The loop fills the tiles once more.
        Again,
        /// Its number of rounds is not known.
        Unknown,
    }
}

/// Warp 0 writes three tiles, or its first thread copies them, in a loop. Then the others read them, in another loop.
fn each(how: Each, copies: bool) -> (Kernel, Vec<SiteId>) {
    use Each::*;
    let mut k = Kernel::new("each");
    k.p.max_threads = 128;
    let (s, t, n) = (k.shared("s", 4 * 96 * 4), k.tid(), k.scalar("n"));
    let ready = k.shared("ready", 24);
    k.sync();
    let (zero, three) = (k.c(0), k.c(3));
    let rounds = match how {
        Again => k.c(6),
        Unknown => n,
        _ => three,
    };
    let Producers { writers, produces, copying } = producers(&mut k, t, copies, how == Few);
    let mut sites = Vec::new();
    let mut reads = Vec::new();
    k.when_else(
        produces,
        |k| {
            k.when(copying, |k| {
                k.range(0, rounds, |k, i| {
                    let own = k.binc(BinOp::URem, i, 3);
                    let place = if how == OnePlace { zero } else { own };
                    if copies {
                        let row = k.mulc(own, 96);
                        sites.push(k.told(s, row, 4 * 96, ready, place));
                    } else {
                        sites.push(write_tile(k, s, own));
                    }
                    k.phase(ready, place, writers, None);
                })
            });
        },
        |k| {
            k.range(0, three, |k, i| {
                let odd = k.p.exprs.truth(how == Parity);
                if how != Unread {
                    k.phase(ready, if how == First { zero } else { i }, writers, Some(odd));
                }
                let of = if how == NextTile { k.addc(i, 1) } else { i };
                let of = k.binc(BinOp::URem, of, 3);
                reads.push(read_tile(k, s, of));
            });
        },
    );
    sites.extend(reads);
    (k, sites)
}

#[test]
fn readers_wait_once_for_each_tile() {
    for copies in [false, true] {
        is_proved(each(Each::Right, copies).0);
        for how in Each::WRONG {
            all_are_open(each(*how, copies), &(how, copies));
        }
    }
}
