//! A block that is resident on a worker: its threads, what they wait for, and
//! what becomes of the block when one of them exits.
//!
//! A [`Block`] is reached through raw pointers only, from the scheduler and,
//! while a fiber runs, from the entry points that the fiber calls: the two
//! alternate on one OS thread, and neither keeps a reference over a switch.

use std::ptr;
use std::sync::atomic::Ordering;

use gpurace_abi::context::{ThreadCtx, WARP_SIZE};
use gpurace_abi::image::BLOCK_FRAME_COMMON;
use gpurace_check::Block as BlockChecks;

use crate::barrier::{BARRIERS, Barrier};
use crate::checks;
use crate::cluster::Cluster;
use crate::collective::{Collective, Operand, lanes};
use crate::fault::{Divergence, DivergenceReason, FaultKind, Groups, WaitKind};
use crate::fiber::{JumpFiber, JumpHandle};
use crate::launch::LaunchState;
use crate::rng::Rng;
use crate::signal::Running;
use crate::stack::{Slab, SlabStack};
use crate::sync;

/// Calls of `__gpurace_yield` between two switches.
pub(crate) const YIELD_PERIOD: usize = 32;

/// What a device thread is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LaneState {
    /// It has not started.
    Fresh,
    /// It runs, or may.
    Ready,
    /// It gave way to the others and may run in the next round.
    Yielded,
    /// It waits at a block barrier.
    AtBarrier(u32),
    /// It waits at the barrier of the cluster.
    AtCluster,
    /// It waits for the other lanes of the mask.
    InCollective(Collective, u32),
    /// It asked which lanes are active.
    Asking,
    /// It has exited.
    Exited,
    /// It faulted; the block's `fault` says how.
    Faulted,
}

/// One device thread. Its context comes first: entry points find the lane at
/// the address of the context that they are given.
#[repr(C)]
pub(crate) struct Lane {
    pub(crate) ctx: ThreadCtx,
    pub(crate) handle: JumpHandle,
    pub(crate) fiber: Option<JumpFiber>,
    pub(crate) stack: SlabStack,
    pub(crate) state: LaneState,
    /// The synchronisation instruction that it waits at.
    pub(crate) sync: u32,
    /// The last checked atomic access.
    pub(crate) site: Option<u32>,
    /// What the collective that it waited in gave it.
    pub(crate) result: u64,
    /// Its private state when it last yielded.
    pub(crate) digest: u64,
    /// Whence it asked which lanes are active.
    pub(crate) asked_from: u64,
    /// Calls of `__gpurace_ignore(1)` that wait for theirs with 0.
    pub(crate) ignoring: u32,
}

/// A cache line of a frame.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; 64]);

/// Slots of [`ThreadCtx::executor`].
pub(crate) mod slot {
    /// Calls of `__gpurace_yield` left until the next switch.
    pub(crate) const COUNTDOWN: usize = 0;
    /// The block's checks, or null in a launch that is not checked.
    pub(crate) const CHECKS: usize = 1;
    /// Where the threads' stacks lie.
    pub(crate) const LOCAL_START: usize = 2;
    /// How many bytes they take.
    pub(crate) const LOCAL_BYTES: usize = 3;
}

/// Lanes that wait in one collective.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    pub(crate) kind: Collective,
    pub(crate) mask: u32,
    pub(crate) arrived: u32,
}

/// One warp: masks of its lanes by state, and what they brought to collectives.
#[derive(Debug, Default)]
pub(crate) struct Warp {
    /// Lanes that have not exited.
    pub(crate) live: u32,
    pub(crate) ready: u32,
    pub(crate) yielded: u32,
    pub(crate) asking: u32,
    pub(crate) groups: Vec<Group>,
    pub(crate) operands: [Operand; 32],
}

