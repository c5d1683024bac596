//! One launch: its parameters, the state that its workers share, and its result.

use std::collections::BTreeSet;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use gpurace_abi::LaunchShape;
use gpurace_abi::context::MAX_THREADS_PER_BLOCK;
use gpurace_abi::image::KernelFn;
use gpurace_abi::meta::KernelMeta;
use parking_lot::{Condvar, Mutex};

/// The checks of a launch.
pub use gpurace_check::Launch as LaunchChecks;

use crate::fault::{Divergence, Fault, FaultKind};
use crate::image::BlockEntry;
use crate::stack_frame;

/// The most divergences that a report carries; more are counted.
const MAX_DIVERGENCES: usize = 64;
/// The most shared memory of a block, in bytes: the 227 KiB of sm_90.
pub const MAX_SHARED_BYTES: usize = 227 << 10;
/// Alignment of dynamic shared memory.
const DYNAMIC_SHARED_ALIGN: usize = 16;

/// Bytes of arguments, as aligned as any argument (`CUtensorMap`): device code relies on it.
#[derive(Clone, Copy)]
#[repr(C, align(128))]
struct ArgumentLine([u8; 128]);

/// Chunks of blocks that a worker takes up if all workers are equally fast.
const CHUNKS: u64 = 16;
/// The most blocks of a chunk.
const MOST_IN_CHUNK: u64 = 64;

/// Returns true if the block with this linear index is checked.
pub type CheckedBlocks = dyn Fn(u64) -> bool + Send + Sync;

/// A kernel launch.
#[derive(Clone)]
pub struct KernelLaunch<'a> {
    /// The kernel's entry: one of [`Kernel::run`](crate::image::Kernel::run) and
    /// [`Kernel::run_bare`](crate::image::Kernel::run_bare).
    pub entry: KernelFn,
    /// The block entry, if the kernel has one, with checks if `entry` has them. It runs if no seed orders the threads and
    /// the launch has no clusters. A block entry that needs whole warps runs only if the launch has them.
    pub block_entry: Option<BlockEntry>,
    /// The kernel's description.
    pub kernel: &'a KernelMeta,
    /// Grid, blocks and clusters.
    pub shape: LaunchShape,
    /// The arguments, laid out as [`KernelMeta::params`] says.
    pub args: &'a [u8],
    /// True if all blocks must be able to wait for each other.
    pub cooperative: bool,
    /// Id of the launch, unique in the process, from 1.
    pub id: u64,
    /// The launch's checks, or `None` to run it bare.
    pub checks: Option<Arc<LaunchChecks>>,
    /// The blocks that are checked, by linear index, if not all are.
    pub checked_blocks: Option<Arc<CheckedBlocks>>,
    /// Seed of the schedule. The same seed gives the same run, except for 0: then the blocks are
    /// spread over all workers.
    pub seed: u64,
    /// The seed orders the blocks alone. The threads of each block run as without a seed.
    pub seed_orders_blocks: bool,
    /// The number of steps that a trial may make; `None` if the run is no trial. Each turn of a thread is a step, and
    /// so is each check. A trial ends when it has made them, and it prints nothing.
    pub trial: Option<u64>,
}

/// How a schedule chooses among blocks, warps and lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The first one behind this number of quarters of all. If there is none, the first of all.
    From(u32),
    /// The last one.
    Last,
    /// A random one. Such a schedule is a drawn schedule.
    Drawn,
}

impl Choice {
    /// The choice of the schedule that runs all in order.
    pub(crate) const FIRST: Self = Self::From(0);

    /// The choice of the schedule with this seed. Of two blocks, each comes first under one of the seeds 1
    /// and 2; of up to four, each comes first under one of 1 to 5, and each last.
    pub(crate) fn of_seed(seed: u64) -> Self {
        match seed {
            0 | 1 => Self::FIRST,
            2 => Self::Last,
            3 => Self::From(2),
            4 => Self::From(1),
            5 => Self::From(3),
            _ => Self::Drawn,
        }
    }

