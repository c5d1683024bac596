//! Random rings of tiles between two warps of a block, which hand over at named barriers or mbarriers, in loops around
//! loops. Some of them have mistakes. No access that is proved takes part in a race in any of some random orders.
//!
//! `GPURACE_SEED` sets the first seed, `GPURACE_CASES` the number of kernels.
mod common;
#[path = "common/schedules.rs"]
mod schedules;

use common::*;
use gpurace_protocol::expr::*;
use gpurace_protocol::protocol::*;
use gpurace_protocol::verdict::Verdict;
use gpurace_random::{Random, number};

/// The threads of a block: a warp that fills tiles, and one that reads them.
const THREADS: u32 = 64;

/// What both sides of a ring share.
#[derive(Clone, Copy, Debug)]
struct Ring {
    named: bool,
    /// One thread fills each tile by an asynchronous copy.
    copies: bool,
    /// One lane arrives for its warp, behind a sync of the warp.
    elects: bool,
    stages: i64,
    /// The loops around each other.
    depth: usize,
    /// The chance of a mistake at each place, in percent.
    mistakes: u64,
    /// Stages and phases go on from round to round.
    carried: bool,
    s: ObjectId,
    full: ObjectId,
    empty: ObjectId,
    /// The numbers of rounds, the outermost loop's first.
    bounds: [E; 3],
}

struct Maker {
    k: Kernel,
    r: Random,
    of: Ring,
    loops: Vec<(LoopId, E)>,
}

impl Maker {
    fn wrong(&mut self) -> bool {
        let mistakes = self.of.mistakes;
        mistakes > 0 && self.r.chance(mistakes)
    }

    /// A condition that holds for some threads, in some rounds, or for what nobody knows.
    fn some(&mut self) -> E {
        let t = self.k.tid();
        let number = self.r.pick(&[0, 5, 31, 32, 40]);
        let by_thread = self.k.eqc(t, number);
        let Some(&(_, i)) = self.loops.get(self.r.below(3usize)) else { return by_thread };
        let (op, bound) = (self.r.pick(&[CmpOp::Eq, CmpOp::Slt, CmpOp::Ne]), self.r.below(3) as i64);
        let bound = self.k.c(bound);
        let by_round = self.k.p.exprs.cmp(op, i, bound);
        match self.r.below(4u32) {
            0 => by_thread,
            1 => self.k.bin(BinOp::And, by_thread, by_round),
            2 => {
                let loops: Vec<_> = self.loops.iter().map(|(of, _)| *of).collect();
                let uniform = self.r.pick(&[Uniform::Thread, Uniform::Warp, Uniform::Block]);
                self.k.opaque("what nobody knows", Width::W1, uniform, &loops)
            }
            _ => by_round,
        }
    }

    /// Does something, or does it under a condition by mistake, or not at all.
    fn mostly(&mut self, act: impl FnOnce(&mut Self)) {
        if !self.wrong() {
            return act(self);
        }
        if self.r.chance(30) {
            return;
        }
        let cond = self.some();
        self.k.open();
        act(self);
        let body = self.k.close();
        let (then, otherwise) = if self.r.chance(50) { (body, Vec::new()) } else { (Vec::new(), body) };
        self.k.stmt(Stmt::If { cond, then, otherwise });
    }

    /// Loops around each other, and in the innermost one what is done with each tile.
    fn nest(&mut self, depth: usize, body: &mut dyn FnMut(&mut Self)) {
        let id = self.k.next_loop();
        self.k.skip_loop();
        let (var, width) = (VarId(1000 + id.0), Width::W32);
        let (from, one) = (self.k.c(0), self.k.c(1));
        let i = self.k.p.exprs.add(Expr::Var { id: var, width });
        let mut bound = self.of.bounds[depth];
        if self.wrong() {
            let (some, by) = (self.some(), self.r.pick(&[-1, 1]));
            let other = self.k.addc(bound, by);
            bound = if self.r.chance(60) { self.k.p.exprs.select(some, other, bound) } else { other };
        }
        let mut test = Test::Before;
        let mut cond = self.k.lt(i, bound);
        if self.wrong() && self.r.chance(30) {
            test = Test::After;
            let next = self.k.addc(i, 1);
            cond = self.k.lt(next, bound);
        }
        self.loops.push((id, i));
        let breaks = (self.wrong() && self.r.chance(50)).then(|| {
            let (uniform, unless) = (Uniform::Thread, self.some());
            Breaks { uniform, unless }
        });
        self.k.open();
        if depth + 1 < self.of.depth {
            self.mostly(|m| m.nest(depth + 1, body));
            if self.wrong() {
                let tile = self.k.c(0);
                self.touch(tile);
            }
        } else {
            body(self);
        }
        let body = self.k.close();
        self.loops.pop();
        let vars = vec![Induction { id: var, width, from, step: Step::Add(one) }];
        self.k.stmt(Stmt::Loop(Loop { id, vars, cond, test, breaks, body }));
    }

