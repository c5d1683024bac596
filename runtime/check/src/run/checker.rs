//! The process's checker: what all launches share, and how they begin and end.
//!
//! Each block takes an id, its *uid*, that no block of any launch had before. So the uid of a record
//! tells an earlier launch, and no shadow is cleared between launches. A block whose clock outgrows
//! the shadow word takes a further uid at a barrier: what it did under the older one happens before
//! that barrier. Records count uids from the last clear of the shadow. If the uids of a launch do not
//! fit any more, the shadow is cleared at its start.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use gpurace_abi::ablation::{self, Mechanism};
use parking_lot::Mutex;

use crate::batch::deferred::ReadLogs;
use crate::model::race::{KernelKey, RaceRecord};
use crate::model::record;
use crate::order::kernel_sites::KernelSites;
use crate::order::launches::{Earlier, LaunchData, LaunchOrder, Launches};
use crate::order::syncvar::SyncVars;
use crate::order::vector::Clocks;
use crate::run::benign::GlobalBenign;
use crate::run::covered::Covered;
use crate::run::launch::{Launch, LaunchInfo, LaunchStats, ProvedSites};
use crate::run::races::Races;
use crate::run::transfer::{TouchedRanges, UnsettledTransfer};
use crate::shadow::page::Marks;
use crate::shadow::process::Shadow;

/// Bounds on memory. [`Checker::notes`] says what was lost because one was reached.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Most words with a record list or a chain, in the process.
    pub chains: u64,
    /// Most records of one word.
    pub entries: usize,
    /// Block uids between two clears of the shadow, at most [`record::UID_VALUES`].
    pub uids: u64,
    /// Clock at which a block takes a new uid, at most [`record::CLOCK_VALUES`].
    pub clock: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { chains: 1 << 27, entries: 1 << 16, uids: record::UID_VALUES, clock: record::CLOCK_VALUES / 2 }
    }
}

/// Reads up to 8 bytes of the checked program's memory, zero-extended; `None` if they cannot be
/// read.
pub type ReadMemory = fn(address: usize, size: u32) -> Option<u64>;

/// The checker of a process.
pub struct Checker {
    pub(crate) inner: Arc<Inner>,
}

/// The state of a checker, which its launches and their blocks share.
pub(crate) struct Inner {
    pub(crate) shadow: Shadow,
    pub(crate) races: Races,
    pub(crate) syncvars: SyncVars,
    /// Global memory on which races are intended.
    pub(crate) benign: GlobalBenign,
    pub(crate) covered: Covered,
    /// Deferred reads.
    pub(crate) logs: Arc<ReadLogs<Launch>>,
    /// Accesses by the host are checked.
    host_is_watched: AtomicBool,
    /// Volatile accesses race as relaxed atomics at system scope do.
    pub(crate) relaxed_volatile: AtomicBool,
    pub(crate) limits: Limits,
    pub(crate) read_memory: Option<ReadMemory>,
    /// Called when a block's access has found a new race.
    pub(crate) on_new_race: OnceLock<fn()>,
    pub(crate) launching: Mutex<Launching>,
    pub(crate) launches: Arc<Launches>,
    kernels: Mutex<HashMap<(KernelKey, u32), Arc<KernelSites>>>,
    /// Synchronisation that the launch's features did not announce.
    pub(crate) unforeseen_sync: AtomicU64,
    /// Clears of the shadow while launches may have been concurrent.
    clears_with_streams: AtomicU64,
}

/// The launches that run or that later ones may be concurrent with.
pub(crate) struct Launching {
    /// Records count uids from here.
    pub(crate) base: u64,
    running: Vec<RunningLaunch>,
    /// Some launch was on another stream than 0, or concurrent with another one.
    streams_seen: bool,
    /// Launches that something to come may be concurrent with.
    unsettled: Vec<Arc<LaunchData>>,
    /// The transfers among them, and the bytes that they touch.
    pub(crate) transfers: Vec<Arc<UnsettledTransfer>>,
}

/// A launch that has begun and not ended.
struct RunningLaunch {
    first_uid: u64,
    /// Launches with smaller first uids are settled for it.
    settled: u64,
}

