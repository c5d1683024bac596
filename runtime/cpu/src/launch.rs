//! One launch: what it is asked to do, what it shares between workers, and
//! what it gives back.

use std::collections::BTreeSet;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use gpurace_abi::context::MAX_THREADS_PER_BLOCK;
use gpurace_abi::image::KernelFn;
use gpurace_abi::meta::KernelMeta;
use parking_lot::{Condvar, Mutex};

use crate::block::{Block, Lane, unflatten};
use crate::checks::LaunchChecks;
use crate::fault::{Divergence, Fault, FaultKind};
use crate::frame;
use crate::image::BlockEntry;

/// Divergences that a report carries; more are counted.
const MAX_DIVERGENCES: usize = 64;
/// Most shared memory of a block, bytes: the 227 KiB of sm_90.
pub const MAX_SHARED_BYTES: usize = 227 << 10;
/// Alignment of dynamic shared memory.
const DYNAMIC_SHARED_ALIGN: usize = 16;

/// Chunks of blocks that a worker takes up, where they are equally fast.
const CHUNKS: u64 = 16;
/// Most blocks of a chunk.
const MOST_IN_CHUNK: u64 = 64;

/// Tells whether the block with this linear index is checked.
pub type CheckedBlocks = dyn Fn(u64) -> bool + Send + Sync;

/// A kernel launch.
#[derive(Clone)]
pub struct Launch<'a> {
    /// The kernel's entry: one of [`Kernel::run`](crate::image::Kernel::run) and
    /// [`Kernel::run_bare`](crate::image::Kernel::run_bare).
    pub entry: KernelFn,
    /// How it runs a whole block at once, if it can, with checks if the entry has
    /// them: taken where the schedule is the one without a seed.
    pub block_entry: Option<BlockEntry>,
    /// What the kernel's description says.
    pub kernel: &'a KernelMeta,
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Threads of a block, at most 1024 together.
    pub block: [u32; 3],
    /// Dynamic shared memory, bytes.
    pub dynamic_shared_bytes: u32,
    /// The arguments, laid out as [`KernelMeta::params`] says.
    pub args: &'a [u8],
    /// Whether all blocks must be able to wait for each other.
    pub cooperative: bool,
    /// Blocks of a cluster, where the launch asks for clusters.
    pub cluster: Option<[u32; 3]>,
    /// Id of the launch, unique in the process, from 1.
    pub id: u64,
    /// The launch's checks, or `None` to run it bare.
    pub checks: Option<Arc<LaunchChecks>>,
    /// Which blocks are checked, by linear index, where not all are.
    pub checked_blocks: Option<Arc<CheckedBlocks>>,
    /// Seed of the schedule. 0 runs blocks, warps and lanes in order and
    /// spreads the blocks over all workers; any other seed draws every
    /// choice, on one worker, so that the same seed gives the same run.
    pub seed: u64,
}

impl Launch<'_> {
    /// How it runs a whole block at once, if it does.
    pub(crate) fn block_entry(&self) -> Option<BlockEntry> {
        let alone = clusters(self.cluster, self.kernel).is_none();
        self.block_entry.filter(|_| alone && self.seed == 0)
    }

    /// Whether its threads have stacks of their own.
    pub(crate) fn suspends(&self) -> bool {
        self.kernel.sync.suspends && self.block_entry().is_none()
    }
}

/// What a launch that ended well has to say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LaunchReport {
    /// Blocks whose threads waited for threads that never came: the first 64.
    pub divergence: Vec<Divergence>,
    /// How many there were.
    pub divergences: u64,
    /// Barriers of the whole block that threads came to from several places in
    /// the source: one for each set of places, the first 64. Whether they may is
    /// for the description of these places to say
    /// ([`SyncSite::one_place`](gpurace_abi::meta::SyncSite::one_place)).
    pub scattered: Vec<Divergence>,
}

