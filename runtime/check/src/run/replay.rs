//! Replays the event log of a launch on a GPU in the executor's checker.
//!
//! The GPU decides the order by barriers of blocks and of whole warps itself. Any other order needs
//! vector clocks, for which a GPU's blocks have no room. So there is one implementation of the
//! order that fences, atomics, masks and named barriers make, and a GPU reports the races that the
//! executor would. BARRACUDA (PLDI 2017) checked every kernel by a log; here a log is bounded.
//!
//! A log ([`gpurace_abi::event`]) is a prefix of what the threads of a launch did, in an order that
//! respects happens-before: what orders two events orders their places. Events of threads that
//! nothing orders interleave as they like, those of blocks too. So each event is handed to the
//! checker as the executor would, in the log's order, and whatever order the checker derives from
//! synchronisation is one that the threads had. What differs from the executor:
//!
//! - A barrier is passed by threads one after the other, not at once. The first that says so stands
//!   for all that wait; what the others say of the same time is late, also where some have come to
//!   the next one meanwhile. Who may come to it does so after somebody has passed the one before.
//! - Between the announcement of an atomic access and what says that it is done, others write the
//!   location. Of those it is not known which comes first: who reads learns of all of them
//!   ([`crate::order::syncvar`]), so that races may be missed, and none is made up. Where a plain access
//!   is excused by that alone, it is counted, and told where two threads' excuses cannot both hold
//!   ([`crate::order::observed`]).
//! - Of what is reached through a texture or a surface the addresses are worked out before, by who
//!   knows what the handle stands for.
//! - Offsets in shared memory become addresses that no program has. A block that has ended leaves
//!   its addresses to another.
//!
//! | file | what it knows |
//! |---|---|
//! | `replay.rs` | a log, and which of its blocks run |
//! | `replay/running.rs` | the threads of a running block: what they wait for, what their events are to the checker |

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
/// What shared memory begins at a multiple of.
const ALIGNMENT: usize = 4096;
/// Threads that a block may have at most.
const MOST_THREADS: u32 = 1024;
/// Launches, and events of them, after which a new checker is made: what one keeps grows with them.
/// It costs more to end one than to replay a short log.
const MOST_LAUNCHES: u32 = 64;
const MOST_EVENTS: usize = 1 << 20;

/// What must be known of a launch whose log is replayed.
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
    /// How the blocks form clusters, where they do.
    pub clusters: Option<Clusters>,
    /// What the kernel can reach. All that makes the checker exact is taken for reached.
    pub features: SyncFeatures,
    /// Bytes of shared memory that a block may have.
    pub shared: usize,
}

/// What was found in a log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replayed {
    /// The launch's races with itself; sites are the module's. The offset in the block's shared
    /// memory is [`RaceRecord::address`] less [`RaceRecord::shared_base`].
    pub races: Vec<RaceRecord>,
    /// Conflicts of atomic writes with plain accesses whose threads may or may not have observed
    /// them, counted.
    pub undecided: u64,
    /// Something may have ordered threads that nothing more is known of: races may be false.
    pub unknown: bool,
    /// Global memory on which its threads have said that races are meant, also those of later
    /// launches until it is freed.
    pub benign: Vec<Range<usize>>,
    /// What the checker has lost, in sentences for the report's notes.
    pub notes: Vec<String>,
    /// Events that make no sense, or are of memory that has no place in the shadow.
    pub left_out: u64,
}

/// Replays logs, one launch after the other: each is before those that come later.
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
    /// Nothing was replayed.
    pub fn new() -> Self {
        // In the order of a log more atomics are under way at once than workers run blocks.
        let limits = Limits { reports_undecided: false, ..Limits::default() };
        Self { checker: Checker::with(limits, None), launches: 0, events: 0 }
    }

    /// Checks what a log says of a launch. What it finds does not depend on what was replayed
    /// before.
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
                // What it may have ordered is not known.
                log.found.unknown |= !is_plain(event);
            }
        }
        let found = log.end();
        if !found.notes.is_empty() || !found.benign.is_empty() {
            // They are of this launch alone: how long memory is what it is now the caller knows.
            *self = Self::new();
        }
        found
    }
}