    /// One of the set bits of a mask, which is not 0, among the bits below `count`.
    pub(crate) fn bit(self, mask: u32, count: u32) -> u32 {
        match self {
            Self::From(quarters) => {
                let after = mask & u32::MAX.checked_shl(quarters * count / 4).unwrap_or(0);
                if after != 0 { after.trailing_zeros() } else { mask.trailing_zeros() }
            }
            Self::Last | Self::Drawn => mask.ilog2(),
        }
    }
}

impl KernelLaunch<'_> {
    /// True if one loop runs all threads of a block, unless a seed orders them.
    pub fn has_loop(&self) -> bool {
        let serves = |entry: BlockEntry| !entry.needs_whole_warps || self.shape.has_whole_warps();
        self.block_entry.is_some_and(serves) && self.shape.clusters(self.kernel.sync.clusters).is_none()
    }

    /// The block entry, if it runs.
    pub(crate) fn block_entry(&self) -> Option<BlockEntry> {
        let in_order = self.seed == 0 || self.seed_orders_blocks;
        self.block_entry.filter(|_| in_order && self.has_loop())
    }

    /// True if each thread has a stack of its own.
    pub(crate) fn suspends(&self) -> bool {
        let sync = &self.kernel.sync;
        // In a drawn schedule, threads also change places after atomics.
        let changes = sync.uses_atomics && Choice::of_seed(self.seed) == Choice::Drawn;
        (sync.suspends || changes) && self.block_entry().is_none()
    }
}

/// The result of a launch that ended without fault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LaunchReport {
    /// Divergences: the first 64.
    pub divergence: Vec<Divergence>,
    /// The number of all divergences.
    pub divergences: u64,
    /// Barriers of the whole block whose threads waited at several places in the source: one for
    /// each set of places, the first 64. The description of the places says if that is wrong
    /// ([`SyncSite::one_place`](gpurace_abi::meta::SyncSite::one_place)).
    pub scattered: Vec<Divergence>,
    /// Barriers of the whole block that threads skipped, in the way of [`DivergenceReason::Skipped`]: one for each
    /// barrier, the first 64.
    pub skipped: Vec<Divergence>,
    /// The launch was a trial, and ended when it had made all its steps.
    pub unfinished: bool,
    /// The steps of a trial.
    pub steps: u64,
}

/// The state of a launch that its workers share.
pub(crate) struct LaunchState {
    pub(crate) entry: KernelFn,
    pub(crate) block_entry: Option<BlockEntry>,
    /// No block waits for another one: the kernel has a block entry.
    pub(crate) blocks_are_apart: bool,
    /// Blocks that a worker takes at a time, if the launch has a block entry.
    pub(crate) chunk: u64,
    /// The first block that no worker has taken.
    pub(crate) next_chunk: AtomicU64,
    /// True if each thread has a stack of its own.
    pub(crate) suspends: bool,
    /// Grid, blocks, and the clusters that device code sees.
    pub(crate) shape: LaunchShape,
    /// Number of blocks in the grid.
    pub(crate) blocks: u64,
    /// Number of threads in a block.
    pub(crate) threads: u32,
    pub(crate) static_bytes: u32,
    /// The largest alignment that the kernel's shared variables ask for, or 0.
    pub(crate) shared_alignment: usize,
    pub(crate) stack_bytes: usize,
    pub(crate) cooperative: bool,
    /// The launch asked for clusters.
    pub(crate) is_explicit_cluster: bool,
    pub(crate) id: u64,
    pub(crate) checks: Option<Arc<LaunchChecks>>,
    pub(crate) checked_blocks: Option<Arc<CheckedBlocks>>,
    pub(crate) seed: u64,
    pub(crate) choice: Choice,
    /// The steps that a trial may make.
    pub(crate) trial: Option<u64>,
    /// The steps that a trial has made.
    pub(crate) steps: AtomicU64,
    pub(crate) workers: usize,
    pub(crate) spin_limit: Duration,
    /// The most blocks that one worker may hold.
    pub(crate) most_resident: usize,
    /// The arguments.
    args: Box<[ArgumentLine]>,
    code: OnceLock<(usize, usize)>,
    /// The workspace of a cooperative launch's grid barrier.
    workspace: Option<Box<[AtomicU64]>>,
    /// Set when a fault ends the launch.
    pub(crate) abort: AtomicBool,
    fault: Mutex<Option<Fault>>,
    report: Mutex<LaunchReport>,
    /// One per worker.
    pub(crate) pulses: Box<[Pulse]>,
    pub(crate) begun: Instant,
    /// Workers that have not finished.
    unfinished: Mutex<usize>,
    finished: Condvar,
}

