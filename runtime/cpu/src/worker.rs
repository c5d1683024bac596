//! A worker runs its share of a launch's blocks, in the calling OS thread or
//! in one of the pool.
//!
//! It holds one block at a time as long as that one comes to its end. A block
//! whose threads only wait for another block is kept, and the others that are
//! resident get their turns, then the next block is taken up; so programs
//! whose blocks wait for blocks (look-back, hand-made grid barriers, locks)
//! end as they do on a GPU, where such blocks are resident together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::block::Block;
use crate::cluster::Cluster;
use crate::fault::{Fault, FaultKind};
use crate::launch::{LaunchState, Pulse};
use crate::rng::Rng;
use crate::schedule::{self, Step};
use crate::signal::{self, Running};
use crate::stack::Slab;

/// Rounds of one turn of a block that is alone on its worker.
const TURN_ALONE: u32 = 16;
/// Rounds of one turn where other blocks wait for theirs.
const TURN: u32 = 2;
/// Turns of a block that moves but does not end, before another is taken up:
/// a wait that counts its own iterations changes its private state.
const PATIENCE: u32 = 64;
/// With a seed, blocks change places within windows of this many: programs
/// may rely on a block's predecessors having started.
const WINDOW: usize = 8;
/// A wait whose threads' private state changes is given this many spin limits
/// before it counts as endless.
const MOVING_LIMITS: u32 = 60;

/// Places that a worker keeps for the launches to come.
const MOST_IDLE: usize = 512;

/// See the module.
pub(crate) struct Worker {
    running: Box<Running>,
    /// Blocks without work, ready to be bound.
    idle: Vec<*mut Block>,
    /// Clusters of the launch that runs, in launches with clusters.
    #[expect(clippy::vec_box, reason = "blocks hold their addresses")]
    clusters: Vec<Box<Cluster>>,
}

// SAFETY: a worker is used by one OS thread at a time, and between launches
// none of its fibers is suspended.
unsafe impl Send for Worker {}

/// The indices of one worker's share of blocks, or of clusters where there are any, in the
/// order that it takes them up. Of launches that run whole blocks at once, the first of
/// each chunk: there nothing rests on which worker runs which, and one that is held up
/// holds up no other.
struct Share<'a> {
    chunks: Option<&'a LaunchState>,
    next: u64,
    step: u64,
    end: u64,
    rng: Option<Rng>,
    window: Vec<u64>,
}

impl<'a> Share<'a> {
    fn new(launch: &'a LaunchState, worker: usize) -> Self {
        Self {
            chunks: launch.in_chunks().then_some(launch),
            next: worker as u64,
            step: launch.workers as u64,
            end: launch.units(),
            rng: (launch.seed != 0).then(|| Rng::new(launch.seed, u64::MAX)),
            window: Vec::new(),
        }
    }
}

impl Iterator for Share<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if let Some(launch) = self.chunks {
            let first = launch.next_chunk.fetch_add(launch.chunk, Ordering::Relaxed);
            return (first < launch.blocks).then_some(first);
        }
        if let Some(rng) = &mut self.rng
            && self.window.is_empty()
        {
            let window = (self.next..self.end).step_by(self.step as usize).take(WINDOW);
            self.window.extend(window);
            rng.shuffle(&mut self.window);
        }
        if let Some(index) = self.window.pop() {
            self.next += self.step;
            return Some(index);
        }
        (self.next < self.end).then(|| {
            self.next += self.step;
            self.next - self.step
        })
    }
}

impl Worker {
    pub(crate) fn new() -> Self {
        Self { running: Box::new(Running::new()), idle: Vec::new(), clusters: Vec::new() }
    }

    /// Runs this worker's share of `launch`, and tells it when done.
    pub(crate) fn run(&mut self, launch: &Arc<LaunchState>, worker: usize) {
        let entered = signal::enter(&raw const *self.running);
        self.run_share(launch, worker);
        drop(entered);
        launch.finish(worker);
    }

