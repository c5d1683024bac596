//! What is kept of each launch, for the races in it.

use std::sync::Arc;

use gpurace_abi::LaunchShape;
use gpurace_check::Clusters;

use crate::backend::module::Kernel;
use crate::host::stack::{CallSite, LaunchStack};
use crate::program::named_regions::NamedRegionId;
use crate::program::python_stacks::PythonStackId;

/// The record that is kept of a launch.
#[derive(Clone)]
pub struct LaunchRecord {
    /// Its number among the launches of the process, from 1.
    pub id: u64,
    /// Its number among the operations of the process.
    pub operation: u64,
    /// Its kernel.
    pub kernel: &'static Kernel,
    /// Its shape.
    pub shape: LaunchShape,
    /// The stream, as [`crate::order::StreamId`] numbers them.
    pub stream: u64,
    /// Where the program launched it.
    pub call_site: CallSite,
    /// The named region in which the program launched it.
    pub region: NamedRegionId,
    /// The calls that led there. Zeros if the launch is not checked.
    pub stack: LaunchStack,
    /// The Python frames among them.
    pub python: PythonStackId,
    /// Its arguments as the kernel reads them. Empty if the launch is not checked.
    pub args: Arc<[u128]>,
}

impl LaunchRecord {
    /// True if both blocks are known and belong to one cluster.
    pub fn is_one_cluster(&self, a: Option<u64>, b: Option<u64>) -> bool {
        let (Some(a), Some(b), Some(blocks)) = (a, b, self.shape.cluster) else { return false };
        let clusters = Clusters { grid: self.shape.grid, blocks, end_of_block: 0 };
        clusters.first_of(a) == clusters.first_of(b)
    }
}
