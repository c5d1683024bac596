//! A worker: an OS thread that runs its share of a launch's blocks.
//!
//! It holds one block at a time as long as each block ends in its turn. If the threads of a block
//! only wait for another block, the worker keeps that block, gives the other resident blocks their
//! turns, and then takes up the next block. Programs whose blocks wait for each other (look-back,
//! hand-made grid barriers, locks) therefore end as on a GPU, where such blocks are resident
//! together.

use std::iter::Peekable;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::block::Block;
use crate::cluster::Cluster;
use crate::debugger;
use crate::fault::{Fault, FaultKind};
use crate::idle::IdleBlocks;
use crate::launch::{Choice, LaunchState};
use crate::rng::Rng;
use crate::schedule::{self, BlockTurn};
use crate::share::Share;
use crate::signal::{self, Running};
use crate::waiting;

/// Rounds of one turn of a block that is alone on its worker.
const TURN_ALONE: u32 = 16;
/// Rounds of one turn if several blocks are resident.
const TURN: u32 = 2;
/// The number of turns after which the worker takes up another block beside one that moves but does not end. Such a
/// block may be waiting: a wait that counts its own iterations changes private state, and so moves.
const PATIENCE: u32 = 64;
/// The most units that take turns in a drawn schedule though none of them waits.
const MOST_TOGETHER: u32 = 4;

/// A worker. See the module.
pub(crate) struct Worker {
    running: Box<Running>,
    idle: Arc<IdleBlocks>,
    /// Clusters of the launch that runs.
    #[expect(clippy::vec_box, reason = "blocks hold their addresses")]
    clusters: Vec<Box<Cluster>>,
}

// SAFETY: a worker is used by one OS thread at a time, and between launches
// none of its fibers is suspended.
unsafe impl Send for Worker {}

impl Worker {
    /// A worker that takes its blocks from `idle`.
    pub(crate) fn new(idle: Arc<IdleBlocks>) -> Self {
        Self { running: Box::new(Running::new()), idle, clusters: Vec::new() }
    }

    /// Runs share `worker` of `launch`. The caller notes in the launch that the share is done.
    pub(crate) fn run(&mut self, launch: &Arc<LaunchState>, worker: usize) {
        let entered = signal::enter(&raw const *self.running);
        self.run_share(launch, worker);
        drop(entered);
    }

    /// What [`Self::run`] does while the OS thread is ready for signals of device code.
    fn run_share(&mut self, launch: &LaunchState, worker: usize) {
        let mut share = Share::new(launch, worker).peekable();
        let mut own = OwnBlocks::default();
        let mut ahead = Ahead::of(launch);
        let together = ahead.as_mut().map_or(1, |ahead| 2 + ahead.rng.below(MOST_TOGETHER - 1) as usize);
        let together = together.min(launch.most_resident / launch.blocks_of_unit()).max(1);
        if launch.cooperative {
            for index in share.by_ref() {
                if let Err(fault) = self.take_up(launch, &mut own, index) {
                    launch.fail(fault);
                }
            }
        }
        while !launch.abort.load(Ordering::Relaxed) {
            while own.resident.len() < together && self.take_up_next(launch, &mut own, &mut share) {}
            if own.resident.is_empty() {
                break;
            }
            let pass = run_pass(launch, &mut own, ahead.as_mut());
            let room = own.resident.len() + launch.blocks_of_unit() <= launch.most_resident;
            if pass == Progress::Ended {
                waiting::note_progress(launch, worker);
            } else if !(room
                && pass.wants_more(&own.resident)
                && self.take_up_next(launch, &mut own, &mut share))
            {
                let more = share.peek().is_some();
                let fault = |waited| endless_wait(launch, &own.resident, waited, more);
                waiting::wait_for_others(launch, worker, pass == Progress::Waited, fault);
            }
        }
        self.idle.keep(own.release());
        self.clusters.clear();
    }

    /// Takes up the next unit of the share. False if there is none, or no memory for one more: then the resident blocks
    /// go on, and the unit stays the next one. Without memory for a first block, the launch ends with a fault.
    fn take_up_next(
        &mut self,
        launch: &LaunchState,
        own: &mut OwnBlocks,
        share: &mut Peekable<Share<'_>>,
    ) -> bool {
        let Some(&index) = share.peek() else { return false };
        match self.take_up(launch, own, index) {
            Ok(()) => {
                share.next();
                true
            }
            Err(fault) => {
                if own.resident.is_empty() {
                    launch.fail(fault);
                }
                false
            }
        }
    }