/// Blocks of a cluster in a launch of a kernel, where it has clusters: of several
/// blocks, or of one where the kernel can tell.
pub fn clusters(asked: Option<[u32; 3]>, kernel: &KernelMeta) -> Option<[u32; 3]> {
    let several = asked.filter(|&size| size != [1; 3]);
    several.or(kernel.sync.clusters.then_some([1; 3]))
}

/// A launch as its workers see it.
pub(crate) struct LaunchState {
    pub(crate) entry: KernelFn,
    pub(crate) block_entry: Option<BlockEntry>,
    /// Blocks that a worker takes at once, with such an entry, and the first that
    /// none has taken.
    pub(crate) chunk: u64,
    pub(crate) next_chunk: AtomicU64,
    /// Whether its threads have stacks of their own.
    pub(crate) suspends: bool,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    /// Blocks of the grid.
    pub(crate) blocks: u64,
    /// Threads of a block.
    pub(crate) threads: u32,
    pub(crate) dynamic_bytes: u32,
    pub(crate) static_bytes: u32,
    pub(crate) stack_bytes: usize,
    pub(crate) cooperative: bool,
    /// Blocks of a cluster, in a launch with clusters: those of a kernel that can tell
    /// have clusters of one block if nothing else was asked for.
    pub(crate) cluster: Option<[u32; 3]>,
    pub(crate) is_explicit_cluster: bool,
    pub(crate) id: u64,
    pub(crate) checks: Option<Arc<LaunchChecks>>,
    pub(crate) checked_blocks: Option<Arc<CheckedBlocks>>,
    pub(crate) seed: u64,
    pub(crate) workers: usize,
    pub(crate) spin_limit: Duration,
    /// Most blocks that one worker may hold.
    pub(crate) most_resident: usize,
    /// The arguments, 16-byte aligned.
    args: Box<[u128]>,
    code: OnceLock<(usize, usize)>,
    /// The grid barrier's workspace of a cooperative launch.
    workspace: Option<Box<[AtomicU64]>>,
    /// Set when the launch ends before its time.
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

/// A worker's signs of life, in nanoseconds since the launch began.
#[derive(Debug)]
pub(crate) struct Pulse {
    /// Since when its threads only wait for others; `u64::MAX` where they do not.
    pub(crate) waiting_since: AtomicU64,
    /// Since when its blocks only give way and none has ended; `u64::MAX` where one has.
    pub(crate) unended_since: AtomicU64,
    /// When it last looked.
    pub(crate) looked: AtomicU64,
    /// It has no block left.
    pub(crate) finished: AtomicBool,
}

/// The grid barrier's workspace: cooperative groups use its first 8 bytes
/// (`grid_workspace`: size, barrier).
const WORKSPACE_BYTES: usize = 256;

impl LaunchState {
    /// Checks the launch's sizes and prepares what its workers share.
    pub(crate) fn new(
        launch: &Launch<'_>,
        workers: usize,
        stack_bytes: usize,
        spin_limit: Duration,
        most_resident: usize,
    ) -> Result<Self, Fault> {
        let threads = launch.block.iter().map(|&n| u64::from(n)).product::<u64>();
        let blocks = launch.grid.iter().try_fold(1u64, |n, &d| n.checked_mul(u64::from(d)));
        let invalid = |message: String| Fault::of_launch(FaultKind::InvalidConfiguration, message);
        let blocks = match blocks {
            Some(n) if n > 0 => n,
            _ => return Err(invalid(format!("grid of {:?} blocks", launch.grid))),
        };
        if threads == 0 || threads > u64::from(MAX_THREADS_PER_BLOCK) {
            return Err(invalid(format!(
                "block of {threads} threads where 1 to {MAX_THREADS_PER_BLOCK} were wanted"
            )));
        }
        let dynamic_offset = (launch.kernel.shared_static as usize).next_multiple_of(DYNAMIC_SHARED_ALIGN);
        let shared = dynamic_offset + launch.dynamic_shared_bytes as usize;
        if shared > MAX_SHARED_BYTES {
            return Err(invalid(format!(
                "{shared} bytes of shared memory where at most {MAX_SHARED_BYTES} were wanted"
            )));
        }
        let cluster = launch.cluster.unwrap_or([1; 3]);
        if !(0..3).all(|i| cluster[i] > 0 && launch.grid[i].is_multiple_of(cluster[i])) {
            return Err(invalid(format!("grid of {:?} blocks in clusters of {cluster:?}", launch.grid)));
        }
        if launch.args.len() < launch.kernel.params_size as usize {
            return Err(invalid(format!(
                "{} bytes of arguments where {} were wanted",
                launch.args.len(),
                launch.kernel.params_size
            )));
        }
        let mut args = vec![0u128; launch.args.len().div_ceil(16).max(1)].into_boxed_slice();
        // SAFETY: `args` has at least as many bytes; both are plain bytes.
        unsafe {
            ptr::copy_nonoverlapping(launch.args.as_ptr(), args.as_mut_ptr().cast(), launch.args.len());
        }
        let chunk = match launch.checks {
            None => (blocks / (workers as u64 * CHUNKS)).clamp(1, MOST_IN_CHUNK),
            Some(_) => 1,
        };
        Ok(Self {
            entry: launch.entry,
            block_entry: launch.block_entry(),
            chunk,
            next_chunk: AtomicU64::new(0),
            suspends: launch.suspends(),
            grid: launch.grid,
            block: launch.block,
            blocks,
            threads: threads as u32,
            dynamic_bytes: launch.dynamic_shared_bytes,
            static_bytes: launch.kernel.shared_static,
            stack_bytes,
            cooperative: launch.cooperative,
            cluster: clusters(launch.cluster, launch.kernel),
            is_explicit_cluster: launch.cluster.is_some(),
            id: launch.id,
            checks: launch.checks.clone(),
            checked_blocks: launch.checked_blocks.clone(),
            seed: launch.seed,
            workers,
            spin_limit,
            most_resident,
            args,
            code: OnceLock::new(),
            workspace: launch
                .cooperative
                .then(|| (0..WORKSPACE_BYTES / 8).map(|_| AtomicU64::new(0)).collect()),
            abort: AtomicBool::new(false),
            fault: Mutex::new(None),
            report: Mutex::default(),
            pulses: (0..workers)
                .map(|_| Pulse {
                    waiting_since: AtomicU64::new(u64::MAX),
                    unended_since: AtomicU64::new(u64::MAX),
                    looked: AtomicU64::new(0),
                    finished: AtomicBool::new(false),
                })
                .collect(),
            begun: Instant::now(),
            unfinished: Mutex::new(workers),
            finished: Condvar::new(),
        })
    }

