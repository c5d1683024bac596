//! The process's checker: what all launches share, and how they begin and end.
//!
//! Each block takes an id, its *uid*, that no block of any launch before had.
//! So a record of an earlier launch is told by its uid, and no shadow is
//! cleared between launches. A block whose clock outgrows the shadow word
//! takes a further uid at a barrier; what it did under the older one is before
//! that barrier. Words hold uids counted from the last clear; the shadow is
//! cleared at the start of a launch whose uids would not fit any more.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};

use crate::benign::Benign;
use crate::chain::Chain;
use crate::covered::Covered;
use crate::deferred::Logs;
use crate::kernel_sites::KernelSites;
use crate::launch::{KernelKey, Launch, LaunchData, LaunchInfo, LaunchStats, ProvedSites};
use crate::line::Line;
use crate::page::Marks;
use crate::pool::Store;
use crate::race::{RaceRecord, Races};
use crate::region::{self, Ranges as RegionRanges};
use crate::shadow::Shadow;
use crate::syncvar::SyncVars;
use crate::transfer::{Copied, Ranges};
use crate::vector::Clocks;
use crate::word::{self, Word};

/// Bounds on memory. What is lost where one is reached is counted in [`Checker::notes`].
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Words with a side chain, in the process.
    pub chains: u64,
    /// Records of one word.
    pub entries: usize,
    /// Block ids between two clears of the shadow, at most [`word::UID_VALUES`].
    pub uids: u64,
    /// Clock at which a block takes a new uid, at most [`word::CLOCK_VALUES`].
    pub clock: u32,
    /// Whether a plain access races with an atomic write of which it is not known whether its thread has observed it: of a location
    /// with more atomic operations than are kept. If not, such pairs are counted, and those of atomics under way at one time, too.
    pub reports_undecided: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            chains: 1 << 27,
            entries: 1 << 16,
            uids: word::UID_VALUES,
            clock: word::CLOCK_VALUES / 2,
            reports_undecided: true,
        }
    }
}

/// Reads up to 8 bytes of the checked program's memory, zero-extended; `None`
/// where it cannot be read.
pub type ReadMemory = fn(address: usize, size: u32) -> Option<u64>;

/// The checker of a process.
pub struct Checker {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) shadow: Shadow,
    pub(crate) races: Races,
    pub(crate) syncvars: SyncVars,
    /// Global memory on which races are meant.
    pub(crate) benign: RwLock<Benign>,
    /// Reads that another access's check stands for.
    pub(crate) covered: Covered,
    /// Reads without records.
    pub(crate) logs: Logs,
    /// What the host accesses is looked up.
    host_is_watched: AtomicBool,
    pub(crate) limits: Limits,
    pub(crate) read_memory: Option<ReadMemory>,
    next_uid: AtomicU64,
    pub(crate) launching: Mutex<Launching>,
    /// By first uid.
    pub(crate) launches: RwLock<Vec<Arc<LaunchData>>>,
    /// Uids that blocks took while they ran.
    further: RwLock<HashMap<u64, (Arc<LaunchData>, u64)>>,
    kernels: Mutex<HashMap<(KernelKey, u32), Arc<KernelSites>>>,
    pub(crate) lines: Arc<Store<Line>>,
    pub(crate) ranges: Arc<Store<RegionRanges>>,
    /// Words with a chain or a line, but for what running blocks have not told yet: modulo 2^64.
    pub(crate) chains: AtomicU64,
    pub(crate) lost_records: AtomicU64,
    pub(crate) lost_words: AtomicU64,
    pub(crate) unforeseen_sync: AtomicU64,
    /// Pairs that are not reported: [`Limits::reports_undecided`].
    pub(crate) undecided: AtomicU64,
    clears_with_streams: AtomicU64,
}

pub(crate) struct Launching {
    /// Uids in words are counted from here.
    pub(crate) base: u64,
    running: Vec<Running>,
    streams_seen: bool,
    /// Launches that something to come may be concurrent with.
    unsettled: Vec<Arc<LaunchData>>,
    /// Which bytes those of them touch that are copies.
    pub(crate) copies: Vec<Arc<Copied>>,
}

/// A launch that has begun and not ended, by first uids.
struct Running {
    launch: u64,
    /// Those below are settled for it.
    settled: u64,
}

impl Default for Checker {
    fn default() -> Self {
        Self::new()
    }
}

impl Checker {
    /// A checker with default bounds that cannot read memory: it never knows
    /// whether equal values were written.
    pub fn new() -> Self {
        Self::with(Limits::default(), None)
    }

