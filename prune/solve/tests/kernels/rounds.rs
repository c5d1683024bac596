//! Rings of tiles in a loop around: the stage goes on from one round of this loop to the next.

use super::ring::*;
use super::*;

/// The tiles of a ring.
const STAGES: i64 = 3;

ways! {
    /// What may go wrong where a warp fills tiles and three others read them, in each round of a loop around.
    InRounds {
        /// The producer does not wait for readers.
        NoWait,
        /// The consumers do not wait for the writes.
        Unread,
        /// They do not in one of the rounds.
        SkipsRound,
        /// They say too early that they have read.
        EarlyRelease,
        /// The ring has a tile less than mbarriers.
        Short,
        /// All begin each round with the first stage, but not with the first phase.
        NewStage,
        /// All begin each round with the first phase, but not with the first stage.
        NewPhase,
        /// All begin each round with the first stage and the first phase.
        NewBoth,
        /// The producer makes a round less.
        FewerRounds,
        /// It fills a tile less in each round.
        FewerTiles,
        /// A thread of the consumers reads a tile less in each round.
        Leaves,
        /// The producer may leave a round early.
        BreaksTiles,
        /// It may leave out the last rounds.
        BreaksRounds,
        /// The inner loop comes to its condition behind the first tile.
        LateTest,
        /// All leave out a stage after each round.
        OtherCount,
    }
}

/// `n` tiles in each of `m` rounds of a block. Warp 0 writes, or its first thread copies; the others read.
fn rounds(how: InRounds, copies: bool) -> (Kernel, Vec<SiteId>) {
    use InRounds::*;
    let mut k = Kernel::new("rounds");
    k.p.max_threads = 128;
    let (s, t, n, m) = (k.shared("s", 3 * 96 * 4), k.tid(), k.scalar("n"), k.scalar("m"));
    let (full, empty) = (k.shared("full", 8 * STAGES as u64), k.shared("empty", 8 * STAGES as u64));
    k.sync();
    let (writers, readers) = (if copies { 1 } else { 32 }, 96);
    let produces = k.ltc(t, 32);
    let copying = k.eqc(t, 0);
    let copying = if copies { copying } else { k.p.exprs.truth(true) };
    let mut sites = Vec::new();
    let mut reads = Vec::new();
    k.when_else(
        produces,
        |k| {
            k.when(copying, |k| {
                let (m, n) = (less(k, m, how == FewerRounds), less(k, n, how == FewerTiles));
                let breaks = [BreaksRounds, BreaksTiles].map(|way| how == way);
                nest(k, [m, n], how, breaks, |k, at| {
                    if how != NoWait {
                        let odd = at.odd(k, false);
                        k.phase(empty, at.stage, readers, Some(odd));
                    }
                    if copies {
                        let row = k.mulc(at.tile, 96);
                        sites.push(k.told(s, row, 4 * 96, full, at.stage));
                    } else {
                        sites.push(write_tile(k, s, at.tile));
                    }
                    k.phase(full, at.stage, writers, None);
                });
            });
        },
        |k| {
            let one = k.eqc(t, 50);
            let one_less = less(k, n, true);
            let own = if how == Leaves { k.p.exprs.add(Expr::Select(one, one_less, n)) } else { n };
            nest(k, [m, own], how, [false; 2], |k, at| {
                let odd = at.odd(k, true);
                match how {
                    Unread => {}
                    SkipsRound => {
                        let third = k.eqc(at.round, 3);
                        let others = k.binc(BinOp::Xor, third, 1);
                        k.when(others, |k| k.phase(full, at.stage, writers, Some(odd)));
                    }
                    _ => k.phase(full, at.stage, writers, Some(odd)),
                }
                if how == EarlyRelease {
                    k.phase(empty, at.stage, readers, None);
                }
                reads.push(read_tile(k, s, at.tile));
                if how != EarlyRelease {
                    k.phase(empty, at.stage, readers, None);
                }
            });
        },
    );
    sites.extend(reads);
    (k, sites)
}

