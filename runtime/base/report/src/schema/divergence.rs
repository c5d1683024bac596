//! The divergences of a report.

use serde::{Deserialize, Serialize};

use super::Dim3;

/// A barrier, or a call of a whole warp, that not all threads reach that belong to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Divergence {
    /// Demangled name of the kernel.
    pub kernel: String,
    /// The [`Launch::index`](super::Launch::index) of the launch.
    pub launch: u64,
    /// Index of the block.
    pub block: Dim3,
    /// Where the threads of the block are.
    pub waiting: Vec<Waiting>,
    /// What is wrong. A report leaves out [`DivergenceKind::Barrier`].
    #[serde(default, skip_serializing_if = "DivergenceKind::is_barrier")]
    pub kind: DivergenceKind,
    /// The seed under which it shows, if the program's own schedule did not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

/// What is wrong in a [`Divergence`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DivergenceKind {
    /// The threads of a block do not reach the same barrier. They cannot go on.
    #[default]
    Barrier,
    /// The barrier stands under a condition, and threads that skip it had ended. The others went on.
    SkippedBarrier,
    /// Lanes that a mask names do not reach the call that waits for them. The others cannot go on.
    AbsentLanes,
    /// A lane calls with a mask that leaves it out, which PTX leaves undefined. It went on.
    CallerNotInMask,
}

impl DivergenceKind {
    /// True for a barrier that not all threads of a block reach.
    pub fn is_barrier(&self) -> bool {
        *self == Self::Barrier
    }
}

/// A group of threads in a divergence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Waiting {
    /// Threads that wait at one place.
    At(WaitingAt),
    /// Threads that have left the kernel.
    Exited(Exited),
}

/// Threads that wait at one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WaitingAt {
    /// Source file.
    pub file: Option<String>,
    /// Line, from 1.
    pub line: Option<u32>,
    /// The number of threads.
    pub threads: u32,
    /// Index of one of them.
    pub example: Dim3,
}

/// Threads that have left the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exited {
    /// Distinguishes the group from one that waits.
    pub exited: True,
    /// The number of threads.
    pub threads: u32,
    /// Index of one of them.
    pub example: Dim3,
}

/// The value `true`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "bool", into = "bool")]
pub struct True;

impl TryFrom<bool> for True {
    type Error = &'static str;

    fn try_from(value: bool) -> Result<Self, Self::Error> {
        if value { Ok(Self) } else { Err("found `false`, wanted `true`") }
    }
}

impl From<True> for bool {
    fn from(_: True) -> Self {
        true
    }
}

impl Waiting {
    /// Returns a group of `threads` threads that wait at this line. `example` is one of them.
    pub fn at(file: Option<String>, line: Option<u32>, threads: u32, example: Dim3) -> Self {
        Self::At(WaitingAt { file, line, threads, example })
    }

    /// Returns a group of `threads` threads that have left the kernel. `example` is one of them.
    pub fn exited(threads: u32, example: Dim3) -> Self {
        Self::Exited(Exited { exited: True, threads, example })
    }
}