/// Whether an event orders nothing.
fn is_plain(event: &Event) -> bool {
    use EventKind::{AsyncRead, AsyncWrite, Coordinates, Fetch, Read, SurfaceRead, SurfaceWrite, Write};
    matches!(
        event.kind(),
        Some(Read | Write | AsyncRead | AsyncWrite | Coordinates | Fetch | SurfaceRead | SurfaceWrite)
    )
}

/// A block's part in the log.
enum BlockReplay {
    Running(Box<Running>),
    /// All its threads have left.
    Over,
}

/// A cluster some block of which runs.
#[derive(Default)]
struct Cluster {
    blocks: Vec<u64>,
    shared: Vec<Range<usize>>,
    /// Blocks whose threads have all left.
    over: usize,
    barrier: ClusterBarrier,
    /// Phases of the barrier that are over.
    phase: u32,
}

/// Hashes numbers of blocks.
type ByBlock<T> = HashMap<u64, T, BuildHasherDefault<LineHasher>>;

/// A log that is being replayed.
struct LogReplay<'a> {
    of: &'a Logged,
    threads: u32,
    clusters: Option<Clusters>,
    checker: &'a Checker,
    launch: Arc<Launch>,
    blocks: ByBlock<BlockReplay>,
    /// By their first blocks.
    running_clusters: ByBlock<Cluster>,
    places: Places,
    found: Replayed,
}

impl<'a> LogReplay<'a> {
    /// `id`: of the launch, in this checker; larger ones come later.
    fn new(checker: &'a Checker, id: u32, of: &'a Logged) -> Self {
        let threads = of.threads_per_block.min(MOST_THREADS);
        let clusters = of.clusters.filter(|clusters| is_whole(clusters, of.blocks));
        let info = LaunchInfo {
            id: id.into(),
            // Its records are its own.
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

    /// False where an event is left out.
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

    /// Begins a block, with its cluster, unless it has begun. False where it cannot.
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

    /// A thread of a running block ends, and with the last one its block.
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
            // Until now its blocks' shared memory was within reach of the others.
            let cluster = cluster.remove();
            self.places.free.extend(cluster.shared);
            for block in cluster.blocks {
                if let Some(BlockReplay::Running(running)) = self.blocks.insert(block, BlockReplay::Over) {
                    self.found.benign.extend(running.end());
                }
            }
        }
    }

    /// Ends what still runs, and the launch.
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

/// Whether all blocks of a launch are in a whole cluster.
fn is_whole(clusters: &Clusters, blocks: u64) -> bool {
    let sizes = || clusters.grid.into_iter().zip(clusters.blocks);
    let product = |sizes: [u32; 3]| sizes.into_iter().try_fold(1u64, |all, n| all.checked_mul(n.into()));
    sizes().all(|(grid, cluster)| cluster > 0 && grid > 0 && grid % cluster == 0)
        && product(clusters.grid) == Some(blocks)
}

/// The blocks of the cluster with this first one.
fn blocks_of(clusters: &Clusters, first: u64) -> Vec<u64> {
    let [columns, rows, _] = clusters.grid.map(u64::from);
    let [width, height, depth] = clusters.blocks.map(u64::from);
    let along = |z, y| (0..width).map(move |x| first + x + columns * (y + rows * z));
    (0..depth).flat_map(|z| (0..height).flat_map(move |y| along(z, y))).collect()
}

/// Addresses for the shared memory of blocks.
struct Places {
    /// From here on none was given.
    next: usize,
    free: Vec<Range<usize>>,
}

impl Places {
    /// Addresses that no running block has; `None` where there are none left.
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