    fn run_share(&mut self, launch: &LaunchState, worker: usize) {
        let mut share = Share::new(launch, worker).peekable();
        let mut bound = Vec::new();
        let mut resident: Vec<Resident> = Vec::new();
        if launch.cooperative {
            for index in share.by_ref() {
                if let Err(fault) = self.take_up(launch, &mut bound, index, &mut resident) {
                    launch.fail(fault);
                }
            }
        }
        while !launch.abort.load(Ordering::Relaxed) {
            if resident.is_empty() {
                let Some(index) = share.next() else { break };
                if let Err(fault) = self.take_up(launch, &mut bound, index, &mut resident) {
                    launch.fail(fault);
                    break;
                }
            }
            let pass = run_pass(launch, &mut resident, &mut bound);
            let room = resident.len() + launch.blocks_of_unit() <= launch.most_resident;
            if pass == Pass::Ended {
                note_progress(launch, worker);
            } else if room && pass.wants_more(&resident) && share.peek().is_some() {
                if let Some(index) = share.next() {
                    match self.take_up(launch, &mut bound, index, &mut resident) {
                        Ok(()) => {}
                        // With no memory for one more, those that are there must do.
                        Err(_) if !resident.is_empty() => note_progress(launch, worker),
                        Err(fault) => launch.fail(fault),
                    }
                }
            } else {
                wait_for_others(launch, worker, pass, &resident, share.peek().is_some());
            }
        }
        for r in resident {
            // SAFETY: the block is the worker's own, and none of its fibers runs.
            unsafe { Block::abandon(r.block) };
            end(r.block, &mut bound);
        }
        for &block in &bound {
            // SAFETY: as above.
            unsafe { Block::unbind(block) };
        }
        self.idle.append(&mut bound);
        self.clusters.clear();
    }

    /// Puts block `index`, or the blocks of cluster `index`, into places that are free,
    /// or new ones.
    fn take_up(
        &mut self,
        launch: &LaunchState,
        bound: &mut Vec<*mut Block>,
        index: u64,
        resident: &mut Vec<Resident>,
    ) -> Result<(), Fault> {
        let one = |block| Resident { block, turns: 0, stuck: false };
        if launch.cluster.is_none() {
            let block = self.place(launch, bound)?;
            // SAFETY: the block is bound to `launch` and idle.
            unsafe { Block::start(block, index) };
            resident.push(one(block));
            return Ok(());
        }
        let cluster = self.cluster_for(launch)?;
        let mut blocks = Vec::new();
        for _ in 0..launch.blocks_of_unit() {
            match self.place(launch, bound) {
                Ok(block) => blocks.push(block),
                Err(fault) => {
                    bound.append(&mut blocks);
                    return Err(fault);
                }
            }
        }
        resident.extend(blocks.iter().map(|&block| one(block)));
        // SAFETY: the cluster lives until the worker lets go of it, after its
        // blocks have ended, which are bound to `launch` and idle.
        unsafe { Cluster::start(cluster, launch, index, blocks) };
        Ok(())
    }

    /// A place for a block that is bound to the launch.
    fn place(&mut self, launch: &LaunchState, bound: &mut Vec<*mut Block>) -> Result<*mut Block, Fault> {
        match bound.pop() {
            Some(block) => Ok(block),
            None => self.bind(launch),
        }
    }

    /// A place for a cluster of the launch.
    fn cluster_for(&mut self, launch: &LaunchState) -> Result<*mut Cluster, Fault> {
        let ended = |c: &&mut Box<Cluster>| c.ended == c.blocks.len();
        if let Some(cluster) = self.clusters.iter_mut().find(ended) {
            return Ok(&raw mut **cluster);
        }
        let cluster = Cluster::new(launch.blocks_of_unit(), launch.shared_bytes()).map_err(|e| {
            let message = format!("no memory for the shared memory of a cluster: {e}");
            Fault::of_launch(FaultKind::TooManyResources, message)
        })?;
        self.clusters.push(cluster);
        let last = self.clusters.len() - 1;
        Ok(&raw mut *self.clusters[last])
    }

