//! The blocks of a cluster: their barrier, and the shared memory that they reach.

use std::ops::Range;

use gpurace_abi::scope::Order;

use super::Block;
use crate::batch::Value;
use crate::model::access::{Access, FULL, GRANULE, Op, Touch};
use crate::order::cluster::{ClusterBarrier, Clusters};
use crate::run::launch::Launch;

impl Launch {
    /// Begins a cluster. `shared`: the shared memory of each of its blocks.
    pub fn begin_cluster(&self, shared: &[Range<usize>]) {
        for range in shared {
            self.inner.forget(range);
        }
    }
}

impl Block {
    /// Sets the shared memory of all blocks of the cluster. To be called before a thread of the
    /// cluster runs.
    pub fn join_cluster(&mut self, shared: &[Range<usize>]) {
        self.memory.cluster.clear();
        self.memory.cluster.extend_from_slice(shared);
    }

    /// Lets a thread arrive at the barrier of the cluster (`barrier.cluster.arrive`).
    pub fn cluster_arrive(&mut self, thread: u32, order: Order, barrier: &mut ClusterBarrier) {
        let released = self.view.order.cluster_arrive(thread, order);
        barrier.arrived.join(&released);
    }

    /// Lets a thread learn that a phase of the barrier is over: it has waited
    /// (`barrier.cluster.wait`).
    pub fn cluster_wait(&mut self, thread: u32, barrier: &ClusterBarrier) {
        self.view.order.cluster_wait(thread, &barrier.over);
    }

    /// Ends the shared memory of the block with its last thread. Other blocks of the cluster may
    /// access that memory only while the block exists (CUDA C++ Programming Guide, "Distributed
    /// Shared Memory"). So its end conflicts with all their accesses, like a write. It happens after
    /// all that any thread of the block has learnt, since the block lasts as long as its threads.
    pub fn shared_memory_ends(&mut self, thread: u32, shared: Range<usize>) {
        let Some(Clusters { end_of_block: site, .. }) = self.launch.order.clusters else { return };
        self.barrier();
        self.sightings.next_access();
        let touch = Touch { op: Op::Write, mask: FULL };
        let number = self.launch.order.data.sites.number(site);
        let size = shared.len() as u64;
        for word in shared.step_by(GRANULE) {
            self.before_write(word);
            let Some(w) = self.open(word, false) else { continue };
            let access =
                Access { thread, touch, site, number, word, address: word, size, shared: false, copy: None };
            self.check_access(&access, w, Value::Unknown);
        }
    }
}
