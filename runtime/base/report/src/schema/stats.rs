//! Statistics of a report.

use serde::{Deserialize, Serialize};

/// What was checked, and how much of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stats {
    /// Kernel launches.
    pub launches: u64,
    /// Launches that ran without checks because an option said so.
    pub launches_unchecked: u64,
    /// Checks that ran on the device.
    pub checks_executed: u64,
    /// Accesses of all modules.
    pub sites: Sites,
    /// The same per kernel.
    pub kernels: Vec<KernelStats>,
}

/// Access instructions of the program as compiled:
/// `proved + proved_at_launch + checked == total`.
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

/// What was checked of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelStats {
    /// Demangled name.
    pub name: String,
    /// Accesses that it can reach.
    pub sites: Sites,
    /// Its launches.
    pub launches: u64,
    /// Checks that ran in it.
    pub checks_executed: u64,
}