impl Launching {
    /// Drops the launches that are settled: those with ids up to `settled`, except the `unordered` ones.
    fn drop_settled(&mut self, settled: u64, unordered: &[u64]) {
        let stays = |launch: &LaunchData| launch.id > settled || launch.is_among(unordered);
        self.unsettled.retain(|launch| stays(launch));
        self.transfers.retain(|transfer| stays(&transfer.launch));
    }

    /// Drops the launch with this id, which nothing to come meets. What comes after it knows of the launches before it
    /// without its help.
    pub(crate) fn drop_last(&mut self, id: u64) {
        self.unsettled.retain(|launch| launch.id != id);
    }

    /// Adds a launch with this first uid to those that run. Returns the first uid below which launches are settled
    /// for it, and the one below which they are settled for all that run.
    fn add_running(&mut self, first_uid: u64) -> (u64, u64) {
        let settled = self.unsettled.iter().map(|launch| launch.first_uid).fold(first_uid, u64::min);
        self.running.push(RunningLaunch { first_uid, settled });
        let for_all = self.running.iter().fold(settled, |least, running| least.min(running.settled));
        (settled, for_all)
    }

    /// What the threads of a launch with this id know when it begins: that the unsettled launches before it have
    /// happened, and what those have learnt.
    fn known_before(&self, id: u64, unordered: &[u64]) -> Clocks {
        let mut known = Clocks::new();
        // A launch that is repeated late is not after those that came meanwhile.
        let is_before = |launch: &&Arc<LaunchData>| launch.id < id && !launch.is_among(unordered);
        // The latest comes first. Each launch has learnt all that the launches before it knew, so those add nothing.
        for launch in self.unsettled.iter().rev().filter(is_before) {
            if !known.knows_launch(launch.first_uid) {
                known.learn_launch(launch.first_uid);
                known.join(&launch.learnt.lock());
            }
        }
        known
    }
}

impl Default for Checker {
    fn default() -> Self {
        Self::new()
    }
}

impl Checker {
    /// A checker with default bounds that cannot read memory: it never knows if equal values were
    /// written.
    pub fn new() -> Self {
        Self::with(Limits::default(), None)
    }

    /// A checker with these bounds. It compares written values with memory through `read_memory`.
    pub fn with(limits: Limits, read_memory: Option<ReadMemory>) -> Self {
        Self {
            inner: Arc::new(Inner {
                shadow: Shadow::new(limits.chains, limits.entries),
                races: Races::default(),
                syncvars: SyncVars::default(),
                benign: GlobalBenign::default(),
                covered: Covered::default(),
                logs: Arc::default(),
                host_is_watched: AtomicBool::new(false),
                relaxed_volatile: AtomicBool::new(false),
                limits: Limits {
                    uids: limits.uids.min(record::UID_VALUES),
                    clock: limits.clock.min(record::CLOCK_VALUES),
                    ..limits
                },
                read_memory,
                on_new_race: OnceLock::new(),
                launching: Mutex::new(Launching {
                    base: 0,
                    running: Vec::new(),
                    streams_seen: false,
                    unsettled: Vec::new(),
                    transfers: Vec::new(),
                }),
                launches: Arc::default(),
                kernels: Mutex::default(),
                unforeseen_sync: AtomicU64::new(0),
                clears_with_streams: AtomicU64::new(0),
            }),
        }
    }

    /// Begins a launch. It is ordered after every launch with a smaller id, except those whose ids
    /// are in `unordered`, the smallest first.
    ///
    /// Launches begin in the order of their ids. The exception is a launch that ran without checks
    /// and is repeated for the checker later. Then no launch with a larger id may have begun that
    /// touches the same regions of memory, or that orders its threads by atomics or fences: that one
    /// did not know of this launch.
    pub fn begin_launch(&self, info: LaunchInfo, unordered: &[u64]) -> Arc<Launch> {
        self.begin(info, unordered, ProvedSites::default(), None)
    }

    /// True if some launch of the kernel checked an access by this site of its module. `site_base` is the number
    /// of the module's site 0.
    pub fn was_checked(&self, kernel: KernelKey, site_base: u32, site: u32) -> bool {
        let kernels = self.inner.kernels.lock();
        kernels.get(&(kernel, site_base)).is_some_and(|sites| sites.was_checked(site))
    }

    /// Begins a launch in which accesses of the `proved` sites are not checked. They leave no
    /// records, so no launch may be concurrent with this one.
    pub fn begin_pruned(&self, info: LaunchInfo, unordered: &[u64], proved: ProvedSites) -> Arc<Launch> {
        self.begin(info, unordered, proved, None)
    }

