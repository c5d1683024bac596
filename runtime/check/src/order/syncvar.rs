//! Synchronisation variables: what the values of atomic locations carry from thread to thread.
//!
//! PTX ISA, "Memory consistency model": a release pattern synchronises with an acquire pattern if a
//! read of the second observes a write of the first, and their outer operations are morally strong:
//! each one's scope includes the other's thread. Observation passes along a chain of
//! read-modify-writes if each link is morally strong.
//!
//! A `SyncVar` holds who wrote the value of a location ([`Head`]), and what a reader of the value
//! learns ([`Carried`]). The variable of a grid's barrier has phases beside it ([`Phases`]). It also has a log of the atomic operations on the location
//! ([`crate::order::observed`]). A location gets a variable when something is released on it. In
//! launches that keep logs, any atomic operation makes one while there are few.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::{Range, RangeInclusive};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use smallvec::SmallVec;

use crate::order::carried::{Carried, Head, Location};
use crate::order::observed::{AtomicOperation, ObservationLog};
use crate::order::vector::Clocks;

/// A value of a location: who may have written it, and what an acquire of it learns.
#[derive(Clone, Debug, Default)]
struct Released {
    /// The writers, the newest last. There are several if their writes were under way at once:
    /// then it is not known which came last.
    heads: SmallVec<[Head; 1]>,
    /// What any thread learns.
    wide: Clocks,
    /// What threads of a releasing block learn, by the block's first uid. Blocks that have ended
    /// are removed.
    blocks: Vec<(u64, Clocks)>,
    /// What threads of a releasing block's cluster learn, by [`Head::cluster`].
    clusters: Vec<(u64, Clocks)>,
    /// What a `fence.sc` learns beside that. It has no heads.
    full: Option<Box<Released>>,
}

impl Released {
    /// True if an operation is morally strong with a write that may be the newest.
    fn is_strong_with(&self, other: Head) -> bool {
        self.heads.iter().any(|head| head.morally_strong(other))
    }

    /// Adds a writer; the only one if its write is `alone`. Writers that differ only by the thread
    /// are kept once.
    fn set_head(&mut self, writer: Head, alone: bool) {
        let alike = |head: &Head| Head { thread: writer.thread, ..*head } == writer;
        self.heads.retain(|head| !alone && !alike(head));
        if self.heads.len() >= MOST_HEADS {
            self.heads.remove(0);
        }
        self.heads.push(writer);
    }

    /// Notes that the value may also be `other`.
    fn join(&mut self, other: &Released) {
        self.wide.join(&other.wide);
        for (home, block) in &other.blocks {
            self.publish(*home, None, &Carried { block: block.clone(), ..Carried::default() });
        }
        for (id, cluster) in &other.clusters {
            self.publish(0, Some(*id), &Carried { cluster: cluster.clone(), ..Carried::default() });
        }
        if let Some(full) = &other.full {
            self.full.get_or_insert_default().join(full);
        }
        let room = MOST_HEADS.saturating_sub(self.heads.len());
        self.heads.insert_many(0, other.heads.iter().copied().take(room));
    }

    /// Adds what a block of a cluster releases.
    fn publish(&mut self, home: u64, cluster: Option<u64>, what: &Carried) {
        if let Some(full) = &what.full {
            self.full.get_or_insert_default().publish(home, cluster, full);
        }
        if let Some(cluster) = cluster.filter(|_| !what.cluster.is_empty()) {
            match self.clusters.iter_mut().find(|c| c.0 == cluster) {
                Some(c) => c.1.learn(&what.cluster, what.by),
                None => self.clusters.push((cluster, what.cluster.clone())),
            }
        }
        if what.wide.same(&what.block)
            && let [(h, clocks)] = self.blocks.as_mut_slice()
            && *h == home
            && self.wide.same(clocks)
        {
            // One block alone: both stay one object.
            self.wide.learn(&what.wide, what.by);
            clocks.clone_from(&self.wide);
            return;
        }
        self.wide.learn(&what.wide, what.by);
        if what.block.is_empty() {
            return;
        }
        match self.blocks.iter_mut().find(|b| b.0 == home) {
            Some(b) => b.1.learn(&what.block, what.by),
            // Shares the tree: later joins need not compare two equal ones.
            None if self.wide.same(&what.wide) && what.wide.same(&what.block) => {
                self.blocks.push((home, self.wide.clone()));
            }
            None => self.blocks.push((home, what.block.clone())),
        }
    }