/// How a thread faulted.
#[derive(Clone, Debug)]
pub(crate) struct LaneFault {
    pub(crate) kind: FaultKind,
    pub(crate) message: String,
    pub(crate) sync: Option<u32>,
    /// The processor raised it.
    pub(crate) by_signal: bool,
    /// The access that it is of, where the block's frame has it.
    pub(crate) left: Option<checks::Left>,
}

/// See the module.
pub(crate) struct Block {
    pub(crate) slab: Slab,
    /// The lanes' memory; reached through `lanes` while fibers exist.
    storage: Vec<Lane>,
    lanes: *mut Lane,
    pub(crate) launch: *const LaunchState,
    pub(crate) running: *const Running,
    /// The cluster that it is in, in a launch with clusters; null in others.
    pub(crate) cluster: *mut Cluster,
    /// Its rank in the cluster.
    pub(crate) rank: u32,
    /// Linear block index in the grid.
    pub(crate) index: u64,
    pub(crate) ctaid: [u32; 3],
    pub(crate) threads: u32,
    pub(crate) warps: Vec<Warp>,
    /// Warps with a lane that is ready.
    pub(crate) ready_warps: u32,
    /// Warps with a lane that yielded.
    pub(crate) yielded_warps: u32,
    /// Threads that have not exited.
    pub(crate) live: u32,
    pub(crate) barriers: [Barrier; BARRIERS],
    /// Barriers that have been used, by id.
    pub(crate) used_barriers: u32,
    pub(crate) rng: Option<Rng>,
    /// Whether a thread changed its private state, started or exited in this round.
    pub(crate) moved: bool,
    pub(crate) fault: Option<LaneFault>,
    pub(crate) checks: Option<BlockChecks>,
    /// Addresses of the threads' stacks: start and length.
    pub(crate) local: (usize, usize),
    /// Addresses of shared memory: start and length.
    pub(crate) shared: (usize, usize),
    /// In a loop over threads: how many of them have been started, and the
    /// order that they come in.
    pub(crate) next_thread: u32,
    pub(crate) stride: u32,
    pub(crate) start: u32,
    /// With an entry for whole blocks, the index after the last that runs here.
    chunk_end: u64,
    /// What such an entry keeps over barriers.
    frame: Vec<Line>,
    /// Synchronisation instructions already reported for a caller outside its mask.
    pub(crate) outside_mask: Vec<u32>,
}

/// `linear` as an index of three dimensions, x fastest.
pub(crate) fn unflatten(linear: u64, dim: [u32; 3]) -> [u32; 3] {
    let (x, y) = (u64::from(dim[0]), u64::from(dim[1]));
    [(linear % x) as u32, (linear / x % y) as u32, (linear / (x * y)) as u32]
}

impl Block {
    /// A place for a block in this slab.
    pub(crate) fn new(slab: Slab, running: *const Running) -> Box<Self> {
        Box::new(Self {
            local: slab.local_range(),
            shared: (slab.shared() as usize, 0),
            slab,
            storage: Vec::new(),
            lanes: ptr::null_mut(),
            launch: ptr::null(),
            running,
            cluster: ptr::null_mut(),
            rank: 0,
            index: 0,
            ctaid: [0; 3],
            threads: 0,
            warps: Vec::new(),
            ready_warps: 0,
            yielded_warps: 0,
            live: 0,
            barriers: Default::default(),
            used_barriers: 0,
            rng: None,
            moved: false,
            fault: None,
            checks: None,
            next_thread: 0,
            stride: 1,
            start: 0,
            chunk_end: 0,
            frame: Vec::new(),
            outside_mask: Vec::new(),
        })
    }

