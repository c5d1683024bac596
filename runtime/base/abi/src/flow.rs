//! The control flow of a kernel, as far as the order of its accesses depends on it. The pass writes it; the
//! report looks for the barrier that is missing.

use serde::{Deserialize, Serialize};

/// The control flow of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// The basic blocks in reverse post-order: the kernel's start is the first, and only loops lead back.
    pub blocks: Vec<FlowBlock>,
    /// Its updates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub updates: Vec<Update>,
    /// Its atomics that change nothing: loads, and looks at mbarriers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looks: Vec<u32>,
    /// Its atomics that tell no thread anything: no way that a thread takes depends on what an atomic has read of their
    /// memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<u32>,
    /// Its atomics on shared memory, which order no blocks of different clusters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<u32>,
    /// Those by which a thread arrives at an mbarrier.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arrivals: Vec<u32>,
    /// Its accesses of buffers that have stages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub staged: Vec<Staged>,
}

/// An access of a buffer with stages: a part of its index changes in each iteration of a loop, and comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Staged {
    /// An index into [`ModuleMeta::sites`](crate::meta::ModuleMeta::sites).
    pub site: u32,
    /// Accesses with equal numbers use one stage in each iteration.
    pub stage: u32,
}

/// A read and a change of the same bytes, if one thread makes both in this order: `a[i] = a[i] + 1`, or a compare and a
/// store. Both are indices into [`ModuleMeta::sites`](crate::meta::ModuleMeta::sites).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Update {
    /// A plain read.
    pub read: u32,
    /// A store or an atomic.
    pub change: u32,
    /// The bytes do not go by the thread alone: all threads of a block update the same ones, or which ones depends on a
    /// loaded value.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_value: bool,
    /// One thread of a block makes the change: two threads of a block never update at once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_one: bool,
}

/// A basic block.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowBlock {
    /// All threads of a thread block run it together, or none does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uniform: bool,
    /// All threads of a warp do. It is false if `uniform` is true.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub warp: bool,
    /// Which block follows depends on a value that an atomic has read.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub decides: bool,
    /// It is a loop that waits for a plain value to change, or a block of a loop that looks for that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub spins: bool,
    /// The blocks that may follow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<u32>,
    /// What happens in it, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
}

/// A function whose code was inlined into kernels of a module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InlinedFunction {
    /// Its file: an index into [`ModuleMeta::files`](crate::meta::ModuleMeta::files).
    pub file: u32,
    /// Its name, as [`Frame::function`](crate::meta::Frame::function) has it.
    pub name: String,
    /// Lines that all threads of a block run together, or none does, wherever the module calls a function of this
    /// place.
    pub together: Vec<u32>,
}

/// A step of a basic block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Step {
    /// Code of this line of the kernel's own source begins.
    Line(u32),
    /// Code of this line of a function begins that was inlined. It is an index into
    /// [`ModuleMeta::inlined`](crate::meta::ModuleMeta::inlined).
    Inlined {
        /// The function.
        function: u32,
        /// The line.
        line: u32,
        /// The number of the call in the kernel. Code of the calls within this one has other numbers.
        call: u32,
    },
    /// A plain access: an index into [`ModuleMeta::sites`](crate::meta::ModuleMeta::sites).
    Access(u32),
    /// An atomic access, likewise.
    Atomic(u32),
    /// A barrier of the whole thread block.
    Barrier,
    /// A barrier of the whole grid. The barriers of the block that it has come before it.
    Grid,
    /// A synchronisation of a whole warp.
    Warp,
    /// A synchronisation of some lanes of a warp.
    Lanes,
    /// A wait for asynchronous copies.
    Wait,
}