    /// The argument buffer.
    pub(crate) fn args(&self) -> *const u8 {
        self.args.as_ptr().cast()
    }

    /// Addresses of the kernel's code: start and length.
    pub(crate) fn code(&self) -> (usize, usize) {
        *self.code.get_or_init(|| frame::code_around(self.entry as *const () as usize))
    }

    /// Offset of dynamic shared memory from the block's base.
    pub(crate) fn dynamic_offset(&self) -> usize {
        (self.static_bytes as usize).next_multiple_of(DYNAMIC_SHARED_ALIGN)
    }

    /// Shared memory of a block, bytes.
    pub(crate) fn shared_bytes(&self) -> usize {
        self.dynamic_offset() + self.dynamic_bytes as usize
    }

    /// Whether each thread runs by itself, with its own index in its context, to its end
    /// or to a barrier: checks know no other way.
    fn takes_threads_in_turn(&self) -> bool {
        self.block_entry.is_none_or(|entry| self.checks.is_some() && entry.sets_threads)
    }

    /// Whether workers take blocks as they come to them, some at a time, rather than
    /// in turn: nothing that is reported rests on it.
    pub(crate) fn in_chunks(&self) -> bool {
        self.block_entry.is_some() && self.checks.is_none()
    }

    /// Stacks that a resident block needs.
    pub(crate) fn stacks(&self) -> usize {
        if self.suspends { self.threads as usize } else { 1 }
    }

