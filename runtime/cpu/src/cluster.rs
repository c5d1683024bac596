//! A cluster of blocks: their shared memory in one mapping, and their barrier.
//!
//! ```text
//! | guard | shared memory of rank 0 | guard | of rank 1 | guard | ...
//! ```
//!
//! All blocks of a cluster are resident on one worker from the start of the first thread to the end
//! of the last one. An address in another block's shared memory is a plain address. Its distance
//! from the own block's shared memory fits 32 bits: it is the integer value of a `shared::cluster`
//! address.

use std::io;
use std::ops::Range;
use std::ptr;

use gpurace_abi::LaunchShape;
use gpurace_abi::context::{ClusterRegister, ThreadCtx};
use gpurace_abi::scope::Order;
use gpurace_check::ClusterBarrier;

use crate::block::{Block, LaneState, Seat};
use crate::collective::lanes;
use crate::fault::FaultKind;
use crate::launch::LaunchState;
use crate::shared::SharedRoom;
use crate::stack::{GUARD, PAGE};
use crate::thread::{block_of, fail, lane_of, suspend};

/// See the module.
#[derive(Debug)]
pub(crate) struct Cluster {
    base: *mut u8,
    len: usize,
    /// Bytes from one block's shared memory to the next one's.
    stride: usize,
    /// Size of a block's shared memory in bytes.
    bytes: usize,
    /// Its least alignment.
    alignment: usize,
    /// The room for each block's shared memory, by rank.
    rooms: Vec<SharedRoom>,
    /// Its blocks, by rank.
    blocks: Vec<*mut Block>,
    /// Number of blocks that have ended.
    ended: usize,
    id: [u32; 3],
    /// Number of threads that have not exited.
    live: u32,
    /// Number of live threads that have arrived in this phase.
    arrived: u32,
    phase: u32,
    /// By rank and thread: the phase of an arrival that the thread has not waited for.
    arrivals: Vec<Option<u32>>,
    /// By rank and warp: the lanes that wait.
    waiting: Vec<u32>,
    barrier: ClusterBarrier,
}

/// Messages for wrong uses of the barrier.
const TWICE: &str = "`barrier.cluster.arrive` of a thread that has not waited since its last one";
const NEVER: &str = "`barrier.cluster.wait` of a thread that has not arrived";