    /// A checker with these bounds, that compares written values with memory through `read_memory`.
    pub fn with(limits: Limits, read_memory: Option<ReadMemory>) -> Self {
        Self {
            inner: Arc::new(Inner {
                shadow: Shadow::new(),
                races: Races::default(),
                syncvars: SyncVars::default(),
                benign: RwLock::default(),
                covered: Covered::default(),
                logs: Logs::default(),
                host_is_watched: AtomicBool::new(false),
                limits: Limits {
                    uids: limits.uids.min(word::UID_VALUES),
                    clock: limits.clock.min(word::CLOCK_VALUES),
                    ..limits
                },
                read_memory,
                next_uid: AtomicU64::new(0),
                launching: Mutex::new(Launching {
                    base: 0,
                    running: Vec::new(),
                    streams_seen: false,
                    unsettled: Vec::new(),
                    copies: Vec::new(),
                }),
                launches: RwLock::default(),
                further: RwLock::default(),
                kernels: Mutex::default(),
                lines: Arc::default(),
                ranges: Arc::default(),
                chains: AtomicU64::new(0),
                lost_records: AtomicU64::new(0),
                lost_words: AtomicU64::new(0),
                unforeseen_sync: AtomicU64::new(0),
                undecided: AtomicU64::new(0),
                clears_with_streams: AtomicU64::new(0),
            }),
        }
    }

    /// Begins a launch. It is ordered after every launch with a smaller id,
    /// except those whose ids are in `unordered`.
    ///
    /// Launches begin in the order of their ids, but for one that ran without checks and
    /// whose accesses are made known later. No launch with a larger id may have begun
    /// then that touches the same regions of memory, or that orders its threads by atomics
    /// or fences: it did not know of this one.
    pub fn begin_launch(&self, info: LaunchInfo, unordered: &[u64]) -> Arc<Launch> {
        self.begin(info, unordered, ProvedSites::default(), None)
    }

    /// Begins a launch in which the accesses of some sites are not checked.
    /// They leave no history, so no launch may be concurrent with this one.
    pub fn begin_pruned(&self, info: LaunchInfo, unordered: &[u64], proved: ProvedSites) -> Arc<Launch> {
        self.begin(info, unordered, proved, None)
    }

    /// As [`Checker::begin_pruned`]; a copy says what it touches.
    pub(crate) fn begin(
        &self,
        info: LaunchInfo,
        unordered: &[u64],
        proved: ProvedSites,
        touched: Option<Ranges>,
    ) -> Arc<Launch> {
        let inner = &self.inner;
        let mut l = inner.launching.lock();
        l.streams_seen |= info.stream != 0 || !unordered.is_empty();
        l.unsettled.retain(|e| e.id > info.settled || unordered.contains(&e.id));
        l.copies.retain(|c| c.launch.id > info.settled || unordered.contains(&c.launch.id));
        let next = inner.next_uid.load(Ordering::Relaxed);
        let quiet = l.running.is_empty() && unordered.is_empty();
        if quiet && l.unsettled.is_empty() {
            inner.syncvars.clear();
        }
        if quiet && next != l.base && next - l.base + info.blocks > inner.limits.uids {
            inner.clear();
            l.base = next;
            l.unsettled.clear();
            l.copies.clear();
            if l.streams_seen {
                inner.clears_with_streams.fetch_add(1, Ordering::Relaxed);
            }
        }
        let first_uid = inner.next_uid.fetch_add(info.blocks, Ordering::Relaxed);
        let settled_uid = l.unsettled.iter().map(|e| e.first_uid).fold(first_uid, u64::min);
        l.running.push(Running { launch: first_uid, settled: settled_uid });
        let for_all = l.running.iter().fold(settled_uid, |least, running| least.min(running.settled));
        let mut before = Clocks::new();
        // One that is made known late is not after those that came meanwhile.
        let earlier = |e: &&Arc<LaunchData>| e.id < info.id && !unordered.contains(&e.id);
        for e in l.unsettled.iter().filter(earlier) {
            before.learn_launch(e.first_uid);
            before.join(&e.learnt.lock());
        }
        let sites = inner
            .kernels
            .lock()
            .entry((info.kernel, info.site_base))
            .or_insert_with(|| Arc::new(KernelSites::new()))
            .clone();
        let data = Arc::new(LaunchData {
            id: info.id,
            kernel: info.kernel,
            first_uid,
            blocks: info.blocks,
            site_base: info.site_base,
            stream: info.stream,
            sites,
            learnt: Mutex::new(before.clone()),
        });
        let of_copies = l.copies.iter();
        let copies = of_copies.filter(|c| unordered.contains(&c.launch.id)).cloned().collect();
        if let Some(touched) = touched {
            l.copies.push(Arc::new(Copied { launch: data.clone(), touched }));
        }
        l.unsettled.push(data.clone());
        inner.launches.write().push(data.clone());
        Arc::new(Launch {
            inner: inner.clone(),
            data,
            kernel: info.kernel,
            features: info.features,
            threads: info.threads_per_block,
            clusters: info.clusters,
            base: l.base,
            settled_uid,
            unsettled: for_all,
            marks: Marks::new(first_uid, for_all),
            defers: !inner.host_is_watched.load(Ordering::Relaxed),
            unordered: unordered.to_vec(),
            copies,
            before,
            proved,
            checks: AtomicU64::new(0),
        })
    }

    /// Ends a launch all of whose blocks have ended.
    pub fn end_launch(&self, launch: &Launch) -> LaunchStats {
        self.inner.launching.lock().running.retain(|running| running.launch != launch.data.first_uid);
        LaunchStats { checks_executed: launch.checks.load(Ordering::Relaxed) }
    }