/// A worker's progress, in nanoseconds since the launch began.
#[derive(Debug)]
pub(crate) struct Pulse {
    /// The time since which its threads have only waited for others; `u64::MAX` if they do not.
    pub(crate) waiting_since: AtomicU64,
    /// The time since which no block of it has ended, and all have only given way; `u64::MAX` if one has ended.
    pub(crate) unended_since: AtomicU64,
    /// The last time at which it found nothing but waiting blocks.
    pub(crate) looked: AtomicU64,
    /// It has no block left.
    pub(crate) finished: AtomicBool,
}

impl Pulse {
    /// The progress of a worker that has done nothing yet.
    const fn new() -> Self {
        Self {
            waiting_since: AtomicU64::new(u64::MAX),
            unended_since: AtomicU64::new(u64::MAX),
            looked: AtomicU64::new(0),
            finished: AtomicBool::new(false),
        }
    }
}

/// Size of a grid barrier's workspace. Cooperative groups use its first 8 bytes (`grid_workspace`:
/// size, barrier).
const WORKSPACE_BYTES: usize = 256;
/// Offset of the word that counts arrivals.
const BARRIER_OFFSET: usize = 4;

/// Offset of dynamic shared memory behind so many bytes of static shared memory.
const fn dynamic_offset(static_bytes: u32) -> usize {
    (static_bytes as usize).next_multiple_of(DYNAMIC_SHARED_ALIGN)
}

/// Checks a launch's sizes. Returns the number of its blocks, and that of a block's threads.
fn counts(launch: &KernelLaunch<'_>) -> Result<(u64, u32), Fault> {
    let (shape, kernel) = (launch.shape, launch.kernel);
    let invalid = |message: String| Err(Fault::of_launch(FaultKind::InvalidConfiguration, message));
    let blocks = shape.grid.iter().try_fold(1u64, |n, &d| n.checked_mul(u64::from(d)));
    let Some(blocks) = blocks.filter(|&blocks| blocks > 0) else {
        return invalid(format!("grid of {:?} blocks", shape.grid));
    };
    let threads = shape.block.iter().map(|&n| u64::from(n)).product::<u64>();
    if threads == 0 || threads > u64::from(MAX_THREADS_PER_BLOCK) {
        return invalid(format!("block of {threads} threads where 1 to {MAX_THREADS_PER_BLOCK} were wanted"));
    }
    let shared = dynamic_offset(kernel.shared_static) + shape.dynamic_shared as usize;
    if shared > MAX_SHARED_BYTES {
        return invalid(format!(
            "{shared} bytes of shared memory where at most {MAX_SHARED_BYTES} were wanted"
        ));
    }
    let cluster = shape.cluster.unwrap_or([1; 3]);
    if !(0..3).all(|i| cluster[i] > 0 && shape.grid[i].is_multiple_of(cluster[i])) {
        return invalid(format!("grid of {:?} blocks in clusters of {cluster:?}", shape.grid));
    }
    let (found, wanted) = (launch.args.len(), kernel.params_size);
    if found < wanted as usize {
        return invalid(format!("{found} bytes of arguments where {wanted} were wanted"));
    }
    Ok((blocks, threads as u32))
}

/// A copy of the arguments, as aligned as device code relies on. There is at least one line.
fn lines_of(args: &[u8]) -> Box<[ArgumentLine]> {
    let lines = args.len().div_ceil(size_of::<ArgumentLine>()).max(1);
    let mut copied = vec![ArgumentLine([0; 128]); lines].into_boxed_slice();
    // SAFETY: the lines have at least as many bytes; both are plain bytes.
    unsafe { ptr::copy_nonoverlapping(args.as_ptr(), copied.as_mut_ptr().cast(), args.len()) };
    copied
}