    /// Starts block `index`, or the blocks of cluster `index`.
    fn take_up(&mut self, launch: &LaunchState, own: &mut OwnBlocks, index: u64) -> Result<(), Fault> {
        let one = |block| Resident { block, turns: 0, stuck: false };
        if launch.shape.cluster.is_none() {
            let block = self.bound_block(launch, own)?;
            // SAFETY: the block is bound to `launch` and idle.
            unsafe { Block::start(block, index) };
            debugger::enter(block);
            own.resident.push(one(block));
            return Ok(());
        }
        let cluster = self.cluster_for(launch)?;
        let mut blocks = Vec::new();
        for _ in 0..launch.blocks_of_unit() {
            match self.bound_block(launch, own) {
                Ok(block) => blocks.push(block),
                Err(fault) => {
                    own.bound.append(&mut blocks);
                    return Err(fault);
                }
            }
        }
        blocks.iter().for_each(|&block| debugger::enter(block));
        own.resident.extend(blocks.iter().map(|&block| one(block)));
        // SAFETY: the worker keeps the cluster until its blocks have ended; these are bound to
        // `launch` and idle.
        unsafe { Cluster::start(cluster, launch, index, blocks) };
        Ok(())
    }

    /// A block that is bound to the launch and idle.
    fn bound_block(&mut self, launch: &LaunchState, own: &mut OwnBlocks) -> Result<*mut Block, Fault> {
        match own.bound.pop() {
            Some(block) => Ok(block),
            None => self.bind(launch),
        }
    }

    /// A cluster of the launch that is over, or a new one.
    fn cluster_for(&mut self, launch: &LaunchState) -> Result<*mut Cluster, Fault> {
        if let Some(cluster) = self.clusters.iter_mut().find(|c| c.is_over()) {
            return Ok(&raw mut **cluster);
        }
        let (blocks, bytes) = (launch.blocks_of_unit(), launch.shared_bytes());
        let cluster = Cluster::new(blocks, bytes, launch.shared_alignment).map_err(|e| {
            let message = format!("no memory for the shared memory of a cluster: {e}");
            Fault::of_launch(FaultKind::TooManyResources, message)
        })?;
        self.clusters.push(cluster);
        let last = self.clusters.len() - 1;
        Ok(&raw mut *self.clusters[last])
    }

    /// Binds an idle block, or a new one, to the launch.
    fn bind(&mut self, launch: &LaunchState) -> Result<*mut Block, Fault> {
        let (stacks, bytes, shared) = (launch.stacks(), launch.stack_bytes, launch.shared_bytes());
        let block = self.idle.take(stacks, bytes, shared).map_err(|e| {
            let message = format!("no memory for {stacks} stacks of {bytes} bytes: {e}");
            Fault::of_launch(FaultKind::TooManyResources, message)
        })?;
        // SAFETY: the block is idle, its slab serves the launch, which lives
        // until its workers are done.
        unsafe { Block::bind(block, launch, &raw const *self.running) };
        Ok(block)
    }
}

/// A block that has started and not ended.
struct Resident {
    block: *mut Block,
    /// Number of its turns.
    turns: u32,
    /// In its last turn all its threads waited for other blocks of its cluster.
    stuck: bool,
}

/// The blocks that a worker has bound to the launch that runs.
#[derive(Default)]
struct OwnBlocks {
    /// Those that have started and not ended, the earliest first.
    resident: Vec<Resident>,
    /// The others.
    bound: Vec<*mut Block>,
}

impl OwnBlocks {
    /// Frees a block that has ended for the launch's next one. A block of a cluster stays until all
    /// blocks of the cluster have ended, since these may use its shared memory.
    fn end(&mut self, block: *mut Block) {
        debugger::leave(block);
        // SAFETY: the block is the worker's own, and so is its cluster.
        match unsafe { (*block).seat.cluster.cast::<Cluster>().as_mut() } {
            None => self.bound.push(block),
            Some(cluster) => self.bound.extend_from_slice(cluster.end_block().unwrap_or_default()),
        }
    }

    /// Abandons the blocks that have not ended, and ends the tie of all blocks to the launch. Returns them.
    fn release(mut self) -> Vec<*mut Block> {
        for r in std::mem::take(&mut self.resident) {
            // SAFETY: the block is the worker's own, and none of its fibers runs.
            unsafe { Block::abandon(r.block) };
            self.end(r.block);
        }
        for &block in &self.bound {
            // SAFETY: as above.
            unsafe { Block::unbind(block) };
        }
        self.bound
    }
}

