//! Joins several reports into one: of the ranks of a job, the shards of a test suite, the seeds of a
//! schedule.

use std::collections::HashMap;

use crate::collect::{Collector, with_causes};
use crate::schema::{Device, Fix, KernelCoverage, KernelStats, Report, Sites, SourceLines, Stats};

/// A note names this many reports and counts the rest.
const ORIGINS_NAMED: usize = 3;

/// Joins reports. Findings with the same key become one entry, as within one report: the first is shown, and
/// the counts are added.
#[derive(Debug)]
pub struct Merger {
    collector: Collector,
    /// The device and the name of the first report.
    device: Option<(Device, String)>,
    stats: Stats,
    /// Each distinct note with the names of its reports.
    notes: Vec<(String, Vec<String>)>,
    /// The fix of each finding that has one, by fingerprint.
    fixes: HashMap<String, Fix>,
    coverage: Vec<KernelCoverage>,
    sources: Vec<SourceLines>,
}

impl Default for Merger {
    fn default() -> Self {
        Self {
            // The programs already applied their limits.
            collector: Collector::new(u64::MAX, false),
            device: None,
            stats: Stats::default(),
            notes: Vec::new(),
            fixes: HashMap::new(),
            coverage: Vec::new(),
            sources: Vec::new(),
        }
    }
}

impl Merger {
    /// Adds a report. Notes call it `origin`, which is its file, rank or seed.
    pub fn add(&mut self, origin: &str, mut report: Report) {
        let device = report.device;
        let (first, named) = self.device.get_or_insert_with(|| (device, origin.to_owned())).clone();
        if first != device {
            let note = format!("ran on `{}`, `{named}` on `{}`", device.as_str(), first.as_str());
            self.note(note, origin);
        }
        for (race, cause) in with_causes(&mut report) {
            self.collector.add_race(race, &cause);
        }
        for divergence in report.divergence {
            self.collector.add_divergence(divergence);
        }
        for fault in report.faults {
            self.collector.add_fault(fault);
        }
        for finding in report.findings {
            let known = self.fixes.entry(finding.fingerprint).or_default();
            if known.diff.is_none() {
                *known = finding.fix;
            }
        }
        for lines in report.sources {
            if !self.sources.contains(&lines) {
                self.sources.push(lines);
            }
        }
        for note in report.notes {
            self.note(note, origin);
        }
        for kernel in report.coverage {
            match self.coverage.iter_mut().find(|known| known.kernel == kernel.kernel) {
                Some(known) => {
                    known.launches = known.launches.saturating_add(kernel.launches);
                    kernel.accesses.into_iter().for_each(|access| known.add(access));
                }
                None => self.coverage.push(kernel),
            }
        }
        add_stats(&mut self.stats, report.stats);
    }

    fn note(&mut self, note: String, origin: &str) {
        match self.notes.iter_mut().find(|(known, _)| *known == note) {
            Some((_, origins)) => {
                if origins.last().is_none_or(|last| last != origin) {
                    origins.push(origin.to_owned());
                }
            }
            None => self.notes.push((note, vec![origin.to_owned()])),
        }
    }

    /// Returns the number of distinct races, divergences and faults so far.
    pub fn entries(&self) -> usize {
        self.collector.entries()
    }

    /// Returns the joined report. `None` if no report was added.
    pub fn finish(mut self) -> Option<Report> {
        let (device, _) = self.device?;
        for (note, origins) in self.notes {
            self.collector.note(format!("{}: {note}", named(&origins)));
        }
        let mut report = self.collector.report(device, self.stats);
        report.sources = self.sources;
        report.coverage = self.coverage;
        for finding in &mut report.findings {
            if let Some(fix) = self.fixes.remove(&finding.fingerprint) {
                finding.fix = fix;
            }
        }
        Some(report)
    }
}

/// `` `a.json`, `b.json` and 3 more reports``.
fn named(origins: &[String]) -> String {
    let shown = &origins[..origins.len().min(ORIGINS_NAMED)];
    let text = shown.iter().map(|origin| format!("`{origin}`")).collect::<Vec<_>>().join(", ");
    match origins.len() - shown.len() {
        0 => text,
        1 => format!("{text} and 1 more report"),
        more => format!("{text} and {more} more reports"),
    }
}

/// Adds up statistics, kernel by kernel. Every report's sites are counted, so their parts still add up to the
/// total.
fn add_stats(sum: &mut Stats, stats: Stats) {
    sum.launches = sum.launches.saturating_add(stats.launches);
    sum.launches_unchecked = sum.launches_unchecked.saturating_add(stats.launches_unchecked);
    sum.launches_proved = sum.launches_proved.saturating_add(stats.launches_proved);
    sum.checks_executed = sum.checks_executed.saturating_add(stats.checks_executed);
    add_sites(&mut sum.sites, stats.sites);
    sum.trials.add(stats.trials);
    for kernel in stats.kernels {
        let KernelStats { name, sites, launches, checks_executed } = kernel;
        match sum.kernels.iter_mut().find(|known| known.name == name) {
            Some(known) => {
                add_sites(&mut known.sites, sites);
                known.launches = known.launches.saturating_add(launches);
                known.checks_executed = known.checks_executed.saturating_add(checks_executed);
            }
            None => sum.kernels.push(KernelStats { name, sites, launches, checks_executed }),
        }
    }
}

fn add_sites(sum: &mut Sites, sites: Sites) {
    sum.total = sum.total.saturating_add(sites.total);
    sum.proved = sum.proved.saturating_add(sites.proved);
    sum.proved_at_launch = sum.proved_at_launch.saturating_add(sites.proved_at_launch);
    sum.checked = sum.checked.saturating_add(sites.checked);
}
