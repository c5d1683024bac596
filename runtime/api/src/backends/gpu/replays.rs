//! Launches whose threads are ordered by more than barriers of blocks and of whole warps. The GPU
//! logs their events, as long as there is room. The host replays the log in a checker of this
//! process, with vector clocks, as the executor would check the launch.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use gpurace_abi::meta::SyncFeatures;
use gpurace_abi::texture::TextureObject as Object;
use gpurace_check::replay::{Logged, Replay};
use gpurace_check::{Clusters, KernelKey, RaceRecord, Space};
use gpurace_cuda::EventLog;

use super::fetches::FetchObjects;
use crate::backend::module::KernelLaunch;

/// Most events of one kernel's launches that are replayed, for a kernel that needs a log. That
/// takes about a tenth of a second, and some seconds if all threads contend for one lock. Later
/// launches have no log.
const MOST_EVENTS: u64 = 1 << 18;
/// The same for a kernel whose order the GPU's clocks show. Its first threads are checked more
/// exactly by a log: a shadow word on the GPU holds one record.
const FIRST_EVENTS: u64 = 1 << 16;
/// Most bytes that the system reserves at the beginning of a block's shared memory, with alignment.
const SYSTEM_SHARED: usize = 2 << 10;
/// The cost of a launch besides its events, counted in events.
const EVENTS_OF_LAUNCH: u64 = 1 << 10;

/// Launches with event logs, and the results of their replay.
#[derive(Default)]
pub struct Replays {
    /// `GPURACE_GPU_LOG=0`: only the GPU's clocks decide.
    is_off: bool,
    /// The checker, made for the first log.
    replay: Option<Replay>,
    /// Launches with a log that have not ended, by number.
    launches: BTreeMap<u64, AwaitedLog>,
    /// Number of events that the launches of each kernel have logged.
    spent: HashMap<KernelKey, u64>,
    /// The texture and surface objects.
    objects: FetchObjects,
    /// The number of the last launch with a log.
    latest: u64,
    /// Number of accesses through unknown textures and surfaces.
    pub fetches: u64,
    /// Number of accesses that left no records although another operation may have overlapped their
    /// launch, or that the log does not hold.
    pub left_out: u64,
    /// The notes of the checker.
    pub notes: Vec<String>,
}

struct AwaitedLog {
    logged: Logged,
    /// Another operation may overlap the launch.
    overlaps: bool,
}

/// The result of a replayed launch.
pub struct ReplayedLaunch {
    /// Its number.
    pub number: u64,
    /// Its races. In shared memory: with the offset in the block's shared memory.
    pub races: Vec<(RaceRecord, Option<u32>)>,
    /// Number of further conflicts that may be races.
    pub undecided: u64,
    /// Its threads may be ordered by something that the log does not show.
    pub is_undecided: bool,
    /// Global memory on which the kernel intends races from now on.
    pub benign: Vec<Range<usize>>,
}

/// True if the GPU's clocks do not show the order of a kernel's threads, or if its shadow words do
/// not show their accesses.
fn needs_log(sync: &SyncFeatures) -> bool {
    sync.fences
        || sync.partial_masks
        || sync.named_barriers
        || sync.async_copies
        || sync.clusters
        || sync.observes
        || sync.annotated
        || sync.fetches
}

impl Replays {
    /// No launches yet.
    pub fn from_environment() -> Self {
        let is_off = std::env::var_os("GPURACE_GPU_LOG").is_some_and(|value| value == "0");
        Self { is_off, ..Self::default() }
    }

    /// Most events that a launch of such a kernel logs.
    pub fn most_events(&self, sync: &SyncFeatures) -> u64 {
        match needs_log(sync) {
            _ if self.is_off => 0,
            true => MOST_EVENTS,
            false => FIRST_EVENTS,
        }
    }

    /// Most events that the next launch of this kernel may log.
    pub fn events_of(&self, kernel: KernelKey, sync: &SyncFeatures) -> u64 {
        if self.is_off {
            return 0;
        }
        let spent = self.spent.get(&kernel).copied().unwrap_or(0);
        match needs_log(sync) {
            // The first launch may use all. Several of the others may run at one time.
            true if spent == 0 => MOST_EVENTS,
            true => MOST_EVENTS.saturating_sub(spent).min(FIRST_EVENTS),
            false => FIRST_EVENTS.saturating_sub(spent),
        }
    }

