//! Clusters of blocks: which blocks one has, and their barrier.
//!
//! Threads of a cluster reach the shared memory of all its blocks. In a launch
//! with clusters the checker therefore takes shared memory for what it takes
//! global memory for, and forgets, as a cluster begins, what an earlier one has left
//! there. One record per word cannot say "these blocks of one cluster", so such launches
//! are exact ([`crate::order::Mode::Exact`]): who is ordered after whom is known
//! by vector clocks, thread by thread.

use std::ops::Range;

use gpurace_abi::scope::Order;

use crate::block::{Access, Block, Value};
use crate::launch::Launch;
use crate::vector::Clocks;
use crate::word::{FULL, GRANULE, Op, Touch};

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
    arrived: Clocks,
    over: Clocks,
}

impl ClusterBarrier {
    /// All threads have arrived: who waits for this phase is ordered after them. The
    /// next phase cannot be over before the last of them has waited.
    pub fn complete(&mut self) {
        self.over = std::mem::take(&mut self.arrived);
    }
}

impl Launch {
    /// A cluster begins whose blocks have these places for their shared memory.
    pub fn begin_cluster(&self, shared: &[Range<usize>]) {
        for range in shared {
            self.inner.forget(range.start, range.len());
        }
    }
}

impl Block {
    /// Where the blocks of this block's cluster have their shared memory, its own among
    /// them. To be told before a thread of the cluster runs.
    pub fn join_cluster(&mut self, shared: &[Range<usize>]) {
        self.state.peers.clear();
        self.state.peers.extend_from_slice(shared);
    }

    /// A thread arrives at the barrier of the cluster (`barrier.cluster.arrive`).
    pub fn cluster_arrive(&mut self, thread: u32, order: Order, barrier: &mut ClusterBarrier) {
        let released = self.state.order.cluster_arrive(thread, order);
        barrier.arrived.join(&released);
    }

    /// A thread has waited for a phase that is over (`barrier.cluster.wait`).
    pub fn cluster_wait(&mut self, thread: u32, barrier: &ClusterBarrier) {
        self.state.order.cluster_wait(thread, &barrier.over);
    }

    /// The last thread of the block has ended, and with the block its shared memory. Other blocks of
    /// the cluster may access that only while the block is there (CUDA C++ Programming Guide,
    /// "Distributed Shared Memory"), so its end conflicts with all that they
    /// do, as a write does that nobody is ordered after. Before it is
    /// what any of its threads has learnt: the block lasts as long as each of them.
    pub fn shared_memory_ends(&mut self, thread: u32, shared: Range<usize>) {
        let Some(Clusters { end_of_block: site, .. }) = self.state.launch.clusters else { return };
        self.barrier();
        self.state.sightings.next_access();
        let touch = Touch { op: Op::Write, mask: FULL };
        let size = shared.len() as u64;
        for word in shared.step_by(GRANULE) {
            let Some(place) = self.inner.shadow.place(word) else { continue };
            self.state.before_write(&self.inner, place, word);
            let w = self.state.opened_word(&self.inner, place, false);
            let access =
                Access { thread, touch, site, word, address: word, size, value: Value::Unknown, copy: None };
            self.state.word(&self.inner, place.word, w, &access);
        }
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
