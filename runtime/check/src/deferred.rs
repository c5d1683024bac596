//! Reads of global memory that leave no record until one is needed.
//!
//! What nothing unsettled has written is mostly only read: a kernel's inputs. Such reads of a block's threads are
//! kept as they were handed over ([`crate::rows`], [`crate::stream`]), in a log of the worker, which costs much less than
//! a record for each region. Before the first conflicting access to memory that has been read so,
//! the reads are looked at as ever (`State::before_write`), so that it meets their records; what a launch reads by an instruction of which that
//! became necessary is looked at at once from then on. Where nothing conflicts, the log is dropped when the launch is settled.
//!
//! Which memory has been written, and which has been read so, its pages say: see [`crate::page`].

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use gpurace_abi::image;
use parking_lot::Mutex;
use smallvec::SmallVec;

use crate::block::Block;
use crate::checker::Inner;
use crate::common::Sites;
use crate::launch::Launch;
use crate::lines::{Items, Lines, Threads, lines_of};
use crate::page::{self, STRETCH};
use crate::rows::{Mask, Row};
use crate::stream::{Item, Stream};

/// Bytes of a log: what a launch reads beyond that has records at once.
const MOST_BYTES: usize = 8 << 20;
/// How often reads by one instruction may have to be looked at for writes beside them.
const MOST_BESIDE: u32 = 8;
/// How many stretches a pool's reads are looked up in without asking again.
const STRETCHES_KEPT: usize = 8;
/// Most bytes between the first and the last of a row's reads that wait.
const MOST_SPAN: usize = 1 << 21;

/// Reads of a worker's blocks without records.
#[derive(Debug, Default)]
pub(crate) struct Log {
    launches: Vec<OfLaunch>,
    bytes: usize,
    /// Memory of a launch that is settled, to be used again.
    spare: Parts,
}

/// Those of one launch.
struct OfLaunch {
    launch: Arc<Launch>,
    parts: Parts,
}

#[derive(Debug, Default)]
struct Parts {
    entries: Vec<Entry>,
    /// Sets of threads that are not all of a block.
    threads: Vec<Threads>,
    items: Vec<Item>,
    streams: Vec<Stream>,
}

impl std::fmt::Debug for OfLaunch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} entries of launch {}", self.parts.entries.len(), self.launch.data.id)
    }
}

/// Reads of a block's threads by one instruction: 80 bytes.
#[derive(Debug)]
struct Entry {
    /// Linear index of the block, and its clock.
    block: u64,
    clock: u32,
    site: u32,
    /// Bytes of each.
    size: u32,
    reads: Reads,
}

const _: () = assert!(size_of::<Entry>() == 80);

/// Indices are those of [`Parts`].
#[derive(Debug)]
enum Reads {
    Row { of: image::Lines, dim: [u32; 3], active: Option<u32> },
    Items(Range<u32>),
    Streams(Range<u32>),
}

impl OfLaunch {
    /// The threads of a row.
    fn active(&self, active: Option<u32>) -> Threads {
        match active {
            Some(at) => self.parts.threads[at as usize].clone(),
            None => Threads::first(self.launch.threads as usize),
        }
    }

    /// Whether reads may be of some of these bytes.
    fn meets(&self, entry: &Entry, bytes: &Range<usize>) -> bool {
        let meets = |start: usize, end: usize| start < bytes.end && bytes.start < end;
        match &entry.reads {
            Reads::Row { of, dim, active } => {
                let mut met = false;
                let lines = Lines { of, dim, active: &self.active(*active) };
                let told = lines.runs(entry.size as usize, |run, _| {
                    met |= meets(run.address, run.end(entry.size as usize))
                });
                met || !told
            }
            Reads::Items(items) => of(&self.parts.items, items)
                .iter()
                .any(|item| meets(item.address(), item.address() + entry.size as usize)),
            Reads::Streams(streams) => {
                of(&self.parts.streams, streams).iter().any(|s| meets(s.first.address(), s.end as usize))
            }
        }
    }

    /// Makes the records of reads. `late` stands for blocks of this launch.
    fn record(&self, entry: &Entry, late: &mut Block) {
        late.restart_at(&self.launch, entry.block, entry.clock);
        match &entry.reads {
            Reads::Row { of, dim, active } => {
                let lines = Lines { of, dim, active: &self.active(*active) };
                let row = Row {
                    site: entry.site,
                    size: entry.size,
                    writes: false,
                    items: Items::Lines(lines),
                    values: None,
                };
                late.row(&[row], &(0..0));
            }
            Reads::Items(items) => {
                late.scattered_now(of(&self.parts.items, items), entry.size, entry.site, &(0..0))
            }
            Reads::Streams(streams) => {
                late.streams_now(of(&self.parts.streams, streams), entry.size, entry.site, &(0..0))
            }
        }
    }
}

