//! Places that threads take by atomic additions. Each proved kernel stands beside a neighbour that must not
//! be, and random kernels beside random executions.
mod common;

use common::*;
use gpurace_protocol::expr::*;
use gpurace_protocol::protocol::*;
use gpurace_protocol::verdict::Verdict;

/// `atomicAdd(counter, added)`
fn take_one(k: &mut Kernel, counter: ObjectId, added: i64) -> E {
    let (zero, added) = (k.c(0), k.c(added));
    k.take(DEVICE, counter, zero, added, &[])
}

/// What is different from a kernel that keeps some numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Case {
    Proved,
    OneFurther,
    AddsNothing,
    ScopeOfBlock,
    WritesToo,
    ExchangesToo,
    CallsToo,
    OfEachThread,
    TwoCounters,
    Upwards,
}

/// `if (keep[i]) out[atomicAdd(n, 1)] = i;`
fn compaction(case: Case) -> (Kernel, Vec<SiteId>) {
    let mut k = Kernel::new("compaction");
    let (n, out, i, t) = (k.pointer("n"), k.pointer("out"), k.gid(), k.tid());
    let (zero, one) = (k.c(0), k.c(1));
    match case {
        Case::WritesToo => {
            k.write(n, zero);
        }
        Case::ExchangesToo => {
            k.atomic(n, zero);
        }
        Case::CallsToo => {
            let touches = Some(Space::Global);
            k.stmt(Stmt::Unknown(Unknown { why: "a call".into(), touches, syncs: false }));
        }
        _ => {}
    }
    let keep = k.opaque("a value loaded from `keep`", Width::W1, Uniform::Thread, &[]);
    let op = match case {
        Case::ScopeOfBlock => Op::Atomic { scope: Scope::Block, writes: true },
        _ => DEVICE,
    };
    let at = match case {
        Case::OfEachThread => t,
        Case::TwoCounters => k.binc(BinOp::And, i, 1),
        _ => zero,
    };
    let sites = k.when(keep, |k| {
        let ticket = k.take(op, n, at, if case == Case::AddsNothing { zero } else { one }, &[]);
        let mut sites = vec![k.write(out, ticket)];
        if case == Case::OneFurther {
            let next = k.addc(ticket, 1);
            sites.push(k.write(out, next));
        }
        sites
    });
    (k, sites)
}

#[test]
fn compaction_by_a_counter() {
    let conditions = proved(compaction(Case::Proved).0);
    assert!(conditions.iter().any(|c| c.contains("disjoint")), "{conditions:?}");
    assert!(conditions.iter().any(|c| c.contains("gridDim.x")), "{conditions:?}");
    for case in [
        Case::OneFurther,
        Case::AddsNothing,
        Case::ScopeOfBlock,
        Case::WritesToo,
        Case::ExchangesToo,
        Case::CallsToo,
        Case::OfEachThread,
        Case::TwoCounters,
    ] {
        let (k, sites) = compaction(case);
        let p = not_proved(k, &sites);
        assert!(!all_proved(&p), "{case:?}");
        let p = compaction(case).0.done();
        let known = prove_with(&p, &guarded(4, 64, &p, &[]));
        for site in known.verdicts.sites.iter().filter(|site| sites.contains(&site.site)) {
            assert!(!matches!(site.verdict, Verdict::Proved), "{case:?} at launch");
        }
    }
    let p = compaction(Case::Proved).0.done();
    assert!(all_proved(&prove_with(&p, &guarded(4, 64, &p, &[]))));
}

/// `out` lies where the counter is: the writes change the counter.
#[test]
fn places_that_hold_the_counter() {
    let (k, sites) = compaction(Case::Proved);
    let p = k.done();
    let mut same = guarded(4, 64, &p, &[]);
    same.objects[1] = same.objects[0];
    same.params[1] = same.params[0];
    let outcome = prove_with(&p, &same);
    for site in outcome.verdicts.sites.iter().filter(|site| sites.contains(&site.site)) {
        assert!(!matches!(site.verdict, Verdict::Proved), "{outcome:?}");
    }
}

#[test]
fn several_places_at_once() {
    only_with(|fits| {
        let mut k = Kernel::new("several");
        let (n, out) = (k.pointer("n"), k.pointer("out"));
        let first = take_one(&mut k, n, 4);
        let count = k.c(if fits { 4 } else { 5 });
        let site = k.range(0, count, |k, j| {
            let at = k.add(first, j);
            k.write(out, at)
        });
        (k, vec![site])
    });
}

/// `out[atomicAdd(n, m)]`, where a launch knows `m`.
#[test]
fn a_number_of_places_that_is_an_argument() {
    let mut k = Kernel::new("argument");
    let (n, out, m) = (k.pointer("n"), k.pointer("out"), k.scalar("m"));
    let zero = k.c(0);
    let ticket = k.take(DEVICE, n, zero, m, &[]);
    k.write(out, ticket);
    let p = k.done();
    for (m, fine) in [(1, true), (1000, true), (0, false), (1 << 31, false), (u64::from(u32::MAX), true)] {
        let known = guarded(4, 64, &p, &[m]);
        assert_eq!(all_proved(&prove_with(&p, &known)), fine, "{m}");
    }
}

/// `x = stack[atomicSub(top, 1) - 1]`, which is written back.
fn stack(case: Case) -> (Kernel, Vec<SiteId>) {
    let mut k = Kernel::new("stack");
    let (top, out) = (k.pointer("top"), k.pointer("out"));
    let old = take_one(&mut k, top, -1);
    let at = k.addc(old, -1);
    let site = k.write(out, at);
    if case == Case::Upwards {
        take_one(&mut k, top, 1);
    }
    (k, vec![site])
}