    /// Prepares for a launch: what is equal for all of its blocks.
    ///
    /// # Safety
    /// `this` is live and runs no block; `launch` outlives the blocks that
    /// are started in it; the slab serves the launch.
    pub(crate) unsafe fn bind(this: *mut Self, launch: *const LaunchState) {
        // SAFETY: nothing else refers to an idle block; `launch` is live.
        let (b, l) = unsafe { (&mut *this, &*launch) };
        b.launch = launch;
        b.cluster = ptr::null_mut();
        b.threads = l.threads;
        b.shared = (b.slab.shared() as usize, l.shared_bytes());
        b.outside_mask.clear();
        if let Some(entry) = l.block_entry {
            let bytes = BLOCK_FRAME_COMMON + entry.frame_bytes * u64::from(l.threads);
            let lines = bytes.div_ceil(size_of::<Line>() as u64) as usize;
            if b.frame.len() < lines {
                b.frame.resize(lines, Line([0; 64]));
            }
            if l.checks.is_some() {
                // No thread has made an access yet.
                b.frame[..lines].fill(Line([0; 64]));
            }
        }
        let shared = b.slab.shared();
        let lanes = if l.suspends { l.threads } else { 1 };
        b.storage.clear();
        b.storage.extend((0..lanes).map(|t| Lane {
            ctx: ThreadCtx {
                tid: unflatten(u64::from(t), l.block),
                ctaid: [0; 3],
                ntid: l.block,
                nctaid: l.grid,
                linear_tid: t,
                lane: t % WARP_SIZE,
                warp: t / WARP_SIZE,
                dynamic_shared_bytes: l.dynamic_bytes,
                shared_base: shared,
                // SAFETY: the offset is at most `shared_bytes`.
                dynamic_shared: unsafe { shared.add(l.dynamic_offset()) },
                launch_id: l.id,
                grid_workspace: l.workspace(),
                block: this.cast(),
                executor: [ptr::null_mut(); 4],
            },
            handle: JumpHandle::NONE,
            fiber: None,
            stack: b.slab.stack(t as usize),
            state: LaneState::Exited,
            sync: 0,
            site: None,
            result: 0,
            digest: 0,
            asked_from: 0,
            ignoring: 0,
        }));
        b.lanes = b.storage.as_mut_ptr();
        b.warps.truncate(l.threads.div_ceil(WARP_SIZE) as usize);
        b.warps.resize_with(l.threads.div_ceil(WARP_SIZE) as usize, Warp::default);
    }

    /// Lets the block have its shared memory elsewhere than in its slab.
    ///
    /// # Safety
    /// As [`Block::bind`], which came before; the memory is the block's until it ends.
    pub(crate) unsafe fn move_shared(this: *mut Self, shared: *mut u8) {
        // SAFETY: nothing else refers to an idle block; the launch is live.
        let (b, l) = unsafe { (&mut *this, &*(*this).launch) };
        b.shared.0 = shared as usize;
        for lane in &mut b.storage {
            lane.ctx.shared_base = shared;
            // SAFETY: the offset is at most `shared_bytes`.
            lane.ctx.dynamic_shared = unsafe { shared.add(l.dynamic_offset()) };
        }
    }