/// The same at named barriers: a full and an empty one for each stage. The consumers arrive at the empty ones, and the
/// producer waits there from the second use of a stage on.
fn named_rounds(how: InRounds) -> (Kernel, Vec<SiteId>) {
    use InRounds::*;
    let mut k = Kernel::new("named_rounds");
    k.p.max_threads = 128;
    let (s, t, n, m) = (k.shared("s", 3 * 96 * 4), k.tid(), k.scalar("n"), k.scalar("m"));
    let (threads, produces) = (k.c(128), k.ltc(t, 32));
    let (mut sites, mut reads) = (Vec::new(), Vec::new());
    k.when_else(
        produces,
        |k| {
            let (m, n) = (less(k, m, how == FewerRounds), less(k, n, how == FewerTiles));
            nest(k, [m, n], how, [how == BreaksRounds, how == BreaksTiles], |k, at| {
                let [full, empty] = [1, 4].map(|first| k.addc(at.stage, first));
                if how != NoWait {
                    let stages = k.p.exprs.c64(STAGES);
                    let again = k.le(stages, at.phase);
                    k.when(again, |k| k.named(empty, threads, true));
                }
                sites.push(write_tile(k, s, at.tile));
                k.named(full, threads, false);
            });
        },
        |k| {
            let one = k.eqc(t, 50);
            let one_less = less(k, n, true);
            let own = if how == Leaves { k.p.exprs.add(Expr::Select(one, one_less, n)) } else { n };
            nest(k, [m, own], how, [false; 2], |k, at| {
                let [full, empty] = [1, 4].map(|first| k.addc(at.stage, first));
                match how {
                    Unread => k.named(full, threads, false),
                    SkipsRound => {
                        let third = k.eqc(at.round, 3);
                        let others = k.binc(BinOp::Xor, third, 1);
                        k.when(others, |k| k.named(full, threads, true));
                    }
                    _ => k.named(full, threads, true),
                }
                if how == EarlyRelease {
                    k.named(empty, threads, false);
                }
                reads.push(read_tile(k, s, at.tile));
                if how != EarlyRelease {
                    k.named(empty, threads, false);
                }
            });
        },
    );
    sites.extend(reads);
    (k, sites)
}

ways! {
    /// What may go wrong where all wait at two barriers in each round: a warp writes before the first one, and three
    /// others read between them.
    TwoBarriers {
        /// There is no second one.
        OnlyFirst,
        /// The readers do not wait at the first one.
        Arrive,
        /// The warp does not wait at the second one.
        ArriveLast,
        /// The readers read before the first one.
        EarlyRead,
        /// The warp writes between them.
        LateWrite,
        /// The barriers wait for fewer threads.
        Few,
        /// Both have one number, and the warp leaves out the second one.
        OneNumber,
        /// One reader leaves out the first one in one round.
        Skips,
        /// One reader makes a tile less in each round.
        Leaves,
        /// The numbers of the barriers differ from tile to tile, but not alike.
        OtherNumbers,
        /// The warp makes a round less.
        FewerRounds,
        /// The warp may leave a round early.
        Breaks,
    }
}

