//! The statistics of a report.

use serde::{Deserialize, Serialize};

/// Counts of launches, sites and checks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stats {
    /// Kernel launches.
    pub launches: u64,
    /// Launches that ran without checks because of an option.
    pub launches_unchecked: u64,
    /// Launches that ran without checks: all accesses were proved, or an equal launch was checked before.
    #[serde(default)]
    pub launches_proved: u64,
    /// Checks that ran on the device.
    pub checks_executed: u64,
    /// Sites of all modules.
    pub sites: Sites,
    /// The same for each kernel.
    pub kernels: Vec<KernelStats>,
    /// Launches that ran under further schedules.
    #[serde(default, skip_serializing_if = "Trials::is_none")]
    pub trials: Trials,
}

/// The trials: runs of launches under further schedules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trials {
    /// Launches that had trials.
    pub launches: u64,
    /// Their trials.
    pub trials: u64,
    /// Trials that ended before the launch did: they had made all their steps.
    pub unfinished: u64,
    /// Steps of all trials: checks, and turns of threads.
    pub steps: u64,
    /// Races that only trials showed.
    pub races: u64,
}

impl Trials {
    fn is_none(&self) -> bool {
        self.trials == 0
    }

    /// Adds the counts of `other`.
    pub fn add(&mut self, other: Self) {
        self.launches = self.launches.saturating_add(other.launches);
        self.trials = self.trials.saturating_add(other.trials);
        self.unfinished = self.unfinished.saturating_add(other.unfinished);
        self.steps = self.steps.saturating_add(other.steps);
        self.races = self.races.saturating_add(other.races);
    }
}

/// Numbers of sites: `proved + proved_at_launch + checked == total`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sites {
    /// All.
    pub total: u64,
    /// Proved free of races for every launch.
    pub proved: u64,
    /// Proved for the launches that happened.
    pub proved_at_launch: u64,
    /// Checked at run time.
    pub checked: u64,
}

/// The counts for one kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelStats {
    /// Demangled name.
    pub name: String,
    /// Sites that it can reach.
    pub sites: Sites,
    /// Its launches.
    pub launches: u64,
    /// Checks that ran in it.
    pub checks_executed: u64,
}