impl Parts {
    /// Appends a set of threads, and gives where.
    fn keep_threads(&mut self, threads: &Threads) -> u32 {
        make_room(&mut self.threads);
        self.threads.push(threads.clone());
        self.threads.len() as u32 - 1
    }

    fn clear(&mut self) {
        self.entries.clear();
        self.threads.clear();
        self.items.clear();
        self.streams.clear();
    }

    fn bytes(&self) -> usize {
        size_of_val(&self.entries[..])
            + size_of_val(&self.threads[..])
            + size_of_val(&self.items[..])
            + size_of_val(&self.streams[..])
    }
}

fn of<'a, T>(all: &'a [T], part: &Range<u32>) -> &'a [T] {
    &all[part.start as usize..part.end as usize]
}

/// Makes room for all that a log may hold at once, which takes memory as it is used: what grows is there twice meanwhile.
fn make_room<T>(all: &mut Vec<T>) {
    if all.capacity() == 0 {
        all.reserve_exact(MOST_BYTES / size_of::<T>());
    }
}

/// Appends, and gives where.
fn push<T: Copy>(all: &mut Vec<T>, more: &[T]) -> Range<u32> {
    make_room(all);
    let start = all.len() as u32;
    all.extend_from_slice(more);
    start..all.len() as u32
}

impl Log {
    /// The part of a launch, without those that are settled for all that run, and with room for some bytes more.
    #[inline]
    fn of(&mut self, launch: &Arc<Launch>, bytes: usize) -> Option<&mut OfLaunch> {
        if self.launches.last().is_none_or(|last| !Arc::ptr_eq(&last.launch, launch)) {
            self.begin(launch);
        }
        let has_room = self.bytes + bytes <= MOST_BYTES;
        self.launches.last_mut().filter(|_| has_room)
    }

    #[cold]
    fn begin(&mut self, launch: &Arc<Launch>) {
        self.drop_settled(launch.unsettled);
        let parts = std::mem::take(&mut self.spare);
        self.launches.push(OfLaunch { launch: launch.clone(), parts });
        self.count();
    }

    /// Drops the reads of launches whose first uid is below this one.
    fn drop_settled(&mut self, settled: u64) {
        for of in self.launches.extract_if(.., |of| of.launch.data.first_uid < settled) {
            self.spare = of.parts;
            self.spare.clear();
        }
    }

    fn count(&mut self) {
        self.bytes = self.launches.iter().map(|of| of.parts.bytes()).sum();
    }
}

/// The logs of a checker.
#[derive(Debug, Default)]
pub(crate) struct Logs {
    all: Mutex<Vec<Arc<Mutex<Log>>>>,
    /// Those that no worker has.
    idle: Mutex<Vec<Arc<Mutex<Log>>>>,
    /// Who makes records of what is in them, one at a time.
    turn: Mutex<()>,
}

impl Logs {
    fn take(&self) -> Arc<Mutex<Log>> {
        self.idle.lock().pop().unwrap_or_else(|| {
            let log = Arc::<Mutex<Log>>::default();
            self.all.lock().push(log.clone());
            log
        })
    }

    /// Lets go of all reads: nothing of what they could race with is to come.
    pub(crate) fn clear(&self) {
        for log in &*self.all.lock() {
            *log.lock() = Log::default();
        }
    }

    /// Makes records of reads that may be of some of these bytes; of launches whose first uid is below `settled` there is none any more.
    /// Where some of them are of a region that is `written`, also of all others by the same instructions, whose reads are
    /// looked at at once from then on.
    pub(crate) fn record(&self, bytes: &Range<usize>, settled: u64, written: Option<Range<usize>>) {
        let _turn = self.turn.lock();
        let logs: Vec<_> = self.all.lock().clone();
        let mut sites = HashSet::new();
        for log in logs {
            let log = &mut *log.lock();
            log.drop_settled(settled);
            for of in &mut log.launches {
                let kernel = &of.launch.data.sites;
                let met: Vec<_> = of.parts.entries.iter().map(|entry| of.meets(entry, bytes)).collect();
                if let Some(written) = &written {
                    for (entry, _) in of.parts.entries.iter().zip(&met).filter(|(_, met)| **met) {
                        let site = (Arc::as_ptr(kernel), entry.site);
                        if !sites.contains(&site)
                            && (of.meets(entry, written) || kernel.looked_at_beside(entry.site) > MOST_BESIDE)
                        {
                            kernel.look_at_once(entry.site);
                            sites.insert(site);
                        }
                    }
                }
                let taken =
                    |entry: &Entry, met: bool| met || sites.contains(&(Arc::as_ptr(kernel), entry.site));
                let mut late = None;
                for (entry, _) in of.parts.entries.iter().zip(&met).filter(|(entry, met)| taken(entry, **met))
                {
                    of.record(entry, late.get_or_insert_with(|| Block::begin_late(&of.launch)));
                }
                late.into_iter().for_each(Block::end_late);
                let mut met = met.iter();
                of.parts.entries.retain(|entry| !taken(entry, met.next() == Some(&true)));
                if of.parts.entries.is_empty() {
                    of.parts.clear();
                }
            }
            log.count();
        }
    }
}