    fn bind(&mut self, launch: &LaunchState) -> Result<*mut Block, Fault> {
        let (stacks, bytes, shared) = (launch.stacks(), launch.stack_bytes, launch.shared_bytes());
        // SAFETY: idle blocks are live and the worker's own.
        let fits = |&b: &*mut Block| unsafe { (*b).slab.serves(stacks, bytes, shared) };
        let block = match self.idle.iter().position(fits) {
            Some(i) => self.idle.remove(i),
            None => {
                self.make_room(stacks, launch.most_resident * stacks);
                let slab = Slab::new(stacks, bytes, shared)
                    .or_else(|_| {
                        self.make_room(usize::MAX, 0);
                        Slab::new(stacks, bytes, shared)
                    })
                    .map_err(|e| {
                        let message = format!("no memory for {stacks} stacks of {bytes} bytes: {e}");
                        Fault::of_launch(FaultKind::TooManyResources, message)
                    })?;
                Box::into_raw(Block::new(slab, &raw const *self.running))
            }
        };
        // SAFETY: the block is idle, its slab serves the launch, which lives
        // until its workers are done.
        unsafe { Block::bind(block, launch) };
        Ok(block)
    }

    /// Lets go of the places that have been idle longest, until `stacks` more
    /// stacks are within `budget`, and of places too many.
    fn make_room(&mut self, stacks: usize, budget: usize) {
        let held = |idle: &[*mut Block]| -> usize {
            // SAFETY: idle blocks are live and the worker's own.
            idle.iter().map(|&b| unsafe { (*b).slab.stacks() }).sum()
        };
        while !self.idle.is_empty()
            && (self.idle.len() >= MOST_IDLE || held(&self.idle).saturating_add(stacks) > budget)
        {
            free(self.idle.remove(0));
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        for block in self.idle.drain(..) {
            free(block);
        }
    }
}

fn free(block: *mut Block) {
    // SAFETY: it came from `Box::into_raw`, and the worker lets go of it.
    drop(unsafe { Box::from_raw(block) });
}

/// A block that has started and not ended.
struct Resident {
    block: *mut Block,
    /// Turns that it has had.
    turns: u32,
    /// In its last turn its threads could only wait for other blocks of its cluster.
    stuck: bool,
}

/// What came of giving each resident block its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    /// A block ended.
    Ended,
    /// None did, but threads changed their private state.
    Moved,
    /// Threads only waited.
    Waited,
}

impl Pass {
    /// Whether it is time to take up another block.
    fn wants_more(self, resident: &[Resident]) -> bool {
        match self {
            Pass::Ended => false,
            Pass::Moved => resident.iter().all(|r| r.turns >= PATIENCE),
            Pass::Waited => true,
        }
    }
}

/// Gives each resident block its turn, the earliest first; ends at the first
/// that comes to its end, since the earlier ones may have waited for it.
fn run_pass(launch: &LaunchState, resident: &mut Vec<Resident>, bound: &mut Vec<*mut Block>) -> Pass {
    let rounds = if resident.len() == 1 { TURN_ALONE } else { TURN };
    let mut moved_in_pass = false;
    for i in 0..resident.len() {
        let block = resident[i].block;
        resident[i].turns += 1;
        resident[i].stuck = false;
        // SAFETY: the block is the worker's own, started, and the OS thread
        // has entered the worker's `running`.
        unsafe {
            match schedule::run(block, rounds) {
                Step::Yielding { moved } => {
                    moved_in_pass |= moved;
                    continue;
                }
                Step::Finished => {}
                Step::Stuck if may_go_on(block) => {
                    resident[i].stuck = true;
                    continue;
                }
                Step::Stuck => {
                    launch.report(Block::divergence(block));
                    Block::abandon(block);
                }
                Step::Faulted(lane) => {
                    launch.fail_thread(block, lane);
                    Block::abandon(block);
                }
                Step::Aborted => Block::abandon(block),
            }
        }
        resident.remove(i);
        end(block, bound);
        return Pass::Ended;
    }
    // Other blocks of their clusters have come to the barrier since.
    // SAFETY: the blocks are the worker's own, and none of their fibers runs.
    moved_in_pass |= resident.iter().any(|r| r.stuck && unsafe { (*r.block).ready_warps } != 0);
    if moved_in_pass { Pass::Moved } else { Pass::Waited }
}

