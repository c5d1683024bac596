//! The fixes of a report's findings: those that one fix mends become one.

use std::collections::{BTreeSet, HashMap};

use gpurace_report::schema::{self, CauseKind, Report};
use gpurace_report::{fix, join};

use super::{RacesInKernel, by_kernel, without_arguments};
use crate::session::found::FoundResolved;
use crate::session::{Session, SessionState};

/// The races of findings, by the findings' fingerprints.
type RacesOfFindings<'a> = HashMap<String, Vec<&'a FoundResolved>>;

impl Session {
    /// Adds the barriers that would order the races of findings. Findings that one fix mends become one.
    pub(in crate::session) fn add_fixes(&self, report: &mut Report, state: &SessionState) {
        let found = state.found.iter().flatten().chain(&state.elsewhere);
        let mut of_finding = RacesOfFindings::new();
        for found in found.filter(|found| !found.left_out) {
            of_finding.entry(found.cause.fingerprint.clone()).or_default().push(found);
        }
        self.join_with_wider(report, &mut of_finding);
        let mut at = 0;
        while at < report.findings.len() {
            at = self.add_barriers(report, at, &mut of_finding) + 1;
        }
        let traced = |races: &Vec<&FoundResolved>| {
            let sites = races.iter().map(|found| Some(found.in_kernel?.flow_and_pair()));
            sites.collect::<Option<Vec<_>>>()
        };
        let traces =
            of_finding.iter().filter_map(|(fingerprint, races)| Some((&**fingerprint, traced(races)?)));
        let traces: join::Traces<'_> = traces.collect();
        for at in 0..report.findings.len() {
            let finding = &report.findings[at];
            let traced = traces.get(&*finding.fingerprint).map_or(&[][..], Vec::as_slice);
            if join::may_be_in_place(report, finding, traced)
                && self.meet_in_iterations(races_of(&of_finding, finding))
            {
                join::name_in_place(report, at);
            }
        }
        join::join(report, &traces);
        join::name_several_writers(report, &traces);
        join::share_barriers(report);
    }

    /// Adds the barriers that would order the races of one finding, and joins it with the findings that as many
    /// barriers mend too. Returns where the finding is then.
    fn add_barriers(
        &self,
        report: &mut Report,
        mut at: usize,
        of_finding: &mut RacesOfFindings<'_>,
    ) -> usize {
        let finding = &report.findings[at];
        let fingerprint = finding.fingerprint.clone();
        let races = races_of(of_finding, finding);
        let in_kernel = races.iter().filter_map(|found| Some(found.in_kernel?.flow_and_pair()));
        let may_need_barriers =
            fix::may_need_barriers(finding) && !join::keeps_one_value(report, finding, in_kernel);
        let races = may_need_barriers.then_some(races);
        let Some(mut fixed) = races.and_then(|races| self.barriers_for(races)) else { return at };
        let mut other = 0;
        while other < report.findings.len() {
            let [one, two] = [at, other].map(|at| &report.findings[at]);
            let both = if other == at { None } else { races_of_both(one, two, of_finding) };
            match both.and_then(|both| Some((self.barriers_for(&both)?, both))) {
                Some((of_both, both)) if of_both.barriers <= fixed.barriers => {
                    fixed = of_both;
                    of_finding.insert(fingerprint.clone(), both);
                    join::join_mended(report, other, at);
                    at -= usize::from(other < at);
                }
                _ => other += 1,
            }
        }
        let finding = &mut report.findings[at];
        fixed = self.barriers_with_unseen(races_of(of_finding, finding)).unwrap_or(fixed);
        if finding.cause == CauseKind::MissingBarrier && fixed.parted.len() > 1 {
            finding.why = fix::why_several(&fixed.parted);
        }
        finding.fix.advice = Some(fixed.advice);
        finding.fix.diff = Some(fixed.diff);
        at
    }

    /// Joins what threads of one block lack with what threads of several blocks lack on the same object, if as many
    /// barriers of the grid would mend both as the latter.
    fn join_with_wider(&self, report: &mut Report, of_finding: &mut RacesOfFindings<'_>) {
        let mut at = 0;
        while at < report.findings.len() {
            let Some((narrow, both)) = self.mended_with_wider(report, at, of_finding) else {
                at += 1;
                continue;
            };
            of_finding.insert(report.findings[at].fingerprint.clone(), both);
            join::join_mended(report, narrow, at);
            at -= usize::from(narrow < at);
        }
    }

    /// The place of a finding that barriers of the grid mend together with this one about threads of several blocks,
    /// if they are no more than this one alone needs, and the races of both.
    fn mended_with_wider<'a>(
        &self,
        report: &Report,
        at: usize,
        of_finding: &RacesOfFindings<'a>,
    ) -> Option<(usize, Vec<&'a FoundResolved>)> {
        let barriers = |races: &[&FoundResolved]| {
            Some(self.barriers_in(&by_kernel(races)?, schema::Scope::Grid)?.barriers)
        };
        let wide = &report.findings[at];
        let own = races_of(of_finding, wide);
        let is_wide =
            fix::may_need_barriers(wide) && own.iter().all(|found| found.widest > schema::Scope::Block);
        let needed = if is_wide { barriers(own)? } else { return None };
        report.findings.iter().enumerate().find_map(|(other, narrow)| {
            let is_like = narrow.kernel == wide.kernel && narrow.object == wide.object;
            let is_other = other != at && fix::may_need_barriers(narrow);
            let races = of_finding.get(&narrow.fingerprint).filter(|_| is_like && is_other)?;
            let both = [own, races].concat();
            (barriers(&both)? <= needed).then_some((other, both))
        })
    }
}

/// The races of a finding.
fn races_of<'m, 'a>(
    of_finding: &'m RacesOfFindings<'a>,
    finding: &schema::Finding,
) -> &'m [&'a FoundResolved] {
    of_finding.get(&finding.fingerprint).map_or(&[], Vec::as_slice)
}

/// The races of two findings, if the same barriers may mend both.
fn races_of_both<'a>(
    one: &schema::Finding,
    two: &schema::Finding,
    of_finding: &RacesOfFindings<'a>,
) -> Option<Vec<&'a FoundResolved>> {
    let [races, others] = [one, two].map(|finding| races_of(of_finding, finding));
    let may_be_one = match one.kernel == two.kernel {
        true => one.object == two.object || fix::may_need_barriers(two),
        false => fix::may_need_barriers(two) && are_in_one_function(races, others),
    };
    may_be_one.then(|| [races, others].concat())
}

/// True if one function has the races of both findings.
fn are_in_one_function(one: &[&FoundResolved], two: &[&FoundResolved]) -> bool {
    let names = |races| {
        let of_kernel = |races: &RacesInKernel<'_>| -> BTreeSet<&str> {
            races.around().map(|(_, function)| without_arguments(&function.name)).collect()
        };
        let mut kernels = by_kernel(races)?.into_iter().map(|races| of_kernel(&races));
        let first = kernels.next()?;
        Some(kernels.fold(first, |all, own| &all & &own))
    };
    names(one).zip(names(two)).is_some_and(|(one, two)| !one.is_disjoint(&two))
}
