//! Tests which findings are new since an older report.

use super::{access, race};
use crate::baseline::new_findings;
use crate::collect::finding;
use crate::schema::*;

fn at(line: u32, function: &str) -> Race {
    let mut found = race(
        RaceKind::ReadWrite,
        Scope::Grid,
        access(Op::Write, line, 3, 1, 0),
        access(Op::Read, line, 9, 0, 0),
    );
    for access in &mut found.accesses {
        access.function = Some(function.to_owned());
    }
    found
}

fn with(races: Vec<Race>) -> Report {
    Report { races, ..Report::new(Device::Cpu) }
}

/// Returns the lines of the later sides of new races, and the number of known findings.
fn new(found: Vec<Race>, old: Vec<Race>) -> (Vec<u32>, u64) {
    let (report, known) = new_findings(with(found), &with(old));
    let lines = report.races.iter().filter_map(|race| race.later().line);
    (lines.collect(), known)
}

#[test]
fn what_was_there_is_known_and_what_was_not_is_new() {
    assert_eq!(new(vec![at(7, "f"), at(9, "g")], vec![at(7, "f")]), (vec![9], 1));
    assert_eq!(new(vec![at(7, "f")], Vec::new()), (vec![7], 0));
    assert_eq!(new(Vec::new(), vec![at(7, "f")]), (Vec::new(), 0));
}

#[test]
fn lines_may_move() {
    assert_eq!(new(vec![at(70, "f")], vec![at(7, "f")]), (Vec::new(), 1));
    let mut other_checkout = at(70, "f");
    for access in &mut other_checkout.accesses {
        access.file = Some("/builds/3/reduce.cu".to_owned());
    }
    assert_eq!(new(vec![other_checkout], vec![at(7, "f")]), (Vec::new(), 1));
}

#[test]
fn an_old_entry_stands_for_one_finding_only() {
    // The old race is still there, so the second one of its shape is new.
    assert_eq!(new(vec![at(7, "f"), at(8, "f")], vec![at(7, "f")]), (vec![8], 1));
    // The old race moved, and there is a new one.
    assert_eq!(new(vec![at(70, "f"), at(80, "f")], vec![at(7, "f")]), (vec![80], 1));
}

#[test]
fn a_known_finding_stands_for_all_of_its_races() {
    let of = |races: Vec<(Race, &str)>| {
        let mut report = with(Vec::new());
        for (at, (race, mistake)) in races.into_iter().enumerate() {
            report.races.push(race);
            let cause = CauseKind::MissingBarrier;
            let finding = Finding { races: vec![at], ..finding(cause, None, format!("title of {mistake}")) };
            report.findings.push(Finding { fingerprint: mistake.to_owned(), ..finding });
        }
        report
    };
    let lines = |found, old| {
        let (report, known) = new_findings(of(found), &of(old));
        (report.races.iter().filter_map(|race| race.later().line).collect::<Vec<_>>(), known)
    };
    // Another run shows other pairs of the same mistake.
    let old = || vec![(at(7, "f"), "a")];
    assert_eq!(lines(vec![(at(7, "f"), "a"), (at(8, "g"), "a")], old()), (Vec::new(), 2));
    assert_eq!(lines(vec![(at(8, "g"), "a")], old()), (Vec::new(), 1));
    // Another mistake is new. The old race stands for no race of it, since its own mistake is still there.
    assert_eq!(lines(vec![(at(8, "g"), "b")], old()), (vec![8], 0));
    assert_eq!(lines(vec![(at(8, "g"), "a"), (at(70, "f"), "b")], old()), (vec![70], 1));
    // A race at the old lines is known, whatever its finding is called now.
    assert_eq!(lines(vec![(at(7, "f"), "b")], old()), (Vec::new(), 1));
}

#[test]
fn another_object_or_operation_is_new() {
    let mut other_object = at(70, "f");
    other_object.object = Some(Object {
        kind: ObjectKind::Variable,
        name: Some("counter".to_owned()),
        size: Some(4),
        offset: Some(0),
        element: None,
        allocated_at: None,
        parameter: None,
    });
    assert_eq!(new(vec![other_object], vec![at(7, "f")]).1, 0);
    let mut other_operation = at(70, "f");
    other_operation.accesses[1].op = Op::Write;
    assert_eq!(new(vec![other_operation], vec![at(7, "f")]).1, 0);
}

#[test]
fn divergence_is_compared_too() {
    let at = |kernel: &str, line| Divergence {
        kernel: kernel.to_owned(),
        launch: 1,
        block: [0, 0, 0],
        waiting: vec![
            Waiting::at(Some("k.cu".to_owned()), Some(line), 32, [0, 0, 0]),
            Waiting::exited(96, [32, 0, 0]),
        ],
        kind: DivergenceKind::Barrier,
        seed: None,
    };
    let with = |divergence| Report { divergence, ..Report::new(Device::Cpu) };
    let old = with(vec![at("f()", 9)]);
    let (report, known) = new_findings(with(vec![at("f()", 19), at("g()", 9)]), &old);
    assert_eq!((report.divergence, known), (vec![at("g()", 9)], 1));
}