/// Whether a block none of whose threads can go on waits for its cluster, where
/// some can.
unsafe fn may_go_on(block: *const Block) -> bool {
    // SAFETY: the caller's block is live, and with it its cluster.
    unsafe { !(*block).cluster.is_null() && Cluster::can_go_on((*block).cluster) }
}

/// A block has ended. One of a cluster keeps its place, and its shared memory, until
/// the others have ended.
fn end(block: *mut Block, bound: &mut Vec<*mut Block>) {
    // SAFETY: the block is the worker's own, and so is its cluster.
    match unsafe { (*block).cluster.as_mut() } {
        None => bound.push(block),
        Some(cluster) => {
            cluster.ended += 1;
            if cluster.ended == cluster.blocks.len() {
                bound.extend_from_slice(&cluster.blocks);
            }
        }
    }
}

fn note_progress(launch: &LaunchState, worker: usize) {
    let own = &launch.pulses[worker];
    own.waiting_since.store(u64::MAX, Ordering::Relaxed);
    own.unended_since.store(u64::MAX, Ordering::Relaxed);
}

/// Every resident block gives way and no other can be taken up: lets other OS
/// threads run, and ends the launch once all workers have waited too long.
fn wait_for_others(launch: &LaunchState, worker: usize, pass: Pass, resident: &[Resident], more: bool) {
    let own = &launch.pulses[worker];
    let now = launch.now();
    own.looked.store(now, Ordering::Relaxed);
    own.unended_since.fetch_min(now, Ordering::Relaxed);
    match pass {
        Pass::Waited => own.waiting_since.fetch_min(now, Ordering::Relaxed),
        Pass::Moved | Pass::Ended => own.waiting_since.swap(u64::MAX, Ordering::Relaxed),
    };
    // Threads that still change their private state may be counting down
    // something; they are given longer.
    let limit = launch.spin_limit;
    let waited = |since: fn(&Pulse) -> &AtomicU64, limit: Duration| {
        let since = since(own).load(Ordering::Relaxed);
        let waited = Duration::from_nanos(now.saturating_sub(since));
        (waited >= limit && all_wait(launch, now, limit)).then_some(waited)
    };
    let endless =
        waited(|p| &p.waiting_since, limit).or_else(|| waited(|p| &p.unended_since, limit * MOVING_LIMITS));
    if let Some(waited) = endless {
        launch.fail(endless_wait(launch, resident, waited, more));
    }
    if launch.workers > 1 && pass == Pass::Waited {
        std::thread::yield_now();
    }
}

/// Whether every worker has ended no block for about `limit` and looked
/// lately: one that is amid a long turn is doing something.
fn all_wait(launch: &LaunchState, now: u64, limit: Duration) -> bool {
    let recently = now.saturating_sub(launch.spin_limit.as_nanos() as u64 / 2);
    let long_ago = now.saturating_sub(limit.as_nanos() as u64 / 2);
    launch.pulses.iter().all(|p| {
        p.finished.load(Ordering::Relaxed)
            || (p.unended_since.load(Ordering::Relaxed) <= long_ago
                && p.looked.load(Ordering::Relaxed) >= recently
                && (limit > launch.spin_limit || p.waiting_since.load(Ordering::Relaxed) <= long_ago))
    })
}

fn endless_wait(launch: &LaunchState, resident: &[Resident], waited: Duration, more: bool) -> Fault {
    // SAFETY: the blocks are the worker's own, and none of their fibers runs.
    let first = unsafe { resident.first().and_then(|r| (*r.block).first_waiting()) };
    let mut message = format!(
        "{} resident block(s) wait in a loop without progress for {:.1} s",
        resident.len(),
        waited.as_secs_f64()
    );
    if more {
        message +=
            &format!(", and no more than {} can be resident together", launch.most_resident * launch.workers);
    }
    let mut fault = Fault::of_launch(FaultKind::Deadlock, message);
    if let Some((block, thread, site)) = first {
        (fault.block, fault.thread, fault.site) = (Some(block), Some(thread), site);
    }
    fault
}