    /// The number of the tile that the innermost loop works on.
    fn count(&mut self) -> E {
        let (of, i) = *self.loops.last().expect("it is in a loop");
        let carried = self.of.carried != self.wrong();
        let uniform = if self.of.mistakes == 0 { Uniform::Block } else { Uniform::Thread };
        if carried {
            self.k.p.exprs.add(Expr::Total { of, uniform })
        } else {
            self.k.p.exprs.sext(Width::W64, i)
        }
    }

    fn stage(&mut self, count: E) -> E {
        let by = if self.wrong() { self.r.below(3) as i64 } else { 0 };
        let count = self.k.binc(BinOp::Add, count, by);
        let stages = (self.of.stages + if self.wrong() { self.r.pick(&[-1, 1]) } else { 0 }).max(1);
        let stage = self.k.binc(BinOp::URem, count, stages);
        self.k.p.exprs.trunc(Width::W32, stage)
    }

    fn touch(&mut self, tile: E) {
        let t = self.k.tid();
        if self.of.copies {
            return;
        }
        let (row, own) = (self.k.mulc(tile, 32), self.k.binc(BinOp::And, t, 31));
        let at = self.k.add(row, own);
        self.k.write(self.of.s, at);
    }

    fn handover(&mut self, full: bool, count: E, waits: bool) {
        let of = self.of;
        let stage = self.stage(count);
        if of.named {
            let first = if full == self.wrong() { 8 } else { 1 };
            let id = self.k.addc(stage, first);
            let threads = if self.wrong() { 32 } else { i64::from(THREADS) };
            let threads = self.k.c(threads);
            let waits = waits != self.wrong();
            return self.k.named(id, threads, waits);
        }
        let mut writers = if full && of.copies || of.elects { 1 } else { 32 };
        if self.wrong() {
            writers -= 1;
        }
        let parity = waits.then(|| {
            let round = self.k.binc(BinOp::UDiv, count, of.stages);
            let bit = self.k.binc(BinOp::And, round, 1);
            let odd = full != self.wrong();
            let zero = self.k.p.exprs.c64(0);
            self.k.p.exprs.cmp(if odd { CmpOp::Ne } else { CmpOp::Eq }, bit, zero)
        });
        let array = if full == self.wrong() { of.empty } else { of.full };
        let act = |k: &mut Kernel| k.phase(array, stage, writers.max(1), parity);
        if full && of.copies && !waits {
            // The arrival counts the copy, which may start before it or behind it.
            let tile = self.stage(count);
            let (row, behind) = (self.k.mulc(tile, 32), self.r.chance(50));
            if behind {
                act(&mut self.k);
            }
            self.k.told(of.s, row, 4 * 32, array, stage);
            if !behind {
                act(&mut self.k);
            }
        } else if of.elects && !waits && !(full && of.copies) {
            let lane = self.k.lane();
            let first = self.k.eqc(lane, 0);
            if !self.wrong() {
                self.k.warp_sync();
            }
            self.k.when(first, act);
        } else {
            act(&mut self.k);
        }
    }

    /// Fills a tile, or reads one, between its wait and its arrival.
    fn works(&mut self, fills: bool) {
        let of = self.of;
        let count = self.count();
        let waits = |m: &mut Self| {
            if fills && of.named {
                let late = i64::from(m.wrong());
                let first = m.k.p.exprs.c64(of.stages + late);
                let again = m.k.le(first, count);
                m.k.open();
                m.handover(false, count, true);
                let then = m.k.close();
                m.k.stmt(Stmt::If { cond: again, then, otherwise: Vec::new() });
            } else {
                m.handover(!fills, count, true);
            }
        };
        let uses = |m: &mut Self| {
            let tile = m.stage(count);
            let (t, row) = (m.k.tid(), m.k.mulc(tile, 32));
            if fills && of.copies {
                // With the arrival.
            } else if fills {
                let own = m.k.add(row, t);
                m.k.write(of.s, own);
            } else {
                let back = m.k.c(63);
                let other = m.k.sub(back, t);
                let at = m.k.add(row, other);
                m.k.read(of.s, at);
            }
        };
        let tells = |m: &mut Self| m.handover(fills, count, false);
        let early = self.wrong();
        self.mostly(waits);
        if early {
            self.mostly(tells);
        }
        self.mostly(uses);
        if !early {
            self.mostly(tells);
        }
    }

    fn side(&mut self, fills: bool) {
        let copying = {
            let t = self.k.tid();
            self.k.eqc(t, 0)
        };
        self.k.open();
        self.nest(0, &mut |m| m.works(fills));
        let body = self.k.close();
        if fills && self.of.copies {
            self.k.stmt(Stmt::If { cond: copying, then: body, otherwise: Vec::new() });
        } else {
            body.into_iter().for_each(|stmt| self.k.stmt(stmt));
        }
    }
}

