//! The executor: spreads launches over a pool of workers.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::fault::{Fault, FaultKind};
use crate::idle::IdleBlocks;
use crate::launch::{KernelLaunch, LaunchReport, LaunchState};
use crate::stack;
use crate::worker::Worker;

/// Bytes of stack that entry points need below the kernel's own stack frames.
const ENTRY_STACK: usize = 16 << 10;
/// Bytes of the stack of a loop over threads; there is one per worker.
const LOOP_STACK: usize = 1 << 20;
/// Threads of a launch below which waking other workers costs more than it saves.
const INLINE_THREADS: u64 = 256;

/// Number of cores that this process may use, as it was at the first call. The system reads files of the
/// process's cgroup for it, which takes longer than a small launch.
pub fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// The settings of an [`Executor`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Number of workers, the calling OS thread included; 0 means one per core.
    pub workers: usize,
    /// Bytes of a device thread's stack; a kernel's own estimate may raise it.
    pub stack_bytes: usize,
    /// Wall time after which a launch ends with a fault, if all its threads wait in loops.
    pub spin_limit: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self { workers: 0, stack_bytes: 64 << 10, spin_limit: Duration::from_secs(10) }
    }
}

/// Runs launches. Several OS threads may use one executor at a time.
pub struct Executor {
    config: Mutex<Config>,
    most_stacks: usize,
    blocks: Arc<IdleBlocks>,
    /// Workers for calling OS threads, which run no launch.
    idle: Mutex<Vec<Worker>>,
    pool: Arc<Pool>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// A worker's share of a launch.
struct Job {
    launch: Arc<LaunchState>,
    worker: usize,
}

#[derive(Default)]
struct Pool {
    queue: Mutex<JobQueue>,
    wake: Condvar,
}

#[derive(Default)]
struct JobQueue {
    jobs: VecDeque<Job>,
    /// Number of the pool's OS threads that run no job. It includes those that are still on the way back from one.
    free: usize,
    stop: bool,
}

impl JobQueue {
    /// Takes a job of this launch that has not begun.
    fn take(&mut self, launch: &Arc<LaunchState>) -> Option<Job> {
        let at = self.jobs.iter().position(|job| Arc::ptr_eq(&job.launch, launch))?;
        self.jobs.remove(at)
    }
}

impl Executor {
    /// An executor without OS threads; launches start them as they need them.
    pub fn new(config: Config) -> Self {
        let most_stacks = stack::most_stacks();
        Self {
            config: Mutex::new(config),
            most_stacks,
            blocks: Arc::new(IdleBlocks::new(most_stacks)),
            idle: Mutex::default(),
            pool: Arc::default(),
            threads: Mutex::default(),
        }
    }

    /// The executor of a child that this process has just forked. It has one worker, and this executor's idle blocks.
    /// The OS threads of this executor are not in the child.
    pub fn in_child(&self) -> Self {
        Self {
            config: Mutex::new(Config { workers: 1, ..self.config() }),
            most_stacks: self.most_stacks,
            blocks: self.blocks.clone(),
            idle: Mutex::default(),
            pool: Arc::default(),
            threads: Mutex::default(),
        }
    }

    /// The settings.
    pub fn config(&self) -> Config {
        *self.config.lock()
    }

    /// Sets the number of workers, from the next launch on.
    pub fn set_workers(&self, workers: usize) {
        self.config.lock().workers = workers;
    }

    /// Sets the bytes of a device thread's stack, from the next launch on.
    pub fn set_stack_bytes(&self, bytes: usize) {
        self.config.lock().stack_bytes = bytes;
    }

    /// Number of workers that a launch may use.
    pub fn workers(&self) -> usize {
        match self.config.lock().workers {
            0 => cores(),
            n => n,
        }
    }

    /// Number of OS threads that it has started.
    pub fn threads(&self) -> usize {
        self.threads.lock().len()
    }

    /// The most blocks of a cooperative launch, for this many threads and bytes of shared memory in
    /// a block.
    pub fn max_cooperative_blocks(&self, threads_per_block: u32, shared_bytes: usize) -> u64 {
        if shared_bytes > crate::launch::MAX_SHARED_BYTES {
            return 0;
        }
        (self.most_stacks as u64) / u64::from(threads_per_block.max(1))
    }

    /// Runs a launch to its end.
    ///
    /// # Errors
    /// The [`Fault`] that ended it.
    pub fn run(&self, launch: &KernelLaunch<'_>) -> Result<LaunchReport, Fault> {
        let ended = self.prepare(launch).and_then(|state| self.run_shares(state));
        ended.map_err(|fault| Fault { kernel: launch.kernel.name.clone(), ..fault })
    }