/// The choice of the resident block that is ahead: in a drawn schedule, it gets all turns for a while, as long as it
/// does not wait.
struct Ahead {
    rng: Rng,
    /// A number. Its remainder by the number of resident blocks is the index of the block.
    unit: u64,
}

impl Ahead {
    /// The choice in a launch; `None` unless the schedule is drawn and threads can wait.
    fn of(launch: &LaunchState) -> Option<Self> {
        let takes_turns = launch.choice == Choice::Drawn && launch.suspends;
        takes_turns.then(|| Self { rng: Rng::new(launch.seed, launch.blocks), unit: 0 })
    }
}

/// What a turn of a block has come to, or a pass over all resident blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// A block ended.
    Ended,
    /// No block ended, but threads changed their private state, or can go on.
    Moved,
    /// Threads only waited.
    Waited,
}

impl Progress {
    /// True if it is time to take up another block.
    fn wants_more(self, resident: &[Resident]) -> bool {
        match self {
            Progress::Ended => false,
            Progress::Moved => resident.iter().all(|r| r.turns >= PATIENCE),
            Progress::Waited => true,
        }
    }
}

/// Gives each resident block its turn, the earliest first. Returns at the first block that ends, since the
/// earlier ones may have waited for it. In a drawn schedule, begins with the block that is ahead, and returns after the
/// first block that does not only wait.
fn run_pass(launch: &LaunchState, own: &mut OwnBlocks, ahead: Option<&mut Ahead>) -> Progress {
    let count = own.resident.len();
    let rounds = match ahead {
        _ if count == 1 => TURN_ALONE,
        Some(_) => 1,
        None => TURN,
    };
    // The same block stays ahead for some passes. So the other blocks see much of what it does.
    let ahead = ahead.map(|ahead| {
        if ahead.rng.below(2) == 0 {
            ahead.unit = ahead.rng.next();
        }
        (ahead.unit % count as u64) as usize
    });
    let mut moved_in_pass = false;
    for i in 0..count {
        let i = (ahead.unwrap_or_default() + i) % count;
        match run_turn(launch, &mut own.resident[i], rounds) {
            Progress::Ended => {
                let ended = own.resident.remove(i);
                own.end(ended.block);
                return Progress::Ended;
            }
            Progress::Moved => {
                moved_in_pass = true;
                if ahead.is_some() {
                    break;
                }
            }
            Progress::Waited => {}
        }
    }
    // Other blocks of its cluster may have made threads of a stuck block ready.
    // SAFETY: the blocks are the worker's own, and none of their fibers runs.
    moved_in_pass |= own.resident.iter().any(|r| r.stuck && unsafe { (*r.block).warps.ready() } != 0);
    if moved_in_pass { Progress::Moved } else { Progress::Waited }
}

/// Gives a resident block its turn, of so many rounds.
fn run_turn(launch: &LaunchState, resident: &mut Resident, rounds: u32) -> Progress {
    let block = resident.block;
    resident.turns += 1;
    resident.stuck = false;
    // SAFETY: the block is the worker's own, started, and the OS thread
    // has entered the worker's `running`.
    unsafe {
        match schedule::run(block, rounds) {
            BlockTurn::Yielding { moved: true } => return Progress::Moved,
            BlockTurn::Yielding { moved: false } => return Progress::Waited,
            BlockTurn::Finished => {}
            BlockTurn::Stuck if may_go_on(block) => {
                resident.stuck = true;
                return Progress::Waited;
            }
            BlockTurn::Stuck => {
                launch.report(Block::divergence(block));
                Block::abandon(block);
            }
            BlockTurn::Faulted(lane) => {
                schedule::fail_thread(block, lane);
                Block::abandon(block);
            }
            BlockTurn::Aborted => Block::abandon(block),
        }
    }
    Progress::Ended
}

/// True if a block may go on later although none of its threads can go on now: a thread of its cluster can.
unsafe fn may_go_on(block: *const Block) -> bool {
    // SAFETY: the caller's block is live, and with it its cluster.
    unsafe {
        let cluster = (*block).seat.cluster.cast::<Cluster>();
        !cluster.is_null() && Cluster::can_go_on(cluster)
    }
}

/// The fault of resident blocks that have waited in loops for so long. `more`: further blocks have
/// not started.
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
    let mut fault = Fault::of_launch(FaultKind::EndlessWait, message);
    if let Some((block, thread, site)) = first {
        (fault.block, fault.thread, fault.site) = (Some(block), Some(thread), site);
    }
    fault
}
