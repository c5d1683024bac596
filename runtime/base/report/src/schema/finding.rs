//! The findings of a report: one for each mistake.

use serde::{Deserialize, Serialize};

/// A mistake in the program, with all races that show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// `F1`, `F2`, ... in the order in which the findings were first seen.
    pub id: String,
    /// What is wrong.
    pub cause: CauseKind,
    /// The kernel without template arguments and parameters: all instances have the same mistakes.
    pub kernel: Option<String>,
    /// The memory object, as the programmer calls it.
    pub object: Option<String>,
    /// The finding in one line.
    pub title: String,
    /// What is missing.
    pub why: String,
    /// How to mend it.
    pub fix: Fix,
    /// Indices into [`Report::races`](super::Report::races). Empty for a divergence or a fault.
    pub races: Vec<usize>,
    /// The number of distinct races.
    pub pairs: u64,
    /// The number of times that these were seen.
    pub count: u64,
    /// Equal for equal mistakes of other runs, also if lines moved.
    pub fingerprint: String,
}

/// How to mend a mistake.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fix {
    /// A change of the source, as a unified diff, that orders all races of the finding.
    pub diff: Option<String>,
    /// What to change.
    pub advice: Option<String>,
}

/// The kinds of mistakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CauseKind {
    /// No barrier stands between the accesses.
    MissingBarrier,
    /// No barrier stands between an access and another one in the loop's next iteration.
    LoopBackEdge,
    /// Two parameters of the kernel point into one object.
    Alias,
    /// An atomic's scope leaves the other thread out.
    NarrowScope,
    /// A flag or a lock has no fence.
    MissingFence,
    /// The mask of a warp's synchronisation leaves a thread out.
    Mask,
    /// Nothing orders two launches or copies.
    UnorderedOperations,
    /// Nobody waits for an asynchronous copy.
    UnwaitedCopy,
    /// The host does not wait.
    Host,
    /// Several threads write the same value to the same place.
    SameValue,
    /// Threads of a block do not reach the same barrier.
    Divergence,
    /// A kernel faulted.
    Fault,
    /// Something else, such as an update that is not atomic.
    Other,
}

impl CauseKind {
    /// Returns the report's word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MissingBarrier => "missing-barrier",
            Self::LoopBackEdge => "loop-back-edge",
            Self::Alias => "alias",
            Self::NarrowScope => "narrow-scope",
            Self::MissingFence => "missing-fence",
            Self::Mask => "mask",
            Self::UnorderedOperations => "unordered-operations",
            Self::UnwaitedCopy => "unwaited-copy",
            Self::Host => "host",
            Self::SameValue => "same-value",
            Self::Divergence => "divergence",
            Self::Fault => "fault",
            Self::Other => "other",
        }
    }

    /// Returns it as words: `missing barrier`.
    pub fn words(self) -> String {
        match self {
            Self::Other => "data race".to_owned(),
            Self::Host => "host does not wait".to_owned(),
            _ => self.as_str().replace('-', " "),
        }
    }
}