impl LaunchState {
    /// Checks the launch's sizes, and prepares the state that its workers share.
    pub(crate) fn new(
        launch: &KernelLaunch<'_>,
        workers: usize,
        stack_bytes: usize,
        spin_limit: Duration,
        most_resident: usize,
    ) -> Result<Self, Fault> {
        let (shape, (blocks, threads)) = (launch.shape, counts(launch)?);
        let chunk = match launch.checks {
            None => (blocks / (workers as u64 * CHUNKS)).clamp(1, MOST_IN_CHUNK),
            Some(_) => 1,
        };
        Ok(Self {
            entry: launch.entry,
            block_entry: launch.block_entry(),
            blocks_are_apart: launch.block_entry.is_some(),
            chunk,
            next_chunk: AtomicU64::new(0),
            suspends: launch.suspends(),
            shape: LaunchShape { cluster: shape.clusters(launch.kernel.sync.clusters), ..shape },
            blocks,
            threads,
            static_bytes: launch.kernel.shared_static,
            shared_alignment: launch.kernel.shared_alignment as usize,
            stack_bytes,
            cooperative: launch.cooperative,
            is_explicit_cluster: shape.cluster.is_some(),
            id: launch.id,
            checks: launch.checks.clone(),
            checked_blocks: launch.checked_blocks.clone(),
            seed: launch.seed,
            choice: Choice::of_seed(launch.seed),
            trial: launch.trial,
            steps: AtomicU64::new(0),
            workers,
            spin_limit,
            most_resident,
            args: lines_of(launch.args),
            code: OnceLock::new(),
            workspace: launch
                .cooperative
                .then(|| (0..WORKSPACE_BYTES / 8).map(|_| AtomicU64::new(0)).collect()),
            abort: AtomicBool::new(false),
            fault: Mutex::new(None),
            report: Mutex::default(),
            pulses: (0..workers).map(|_| Pulse::new()).collect(),
            begun: Instant::now(),
            unfinished: Mutex::new(workers),
            finished: Condvar::new(),
        })
    }

    /// The argument buffer.
    pub(crate) fn args(&self) -> *const u8 {
        self.args.as_ptr().cast()
    }

    /// Start and size of the kernel's code.
    pub(crate) fn code(&self) -> (usize, usize) {
        *self.code.get_or_init(|| stack_frame::code_around(self.entry as *const () as usize))
    }

    /// Offset of dynamic shared memory from the block's base.
    pub(crate) fn dynamic_offset(&self) -> usize {
        dynamic_offset(self.static_bytes)
    }

    /// Size of a block's shared memory in bytes.
    pub(crate) fn shared_bytes(&self) -> usize {
        self.dynamic_offset() + self.shape.dynamic_shared as usize
    }

    /// True if the context names the thread that runs. If the threads run in one vectorised loop,
    /// it does not.
    pub(crate) fn names_threads(&self) -> bool {
        self.block_entry.is_none_or(|entry| self.checks.is_some() && entry.sets_threads)
    }

    /// True if workers take chunks of blocks as they get to them, not each its share. Reports do
    /// not depend on it.
    pub(crate) fn in_chunks(&self) -> bool {
        self.block_entry.is_some() && self.checks.is_none()
    }

    /// Number of stacks that a resident block needs.
    pub(crate) fn stacks(&self) -> usize {
        if self.suspends { self.threads as usize } else { 1 }
    }

    /// Blocks of a cluster, by dimension.
    pub(crate) fn cluster_size(&self) -> [u32; 3] {
        self.shape.cluster.unwrap_or([1; 3])
    }

    /// Number of units that workers take up: clusters, or blocks if there are none.
    pub(crate) fn units(&self) -> u64 {
        self.blocks / self.blocks_of_unit() as u64
    }

    /// Number of blocks of a unit.
    pub(crate) fn blocks_of_unit(&self) -> usize {
        self.cluster_size().iter().product::<u32>() as usize
    }

