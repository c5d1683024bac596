//! Replays the event log of a launch on a GPU in the executor's checker.
//!
//! A GPU decides by itself what barriers of blocks and of whole warps order. Any other order needs
//! vector clocks, for which a GPU's blocks have no room. So the order that fences, atomics, masks
//! and named barriers make is implemented once, and a GPU reports the races that the executor would
//! report. BARRACUDA (PLDI 2017) checked every kernel by a log. Here a log is bounded.
//!
//! An event log ([`gpurace_abi::event`]) holds what the threads of a launch did, from the start up to
//! some point. If one event happens before another, it also comes before it in the log. Events that
//! nothing orders interleave in any way. So each event is handed to the checker in the log's order,
//! and any order that the checker derives from synchronisation is one that the threads had. Some
//! things differ from the executor:
//!
//! - Threads pass a barrier one after the other, not at once. The first event of a passing thread
//!   stands for all threads that wait. Those of the other threads come late, maybe after some threads
//!   have come to the next barrier, and are ignored. No thread comes to the next barrier before some
//!   thread has passed this one.
//! - Between the two events of an atomic access, other threads may write the location. It is not
//!   known which write comes first, so a reader learns from all of them ([`crate::order::syncvar`]).
//!   Races may be missed, but none is made up. If only this excuses a plain access, the pair is
//!   counted as undecided. It is reported if two threads' excuses cannot both hold
//!   ([`crate::order::observed`]).
//! - The caller turns accesses through textures and surfaces into reads and writes: it knows the
//!   memory behind a handle.
//! - Offsets in shared memory become addresses that no program has. A block that has ended leaves
//!   its addresses to another one.
//!
//! | file | what it knows |
//! |---|---|
//! | `replay.rs` | an event log, and which of its blocks run |
//! | `replay/running.rs` | the threads of a running block: what they wait for, what their events mean to the checker |

mod running;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::BuildHasherDefault;
use std::ops::Range;
use std::sync::Arc;

use gpurace_abi::event::{Event, EventKind};
use gpurace_abi::meta::SyncFeatures;

use crate::model::race::KernelKey;
use crate::model::race::RaceRecord;
use crate::order::cluster::{ClusterBarrier, Clusters};
use crate::order::syncvar::LineHasher;
use crate::run::checker::{Checker, Limits};
use crate::run::launch::{Launch, LaunchInfo};
use running::Running;

/// Where shared memory is put: far from the memory of programs, of device and host alike.
const SHARED: Range<usize> = 0x6000_0000_0000..0x6100_0000_0000;
/// Alignment of a block's shared memory.
const ALIGNMENT: usize = 4096;
/// Most threads of a block.
const MOST_THREADS: u32 = 1024;
/// Number of launches after which a new checker is made: what a checker keeps grows with each. Not
/// after each launch, since to end a checker costs more than to replay a short log.
const MOST_LAUNCHES: u32 = 64;
/// Number of events after which a new checker is made.
const MOST_EVENTS: usize = 1 << 20;

/// A launch whose event log is replayed.
#[derive(Clone, Copy, Debug)]
pub struct Logged {
    /// Its id, for [`RaceRecord::launch`] and [`Side::launch`](crate::Side::launch).
    pub id: u64,
    /// Its kernel, for [`RaceRecord::kernel`].
    pub kernel: KernelKey,
    /// Its stream, for [`Side::stream`](crate::Side::stream).
    pub stream: u64,
    /// Threads of a block.
    pub threads_per_block: u32,
    /// Blocks.
    pub blocks: u64,
    /// How the blocks form clusters, if they do.
    pub clusters: Option<Clusters>,
    /// What synchronisation the kernel can reach. The replay assumes all that makes a launch exact.
    pub features: SyncFeatures,
    /// Most bytes of shared memory of a block.
    pub shared: usize,
}

/// What was found in an event log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replayed {
    /// Races between accesses of the launch. Sites are the module's. An offset in the block's shared
    /// memory is [`RaceRecord::address`] less [`RaceRecord::shared_base`].
    pub races: Vec<RaceRecord>,
    /// Number of plain accesses that conflict with an atomic write which their thread may or may not
    /// have observed.
    pub undecided: u64,
    /// Something unknown may have ordered threads: races may be false.
    pub unknown: bool,
    /// Global memory that the threads marked as benign: races on it are intended, also in later
    /// launches until it is freed.
    pub benign: Vec<Range<usize>>,
    /// What the checker has lost, in sentences for the report's notes.
    pub notes: Vec<String>,
    /// Number of events that make no sense, or access memory that has no place in the shadow.
    pub left_out: u64,
}

/// Replays event logs, one launch after the other. Each launch happens before the next one.
pub struct Replay {
    checker: Checker,
    launches: u32,
    events: usize,
}

impl Default for Replay {
    fn default() -> Self {
        Self::new()
    }
}

