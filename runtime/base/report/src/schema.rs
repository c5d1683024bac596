//! The report as it is stored: the JSON of schema `gpurace-report/1`, field by
//! field and in that order. Whoever reads or writes a report goes through
//! these types.
//!
//! What is not known is `None` and becomes `null`; nothing is invented.
//! Reading refuses fields that the schema does not have.

mod divergence;
mod stats;

use std::fmt;

use gpurace_abi::meta::Space;
use serde::{Deserialize, Serialize};

pub use divergence::{Divergence, Exited, True, Waiting, WaitingAt};
pub use stats::{KernelStats, Sites, Stats};

/// Three extents or indices: `x`, `y`, `z`.
pub type Dim3 = [u32; 3];

/// Everything that one run of a program reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// Name and version of the schema.
    pub schema: Schema,
    /// What the kernels ran on.
    pub device: Device,
    /// Races, one entry per unordered pair of source positions and kernel, in
    /// the order in which they were first seen.
    pub races: Vec<Race>,
    /// Barriers that some threads of a block reached and others cannot, and
    /// deadlocks.
    pub divergence: Vec<Divergence>,
    /// What was lost or not checked.
    pub notes: Vec<String>,
    /// What was checked, and how much of it.
    pub stats: Stats,
    /// How many distinct races `max_reports` kept out of `races`; a note says
    /// so in the stored report, where this field does not appear.
    #[serde(skip)]
    pub races_not_shown: u64,
}

impl Report {
    /// A report without findings.
    pub fn new(device: Device) -> Self {
        Self {
            schema: Schema::V1,
            device,
            races: Vec::new(),
            divergence: Vec::new(),
            notes: Vec::new(),
            stats: Stats::default(),
            races_not_shown: 0,
        }
    }

    /// Whether the run counts as failed: a race or a divergence was found.
    pub fn has_findings(&self) -> bool {
        !self.races.is_empty() || !self.divergence.is_empty() || self.races_not_shown > 0
    }

    /// The report as indented JSON with a newline at its end.
    pub fn to_json(&self) -> String {
        // Only maps with keys other than strings, or a `Serialize` that fails,
        // could make this an error; the schema has neither.
        let mut json = serde_json::to_string_pretty(self).unwrap_or_default();
        json.push('\n');
        json
    }

    /// Reads a report.
    ///
    /// # Errors
    /// The text is not JSON, is of another schema, or has fields that the
    /// schema does not have.
    pub fn from_json(json: &str) -> serde_json::Result<Self> {
        let mut report: Self = serde_json::from_str(json)?;
        report.races_not_shown = report.notes.iter().filter_map(|note| not_shown_of(note)).max().unwrap_or(0);
        Ok(report)
    }
}

/// The note that stands for [`Report::races_not_shown`] in the stored report.
pub(crate) fn not_shown_note(count: u64) -> String {
    format!("{} not shown", crate::words::plural(count, "distinct race", "distinct races"))
}

/// The number in such a note, also where a merged report names its origin
/// before it.
fn not_shown_of(note: &str) -> Option<u64> {
    let note = note.rsplit(": ").next()?;
    let count = note.split(' ').next()?.parse().ok()?;
    (note == not_shown_note(count)).then_some(count)
}

/// Name and version of the schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Schema {
    /// The only version so far.
    #[default]
    #[serde(rename = "gpurace-report/1")]
    V1,
}

/// What the kernels ran on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Device {
    /// The SIMT executor on the host.
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
}

impl Device {
    /// The word that the report has for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
        }
    }
}

/// Two unordered accesses to common bytes, at least one of them a write, not
/// both atomic at a scope that holds both threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Race {
    /// What the two sides did, the earlier first.
    pub kind: RaceKind,
    /// The memory that holds the bytes.
    pub space: Space,
    /// The narrowest group that holds both sides.
    pub scope: Scope,
    /// Whether both stored the same value; `None` unless both sides are writes
    /// and the values are known.
    pub same_value: Option<bool>,
    /// Demangled name of the kernel of the side that found the race, or of the
    /// other side where that one is no kernel; `None` where neither is.
    pub kernel: Option<String>,
    /// The launch of that kernel.
    pub launch: Option<Launch>,
    /// The memory object.
    pub object: Option<Object>,
    /// The access that found the race, then the earlier one.
    pub accesses: [Access; 2],
    /// What might mend it, where something true can be said.
    pub hint: Option<String>,
    /// How often this pair was seen.
    pub count: u64,
}

impl Race {
    /// The access that found the race.
    pub fn later(&self) -> &Access {
        &self.accesses[0]
    }

    /// The access that happened before the one that found the race.
    pub fn earlier(&self) -> &Access {
        &self.accesses[1]
    }
}

/// What a side of a race does to the bytes. Unlike [`Op`] it says of a copy or
/// of the host whether it reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Reads them.
    Read,
    /// Writes them.
    Write,
    /// Accesses them atomically.
    Atomic,
}

impl Effect {
    /// The word that [`RaceKind`] is made of.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Atomic => "atomic",
        }
    }
}

/// What the two sides of a race did, the earlier named first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RaceKind {
    /// Write, then write.
    WriteWrite,
    /// Read, then write.
    ReadWrite,
    /// Write, then read.
    WriteRead,
    /// Atomic, then write.
    AtomicWrite,
    /// Write, then atomic.
    WriteAtomic,
    /// Atomic, then read.
    AtomicRead,
    /// Read, then atomic.
    ReadAtomic,
    /// Two atomics, one at a scope that leaves the other thread out, or on
    /// bytes that only overlap.
    AtomicAtomic,
}

