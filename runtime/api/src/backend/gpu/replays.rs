//! Launches whose threads are ordered by more than barriers of blocks and of whole warps. What they do is logged on the GPU, as long as there is
//! room, and replayed here in a checker of this process, by vector clocks, as the executor would check it.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::OnceLock;

use gpurace_abi::meta::SyncFeatures;
use gpurace_check::replay::{Logged, Replay};
use gpurace_check::{Clusters, KernelKey, RaceRecord, Space};
use gpurace_cpu::texture::Object;
use gpurace_cuda::Log;

use super::fetches::Objects;
use crate::launch::Launch;

/// Events of one kernel's launches that are replayed, where the kernel needs it: a tenth of a second or so, and some seconds
/// where all threads contend for one lock. Later launches have no log.
const MOST_EVENTS: u64 = 1 << 18;
/// Those of a kernel whose order a GPU's clocks show. What its first threads do is checked more exactly so: shadow words there hold one record.
const FIRST_EVENTS: u64 = 1 << 16;
/// Shared memory that the system keeps at the beginning of a block's, at most, and what alignment may add, bytes.
const SYSTEM_SHARED: usize = 2 << 10;
/// What a launch costs beside its events, in events.
const EVENTS_OF_LAUNCH: u64 = 1 << 10;

/// Launches with logs, and what their replay came to.
#[derive(Default)]
pub struct Replays {
    /// Made when there is something to replay.
    replay: Option<Replay>,
    /// Launches under way with a log, by number.
    launches: BTreeMap<u64, Awaited>,
    /// By kernel, what its launches have logged.
    spent: HashMap<KernelKey, u64>,
    /// What textures and surfaces show.
    objects: Objects,
    /// The last launch under way with a log, by number; there may be none any more.
    latest: u64,
    /// Accesses through textures and surfaces of which it is not known what these show.
    pub fetches: u64,
    /// Accesses without records, for others that may have overlapped their launch, and what the log of a launch could not say.
    pub left_out: u64,
    /// What the checker has lost.
    pub notes: Vec<String>,
}

struct Awaited {
    logged: Logged,
    /// Something may overlap the launch.
    overlaps: bool,
}

/// A launch that was replayed.
pub struct Replayed {
    /// Its number.
    pub number: u64,
    /// Its races, and for those in shared memory which byte of the block's.
    pub races: Vec<(RaceRecord, Option<u32>)>,
    /// Conflicts of which it is not known whether they are races, beside those.
    pub undecided: u64,
    /// Something that the log says nothing of may have ordered its threads.
    pub is_undecided: bool,
    /// Global memory on which it says that races are meant from now on.
    pub benign: Vec<Range<usize>>,
}

/// Whether what orders a kernel's threads is in no clock of a GPU's, or what they access in no shadow word.
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

/// Whether launches log at all: not with `GPURACE_GPU_LOG=0`, for what the GPU's clocks alone decide.
fn may_log() -> bool {
    static MAY: OnceLock<bool> = OnceLock::new();
    *MAY.get_or_init(|| std::env::var_os("GPURACE_GPU_LOG").is_none_or(|value| value != "0"))
}

/// How many events a launch of such a kernel logs at most.
pub fn most_events(sync: &SyncFeatures) -> u64 {
    match needs_log(sync) {
        _ if !may_log() => 0,
        true => MOST_EVENTS,
        false => FIRST_EVENTS,
    }
}

impl Replays {
    /// How many events a launch of this kernel is to log at most.
    pub fn events_of(&self, kernel: KernelKey, sync: &SyncFeatures) -> u64 {
        if !may_log() {
            return 0;
        }
        let spent = self.spent.get(&kernel).copied().unwrap_or(0);
        match needs_log(sync) {
            // The first launch may do all; of others there may be several at one time.
            true if spent == 0 => MOST_EVENTS,
            true => MOST_EVENTS.saturating_sub(spent).min(FIRST_EVENTS),
            false => FIRST_EVENTS.saturating_sub(spent),
        }
    }

    /// A launch has been submitted that has a log. `shared`: bytes of a block's shared memory; `overlaps`: something may overlap it.
    pub fn add(&mut self, launch: &Launch<'_>, number: u64, shared: usize, overlaps: bool) {
        let logged = logged(launch, number, shared);
        *self.spent.entry(logged.kernel).or_default() += EVENTS_OF_LAUNCH;
        self.latest = logged.id;
        self.launches.insert(logged.id, Awaited { logged, overlaps });
    }

    /// A texture or a surface was made.
    pub fn add_object(&mut self, handle: u64, object: Object) {
        self.objects.add(handle, object, self.latest);
    }

    /// It has ended.
    pub fn end_object(&mut self, handle: u64, is_texture: bool) {
        self.objects.end(handle, is_texture, self.latest);
        self.forget_objects();
    }

    /// Forgets textures and surfaces that no log names any more.
    fn forget_objects(&mut self) {
        self.objects.forget(self.launches.keys().next().copied());
    }

    /// Replays logs.
    pub fn run(&mut self, logs: &[Log]) -> Vec<Replayed> {
        let replayed = logs.iter().filter_map(|log| self.run_one(log)).collect();
        self.forget_objects();
        replayed
    }

    fn run_one(&mut self, log: &Log) -> Option<Replayed> {
        let Awaited { logged, overlaps } = self.launches.remove(&log.number)?;
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
        Some(Replayed { number: log.number, races, undecided, is_undecided: replayed.unknown, benign })
    }
}

/// What is to be known of a launch for the replay of its log. `shared`: bytes of a block's shared memory.
fn logged(launch: &Launch<'_>, id: u64, shared: usize) -> Logged {
    let meta = launch.kernel.meta();
    Logged {
        id,
        kernel: KernelKey(launch.kernel.key),
        stream: launch.stream.0,
        threads_per_block: launch.block.iter().product(),
        blocks: launch.grid.iter().map(|&n| u64::from(n)).product(),
        clusters: gpurace_cpu::clusters(launch.cluster, meta).map(|blocks| Clusters {
            grid: launch.grid,
            blocks,
            end_of_block: launch.kernel.module.end_of_block(),
        }),
        features: meta.sync,
        shared: shared + SYSTEM_SHARED,
    }
}

/// A race, and which byte of a block's shared memory it is on.
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
