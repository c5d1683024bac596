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
    /// Launches that ran without checks because all accesses were proved.
    #[serde(default)]
    pub launches_proved: u64,
    /// Checks that ran on the device.
    pub checks_executed: u64,
    /// Sites of all modules.
    pub sites: Sites,
    /// The same for each kernel.
    pub kernels: Vec<KernelStats>,
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
