//! A block that is resident on a worker.
//!
//! A [`Block`] is reached through raw pointers only: from the scheduler and, while a fiber runs,
//! from the entry points that the fiber calls. The two alternate on one OS thread, and neither
//! keeps a reference over a switch.
//!
//! | module | what it knows |
//! |---|---|
//! | `lane` | one thread: its context, its fiber, what it waits for |
//! | `warps` | masks of lanes by state; the collectives that lanes wait in |
//! | `memory` | stacks, shared memory, the block frame |
//! | `order` | the order of a loop over threads |

mod lane;
mod memory;
mod order;
mod warps;

use std::ffi::c_void;
use std::io;
use std::ptr;
use std::sync::atomic::Ordering;

use gpurace_abi::context::{ThreadCtx, WARP_SIZE};
use gpurace_check::Block as BlockChecks;

pub(crate) use lane::{Lane, LaneFault, LaneState, LastAccess};
pub(crate) use memory::{BlockFrame, BlockMemory};
pub(crate) use order::ThreadOrder;
pub(crate) use warps::Warps;

use crate::barrier::Barriers;
use crate::collective::Collective;
use crate::fault::{Divergence, DivergenceReason, WaitKind};
use crate::fiber::{Body, Fiber, JumpFiber, JumpHandle};
use crate::launch::{Choice, LaunchState};
use crate::rng::Rng;
use crate::signal::Running;
use crate::slot;
use crate::stack::Slab;

/// Calls of `__gpurace_yield` between two switches.
pub(crate) const YIELD_PERIOD: usize = 32;

/// A block's place in its cluster.
#[derive(Clone, Copy)]
pub(crate) struct Seat {
    /// The [`Cluster`](crate::cluster::Cluster), or null in a launch without clusters. Opaque here.
    pub(crate) cluster: *mut c_void,
    /// The block's rank in the cluster.
    pub(crate) rank: u32,
}

/// The threads of a block that is bound to a launch.
struct Threads {
    /// The lanes, or one lane in a loop over threads. While fibers exist, they are reached through
    /// `first` alone.
    lanes: Vec<Lane>,
    first: *mut Lane,
    /// Number of threads.
    count: u32,
    /// Number of threads that have not exited.
    live: u32,
}

/// A block that is resident on a worker. See the module.
pub(crate) struct Block {
    pub(crate) launch: *const LaunchState,
    pub(crate) running: *const Running,
    pub(crate) seat: Seat,
    pub(crate) memory: BlockMemory,
    pub(crate) frame: BlockFrame,
    pub(crate) warps: Warps,
    pub(crate) barriers: Barriers,
    pub(crate) checks: Option<BlockChecks>,
    pub(crate) rng: Option<Rng>,
    pub(crate) order: ThreadOrder,
    /// True if a thread changed its private state, started or exited in this round.
    pub(crate) moved: bool,
    /// Number of turns that its threads have had.
    pub(crate) turns: u64,
    pub(crate) fault: Option<LaneFault>,
    /// Synchronisation instructions already reported for a caller outside its mask.
    pub(crate) outside_mask: Vec<u32>,
    threads: Threads,
    /// Linear block index in the grid.
    index: u64,
    ctaid: [u32; 3],
    /// With a block entry, the index after the last block of the chunk.
    chunk_end: u64,
}

/// Where a debugger finds fields of a block.
pub(crate) mod offsets {
    use std::mem::offset_of;

    /// The pointer to the first lane.
    pub(crate) const LANES: usize = offset_of!(super::Block, threads.first);
    /// The number of threads.
    pub(crate) const THREADS: usize = offset_of!(super::Block, threads.count);
}

impl Block {
    /// A block that is bound to no launch, with the memory of this slab.
    pub(crate) fn new(slab: Slab) -> Box<Self> {
        Box::new(Self {
            launch: ptr::null(),
            running: ptr::null(),
            seat: Seat { cluster: ptr::null_mut(), rank: 0 },
            memory: BlockMemory::new(slab),
            frame: BlockFrame::default(),
            warps: Warps::default(),
            barriers: Barriers::default(),
            checks: None,
            rng: None,
            order: ThreadOrder::new(1, Choice::FIRST, None),
            moved: false,
            turns: 0,
            fault: None,
            outside_mask: Vec::new(),
            threads: Threads { lanes: Vec::new(), first: ptr::null_mut(), count: 0, live: 0 },
            index: 0,
            ctaid: [0; 3],
            chunk_end: 0,
        })
    }

