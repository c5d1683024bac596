//! One concrete launch, as the prover sees it.

use serde::{Deserialize, Serialize};

/// Dimensions, arguments and memory of one launch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Launch {
    /// `gridDim`.
    pub grid: [u32; 3],
    /// `blockDim`.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// Value of each of [`Protocol::params`](crate::protocol::Protocol::params),
    /// zero-extended; of a pointer, its address.
    pub params: Vec<u64>,
    /// For each of [`Protocol::objects`](crate::protocol::Protocol::objects):
    /// where it lies, as far as known. Shared and opaque objects have none.
    pub objects: Vec<Option<Extent>>,
}

/// Where an object lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Extent {
    /// Address that offsets count from: the pointer's value, the variable's address.
    pub base: u64,
    /// First byte and end of the allocation that `base` points into, or just
    /// past; `None` where no such allocation is known.
    pub allocation: Option<(u64, u64)>,
}