    /// The grid barrier's workspace, or null.
    pub(crate) fn workspace(&self) -> *mut u8 {
        self.workspace.as_ref().map_or(ptr::null_mut(), |w| w.as_ptr().cast_mut().cast())
    }

    /// Number of blocks that are checked, if the launch has checks.
    pub(crate) fn checked(&self) -> u64 {
        match &self.checked_blocks {
            Some(wanted) => (0..self.blocks).filter(|&block| wanted(block)).count() as u64,
            None => self.blocks,
        }
    }

    /// The address of the word that counts the arrivals at the grid barrier, if the launch is cooperative.
    pub(crate) fn grid_barrier(&self) -> Option<usize> {
        self.workspace.as_ref().map(|workspace| workspace.as_ptr().addr() + BARRIER_OFFSET)
    }

    /// Ends the launch with a fault. The first fault stays.
    pub(crate) fn fail(&self, fault: Fault) {
        self.fault.lock().get_or_insert(fault);
        self.abort.store(true, Ordering::Relaxed);
    }

    /// Counts steps of a trial. If it has made all that it may, ends it and returns false.
    pub(crate) fn count_steps(&self, steps: u64) -> bool {
        let Some(most) = self.trial else { return true };
        let goes_on = self.steps.fetch_add(steps, Ordering::Relaxed) + steps < most;
        if !goes_on {
            self.report.lock().unfinished = true;
            self.abort.store(true, Ordering::Relaxed);
        }
        goes_on
    }

    /// Notes a divergence.
    pub(crate) fn report(&self, divergence: Divergence) {
        let mut report = self.report.lock();
        report.divergences += 1;
        if report.divergence.len() < MAX_DIVERGENCES {
            report.divergence.push(divergence);
        }
    }

    /// Notes threads that waited at several places for one barrier.
    pub(crate) fn report_scattered(&self, divergence: Divergence) {
        add_once(&mut self.report.lock().scattered, divergence);
    }

    /// Notes threads that waited at a barrier which others skip by ending.
    pub(crate) fn report_skipped(&self, divergence: Divergence) {
        add_once(&mut self.report.lock().skipped, divergence);
    }

    /// Nanoseconds since the launch began.
    pub(crate) fn now(&self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }

    /// Notes that a worker has done its share.
    pub(crate) fn finish(&self, worker: usize) {
        self.pulses[worker].finished.store(true, Ordering::Relaxed);
        let mut unfinished = self.unfinished.lock();
        *unfinished -= 1;
        if *unfinished == 0 {
            self.finished.notify_all();
        }
    }

    /// Waits until every worker has done its share, and returns the result.
    pub(crate) fn wait(&self) -> Result<LaunchReport, Fault> {
        let mut unfinished = self.unfinished.lock();
        while *unfinished != 0 {
            self.finished.wait(&mut unfinished);
        }
        match self.fault.lock().take() {
            Some(fault) => Err(fault),
            None => {
                let mut report = std::mem::take(&mut *self.report.lock());
                report.steps = self.steps.load(Ordering::Relaxed);
                // Workers report in any order.
                for found in [&mut report.divergence, &mut report.scattered, &mut report.skipped] {
                    found.sort_by_key(in_order);
                }
                Ok(report)
            }
        }
    }
}

/// Adds a divergence. Of those with the same places, the one of the first block stays, in whatever order workers come.
fn add_once(known: &mut Vec<Divergence>, divergence: Divergence) {
    let places = |d: &Divergence| d.waiting.iter().map(|w| w.sync).collect::<BTreeSet<_>>();
    match known.iter().position(|d| places(d) == places(&divergence)) {
        Some(at) if in_order(&divergence) < in_order(&known[at]) => known[at] = divergence,
        Some(_) => {}
        None if known.len() < MAX_DIVERGENCES => known.push(divergence),
        None => {}
    }
}

/// What divergences are sorted by: their blocks, in the order of the grid.
fn in_order(d: &Divergence) -> [u32; 3] {
    let [x, y, z] = d.block;
    [z, y, x]
}
