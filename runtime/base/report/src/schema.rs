//! The stored report: the JSON of schema `gpurace-report/1`, with the same fields in the same order. All code
//! that reads or writes a report uses these types.
//!
//! An unknown value is `None` and becomes `null`. Reading rejects fields that the schema does not have.

mod coverage;
mod divergence;
mod fault;
mod finding;
mod run;
mod stats;

use std::fmt;

use gpurace_abi::meta::Space;
use serde::{Deserialize, Serialize};

use crate::plain::MakePlain as _;

pub use coverage::{CoverageState, CoveredAccess, KernelCoverage};
pub use divergence::{Divergence, DivergenceKind, Exited, True, Waiting, WaitingAt};
pub use fault::{Fault, FaultKind};
pub use finding::{CauseKind, Finding, Fix};
pub use run::{Run, SourceLines};
pub use stats::{KernelStats, Sites, Stats, Trials};

/// Three sizes or indices: `x`, `y`, `z`.
pub type Dim3 = [u32; 3];

/// All that one run of a program reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// Name and version of the schema.
    pub schema: Schema,
    /// What the kernels ran on.
    pub device: Device,
    /// The run. `None` for joined reports.
    #[serde(default)]
    pub run: Option<Run>,
    /// One entry for each mistake, in the order in which they were first seen.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// Races in the order in which they were first seen. One entry stands for a kernel and an unordered pair
    /// of source positions.
    pub races: Vec<Race>,
    /// Barriers that not all threads reach.
    pub divergence: Vec<Divergence>,
    /// Faults that ended a launch.
    #[serde(default)]
    pub faults: Vec<Fault>,
    /// What was lost or not checked.
    pub notes: Vec<String>,
    /// Counts of launches, sites and checks.
    pub stats: Stats,
    /// What the run has shown of each kernel's accesses. Empty on a GPU.
    #[serde(default)]
    pub coverage: Vec<KernelCoverage>,
    /// The lines around the positions of the findings.
    #[serde(default)]
    pub sources: Vec<SourceLines>,
}

impl Report {
    /// Returns a report without findings.
    pub fn new(device: Device) -> Self {
        Self {
            schema: Schema::V1,
            device,
            run: None,
            findings: Vec::new(),
            races: Vec::new(),
            divergence: Vec::new(),
            faults: Vec::new(),
            notes: Vec::new(),
            stats: Stats::default(),
            coverage: Vec::new(),
            sources: Vec::new(),
        }
    }

    /// True if the run found a race, a divergence or a fault.
    pub fn has_findings(&self) -> bool {
        !self.races.is_empty() || !self.divergence.is_empty() || !self.faults.is_empty()
    }

    /// Returns the races of a finding, in order.
    pub fn races_of<'a>(&'a self, finding: &'a Finding) -> impl Iterator<Item = &'a Race> {
        finding.races.iter().filter_map(|&at| self.races.get(at))
    }

    /// Returns the report as indented JSON with a newline at its end.
    pub fn to_json(&self) -> String {
        // This cannot fail: the schema has no maps, and no `Serialize` that fails.
        let mut json = serde_json::to_string_pretty(self).unwrap_or_default();
        json.push('\n');
        json
    }

    /// Reads a report, whose texts become [plain](crate::plain). Findings that the text does not have are made
    /// from its races.
    ///
    /// # Errors
    /// The text is not JSON, has another schema, or has fields that the schema does not have.
    pub fn from_json(json: &str) -> serde_json::Result<Self> {
        let mut report: Self = serde_json::from_str(json)?;
        // Names that differ in odd characters alone are one name from here on.
        report.make_plain();
        let all = vec![true; report.races.len()];
        Ok(crate::collect::regrouped(report, &all))
    }
}

/// Name and version of the schema.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Schema {
    /// Version 1.
    #[default]
    #[serde(rename = "gpurace-report/1")]
    V1,
}

/// What the kernels ran on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Device {
    /// The executor on the host.
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
}

impl Device {
    /// Returns the report's word for the device.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Cuda => "cuda",
        }
    }
}

/// Two accesses that conflict and are not ordered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Race {
    /// What the two sides did, the earlier first.
    pub kind: RaceKind,
    /// The kind of memory.
    pub space: Space,
    /// The narrowest group that has both sides.
    pub scope: Scope,
    /// True if both sides stored the same value. `None` unless both are writes with known values.
    pub same_value: Option<bool>,
    /// The demangled name of the kernel of the side that found the race. If that side is not a kernel, it is
    /// the kernel of the other side, or `None`.
    pub kernel: Option<String>,
    /// The launch of that kernel.
    pub launch: Option<Launch>,
    /// The memory object.
    pub object: Option<Object>,
    /// The access that found the race, then the earlier one.
    pub accesses: [Access; 2],
    /// Advice, if there is any.
    pub hint: Option<String>,
    /// The number of times that this pair was seen.
    pub count: u64,
    /// The seed under which the race shows, if the program's own schedule did not show it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

impl Race {
    /// Returns the access that found the race.
    pub fn later(&self) -> &Access {
        &self.accesses[0]
    }

    /// Returns the other access, which was made earlier.
    pub fn earlier(&self) -> &Access {
        &self.accesses[1]
    }

    /// True if the sides came to the object through different parameters of one launch. Another launch has its own.
    pub fn is_alias(&self) -> bool {
        match self.accesses.each_ref().map(|access| access.parameter.as_ref()) {
            [Some(a), Some(b)] => a != b && self.scope < Scope::Device,
            _ => false,
        }
    }
}

/// What a side of a race does to the bytes. Unlike [`Op`], it shows whether a copy or the host reads or
/// writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Reads them.
    Read,
    /// Writes them.
    Write,
    /// Accesses them atomically.
    Atomic,
}

