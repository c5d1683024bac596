//! The serialised description of a device module: written by the pass as
//! JSON, read by the runtime and by `gpurace`.

use serde::{Deserialize, Serialize};

/// Everything the runtime must know about a device module beside its code.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ModuleMeta {
    /// The processor that the device code was compiled for: 90 for `sm_90`. The first field:
    /// a runtime reads it without the rest.
    #[serde(default)]
    pub arch: u32,
    /// The main source file, as clang was given it.
    pub source: String,
    /// Whether the code carries checks.
    pub instrumented: bool,
    /// Source files that positions refer to.
    pub files: Vec<SourceFile>,
    /// Every access instruction, checked or not; `SiteId`s index it.
    pub sites: Vec<Site>,
    /// Every barrier, warp sync, fence and collective.
    pub syncs: Vec<SyncSite>,
    /// Kernels.
    pub kernels: Vec<KernelMeta>,
    /// Device variables (`__device__`, `__constant__`, `__managed__`).
    pub variables: Vec<VariableMeta>,
    /// Accesses that are not checked, by reason.
    pub skipped: Vec<Skipped>,
    /// Reads without a check of their own, in the order of their sites.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub covered: Vec<Covered>,
    /// Things that the program uses and the executor cannot run: reached at
    /// run time they end the launch with an error.
    pub unsupported: Vec<String>,
}

/// A source file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    /// The name as clang was given it, or as `#include` found it.
    pub name: String,
    /// The directory that a relative name is relative to.
    pub directory: String,
    /// A header of the toolkit, of clang or of the system: positions in it are
    /// shown as the user's line that called it.
    pub system: bool,
}

/// One source position, and the function it is in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// Index into [`ModuleMeta::files`].
    pub file: u32,
    /// Line, from 1; 0 where unknown.
    pub line: u32,
    /// Column, from 1; 0 where unknown.
    pub column: u32,
    /// The function, demangled, without parameters where debug info has only that.
    pub function: String,
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    /// A plain load.
    Read,
    /// A plain store.
    Write,
    /// An atomic or volatile access.
    Atomic,
}

/// Which memory an access may touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Space {
    /// Shared memory.
    Shared,
    /// Global memory.
    Global,
    /// Known at run time only.
    Generic,
}

/// One access instruction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Site {
    /// What it does.
    pub op: Op,
    /// Bytes, 0 where not constant.
    pub size: u32,
    /// Where.
    pub space: Space,
    /// A `volatile` access: reported by its own kind (read or write).
    pub volatile: bool,
    /// An asynchronous copy makes the access, not the thread itself.
    #[serde(default)]
    pub asynchronous: bool,
    /// Position, innermost inlined frame first; empty without debug info.
    pub frames: Vec<Frame>,
    /// What was proved of it: the least of its kernels' verdicts.
    pub verdict: Verdict,
}

/// What the prover said of an access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Cannot race in any launch.
    Proved,
    /// Cannot race where the conditions hold.
    ProvedIf,
    /// Races in some launch.
    Racy,
    /// Checked at run time.
    #[default]
    Checked,
}

impl Verdict {
    /// What two kernels with these verdicts have in common.
    pub fn and(self, other: Self) -> Self {
        let rank = |verdict| match verdict {
            Self::Racy => 0,
            Self::Checked => 1,
            Self::ProvedIf => 2,
            Self::Proved => 3,
        };
        if rank(self) <= rank(other) { self } else { other }
    }
}

/// One synchronisation instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SyncSite {
    /// As the source calls it, for instance `__syncthreads()`.
    pub what: String,
    /// Position, innermost inlined frame first.
    pub frames: Vec<Frame>,
    /// Whether all threads of a block are to take it at this place, as CUDA C++
    /// asks of `__syncthreads`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_place: bool,
}

