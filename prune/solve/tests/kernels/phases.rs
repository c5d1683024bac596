//! Mbarriers of a ring of tiles, whose phases loops know by their parity.

use super::ring::*;
use super::*;

/// The tiles of a ring.
const STAGES: i64 = 3;

ways! {
    /// What may go wrong where a warp fills tiles and three others read them.
    Tiles {
        /// The producer does not wait for readers.
        NoWait,
        /// It never changes the parity for which it waits.
        OtherParity,
        /// It waits one round too late.
        LateWait,
        /// The consumers do not wait for the writes.
        Unread,
        /// They wait for the phase before.
        ReadParity,
        /// They never change the parity.
        OneParity,
        /// The ring has a tile less than mbarriers.
        Short,
        /// The consumers say too early that they have read.
        EarlyRelease,
        /// The producer says too early that it has written.
        EarlyFull,
        /// Phases end before all have arrived.
        Few,
        /// One thread of the producer leaves its loop early.
        Leaves,
        /// A thread of the consumers does not arrive in all rounds.
        Skips,
        /// A thread of the consumers does not wait in all rounds.
        Hurries,
        /// The consumers read the tile that is filled next.
        NextTile,
        /// They wait for the other stage.
        OtherStage,
        /// The producer arrives at an mbarrier of its thread's own.
        OwnStage,
        /// Both wait and arrive at one array.
        OneArray,
    }
}