    /// Blocks of a cluster, by dimension.
    pub(crate) fn cluster_size(&self) -> [u32; 3] {
        self.cluster.unwrap_or([1; 3])
    }

    /// What workers take up at once: clusters, or blocks where there are none.
    pub(crate) fn units(&self) -> u64 {
        self.blocks / self.blocks_of_unit() as u64
    }

    /// Blocks of one of them.
    pub(crate) fn blocks_of_unit(&self) -> usize {
        self.cluster_size().iter().product::<u32>() as usize
    }

    /// The grid barrier's workspace, or null.
    pub(crate) fn workspace(&self) -> *mut u8 {
        self.workspace.as_ref().map_or(ptr::null_mut(), |w| w.as_ptr().cast_mut().cast())
    }

    /// Ends the launch; the first fault stays.
    pub(crate) fn fail(&self, fault: Fault) {
        self.fault.lock().get_or_insert(fault);
        self.abort.store(true, Ordering::Relaxed);
    }

    /// Ends the launch with the fault of a thread.
    ///
    /// # Safety
    /// `block` and `lane` are live and no fiber of the block runs.
    pub(crate) unsafe fn fail_thread(&self, block: *const Block, lane: *const Lane) {
        // SAFETY: the caller's.
        let (b, l) = unsafe { (&*block, &*lane) };
        if let Some(fault) = &b.fault {
            let own = || (self.takes_threads_in_turn() || !fault.by_signal).then_some(l.ctx.tid);
            self.fail(Fault {
                kind: fault.kind.clone(),
                kernel: String::new(),
                block: Some(b.ctaid),
                // Where all threads run in one vectorised loop, memory does not say which.
                thread: fault.left.map(|left| unflatten(u64::from(left.thread), self.block)).or_else(own),
                sync: fault.sync,
                site: fault.left.map(|left| left.site).or(l.site),
                message: fault.message.clone(),
            });
        }
    }

    /// Notes a divergence.
    pub(crate) fn report(&self, divergence: Divergence) {
        let mut report = self.report.lock();
        report.divergences += 1;
        if report.divergence.len() < MAX_DIVERGENCES {
            report.divergence.push(divergence);
        }
    }

    /// Notes threads that met at a barrier from several places.
    pub(crate) fn report_scattered(&self, divergence: Divergence) {
        let places = |d: &Divergence| d.waiting.iter().map(|w| w.sync).collect::<BTreeSet<_>>();
        let scattered = &mut self.report.lock().scattered;
        if scattered.len() < MAX_DIVERGENCES && scattered.iter().all(|d| places(d) != places(&divergence)) {
            scattered.push(divergence);
        }
    }

    /// Nanoseconds since the launch began.
    pub(crate) fn now(&self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }

    /// A worker has done its share.
    pub(crate) fn finish(&self, worker: usize) {
        self.pulses[worker].finished.store(true, Ordering::Relaxed);
        let mut unfinished = self.unfinished.lock();
        *unfinished -= 1;
        if *unfinished == 0 {
            self.finished.notify_all();
        }
    }

    /// Waits until every worker has done its share, and takes the result.
    pub(crate) fn wait(&self) -> Result<LaunchReport, Fault> {
        let mut unfinished = self.unfinished.lock();
        while *unfinished != 0 {
            self.finished.wait(&mut unfinished);
        }
        match self.fault.lock().take() {
            Some(fault) => Err(fault),
            None => {
                let mut report = std::mem::take(&mut *self.report.lock());
                // Workers report as they come; the report does not show it.
                for found in [&mut report.divergence, &mut report.scattered] {
                    found.sort_by_key(|d| (d.block[2], d.block[1], d.block[0]));
                }
                Ok(report)
            }
        }
    }
}
