//! Several reports as one: ranks of a job, shards of a test suite, seeds of a
//! schedule.

use crate::collect::Collector;
use crate::schema::{Device, KernelStats, Report, Sites, Stats};

/// Names of origins that a note lists before it only counts them.
const ORIGINS_NAMED: usize = 3;

/// Gathers reports. Findings are one entry by the same key as within one
/// report: the first one is shown, the counts of all are added.
#[derive(Debug)]
pub struct Merger {
    collector: Collector,
    /// That of the first report, and the name of that report.
    device: Option<(Device, String)>,
    stats: Stats,
    /// Each distinct note with the reports that have it.
    notes: Vec<(String, Vec<String>)>,
    not_shown: u64,
}

impl Default for Merger {
    fn default() -> Self {
        Self {
            // What the programs kept is kept.
            collector: Collector::new(u64::MAX, false),
            device: None,
            stats: Stats::default(),
            notes: Vec::new(),
            not_shown: 0,
        }
    }
}

impl Merger {
    /// Adds a report that notes call `origin`: its file, its rank, its seed.
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
        // The same race may be hidden in two reports: that none is counted
        // twice cannot be known, so the largest number is what is sure.
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

    /// How many entries there are so far.
    pub fn findings(&self) -> u64 {
        self.collector.findings()
    }

    /// The reports as one; `None` where none was added.
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

/// Sums, kernel by kernel: each report's sites are counted, so that their parts
/// keep adding up to the total.
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
