//! Synchronisation variables: what the values of atomic locations carry from thread to thread.
//!
//! PTX ISA, "Memory consistency model": a release pattern synchronises with an acquire pattern if a
//! read of the second observes a write of the first, and their outer operations are morally strong:
//! each one's scope includes the other's thread. Observation passes along a chain of
//! read-modify-writes if each link is morally strong.
//!
//! A `SyncVar` holds the value of a location ([`Released`]): who wrote it ([`Head`]), and what a reader learns
//! ([`Carried`]). The variable of a grid's barrier has phases beside it ([`Phases`]). It also has a log of the atomic
//! operations on the location ([`crate::order::observed`]). A location gets a variable when something is released on
//! it. In launches that keep logs, any atomic operation makes one while there are few.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::{Range, RangeInclusive};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use smallvec::SmallVec;

use crate::order::carried::{Carried, Head, Location};
use crate::order::observed::{AtomicOperation, ObservationLog};
use crate::order::released::{Phases, Released};

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
