//! How a report differs from what is wanted: in the races that a program declares, and in the width of its lines.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use crate::annotation::{ExpectedDivergence, ExpectedRace, WaitingAt};
use crate::report::{Access, Race, Report};

/// One side of a reported race: operation and line. The line is `None` if it is unknown.
pub type Side = (String, Option<u32>);

/// A difference between what was declared and what was reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// A declared race or divergence is not reported.
    Missing(String),
    /// A reported race or divergence is not declared.
    Unexpected(String),
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(what) => write!(f, "not reported: {what}"),
            Self::Unexpected(what) => write!(f, "not declared: {what}"),
        }
    }
}

/// Returns the two sides of a race as `(operation, line)`, sorted. A line of a file other than `source`
/// counts as unknown.
pub fn sides(race: &Race, source: &Path) -> [Side; 2] {
    let side = |access: &Access| {
        let own = access.file.as_deref().is_some_and(|f| Path::new(f).file_name() == source.file_name());
        (access.op.clone(), access.line.filter(|_| own))
    };
    let [a, b] = &race.accesses;
    let mut sides = [side(a), side(b)];
    sides.sort();
    sides
}

/// Returns all differences between declarations and a report.
pub fn compare(
    races: &[&ExpectedRace],
    divergences: &[&ExpectedDivergence],
    report: &Report,
    source: &Path,
) -> Vec<Mismatch> {
    let mut mismatches = Vec::new();
    let mut seen = vec![false; races.len()];
    for race in &report.races {
        let sides = sides(race, source);
        let declared: Vec<usize> = (0..races.len()).filter(|&i| matches(races[i], race, &sides)).collect();
        if declared.is_empty() {
            mismatches.push(Mismatch::Unexpected(describe(race, &sides)));
        }
        for i in declared {
            seen[i] = true;
        }
    }
    for (race, seen) in races.iter().zip(seen) {
        if !seen && !race.optional {
            mismatches.push(Mismatch::Missing(declaration(race)));
        }
    }
    let reported: BTreeSet<ExpectedDivergence> = report
        .divergence
        .iter()
        .map(|d| {
            let at = d.waiting.iter().map(|w| match w.line {
                Some(line) if !w.exited => WaitingAt::Line(line),
                _ => WaitingAt::Exited,
            });
            let mut waiting: Vec<_> = at.collect();
            waiting.sort_unstable();
            ExpectedDivergence { kind: d.kind.clone(), waiting }
        })
        .collect();
    let declared: BTreeSet<_> = divergences.iter().map(|&d| d.clone()).collect();
    for extra in reported.difference(&declared) {
        mismatches.push(Mismatch::Unexpected(extra.to_string()));
    }
    for missing in declared.difference(&reported) {
        mismatches.push(Mismatch::Missing(missing.to_string()));
    }
    mismatches
}

/// True if a reported race is the declared one.
fn matches(want: &ExpectedRace, race: &Race, sides: &[Side; 2]) -> bool {
    let [first, second] = want.lines;
    want.space == race.space
        && want.scope.as_ref().is_none_or(|scope| *scope == race.scope)
        && want.same_value.is_none_or(|same| race.same_value == same)
        && want.kinds.iter().any(|(a, b)| {
            let mut wanted = [(a.clone(), first), (b.clone(), second)];
            wanted.sort();
            wanted == *sides
        })
}

/// Describes a race in the words of the annotations, with line numbers in place of labels.
pub fn describe(race: &Race, sides: &[Side; 2]) -> String {
    let line = |l: Option<u32>| l.map_or("_".to_owned(), |l| l.to_string());
    let [(a, x), (b, y)] = sides;
    let value = match race.same_value {
        Some(true) => " same-value",
        Some(false) => " other-value",
        None => "",
    };
    format!("{a}-{b} {} {}{value}: {} {}", race.space, race.scope, line(*x), line(*y))
}

