//! Clusters of blocks: which blocks one has, and their barrier.
//!
//! Threads of a cluster reach the shared memory of all its blocks. In a launch
//! with clusters the checker therefore takes shared memory for what it takes
//! global memory for, and forgets, as a cluster begins, what an earlier one has left
//! there. One record per word cannot say "these blocks of one cluster", so such launches
//! are exact ([`crate::order::block_order::Mode::Exact`]): who is ordered after whom is known
//! by vector clocks, thread by thread.

use crate::order::vector::Clocks;

/// How the blocks of a launch are divided into clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clusters {
    /// Blocks of the grid, a multiple of `blocks` in each dimension.
    pub grid: [u32; 3],
    /// Blocks of a cluster.
    pub blocks: [u32; 3],
    /// The module's index of a site that none of its instructions has: the end of a block.
    pub end_of_block: u32,
}

impl Clusters {
    /// The linear index of the first block of the cluster that has the block with this one.
    pub fn first_of(&self, block: u64) -> u64 {
        let [x, y, _] = self.grid.map(u64::from);
        let at = [block % x, block / x % y, block / (x * y)];
        let [a, b, c] = [0, 1, 2].map(|i| at[i] - at[i] % u64::from(self.blocks[i]));
        a + x * (b + y * c)
    }
}

/// The barrier of a cluster: what threads release as they arrive, and what the
/// others acquire as they wait.
#[derive(Clone, Debug, Default)]
pub struct ClusterBarrier {
    pub(crate) arrived: Clocks,
    pub(crate) over: Clocks,
}

impl ClusterBarrier {
    /// All threads have arrived: who waits for this phase is ordered after them. The
    /// next phase cannot be over before the last of them has waited.
    pub fn complete(&mut self) {
        self.over = std::mem::take(&mut self.arrived);
    }
}

#[cfg(test)]
mod tests {
    use super::Clusters;

    #[test]
    fn blocks_of_one_cluster_have_one_first_block() {
        let of = |grid, blocks| Clusters { grid, blocks, end_of_block: 0 };
        let line = of([8, 1, 1], [4, 1, 1]);
        assert_eq!([0, 3, 4, 7].map(|b| line.first_of(b)), [0, 0, 4, 4]);
        // 4 by 4 by 2 blocks, clusters of 2 by 2 by 1.
        let box_ = of([4, 4, 2], [2, 2, 1]);
        assert_eq!([0, 1, 4, 5].map(|b| box_.first_of(b)), [0; 4]);
        assert_eq!([2, 3, 6, 7].map(|b| box_.first_of(b)), [2; 4]);
        assert_eq!([8, 13, 16, 21, 31].map(|b| box_.first_of(b)), [8, 8, 16, 16, 26]);
    }
}
