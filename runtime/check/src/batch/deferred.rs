//! Deferred reads: reads of global memory that leave no record until one is needed.
//!
//! Memory that no unsettled launch has written is mostly only read: a kernel's inputs. Such reads
//! of a block's threads are kept in a log of the worker as they were handed over. That costs much less
//! than a record for each region. Before the first conflicting access to a page that was read so,
//! the reads are checked and get records, which the access then meets. From then on reads by the
//! same instructions of the launch are checked as they are made. Where nothing conflicts, the log
//! is dropped when the launch is settled.
//!
//! [Pages](crate::shadow::page) hold which memory was written, and which was read so.
//!
//! Neighbouring threads mostly read alike: [`patterns`] hold what is not affine in few words. Reads
//! that do not fit the log any more are checked at once. These launches defer no reads: launches
//! while the host's accesses are watched (managed memory), launches that a transfer may overlap, and
//! launches in which a block's threads know more of each other than barriers tell.

mod defer;
mod patterns;

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use gpurace_abi::batch::{GatheredItem, GatheredRun, Lines};
use parking_lot::Mutex;

use crate::batch::affine::{AffineAddresses, Threads};
use crate::batch::{Addresses, Batch};
use crate::order::kernel_sites::KernelSites;
use crate::order::launches::LaunchOrder;

pub(crate) use defer::{DeferralMemory, Deferrer};
use patterns::ReadPattern;

/// Bytes of a log: further reads of a launch have records at once.
const MOST_BYTES: usize = 32 << 20;
/// How often deferred reads by one instruction may get records because of writes beside them.
const MOST_BESIDE: u32 = 8;

/// A launch whose reads may be deferred.
pub(crate) trait DeferringLaunch {
    /// How it is ordered to other launches.
    fn order(&self) -> &LaunchOrder;

    /// Threads of a block.
    fn threads(&self) -> usize;
}

/// Reads of a worker's blocks without records.
struct ReadLog<L> {
    launches: Vec<ReadsOfLaunch<L>>,
    bytes: usize,
    /// Memory of a launch that is settled, to be used again.
    spare: LoggedReads,
}

/// Those of one launch.
struct ReadsOfLaunch<L> {
    launch: Arc<L>,
    /// All threads of a block.
    all: Threads,
    reads: LoggedReads,
}

#[derive(Debug, Default)]
struct LoggedReads {
    batches: Vec<ReadBatch>,
    /// Sets of threads that are not all of a block.
    threads: Vec<Threads>,
    items: Vec<GatheredItem>,
    runs: Vec<GatheredRun>,
    patterns: Vec<ReadPattern>,
}

/// Reads of a block's threads by one instruction: 80 bytes.
#[derive(Debug)]
struct ReadBatch {
    by: BlockThen,
    site: u32,
    /// Bytes of each.
    size: u32,
    addresses: ReadAddresses,
}

const _: () = assert!(size_of::<ReadBatch>() == 80);

/// An instruction, by the sites of its kernel and the module's index.
type KernelSite = (*const KernelSites, u32);

/// A block and its clock at some time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockThen {
    /// Linear index in its launch.
    pub(crate) index: u64,
    pub(crate) clock: u32,
}

/// The addresses of reads. Indices are those of [`LoggedReads`].
#[derive(Debug)]
enum ReadAddresses {
    Affine { of: Lines, dim: [u32; 3], active: Option<u32> },
    Items(Range<u32>),
    Runs(Range<u32>),
    Patterns(Range<u32>),
}