    /// Adds to `into` what a reader learns.
    fn read(&self, reader: Head, into: &mut Carried) {
        into.wide.join(&self.wide);
        if let Some(b) = self.blocks.iter().find(|b| b.0 == reader.home) {
            into.block.join(&b.1);
        }
        if let Some(c) = self.clusters.iter().find(|c| Some(c.0) == reader.cluster) {
            into.cluster.join(&c.1);
        }
        if let Some(full) = &self.full {
            let mut learnt = Carried::default();
            full.read(reader, &mut learnt);
            if !learnt.is_empty() {
                into.full.get_or_insert_default().join(&learnt);
            }
        }
    }

    /// Forgets what was released for the threads of a block and of its cluster.
    fn forget(&mut self, home: u64, cluster: Option<u64>) {
        self.blocks.retain(|b| b.0 != home);
        self.clusters.retain(|c| Some(c.0) != cluster);
        if let Some(full) = &mut self.full {
            full.forget(home, cluster);
        }
    }
}

/// The phases of the barrier of a grid. Its loads wait until all blocks have arrived. When a block looks, others may have
/// arrived for the next phase already, and their arrivals change the same word. What they did before orders nothing: the
/// block goes on whether or not it sees them.
#[derive(Debug)]
struct Phases {
    /// Checked blocks of the grid: a phase has so many arrivals that are known.
    blocks: u64,
    /// Arrivals in the current phase.
    arrived: u64,
    /// The value when the last phase was complete.
    complete: Released,
}

impl Phases {
    /// Counts an arrival that makes this value.
    fn arrive(&mut self, value: &Released) {
        self.arrived += 1;
        if self.arrived == self.blocks {
            self.arrived = 0;
            self.complete = value.clone();
        }
    }
}

/// The state of one location. An operation is under way from its announcement until it is known to
/// have happened.
#[derive(Debug)]
struct SyncVar {
    location: Location,
    value: Released,
    /// The writers of the value before `value`, while the first of the writes under way is a
    /// read-modify-write of it that may not have happened.
    older: SmallVec<[Head; 1]>,
    log: ObservationLog,
    /// The location is the barrier of a grid.
    phases: Option<Phases>,
    /// The value that the writes under way replace. Until they are done, a reader on another
    /// processor may still see it.
    replaced: Option<Released>,
    writes_under_way: u32,
    /// A read-modify-write is under way, or was under way together with a write that still is.
    rmw_under_way: bool,
    /// Atomic writes under way to other locations that overlap this one: what they overwrite may
    /// still be read.
    overwrites_under_way: u32,
}

impl SyncVar {
    /// A variable that carries nothing.
    fn new(location: Location, log: ObservationLog) -> Self {
        Self {
            location,
            value: Released::default(),
            older: SmallVec::new(),
            log,
            phases: None,
            replaced: None,
            writes_under_way: 0,
            rmw_under_way: false,
            overwrites_under_way: 0,
        }
    }

    /// True if nothing is under way.
    fn is_quiet(&self) -> bool {
        self.writes_under_way == 0 && self.overwrites_under_way == 0
    }

    /// Drops what was replaced once nothing is under way that may read it.
    fn settle(&mut self) {
        if self.is_quiet() {
            self.replaced = None;
            self.rmw_under_way = false;
            self.older.clear();
            self.log.settle();
        }
    }

    /// True if an operation is morally strong with a write that it may observe, other than those of
    /// the replaced value.
    fn is_strong_with(&self, other: Head) -> bool {
        self.value.is_strong_with(other) || self.older.iter().any(|head| head.morally_strong(other))
    }
}

/// Number of variables from which on locations without a release get none.
const MOST_UNRELEASED: usize = 1 << 16;
/// Most writers at once of one location that are told apart.
const MOST_HEADS: usize = 16;
/// Bytes of a line. Variables are found by the line of their first byte.
const LINE: usize = 16;
const SHARDS: usize = 64;
const FILTER_BITS: usize = 1 << 18;

/// The synchronisation variables of the process.
pub struct SyncVars {
    shards: [Mutex<ByLine>; SHARDS],
    /// One bit per hash of a line: clear if no variable is in the line.
    filter: Box<[AtomicU64]>,
    count: AtomicUsize,
    /// Sum of [`SyncVar::overwrites_under_way`].
    overwrites: AtomicUsize,
}

impl Default for SyncVars {
    fn default() -> Self {
        Self {
            shards: std::array::from_fn(|_| Mutex::default()),
            filter: (0..FILTER_BITS / 64).map(|_| AtomicU64::new(0)).collect(),
            count: AtomicUsize::new(0),
            overwrites: AtomicUsize::new(0),
        }
    }
}

/// Hashes lines. The factor differs from that of [`hash`], which chooses the
/// shard: with the same one, a shard's lines would have few hashes.
#[derive(Clone, Copy, Debug, Default)]
struct LineHasher(u64);