/// Stretches of which all that a pool reads may wait, the last that were met.
struct Stretches<'a> {
    block: &'a Block,
    local: &'a Range<usize>,
    last: [usize; STRETCHES_KEPT],
}

impl<'a> Stretches<'a> {
    fn new(block: &'a Block, local: &'a Range<usize>) -> Self {
        Self { block, local, last: [usize::MAX; STRETCHES_KEPT] }
    }

    /// Whether a read of some bytes may wait.
    #[inline]
    fn read(&mut self, bytes: &Range<usize>) -> bool {
        if bytes.is_empty() {
            return true;
        }
        let stretch = bytes.start / STRETCH;
        let last = &mut self.last[stretch % STRETCHES_KEPT];
        if (bytes.end - 1) / STRETCH == stretch {
            if *last == stretch {
                return true;
            }
            if self.block.reads_stretch(stretch, self.local) {
                *last = stretch;
                return true;
            }
        }
        self.block.reads(bytes.clone(), self.local)
    }
}

/// A worker's log.
#[derive(Default)]
pub(crate) struct Own(Option<(Arc<Inner>, Arc<Mutex<Log>>)>);

impl Drop for Own {
    fn drop(&mut self) {
        if let Some((inner, log)) = self.0.take() {
            inner.logs.idle.lock().push(log);
        }
    }
}

impl Inner {
    /// Makes records of the reads of some bytes that have none.
    pub(crate) fn record_reads(&self, bytes: &Range<usize>) {
        let settled = self.settled_for_all();
        if self.shadow.was_read(bytes, page::mark(settled)) {
            self.logs.record(bytes, settled, None);
        }
    }
}

impl Block {
    /// What stands for blocks of a launch whose reads are looked at.
    fn begin_late(launch: &Arc<Launch>) -> Self {
        let mut late = Self::begin(launch, 0, 0..0);
        late.state.late = true;
        late
    }

    /// Has it stand for this block, as it was at this clock of all its threads.
    fn restart_at(&mut self, launch: &Arc<Launch>, index: u64, clock: u32) {
        // They are counted.
        self.state.checks = 0;
        self.restart(launch, index, 0..0);
        self.state.order.set_clock(clock);
    }

    fn end_late(mut self) {
        self.state.checks = 0;
        self.end();
    }