    /// As [`Checker::begin_pruned`]. `touched`: the bytes of a transfer.
    pub(crate) fn begin(
        &self,
        info: LaunchInfo,
        unordered: &[u64],
        proved: ProvedSites,
        touched: Option<TouchedRanges>,
    ) -> Arc<Launch> {
        let inner = &self.inner;
        debug_assert!(unordered.is_sorted());
        let mut launching = inner.launching.lock();
        launching.drop_settled(info.settled, unordered);
        inner.clear_for(&mut launching, &info, unordered);
        let first_uid = inner.launches.take_uids(info.blocks);
        let (settled_uid, settled_for_all) = launching.add_running(first_uid);
        let before = launching.known_before(info.id, unordered);
        let data = Arc::new(LaunchData {
            id: info.id,
            kernel: info.kernel,
            first_uid,
            blocks: info.blocks,
            site_base: info.site_base,
            stream: info.stream,
            sites: inner.kernel_sites(info.kernel, info.site_base),
            learnt: Mutex::new(before.clone()),
        });
        let concurrent = launching.transfers.iter().filter(|transfer| transfer.launch.is_among(unordered));
        let transfers = concurrent.cloned().collect();
        if let Some(touched) = touched {
            launching.transfers.push(Arc::new(UnsettledTransfer { launch: data.clone(), touched }));
        }
        let earlier = Earlier::list(&launching.unsettled, unordered);
        launching.unsettled.push(data.clone());
        inner.launches.push(data.clone());
        let order = LaunchOrder {
            launches: inner.launches.clone(),
            data,
            base: launching.base,
            settled_uid,
            settled_for_all,
            unordered: unordered.to_vec(),
            earlier,
            clusters: info.clusters,
        };
        Arc::new(Launch {
            inner: inner.clone(),
            order: Arc::new(order),
            kernel: info.kernel,
            features: info.features,
            threads: info.threads_per_block,
            marks: Marks::new(first_uid, settled_for_all),
            defers: ablation::is_on(Mechanism::DeferredReads)
                && !inner.host_is_watched.load(Ordering::Relaxed),
            transfers,
            before,
            proved,
            checks: AtomicU64::new(0),
        })
    }

    /// Ends a launch. All of its blocks have ended.
    pub fn end_launch(&self, launch: &Launch) -> LaunchStats {
        let first_uid = launch.order.data.first_uid;
        self.inner.launching.lock().running.retain(|running| running.first_uid != first_uid);
        LaunchStats { checks_executed: launch.checks.load(Ordering::Relaxed) }
    }

    /// Marks `size` bytes of global memory as ones on which races are intended. No race is found on
    /// them from here on, until the memory is freed.
    pub fn benign(&self, address: usize, size: usize) {
        self.inner.benign.change().add(address, size);
    }

    /// Says whether the host's accesses will be checked against launches that begin from now on.
    /// These then keep records that are settled for other launches.
    pub fn watch_host(&self, watches: bool) {
        self.inner.host_is_watched.store(watches, Ordering::Relaxed);
    }

    /// From now on, calls `tell` when the access of a block has found a new race, before the access happens. Shadow
    /// memory is locked then. The first call counts.
    pub fn on_new_race(&self, tell: fn()) {
        self.inner.on_new_race.get_or_init(|| tell);
    }

    /// Lets volatile accesses from now on race as relaxed atomics at system scope do. Otherwise they
    /// also race with each other.
    pub fn relax_volatile(&self, relaxed: bool) {
        self.inner.relaxed_volatile.store(relaxed, Ordering::Relaxed);
    }

    /// Forgets all accesses to a range: its memory was freed, or is new. No running launch may be
    /// accessing it.
    pub fn forget(&self, address: usize, size: usize) {
        self.inner.forget(&(address..address.saturating_add(size)));
    }

    /// The races found so far, in the order in which they were found. Counts of blocks that still
    /// run may be missing.
    pub fn races(&self) -> Vec<RaceRecord> {
        self.inner.races.all()
    }

    /// The number of races found so far.
    pub fn race_count(&self) -> usize {
        self.inner.races.count()
    }

    /// True if a race was found in a launch of this kernel.
    pub fn has_raced(&self, kernel: KernelKey) -> bool {
        self.inner.races.are_in(kernel)
    }

