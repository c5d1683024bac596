//! The solver's limits. They are counted in its own units and are the same in every run.
mod common;

use common::*;
use gpurace_protocol::expr::{BinOp, Expr, VarId, Width};
use gpurace_protocol::launch::{Extent, Launch};
use gpurace_protocol::protocol::{Induction, Protocol, SiteId, Step, Stmt, Uniform};
use gpurace_protocol::verdict::Verdict;
use gpurace_solve::{Limits, Options, Outcome, solve, solve_with};

/// `a[128 - tid] = ...; __syncthreads(); ... = a[tid + 1]`, in a loop.
fn kernel() -> Protocol {
    let mut k = Kernel::new("limits");
    let a = k.shared("a", 8192);
    let t = k.tid();
    let next = k.addc(t, 1);
    let end = k.scalar("n");
    k.range(0, end, |k, _| {
        k.write(a, t);
        k.sync();
        k.read(a, next);
        k.sync();
    });
    k.done()
}

fn within(limits: Limits) -> Outcome {
    solve(&kernel(), &Options { limits, dump: None })
}

fn proved(outcome: &Outcome) -> usize {
    let sites = outcome.verdicts.sites.iter();
    sites.filter(|s| matches!(s.verdict, Verdict::Proved | Verdict::ProvedIf(_))).count()
}

#[test]
fn what_a_kernel_costs_is_counted_and_always_the_same() {
    let once = within(Limits::default());
    let again = within(Limits::default());
    assert_eq!(proved(&once), 2);
    assert!(once.stats.units > once.stats.asked as u64 * 10_000, "{:?}", once.stats);
    assert_eq!(once.stats.units, again.stats.units);
    assert_eq!(once.verdicts, again.verdicts);
}

#[test]
fn a_kernel_that_costs_more_than_it_may_is_not_proved() {
    let whole = within(Limits::default()).stats.units;
    let outcome = within(Limits { kernel: whole / 4, ..Limits::default() });
    assert!(proved(&outcome) < 2, "{:?}", outcome.verdicts.sites);
    assert!(outcome.stats.gave_up > 0 && outcome.stats.units < whole);
    // The limit of one query works, too.
    let outcome = within(Limits { query: 100, ..Limits::default() });
    assert_eq!(proved(&outcome), 0);
}

/// A write by each thread, and before it one at an index that is one of many by the block's number.
fn beside_a_hard_one(cases: i64) -> (Protocol, SiteId) {
    let mut k = Kernel::new("beside_a_hard_one");
    let (x, y, t) = (k.shared("x", 1 << 20), k.shared("y", 1 << 12), k.tid());
    let (n, mut index) = (k.scalar("n"), t);
    for case in 1..=cases {
        let (mixed, far) = (k.binc(BinOp::Xor, n, 3 * case), k.mulc(t, case));
        let is_less = k.lt(mixed, t);
        index = k.p.exprs.select(is_less, far, index);
    }
    if cases > 0 {
        k.write(x, index);
    }
    let easy = k.write(y, t);
    (k.done(), easy)
}

/// What is hard comes first in the text, and last in the proof: an easy access has its proof.
#[test]
fn a_hard_pair_leaves_time_for_the_others() {
    let (alone, _) = beside_a_hard_one(0);
    let easy = solve(&alone, &Options::default()).stats.units;
    let (p, site) = beside_a_hard_one(40);
    let solved = |kernel| solve(&p, &Options { limits: Limits { kernel, ..Limits::default() }, dump: None });
    let hard = solved(u64::MAX).stats.units;
    assert!(hard > 40 * easy, "{hard} {easy}");
    let outcome = solved(16 * easy);
    let of = |outcome: &Outcome| outcome.verdicts.sites.iter().find(|s| s.site == site).cloned();
    let verdict = of(&outcome).map(|site| site.verdict);
    assert!(matches!(verdict, Some(Verdict::Proved | Verdict::ProvedIf(_))), "{verdict:?}");
    assert_eq!(proved(&outcome), 1);
    assert_eq!(outcome.verdicts, solved(16 * easy).verdicts);
}

/// Pointers that step along with a counter. Only the counter bounds each of them. The search for the
/// bounds of one must not try all others.
#[test]
fn a_loop_of_many_variables_is_quick() {
    let kernel = |variables: u32| {
        let mut k = Kernel::new("columns");
        let (x, n, w) = (k.pointer("x"), k.scalar("n"), k.scalar("w"));
        let (i, zero, one) = (k.gid(), k.c(0), k.c(1));
        let mut walking = Vec::new();
        k.looped(
            zero,
            Step::Add(one),
            |k, v| k.lt(v, n),
            |k, _| {
                for number in 0..variables {
                    let id = VarId(100 + number);
                    let v = k.p.exprs.add(Expr::Var { id, width: Width::W32 });
                    let from = k.addc(i, i64::from(number));
                    walking.push(Induction { id, width: Width::W32, from, step: Step::Add(w) });
                    k.read(x, v);
                }
            },
        );
        k.write(x, i);
        let mut p = k.done();
        let Stmt::Loop(of) = &mut p.body[0] else { panic!("{:?}", p.body) };
        of.vars.extend(walking);
        p
    };
    for variables in [2, 12] {
        let p = kernel(variables);
        let start = std::time::Instant::now();
        let outcome = solve_with(&p, &launch([64, 1, 1], [64, 1, 1], &p, &[7, 4096]), &Options::default());
        assert!(start.elapsed().as_secs() < 30, "{variables} variables: {:?}", start.elapsed());
        assert_eq!(outcome.verdicts.sites.len(), variables as usize + 1);
    }
}

/// A read of `m.table[threadIdx.x]` for a table of `size` numbers in the arguments, in a loop.
fn table(size: u32) -> (Protocol, Launch) {
    let mut k = Kernel::new("table");
    let (x, t) = (k.pointer("x"), k.tid());
    let (wide, four, first) = (k.p.exprs.zext(Width::W64, t), k.p.exprs.c64(4), k.p.exprs.c64(64));
    let bytes = k.p.exprs.product(wide, four);
    let at = k.p.exprs.sum(bytes, first);
    let element = k.opaque("an element", Width::W32, Uniform::Thread, &[]);
    k.p.opaques.last_mut().unwrap().argument = Some(at);
    let own = k.add(element, t);
    k.write(x, own);
    let p = k.done();
    let mut launch = launch([1, 1, 1], [size, 1, 1], &p, &[0]);
    // There are too many rows of values, so no fact describes them: reading the table is all the work.
    let read = |at: u32, width: Width| (width == Width::W32).then(|| u64::from(at).pow(3) & 0xffff);
    gpurace_protocol::arguments::read(&p, &mut launch, &read, &|base| Extent { base, ..Extent::default() });
    (p, launch)
}

#[test]
fn reading_large_tables_costs() {
    let solved = |size: u32| {
        let (p, launch) = table(size);
        (0..2).map(|_| solve_with(&p, &launch, &Options::default())).collect::<Vec<_>>()
    };
    let (small, large) = (solved(512), solved(1024));
    assert_eq!(large[0].stats.units, large[1].stats.units);
    assert!(large[0].stats.units > small[0].stats.units + 512, "{:?} {:?}", small[0].stats, large[0].stats);
    // The limit counts it: nothing is left for a query.
    let (p, launch) = table(1024);
    let limits = Limits { kernel: 1024, ..Limits::default() };
    let outcome = solve_with(&p, &launch, &Options { limits, dump: None });
    assert_eq!(outcome.stats.asked, 0, "{:?}", outcome.stats);
    assert!(large[0].stats.asked > 0);
}
