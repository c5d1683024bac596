//! The shape of a launch: how many blocks and threads it has, and how they are grouped.

#[cfg(feature = "meta")]
use serde::{Deserialize, Serialize};

use crate::context::WARP_SIZE;

/// The shape of a launch. Each triple is `[x, y, z]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "meta", derive(Serialize, Deserialize))]
pub struct LaunchShape {
    /// Blocks of the grid (`gridDim`).
    pub grid: [u32; 3],
    /// Threads of a block (`blockDim`).
    pub block: [u32; 3],
    /// Blocks of a cluster, if the launch or the kernel asks for clusters.
    pub cluster: Option<[u32; 3]>,
    /// Dynamic shared memory of a block, bytes.
    pub dynamic_shared: u32,
}

impl LaunchShape {
    /// True if each warp has 32 lanes in one row of its block, and all indices of threads in x are below
    /// 2^31.
    pub fn has_whole_warps(&self) -> bool {
        self.block[0].is_multiple_of(WARP_SIZE)
            && u64::from(self.grid[0]) * u64::from(self.block[0]) <= 1 << 31
    }

    /// Returns a shape of one dimension, without clusters and dynamic shared memory.
    pub const fn flat(blocks: u32, threads: u32) -> Self {
        Self { grid: [blocks, 1, 1], block: [threads, 1, 1], cluster: None, dynamic_shared: 0 }
    }

    /// Number of blocks in the grid.
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|&n| u64::from(n)).product()
    }

    /// Number of threads in a block.
    pub fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    /// Index (`blockIdx`) of the block with this linear index.
    pub fn block_index(&self, linear: u64) -> [u32; 3] {
        unflatten(linear, self.grid)
    }

    /// Index (`threadIdx`) of the thread with this linear index in its block.
    pub fn thread_index(&self, linear: u32) -> [u32; 3] {
        unflatten(linear.into(), self.block)
    }

    /// Blocks of a cluster as the device code sees them. A cluster of one block counts only for a
    /// kernel that can tell (`can_tell`), and such a kernel always has clusters.
    pub fn clusters(&self, can_tell: bool) -> Option<[u32; 3]> {
        self.cluster.filter(|&blocks| blocks != [1; 3]).or(can_tell.then_some([1; 3]))
    }
}

/// Returns `linear` as an index of three dimensions, x fastest.
fn unflatten(linear: u64, [x, y, _]: [u32; 3]) -> [u32; 3] {
    let (x, y) = (u64::from(x), u64::from(y));
    [(linear % x) as u32, (linear / x % y) as u32, (linear / (x * y)) as u32]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_indices_count_x_first() {
        let shape = LaunchShape { grid: [2, 3, 4], block: [32, 2, 1], ..LaunchShape::default() };
        assert_eq!((shape.blocks(), shape.threads()), (24, 64));
        assert_eq!(
            [0, 1, 2, 6].map(|at| shape.block_index(at)),
            [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
        );
        assert_eq!(shape.thread_index(33), [1, 1, 0]);
    }

    #[test]
    fn clusters_of_one_block_count_for_kernels_that_can_tell() {
        let shape = |cluster| LaunchShape { cluster, ..LaunchShape::default() };
        assert_eq!(shape(None).clusters(false), None);
        assert_eq!(shape(None).clusters(true), Some([1; 3]));
        assert_eq!(shape(Some([1; 3])).clusters(false), None);
        assert_eq!(shape(Some([2, 1, 1])).clusters(true), Some([2, 1, 1]));
    }
}