fn two_barriers(how: TwoBarriers) -> (Kernel, Vec<SiteId>) {
    use TwoBarriers::*;
    let mut k = Kernel::new("two_barriers");
    k.p.max_threads = 128;
    let (s, t, n, m) = (k.shared("s", 96 * 4), k.tid(), k.scalar("n"), k.scalar("m"));
    let (threads, produces, zero) = (k.c(if how == Few { 64 } else { 128 }), k.ltc(t, 32), k.c(0));
    let (first, last) = (k.c(1), k.c(if how == OneNumber { 1 } else { 2 }));
    let (mut sites, mut reads) = (Vec::new(), Vec::new());
    k.when_else(
        produces,
        |k| {
            let m = less(k, m, how == FewerRounds);
            nest(k, [m, n], InRounds::Right, [false, how == Breaks], |k, _| {
                if how != LateWrite {
                    sites.push(write_tile(k, s, zero));
                }
                k.named(first, threads, true);
                if how == LateWrite {
                    sites.push(write_tile(k, s, zero));
                }
                if !matches!(how, OnlyFirst | OneNumber) {
                    k.named(last, threads, how != ArriveLast);
                }
            });
        },
        |k| {
            let one = k.eqc(t, 50);
            let one_less = less(k, n, true);
            let own = if how == Leaves { k.p.exprs.add(Expr::Select(one, one_less, n)) } else { n };
            nest(k, [m, own], InRounds::Right, [false; 2], |k, at| {
                if how == EarlyRead {
                    reads.push(read_tile(k, s, zero));
                }
                let odd = k.binc(BinOp::And, at.stage, 1);
                let first = if how == OtherNumbers { k.addc(odd, 1) } else { first };
                if how == Skips {
                    let third = k.eqc(at.round, 3);
                    let both = k.bin(BinOp::And, third, one);
                    let others = k.binc(BinOp::Xor, both, 1);
                    k.when(others, |k| k.named(first, threads, true));
                } else {
                    k.named(first, threads, how != Arrive);
                }
                if how != EarlyRead {
                    reads.push(read_tile(k, s, zero));
                }
                if how != OnlyFirst {
                    k.named(last, threads, true);
                }
            });
        },
    );
    sites.extend(reads);
    (k, sites)
}

ways! {
    /// What may go wrong where readers arrive before their loop, once for each stage.
    Armed {
        /// They do not.
        Unarmed,
        /// They do so once too often.
        Twice,
        /// They leave out a stage.
        OneLess,
        /// One of them does not.
        Some,
        /// The writers arrive too.
        All,
        /// The readers arrive in each round.
        Rounds,
        /// They arrive at the stages in another order.
        Backwards,
        /// The writers do not wait in the first iterations.
        LateWait,
        /// The readers say too early that they have read.
        EarlyRelease,
        /// The ring has a tile less than barriers.
        Short,
        /// A reader makes a tile less in each round.
        Leaves,
        /// The writers make a round less.
        FewerRounds,
    }
}

