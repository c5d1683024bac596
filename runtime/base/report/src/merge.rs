//! Joins several reports into one: of the ranks of a job, the shards of a test suite, the seeds of a
//! schedule.

use crate::collect::Collector;
use crate::schema::{Device, KernelStats, Report, Sites, Stats};

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
    not_shown: u64,
}

impl Default for Merger {
    fn default() -> Self {
        Self {
            // The programs already applied their limits.
            collector: Collector::new(u64::MAX, false),
            device: None,
            stats: Stats::default(),
            notes: Vec::new(),
            not_shown: 0,
        }
    }
}

impl Merger {
    /// Adds a report. Notes call it `origin`, which is its file, rank or seed.
    pub fn add(&mut self, origin: &str, report: Report) {
        let device = report.device;
        let (first, named) = self.device.get_or_insert_with(|| (device, origin.to_owned())).clone();
        if first != device {
            let note = format!("ran on `{}`, `{named}` on `{}`", device.as_str(), first.as_str());
            self.note(note, origin);
        }
        for race in report.races {
            self.collector.add_race(race);
        }
        for divergence in report.divergence {
            self.collector.add_divergence(divergence);
        }
        for note in report.notes {
            self.note(note, origin);
        }
        // Two reports may leave out the same race, so only the largest number is certain.
        self.not_shown = self.not_shown.max(report.races_not_shown);
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

    /// Returns the number of entries so far.
    pub fn findings(&self) -> u64 {
        self.collector.findings()
    }

    /// Returns the joined report. `None` if no report was added.
    pub fn finish(mut self) -> Option<Report> {
        let (device, _) = self.device?;
        for (note, origins) in self.notes {
            self.collector.note(format!("{}: {note}", named(&origins)));
        }
        let mut report = self.collector.report(device, self.stats);
        report.races_not_shown = self.not_shown;
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
    sum.checks_executed = sum.checks_executed.saturating_add(stats.checks_executed);
    add_sites(&mut sum.sites, stats.sites);
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
