//! Values that loops leave behind: an up-sweep and a down-sweep. The strides of the second loop go on
//! from where the first one left them. Each proved kernel stands beside neighbours that must not be.
mod common;

use common::*;
use gpurace_protocol::expr::*;
use gpurace_protocol::last::settle;
use gpurace_protocol::protocol::*;
use gpurace_protocol::verdict::Verdict;

/// `for (int d = from, offset = start; cond; d = .., offset = ..) body`
#[derive(Clone, Copy)]
struct Sweep {
    id: u32,
    d: (E, Step),
    offset: (E, Step),
}

impl Sweep {
    fn vars(self, k: &mut Kernel) -> [E; 2] {
        [2 * self.id, 2 * self.id + 1].map(|id| k.p.exprs.add(Expr::Var { id: VarId(id), width: Width::W32 }))
    }

    fn run(self, k: &mut Kernel, cond: E, breaks: Option<Breaks>, body: impl FnOnce(&mut Kernel)) {
        k.open();
        body(k);
        let body = k.close();
        let var = |id, (from, step)| Induction { id: VarId(id), width: Width::W32, from, step };
        let vars = vec![var(2 * self.id, self.d), var(2 * self.id + 1, self.offset)];
        k.stmt(Stmt::Loop(Loop { id: LoopId(self.id), vars, cond, test: Test::Before, breaks, body }));
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Case {
    Whole,
    /// No barrier in the down-sweep.
    NoBarrier,
    /// A break may end the up-sweep.
    Broken,
    /// The down-sweep starts from half of what the up-sweep left, and ends with a stride of 0.
    TooNear,
    /// The thread's index bounds the up-sweep.
    OfThreads,
    /// Each thread's strides begin further on by its index, which is less than the strides' last digit in each round.
    Shifted,
}

/// Blelloch's scan of `n` elements by `n / 2` threads, `n` a parameter.
fn scan(case: Case) -> Protocol {
    let mut k = Kernel::new("scan");
    let (tile, n, t) = (k.shared("tile", 4096), k.scalar("n"), k.tid());
    let (zero, one, two) = (k.c(0), k.c(1), k.c(2));
    let half = k.bin(BinOp::SDiv, n, two);
    let up = Sweep { id: 10, d: (half, Step::SDiv(2)), offset: (one, Step::Mul(2)) };
    let [d, offset] = up.vars(&mut k);
    let place = |k: &mut Kernel, offset: E, by: i64| {
        let twice = k.mulc(t, 2);
        let by = k.addc(twice, by);
        let far = k.mul(offset, by);
        k.addc(far, -1)
    };
    let sweep = |k: &mut Kernel, d: E, offset: E, down: bool| {
        let below = k.lt(t, d);
        k.when(below, |k| {
            let (left, right) = (place(k, offset, 1), place(k, offset, 2));
            k.read(tile, left);
            k.read(tile, right);
            if down {
                k.write(tile, left);
            }
            k.write(tile, right);
        });
    };
    let least = if case == Case::OfThreads { t } else { zero };
    let cond = k.lt(least, d);
    let breaks = (case == Case::Broken).then(|| k.breaks(Uniform::Grid, &[LoopId(10)]));
    up.run(&mut k, cond, breaks, |k| {
        k.sync();
        sweep(k, d, offset, false);
    });
    let left = k.opaque("a loop's last value", Width::W32, Uniform::Grid, &[]);
    let value = if case == Case::Shifted { k.add(offset, t) } else { offset };
    k.p.opaques.last_mut().expect("there is one").last = Some(Last { of: LoopId(10), value });
    let first = k.eqc(t, 0);
    k.when(first, |k| {
        let last = k.addc(n, -1);
        k.write(tile, last);
    });
    let from = if case == Case::TooNear { k.bin(BinOp::SDiv, left, two) } else { left };
    let down = Sweep { id: 20, d: (one, Step::Mul(2)), offset: (from, Step::SDiv(2)) };
    let [d, offset] = down.vars(&mut k);
    let cond = k.lt(d, n);
    down.run(&mut k, cond, None, |k| {
        if case != Case::NoBarrier {
            k.sync();
        }
        let offset = k.bin(BinOp::SDiv, offset, two);
        sweep(k, d, offset, true);
    });
    k.done()
}

#[test]
fn a_stride_that_goes_on_from_another_loop() {
    let p = scan(Case::Whole);
    for n in [2, 8, 16] {
        let launch = launch([2, 1, 1], [n / 2, 1, 1], &p, &[n.into()]);
        assert!(racing(&p, &launch, 3).is_empty());
        let outcome = prove_with(&p, &launch);
        assert!(all_proved(&outcome), "{n}: {:?}", outcome.verdicts.sites);
    }
    let launch = launch([64, 1, 1], [256, 1, 1], &p, &[512]);
    let outcome = prove_with(&p, &launch);
    assert!(all_proved(&outcome), "{:?}", outcome.verdicts.sites);
    // Without the launch it stays open. There is no race report either, though most `n` race.
    let words_of = |p: &Protocol| words(&prove(p));
    assert!(words_of(&p).contains(&"unknown") && !words_of(&p).contains(&"racy"), "{:?}", words_of(&p));
    let odd = common::launch([1, 1, 1], [6, 1, 1], &p, &[12]);
    assert!(!racing(&p, &odd, 3).is_empty());
    assert_eq!(settle(&p, None), None);
}

#[test]
fn strides_that_must_not_be_taken_for_it() {
    for case in [Case::NoBarrier, Case::Broken, Case::OfThreads, Case::TooNear, Case::Shifted] {
        let p = scan(case);
        for n in [8, 16] {
            let launch = launch([2, 1, 1], [n / 2, 1, 1], &p, &[n.into()]);
            let racing = racing(&p, &launch, 3);
            assert!(matches!(case, Case::OfThreads | Case::Shifted) || !racing.is_empty(), "{case:?}");
            let settled = settle(&p, Some(&launch)).is_some();
            assert_eq!(settled, matches!(case, Case::NoBarrier | Case::TooNear | Case::Shifted), "{case:?}");
            for site in &prove_with(&p, &launch).verdicts.sites {
                assert!(
                    !racing.contains(&site.site) || site.verdict != Verdict::Proved,
                    "{case:?}: {site:?}"
                );
            }
            let fine = case == Case::Shifted && racing.is_empty();
            assert!(fine || !all_proved(&prove_with(&p, &launch)), "{case:?}");
        }
    }
}

/// The value that `for (..) {}` with this condition and step leaves.
fn left(
    from: i64,
    step: impl Fn(&mut Kernel) -> Step,
    test: Test,
    cond: impl Fn(&mut Kernel, E) -> E,
) -> Option<u64> {
    let mut k = Kernel::new("left");
    let (a, from, step) = (k.pointer("a"), k.c(from), step(&mut k));
    let v = k.p.exprs.add(Expr::Var { id: VarId(1), width: Width::W32 });
    let cond = cond(&mut k, v);
    let vars = vec![Induction { id: VarId(1), width: Width::W32, from, step }];
    k.stmt(Stmt::Loop(Loop { id: LoopId(1), vars, cond, test, breaks: None, body: Vec::new() }));
    let left = k.opaque("left", Width::W32, Uniform::Grid, &[]);
    k.p.opaques.last_mut().expect("there is one").last = Some(Last { of: LoopId(1), value: v });
    k.write(a, left);
    let p = k.done();
    let settled = settle(&p, None)?;
    let Some(Stmt::Access(access)) = settled.body.last() else { unreachable!() };
    // A thread that runs the kernel writes to the same place.
    let launch = launch([1, 1, 1], [1, 1, 1], &p, &[]);
    let run = gpurace_protocol::run::trace(&p, &launch, Default::default(), &mut |_| 77, 1_000_000)
        .expect("it ends");
    let offset = settled.exprs.as_const(access.offset).expect("a constant");
    assert_eq!(run.touches.last().map(|touch| touch.offset), Some(offset as i64));
    Some(offset / 4)
}

#[test]
fn loops_are_counted_out() {
    let by = |by: i64| move |k: &mut Kernel| Step::Add(k.c(by));
    let below = |n: i64| move |k: &mut Kernel, v: E| k.ltc(v, n);
    assert_eq!(left(0, by(3), Test::Before, below(10)), Some(12));
    assert_eq!(left(20, by(3), Test::Before, below(10)), Some(20));
    // A loop that tests after an iteration leaves the value of the last iteration.
    assert_eq!(left(0, by(3), Test::After, below(10)), Some(12));
    assert_eq!(left(20, by(3), Test::After, below(10)), Some(20));
    assert_eq!(left(1, |_| Step::Mul(2), Test::Before, below(1000)), Some(1024));
    assert_eq!(left(100, |_| Step::UDiv(3), Test::Before, Kernel::positive), Some(0));
    // A loop without an end, and one that is too long.
    assert_eq!(left(0, by(0), Test::Before, below(10)), None);
    assert_eq!(left(0, by(1), Test::Before, below(1 << 20)), None);
    // Steps and conditions that are not known.
    assert_eq!(left(0, |_| Step::Any(Uniform::Grid), Test::Before, below(10)), None);
    let to_tid = |k: &mut Kernel, v: E| {
        let t = k.tid();
        k.lt(v, t)
    };
    assert_eq!(left(0, by(1), Test::Before, to_tid), None);
}

/// How a loop differs from one that moves a place three strides on.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Move {
    Whole,
    /// The place is doubled in each iteration instead.
    Doubled,
    /// A further write is three strides away too, at the next thread's place.
    Meets,
    /// A break may end the loop.
    Broken,
    /// The step is not known.
    AnyStep,
    /// The number of iterations rests on the thread's index.
    OfThreads,
}

/// `at = t; for (k = 0; k < r; k++) at += n; a[at] = 1; a[t + 1 + n] = 1;`.
fn moved(case: Move) -> Protocol {
    let mut k = Kernel::new("moved");
    let (a, r, n, t) = (k.pointer("a"), k.scalar("r"), k.scalar("n"), k.tid());
    let (zero, one) = (k.c(0), k.c(1));
    let [count, at] = [1, 2].map(|id| k.p.exprs.add(Expr::Var { id: VarId(id), width: Width::W32 }));
    let more = if case == Move::OfThreads { k.binc(BinOp::And, t, 1) } else { zero };
    let end = k.add(r, more);
    let cond = k.lt(count, end);
    let step = match case {
        Move::Doubled => Step::Mul(2),
        Move::AnyStep => Step::Any(Uniform::Thread),
        _ => Step::Add(n),
    };
    let start = k.mulc(t, 2);
    let from = if case == Move::Doubled { start } else { t };
    let var = |id, from, step| Induction { id: VarId(id), width: Width::W32, from, step };
    let breaks = (case == Move::Broken).then(|| k.breaks(Uniform::Thread, &[LoopId(1)]));
    let vars = vec![var(1, zero, Step::Add(one)), var(2, from, step)];
    k.stmt(Stmt::Loop(Loop { id: LoopId(1), vars, cond, test: Test::Before, breaks, body: Vec::new() }));
    let left = k.opaque("left", Width::W32, Uniform::Thread, &[]);
    k.p.opaques.last_mut().expect("there is one").last = Some(Last { of: LoopId(1), value: at });
    k.write(a, left);
    let far = k.mulc(n, if case == Move::Meets { 3 } else { 1 });
    let next = k.add(t, far);
    let next = k.addc(next, 1);
    let odd = k.mulc(t, 2);
    let next = if case == Move::Doubled { k.addc(odd, 1) } else { next };
    k.write(a, next);
    k.done()
}

#[test]
fn a_place_that_a_loop_moves() {
    for case in [Move::Whole, Move::Doubled] {
        let p = moved(case);
        for (block, n) in [(8, 8), (256, 300)] {
            let launch = launch([1, 1, 1], [block, 1, 1], &p, &[3, n]);
            // What the loop leaves is all that is open.
            assert!(racing(&p, &launch, 0).is_empty(), "{case:?}");
            let settled = settle(&p, Some(&launch)).expect("the number of iterations is known");
            assert!(settled.exprs.iter().all(|(_, node)| !matches!(node, Expr::Opaque { .. })), "{case:?}");
            let outcome = prove_with(&p, &launch);
            let one_block = block <= n as u32;
            assert_eq!(all_proved(&outcome), one_block, "{case:?}: {:?}", outcome.verdicts.sites);
        }
        // Without the launch, the number of iterations is not known.
        assert_eq!(settle(&p, None), None, "{case:?}");
    }
}

#[test]
fn places_that_a_loop_moves_elsewhere() {
    for case in [Move::Meets, Move::Broken, Move::AnyStep, Move::OfThreads] {
        let p = moved(case);
        let launch = launch([1, 1, 1], [8, 1, 1], &p, &[3, 8]);
        let settled = settle(&p, Some(&launch)).is_some();
        assert_eq!(settled, case == Move::Meets, "{case:?}");
        let outcome = prove_with(&p, &launch);
        if case != Move::OfThreads {
            let sites = &outcome.verdicts.sites;
            assert!(sites.iter().any(|s| s.verdict != Verdict::Proved), "{case:?}: {sites:?}");
        }
        assert!(case != Move::Meets || !racing(&p, &launch, 0).is_empty());
    }
}

/// How a kernel differs from an insertion sort in which each thread sorts `m` numbers of its own.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Sort {
    Whole,
    /// The loop tests after each iteration.
    TestsAfter,
    /// It goes one place too far down.
    TooFar,
    /// The number is stored one place too far up.
    TooHigh,
    /// The loop goes down by steps that are not known.
    AnyStep,
    /// Only some rounds have the loop. The others use the value too.
    NotAlways,
}