    /// Races on `size` bytes of global memory are meant: none is found from here
    /// on, until the memory is freed.
    pub fn benign(&self, address: usize, size: usize) {
        self.inner.benign.write().add(address, size);
    }

    /// Whether accesses by the host are to be looked up in what launches have touched that begin from now on:
    /// they keep records then that are settled for other launches.
    pub fn watch_host(&self, watches: bool) {
        self.inner.host_is_watched.store(watches, Ordering::Relaxed);
    }

    /// Forgets all accesses to a range: its memory was freed, or is new. No
    /// running launch may be accessing it.
    pub fn forget(&self, address: usize, size: usize) {
        self.inner.forget(address, size);
    }

    /// The races found so far, in the order in which they were found. Counts
    /// of blocks that still run may be missing.
    pub fn races(&self) -> Vec<RaceRecord> {
        self.inner.races.all()
    }

    /// The races that were found since the last call.
    pub fn take_new_races(&self) -> Vec<RaceRecord> {
        self.inner.races.take_new()
    }

    /// Conflicts that were left undecided since the last call: none unless [`Limits::reports_undecided`] is off.
    pub fn take_undecided(&self) -> u64 {
        self.inner.undecided.swap(0, Ordering::Relaxed)
    }

    /// What was lost, in sentences for the report's notes; empty where nothing was.
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
            n(&inner.lost_records),
            "accesses not kept: a word had too many concurrent accesses; races with them may be missed",
        );
        say(
            n(&inner.lost_words),
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
        notes
    }
}

impl Inner {
    /// A further uid for a running block.
    pub(crate) fn further_uid(&self, data: &Arc<LaunchData>, index: u64) -> u64 {
        let uid = self.next_uid.fetch_add(1, Ordering::Relaxed);
        self.further.write().insert(uid, (data.clone(), index));
        uid
    }

    /// The launch of a uid, and the linear index of the block in it.
    pub(crate) fn launch_of(&self, uid: u64) -> Option<(Arc<LaunchData>, u64)> {
        let launches = self.launches.read();
        let i = launches.partition_point(|l| l.first_uid <= uid);
        if let Some(l) = i.checked_sub(1).map(|i| &launches[i])
            && uid - l.first_uid < l.blocks
        {
            return Some((l.clone(), uid - l.first_uid));
        }
        self.further.read().get(&uid).cloned()
    }

    /// The smallest first uid of launches that one that runs, or is to come, may be concurrent with.
    pub(crate) fn settled_for_all(&self) -> u64 {
        let l = self.launching.lock();
        let running = l.running.iter().map(|running| running.settled);
        let unsettled = l.unsettled.iter().map(|e| e.first_uid);
        running.chain(unsettled).min().unwrap_or_else(|| self.next_uid.load(Ordering::Relaxed))
    }

    fn clear(&self) {
        self.logs.clear();
        self.shadow.clear(|w| self.drop_chain(w), |w| self.drop_region(w));
        self.launches.write().clear();
        self.further.write().clear();
    }

    pub(crate) fn drop_chain(&self, word: u64) {
        match Word::unpack(word) {
            Word::Expanded(at) => {
                self.chains.fetch_sub(1, Ordering::Relaxed);
                // SAFETY: an expanded word owns its chain, and the caller has taken
                // the word's content out of the shadow.
                drop(unsafe { Box::from_raw(at as *mut Chain) });
            }
            Word::Line(at) => {
                self.chains.fetch_sub(1, Ordering::Relaxed);
                self.lines.give_back(at as *mut Line);
            }
            Word::Empty | Word::Busy | Word::Compact(_) => {}
        }
    }

    pub(crate) fn forget(&self, address: usize, size: usize) {
        let end = address.saturating_add(size);
        self.record_reads(&(address..end));
        self.shadow.regions(&(address..end), |first, place| {
            let from = address.saturating_sub(first) / word::GRANULE;
            let to = (end - first).div_ceil(word::GRANULE).min(region::WORDS);
            self.forget_in_region(place.region, (!0 << from) & (!0 >> (region::WORDS - to)));
            for cell in &place.words()[from..to] {
                loop {
                    let w = cell.load(Ordering::Acquire);
                    if w == word::BUSY_WORD {
                        std::thread::yield_now();
                    } else if w == 0
                        || cell
                            .compare_exchange(w, 0, Ordering::AcqRel, Ordering::Acquire)
                            .inspect(|&w| self.drop_chain(w))
                            .is_ok()
                    {
                        break;
                    }
                }
            }
        });
        self.syncvars.forget(address, size);
        self.benign.write().forget(address..end);
        let mut launching = self.launching.lock();
        for copied in &mut launching.copies {
            if copied.touched.may_meet(&(address..end)) {
                *copied = Arc::new(copied.without(&(address..end)));
            }
        }
    }
}

impl Drop for Checker {
    fn drop(&mut self) {
        // Its launches name what they are of.
        self.inner.logs.clear();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // The chains are owned by words, which nothing else walks.
        if self.chains.load(Ordering::Relaxed) != 0 {
            self.clear();
        }
    }
}