/// Three stages, or one: the readers arrive at the empty barriers before their loop, and the writers always wait.
fn armed(how: Armed, stages: i64, looped: bool) -> (Kernel, Vec<SiteId>) {
    use Armed::*;
    let mut k = Kernel::new("armed");
    k.p.max_threads = 128;
    let (s, t, n, m) = (k.shared("s", 3 * 96 * 4), k.tid(), k.scalar("n"), k.scalar("m"));
    let (threads, produces) = (k.c(128), k.ltc(t, 32));
    let place = |k: &mut Kernel, at: At, of: i64| {
        let stage = k.binc(BinOp::URem, at.phase, of);
        k.p.exprs.trunc(Width::W32, stage)
    };
    let arm = |k: &mut Kernel| {
        let arrive = |k: &mut Kernel, stage: E| {
            let empty = k.addc(stage, 4);
            k.named(empty, threads, false);
        };
        let count = stages - i64::from(how == OneLess) + i64::from(how == Twice);
        if looped {
            let last = k.c(count);
            k.range(0, last, |k, i| {
                let back = k.c(stages - 1);
                let stage = if how == Backwards { k.sub(back, i) } else { k.binc(BinOp::URem, i, stages) };
                arrive(k, stage);
            });
        } else {
            for i in 0..count {
                let stage = k.c(if how == Backwards { stages - 1 - i } else { i % stages });
                arrive(k, stage);
            }
        }
    };
    if how == All {
        arm(&mut k);
    }
    let (mut sites, mut reads) = (Vec::new(), Vec::new());
    k.when_else(
        produces,
        |k| {
            let m = less(k, m, how == FewerRounds);
            nest(k, [m, n], InRounds::Right, [false; 2], |k, at| {
                let stage = place(k, at, stages);
                let [full, empty] = [1, 4].map(|first| k.addc(stage, first));
                if how == LateWait {
                    let few = k.p.exprs.c64(stages);
                    let again = k.le(few, at.phase);
                    k.when(again, |k| k.named(empty, threads, true));
                } else {
                    k.named(empty, threads, true);
                }
                let tile = place(k, at, stages - i64::from(how == Short));
                sites.push(write_tile(k, s, tile));
                k.named(full, threads, false);
            });
        },
        |k| {
            if how == Some {
                let others = all_but(k, 50);
                k.when(others, arm);
            } else if !matches!(how, Unarmed | All | Rounds) {
                arm(k);
            }
            let one = k.eqc(t, 50);
            let one_less = less(k, n, true);
            let own = if how == Leaves { k.p.exprs.add(Expr::Select(one, one_less, n)) } else { n };
            nest(k, [m, own], InRounds::Right, [false; 2], |k, at| {
                let stage = place(k, at, stages);
                let [full, empty] = [1, 4].map(|first| k.addc(stage, first));
                if how == Rounds {
                    arm(k);
                }
                k.named(full, threads, true);
                if how == EarlyRelease {
                    k.named(empty, threads, false);
                }
                let tile = place(k, at, stages - i64::from(how == Short));
                reads.push(read_tile(k, s, tile));
                if how != EarlyRelease {
                    k.named(empty, threads, false);
                }
            });
        },
    );
    sites.extend(reads);
    (k, sites)
}

#[test]
fn named_barriers_that_are_armed() {
    for (stages, looped) in [(1, false), (3, false), (3, true)] {
        is_proved_in_rounds(armed(Armed::Right, stages, looped).0);
        let wrong = Armed::WRONG.iter().filter(|how| {
            // One stage has no order, none to leave out, and no tile to spare.
            stages > 1 || !matches!(how, Armed::Backwards | Armed::OneLess | Armed::Short)
        });
        let stuck = wrong.filter(|how| waits_for_ever(armed(**how, stages, looped), how));
        assert_eq!(stuck.collect::<Vec<_>>(), [&Armed::Unarmed, &Armed::FewerRounds], "{stages} {looped}");
    }
}

#[test]
fn named_barriers_hand_tiles_over_from_round_to_round() {
    is_proved_in_rounds(named_rounds(InRounds::Right).0);
    // Named barriers have no phases that could begin anew.
    let wrong = InRounds::WRONG.iter().filter(|how| **how != InRounds::NewPhase);
    let stuck = wrong.filter(|how| waits_for_ever(named_rounds(**how), how));
    assert_eq!(stuck.collect::<Vec<_>>(), [&InRounds::FewerRounds, &InRounds::FewerTiles]);
}

#[test]
fn all_wait_at_two_barriers_in_each_round() {
    is_proved_in_rounds(two_barriers(TwoBarriers::Right).0);
    let stuck = TwoBarriers::WRONG.iter().filter(|how| waits_for_ever(two_barriers(**how), how));
    assert_eq!(stuck.collect::<Vec<_>>(), [&TwoBarriers::FewerRounds]);
}

/// What threads know of a tile.
#[derive(Clone, Copy)]
struct At {
    round: E,
    stage: E,
    tile: E,
    /// The number from which the parity follows.
    phase: E,
}

impl At {
    /// The condition that the parity of the phase is odd, or that it is not.
    fn odd(self, k: &mut Kernel, odd: bool) -> E {
        let round = k.binc(BinOp::UDiv, self.phase, STAGES);
        let bit = k.binc(BinOp::And, round, 1);
        let zero = k.p.exprs.constant(k.p.exprs.width(bit), 0);
        k.p.exprs.cmp(if odd { CmpOp::Ne } else { CmpOp::Eq }, bit, zero)
    }
}

