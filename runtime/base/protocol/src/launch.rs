//! One concrete launch, with the parts that the prover needs.

pub use gpurace_abi::LaunchShape;
use serde::{Deserialize, Serialize};

pub use crate::arguments::ComputedArguments;
pub use crate::contents::Contents;

/// Shape, arguments and memory of one launch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Launch {
    /// The shape. It has no cluster: no proof depends on clusters.
    pub shape: LaunchShape,
    /// The value of each of [`Protocol::params`](crate::protocol::Protocol::params), zero-extended. The value
    /// of a pointer is its address. Those of the last ones, which lie in constant memory, may be missing: then they
    /// are not known.
    pub params: Vec<u64>,
    /// The place of each of [`Protocol::objects`](crate::protocol::Protocol::objects), if known.
    /// Shared and opaque objects have none.
    pub objects: Vec<Option<Extent>>,
    /// What the kernel may read of its arguments at places that it computes.
    pub computed: ComputedArguments,
    /// What is known of values that the kernel loads from memory.
    pub contents: Vec<Contents>,
}

/// The guard of allocations on the executor, as long as it has addresses to keep them apart. An offset of a 32-bit
/// index stays within: of an unsigned one to elements of up to 16 bytes, of a signed one to elements of up to 32.
pub const GUARD: u64 = 1 << 36;

/// The place of an object in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Extent {
    /// Address that offsets count from: the pointer's value, the variable's address.
    pub base: u64,
    /// First byte and end of the allocation that contains `base` or ends there; `None` if unknown.
    pub allocation: Option<(u64, u64)>,
    /// Bytes before the allocation, and as many behind it, in which an access ends the launch.
    pub guard: u64,
}