    /// Prepares for a launch: everything that is equal for all of its blocks.
    ///
    /// # Safety
    /// `this` is live and runs no block; `launch` outlives the blocks that are started in it; the
    /// slab serves the launch. `running` is that of the worker that runs the blocks, and outlives them.
    pub(crate) unsafe fn bind(this: *mut Self, launch: *const LaunchState, running: *const Running) {
        // SAFETY: nothing else refers to an idle block; `launch` is live.
        let (b, l) = unsafe { (&mut *this, &*launch) };
        b.launch = launch;
        b.running = running;
        b.seat.cluster = ptr::null_mut();
        b.outside_mask.clear();
        if let Some(entry) = l.block_entry {
            b.frame.resize(entry.frame_bytes, l.threads, l.checks.is_some());
        }
        let lanes = if l.suspends { l.threads } else { 1 };
        b.threads.count = l.threads;
        b.threads.lanes.clear();
        b.threads.lanes.extend((0..lanes).map(|t| Lane {
            ctx: ThreadCtx {
                tid: l.shape.thread_index(t),
                ctaid: [0; 3],
                ntid: l.shape.block,
                nctaid: l.shape.grid,
                linear_tid: t,
                lane: t % WARP_SIZE,
                warp: t / WARP_SIZE,
                dynamic_shared_bytes: l.shape.dynamic_shared,
                shared_base: ptr::null_mut(),
                dynamic_shared: ptr::null_mut(),
                launch_id: l.id,
                grid_workspace: l.workspace(),
                block: this.cast(),
                executor: [ptr::null_mut(); 4],
            },
            handle: JumpHandle::NONE,
            fiber: None,
            stack: None,
            state: LaneState::Exited,
            sync: 0,
            site: None,
            result: 0,
            digests: [0; 4],
            asked_from: 0,
            ignoring: 0,
            in_atomic: 0,
            slowness: 0,
        }));
        b.threads.first = b.threads.lanes.as_mut_ptr();
        b.warps.resize(l.threads);
    }

    /// Gives the block a place in a cluster, and its shared memory elsewhere than in its slab.
    ///
    /// # Safety
    /// As [`Block::bind`], which came before; the memory is the block's until it ends.
    pub(crate) unsafe fn join_cluster(this: *mut Self, seat: Seat, shared: usize) {
        // SAFETY: nothing else refers to an idle block; the launch is live.
        let (b, l) = unsafe { (&mut *this, &*(*this).launch) };
        b.seat = seat;
        b.set_shared(l, shared);
    }

    /// Says where the block's shared memory is.
    fn set_shared(&mut self, launch: &LaunchState, start: usize) {
        self.memory.set_shared(start, launch.shared_bytes());
        for lane in &mut self.threads.lanes {
            lane.ctx.shared_base = ptr::with_exposed_provenance_mut(start);
            lane.ctx.dynamic_shared = ptr::with_exposed_provenance_mut(start + launch.dynamic_offset());
        }
    }

    /// Places the shared memory of block `index` in the slab. That of a cluster's block lies elsewhere.
    fn place_shared(&mut self, launch: &LaunchState, index: u64) {
        if self.seat.cluster.is_null() {
            let room = self.memory.slab().shared();
            self.set_shared(launch, room.place(launch.shared_bytes(), launch.shared_alignment, index));
        }
    }