impl<L> ReadsOfLaunch<L> {
    /// Logged reads as a batch. `runs` has room for those of patterns.
    fn batch<'a>(&'a self, logged: &'a ReadBatch, runs: &'a mut Vec<GatheredRun>) -> Batch<'a> {
        let addresses = match &logged.addresses {
            ReadAddresses::Affine { of, dim, active } => {
                let active = active.map_or(&self.all, |at| &self.reads.threads[at as usize]);
                Addresses::Affine(AffineAddresses { of, dim, active })
            }
            ReadAddresses::Items(reads) => Addresses::Items(&self.reads.items[as_range(reads)]),
            ReadAddresses::Runs(runs) => Addresses::Runs(&self.reads.runs[as_range(runs)]),
            ReadAddresses::Patterns(all) => {
                runs.clear();
                runs.extend(self.reads.patterns[as_range(all)].iter().flat_map(ReadPattern::runs));
                Addresses::Runs(runs)
            }
        };
        Batch::reads(logged.site, logged.size, addresses)
    }

    /// True if some logged reads may be of some of these bytes.
    fn may_meet(&self, logged: &ReadBatch, bytes: &Range<usize>) -> bool {
        match &logged.addresses {
            ReadAddresses::Patterns(all) => {
                self.reads.patterns[as_range(all)].iter().any(|pattern| pattern.may_meet(bytes))
            }
            _ => self.batch(logged, &mut Vec::new()).may_meet(bytes),
        }
    }
}

impl<L: DeferringLaunch> ReadsOfLaunch<L> {
    /// What [`ReadLogs::record`] does with the reads of one launch. `sites` gets the instructions that have read the
    /// written region. `runs`: room for [`Self::batch`].
    fn record(
        &mut self,
        bytes: &Range<usize>,
        written: Option<&Range<usize>>,
        sites: &mut HashSet<KernelSite>,
        runs: &mut Vec<GatheredRun>,
        check: &mut impl FnMut(&Arc<L>, BlockThen, &Batch<'_>),
    ) {
        let kernel = Arc::as_ptr(&self.launch.order().data.sites);
        let met: Vec<_> = self.reads.batches.iter().map(|batch| self.may_meet(batch, bytes)).collect();
        if let Some(written) = written {
            for (batch, _) in self.reads.batches.iter().zip(&met).filter(|(_, met)| **met) {
                let site = (kernel, batch.site);
                if !sites.contains(&site) && self.ends_deferral(batch, written) {
                    self.launch.order().data.sites.check_at_once(batch.site);
                    sites.insert(site);
                }
            }
        }
        let taken = |batch: &ReadBatch, met: bool| met || sites.contains(&(kernel, batch.site));
        for (batch, _) in self.reads.batches.iter().zip(&met).filter(|(batch, met)| taken(batch, **met)) {
            check(&self.launch, batch.by, &self.batch(batch, runs));
        }
        let mut met = met.into_iter();
        self.reads.batches.retain(|batch| !taken(batch, met.next() == Some(true)));
        if self.reads.batches.is_empty() {
            self.reads.clear();
        }
    }

    /// True if an instruction's reads are deferred no more: the logged ones may be of the region that is `written`, or
    /// writes beside its reads have made records of them too often.
    fn ends_deferral(&self, logged: &ReadBatch, written: &Range<usize>) -> bool {
        let sites = &self.launch.order().data.sites;
        self.may_meet(logged, written) || sites.recorded_beside(logged.site) > MOST_BESIDE
    }
}

impl LoggedReads {
    /// Appends a set of threads, and returns its index.
    fn push_threads(&mut self, threads: &Threads) -> u32 {
        make_room(&mut self.threads);
        self.threads.push(threads.clone());
        self.threads.len() as u32 - 1
    }

    /// Appends a batch of reads.
    fn push(&mut self, by: BlockThen, site: u32, size: u32, addresses: ReadAddresses) {
        make_room(&mut self.batches);
        self.batches.push(ReadBatch { by, site, size, addresses });
    }

    fn clear(&mut self) {
        self.batches.clear();
        self.threads.clear();
        self.items.clear();
        self.runs.clear();
        self.patterns.clear();
    }