impl Replay {
    /// A replay of no launch yet.
    pub fn new() -> Self {
        // In a log more atomics are under way at once than in the executor: it is often unknown which
        // of them a thread has observed.
        let limits = Limits { reports_undecided: false, ..Limits::default() };
        Self { checker: Checker::with(limits, None), launches: 0, events: 0 }
    }

    /// Checks a launch by its event log. The result does not depend on earlier launches.
    pub fn launch(&mut self, launch: &Logged, events: &[Event]) -> Replayed {
        if self.launches >= MOST_LAUNCHES || self.events >= MOST_EVENTS {
            *self = Self::new();
        }
        self.launches += 1;
        self.events += events.len();
        let mut log = LogReplay::new(&self.checker, self.launches, launch);
        for event in events {
            if !log.event(event) {
                log.found.left_out += 1;
                log.found.unknown |= may_order(event);
            }
        }
        let found = log.end();
        if !found.notes.is_empty() || !found.benign.is_empty() {
            // A new checker forgets both: notes are about one launch, and only the caller knows when
            // memory is freed.
            *self = Self::new();
        }
        found
    }
}

/// True if an event may order threads.
fn may_order(event: &Event) -> bool {
    use EventKind::{AsyncRead, AsyncWrite, Coordinates, Fetch, Read, SurfaceRead, SurfaceWrite, Write};
    !matches!(
        event.kind(),
        Some(Read | Write | AsyncRead | AsyncWrite | Coordinates | Fetch | SurfaceRead | SurfaceWrite)
    )
}

/// A block that has begun.
enum BlockReplay {
    Running(Box<Running>),
    /// All its threads have left.
    Over,
}

/// A cluster with a running block.
#[derive(Default)]
struct Cluster {
    blocks: Vec<u64>,
    /// The shared memory of each block.
    shared: Vec<Range<usize>>,
    /// Number of blocks whose threads have all left.
    over: usize,
    barrier: ClusterBarrier,
    /// Number of phases of the barrier that are over.
    phase: u32,
}

/// A map by linear index of blocks.
type ByBlock<T> = HashMap<u64, T, BuildHasherDefault<LineHasher>>;

/// An event log that is being replayed.
struct LogReplay<'a> {
    of: &'a Logged,
    threads: u32,
    clusters: Option<Clusters>,
    checker: &'a Checker,
    launch: Arc<Launch>,
    blocks: ByBlock<BlockReplay>,
    /// By the first block of each.
    running_clusters: ByBlock<Cluster>,
    places: Places,
    found: Replayed,
}

impl<'a> LogReplay<'a> {
    /// Begins a replay. `id`: the launch's id in this checker; later launches have larger ones.
    fn new(checker: &'a Checker, id: u32, of: &'a Logged) -> Self {
        let threads = of.threads_per_block.min(MOST_THREADS);
        let clusters = of.clusters.filter(|clusters| is_whole(clusters, of.blocks));
        let info = LaunchInfo {
            id: id.into(),
            // A kernel of its own: the races of two launches are never one.
            kernel: KernelKey(id),
            site_base: 0,
            features: SyncFeatures { partial_masks: true, named_barriers: true, fences: true, ..of.features },
            threads_per_block: threads,
            blocks: of.blocks,
            clusters,
            stream: of.stream,
            settled: u64::from(id) - 1,
        };
        let launch = checker.begin_launch(info, &[]);
        Self {
            of,
            threads,
            clusters,
            checker,
            launch,
            blocks: ByBlock::default(),
            running_clusters: ByBlock::default(),
            places: Places { next: SHARED.start, free: Vec::new() },
            found: Replayed { unknown: of.clusters.is_some() && clusters.is_none(), ..Replayed::default() },
        }
    }

    /// Replays an event. False if it is left out.
    fn event(&mut self, event: &Event) -> bool {
        let Some(kind) = event.kind() else { return false };
        let (block, thread) = (u64::from(event.block), event.thread());
        if block >= self.of.blocks || thread >= self.threads || !self.begin(block) {
            return false;
        }
        let Some(BlockReplay::Running(running)) = self.blocks.get_mut(&block) else { return false };
        if running.has_left(thread) {
            return false;
        }
        match kind {
            EventKind::Unknown => self.found.unknown = true,
            EventKind::Leave => {
                let lanes = if event.address == 0 { 1 << (thread % 32) } else { event.address as u32 };
                let threads = self.threads;
                let of_warp =
                    (0..32).filter(|lane| lanes >> lane & 1 == 1).map(|lane| thread / 32 * 32 + lane);
                for thread in of_warp.filter(|&thread| thread < threads) {
                    self.leave(block, thread);
                }
            }
            EventKind::ClusterArrive | EventKind::ClusterPassed => {
                let cluster = self.clusters.map(|clusters| clusters.first_of(block));
                match cluster.and_then(|first| self.running_clusters.get_mut(&first)) {
                    Some(Cluster { barrier, phase, .. }) if kind == EventKind::ClusterArrive => {
                        let Some(order) = event.order() else { return false };
                        running.cluster_arrive(thread, order, barrier, *phase);
                    }
                    Some(Cluster { barrier, phase, .. }) => running.cluster_passed(thread, barrier, phase),
                    None => self.found.unknown = true,
                }
            }
            _ => return running.event(kind, event),
        }
        true
    }