/// One kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelMeta {
    /// Mangled name.
    pub name: String,
    /// Where it is defined.
    pub frame: Option<Frame>,
    /// Parameters, in order: where each lies in the argument buffer.
    pub params: Vec<Param>,
    /// Size of the argument buffer, bytes.
    pub params_size: u32,
    /// Static shared memory, bytes, as offsets from the block's base; dynamic
    /// shared memory starts at the next multiple of 16.
    pub shared_static: u32,
    /// Static shared variables that the kernel can reach.
    pub shared: Vec<SharedVariable>,
    /// Names of the `extern __shared__` arrays that it can reach.
    pub dynamic_shared: Vec<String>,
    /// Indices into [`ModuleMeta::sites`] of the accesses it can reach.
    pub sites: Vec<u32>,
    /// What was proved of each of `sites` for this kernel, in the same order;
    /// empty where nothing was asked.
    #[serde(default)]
    pub verdicts: Vec<Verdict>,
    /// What synchronisation it can reach.
    pub sync: SyncFeatures,
    /// Most threads a block may have (`__launch_bounds__`), 0 where not said.
    pub max_threads: u32,
    /// Estimated stack need of one thread, bytes, 0 where unknown.
    pub stack: u32,
    /// Blocks of a cluster in each dimension (`__cluster_dims__`), where the source says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<[u32; 3]>,
}

/// A parameter's place in the argument buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Param {
    /// Offset, bytes.
    pub offset: u32,
    /// Size, bytes.
    pub size: u32,
}

/// A static `__shared__` variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedVariable {
    /// Name as the source has it.
    pub name: String,
    /// Offset from the block's shared base, bytes.
    pub offset: u32,
    /// Size, bytes.
    pub size: u32,
}

/// What synchronisation a kernel can reach. Where only full-block barriers and
/// full-mask warp syncs occur, the checker's compact words are exact and no
/// richer history is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncFeatures {
    /// A block barrier.
    pub barriers: bool,
    /// A `__syncwarp` (any mask).
    pub warp_syncs: bool,
    /// A `__syncwarp` whose mask is not the constant -1.
    pub partial_masks: bool,
    /// `bar.sync id, n` with an id other than 0 or a count, `bar.arrive`.
    pub named_barriers: bool,
    /// A fence, or an atomic with an order stronger than relaxed.
    pub fences: bool,
    /// An atomic write to what may be a location that is also read by atomics and
    /// accessed plainly: who has observed the write is ordered after it.
    #[serde(default)]
    pub observes: bool,
    /// An asynchronous copy (`cp.async`).
    #[serde(default)]
    pub async_copies: bool,
    /// A barrier of a cluster, or an address in another block's shared memory.
    #[serde(default)]
    pub clusters: bool,
    /// The source says of objects, or of what threads do at some places, that races there are
    /// meant.
    #[serde(default)]
    pub annotated: bool,
    /// An access through a texture or a surface. On a GPU a log alone knows of which memory it is.
    #[serde(default)]
    pub fetches: bool,
    /// Any suspension point at all: a barrier, a collective, an atomic or
    /// volatile access, an indirect call.
    pub suspends: bool,
}

/// A device variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VariableMeta {
    /// Mangled name.
    pub name: String,
    /// Size, bytes.
    pub size: u64,
    /// Lies in constant memory.
    pub constant: bool,
    /// A `__managed__` variable: its [`VariableEntry`] addresses not its storage
    /// but a pointer to it, which the runtime sets to the host's variable.
    ///
    /// [`VariableEntry`]: crate::image::VariableEntry
    #[serde(default)]
    pub managed: bool,
    /// Where it is defined.
    pub frame: Option<Frame>,
}

/// A read that another access's check stands for: of the same thread, to the
/// same bytes, with nothing between the two that could order one of them alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Covered {
    /// Index into [`ModuleMeta::sites`].
    pub site: u32,
    /// The access that is checked: a write, or an earlier read.
    pub by: u32,
    /// The read comes before it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub before: bool,
}

/// How many accesses were left unchecked for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// Why, for instance `constant memory`.
    pub reason: String,
    /// How many access instructions.
    pub count: u32,
}
