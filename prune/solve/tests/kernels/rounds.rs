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

#[test]
fn rings_go_on_from_round_to_round() {
    for copies in [false, true] {
        let mut conditions = proved(rounds(InRounds::Right, copies).0);
        conditions.retain(|condition| !condition.contains("fits"));
        assert_eq!(conditions, ONE_ROW);
        for how in InRounds::WRONG {
            all_are_open(rounds(*how, copies), &(how, copies));
        }
    }
}