impl RaceKind {
    /// Every kind.
    pub const ALL: [Self; 8] = [
        Self::WriteWrite,
        Self::ReadWrite,
        Self::WriteRead,
        Self::AtomicWrite,
        Self::WriteAtomic,
        Self::AtomicRead,
        Self::ReadAtomic,
        Self::AtomicAtomic,
    ];

    /// The kind of two sides, or `None` for two reads, which cannot race.
    pub const fn new(earlier: Effect, later: Effect) -> Option<Self> {
        Some(match (earlier, later) {
            (Effect::Read, Effect::Read) => return None,
            (Effect::Read, Effect::Write) => Self::ReadWrite,
            (Effect::Read, Effect::Atomic) => Self::ReadAtomic,
            (Effect::Write, Effect::Read) => Self::WriteRead,
            (Effect::Write, Effect::Write) => Self::WriteWrite,
            (Effect::Write, Effect::Atomic) => Self::WriteAtomic,
            (Effect::Atomic, Effect::Read) => Self::AtomicRead,
            (Effect::Atomic, Effect::Write) => Self::AtomicWrite,
            (Effect::Atomic, Effect::Atomic) => Self::AtomicAtomic,
        })
    }

    /// What the earlier side did.
    pub const fn earlier(self) -> Effect {
        match self {
            Self::ReadWrite | Self::ReadAtomic => Effect::Read,
            Self::WriteWrite | Self::WriteRead | Self::WriteAtomic => Effect::Write,
            Self::AtomicWrite | Self::AtomicRead | Self::AtomicAtomic => Effect::Atomic,
        }
    }

    /// What the side that found the race did.
    pub const fn later(self) -> Effect {
        match self {
            Self::WriteRead | Self::AtomicRead => Effect::Read,
            Self::WriteWrite | Self::ReadWrite | Self::AtomicWrite => Effect::Write,
            Self::WriteAtomic | Self::ReadAtomic | Self::AtomicAtomic => Effect::Atomic,
        }
    }
}

impl fmt::Display for RaceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.earlier().as_str(), self.later().as_str())
    }
}

/// The narrowest group that holds both sides of a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Threads of one warp.
    Warp,
    /// Threads of one block.
    Block,
    /// Threads of one cluster.
    Cluster,
    /// Threads of one launch.
    Grid,
    /// Different launches.
    Device,
    /// One side is the host or a copy by it.
    System,
}

/// A kernel launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// Which launch of the process it was, from 1.
    pub index: u64,
    /// Blocks of the grid.
    pub grid: Dim3,
    /// Threads of a block.
    pub block: Dim3,
    /// Source file of the launch.
    pub file: Option<String>,
    /// Line of the launch, from 1.
    pub line: Option<u32>,
    /// The calls of host code that led to it, the launch's own position first;
    /// empty where that is all. Known to the run only: the stored report has no
    /// place for them.
    #[serde(skip)]
    pub stack: Vec<InlinedAt>,
}

/// What kind of memory object was accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ObjectKind {
    /// A `__shared__` variable or the dynamic shared memory of a block.
    Shared,
    /// A `__device__` or `__managed__` variable.
    Variable,
    /// Memory that the host allocated (`cudaMalloc` and its kin).
    Allocation,
    /// Memory that device code allocated (`malloc`, `new`).
    Heap,
}

/// The memory object that holds the bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Object {
    /// What it is.
    pub kind: ObjectKind,
    /// Its name in the source, where it has one.
    pub name: Option<String>,
    /// Its size, bytes.
    pub size: Option<u64>,
    /// Where in it the access that found the race begins, bytes.
    pub offset: Option<u64>,
    /// Where host code allocated it. Known to the run only: the stored report
    /// has no place for it.
    #[serde(skip)]
    pub allocated: Option<Position>,
}

/// A position in a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// Source file.
    pub file: String,
    /// Line in it, from 1.
    pub line: u32,
}

/// A call, inlined or of host code: the function that it stands in, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlinedAt {
    /// The calling function, demangled.
    pub function: Option<String>,
    /// Where the call stands.
    pub position: Position,
    /// Column of the call, from 1.
    pub column: Option<u32>,
}

/// How a side of a race reached the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    /// A read by a kernel.
    Read,
    /// A write by a kernel.
    Write,
    /// An atomic access by a kernel.
    Atomic,
    /// A copy or a fill (`cudaMemcpy*`, `cudaMemset*`).
    Copy,
    /// Host code.
    Host,
}

/// One side of a race.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Access {
    /// How it reached the bytes.
    pub op: Op,
    /// How many bytes it covers.
    pub size: Option<u64>,
    /// Source file of the innermost inlined frame in user code.
    pub file: Option<String>,
    /// Line in it, from 1.
    pub line: Option<u32>,
    /// Column in it, from 1.
    pub column: Option<u32>,
    /// The function of that frame, demangled.
    pub function: Option<String>,
    /// The launch it belongs to; see [`Launch::index`].
    pub launch: Option<u64>,
    /// The stream it ran on; 0 is the default stream.
    pub stream: Option<u64>,
    /// Index of its block.
    pub block: Option<Dim3>,
    /// Index of its thread in the block.
    pub thread: Option<Dim3>,
    /// The calls through which `function` was inlined into the kernel, the
    /// innermost first. Known to the run only: the stored report has no place
    /// for them.
    #[serde(skip)]
    pub inlined_at: Vec<InlinedAt>,
    /// No thread made it: the block ended, and its shared memory with it. Known to the run only.
    #[serde(skip)]
    pub ends_block: bool,
}

impl Access {
    /// An access of which nothing but the operation is known.
    pub const fn new(op: Op) -> Self {
        Self {
            op,
            size: None,
            file: None,
            line: None,
            column: None,
            function: None,
            launch: None,
            stream: None,
            block: None,
            thread: None,
            inlined_at: Vec::new(),
            ends_block: false,
        }
    }
}