    fn bytes(&self) -> usize {
        size_of_val(&self.batches[..])
            + size_of_val(&self.threads[..])
            + size_of_val(&self.items[..])
            + size_of_val(&self.runs[..])
            + size_of_val(&self.patterns[..])
    }
}

fn as_range(part: &Range<u32>) -> Range<usize> {
    part.start as usize..part.end as usize
}

/// Reserves room for all that a log may hold. Memory that is not used costs nothing, and a vector
/// that grows is there twice meanwhile.
fn make_room<T>(all: &mut Vec<T>) {
    if all.capacity() == 0 {
        all.reserve_exact(MOST_BYTES / size_of::<T>());
    }
}

/// Appends, and returns the place.
fn push_all<T: Copy>(all: &mut Vec<T>, more: &[T]) -> Range<u32> {
    make_room(all);
    let start = all.len() as u32;
    all.extend_from_slice(more);
    start..all.len() as u32
}

impl<L> Default for ReadLog<L> {
    fn default() -> Self {
        Self { launches: Vec::new(), bytes: 0, spare: LoggedReads::default() }
    }
}

impl<L: DeferringLaunch> ReadLog<L> {
    /// The reads of a launch; those that are settled for all that run are dropped before. `None`
    /// where there is no room for so many bytes more.
    #[inline]
    fn of(&mut self, launch: &Arc<L>, bytes: usize) -> Option<&mut ReadsOfLaunch<L>> {
        if self.launches.last().is_none_or(|last| !Arc::ptr_eq(&last.launch, launch)) {
            self.begin(launch);
        }
        let has_room = self.bytes + bytes <= MOST_BYTES;
        self.launches.last_mut().filter(|_| has_room)
    }

    #[cold]
    fn begin(&mut self, launch: &Arc<L>) {
        self.drop_settled(launch.order().settled_for_all);
        let reads = std::mem::take(&mut self.spare);
        let all = Threads::first(launch.threads());
        self.launches.push(ReadsOfLaunch { launch: launch.clone(), all, reads });
        self.count();
    }

    /// Drops the reads of launches whose first uid is below this one.
    fn drop_settled(&mut self, settled: u64) {
        for of in self.launches.extract_if(.., |of| of.launch.order().data.first_uid < settled) {
            self.spare = of.reads;
            self.spare.clear();
        }
    }

    fn count(&mut self) {
        self.bytes = self.launches.iter().map(|of| of.reads.bytes()).sum();
    }
}

/// A log that a worker appends to, and others make records from.
type SharedLog<L> = Arc<Mutex<ReadLog<L>>>;

/// The logs of a checker.
pub(crate) struct ReadLogs<L> {
    all: Mutex<Vec<SharedLog<L>>>,
    /// Those that no worker has.
    idle: Mutex<Vec<SharedLog<L>>>,
    /// Held while records of reads are made: one worker at a time.
    turn: Mutex<()>,
}

impl<L> Default for ReadLogs<L> {
    fn default() -> Self {
        Self { all: Mutex::default(), idle: Mutex::default(), turn: Mutex::default() }
    }
}

impl<L: DeferringLaunch> ReadLogs<L> {
    fn take(&self) -> SharedLog<L> {
        self.idle.lock().pop().unwrap_or_else(|| {
            let log = SharedLog::<L>::default();
            self.all.lock().push(log.clone());
            log
        })
    }

    /// Drops all reads: no access that could race with them is to come.
    pub(crate) fn clear(&self) {
        for log in &*self.all.lock() {
            *log.lock() = ReadLog::default();
        }
    }

    /// Makes records of the batches that may have read some of these bytes, by `check`. Drops launches whose first uid
    /// is below `settled`. `written`: the region that is about to be written. Where an instruction has read that
    /// region, its other batches get records too, and its further reads are checked as they are made.
    pub(crate) fn record(
        &self,
        bytes: &Range<usize>,
        settled: u64,
        written: Option<Range<usize>>,
        mut check: impl FnMut(&Arc<L>, BlockThen, &Batch<'_>),
    ) {
        let _turn = self.turn.lock();
        let logs: Vec<_> = self.all.lock().clone();
        let (mut sites, mut runs) = (HashSet::new(), Vec::new());
        for log in logs {
            let log = &mut *log.lock();
            log.drop_settled(settled);
            for of in &mut log.launches {
                of.record(bytes, written.as_ref(), &mut sites, &mut runs, &mut check);
            }
            log.count();
        }
    }
}

/// The log of a worker.
pub(crate) struct OwnLog<L>(Option<(Arc<ReadLogs<L>>, SharedLog<L>)>);

impl<L> Default for OwnLog<L> {
    fn default() -> Self {
        Self(None)
    }
}

impl<L> Drop for OwnLog<L> {
    fn drop(&mut self) {
        if let Some((logs, log)) = self.0.take() {
            logs.idle.lock().push(log);
        }
    }
}
