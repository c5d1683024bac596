//! Tests which findings the whole run shows to be one, and which not.

use super::{access, race};
use crate::cause::Cause;
use crate::collect::Collector;
use crate::join::{Traces, join, join_mended};
use crate::schema::CauseKind::{LoopBackEdge, MissingBarrier, MissingFence, NarrowScope, Other};
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

fn joined(mut report: Report) -> Vec<(CauseKind, u64)> {
    join(&mut report, &Traces::new());
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
fn what_a_barrier_mends_stays_a_finding() {
    let mut report = report(&[(MissingBarrier, [(Read, 7), (Write, 8)], "n", Scope::Block), UPDATE]);
    report.findings[0].fix.diff = Some("a diff".to_owned());
    assert_eq!(joined(report), [(MissingBarrier, 1), (Other, 1)]);
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