/// `for (i = 1; i < m; i++) { for (j = i - 1; j >= 0; j--) { if (own[j] <= v) break; own[j + 1] = own[j]; } own[j + 1]
/// = v; }`. Returns the site of the last write too.
fn sort(case: Sort) -> (Kernel, SiteId) {
    let mut k = Kernel::new("sort");
    let (a, m, t) = (k.pointer("a"), k.scalar("m"), k.tid());
    let own = k.mul(t, m);
    let [i, j] = [1, 2].map(|id| k.p.exprs.add(Expr::Var { id: VarId(id), width: Width::W32 }));
    let (one, less, start) = (k.c(1), k.c(-1), k.addc(i, -1));
    let step = if case == Sort::AnyStep { Step::Any(Uniform::Thread) } else { Step::Add(less) };
    let var = |id, from, step| vec![Induction { id: VarId(id), width: Width::W32, from, step }];
    let below = match case {
        Sort::TooFar => -2,
        Sort::TestsAfter => 0,
        _ => -1,
    };
    let (below, to) = (k.c(below), k.lt(i, m));
    let cond = k.lt(below, j);
    k.open();
    k.open();
    let at = k.add(own, j);
    let above = k.addc(at, 1);
    k.read(a, at);
    k.write(a, above);
    let body = k.close();
    let breaks = k.breaks(Uniform::Thread, &[LoopId(1), LoopId(2)]);
    let test = if case == Sort::TestsAfter { Test::After } else { Test::Before };
    let inner =
        Stmt::Loop(Loop { id: LoopId(2), vars: var(2, start, step), cond, test, breaks: Some(breaks), body });
    if case == Sort::NotAlways {
        let (odd, tid) = (k.binc(BinOp::And, i, 1), k.tid());
        let some = k.lt(odd, tid);
        k.when(some, |k| k.stmt(inner));
    } else {
        k.stmt(inner);
    }
    let left = k.opaque("left", Width::W32, Uniform::Thread, &[LoopId(1)]);
    k.p.opaques.last_mut().expect("there is one").last = Some(Last { of: LoopId(2), value: j });
    let at = k.add(own, left);
    let at = k.addc(at, if case == Sort::TooHigh { 2 } else { 1 });
    let last = k.write(a, at);
    let body = k.close();
    let vars = var(1, one, Step::Add(one));
    k.stmt(Stmt::Loop(Loop { id: LoopId(1), vars, cond: to, test: Test::Before, breaks: None, body }));
    (k, last)
}

