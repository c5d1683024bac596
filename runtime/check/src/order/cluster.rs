//! Clusters: which blocks belong to one, and its barrier.
//!
//! Threads of a cluster reach the shared memory of all its blocks. So in a launch with clusters the
//! checker treats shared memory as it treats global memory. When a cluster begins, the checker
//! forgets what an earlier one has left there. No record of 64 bits can say "these blocks of one
//! cluster", so such launches are exact ([`crate::order::block_order::Mode::Exact`]): vector clocks
//! order their threads one by one.

use crate::order::vector::Clocks;

/// How the blocks of a launch are divided into clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clusters {
    /// Blocks of the grid, a multiple of `blocks` in each dimension.
    pub grid: [u32; 3],
    /// Blocks of a cluster.
    pub blocks: [u32; 3],
    /// The site of the end of a block: an index that no instruction of the module has.
    pub end_of_block: u32,
}

impl Clusters {
    /// The first block of a block's cluster. Both are linear indices.
    pub fn first_of(&self, block: u64) -> u64 {
        let [x, y, _] = self.grid.map(u64::from);
        let at = [block % x, block / x % y, block / (x * y)];
        let [a, b, c] = [0, 1, 2].map(|i| at[i] - at[i] % u64::from(self.blocks[i]));
        a + x * (b + y * c)
    }
}

/// The barrier of a cluster.
#[derive(Clone, Debug, Default)]
pub struct ClusterBarrier {
    /// What threads have released by arriving in this phase.
    pub(crate) arrived: Clocks,
    /// What threads acquire by waiting for the phase that is over.
    pub(crate) over: Clocks,
}

impl ClusterBarrier {
    /// Ends a phase: all threads have arrived, and whoever waits for it is ordered after them. The
    /// next phase cannot end before all of them have waited.
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