fn kernel(seed: u64) -> (Protocol, Ring) {
    let mut r = Random(seed);
    let mut k = Kernel::new("ring");
    k.p.max_threads = THREADS;
    let named = r.chance(60);
    let copies = !named && r.chance(30);
    let elects = !named && r.chance(30);
    let stages = r.pick(&[1, 2, 3]);
    let depth = r.pick(&[1, 2, 2, 2, 3]);
    let s = k.shared("s", 4 * 32 * 4);
    let (full, empty) = (k.shared("full", 64), k.shared("empty", 64));
    let bounds = ["a", "b", "c"].map(|name| k.scalar(name));
    let mistakes = r.pick(&[0, 2, 4, 8]);
    let carried = depth == 1 || r.chance(90);
    let of = Ring { named, copies, elects, stages, depth, mistakes, carried, s, full, empty, bounds };
    k.sync();
    let mut m = Maker { k, r, of, loops: Vec::new() };
    let t = m.k.tid();
    let fills = m.k.ltc(t, 32);
    m.k.open();
    m.side(true);
    let then = m.k.close();
    m.k.open();
    m.side(false);
    let otherwise = m.k.close();
    m.k.stmt(Stmt::If { cond: fills, then, otherwise });
    (m.k.done(), of)
}

#[test]
fn no_access_that_is_proved_races_in_any_order() {
    let first = number("GPURACE_SEED", 1);
    let (mut proved, mut right, mut racing, mut faulty) = (0, 0, 0, 0);
    for seed in first..first + number("GPURACE_CASES", 60) {
        let (p, of) = kernel(seed);
        let is_right = of.mistakes == 0 && of.carried;
        let mut r = Random(seed ^ 0x5eed);
        let scalars = [1 + r.below(3), r.below(4), 1 + r.below(3)];
        let launch = launch([1, 1, 1], [THREADS, 1, 1], &p, &scalars);
        let outcomes = [prove_with(&p, &launch), prove(&p)];
        let holds = |verdict: &Verdict, exprs: &Exprs| match verdict {
            Verdict::Proved => true,
            Verdict::ProvedIf(all) => all.iter().all(|condition| condition.holds(&p, exprs, &launch)),
            Verdict::Racy(_) | Verdict::Unknown(_) => false,
        };
        let shown: Vec<Vec<SiteId>> = outcomes
            .iter()
            .map(|outcome| {
                let verdicts = outcome.verdicts.sites.iter();
                verdicts.filter(|of| holds(&of.verdict, &outcome.verdicts.exprs)).map(|of| of.site).collect()
            })
            .collect();
        let all = outcomes[0].verdicts.sites.len();
        let is_proved = shown.iter().any(|sites| sites.len() == all);
        proved += u32::from(is_proved);
        right += u32::from(is_right);
        if is_right && !is_proved {
            eprintln!(
                "seed {seed} has no mistake: {scalars:?} {of:?} {:?}",
                outcomes.each_ref().map(|of| (words(of), of.verdicts.sites[0].why.clone()))
            );
        }
        let mut answers = r.clone();
        let mut known = std::collections::HashMap::new();
        let mut choose = |open: &gpurace_protocol::run::Open| {
            *known.entry(open.clone()).or_insert_with(|| answers.below(2))
        };
        let (found, _) = schedules::racing(&p, &launch, 12, seed, &mut choose);
        racing += u32::from(!found.is_empty());
        let missed = |sites: &Vec<SiteId>| sites.iter().any(|site| found.contains(site));
        if shown.iter().any(missed) {
            faulty += 1;
            eprintln!(
                "seed {seed}, {scalars:?}, {of:?}: races at {found:?}, proved are {shown:?}\n{}",
                text(&p, &p.body, 0)
            );
        }
    }
    eprintln!("{proved} proved, {right} without mistakes, {racing} race");
    assert_eq!(faulty, 0);
    assert!(proved > right / 2 && racing > 0, "{proved} of {right} proved, {racing} race");
}

/// The text of a kernel, for those who look at a failure.
fn text(p: &Protocol, body: &[Stmt], indent: usize) -> String {
    let show = |id: ExprId| gpurace_protocol::show::expr(p, &p.exprs, id);
    let pad = " ".repeat(indent);
    let line = |stmt: &Stmt| match stmt {
        Stmt::Access(of) => {
            format!("{pad}{:?} {:?} object {} at {}\n", of.site, of.op, of.object.0, show(of.offset))
        }
        Stmt::Sync(Sync::Named(of)) => {
            format!("{pad}named {} of {}, waits: {}\n", show(of.id), show(of.threads), of.waits)
        }
        Stmt::Sync(Sync::Phase(of)) => {
            let parity = of.parity.map(show);
            format!(
                "{pad}phase of {} at {}, count {}, parity {parity:?}\n",
                of.of.0,
                show(of.at),
                show(of.count)
            )
        }
        Stmt::Sync(sync) => format!("{pad}{sync:?}\n"),
        Stmt::Loop(of) => {
            let breaks = of.breaks.map(|breaks| show(breaks.unless));
            let inner = text(p, &of.body, indent + 4);
            format!("{pad}loop {} {:?} while {}, unless {breaks:?}\n{inner}", of.id.0, of.test, show(of.cond))
        }
        Stmt::If { cond, then, otherwise } => {
            let [then, otherwise] = [then, otherwise].map(|body| text(p, body, indent + 4));
            format!("{pad}if {}\n{then}{pad}else\n{otherwise}", show(*cond))
        }
        Stmt::Unknown(_) => unreachable!("there is none"),
    };
    body.iter().map(line).collect()
}
