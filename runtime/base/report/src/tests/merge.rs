//! Tests how reports are joined.

use super::{access, interface, race};
use crate::merge::Merger;
use crate::schema::*;

fn merge(reports: &[(&str, Report)]) -> Report {
    let mut merger = Merger::default();
    for (origin, report) in reports {
        merger.add(origin, report.clone());
    }
    merger.finish().expect("a report was added")
}

fn with(races: Vec<Race>) -> Report {
    Report { races, ..Report::new(Device::Cpu) }
}

fn at(line: u32, count: u64) -> Race {
    Race {
        count,
        ..race(
            RaceKind::ReadWrite,
            Scope::Grid,
            access(Op::Write, line, 3, 1, 0),
            access(Op::Read, line, 9, 0, 0),
        )
    }
}

#[test]
fn nothing_is_merged_of_nothing() {
    assert_eq!(Merger::default().finish(), None);
}

#[test]
fn one_report_stays_what_it_is() {
    let report = Report { notes: Vec::new(), ..interface() };
    assert_eq!(merge(&[("a.json", report.clone())]), report);
}

#[test]
fn the_same_race_is_one_entry_and_another_is_not() {
    let merged = merge(&[("a.json", with(vec![at(7, 2)])), ("b.json", with(vec![at(7, 40), at(8, 1)]))]);
    let seen: Vec<_> = merged.races.iter().map(|race| (race.later().line, race.count)).collect();
    assert_eq!(seen, [(Some(7), 42), (Some(8), 1)]);
}

#[test]
fn the_order_of_the_reports_changes_no_entry() {
    let (a, b) = (with(vec![at(7, 2)]), with(vec![at(8, 1), at(7, 40)]));
    let entries = |reports| {
        let mut found: Vec<_> =
            merge(reports).races.iter().map(|race| (race.later().line, race.count)).collect();
        found.sort();
        found
    };
    assert_eq!(entries(&[("a", a.clone()), ("b", b.clone())]), entries(&[("b", b), ("a", a)]));
}

#[test]
fn notes_say_which_reports_they_are_of() {
    let noted = |notes: &[&str]| Report {
        notes: notes.iter().map(|&note| note.to_owned()).collect(),
        ..Report::new(Device::Cpu)
    };
    let merged = merge(&[
        ("a.json", noted(&["lost", "only here"])),
        ("b.json", noted(&["lost"])),
        ("c.json", noted(&["lost"])),
        ("d.json", noted(&["lost"])),
        ("e.json", noted(&[])),
    ]);
    assert_eq!(merged.notes, ["`a.json`, `b.json`, `c.json` and 1 more report: lost", "`a.json`: only here"]);
}

#[test]
fn statistics_are_summed_and_still_add_up() {
    let one = interface();
    let mut other = interface();
    other.stats.kernels[0].name = "other()".to_owned();
    let merged = merge(&[("a", one.clone()), ("b", one.clone()), ("c", other)]).stats;
    assert_eq!(merged.launches, 3 * one.stats.launches);
    assert_eq!(merged.checks_executed, 3 * one.stats.checks_executed);
    let kernels: Vec<_> =
        merged.kernels.iter().map(|kernel| (kernel.name.as_str(), kernel.launches)).collect();
    assert_eq!(kernels, [("reduce(float const*, float*)", 2), ("other()", 1)]);
    for sites in [merged.sites, merged.kernels[0].sites] {
        assert_eq!(sites.proved + sites.proved_at_launch + sites.checked, sites.total);
    }
}

#[test]
fn findings_fixes_and_source_lines_are_joined() {
    let mut a = Report::from_json(&with(vec![at(7, 2)]).to_json()).unwrap();
    a.findings[0].fix.diff = Some("+ barrier".to_owned());
    a.sources = vec![SourceLines { file: "a.cu".to_owned(), first: 4, lines: vec!["x".to_owned()] }];
    let b = Report { sources: a.sources.clone(), ..with(vec![at(8, 1)]) };
    let merged = merge(&[("b.json", Report::from_json(&b.to_json()).unwrap()), ("a.json", a.clone())]);
    assert_eq!(merged.findings.len(), 1);
    assert_eq!((merged.findings[0].pairs, merged.findings[0].count), (2, 3));
    assert_eq!(merged.findings[0].fix.diff.as_deref(), Some("+ barrier"));
    assert_eq!(merged.sources, a.sources);
    assert_eq!(merged.run, None);
}

#[test]
fn different_devices_are_said() {
    let merged = merge(&[("a.json", Report::new(Device::Cpu)), ("b.json", Report::new(Device::Cuda))]);
    assert_eq!(merged.notes, ["`b.json`: ran on `cuda`, `a.json` on `cpu`"]);
}