    /// The races found since the last call.
    pub fn take_new_races(&self) -> Vec<RaceRecord> {
        self.inner.races.take_new()
    }

    /// Adds a race that a trial of a launch found. A known race keeps its count, and may get a wider group of threads.
    /// Returns false if nothing changes.
    pub fn add_race(&self, record: RaceRecord) -> bool {
        self.inner.races.add_new(record)
    }

    /// Forgets the races found so far, not the accesses. No launch may be running.
    pub fn forget_races(&self) {
        self.inner.races.forget();
    }

    /// Forgets sightings: keeps the first races, as many as there are counts, with these counts. The next sighting of
    /// another race is new again. No launch may be running.
    pub fn restore_races(&self, counts: &[u64]) {
        self.inner.races.restore(counts);
    }

    /// What was lost, in sentences for the report's notes; empty if nothing was.
    pub fn notes(&self) -> Vec<String> {
        let n = |c: &AtomicU64| c.load(Ordering::Relaxed);
        let inner = &self.inner;
        let mut notes = Vec::new();
        let mut say = |count: u64, what: &str| {
            if count > 0 {
                notes.push(format!("{count} {what}"));
            }
        };
        say(
            n(&inner.shadow.lost_records),
            "accesses not kept: a word had too many concurrent accesses; races with them may be missed",
        );
        say(
            n(&inner.shadow.lost_words),
            "accesses checked without their full history: no memory left for it; races may be missed",
        );
        say(
            n(&inner.unforeseen_sync),
            "synchronisations not modelled: the kernel was not known to reach them; races may be false",
        );
        say(
            n(&inner.clears_with_streams),
            "clears of the shadow between launches: races of launches on different streams across them are missed",
        );
        if inner.shadow.map.is_incomplete() {
            notes
                .push("some accesses were not checked: the system refused memory for the checker".to_owned());
        }
        notes
    }
}

impl Inner {
    /// The smallest first uid of the launches that a running or later launch may be concurrent with.
    pub(crate) fn settled_for_all(&self) -> u64 {
        let l = self.launching.lock();
        let running = l.running.iter().map(|running| running.settled);
        let unsettled = l.unsettled.iter().map(|e| e.first_uid);
        running.chain(unsettled).min().unwrap_or_else(|| self.launches.next_uid())
    }

    /// Forgets what no access to come can meet, if nothing runs beside the launch that begins. If the uids of its
    /// blocks do not fit records any more, clears the shadow.
    fn clear_for(&self, launching: &mut Launching, info: &LaunchInfo, unordered: &[u64]) {
        launching.streams_seen |= info.stream != 0 || !unordered.is_empty();
        if !launching.running.is_empty() || !unordered.is_empty() {
            return;
        }
        if launching.unsettled.is_empty() {
            self.syncvars.clear();
        }
        let next = self.launches.next_uid();
        if next != launching.base && next - launching.base + info.blocks > self.limits.uids {
            self.clear();
            launching.base = next;
            launching.unsettled.clear();
            launching.transfers.clear();
            if launching.streams_seen {
                self.clears_with_streams.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// The numbers of a kernel's sites, which all its launches share. `site_base` tells its module.
    fn kernel_sites(&self, kernel: KernelKey, site_base: u32) -> Arc<KernelSites> {
        let mut kernels = self.kernels.lock();
        kernels.entry((kernel, site_base)).or_insert_with(|| Arc::new(KernelSites::new())).clone()
    }

    /// Forgets all accesses and all launches.
    fn clear(&self) {
        self.logs.clear();
        self.shadow.clear();
        self.launches.clear();
    }

    /// Forgets all accesses to some bytes, and their annotations.
    pub(crate) fn forget(&self, bytes: &Range<usize>) {
        self.record_reads(bytes);
        self.shadow.forget(bytes);
        self.syncvars.forget(bytes.start, bytes.len());
        if self.benign.has_some() {
            self.benign.change().forget(bytes.clone());
        }
        let mut launching = self.launching.lock();
        for transfer in &mut launching.transfers {
            if transfer.touched.may_meet(bytes) {
                *transfer = Arc::new(transfer.without(bytes));
            }
        }
    }
}

impl Drop for Checker {
    fn drop(&mut self) {
        // The logs hold launches, and these hold `inner`: a circle.
        self.inner.logs.clear();
    }
}