fn less(k: &mut Kernel, n: E, is_less: bool) -> E {
    if is_less { k.addc(n, -1) } else { n }
}

/// `for (round = blockIdx.x; round < m; round += gridDim.x) for (i = 0; i < n; i++)`
fn nest(
    k: &mut Kernel,
    [m, n]: [E; 2],
    how: InRounds,
    breaks: [bool; 2],
    body: impl FnOnce(&mut Kernel, At),
) {
    let (first, step) = (k.bid(), k.gdim());
    let outer = k.next_loop();
    let inner = |k: &mut Kernel, round: E| {
        let of = k.next_loop();
        let own = |k: &mut Kernel| {
            k.range(0, n, |k, _| {
                let at = numbered(k, how, round, [outer, of]);
                body(k, at);
            });
        };
        changed(k, own, |k, of| {
            if how == InRounds::LateTest {
                of.test = Test::After;
            }
            of.breaks = breaks[1].then(|| k.breaks(Uniform::Block, &[outer, of.id]));
        });
    };
    let all = |k: &mut Kernel| k.looped(first, Step::Add(step), |k, round| k.lt(round, m), inner);
    changed(k, all, |k, of| of.breaks = breaks[0].then(|| k.breaks(Uniform::Block, &[outer])));
}

/// Makes loops, and changes them.
fn changed(k: &mut Kernel, make: impl FnOnce(&mut Kernel), change: impl Fn(&mut Kernel, &mut Loop)) {
    k.open();
    make(k);
    for mut stmt in k.close() {
        if let Stmt::Loop(of) = &mut stmt {
            change(k, of);
        }
        k.stmt(stmt);
    }
}

fn numbered(k: &mut Kernel, how: InRounds, round: E, [outer, of]: [LoopId; 2]) -> At {
    use InRounds::*;
    let total = k.p.exprs.add(Expr::Total { of, uniform: Uniform::Block });
    let own = k.p.exprs.add(Expr::Iteration(of));
    let short = |k: &mut Kernel, number: E| k.p.exprs.add(Expr::Cast(Cast::Trunc, Width::W32, number));
    let stages = match how {
        NewStage | NewBoth => own,
        OtherCount => {
            let rounds = k.p.exprs.add(Expr::Iteration(outer));
            k.add(rounds, total)
        }
        _ => total,
    };
    let phase = if matches!(how, NewPhase | NewBoth) { own } else { total };
    let place = |k: &mut Kernel, count: i64| {
        let at = k.binc(BinOp::URem, stages, count);
        short(k, at)
    };
    let (stage, tile) = (place(k, STAGES), place(k, STAGES - i64::from(how == Short)));
    At { round, stage, tile, phase }
}

/// True if the kernel is proved, since its threads wait for ever where their order would be wrong. Else no access is.
fn waits_for_ever((k, sites): (Kernel, Vec<SiteId>), what: &dyn std::fmt::Debug) -> bool {
    let outcome = prove(&k.done());
    let open = outcome.verdicts.sites.iter().filter(|s| matches!(s.verdict, Verdict::Unknown(_))).count();
    assert!([0, sites.len()].contains(&open), "{what:?}: {:?}", words(&outcome));
    open == 0
}

/// The kernel is proved for blocks of one row, and rounds whose numbers do not wrap.
fn is_proved_in_rounds(k: Kernel) {
    let mut conditions = proved(k);
    conditions.retain(|condition| !condition.contains("fits"));
    assert_eq!(conditions, ONE_ROW);
}

#[test]
fn rings_go_on_from_round_to_round() {
    for copies in [false, true] {
        is_proved_in_rounds(rounds(InRounds::Right, copies).0);
        for how in InRounds::WRONG {
            all_are_open(rounds(*how, copies), &(how, copies));
        }
    }
}