    /// Adds a submitted launch with a log. `shared`: bytes of a block's shared memory. `overlaps`:
    /// another operation may overlap it.
    pub fn add(&mut self, launch: &KernelLaunch<'_>, number: u64, shared: usize, overlaps: bool) {
        let logged = logged(launch, number, shared);
        *self.spent.entry(logged.kernel).or_default() += EVENTS_OF_LAUNCH;
        self.latest = logged.id;
        self.launches.insert(logged.id, AwaitedLog { logged, overlaps });
    }

    /// Adds a texture or surface object.
    pub fn add_object(&mut self, handle: u64, object: Object) {
        self.objects.add(handle, object, self.latest);
    }

    /// Notes that it was destroyed.
    pub fn end_object(&mut self, handle: u64, is_texture: bool) {
        self.objects.end(handle, is_texture, self.latest);
        self.forget_objects();
    }

    /// Forgets the objects that no log can name any more.
    fn forget_objects(&mut self) {
        self.objects.forget(self.launches.keys().next().copied());
    }

    /// Replays logs.
    pub fn run(&mut self, logs: &[EventLog]) -> Vec<ReplayedLaunch> {
        let replayed = logs.iter().filter_map(|log| self.run_one(log)).collect();
        self.forget_objects();
        replayed
    }

    fn run_one(&mut self, log: &EventLog) -> Option<ReplayedLaunch> {
        let AwaitedLog { logged, overlaps } = self.launches.remove(&log.number)?;
        *self.spent.entry(logged.kernel).or_default() += log.events.len() as u64;
        let (events, unknown) = self.objects.accesses(log.number, &log.events);
        self.fetches += unknown;
        let replayed = self.replay.get_or_insert_default().launch(&logged, &events);
        self.left_out += replayed.left_out;
        if overlaps || log.is_cut {
            self.left_out += log.held;
        }
        for note in replayed.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        let races = replayed.races.into_iter().map(with_offset).collect();
        let (undecided, benign) = (replayed.undecided, replayed.benign);
        Some(ReplayedLaunch { number: log.number, races, undecided, is_undecided: replayed.unknown, benign })
    }
}

/// The description of a launch for the replay of its log. `shared`: bytes of a block's shared
/// memory.
fn logged(launch: &KernelLaunch<'_>, id: u64, shared: usize) -> Logged {
    let meta = launch.kernel.meta();
    Logged {
        id,
        kernel: KernelKey(launch.kernel.key),
        stream: launch.stream.0,
        threads_per_block: launch.shape.threads(),
        blocks: launch.shape.blocks(),
        clusters: launch.shape.clusters(meta.sync.clusters).map(|blocks| Clusters {
            grid: launch.shape.grid,
            blocks,
            end_of_block: launch.kernel.module.end_of_block(),
        }),
        features: meta.sync,
        shared: shared + SYSTEM_SHARED,
    }
}

/// A race. In shared memory: with the offset in the block's shared memory.
fn with_offset(race: RaceRecord) -> (RaceRecord, Option<u32>) {
    let offset = (race.space == Space::Shared).then(|| race.address.wrapping_sub(race.shared_base) as u32);
    (race, offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shadow_words_do_not_show_is_logged_as_long_as_there_is_room() {
        let (kernel, plain) = (KernelKey(1), SyncFeatures { barriers: true, ..SyncFeatures::default() });
        let mut replays = Replays::default();
        assert_eq!(replays.events_of(kernel, &plain), FIRST_EVENTS);
        for sync in [SyncFeatures { fetches: true, ..plain }, SyncFeatures { fences: true, ..plain }] {
            assert_eq!(replays.events_of(kernel, &sync), MOST_EVENTS);
        }
        replays.spent.insert(kernel, FIRST_EVENTS);
        let fetches = SyncFeatures { fetches: true, ..plain };
        assert_eq!(
            (replays.events_of(kernel, &plain), replays.events_of(kernel, &fetches)),
            (0, FIRST_EVENTS)
        );
        replays.spent.insert(kernel, MOST_EVENTS);
        assert_eq!(replays.events_of(kernel, &fetches), 0);
    }
}