    /// Starts block `index` of the bound launch; its threads have not started.
    ///
    /// # Safety
    /// As [`Block::bind`], which came before.
    pub(crate) unsafe fn start(this: *mut Self, index: u64) {
        // SAFETY: nothing else refers to an idle block; the launch is live.
        let (b, l) = unsafe { (&mut *this, &*(*this).launch) };
        b.index = index;
        b.chunk_end = (index + l.chunk).min(l.blocks);
        b.ctaid = l.shape.block_index(index);
        b.rng = (l.choice == Choice::Drawn).then(|| Rng::new(l.seed, index));
        b.moved = false;
        b.fault = None;
        b.threads.live = b.threads.count;
        b.order = ThreadOrder::new(b.threads.count, l.choice, b.rng.as_mut());
        b.barriers.reset();
        b.place_shared(l, index);
        // SAFETY: no thread runs.
        unsafe {
            b.memory.clear_shared();
            b.memory.slab_mut().take_back_all();
        }
        b.begin_checks(l);
        let checks = b.checks.as_mut().map_or(ptr::null_mut(), ptr::from_mut);
        b.warps.start(b.threads.count);
        let countdown = if l.suspends { YIELD_PERIOD } else { usize::MAX };
        let (local, local_bytes) = b.memory.local();
        for lane in &mut b.threads.lanes {
            lane.ctx.ctaid = b.ctaid;
            lane.ctx.executor[slot::COUNTDOWN] = ptr::without_provenance_mut(countdown);
            lane.ctx.executor[slot::CHECKS] = checks.cast();
            lane.ctx.executor[slot::LOCAL_START] = ptr::without_provenance_mut(local);
            lane.ctx.executor[slot::LOCAL_BYTES] = ptr::without_provenance_mut(local_bytes);
            lane.stack = None;
            lane.state = LaneState::Fresh;
            lane.site = None;
            lane.digests = [0; 4];
            lane.ignoring = 0;
            lane.in_atomic = 0;
            lane.slowness = b.rng.as_mut().map_or(0, |rng| 1 + rng.below(3));
        }
    }

    /// Begins the checks of the block, if it is checked.
    fn begin_checks(&mut self, launch: &LaunchState) {
        let wanted = launch.checked_blocks.as_ref().is_none_or(|wanted| wanted(self.index));
        match &launch.checks {
            Some(checks) if wanted => {
                let (start, bytes) = self.memory.shared();
                let shared = start..start + bytes;
                match &mut self.checks {
                    Some(c) => c.restart(checks, self.index, shared),
                    None => self.checks = Some(BlockChecks::begin(checks, self.index, shared)),
                }
            }
            Some(_) | None => self.end_checks(),
        }
    }

    /// Ends the checks of the last block that ran here.
    fn end_checks(&mut self) {
        if let Some(checks) = self.checks.take() {
            checks.end();
        }
    }

    /// Goes on to the next block of the chunk. Returns false if there is none. Block entries see
    /// nothing else of a block than what changes here.
    ///
    /// # Safety
    /// As [`Block::start`], which came before; the launch has a block entry.
    pub(crate) unsafe fn go_on(this: *mut Self) -> bool {
        // SAFETY: the caller's; the block's one fiber calls.
        unsafe {
            let l = &*(*this).launch;
            if (*this).index + 1 >= (*this).chunk_end || l.abort.load(Ordering::Relaxed) {
                return false;
            }
            (*this).index += 1;
            (*this).ctaid = l.shape.block_index((*this).index);
            (*Self::lane(this, 0)).ctx.ctaid = (*this).ctaid;
            (*this).place_shared(l, (*this).index);
            (*this).memory.clear_shared();
            true
        }
    }

    /// The lane of this linear thread index; in a loop over threads the only one.
    ///
    /// # Safety
    /// `this` is live and bound, and the index below its number of lanes.
    pub(crate) unsafe fn lane(this: *mut Self, linear: usize) -> *mut Lane {
        // SAFETY: the caller's; the lanes' memory is borrowed by nobody.
        unsafe { (*this).threads.first.add(linear) }
    }

    /// Number of threads.
    #[inline]
    pub(crate) fn threads(&self) -> u32 {
        self.threads.count
    }

    /// Number of turns of its threads and of its checks so far.
    #[inline]
    pub(crate) fn steps(&self) -> u64 {
        self.turns + self.checks.as_ref().map_or(0, BlockChecks::checks)
    }

    /// Number of threads that have not exited.
    #[inline]
    pub(crate) fn live(&self) -> u32 {
        self.threads.live
    }

    /// `blockIdx`.
    pub(crate) fn ctaid(&self) -> [u32; 3] {
        self.ctaid
    }