    /// The state of a launch before it begins. A fault if its blocks are too many or too large.
    fn prepare(&self, launch: &KernelLaunch<'_>) -> Result<LaunchState, Fault> {
        let mut workers = self.workers_for(launch);
        if workers > 1 && self.start_threads(&mut self.pool.queue.lock(), workers - 1).is_err() {
            // Shares may wait for each other, so this OS thread runs the launch as one.
            workers = 1;
        }
        let config = self.config();
        let threads: u64 = launch.shape.block.iter().map(|&n| u64::from(n)).product();
        let stacks = if launch.suspends() { threads.max(1) as usize } else { 1 };
        let most_resident = (self.most_stacks / stacks / workers).max(1);
        let stack_bytes = stack_bytes(&config, launch);
        let state = LaunchState::new(launch, workers, stack_bytes, config.spin_limit, most_resident)?;
        if state.blocks_of_unit() > most_resident {
            let message = format!(
                "clusters of {} blocks of {threads} threads where {most_resident} can be resident together",
                state.blocks_of_unit()
            );
            return Err(Fault::of_launch(FaultKind::TooManyResources, message));
        }
        let max_blocks = self.max_cooperative_blocks(state.threads, state.shared_bytes());
        if launch.cooperative && state.blocks > max_blocks {
            let message = format!(
                "cooperative launch of {} blocks where at most {max_blocks} were wanted",
                state.blocks
            );
            return Err(Fault::of_launch(FaultKind::CooperativeLaunchTooLarge { max_blocks }, message));
        }
        Ok(state)
    }

    /// Runs all shares of a launch, and waits for those that other workers run.
    fn run_shares(&self, state: LaunchState) -> Result<LaunchReport, Fault> {
        let state = Arc::new(state);
        let grid_barrier = state.checks.as_ref().zip(state.grid_barrier());
        if let Some((checks, barrier)) = grid_barrier {
            checks.begin_grid_barrier(barrier, state.checked());
        }
        if state.workers > 1 {
            self.offer(&state);
        }
        let mut worker = self.idle.lock().pop().unwrap_or_else(|| Worker::new(self.blocks.clone()));
        worker.run(&state, 0);
        state.finish(0);
        // This OS thread runs the shares that no other has begun: a short launch does not wait for
        // the pool to wake up.
        while let Some(job) = self.pool.queue.lock().take(&state) {
            worker.run(&state, job.worker);
            state.finish(job.worker);
        }
        self.idle.lock().push(worker);
        let ended = state.wait();
        if let Some((checks, barrier)) = grid_barrier {
            checks.end_grid_barrier(barrier);
        }
        ended
    }

    /// Number of workers that this launch is spread over.
    fn workers_for(&self, launch: &KernelLaunch<'_>) -> usize {
        let product = |d: [u32; 3]| d.iter().fold(1u64, |n, &d| n.saturating_mul(u64::from(d)));
        let blocks = product(launch.shape.grid) / launch.shape.cluster.map_or(1, product).max(1);
        let threads = blocks.saturating_mul(product(launch.shape.block));
        if launch.seed != 0 || threads <= INLINE_THREADS {
            return 1;
        }
        self.workers().min(usize::try_from(blocks).unwrap_or(usize::MAX)).max(1)
    }

    /// Gives all shares except the first to the pool.
    fn offer(&self, launch: &Arc<LaunchState>) {
        let mut queue = self.pool.queue.lock();
        for worker in 1..launch.workers {
            queue.jobs.push_back(Job { launch: launch.clone(), worker });
        }
        // Each job has an OS thread of its own: shares of a cooperative launch wait for each other.
        if let Err(e) = self.start_threads(&mut queue, 0) {
            let message = format!("cannot start a worker thread: {e}");
            launch.fail(Fault::of_launch(FaultKind::TooManyResources, message));
            let mine = |job: &Job| Arc::ptr_eq(&job.launch, launch);
            for job in queue.jobs.iter().filter(|job| mine(job)) {
                launch.finish(job.worker);
            }
            queue.jobs.retain(|job| !mine(job));
            return;
        }
        for _ in 1..launch.workers {
            self.pool.wake.notify_one();
        }
    }

    /// Starts OS threads until there is a free one for each job in the queue, and `more` beyond these.
    fn start_threads(&self, queue: &mut JobQueue, more: usize) -> io::Result<()> {
        while queue.free < queue.jobs.len() + more {
            let (pool, blocks) = (self.pool.clone(), self.blocks.clone());
            let body = move || serve(&pool, Worker::new(blocks));
            let thread = std::thread::Builder::new().name("gpurace-worker".into()).spawn(body)?;
            queue.free += 1;
            self.threads.lock().push(thread);
        }
        Ok(())
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        self.pool.queue.lock().stop = true;
        self.pool.wake.notify_all();
        for thread in self.threads.get_mut().drain(..) {
            // A panic of a worker is of no consequence any more.
            let _ = thread.join();
        }
    }
}

/// The body of a pool's OS thread: runs jobs until the pool stops.
fn serve(pool: &Pool, mut worker: Worker) {
    let mut queue = pool.queue.lock();
    loop {
        if let Some(job) = queue.jobs.pop_front() {
            queue.free -= 1;
            drop(queue);
            worker.run(&job.launch, job.worker);
            // The next launch may begin as soon as this one is done. It must not start a thread in place of
            // this one.
            pool.queue.lock().free += 1;
            job.launch.finish(job.worker);
            drop(job);
            queue = pool.queue.lock();
        } else if queue.stop {
            return;
        } else {
            pool.wake.wait(&mut queue);
        }
    }
}

/// Bytes of the stack of each device thread of a launch.
fn stack_bytes(config: &Config, launch: &KernelLaunch<'_>) -> usize {
    let kernel = launch.kernel.stack as usize + ENTRY_STACK;
    let least = if launch.suspends() { config.stack_bytes } else { LOOP_STACK };
    config.stack_bytes.max(kernel).max(least).next_multiple_of(4096)
}
