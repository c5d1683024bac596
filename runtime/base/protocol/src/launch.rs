//! One concrete launch, with the parts that the prover needs.

pub use gpurace_abi::LaunchShape;
use serde::{Deserialize, Serialize};

/// Shape, arguments and memory of one launch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Launch {
    /// The shape. It has no cluster: no proof depends on clusters.
    pub shape: LaunchShape,
    /// The value of each of [`Protocol::params`](crate::protocol::Protocol::params), zero-extended. The value
    /// of a pointer is its address.
    pub params: Vec<u64>,
    /// The place of each of [`Protocol::objects`](crate::protocol::Protocol::objects), if known.
    /// Shared and opaque objects have none.
    pub objects: Vec<Option<Extent>>,
}

/// The place of an object in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Extent {
    /// Address that offsets count from: the pointer's value, the variable's address.
    pub base: u64,
    /// First byte and end of the allocation that contains `base` or ends there; `None` if unknown.
    pub allocation: Option<(u64, u64)>,
}