    /// Gives a lane a fresh fiber.
    ///
    /// # Errors
    /// If the system has no memory for its stack.
    ///
    /// # Safety
    /// `this` is live and `lane` is one of its lanes, whose last fiber, if any, has ended. `body` expects the lane.
    pub(crate) unsafe fn start_fiber(
        this: *mut Self,
        lane: *mut Lane,
        body: Body<JumpHandle>,
    ) -> io::Result<()> {
        // SAFETY: the caller's; the stack is this lane's alone.
        unsafe {
            let stack = match (*lane).stack {
                Some(stack) => stack,
                None => (*this).memory.slab_mut().hand_out()?,
            };
            (*lane).stack = Some(stack);
            (*lane).fiber = Some(JumpFiber::new(stack, body, lane.cast()));
        }
        Ok(())
    }

    /// Notes that a lane has exited, and takes its stack back.
    ///
    /// # Safety
    /// `this` is live and none of its fibers runs. The lane's fiber has ended.
    pub(crate) unsafe fn retire(this: *mut Self, w: usize, lane: u32) {
        // SAFETY: the caller's.
        unsafe {
            let stack = (*Self::lane(this, w * WARP_SIZE as usize + lane as usize)).stack.take();
            let b = &mut *this;
            if let Some(stack) = stack {
                b.memory.slab_mut().take_back(stack);
            }
            b.moved = true;
            b.threads.live -= 1;
            b.warps.retire(w, lane);
        }
    }

    /// Notes that all threads have exited: they ran as a loop.
    pub(crate) fn finish(&mut self) {
        self.threads.live = 0;
    }

    /// Drops the fibers of a block that will not go on.
    ///
    /// # Safety
    /// `this` is live; none of its fibers runs.
    pub(crate) unsafe fn abandon(this: *mut Self) {
        // SAFETY: no fiber runs, so nothing else refers to the block.
        let b = unsafe { &mut *this };
        for lane in &mut b.threads.lanes {
            lane.fiber = None;
            lane.state = LaneState::Exited;
        }
        b.threads.live = 0;
        b.warps.abandon();
    }

    /// Ends the block's checks and its tie to the launch.
    ///
    /// # Safety
    /// `this` is live; none of its fibers runs.
    pub(crate) unsafe fn unbind(this: *mut Self) {
        // SAFETY: no fiber runs, so nothing else refers to the block.
        let b = unsafe { &mut *this };
        b.end_checks();
        b.launch = ptr::null();
        b.running = ptr::null();
    }

    /// The first thread that gives way in a loop: its block, its index, and the site of its last
    /// checked atomic access. None of the block's fibers runs.
    pub(crate) fn first_waiting(&self) -> Option<([u32; 3], [u32; 3], Option<u32>)> {
        self.threads
            .lanes
            .iter()
            .find(|lane| matches!(lane.state, LaneState::Yielded | LaneState::Ready))
            .map(|lane| (self.ctaid, lane.ctx.tid, lane.site))
    }

    /// The divergence of a block none of whose threads can go on.
    ///
    /// # Safety
    /// `this` is live; none of its fibers runs.
    pub(crate) unsafe fn divergence(this: *const Self) -> Divergence {
        // SAFETY: no fiber runs, so nothing changes the block.
        let b = unsafe { &*this };
        let mut divergence = Divergence::of_block(b.ctaid, DivergenceReason::Stuck);
        for lane in &b.threads.lanes {
            let kind = match lane.state {
                LaneState::AtBarrier(id) => WaitKind::Barrier(id),
                LaneState::AtCluster => WaitKind::Cluster,
                LaneState::InCollective(Collective::Sync, mask) => WaitKind::SyncWarp(mask),
                LaneState::InCollective(_, mask) => WaitKind::Collective(mask),
                LaneState::Exited => {
                    divergence.add_exited(lane.ctx.tid);
                    continue;
                }
                LaneState::Fresh
                | LaneState::Ready
                | LaneState::Yielded
                | LaneState::Asking
                | LaneState::Faulted => continue,
            };
            divergence.add_waiting(lane.sync, kind, lane.ctx.tid);
        }
        divergence
    }
}