    /// Puts block `index` of the bound launch here; its threads have not started.
    ///
    /// # Safety
    /// As [`Block::bind`], which came before.
    pub(crate) unsafe fn start(this: *mut Self, index: u64) {
        // SAFETY: nothing else refers to an idle block; the launch is live.
        let (b, l) = unsafe { (&mut *this, &*(*this).launch) };
        b.index = index;
        b.chunk_end = (index + l.chunk).min(l.blocks);
        b.ctaid = unflatten(index, l.grid);
        b.rng = (l.seed != 0).then(|| Rng::new(l.seed, index));
        b.moved = false;
        b.fault = None;
        b.live = b.threads;
        b.next_thread = 0;
        (b.start, b.stride) = match &mut b.rng {
            Some(rng) => (rng.below(b.threads), coprime(rng.below(b.threads) | 1, b.threads)),
            None => (0, 1),
        };
        for id in lanes(std::mem::take(&mut b.used_barriers)) {
            b.barriers[id] = Barrier::default();
        }
        if b.shared.1 > 0 {
            // SAFETY: shared memory is the block's, and idle.
            unsafe { ptr::write_bytes(b.shared.0 as *mut u8, 0, b.shared.1) };
        }
        checks::begin(b);
        let checks = b.checks.as_mut().map_or(ptr::null_mut(), ptr::from_mut);
        b.yielded_warps = 0;
        b.ready_warps = 0;
        for (w, warp) in b.warps.iter_mut().enumerate() {
            let threads = (b.threads - w as u32 * WARP_SIZE).min(WARP_SIZE);
            warp.live = u32::MAX >> (WARP_SIZE - threads);
            warp.ready = warp.live;
            warp.yielded = 0;
            warp.asking = 0;
            warp.groups.clear();
            b.ready_warps |= 1 << w;
        }
        let countdown = if l.suspends { YIELD_PERIOD } else { usize::MAX };
        for lane in &mut b.storage {
            lane.ctx.ctaid = b.ctaid;
            lane.ctx.executor[slot::COUNTDOWN] = ptr::without_provenance_mut(countdown);
            lane.ctx.executor[slot::CHECKS] = checks.cast();
            lane.ctx.executor[slot::LOCAL_START] = ptr::without_provenance_mut(b.local.0);
            lane.ctx.executor[slot::LOCAL_BYTES] = ptr::without_provenance_mut(b.local.1);
            lane.state = LaneState::Fresh;
            lane.site = None;
            lane.digest = 0;
            lane.ignoring = 0;
        }
    }

    /// Lane of this linear thread index; in a loop over threads the only one.
    ///
    /// # Safety
    /// `this` is live and bound, and the index below its number of lanes.
    pub(crate) unsafe fn lane(this: *mut Self, linear: usize) -> *mut Lane {
        // SAFETY: the caller's; the lanes' memory is borrowed by nobody.
        unsafe { (*this).lanes.add(linear) }
    }

    /// Goes on with the next block of the chunk, where there is one: all that an
    /// entry for whole blocks sees of a block.
    ///
    /// # Safety
    /// As [`Block::start`], which came before; the launch has such an entry.
    pub(crate) unsafe fn go_on(this: *mut Self) -> bool {
        // SAFETY: the caller's; the block's one fiber calls.
        unsafe {
            let l = &*(*this).launch;
            if (*this).index + 1 >= (*this).chunk_end || l.abort.load(Ordering::Relaxed) {
                return false;
            }
            (*this).index += 1;
            (*this).ctaid = unflatten((*this).index, l.grid);
            (*Self::lane(this, 0)).ctx.ctaid = (*this).ctaid;
            if (*this).shared.1 > 0 {
                ptr::write_bytes((*this).shared.0 as *mut u8, 0, (*this).shared.1);
            }
            true
        }
    }

    /// The frame for an entry for whole blocks.
    ///
    /// # Safety
    /// `this` is live and bound to a launch that has such an entry.
    pub(crate) unsafe fn frame(this: *mut Self) -> *mut u8 {
        // SAFETY: `bind` made it larger than the common part.
        unsafe {
            let start = (*this).frame.as_mut_ptr().cast::<u8>();
            start.add(BLOCK_FRAME_COMMON as usize)
        }
    }

    /// Drops the fibers of a block that will not go on.
    ///
    /// # Safety
    /// `this` is live; none of its fibers runs.
    pub(crate) unsafe fn abandon(this: *mut Self) {
        // SAFETY: no fiber runs, so nothing else refers to the block.
        let b = unsafe { &mut *this };
        for lane in &mut b.storage {
            lane.fiber = None;
            lane.state = LaneState::Exited;
        }
        b.live = 0;
        (b.ready_warps, b.yielded_warps) = (0, 0);
    }

    /// Ends what belongs to the launch that the block was bound to.
    ///
    /// # Safety
    /// `this` is live; none of its fibers runs.
    pub(crate) unsafe fn unbind(this: *mut Self) {
        // SAFETY: no fiber runs, so nothing else refers to the block.
        let b = unsafe { &mut *this };
        checks::end(b);
        b.launch = ptr::null();
    }