#[test]
fn a_place_that_a_broken_loop_found() {
    for case in [Sort::Whole, Sort::TestsAfter] {
        let (k, _) = sort(case);
        let conditions = proved(k);
        assert!(!conditions.is_empty(), "{case:?}");
        // They hold at a launch.
        let p = sort(case).0.done();
        let launch = launch([1, 1, 1], [64, 1, 1], &p, &[9]);
        assert!(all_proved(&prove_with(&p, &launch)), "{case:?}");
        for open in [0, 1] {
            assert!(racing(&p, &launch, open).is_empty(), "{case:?}");
        }
    }
}

#[test]
fn places_that_a_broken_loop_must_not_be_trusted_with() {
    for case in [Sort::TooFar, Sort::TooHigh, Sort::AnyStep, Sort::NotAlways] {
        let (k, last) = sort(case);
        not_proved(k, &[last]);
        let p = sort(case).0.done();
        let launch = launch([1, 1, 1], [8, 1, 1], &p, &[5]);
        // A step down ends the loop.
        let races =
            [0xffff_fff0, 0, 1, 2, 3, 4, 5].iter().any(|&open| racing(&p, &launch, open).contains(&last));
        assert!(races, "{case:?} does not race");
        let site = prove_with(&p, &launch).verdicts.sites.into_iter().find(|s| s.site == last);
        assert!(site.is_some_and(|s| s.verdict != Verdict::Proved), "{case:?}");
    }
}