#[test]
fn places_taken_from_above() {
    proved(stack(Case::Proved).0);
    let (k, sites) = stack(Case::Upwards);
    not_proved(k, &sites);
}

#[test]
fn threads_that_together_take_all_numbers() {
    // 4,096 threads take 2^20 numbers each.
    let mut k = Kernel::new("all_numbers");
    let (n, out) = (k.pointer("n"), k.pointer("out"));
    let ticket = take_one(&mut k, n, 1 << 20);
    k.write(out, ticket);
    let p = k.done();
    for (blocks, fine) in [(64, true), (65, false)] {
        let known = guarded(blocks, 64, &p, &[]);
        assert_eq!(all_proved(&prove_with(&p, &known)), fine, "{blocks} blocks");
        let outcome = prove(&p);
        let holds = outcome.verdicts.sites.iter().all(|site| match &site.verdict {
            Verdict::Proved => true,
            Verdict::ProvedIf(conditions) => {
                conditions.iter().all(|c| c.holds(&p, &outcome.verdicts.exprs, &known))
            }
            _ => false,
        });
        assert_eq!(holds, fine, "{blocks} blocks by conditions");
    }
}

/// A list in shared memory. Thread 0 sets its length to 0.
fn list(barrier: bool, between: bool) -> (Kernel, Vec<SiteId>) {
    let mut k = Kernel::new("list");
    let (n, s, t) = (k.shared("n", 4), k.shared("s", 4 * 64), k.tid());
    let (zero, first) = (k.c(0), k.eqc(t, 0));
    let mut sites = Vec::new();
    let put = |k: &mut Kernel, sites: &mut Vec<SiteId>| {
        let ticket = take_one(k, n, 1);
        let fits = k.binc(BinOp::UDiv, ticket, 64);
        let fits = k.eqc(fits, 0);
        sites.push(k.when(fits, |k| k.write(s, ticket)));
    };
    if between {
        put(&mut k, &mut sites);
        k.sync();
    }
    k.when(first, |k| k.write(n, zero));
    if barrier {
        k.sync();
    }
    put(&mut k, &mut sites);
    (k, sites)
}

#[test]
fn a_counter_of_the_block_that_starts_at_zero() {
    proved(list(true, false).0);
    let (k, sites) = list(false, false);
    not_proved(k, &sites);
    // Threads take the numbers from 0 twice. What they write is in one interval.
    let mut k = Kernel::new("twice");
    let (n, s, t) = (k.shared("n", 4), k.pointer("s"), k.tid());
    let (zero, first) = (k.c(0), k.eqc(t, 0));
    let early = take_one(&mut k, n, 1);
    k.sync();
    k.when(first, |k| k.write(n, zero));
    k.sync();
    let late = take_one(&mut k, n, 1);
    let sites = vec![k.write(s, early), k.write(s, late)];
    not_proved(k, &sites);
}

#[test]
fn counters_of_several_blocks() {
    let mut k = Kernel::new("of_blocks");
    let (n, out, t) = (k.shared("n", 4), k.pointer("out"), k.tid());
    let (zero, first) = (k.c(0), k.eqc(t, 0));
    k.when(first, |k| k.write(n, zero));
    k.sync();
    let ticket = take_one(&mut k, n, 1);
    k.write(out, ticket);
    let p = k.done();
    for blocks in [1, 2] {
        let known = guarded(blocks, 64, &p, &[]);
        assert_eq!(all_proved(&prove_with(&p, &known)), blocks == 1);
    }
}

/// A grid-stride loop. A launch knows how often it runs.
#[test]
fn a_loop_that_takes_places() {
    let mut k = Kernel::new("grid_stride");
    let (n, out, count) = (k.pointer("n"), k.pointer("out"), k.scalar("count"));
    let (i, blocks, threads, zero, one) = (k.gid(), k.gdim(), k.bdim(), k.c(0), k.c(1));
    let stride = k.mul(blocks, threads);
    let of = LoopId(1);
    k.looped(
        i,
        Step::Add(stride),
        |k, i| k.lt(i, count),
        |k, _| {
            let ticket = k.take(DEVICE, n, zero, one, &[of]);
            k.write(out, ticket);
        },
    );
    let p = k.done();
    assert!(!all_proved(&prove(&p)));
    let known = guarded(4, 64, &p, &[100_000]);
    assert!(all_proved(&prove_with(&p, &known)));
}

/// Each round takes the numbers from 0. A thread may write to its place of the last round while others write
/// to theirs of this one.
#[test]
fn a_counter_that_starts_anew_in_each_round() {
    only_with(|barrier| {
        let mut k = Kernel::new("rounds");
        let (n, s, t) = (k.shared("n", 4), k.pointer("s"), k.tid());
        let (zero, one, three, first) = (k.c(0), k.c(1), k.c(3), k.eqc(t, 0));
        let of = LoopId(1);
        let sites = k.range(0, three, |k, _| {
            let ticket = k.take(DEVICE, n, zero, one, &[of]);
            let early = k.write(s, ticket);
            k.sync();
            k.when(first, |k| k.write(n, zero));
            k.sync();
            let late = k.write(s, ticket);
            if barrier {
                k.sync();
            }
            vec![early, late]
        });
        (k, sites)
    });
}