impl Cluster {
    /// Memory for a cluster of `blocks` blocks with `bytes` of shared memory each, so aligned.
    ///
    /// # Errors
    /// Where the system has no such mapping left.
    pub(crate) fn new(blocks: usize, bytes: usize, alignment: usize) -> io::Result<Box<Self>> {
        let room = bytes.next_multiple_of(PAGE).max(PAGE);
        let stride = room + GUARD;
        let len = GUARD + blocks * stride;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a fresh anonymous mapping; nothing is overlaid.
        let base = unsafe { libc::mmap(ptr::null_mut(), len, libc::PROT_NONE, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let rooms = (0..blocks).map(|rank| SharedRoom::new(base as usize + GUARD + rank * stride, room));
        let mut cluster = Box::new(Self {
            base: base.cast(),
            len,
            stride,
            bytes,
            alignment,
            rooms: rooms.collect(),
            blocks: Vec::new(),
            ended: 0,
            id: [0; 3],
            live: 0,
            arrived: 0,
            phase: 0,
            arrivals: Vec::new(),
            waiting: Vec::new(),
            barrier: ClusterBarrier::default(),
        });
        for room in &mut cluster.rooms {
            // SAFETY: the room lies in the mapping, which nobody uses yet.
            unsafe { room.open(bytes)? };
        }
        Ok(cluster)
    }

    /// Addresses of the shared memory of the block of this rank.
    pub(crate) fn shared(&self, rank: usize) -> Range<usize> {
        let start = self.rooms[rank].place(self.bytes, self.alignment, rank as u64);
        start..start + self.bytes
    }

    /// True if all of its blocks have ended.
    pub(crate) fn is_over(&self) -> bool {
        self.ended == self.blocks.len()
    }

    /// Notes that one of its blocks has ended. Returns all of its blocks once the last one has ended.
    pub(crate) fn end_block(&mut self) -> Option<&[*mut Block]> {
        self.ended += 1;
        self.is_over().then_some(&self.blocks)
    }

    /// The rank of the block whose shared memory holds an address.
    fn rank_of(&self, address: usize) -> Option<usize> {
        let distance = address.wrapping_sub(self.base as usize + GUARD);
        let rank = distance / self.stride;
        (rank < self.blocks.len() && self.shared(rank).contains(&address)).then_some(rank)
    }

    /// Starts the cluster with this linear index of a launch, with blocks that are bound to the
    /// launch. None of their threads has started.
    ///
    /// # Safety
    /// `this` and the blocks are live, the blocks idle, and they outlive the cluster's run.
    pub(crate) unsafe fn start(this: *mut Self, launch: &LaunchState, index: u64, blocks: Vec<*mut Block>) {
        // SAFETY: the caller's; nothing else refers to an idle cluster.
        let c = unsafe { &mut *this };
        let size = launch.cluster_size();
        let clusters = [0, 1, 2].map(|i| launch.shape.grid[i] / size[i]);
        c.id = LaunchShape { grid: clusters, ..launch.shape }.block_index(index);
        c.ended = 0;
        c.live = launch.threads * blocks.len() as u32;
        c.arrived = 0;
        c.phase = 0;
        c.arrivals.clear();
        c.arrivals.resize(c.live as usize, None);
        c.waiting.clear();
        c.waiting.resize(blocks.len() * launch.threads.div_ceil(32) as usize, 0);
        c.barrier = ClusterBarrier::default();
        c.blocks = blocks;
        let shared: Vec<_> = (0..c.blocks.len()).map(|rank| c.shared(rank)).collect();
        if let Some(checks) = &launch.checks {
            checks.begin_cluster(&shared);
        }
        for rank in 0..c.blocks.len() {
            let at = LaunchShape { grid: size, ..launch.shape }.block_index(rank as u64);
            let [x, y, z] = [0, 1, 2].map(|i| u64::from(c.id[i] * size[i] + at[i]));
            let [nx, ny, _] = launch.shape.grid.map(u64::from);
            let block = c.blocks[rank];
            // SAFETY: the caller's.
            unsafe {
                let seat = Seat { cluster: this.cast(), rank: rank as u32 };
                Block::join_cluster(block, seat, shared[rank].start);
                Block::start(block, x + nx * (y + ny * z));
                if let Some(checks) = &mut (*block).checks {
                    checks.join_cluster(&shared);
                }
            }
        }
    }

    /// True if a thread of the cluster can go on.
    ///
    /// # Safety
    /// `this` is live and none of its fibers runs.
    pub(crate) unsafe fn can_go_on(this: *const Self) -> bool {
        // SAFETY: the caller's.
        unsafe {
            let blocks = &(*this).blocks;
            blocks.iter().any(|&b| (*b).live() > 0 && (*b).warps.can_go_on())
        }
    }

    /// Index of a thread in `arrivals`.
    fn thread(&self, b: &Block, linear: u32) -> usize {
        (b.seat.rank * b.threads() + linear) as usize
    }

    /// Ends a phase in which all threads have arrived: makes those that wait ready.
    unsafe fn complete(&mut self) {
        self.phase += 1;
        self.arrived = 0;
        self.barrier.complete();
        let warps = self.waiting.len() / self.blocks.len();
        for (i, waiting) in self.waiting.iter_mut().enumerate() {
            let (block, w) = (self.blocks[i / warps], i % warps);
            let mask = std::mem::take(waiting);
            if mask == 0 {
                continue;
            }
            // SAFETY: the blocks are live, and these lanes wait.
            unsafe {
                (*block).warps.wake(w, mask);
                for l in lanes(mask) {
                    (*Block::lane(block, w * 32 + l)).state = LaneState::Ready;
                }
            }
        }
    }

    /// Notes that a thread of a block has exited: the barrier does not wait for it. The block's
    /// shared memory ends with its last thread.
    ///
    /// # Safety
    /// `b` is live, in a cluster, and none of its fibers runs, or the thread's fiber ends here.
    pub(crate) unsafe fn exited(b: *mut Block, linear: u32) {
        // SAFETY: the caller's; the cluster is live while its blocks run.
        unsafe {
            let c = &mut *(*b).seat.cluster.cast::<Self>();
            let at = c.thread(&*b, linear);
            if (*b).live() == 0
                && c.blocks.len() > 1
                && let Some(checks) = &mut (*b).checks
            {
                checks.shared_memory_ends(linear, c.shared((*b).seat.rank as usize));
            }
            c.live -= 1;
            if c.arrivals[at].take() == Some(c.phase) {
                c.arrived -= 1;
            }
            if c.arrived > 0 && c.arrived == c.live {
                c.complete();
            }
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // SAFETY: the mapping is the cluster's own and not used past its life.
        unsafe { libc::munmap(self.base.cast(), self.len) };
    }
}

/// The cluster of a running thread. Ends the launch if it has none.
unsafe fn of(ctx: *mut ThreadCtx, sync: Option<u32>) -> *mut Cluster {
    // SAFETY: the caller's thread runs.
    unsafe {
        let cluster = (*block_of(ctx)).seat.cluster.cast::<Cluster>();
        if cluster.is_null() {
            let what = "an operation on clusters that the kernel's description leaves out";
            fail(ctx, FaultKind::Unsupported(what.into()), what.into(), sync);
        }
        cluster
    }
}

/// `barrier.cluster.arrive`.
///
/// # Safety
/// `ctx` is that of the running device thread.
pub(crate) unsafe fn arrive(ctx: *mut ThreadCtx, order: Order, sync: u32) {
    // SAFETY: the thread runs, so its block and cluster are live; no reference is held
    // over a switch.
    unsafe {
        let b = block_of(ctx);
        let cluster = of(ctx, Some(sync));
        let at = (*cluster).thread(&*b, (*ctx).linear_tid);
        if (&(*cluster).arrivals)[at].is_some() {
            fail(ctx, FaultKind::Barrier, TWICE.into(), Some(sync));
        }
        (*lane_of(ctx)).sync = sync;
        let c = &mut *cluster;
        c.arrivals[at] = Some(c.phase);
        c.arrived += 1;
        if let Some(checks) = &mut (*b).checks {
            checks.cluster_arrive((*ctx).linear_tid, order, &mut c.barrier);
        }
        if c.arrived == c.live {
            c.complete();
        }
    }
}

/// `barrier.cluster.wait`.
///
/// # Safety
/// `ctx` is that of the running device thread.
pub(crate) unsafe fn wait(ctx: *mut ThreadCtx, sync: u32) {
    // SAFETY: as in `arrive`.
    unsafe {
        let (lane, b) = (lane_of(ctx), block_of(ctx));
        let cluster = of(ctx, Some(sync));
        let at = (*cluster).thread(&*b, (*ctx).linear_tid);
        let Some(phase) = (&mut (*cluster).arrivals)[at].take() else {
            fail(ctx, FaultKind::Barrier, NEVER.into(), Some(sync));
        };
        (*lane).sync = sync;
        if phase == (*cluster).phase {
            // It counts as arrived until it goes on.
            (&mut (*cluster).arrivals)[at] = Some(phase);
            let warps = (*b).warps.count();
            let warp = (*b).seat.rank as usize * warps + (*ctx).warp as usize;
            (&mut (*cluster).waiting)[warp] |= 1 << (*ctx).lane;
            (*lane).state = LaneState::AtCluster;
            suspend(lane);
            (&mut (*cluster).arrivals)[at] = None;
        }
        if let Some(checks) = &mut (*b).checks {
            checks.acquire_at_barrier([(*ctx).linear_tid]);
            checks.cluster_wait((*ctx).linear_tid, &(*cluster).barrier);
        }
    }
}

/// A special register of clusters.
///
/// # Safety
/// `ctx` is that of the running device thread.
pub(crate) unsafe fn register(ctx: *mut ThreadCtx, which: u32) -> u32 {
    use ClusterRegister::{Block as OfBlock, Blocks, Count, Explicit, Id, Rank, Ranks};
    // SAFETY: as in `arrive`.
    unsafe {
        let launch = &*(*block_of(ctx)).launch;
        let size = launch.cluster_size();
        let ctaid = (*ctx).ctaid;
        let within = [0, 1, 2].map(|i| ctaid[i] % size[i]);
        let vector =
            |first: ClusterRegister| which.checked_sub(first as u32).filter(|&i| i < 3).map(|i| i as usize);
        if let Some(i) = vector(Id) {
            ctaid[i] / size[i]
        } else if let Some(i) = vector(Count) {
            launch.shape.grid[i] / size[i]
        } else if let Some(i) = vector(OfBlock) {
            within[i]
        } else if let Some(i) = vector(Blocks) {
            size[i]
        } else if which == Rank as u32 {
            within[0] + size[0] * (within[1] + size[1] * within[2])
        } else if which == Ranks as u32 {
            size.iter().product()
        } else {
            u32::from(which == Explicit as u32 && launch.is_explicit_cluster)
        }
    }
}

/// `mapa`: the address in the shared memory of the block of this rank with the same offset as
/// `address` in that of its own block.
///
/// # Safety
/// `ctx` is that of the running device thread.
pub(crate) unsafe fn map(ctx: *mut ThreadCtx, address: usize, rank: u32) -> usize {
    // SAFETY: as in `arrive`.
    unsafe {
        let cluster = &*of(ctx, None);
        let blocks = cluster.blocks.len();
        if rank as usize >= blocks {
            let message = format!("rank `{rank}` of a block in a cluster of {blocks}");
            fail(ctx, FaultKind::IllegalAddress { address: None, write: false }, message, None);
        }
        match cluster.rank_of(address) {
            Some(own) => address - cluster.shared(own).start + cluster.shared(rank as usize).start,
            None => {
                let message = format!(
                    "address `{address:#x}`, which is not in shared memory of the cluster, mapped to another block's"
                );
                let kind = FaultKind::IllegalAddress { address: Some(address as u64), write: false };
                fail(ctx, kind, message, None)
            }
        }
    }
}

/// `getctarank`: the rank of the block whose shared memory holds an address.
///
/// # Safety
/// `ctx` is that of the running device thread.
pub(crate) unsafe fn rank(ctx: *mut ThreadCtx, address: usize) -> Option<u32> {
    // SAFETY: as in `arrive`.
    unsafe {
        let b = block_of(ctx);
        match (*b).seat.cluster.cast::<Cluster>().as_ref() {
            Some(cluster) => cluster.rank_of(address).map(|rank| rank as u32),
            // Without clusters each block is a cluster by itself.
            None => {
                let (start, bytes) = (*b).memory.shared();
                (address.wrapping_sub(start) < bytes).then_some(0)
            }
        }
    }
}