    /// Begins a block, with its cluster, unless it has begun. False if it cannot run.
    fn begin(&mut self, block: u64) -> bool {
        if let Some(part) = self.blocks.get(&block) {
            return matches!(part, BlockReplay::Running(_));
        }
        let Some(clusters) = &self.clusters else {
            let Some(shared) = self.places.take(self.of.shared) else { return false };
            let running = Running::new(&self.launch, block, self.threads, shared);
            self.blocks.insert(block, BlockReplay::Running(Box::new(running)));
            return true;
        };
        let first = clusters.first_of(block);
        let blocks = blocks_of(clusters, first);
        let shared: Vec<_> = blocks.iter().map_while(|_| self.places.take(self.of.shared)).collect();
        if shared.len() < blocks.len() {
            return false;
        }
        self.launch.begin_cluster(&shared);
        for (&block, own) in blocks.iter().zip(&shared) {
            let mut running = Running::new(&self.launch, block, self.threads, own.clone());
            running.join_cluster(&shared);
            self.blocks.insert(block, BlockReplay::Running(Box::new(running)));
        }
        self.running_clusters.insert(first, Cluster { blocks, shared, ..Cluster::default() });
        true
    }

    /// Ends a thread of a running block, and with the last thread the block.
    fn leave(&mut self, block: u64, thread: u32) {
        let Entry::Occupied(mut entry) = self.blocks.entry(block) else { return };
        let BlockReplay::Running(running) = entry.get_mut() else { return };
        if running.has_left(thread) || !running.leave(thread) {
            return;
        }
        let Some(clusters) = &self.clusters else {
            self.places.free.push(running.shared());
            if let BlockReplay::Running(running) = entry.insert(BlockReplay::Over) {
                self.found.benign.extend(running.end());
            }
            return;
        };
        let Entry::Occupied(mut cluster) = self.running_clusters.entry(clusters.first_of(block)) else {
            return;
        };
        if cluster.get().blocks.len() > 1 {
            running.shared_memory_ends(thread);
        }
        cluster.get_mut().over += 1;
        if cluster.get().over == cluster.get().blocks.len() {
            // Until now other blocks of the cluster could reach the shared memory of each.
            let cluster = cluster.remove();
            self.places.free.extend(cluster.shared);
            for block in cluster.blocks {
                if let Some(BlockReplay::Running(running)) = self.blocks.insert(block, BlockReplay::Over) {
                    self.found.benign.extend(running.end());
                }
            }
        }
    }

    /// Ends the blocks that still run, and the launch.
    fn end(mut self) -> Replayed {
        for part in self.blocks.into_values() {
            if let BlockReplay::Running(running) = part {
                self.found.benign.extend(running.end());
            }
        }
        self.checker.end_launch(&self.launch);
        self.found.races = self.checker.take_new_races();
        for race in &mut self.found.races {
            race.kernel = self.of.kernel;
            (race.launch, race.earlier.launch, race.later.launch) = (self.of.id, self.of.id, self.of.id);
        }
        self.found.undecided = self.checker.take_undecided();
        self.found.notes = self.checker.notes();
        self.found
    }
}

/// True if each block of a launch is in a whole cluster.
fn is_whole(clusters: &Clusters, blocks: u64) -> bool {
    let sizes = || clusters.grid.into_iter().zip(clusters.blocks);
    let product = |sizes: [u32; 3]| sizes.into_iter().try_fold(1u64, |all, n| all.checked_mul(n.into()));
    sizes().all(|(grid, cluster)| cluster > 0 && grid > 0 && grid % cluster == 0)
        && product(clusters.grid) == Some(blocks)
}

/// The blocks of the cluster with this first block.
fn blocks_of(clusters: &Clusters, first: u64) -> Vec<u64> {
    let [columns, rows, _] = clusters.grid.map(u64::from);
    let [width, height, depth] = clusters.blocks.map(u64::from);
    let along = |z, y| (0..width).map(move |x| first + x + columns * (y + rows * z));
    (0..depth).flat_map(|z| (0..height).flat_map(move |y| along(z, y))).collect()
}

/// Addresses for the shared memory of blocks.
struct Places {
    /// Addresses from here on were never taken.
    next: usize,
    /// Ranges of blocks that have ended.
    free: Vec<Range<usize>>,
}

impl Places {
    /// Takes addresses that no running block has; `None` if none are left.
    fn take(&mut self, bytes: usize) -> Option<Range<usize>> {
        if let Some(shared) = self.free.pop() {
            return Some(shared);
        }
        let next = self.next.checked_add(bytes.checked_next_multiple_of(ALIGNMENT)?)?;
        let shared = self.next..self.next + bytes;
        (next <= SHARED.end).then(|| {
            self.next = next;
            shared
        })
    }
}
