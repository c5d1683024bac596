//! Finds the findings that an older report does not have, so that a project with known races can reject new
//! ones.
//!
//! A race is known if the older report has the finding that it belongs to: the same mistake over the same object.
//! Other threads, schedules and inputs show more races of one mistake.
//!
//! Otherwise a race, and each divergence, is known if the older report has an entry with the same key. Since edits move
//! lines, it is also known if an old entry has the same shape: kernel, functions, files, operations and object. Each
//! such old entry stands for only one new one, so a second race with this shape is new.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use crate::collect::{divergence_key, race_key, regrouped};
use crate::schema::{Access, Divergence, Fault, FaultKind, ObjectKind, Op, Race, Report, Waiting};

/// Returns the report without the findings in `baseline`, and the number of races, divergences and faults that
/// were left out.
pub fn new_findings(mut report: Report, baseline: &Report) -> (Report, u64) {
    let before = report.races.len() + report.divergence.len() + report.faults.len();
    let again =
        OfFindings { found: in_findings_of(&report, baseline), old: in_findings_of(baseline, &report) };
    let races = are_new(&report.races, &baseline.races, &again, race_key, race_shape);
    let none = OfFindings::default();
    let divergences =
        are_new(&report.divergence, &baseline.divergence, &none, divergence_key, divergence_shape);
    let mut divergences = divergences.into_iter();
    report.divergence.retain(|_| divergences.next().unwrap_or(true));
    report.faults.retain(|fault| !baseline.faults.iter().any(|old| fault_shape(old) == fault_shape(fault)));
    let report = regrouped(report, &races);
    let after = report.races.len() + report.divergence.len() + report.faults.len();
    (report, (before - after) as u64)
}

/// Which entries belong to findings that both reports have.
#[derive(Default)]
struct OfFindings {
    found: HashSet<usize>,
    old: HashSet<usize>,
}

/// Returns the indices of the races whose finding the other report has too.
fn in_findings_of(report: &Report, other: &Report) -> HashSet<usize> {
    let there: HashSet<_> = other.findings.iter().map(|finding| &finding.fingerprint).collect();
    let in_both = report.findings.iter().filter(|finding| there.contains(&finding.fingerprint));
    in_both.flat_map(|finding| finding.races.iter().copied()).collect()
}

/// For each entry, returns true if there is no old one with the same finding or key, and none with the same shape that
/// still stands for no other entry.
fn are_new<T, K: Eq + Hash, S: Eq + Hash>(
    found: &[T],
    old: &[T],
    again: &OfFindings,
    key: impl Fn(&T) -> K,
    shape: impl Fn(&T) -> S,
) -> Vec<bool> {
    let present: HashSet<K> = found.iter().map(&key).collect();
    let known: HashSet<K> = old.iter().map(&key).collect();
    let mut moved: HashMap<S, u64> = HashMap::new();
    for (at, old) in old.iter().enumerate() {
        if !again.old.contains(&at) && !present.contains(&key(old)) {
            *moved.entry(shape(old)).or_default() += 1;
        }
    }
    let is_new = |(at, found)| {
        if again.found.contains(&at) || known.contains(&key(found)) {
            return false;
        }
        match moved.get_mut(&shape(found)) {
            Some(left) if *left > 0 => {
                *left -= 1;
                false
            }
            _ => true,
        }
    };
    found.iter().enumerate().map(is_new).collect()
}

/// The parts of a side that stay when lines move.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct SideShape {
    function: Option<String>,
    file: Option<String>,
    op: Op,
    size: Option<u64>,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct RaceShape {
    kernel: Option<String>,
    sides: [SideShape; 2],
    object: Option<(ObjectKind, Option<String>)>,
}

fn race_shape(race: &Race) -> RaceShape {
    let mut sides = [side_shape(race.later()), side_shape(race.earlier())];
    sides.sort();
    RaceShape {
        kernel: race.kernel.clone(),
        sides,
        object: race.object.as_ref().map(|object| {
            // An allocation is named by its number, which a new allocation before it changes.
            let name = match object.kind {
                ObjectKind::Shared | ObjectKind::Variable => object.name.clone(),
                ObjectKind::Allocation | ObjectKind::Heap => None,
            };
            (object.kind, name)
        }),
    }
}

fn side_shape(access: &Access) -> SideShape {
    SideShape {
        function: access.function.clone(),
        file: access.file.as_deref().map(base_name),
        op: access.op,
        size: access.size,
    }
}

fn divergence_shape(divergence: &Divergence) -> (String, Vec<Option<Option<String>>>) {
    let mut places: Vec<_> = divergence
        .waiting
        .iter()
        .map(|waiting| match waiting {
            Waiting::At(at) => Some(at.file.as_deref().map(base_name)),
            Waiting::Exited(_) => None,
        })
        .collect();
    places.sort();
    (divergence.kernel.clone(), places)
}

fn fault_shape(fault: &Fault) -> (FaultKind, &str, Option<String>) {
    (fault.kind, &fault.kernel, fault.file.as_deref().map(base_name))
}

/// Returns a file's name without its folder, since checkouts are in different folders.
fn base_name(file: &str) -> String {
    file.rsplit('/').next().unwrap_or(file).to_owned()
}