    /// Leaves the reads of rows in the log, of those among `some` that nothing unsettled has written what they are of. Gives
    /// those; the others are to be looked at now.
    pub(crate) fn defer_rows(&mut self, rows: &[Row<'_>], local: &Range<usize>, some: Mask) -> Mask {
        let threads = self.state.launch.threads as usize;
        let mut all = None;
        let mut found =
            SmallVec::<[(usize, image::Lines, [u32; 3], Option<&Threads>, Range<usize>); 8]>::new();
        for (at, row) in rows.iter().enumerate().filter(|(at, row)| some >> at & 1 != 0 && !row.writes) {
            if !self.may_defer(row.site) {
                continue;
            }
            let (of, dim, active) = match row.items {
                Items::Lines(lines) => (*lines.of, *lines.dim, Some(lines.active)),
                Items::Each(items) => match lines_of(items) {
                    Some((of, dim)) => (of, dim, None),
                    None => continue,
                },
            };
            let lines = Lines {
                of: &of,
                dim: &dim,
                active: active.unwrap_or_else(|| all.get_or_insert_with(|| Threads::first(threads))),
            };
            if let Some(bounds) = lines.bounds(row.size as usize).filter(|bounds| bounds.len() <= MOST_SPAN) {
                found.push((at, of, dim, active, bounds));
            }
        }
        if found.is_empty() {
            return 0;
        }
        let (mut deferred, mut checks) = (0, 0);
        let bytes = found.len() * (size_of::<Entry>() + size_of::<Threads>());
        self.in_log(bytes, |block, log| {
            // Most rows have the same threads: where they are, and how many.
            let mut last = (None::<&Threads>, None, threads as u64);
            for (at, of, dim, active, bounds) in &found {
                if !block.reads(bounds.clone(), local) {
                    continue;
                }
                if last.0.map(std::ptr::from_ref) != active.map(std::ptr::from_ref) {
                    let some = active.filter(|active| !active.is_all(threads));
                    last = (
                        *active,
                        some.map(|some| log.keep_threads(some)),
                        some.map_or(threads as u64, Threads::count),
                    );
                }
                block.log(
                    log,
                    rows[*at].site,
                    rows[*at].size,
                    Reads::Row { of: *of, dim: *dim, active: last.1 },
                );
                checks += last.2;
                deferred |= 1 << at;
            }
        });
        self.state.checks += checks;
        deferred
    }

    /// The same of reads by threads, each at its address: whether they wait.
    pub(crate) fn defer_items(&mut self, items: &[Item], size: u32, site: u32, local: &Range<usize>) -> bool {
        let (mut deferred, mut checks) = (false, 0);
        if self.may_defer(site) {
            self.in_log(size_of::<Entry>() + size_of_val(items), |block, of| {
                let mut stretches = Stretches::new(block, local);
                let wait = |item: &Item| {
                    let address = item.address();
                    checks += u64::from(address != 0);
                    address == 0 || stretches.read(&(address..address + size as usize))
                };
                deferred = items.iter().all(wait);
                if deferred {
                    let items = push(&mut of.items, items);
                    block.log(of, site, size, Reads::Items(items));
                }
            });
        }
        if deferred {
            self.state.checks += checks;
        }
        deferred
    }

    /// The same of reads that follow each other.
    pub(crate) fn defer_streams(
        &mut self,
        streams: &[Stream],
        size: u32,
        site: u32,
        local: &Range<usize>,
    ) -> bool {
        let bytes =
            |s: &Stream| if s.first.address() == 0 { 0..0 } else { s.first.address()..s.end as usize };
        let mut deferred = false;
        if self.may_defer(site) {
            self.in_log(size_of::<Entry>() + size_of_val(streams), |block, of| {
                let mut stretches = Stretches::new(block, local);
                deferred = streams.iter().all(|s| stretches.read(&bytes(s)));
                if deferred {
                    let streams = push(&mut of.streams, streams);
                    block.log(of, site, size, Reads::Streams(streams));
                }
            });
        }
        if deferred {
            self.state.checks += streams.iter().map(|s| (bytes(s).len() / size as usize) as u64).sum::<u64>();
        }
        deferred
    }

    /// Whether reads by an instruction may wait.
    fn may_defer(&mut self, site: u32) -> bool {
        let plain = self.is_plain();
        let s = &mut self.state;
        let entry = s.sites.get(site, &s.launch.proved, &s.launch.data.sites);
        plain && s.launch.defers && Sites::may_wait(entry) && !s.order.has_past() && !s.order.knows_others()
    }

    /// Whether a read of some bytes may wait.
    #[inline]
    fn reads(&self, bytes: Range<usize>, local: &Range<usize>) -> bool {
        let s = &self.state;
        let meets = |other: &Range<usize>| bytes.start < other.end && other.start < bytes.end;
        !meets(local) && !meets(&s.shared) && self.inner.shadow.reads(&bytes, &s.launch.marks)
    }

    /// The same of all of a stretch.
    fn reads_stretch(&self, stretch: usize, local: &Range<usize>) -> bool {
        let s = &self.state;
        let bytes = stretch * STRETCH..(stretch + 1) * STRETCH;
        let meets = |other: &Range<usize>| bytes.start < other.end && other.start < bytes.end;
        !meets(local) && !meets(&s.shared) && self.inner.shadow.reads_stretch(bytes.start, &s.launch.marks)
    }

    /// Has the log of the launch, locked, where it has room for so many bytes.
    fn in_log(&mut self, bytes: usize, reads: impl FnOnce(&Self, &mut Parts)) {
        let own = match self.state.log.0.take() {
            Some(own) if Arc::ptr_eq(&own.0, &self.inner) => own,
            other => {
                drop(Own(other));
                (self.inner.clone(), self.inner.logs.take())
            }
        };
        {
            let mut log = own.1.lock();
            if let Some(of) = log.of(&self.state.launch, bytes) {
                let before = of.parts.bytes();
                reads(self, &mut of.parts);
                let more = of.parts.bytes() - before;
                log.bytes += more;
            }
        }
        self.state.log = Own(Some(own));
    }

    /// Appends reads of this block, as it is now.
    fn log(&self, of: &mut Parts, site: u32, size: u32, reads: Reads) {
        make_room(&mut of.entries);
        of.entries.push(Entry {
            block: self.state.index,
            clock: self.state.order.floor(),
            site,
            size,
            reads,
        });
    }
}