fn declaration(race: &ExpectedRace) -> String {
    let kinds: Vec<_> = race.kinds.iter().map(|(a, b)| format!("{a}-{b}")).collect();
    let line = |l: Option<u32>| l.map_or("_".to_owned(), |l| l.to_string());
    let scope = race.scope.as_ref().map_or(String::new(), |s| format!(" {s}"));
    let [a, b] = race.lines.map(line);
    format!("{} {}{scope}: {a} {b} (declared on line {})", kinds.join("|"), race.space, race.declared_at)
}

/// Returns the lines of a text report that are wider than a terminal, although they could be shorter: calls, source
/// lines, words and the message of a fault stay whole.
pub fn too_wide(text: &str) -> impl Iterator<Item = &str> {
    let report =
        text.lines().skip_while(|line| !line.starts_with("=====")).take_while(|line| !line.is_empty());
    let mut follows_fault = false;
    report.filter(move |line| {
        let is_message = std::mem::replace(&mut follows_fault, line.starts_with("WARNING: gpurace: fault"));
        let text = line.trim_start();
        let is_whole = is_message || text.starts_with(['#', '-', '|']) || text.contains(" | ");
        let longest = text.split(' ').map(|word| word.chars().count()).max().unwrap_or_default();
        // To break a line does not shorten a word.
        let width = line.chars().count();
        width > 100 && width - longest > 30 && !is_whole
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::annotation::Program;

    const PROGRAM: &str = "x; //~ A\ny; //~ B\n//~ RACE write-read shared block: A B\n";

    fn report(op: [&str; 2], line: [u32; 2], scope: &str) -> Report {
        let access = |i: usize| {
            serde_json::json!({ "op": op[i], "size": 4, "file": "dir/p.cu", "line": line[i], "column": 1,
                "function": "k", "launch": 1, "stream": 0, "block": [0, 0, 0], "thread": [i, 0, 0] })
        };
        let sites = serde_json::json!({ "total": 2, "proved": 0, "proved_at_launch": 0, "checked": 2 });
        let json = serde_json::json!({
            "schema": "gpurace-report/1", "device": "cpu",
            "races": [{ "kind": format!("{}-{}", op[1], op[0]), "space": "shared", "scope": scope,
                "same_value": null, "kernel": "k()",
                "launch": { "index": 1, "grid": [1, 1, 1], "block": [2, 1, 1], "file": null, "line": null },
                "object": null, "accesses": [access(0), access(1)], "hint": null, "count": 1 }],
            "divergence": [], "notes": [],
            "stats": { "launches": 1, "launches_unchecked": 0, "checks_executed": 2, "sites": sites, "kernels": [] }
        });
        Report::parse(&json.to_string()).unwrap()
    }

    fn mismatches(program: &str, report: &Report) -> usize {
        let p = Program::parse(program).unwrap();
        compare(&p.races(None), &p.divergences(None), report, Path::new("other/p.cu")).len()
    }

    #[test]
    fn order_of_time_does_not_matter_but_lines_and_operations_do() {
        assert_eq!(mismatches(PROGRAM, &report(["read", "write"], [2, 1], "block")), 0);
        assert_eq!(mismatches(PROGRAM, &report(["write", "read"], [1, 2], "block")), 0);
        assert_eq!(mismatches(PROGRAM, &report(["write", "read"], [2, 1], "block")), 2);
        assert_eq!(mismatches(PROGRAM, &report(["write", "write"], [1, 2], "block")), 2);
        assert_eq!(mismatches(PROGRAM, &report(["read", "write"], [2, 1], "warp")), 2);
    }

    #[test]
    fn optional_races_may_be_absent() {
        let program = PROGRAM.replace("RACE", "RACE?");
        assert_eq!(mismatches(&program, &report(["read", "write"], [2, 1], "block")), 0);
        assert_eq!(mismatches(&program, &report(["write", "write"], [2, 1], "block")), 1);
    }

    #[test]
    fn a_line_of_another_file_is_no_line_of_the_program() {
        let p = Program::parse(PROGRAM).unwrap();
        let r = report(["read", "write"], [2, 1], "block");
        assert_eq!(compare(&p.races(None), &[], &r, Path::new("q.cu")).len(), 2);
    }
}