impl Effect {
    /// Returns the word for it in the name of a [`RaceKind`].
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
    /// Two atomics. The scope of one excludes the other thread, or their bytes overlap without being the
    /// same.
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

    /// Returns the kind for two sides. `None` for two reads, which cannot race.
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

    /// Returns what the earlier side did.
    pub const fn earlier(self) -> Effect {
        match self {
            Self::ReadWrite | Self::ReadAtomic => Effect::Read,
            Self::WriteWrite | Self::WriteRead | Self::WriteAtomic => Effect::Write,
            Self::AtomicWrite | Self::AtomicRead | Self::AtomicAtomic => Effect::Atomic,
        }
    }

    /// Returns what the later side did.
    pub const fn later(self) -> Effect {
        match self {
            Self::WriteRead | Self::AtomicRead => Effect::Read,
            Self::WriteWrite | Self::ReadWrite | Self::AtomicWrite => Effect::Write,
            Self::WriteAtomic | Self::ReadAtomic | Self::AtomicAtomic => Effect::Atomic,
        }
    }

    /// True if one side has this effect, or both have.
    pub fn has(self, effect: Effect) -> bool {
        self.earlier() == effect || self.later() == effect
    }
}

impl fmt::Display for RaceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.earlier().as_str(), self.later().as_str())
    }
}

/// The narrowest group that has both sides of a race.
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
    /// Different launches or copies.
    Device,
    /// The device and the host.
    System,
}

/// A kernel launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    /// The number of the launch in its process, from 1.
    pub index: u64,
    /// The blocks of the grid.
    pub grid: Dim3,
    /// The threads of a block.
    pub block: Dim3,
    /// Source file of the launch.
    pub file: Option<String>,
    /// Line of the launch, from 1.
    pub line: Option<u32>,
    /// The host's calls that led to the launch, the launch's own position first. Empty if there is only that
    /// position.
    #[serde(default)]
    pub stack: Vec<Call>,
    /// The named regions of the program that it was launched in, the outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub regions: Vec<String>,
}

/// A kind of memory object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ObjectKind {
    /// A `__shared__` variable or the dynamic shared memory of a block.
    Shared,
    /// A `__device__` or `__managed__` variable.
    Variable,
    /// Memory that the host allocated (`cudaMalloc` and similar functions).
    Allocation,
    /// Memory that device code allocated (`malloc`, `new`).
    Heap,
}

/// The memory object of a race.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Object {
    /// Its kind.
    pub kind: ObjectKind,
    /// Its name in the source, if it has one.
    pub name: Option<String>,
    /// Its size in bytes.
    pub size: Option<u64>,
    /// The first byte of the access that found the race, from the start of the object.
    pub offset: Option<u64>,
    /// The element that this byte belongs to.
    #[serde(default)]
    pub element: Option<Element>,
    /// The position in host code that allocated it.
    #[serde(default)]
    pub allocated_at: Option<Position>,
    /// The kernel's parameter through which the access that found the race came here.
    #[serde(default)]
    pub parameter: Option<Parameter>,
}

/// An element of an array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Element {
    /// Its index in each dimension of the variable: 3 and 7 in `tile[3][7]`. For an allocation, the one index from
    /// its start.
    pub index: Vec<u64>,
    /// The byte within the element.
    pub byte: u64,
    /// The type of the elements of an allocation, which is that of the kernel's parameter.
    #[serde(rename = "type")]
    pub ty: Option<String>,
    /// The field of the element, if it is a struct: `vel.y`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its number, from 1.
    pub number: u32,
}

/// A position in a source file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Position {
    /// Source file.
    pub file: String,
    /// Line in it, from 1.
    pub line: u32,
}

/// A call, which was inlined or is in host code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The calling function, demangled.
    pub function: Option<String>,
    /// Source file of the call.
    pub file: String,
    /// Line of the call, from 1.
    pub line: u32,
    /// Column of the call, from 1.
    pub column: Option<u32>,
}

/// How a side of a race accesses the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    /// A read by a kernel.
    Read,
    /// A write by a kernel.
    Write,
    /// An atomic access by a kernel.
    Atomic,
    /// A copy or a fill (`cudaMemcpy*`, `cudaMemset*`), or a call of a library, which [`Access::function`] names.
    Copy,
    /// Host code.
    Host,
}

/// One side of a race.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Access {
    /// How it accesses the bytes.
    pub op: Op,
    /// The number of bytes.
    pub size: Option<u64>,
    /// Source file of the innermost inlined stack frame in user code.
    pub file: Option<String>,
    /// Line in it, from 1.
    pub line: Option<u32>,
    /// Column in it, from 1.
    pub column: Option<u32>,
    /// The demangled function of that stack frame, or the function of a library such as cuBLAS.
    pub function: Option<String>,
    /// The [`Launch::index`] of its launch.
    pub launch: Option<u64>,
    /// The stream that it ran on. 0 is the default stream.
    pub stream: Option<u64>,
    /// Index of its block.
    pub block: Option<Dim3>,
    /// Index of its thread in the block.
    pub thread: Option<Dim3>,
    /// The calls through which `function` was inlined into the kernel, the innermost first.
    #[serde(default)]
    pub frames: Vec<Call>,
    /// The kernel's parameter through which the access found its address.
    #[serde(default)]
    pub parameter: Option<Parameter>,
    /// True if no thread made it, but the end of the block, which ends its shared memory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ends_block: bool,
}

impl Access {
    /// Returns an access with a known operation and nothing else.
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
            frames: Vec::new(),
            parameter: None,
            ends_block: false,
        }
    }
}
