//! The faults of a report.

use serde::{Deserialize, Serialize};

use super::{Dim3, Object};

/// A fault that ended a launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Its kind.
    pub kind: FaultKind,
    /// What happened, in words.
    pub message: String,
    /// Source file of the access or synchronisation that faulted.
    pub file: Option<String>,
    /// Line in it, from 1.
    pub line: Option<u32>,
    /// Column in it, from 1.
    pub column: Option<u32>,
    /// Demangled name of the kernel.
    pub kernel: String,
    /// The [`Launch::index`](super::Launch::index) of the launch.
    pub launch: u64,
    /// Index of the block.
    pub block: Option<Dim3>,
    /// Index of the thread in the block.
    pub thread: Option<Dim3>,
    /// The object that the address lies in, or the nearest one. Its offset is `None`.
    pub object: Option<Object>,
    /// Bytes from the object's end to the address; negative before its start, `None` inside it.
    pub distance: Option<i64>,
    /// The seed under which it shows, if the program's own schedule did not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

/// The kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// An access to an address that the kernel may not access.
    IllegalAddress,
    /// A trap, or code that the compiler made unreachable.
    Trap,
    /// A failed `assert`.
    Assert,
    /// A thread ran out of stack.
    StackOverflow,
    /// A use of a barrier that PTX leaves undefined.
    Barrier,
    /// All threads wait in loops, without progress.
    EndlessWait,
    /// An arithmetic operation that the processor refused.
    Arithmetic,
}
