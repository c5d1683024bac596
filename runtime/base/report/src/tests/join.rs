//! Tests which findings the whole run shows to be one, and which not.

use gpurace_abi::flow::{Flow, Update};

use super::{access, race};
use crate::barriers::Pair;
use crate::barriers::tests::flow;
use crate::cause::{Cause, InKernel};
use crate::collect::Collector;
use crate::join::{Traces, join, join_mended, name_several_writers};
use crate::schema::CauseKind::{
    LoopBackEdge, MissingBarrier, MissingFence, NarrowScope, Other, SameValue, UnwaitedCopy,
};
use crate::schema::Op::{Atomic, Read, Write};
use crate::schema::*;

/// A finding with one race: its cause, the operations and lines of the accesses, the object, and the threads.
type OneRace = (CauseKind, [(Op, u32); 2], &'static str, Scope);

fn report(findings: &[OneRace]) -> Report {
    let mut collector = Collector::new(100, false);
    for (number, &(kind, sides, object, scope)) in findings.iter().enumerate() {
        let [later, earlier] = sides.map(|(op, line)| access(op, line, 3, 0, 0));
        let mut race = race(RaceKind::WriteWrite, scope, later, earlier);
        race.object = race.object.map(|known| Object {
            kind: ObjectKind::Variable,
            name: Some(object.to_owned()),
            ..known
        });
        let cause = Cause {
            kind,
            words: kind.words(),
            hint: None,
            why: kind.as_str().to_owned(),
            fingerprint: format!("{kind:?}{number}"),
            is_traced: true,
        };
        collector.add_race(race, &cause);
    }
    collector.report(Device::Cpu, Stats::default())
}

fn joined(report: Report) -> Vec<(CauseKind, u64)> {
    joined_with(report, &Traces::new())
}

/// The findings after joining, where the first findings' races are these pairs of accesses.
fn joined_as(report: Report, flow: &Flow, pairs: &[&[Pair]]) -> Vec<(CauseKind, u64)> {
    let fingerprints: Vec<_> = report.findings.iter().map(|finding| finding.fingerprint.clone()).collect();
    let traced = fingerprints.iter().zip(pairs).map(|(fingerprint, pairs)| {
        (fingerprint.as_str(), pairs.iter().map(|&pair| InKernel { flow, pair }).collect())
    });
    joined_with(report, &traced.collect())
}

fn joined_with(mut report: Report, traces: &Traces<'_>) -> Vec<(CauseKind, u64)> {
    join(&mut report, traces);
    for (number, finding) in (1..).zip(&report.findings) {
        assert_eq!((finding.id.clone(), finding.pairs), (format!("F{number}"), finding.races.len() as u64));
    }
    let races: u64 = report.findings.iter().map(|finding| finding.pairs).sum();
    assert_eq!(races, report.races.len() as u64);
    report.findings.iter().map(|finding| (finding.cause, finding.pairs)).collect()
}

const UPDATE: OneRace = (Other, [(Write, 8), (Write, 8)], "n", Scope::Block);

#[test]
fn what_races_with_an_update_is_part_of_it() {
    let read = (MissingBarrier, [(Read, 7), (Write, 8)], "n", Scope::Block);
    assert_eq!(joined(report(&[read, UPDATE])), [(Other, 2)]);
    // Another object, another place, or an update that only reads.
    let other_object = (MissingBarrier, [(Read, 7), (Write, 8)], "m", Scope::Block);
    let elsewhere = (MissingBarrier, [(Read, 7), (Write, 9)], "n", Scope::Block);
    for apart in [other_object, elsewhere] {
        assert_eq!(joined(report(&[apart, UPDATE])), [(MissingBarrier, 1), (Other, 1)]);
    }
    let same_read = (Other, [(Read, 7), (Read, 7)], "n", Scope::Block);
    assert_eq!(joined(report(&[read, same_read])), [(MissingBarrier, 1), (Other, 1)]);
}

#[test]
fn copies_that_one_wait_ends_are_one_finding() {
    let copy = |line, object| (UnwaitedCopy, [(Read, 7), (Write, line)], object, Scope::Block);
    let two = || report(&[copy(4, "m"), copy(5, "n")]);
    let together = flow("u: L4 a0 L5 a2 L7 a1 a3");
    assert_eq!(joined_as(two(), &together, &[&[[0, 1]], &[[2, 3]]]), [(UnwaitedCopy, 2)]);
    let apart = [(UnwaitedCopy, 1), (UnwaitedCopy, 1)];
    assert_eq!(joined_as(two(), &flow("u: L4 a0 L5 a2 L7 a1 C a3"), &[&[[0, 1]], &[[2, 3]]]), apart);
    // What a copy of a loop writes over, others have not read yet.
    let reused = |line| (UnwaitedCopy, [(Write, line), (Write, line)], "n", Scope::Block);
    let read = (MissingBarrier, [(Read, 7), (Write, 4)], "n", Scope::Block);
    let rounds = flow("u 1:\nu 1,2: L4 a0 L5 a2 L7 a1\nu:");
    assert_eq!(
        joined_as(report(&[reused(4), read]), &rounds, &[&[[0, 0]], &[[0, 1]]]),
        [(MissingBarrier, 2)]
    );
    let apart = [(UnwaitedCopy, 1), (MissingBarrier, 1)];
    assert_eq!(joined_as(report(&[reused(5), read]), &rounds, &[&[[2, 2]], &[[0, 1]]]), apart);
}

#[test]
fn equal_values_of_a_statement_that_writes_elsewhere_too_are_no_finding_of_their_own() {
    let same = (SameValue, [(Write, 9), (Write, 9)], "n", Scope::Block);
    let others = |line| (MissingBarrier, [(Write, 8), (Write, line)], "n", Scope::Block);
    assert_eq!(joined(report(&[others(9), same])), [(MissingBarrier, 2)]);
    assert_eq!(joined(report(&[others(7), same])), [(MissingBarrier, 1), (SameValue, 1)]);
    // What a barrier orders says nothing of the value.
    let mut read = report(&[others(9), same]);
    read.races[0].kind = RaceKind::WriteRead;
    assert_eq!(joined(read), [(MissingBarrier, 1), (SameValue, 1)]);
}

#[test]
fn what_a_barrier_mends_stays_a_finding() {
    let mut report = report(&[(MissingBarrier, [(Read, 7), (Write, 8)], "n", Scope::Block), UPDATE]);
    report.findings[0].fix.diff = Some("a diff".to_owned());
    assert_eq!(joined(report), [(MissingBarrier, 1), (Other, 1)]);
}

#[test]
fn what_each_warp_orders_for_itself_is_the_mistake_of_a_shared_slot() {
    let mended = || {
        let mut report = report(&[(MissingBarrier, [(Read, 7), (Write, 8)], "n", Scope::Block), UPDATE]);
        report.findings[0].fix.diff = Some("a diff".to_owned());
        report
    };
    let in_warps = flow("u: L8 a0 W L7 a1");
    assert_eq!(joined_as(mended(), &in_warps, &[&[[0, 1]], &[[0, 0]]]), [(Other, 2)]);
    let apart = [(MissingBarrier, 1), (Other, 1)];
    assert_eq!(joined_as(mended(), &flow("u: L8 a0 L7 a1"), &[&[[0, 1]], &[[0, 0]]]), apart);
    // A barrier parts one of the races already, so it is no race of this flow.
    assert_eq!(joined_as(mended(), &flow("u: L8 a0 B L7 a1"), &[&[[0, 1]], &[[0, 0]]]), apart);
}

#[test]
fn what_a_statement_writes_in_several_iterations_lacks_the_barrier_of_the_loop() {
    let read = |line| (LoopBackEdge, [(Read, 7), (Write, line)], "n", Scope::Block);
    let loops = || {
        let mut report = report(&[read(8), read(9), UPDATE]);
        join_mended(&mut report, 1, 0);
        report
    };
    let in_loop = flow("u 1: L1\nu 1,2: L7 a1 L8 a0 L9 a2\nu:");
    let pairs: [&[Pair]; 2] = [&[[1, 0], [1, 2]], &[[0, 0]]];
    assert_eq!(joined_as(loops(), &in_loop, &pairs), [(LoopBackEdge, 3)]);
    let apart = [(LoopBackEdge, 2), (Other, 1)];
    // The statement is no part of what lacks the barrier, or there is no loop.
    assert_eq!(joined_as(loops(), &in_loop, &[&[[1, 2], [1, 2]], &[[0, 0]]]), apart);
    let straight = flow("u: L7 a1 L8 a0 L9 a2");
    assert_eq!(joined_as(loops(), &straight, &pairs), apart);
    // All that lacks the barrier is the statement's: it is an update.
    assert_eq!(joined_as(report(&[read(8), UPDATE]), &in_loop, &[&[[1, 0]], &[[0, 0]]]), [(Other, 2)]);
}

#[test]
fn the_back_edge_of_a_loop_explains_what_it_also_orders() {
    let within = (MissingBarrier, [(Read, 7), (Write, 8)], "n", Scope::Block);
    let next = (LoopBackEdge, [(Write, 8), (Read, 8)], "n", Scope::Block);
    let pairs: [&[Pair]; 2] = [&[[1, 0]], &[[0, 2]]];
    let in_loop = flow("u 1: L1\nu 1,2: L7 a1 L8 a2 a0\nu:");
    let joined = |findings: [_; 2], flow: &Flow| {
        let pairs = if findings[0] == within { pairs } else { [pairs[1], pairs[0]] };
        let mut report = report(&findings);
        for finding in &mut report.findings {
            finding.fingerprint = format!("{}:k:n:interval 1", finding.cause.as_str());
        }
        joined_as(report, flow, &pairs)
    };
    assert_eq!(joined([within, next], &in_loop), [(LoopBackEdge, 2)]);
    assert_eq!(joined([next, within], &in_loop), [(LoopBackEdge, 2)]);
    // A barrier ends each iteration: within one, another one is missing.
    let ended = flow("u 1: L1\nu 1,2: L7 a1 L8 a2 a0 B\nu:");
    assert_eq!(joined([within, next], &ended), [(MissingBarrier, 2)]);
}

#[test]
fn what_a_plain_flag_tells_of_is_the_flags_mistake() {
    let data = (MissingBarrier, [(Read, 6), (Write, 1)], "data", Scope::Grid);
    let flag = (Other, [(Read, 5), (Write, 2)], "flag", Scope::Grid);
    let wait = "u 1,2:\n 4: L1 a0 L2 a2\ns 2,3: L5 a3\n 4: L6 a1\nu:";
    let pairs: [&[Pair]; 2] = [&[[0, 1]], &[[2, 3]]];
    assert_eq!(joined_as(report(&[data, flag]), &flow(wait), &pairs), [(Other, 2)]);
    // Nobody waits for the flag.
    let no_wait = flow(&wait.replace("s 2,3", "2,3"));
    assert_eq!(joined_as(report(&[data, flag]), &no_wait, &pairs), [(MissingBarrier, 1), (Other, 1)]);
}

#[test]
fn an_update_under_a_lock_with_a_plain_release_is_the_locks_mistake() {
    let lock = (Other, [(Atomic, 1), (Write, 9)], "lock", Scope::Grid);
    let text = "u 1:\nd 1,2: L1 x2\n: L8 a0 a1 L9 a3";
    let pairs: [&[Pair]; 2] = [&[[2, 3]], &[[0, 1]]];
    assert_eq!(joined_as(report(&[lock, UPDATE]), &flow(text), &pairs), [(Other, 2)]);
    // The update stands behind the release.
    let behind = flow(&text.replace("L8 a0 a1 L9 a3", "L9 a3 L8 a0 a1"));
    assert_eq!(joined_as(report(&[lock, UPDATE]), &behind, &pairs), [(Other, 1), (Other, 1)]);
}

#[test]
fn an_update_under_a_lock_without_a_fence_is_the_locks_mistake() {
    let lock = (MissingFence, [(Read, 7), (Write, 8)], "n", Scope::Block);
    assert_eq!(joined(report(&[lock, UPDATE])), [(MissingFence, 2)]);
    let elsewhere = (MissingFence, [(Read, 7), (Write, 9)], "n", Scope::Block);
    assert_eq!(joined(report(&[elsewhere, UPDATE])), [(MissingFence, 1), (Other, 1)]);
}

#[test]
fn a_narrow_scope_explains_what_it_fails_to_order() {
    let narrow = (NarrowScope, [(Atomic, 3), (Atomic, 5)], "lock", Scope::Grid);
    let data = (MissingFence, [(Read, 7), (Write, 8)], "n", Scope::Grid);
    assert_eq!(joined(report(&[narrow, data])), [(NarrowScope, 2)]);
    // Within a block the scope is wide enough.
    assert_eq!(joined(report(&[narrow, UPDATE])), [(NarrowScope, 1), (Other, 1)]);
}

#[test]
fn what_lacks_a_barrier_in_one_interval_is_one_finding() {
    let within = (MissingBarrier, [(Read, 7), (Write, 8)], "n", Scope::Warp);
    let to_the_next = (LoopBackEdge, [(Read, 8), (Write, 9)], "n", Scope::Warp);
    for (interval, wanted) in
        [("1", vec![(MissingBarrier, 2)]), ("2", vec![(MissingBarrier, 1), (LoopBackEdge, 1)])]
    {
        let mut report = report(&[within, to_the_next]);
        report.findings[0].fingerprint = "missing-barrier:k:n:interval 1".to_owned();
        report.findings[1].fingerprint = format!("loop-back-edge:k:n:interval {interval}");
        assert_eq!(joined(report), wanted);
    }
}

#[test]
fn what_one_barrier_mends_names_its_objects() {
    let of = |object, line| (LoopBackEdge, [(Read, line), (Write, 9)], object, Scope::Block);
    let mut report = report(&[of("a", 1), of("b", 2), of("c", 3), of("d", 4)]);
    for _ in 0..3 {
        join_mended(&mut report, 1, 0);
    }
    let [finding] = &report.findings[..] else { panic!("one finding") };
    let named = "device variable `a` and device variable `b` and device variable `c`";
    assert_eq!((finding.object.as_deref(), finding.pairs), (Some(named), 4));
    assert!(finding.title.starts_with(&format!("loop back edge: {named}")), "{}", finding.title);
}

#[test]
fn two_writes_leave_one_value_whatever_the_order() {
    let of = |kinds: &[RaceKind], cause| {
        let one = (cause, [(Write, 11), (Write, 8)], "s", Scope::Block);
        let mut report = report(&[one, (cause, [(Write, 20), (Write, 8)], "s", Scope::Block)]);
        join_mended(&mut report, 1, 0);
        report.races.iter_mut().zip(kinds).for_each(|(race, &kind)| race.kind = kind);
        report.findings[0].fix.diff = Some("a diff".to_owned());
        name_several_writers(&mut report, &Traces::new());
        let Finding { cause, title, why, fix, .. } = report.findings.remove(0);
        (cause, title, why, fix.diff)
    };
    let (cause, title, why, diff) = of(&[RaceKind::WriteWrite; 2], MissingBarrier);
    assert_eq!((cause, diff), (Other, None));
    assert_eq!(title, "several writers: device variable `s` in `scan`");
    assert_eq!(
        why,
        "the write at line 8 and the write at line 11 go to the same bytes, and only one value stays"
    );
    // Somebody reads between, so a barrier is missing. Other causes are not of barriers.
    let mixed = [RaceKind::WriteWrite, RaceKind::WriteRead];
    for (kinds, cause) in [(mixed, MissingBarrier), (mixed, LoopBackEdge), ([RaceKind::WriteWrite; 2], Other)]
    {
        let (found, title, _, diff) = of(&kinds, cause);
        assert_eq!((found, diff), (cause, Some("a diff".to_owned())));
        assert!(!title.starts_with("several writers"), "{title}");
    }
}

#[test]
fn one_barrier_that_no_line_has_a_place_for_orders_two_objects() {
    let two = |scope| {
        let of = |object, read| (MissingBarrier, [(Read, read), (Write, 4)], object, scope);
        report(&[of("as", 5), of("bs", 6)])
    };
    // Both tiles are stored before they are read.
    let tiles = flow("u 1: L4 a0 a2 L5 a1 a3\nu:");
    let pairs: [&[Pair]; 2] = [&[[0, 1]], &[[2, 3]]];
    assert_eq!(joined_as(two(Scope::Block), &tiles, &pairs), [(MissingBarrier, 2)]);
    // No barrier of a block orders several blocks. Two objects need two barriers if each is stored and read in turn,
    // and none is possible where threads part.
    assert_eq!(joined_as(two(Scope::Grid), &tiles, &pairs).len(), 2);
    let in_turn = flow("u 1: L4 a0 L5 a1 L6 a2 L7 a3\nu:");
    assert_eq!(joined_as(two(Scope::Block), &in_turn, &pairs).len(), 2);
    let apart = flow("u 1,2:\n 2: L4 a0 a2 L5 a1 a3\nu:");
    assert_eq!(joined_as(two(Scope::Block), &apart, &pairs).len(), 2);
}

#[test]
fn what_lacks_a_barrier_between_the_same_lines_is_one_finding() {
    // A write and a read of `flags` at lines 4 and 5, and of `places` at these lines.
    let two = |cause, lines: [u32; 2]| {
        let of = |object, cause, line| (cause, [(Read, line + 1), (Write, line)], object, Scope::Warp);
        let mut report = report(&[of("flags", MissingBarrier, 4), of("places", cause, 14)]);
        report.races[1].accesses.iter_mut().zip(lines).for_each(|(access, line)| access.line = Some(line));
        report
    };
    assert_eq!(joined(two(MissingBarrier, [5, 4])), [(MissingBarrier, 2)]);
    // Another line, or another cause.
    assert_eq!(joined(two(MissingBarrier, [6, 4])).len(), 2);
    assert_eq!(joined(two(LoopBackEdge, [5, 4])).len(), 2);
    // No barrier can stand in a statement, and lines of two functions may be called in two places.
    let mut statements = two(MissingBarrier, [4, 4]);
    statements.races[0].accesses[0].line = Some(4);
    assert_eq!(joined(statements).len(), 2);
    let mut functions = two(MissingBarrier, [5, 4]);
    functions.races.iter_mut().for_each(|race| race.accesses[0].function = Some("get".to_owned()));
    assert_eq!(joined(functions).len(), 2);
}

#[test]
fn what_one_lock_guards_is_one_finding() {
    let of = |object, line| (MissingFence, [(Write, line), (Write, line)], object, Scope::Grid);
    let two = || report(&[of("sum", 2), of("most", 3)]);
    let lock = "d 0,1: L1 x2\nu: L2 a0 L3 a1 L4 x3";
    let pairs: [&[Pair]; 2] = [&[[0, 0]], &[[1, 1]]];
    assert_eq!(joined_as(two(), &flow(lock), &pairs), [(MissingFence, 2)]);
    // What the lock guards may read as an update, unless nothing guards it.
    let mixed = || report(&[of("sum", 2), (Other, [(Write, 3), (Write, 3)], "most", Scope::Grid)]);
    let updates = vec![Update { read: 1, change: 1, by_value: true, by_one: false }];
    let guarded = Flow { updates: updates.clone(), ..flow(lock) };
    assert_eq!(joined_as(mixed(), &guarded, &pairs), [(MissingFence, 2)]);
    let free = Flow { updates, ..flow(&lock.replace(" L4 x3", "")) };
    assert_eq!(joined_as(mixed(), &free, &pairs).len(), 2);
    // Each has a lock of its own.
    assert_eq!(joined_as(two(), &flow(&lock.replace("L3 a1", "x4 x5 L3 a1")), &pairs).len(), 2);
}

#[test]
fn what_one_block_may_tell_another_one_of_is_one_finding() {
    let told = (MissingBarrier, [(Read, 9), (Write, 6)], "value", Scope::Grid);
    let flag = |scope| (MissingBarrier, [(Read, 8), (Write, 7)], "flag", scope);
    let found = |kind, scope| {
        let mut report = report(&[told, flag(scope)]);
        report.races.iter_mut().for_each(|race| race.kind = kind);
        report.findings.iter_mut().for_each(|finding| finding.fix.advice = Some("order them".to_owned()));
        report
    };
    let branches = flow("u 1,2:\n 3: L6 a0 L7 a2\n 3: L8 a3 L9 a1\nu:");
    let pairs: [&[Pair]; 2] = [&[[0, 1]], &[[2, 3]]];
    let back: [&[Pair]; 2] = [&[[1, 0]], &[[3, 2]]];
    for (kind, pairs) in [(RaceKind::WriteRead, pairs), (RaceKind::ReadWrite, back)] {
        assert_eq!(joined_as(found(kind, Scope::Grid), &branches, &pairs), [(MissingBarrier, 2)]);
        let apart = [(MissingBarrier, 1), (MissingBarrier, 1)];
        let straight = flow("u: L6 a0 L7 a2 L8 a3 L9 a1");
        assert_eq!(joined_as(found(kind, Scope::Grid), &straight, &pairs), apart);
        // The flag is set first, or both are written by both.
        let early = flow("u 1,2:\n 3: L7 a2 L6 a0\n 3: L8 a3 L9 a1\nu:");
        assert_eq!(joined_as(found(kind, Scope::Grid), &early, &pairs), apart);
        assert_eq!(joined_as(found(RaceKind::WriteWrite, Scope::Grid), &branches, &pairs), apart);
        // A barrier of the block may mend one of them.
        assert_eq!(joined_as(found(kind, Scope::Block), &branches, &pairs), apart);
    }
}