    /// Notes that a lane has exited, and completes what waited for it alone.
    ///
    /// # Safety
    /// `this` is live and none of its fibers runs, or the caller is the last
    /// thing that the lane's fiber does.
    pub(crate) unsafe fn retire(this: *mut Self, w: usize, l: u32) {
        // SAFETY: the caller's.
        unsafe {
            let bit = 1u32 << l;
            let lane = Self::lane(this, w * 32 + l as usize);
            (*lane).state = LaneState::Exited;
            (*this).moved = true;
            (*this).live -= 1;
            let warp = &mut (&mut (*this).warps)[w];
            warp.live &= !bit;
            if let Some(checks) = &mut (*this).checks {
                checks.thread_exit((*lane).ctx.linear_tid);
            }
            sync::after_exit(this, w, l);
            if !(*this).cluster.is_null() {
                Cluster::exited(this, (*lane).ctx.linear_tid);
            }
        }
    }

    /// The first thread that gives way in a loop: its block, its index, and
    /// its last checked atomic access. None of the block's fibers runs.
    pub(crate) fn first_waiting(&self) -> Option<([u32; 3], [u32; 3], Option<u32>)> {
        self.storage
            .iter()
            .find(|lane| matches!(lane.state, LaneState::Yielded | LaneState::Ready))
            .map(|lane| (self.ctaid, lane.ctx.tid, lane.site))
    }

    /// Who waits where, for a report.
    ///
    /// # Safety
    /// `this` is live; none of its fibers runs.
    pub(crate) unsafe fn divergence(this: *const Self) -> Divergence {
        // SAFETY: no fiber runs, so nothing changes the block.
        let b = unsafe { &*this };
        let mut groups = Groups::default();
        let (mut exited, mut exited_example) = (0, None);
        for lane in &b.storage {
            let kind = match lane.state {
                LaneState::AtBarrier(id) => WaitKind::Barrier(id),
                LaneState::AtCluster => WaitKind::Cluster,
                LaneState::InCollective(Collective::Sync, mask) => WaitKind::SyncWarp(mask),
                LaneState::InCollective(_, mask) => WaitKind::Collective(mask),
                LaneState::Exited => {
                    exited += 1;
                    exited_example.get_or_insert(lane.ctx.tid);
                    continue;
                }
                LaneState::Fresh
                | LaneState::Ready
                | LaneState::Yielded
                | LaneState::Asking
                | LaneState::Faulted => continue,
            };
            groups.add(lane.sync, kind, lane.ctx.tid);
        }
        Divergence {
            reason: DivergenceReason::Stuck,
            block: b.ctaid,
            waiting: groups.waiting,
            exited,
            exited_example,
        }
    }
}

/// The least number from `n` that has no divisor in common with `m`.
fn coprime(n: u32, m: u32) -> u32 {
    let gcd = |mut a: u32, mut b: u32| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    (n..).find(|&n| gcd(n, m) == 1).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_indices_have_x_fastest() {
        assert_eq!(unflatten(0, [4, 3, 2]), [0, 0, 0]);
        assert_eq!(unflatten(5, [4, 3, 2]), [1, 1, 0]);
        assert_eq!(unflatten(23, [4, 3, 2]), [3, 2, 1]);
    }

    #[test]
    fn a_coprime_stride_visits_every_thread() {
        for m in [1u32, 2, 6, 32, 96, 1024] {
            for n in [1, 3, 5, 31] {
                let stride = coprime(n, m);
                let mut seen = vec![false; m as usize];
                for i in 0..m {
                    seen[(u64::from(i) * u64::from(stride) % u64::from(m)) as usize] = true;
                }
                assert!(seen.iter().all(|&s| s), "stride {stride} of {m}");
            }
        }
    }
}