impl Hasher for LineHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_usize(byte.into()));
    }

    fn write_usize(&mut self, line: usize) {
        self.0 = (self.0 ^ line as u64).wrapping_mul(0xd6e8_feb8_6659_fd93).rotate_left(32);
    }
}

type ByLine = HashMap<usize, Vec<SyncVar>, BuildHasherDefault<LineHasher>>;

const fn hash(line: usize) -> usize {
    (line as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize >> 40
}

/// The lines of variables that may have some of these bytes.
fn lines(bytes: &Range<usize>) -> RangeInclusive<usize> {
    // A location in the line before may reach into the first one.
    (bytes.start / LINE).saturating_sub(1)..=(bytes.end - 1) / LINE
}

impl SyncVars {
    /// False if no variable is in a line.
    fn may_have(&self, line: usize) -> bool {
        let h = hash(line) % FILTER_BITS;
        self.filter[h / 64].load(Ordering::Acquire) >> (h % 64) & 1 != 0
    }

    /// True if some variable may have some of these bytes.
    #[inline]
    pub fn may_have_some(&self, bytes: &Range<usize>) -> bool {
        !self.is_empty() && lines(bytes).any(|line| self.may_have(line))
    }

    fn shard(&self, line: usize) -> &Mutex<ByLine> {
        &self.shards[hash(line) % SHARDS]
    }

    /// True if there is no variable at all.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// Forgets all variables: everything so far happens before everything to come.
    pub fn clear(&self) {
        if self.is_empty() {
            return;
        }
        for shard in &self.shards {
            shard.lock().clear();
        }
        for bits in &self.filter {
            bits.store(0, Ordering::Release);
        }
        self.count.store(0, Ordering::Release);
        self.overwrites.store(0, Ordering::Release);
    }

    /// True if locations without a release still get variables.
    fn has_few(&self) -> bool {
        self.count.load(Ordering::Acquire) < MOST_UNRELEASED
    }

    /// Does something to the variable of a location. If it has none: makes one if `make`, or else
    /// does nothing.
    fn at<R>(&self, location: Location, make: bool, what: impl FnOnce(&mut SyncVar) -> R) -> Option<R> {
        let line = location.0 / LINE;
        if !make && !self.may_have(line) {
            return None;
        }
        let mut shard = self.shard(line).lock();
        let is_it = |v: &SyncVar| v.location == location;
        if make && !shard.get(&line).is_some_and(|vars| vars.iter().any(is_it)) {
            let log = ObservationLog::new(self.has_few());
            let h = hash(line) % FILTER_BITS;
            self.filter[h / 64].fetch_or(1 << (h % 64), Ordering::AcqRel);
            self.count.fetch_add(1, Ordering::AcqRel);
            shard.entry(line).or_default().push(SyncVar::new(location, log));
        }
        shard.get_mut(&line)?.iter_mut().find(|v| is_it(v)).map(what)
    }

    /// Notes that an atomic write is about to happen. `rmw`: it reads the old value first. `log`:
    /// the operation and its launch, if the launch keeps logs. Returns how many writes the location
    /// has had, with this one; 0 if it has no variable.
    pub fn write(
        &self,
        location: Location,
        writer: Head,
        what: &Carried,
        rmw: bool,
        log: Option<(u64, AtomicOperation)>,
    ) -> u32 {
        self.each(location.0, location.1 as usize, |v| {
            if v.location != location {
                if v.is_quiet() {
                    v.replaced = Some(std::mem::take(&mut v.value));
                }
                v.overwrites_under_way += 1;
                self.overwrites.fetch_add(1, Ordering::AcqRel);
            }
        });
        let make = !what.is_empty() || log.is_some() && self.has_few();
        let writes = self.at(location, make, |v| {
            let linked = rmw && v.is_strong_with(writer);
            let alone = v.is_quiet();
            v.log.write(log, linked, alone);
            if !linked && alone {
                v.replaced = Some(std::mem::take(&mut v.value));
            } else if alone {
                v.older.clone_from(&v.value.heads);
            }
            // It is not known which write a read-modify-write under way reads: it may continue the
            // chain that another write under way replaces.
            v.rmw_under_way |= rmw;
            if !alone
                && v.rmw_under_way
                && let Some(before) = v.replaced.take()
            {
                v.value.join(&before);
                v.log.join_before();
            }
            // Of several writes at once it is not known which comes last. The value is that of any of
            // them until a write comes alone.
            v.writes_under_way += 1;
            v.value.set_head(writer, alone);
            v.value.publish(writer.home, writer.cluster, what);
            if let Some(phases) = &mut v.phases {
                phases.arrive(&v.value);
            }
            v.log.writes()
        });
        writes.unwrap_or(0)
    }

    /// Notes that an atomic write by `thread` of block `uid` has happened, which
    /// [`SyncVars::write`] announced. Returns how many writes the location has had by now; 0 if it
    /// has no variable.
    pub fn written(&self, location: Location, uid: u64, thread: u32) -> u32 {
        if self.overwrites.load(Ordering::Acquire) > 0 {
            self.each(location.0, location.1 as usize, |v| {
                if v.location != location && v.overwrites_under_way > 0 {
                    v.overwrites_under_way -= 1;
                    self.overwrites.fetch_sub(1, Ordering::AcqRel);
                    v.settle();
                }
            });
        }
        let writes = self.at(location, false, |v| {
            v.writes_under_way = v.writes_under_way.saturating_sub(1);
            v.log.written(uid, thread);
            v.settle();
            v.log.writes()
        });
        writes.unwrap_or(0)
    }

    /// What an atomic read that has happened learns. `log`: the operation and its launch, if it is
    /// a load and the launch keeps logs.
    pub fn read(&self, location: Location, reader: Head, log: Option<(u64, AtomicOperation)>) -> Carried {
        let mut learnt = Carried::default();
        self.at(location, log.is_some() && self.has_few(), |v| {
            let observes = v.is_strong_with(reader);
            let value = v.phases.as_ref().map_or(&v.value, |phases| &phases.complete);
            if observes {
                value.read(reader, &mut learnt);
            }
            if let Some(r) = v.replaced.as_ref().filter(|r| r.is_strong_with(reader)) {
                r.read(reader, &mut learnt);
            }
            if let Some((launch, load)) = log {
                v.log.read(launch, load, observes);
            }
        });
        learnt
    }

    /// The atomic operations of a launch on a location; `None` if they are not all known.
    pub fn log(&self, location: Location, launch: u64) -> Option<Vec<AtomicOperation>> {
        self.at(location, false, |v| v.log.of(launch))?
    }

    /// Makes a location the barrier of a grid that has so many checked blocks. [`SyncVars::clear`] forgets it.
    pub fn begin_grid_barrier(&self, location: Location, blocks: u64) {
        self.at(location, true, |v| {
            let phases = Some(Phases { blocks, arrived: 0, complete: Released::default() });
            *v = SyncVar { phases, ..SyncVar::new(location, ObservationLog::new(true)) };
        });
    }

    /// Makes the barrier of a grid an ordinary location again: other memory may lie there from now on.
    pub fn end_grid_barrier(&self, location: Location) {
        self.at(location, false, |v| *v = SyncVar::new(location, ObservationLog::new(true)));
    }

    /// Forgets what atomics did to these bytes: other memory lies there now.
    pub fn forget(&self, address: usize, size: usize) {
        self.each(address, size, |v| {
            v.log = ObservationLog::new(true);
            v.value = Released::default();
            v.replaced = None;
            v.older.clear();
        });
    }

    /// Notes that a plain write overwrites bytes: the variables there carry nothing any more. One
    /// with a write under way keeps its value: the atomic write may come last.
    pub fn overwrite(&self, address: usize, size: usize) {
        self.each(address, size, |v| {
            if v.is_quiet() {
                v.value = Released::default();
                v.replaced = None;
            }
        });
    }

    /// Does something to each variable that overlaps these bytes.
    fn each(&self, address: usize, size: usize, what: impl Fn(&mut SyncVar)) {
        if self.is_empty() || size == 0 {
            return;
        }
        let end = address.saturating_add(size);
        let lines = lines(&(address..end));
        let change = |vars: &mut Vec<SyncVar>| {
            let overlaps =
                |v: &&mut SyncVar| v.location.0 < end && v.location.0 + v.location.1 as usize > address;
            vars.iter_mut().filter(overlaps).for_each(&what);
        };
        if lines.end() - lines.start() > 1 << 16 {
            for shard in &self.shards {
                shard.lock().values_mut().for_each(change);
            }
            return;
        }
        for line in lines {
            if self.may_have(line)
                && let Some(vars) = self.shard(line).lock().get_mut(&line)
            {
                change(vars);
            }
        }
    }

    /// Forgets what a block that has ended published at an address for its own threads, and for
    /// those of its cluster. All blocks of the cluster have ended.
    pub fn block_ended(&self, home: u64, cluster: Option<u64>, address: usize) {
        let line = address / LINE;
        if let Some(vars) = self.shard(line).lock().get_mut(&line) {
            for v in vars.iter_mut().filter(|v| v.location.0 == address) {
                let complete = v.phases.as_mut().map(|phases| &mut phases.complete);
                for value in std::iter::once(&mut v.value).chain(complete) {
                    value.forget(home, cluster);
                }
            }
        }
    }
}
