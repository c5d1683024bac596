//! Which accesses a run has looked at.

use serde::{Deserialize, Serialize};

use super::Effect;

/// The accesses of one kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelCoverage {
    /// Demangled name.
    pub kernel: String,
    /// Its launches.
    pub launches: u64,
    /// Its accesses, by position. Those at one position are one entry.
    pub accesses: Vec<CoveredAccess>,
}

/// An access of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoveredAccess {
    /// The source file.
    pub file: Option<String>,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The column, from 1.
    pub column: Option<u32>,
    /// What it does.
    pub op: Effect,
    /// What the run has shown of it.
    pub state: CoverageState,
}

/// What a run has shown of an access, from the least to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CoverageState {
    /// Nothing: no thread reached it. In a launch without checks, the conditions on the way to it show this; what
    /// they leave open counts as proved.
    NeverRan,
    /// It was proved for a launch.
    Proved,
    /// A thread made it, and it was checked.
    Checked,
}

impl KernelCoverage {
    /// Returns the number of accesses in this state.
    pub fn count(&self, state: CoverageState) -> u64 {
        self.accesses.iter().filter(|access| access.state == state).count() as u64
    }

    /// Adds an access, or what is known more of one.
    pub fn add(&mut self, new: CoveredAccess) {
        let key = |access: &CoveredAccess| (access.file.clone(), access.line, access.column, access.op);
        match self.accesses.binary_search_by_key(&key(&new), key) {
            Ok(at) => self.accesses[at].state = self.accesses[at].state.max(new.state),
            Err(at) => self.accesses.insert(at, new),
        }
    }
}