/// `n` rounds over a ring of tiles. Warp 0 writes, or its first thread copies; the others read.
fn tiles(how: Tiles, copies: bool) -> (Kernel, Vec<SiteId>) {
    use Tiles::*;
    let mut k = Kernel::new("tiles");
    k.p.max_threads = 128;
    let (s, t, n) = (k.shared("s", 3 * 96 * 4), k.tid(), k.scalar("n"));
    let full = k.shared("full", 8 * STAGES as u64);
    let empty = if how == OneArray { full } else { k.shared("empty", 8 * STAGES as u64) };
    k.sync();
    let few = i64::from(how == Few);
    let (writers, readers) = (if copies { 1 } else { 32 - few }, 96 - few);
    let stage = |k: &mut Kernel, i: E| k.binc(BinOp::URem, i, STAGES);
    let parity = |k: &mut Kernel, i: E, odd: bool| parity(k, i, STAGES, odd);
    let produces = k.ltc(t, 32);
    let copying = k.ltc(t, if how == Few { 2 } else { 1 });
    let copying = if copies { copying } else { k.p.exprs.truth(true) };
    let mut sites = Vec::new();
    let mut reads = Vec::new();
    let tile = |k: &mut Kernel, i: E| k.binc(BinOp::URem, i, STAGES - i64::from(how == Short));
    k.when_else(
        produces,
        |k| {
            let last = if how == Leaves {
                let first = k.eqc(t, 0);
                let one = k.c(1);
                let less = k.sub(n, one);
                k.p.exprs.add(Expr::Select(first, less, n))
            } else {
                n
            };
            k.when(copying, |k| {
                k.range(0, last, |k, i| {
                    let own = stage(k, i);
                    if how == LateWait {
                        let late = k.c(STAGES + 1);
                        let again = k.le(late, i);
                        let odd = parity(k, i, false);
                        k.when(again, |k| k.phase(empty, own, readers, Some(odd)));
                    } else if how != NoWait {
                        // The phase before that of this round.
                        let odd =
                            if how == OtherParity { k.p.exprs.truth(true) } else { parity(k, i, false) };
                        k.phase(empty, own, readers, Some(odd));
                    }
                    let at = if how == OwnStage { k.binc(BinOp::URem, t, STAGES) } else { own };
                    if how == EarlyFull {
                        k.phase(full, at, writers, None);
                    }
                    let of = tile(k, i);
                    if copies {
                        let row = k.mulc(of, 96);
                        sites.push(k.told(s, row, 4 * 96, full, at));
                    } else {
                        sites.push(write_tile(k, s, of));
                    }
                    if how != EarlyFull {
                        k.phase(full, at, writers, None);
                    }
                })
            });
        },
        |k| {
            k.range(0, n, |k, i| {
                let at = if how == OtherStage { k.addc(i, 1) } else { i };
                let at = stage(k, at);
                let odd =
                    if how == OneParity { k.p.exprs.truth(false) } else { parity(k, i, how != ReadParity) };
                if how == Hurries {
                    let others = all_but(k, 50);
                    k.when(others, |k| k.phase(full, at, writers, Some(odd)));
                } else if how != Unread {
                    k.phase(full, at, writers, Some(odd));
                }
                let of = if how == NextTile { k.addc(i, 1) } else { i };
                let of = tile(k, of);
                let own = stage(k, i);
                let free = |k: &mut Kernel| {
                    if how == Skips {
                        let others = all_but(k, 50);
                        k.when(others, |k| k.phase(empty, own, readers, None));
                    } else {
                        k.phase(empty, own, readers, None);
                    }
                };
                if how == EarlyRelease {
                    free(k);
                }
                reads.push(read_tile(k, s, of));
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
fn producers_and_consumers_know_phases_by_their_parity() {
    for copies in [false, true] {
        is_proved(tiles(Tiles::Right, copies).0);
        for how in Tiles::WRONG {
            // The copy is over when the phase is, wherever the arrival stands. One thread has one place, and one end.
            if copies && matches!(how, Tiles::EarlyFull | Tiles::OwnStage | Tiles::Leaves) {
                continue;
            }
            all_are_open(tiles(*how, copies), &(how, copies));
        }
    }
}

#[test]
fn copies_are_done_with_the_phase_that_counts_them() {
    let told = |change: &dyn Fn(&mut Protocol)| {
        let (k, sites) = tiles(Tiles::Right, true);
        let mut p = k.done();
        change(&mut p);
        let outcome = prove(&p);
        let open = outcome.verdicts.sites.iter().filter(|s| matches!(s.verdict, Verdict::Unknown(_)));
        (open.count(), sites.len())
    };
    assert_eq!(told(&|_| {}).0, 0);
    let (open, all) = told(&|p| p.told.clear());
    assert_eq!(open, all);
    // It is told to another array, or twice.
    let (open, all) = told(&|p| p.told[0].of = ObjectId(p.told[0].of.0 + 1));
    assert_eq!(open, all);
    let (open, all) = told(&|p| p.told.push(p.told[0]));
    assert_eq!(open, all);
}

ways! {
    /// What may go wrong where the first lane of a warp arrives for all of them.
    Leaders {
        /// No sync of the warp comes between the writes and the arrival.
        NoSync,
        /// It comes behind the arrival.
        LateSync,
        /// Some lanes do not make it.
        SomeSync,
        /// It comes in some rounds only.
        SometimesSync,
        /// It is one of half warps.
        HalfSync,
        /// Another lane arrives, which the warp need not have.
        OtherLane,
        /// Another lane arrives in each round.
        EachLane,
        /// A lane arrives in one warp only, and the phase ends so.
        OneWarp,
        /// Phases end before all warps have arrived.
        Few,
        /// A lane of each warp waits for the writes, and the others go on.
        OneWaits,
    }
}

/// As [`tiles`], but a lane of each warp arrives for all of them. With `waits` a lane waits for them too.
fn leaders(how: Leaders, waits: bool) -> (Kernel, Vec<SiteId>) {
    use Leaders::*;
    let mut k = Kernel::new("leaders");
    k.p.max_threads = 128;
    let (s, t, n) = (k.shared("s", 3 * 96 * 4), k.tid(), k.scalar("n"));
    let (full, empty) = (k.shared("full", 8 * STAGES as u64), k.shared("empty", 8 * STAGES as u64));
    k.sync();
    let readers = if matches!(how, Few | OneWarp) { 1 } else { 3 };
    let lane = k.binc(BinOp::And, t, 31);
    let first = k.eqc(lane, i64::from(how == OtherLane));
    let sync = |k: &mut Kernel, i: E| match how {
        SomeSync => {
            let others = all_but(k, 50);
            k.when(others, |k| k.warp_sync());
        }
        SometimesSync => {
            let three = k.eqc(i, 3);
            k.when(three, |k| k.warp_sync());
        }
        HalfSync => k.tile_sync(16),
        _ => k.warp_sync(),
    };
    let arrive = |k: &mut Kernel, i: E, of: ObjectId, stage: E, count: i64| {
        if !matches!(how, NoSync | LateSync) {
            sync(k, i);
        }
        let who = match how {
            EachLane => {
                let turn = k.binc(BinOp::And, i, 31);
                k.eq(lane, turn)
            }
            OneWarp if of == empty => k.eqc(t, 64),
            _ => first,
        };
        k.when(who, |k| k.phase(of, stage, count, None));
        if how == LateSync {
            sync(k, i);
        }
    };
    let wait = |k: &mut Kernel, of: ObjectId, stage: E, count: i64, odd: E| {
        if waits || how == OneWaits {
            k.when(first, |k| k.phase(of, stage, count, Some(odd)));
            if how != OneWaits {
                k.warp_sync();
            }
        } else {
            k.phase(of, stage, count, Some(odd));
        }
    };
    let parity = |k: &mut Kernel, i: E, odd: bool| parity(k, i, STAGES, odd);
    let produces = k.ltc(t, 32);
    let mut sites = Vec::new();
    let mut reads = Vec::new();
    k.when_else(
        produces,
        |k| {
            k.range(0, n, |k, i| {
                let stage = k.binc(BinOp::URem, i, STAGES);
                let odd = parity(k, i, false);
                wait(k, empty, stage, readers, odd);
                sites.push(write_tile(k, s, stage));
                arrive(k, i, full, stage, 1);
            });
        },
        |k| {
            k.range(0, n, |k, i| {
                let stage = k.binc(BinOp::URem, i, STAGES);
                let odd = parity(k, i, true);
                wait(k, full, stage, 1, odd);
                reads.push(read_tile(k, s, stage));
                arrive(k, i, empty, stage, readers);
            });
        },
    );
    sites.extend(reads);
    (k, sites)
}

#[test]
fn a_lane_arrives_for_its_warp() {
    for waits in [false, true] {
        is_proved(leaders(Leaders::Right, waits).0);
        for how in Leaders::WRONG {
            all_are_open(leaders(*how, waits), &(how, waits));
        }
    }
}

ways! {
    /// What may go wrong where readers arm the mbarriers before they read.
    Armed {
        /// An mbarrier is left out.
        TooFew,
        /// An arrival comes too many.
        TooMany,
        /// All arrivals are at one mbarrier.
        OnePlace,
        /// A reader leaves them out.
        SomeDoNot,
        /// A writer arms them too.
        OthersToo,
        /// The writers wait as if nobody had armed them.
        Parity,
        /// They do not wait in the first rounds.
        LateWait,
        /// They begin a round too late.
        NextRound,
        /// The readers arm them where they have read.
        Behind,
        /// They arm them in each round.
        EachRound,
        /// They say too early that they have read.
        EarlyRelease,
        /// The ring has a tile less than mbarriers.
        Short,
    }
}

/// Warp 0 writes and the others read. The readers arm the `empty` mbarriers first: in a loop, or one after the other.
fn armed(how: Armed, looped: bool) -> (Kernel, Vec<SiteId>) {
    use Armed::*;
    let mut k = Kernel::new("armed");
    k.p.max_threads = 128;
    let (s, t, n) = (k.shared("s", 3 * 96 * 4), k.tid(), k.scalar("n"));
    let (full, empty) = (k.shared("full", 8 * STAGES as u64), k.shared("empty", 8 * STAGES as u64));
    k.sync();
    let stage = |k: &mut Kernel, i: E| k.binc(BinOp::URem, i, STAGES);
    let tile = |k: &mut Kernel, i: E| k.binc(BinOp::URem, i, STAGES - i64::from(how == Short));
    let parity = |k: &mut Kernel, i: E, odd: bool| parity(k, i, STAGES, odd);
    let arm = |k: &mut Kernel| {
        let all = STAGES - i64::from(how == TooFew) + i64::from(how == TooMany);
        let at = |k: &mut Kernel, i: E| if how == OnePlace { k.c(0) } else { stage(k, i) };
        if looped {
            let all = k.c(all);
            k.range(0, all, |k, i| {
                let at = at(k, i);
                k.phase(empty, at, 96, None);
            });
        } else {
            for number in 0..all {
                let place = k.c(if how == OnePlace { 0 } else { number % STAGES });
                k.phase(empty, place, 96, None);
            }
        }
    };
    let produces = k.ltc(t, 32);
    let mut sites = Vec::new();
    let mut reads = Vec::new();
    k.when_else(
        produces,
        |k| {
            if how == OthersToo {
                let one = k.eqc(t, 0);
                k.when(one, arm);
            }
            k.range(0, n, |k, i| {
                let own = stage(k, i);
                let round = if how == NextRound { k.addc(i, STAGES) } else { i };
                let odd = parity(k, round, how != Parity);
                let first = k.c(if how == LateWait { STAGES } else { 0 });
                let waits = k.le(first, i);
                k.when(waits, |k| k.phase(empty, own, 96, Some(odd)));
                let of = tile(k, i);
                sites.push(write_tile(k, s, of));
                k.phase(full, own, 32, None);
            });
        },
        |k| {
            let all = k.c(32);
            let most = if how == SomeDoNot { k.c(127) } else { k.c(128) };
            let own = if how == SomeDoNot { k.lt(t, most) } else { k.le(all, t) };
            match how {
                Behind | EachRound => {}
                SomeDoNot => k.when(own, arm),
                _ => arm(k),
            }
            k.range(0, n, |k, i| {
                if how == EachRound {
                    arm(k);
                }
                let own = stage(k, i);
                let odd = parity(k, i, true);
                k.phase(full, own, 32, Some(odd));
                let of = tile(k, i);
                if how == EarlyRelease {
                    k.phase(empty, own, 96, None);
                }
                reads.push(read_tile(k, s, of));
                if how != EarlyRelease {
                    k.phase(empty, own, 96, None);
                }
            });
            if how == Behind {
                arm(k);
            }
        },
    );
    sites.extend(reads);
    (k, sites)
}

#[test]
fn readers_arm_the_mbarriers_of_empty_tiles() {
    for looped in [false, true] {
        is_proved(armed(Armed::Right, looped).0);
        for how in Armed::WRONG {
            all_are_open(armed(*how, looped), &(how, looped));
        }
    }
}
