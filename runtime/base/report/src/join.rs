//! Joins findings of one mistake that only the whole run shows to be one.

use std::collections::BTreeSet;

use crate::schema::{Access, CauseKind, Finding, Op, Race, Report};

/// Between the objects of a finding.
const AND: &str = " and ";
/// A finding names no more objects.
const MOST_OBJECTS: usize = 3;

/// File, line and column of an access.
type SourcePlace<'a> = (&'a str, u32, Option<u32>);

/// Joins findings on one object of one kernel:
///
/// - what races with an update by several threads, if no barrier mends it: the update must become atomic;
/// - an update under a lock without a fence: the lock orders nothing;
/// - what a flag or a lock of too narrow a scope lets race, on other objects too;
/// - what lacks a barrier within the iterations of one loop, and from one iteration to the next.
pub fn join(report: &mut Report) {
    use CauseKind::{LoopBackEdge, MissingBarrier, MissingFence, NarrowScope, Other};
    for at in (0..report.findings.len()).rev() {
        let finding = &report.findings[at];
        let places = places(report, finding);
        let into = report.findings.iter().position(|known| {
            if std::ptr::eq(known, finding) || known.kernel != finding.kernel || finding.fix.diff.is_some() {
                return false;
            }
            let same_object = known.object == finding.object;
            match (finding.cause, known.cause) {
                (MissingBarrier | LoopBackEdge, Other) => {
                    let updates = updates(report, known);
                    let is_with_update =
                        |race: &Race| sides(race).iter().flatten().any(|place| updates.contains(place));
                    same_object && !finding.races.is_empty() && report.races_of(finding).all(is_with_update)
                }
                (Other, MissingFence) => same_object && places.is_subset(&self::places(report, known)),
                (MissingFence | Other, NarrowScope) => report.races_of(finding).all(|race| {
                    report.races_of(known).any(|narrow| narrow.scope == race.scope && !same_object)
                }),
                (MissingBarrier | LoopBackEdge, MissingBarrier | LoopBackEdge) => {
                    let [(_, own), (_, other)] = [finding, known]
                        .map(|finding| finding.fingerprint.split_once(':').unwrap_or_default());
                    finding.fix.diff.is_none() && !own.is_empty() && own == other
                }
                _ => false,
            }
        });
        if let Some(into) = into {
            join_into(report, at, into);
        }
    }
}

/// Joins findings that one change of the source mends. The joined one names the objects of both.
pub fn join_mended(report: &mut Report, from: usize, into: usize) {
    let other = report.findings[from].object.clone();
    let finding = &mut report.findings[into];
    if let (Some(own), Some(other)) = (&finding.object, other)
        && !own.contains(&other)
        && own.matches(AND).count() + 1 < MOST_OBJECTS
    {
        let both = format!("{own}{AND}{other}");
        finding.title = finding.title.replacen(own, &both, 1);
        finding.object = Some(both);
    }
    join_into(report, from, into);
}

/// Joins the finding at `from` with the one at `into`, which keeps cause and fix. Renumbers the rest.
fn join_into(report: &mut Report, from: usize, into: usize) {
    let joined = report.findings[from].clone();
    let finding = &mut report.findings[into];
    finding.races.extend(joined.races);
    let races = &report.races;
    finding.races.sort_by_key(|&at| races.get(at).map(|race| race.scope));
    finding.pairs = finding.races.len() as u64;
    let counts = finding.races.iter().filter_map(|&at| races.get(at)).map(|race| race.count);
    finding.count = counts.fold(0, u64::saturating_add);
    report.findings.remove(from);
    for (number, finding) in (1..).zip(&mut report.findings) {
        finding.id = format!("F{number}");
    }
}

/// Gives a finding of a warp the barrier of the block that another finding of its kernel needs at the same place.
pub fn share_barriers(report: &mut Report) {
    for at in 0..report.findings.len() {
        let finding = &report.findings[at];
        let wide =
            finding.fix.advice.as_ref().map(|advice| advice.replace("__syncwarp();", "__syncthreads();"));
        let needs_it = |other: &&Finding| {
            other.kernel == finding.kernel && other.fix.diff.is_some() && other.fix.advice == wide
        };
        if finding.fix.diff.is_some()
            && let Some(other) = report.findings.iter().find(needs_it)
        {
            report.findings[at].fix = other.fix.clone();
        }
    }
}

fn place(access: &Access) -> Option<SourcePlace<'_>> {
    Some((access.file.as_deref()?, access.line?, access.column))
}

fn sides(race: &Race) -> [Option<SourcePlace<'_>>; 2] {
    race.accesses.each_ref().map(place)
}

fn places<'a>(report: &'a Report, finding: &'a Finding) -> BTreeSet<SourcePlace<'a>> {
    report.races_of(finding).flat_map(sides).flatten().collect()
}

/// Returns the places whose accesses by several threads race with each other.
fn updates<'a>(report: &'a Report, finding: &'a Finding) -> BTreeSet<SourcePlace<'a>> {
    let is_update = |race: &&Race| {
        let [a, b] = sides(race);
        a == b && race.accesses.iter().any(|access| access.op != Op::Read)
    };
    report.races_of(finding).filter(is_update).filter_map(|race| place(&race.accesses[0])).collect()
}
