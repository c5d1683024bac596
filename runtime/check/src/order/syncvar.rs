//! What atomics carry from thread to thread.
//!
//! PTX ISA, "Memory consistency model": a release pattern synchronises with an
//! acquire pattern where a write of the first is observed by a read of the
//! second and their outer operations are morally strong, that is, each one's
//! scope includes the other's thread. Observation passes through chains of
//! read-modify-writes, each link morally strong again.
//!
//! A `SyncVar` is the value that an atomic location now holds, as far as
//! order goes: who wrote it ([`Head`]), and what a reader of it learns
//! ([`Carried`]). Locations on which something was released have one, and the
//! first ones that kernels with fences write to by atomics.
//!
//! Causality order also has what was observed without any release, of the
//! observed writes alone: whoever is ordered after the last read-modify-write of a
//! chain of nothing else has all of the chain's behind it, whatever it does to
//! the location. A counter is set back so ([`SyncVars::observed`]).

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;
use smallvec::SmallVec;

use crate::model::entry::COPIES;
use crate::order::observed::{AtomicOperation, Excuse, ObservationLog};
use crate::order::vector::Clocks;

/// How far an operation reaches, by its scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// The threads of its block.
    Block,
    /// Those of its cluster, in a launch with clusters.
    Cluster,
    /// All: device and system scope.
    Launch,
}

/// A thread, by its block's first uid, and how far what it did reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// First uid of the thread's block.
    pub home: u64,
    /// Linear index in the block.
    pub thread: u32,
    /// What the block's cluster is known by, in a launch with clusters.
    pub cluster: Option<u64>,
    /// How far it reaches.
    pub reach: Reach,
}

impl Head {
    /// Whether both are one thread's or each one's scope includes the other's thread.
    pub fn morally_strong(self, other: Head) -> bool {
        match self.reach.min(other.reach) {
            Reach::Launch => true,
            Reach::Cluster if self.cluster.is_some() && self.cluster == other.cluster => true,
            Reach::Cluster | Reach::Block => self.home == other.home,
        }
    }
}

/// What an atomic operation is on: first byte and number of bytes. Operations
/// of different size on one address are no release or acquire pattern together.
pub type Location = (usize, u32);

/// What a release publishes or an acquire learns.
#[derive(Clone, Debug, Default)]
pub struct Carried {
    /// Through operations whose scope reaches everywhere.
    pub wide: Clocks,
    /// Within one cluster: through operations that reach as far; nothing in a launch
    /// without clusters.
    pub cluster: Clocks,
    /// Within one block: through operations of any scope.
    pub block: Clocks,
}

impl Carried {
    /// Whether it carries nothing.
    pub fn is_empty(&self) -> bool {
        self.wide.is_empty() && self.block.is_empty() && self.cluster.is_empty()
    }

    /// Carries `released` as far as it reaches, and to nobody farther off what it
    /// did not carry there before. `clustered`: in a launch with clusters.
    pub fn set(&mut self, released: Clocks, reach: Reach, clustered: bool) {
        if reach == Reach::Launch {
            self.wide = released.clone();
        }
        if clustered && reach >= Reach::Cluster {
            self.cluster = released.clone();
        }
        self.block = released;
    }

    /// What it carries to threads that share this much.
    pub fn of(&self, reach: Reach) -> Clocks {
        match reach {
            Reach::Block => self.block.clone(),
            Reach::Cluster => self.cluster.clone(),
            Reach::Launch => self.wide.clone(),
        }
    }

    /// Adds what `other` carries.
    pub fn join(&mut self, other: &Carried) {
        let one = self.wide.same(&self.block) && other.wide.same(&other.block);
        self.wide.join(&other.wide);
        self.cluster.join(&other.cluster);
        if one {
            self.block.clone_from(&self.wide);
        } else {
            self.block.join(&other.block);
        }
    }

    /// Forgets that a thread's asynchronous copies are done; `home`: the first uid of its block.
    pub fn forget_copies(&mut self, home: u64, thread: u32) {
        for clocks in [&mut self.wide, &mut self.cluster, &mut self.block] {
            clocks.forget_thread(home | COPIES, thread);
        }
    }

    /// Teaches `clocks` what an acquire of this scope learns.
    pub fn teach(&self, clocks: &mut Clocks, reach: Reach) {
        clocks.join(&self.block);
        if reach >= Reach::Cluster {
            clocks.join(&self.cluster);
        }
        if reach == Reach::Launch && !self.wide.same(&self.block) {
            clocks.join(&self.wide);
        }
    }

    fn same(&self, other: &Carried) -> bool {
        self.wide.same(&other.wide) && self.block.same(&other.block) && self.cluster.same(&other.cluster)
    }
}

/// What relaxed reads of one location have seen and a fence may still acquire.
#[derive(Clone, Debug)]
pub struct Pending {
    /// The location.
    pub location: Location,
    /// What was seen.
    pub seen: Carried,
}

impl Pending {
    /// Adds a sighting to a list of them.
    pub fn add(list: &mut Vec<Pending>, location: Location, seen: Carried) {
        match list.iter_mut().find(|p| p.location == location) {
            Some(p) if p.seen.same(&seen) => {}
            Some(p) => p.seen.join(&seen),
            None => list.push(Pending { location, seen }),
        }
    }
}

/// What an acquire of a location's value learns.
#[derive(Clone, Debug, Default)]
struct Released {
    /// Who wrote it, the newest last: several where their writes were under way at once, so that it
    /// is not known who came last.
    heads: SmallVec<[Head; 1]>,
    wide: Clocks,
    /// By the releasing block's first uid; of blocks that run.
    blocks: Vec<(u64, Clocks)>,
    /// By what the releasing block's cluster is known by.
    clusters: Vec<(u64, Clocks)>,
}

impl Released {
    /// Whether an operation is morally strong with what may be the newest write.
    fn is_strong_with(&self, other: Head) -> bool {
        self.heads.iter().any(|head| head.morally_strong(other))
    }

    /// A write comes, or one more of several at once.
    fn set_head(&mut self, writer: Head, alone: bool) {
        let alike = |head: &Head| Head { thread: writer.thread, ..*head } == writer;
        self.heads.retain(|head| !alone && !alike(head));
        if self.heads.len() >= MOST_HEADS {
            self.heads.remove(0);
        }
        self.heads.push(writer);
    }

    /// It may also be what `other` is.
    fn join(&mut self, other: &Released) {
        self.wide.join(&other.wide);
        for (home, block) in &other.blocks {
            self.publish(*home, None, &Carried { block: block.clone(), ..Carried::default() });
        }
        for (id, cluster) in &other.clusters {
            self.publish(0, Some(*id), &Carried { cluster: cluster.clone(), ..Carried::default() });
        }
        let room = MOST_HEADS.saturating_sub(self.heads.len());
        self.heads.insert_many(0, other.heads.iter().copied().take(room));
    }

    fn publish(&mut self, home: u64, cluster: Option<u64>, what: &Carried) {
        if let Some(cluster) = cluster.filter(|_| !what.cluster.is_empty()) {
            match self.clusters.iter_mut().find(|c| c.0 == cluster) {
                Some(c) => c.1.join(&what.cluster),
                None => self.clusters.push((cluster, what.cluster.clone())),
            }
        }
        if what.wide.same(&what.block)
            && let [(h, clocks)] = self.blocks.as_mut_slice()
            && *h == home
            && self.wide.same(clocks)
        {
            // One block alone: both stay one object.
            self.wide.join(&what.wide);
            clocks.clone_from(&self.wide);
            return;
        }
        self.wide.join(&what.wide);
        if what.block.is_empty() {
            return;
        }
        match self.blocks.iter_mut().find(|b| b.0 == home) {
            Some(b) => b.1.join(&what.block),
            // An equal tree of their own would make later joins compare them.
            None if self.wide.same(&what.wide) && what.wide.same(&what.block) => {
                self.blocks.push((home, self.wide.clone()));
            }
            None => self.blocks.push((home, what.block.clone())),
        }
    }

    fn read(&self, reader: Head, into: &mut Carried) {
        into.wide.join(&self.wide);
        if let Some(b) = self.blocks.iter().find(|b| b.0 == reader.home) {
            into.block.join(&b.1);
        }
        if let Some(c) = self.clusters.iter().find(|c| Some(c.0) == reader.cluster) {
            into.cluster.join(&c.1);
        }
    }
}

#[derive(Debug)]
struct SyncVar {
    address: usize,
    size: u32,
    value: Released,
    /// While the first of the writes under way reads the old value and may not have happened: who
    /// wrote that.
    older: SmallVec<[Head; 1]>,
    /// What was done to it by atomics.
    log: ObservationLog,
    /// The value that stores under way replace: until they are done, a reader
    /// on another processor may still see it.
    replaced: Option<Released>,
    stores_under_way: u32,
    /// One of these, or one that was under way with them, is a read-modify-write.
    reads_under_way: bool,
    /// Atomic writes under way that overlap it, of another size or at another address: what they
    /// overwrite may still be read.
    overwrites_under_way: u32,
    /// Loads that have begun and are not known to have been made: what is stored meanwhile, and
    /// what was before, each of them may read.
    loads_under_way: u32,
}

impl SyncVar {
    /// Nothing is under way.
    fn is_quiet(&self) -> bool {
        self.stores_under_way == 0 && self.loads_under_way == 0 && self.overwrites_under_way == 0
    }

    /// Once nothing is under way nobody reads any more what was replaced.
    fn settle(&mut self) {
        if self.is_quiet() {
            self.replaced = None;
            self.reads_under_way = false;
            self.older.clear();
            self.log.settle();
        }
    }

    /// Whether an operation is morally strong with a write that it may observe, but for those that
    /// were replaced.
    fn is_strong_with(&self, other: Head) -> bool {
        self.value.is_strong_with(other) || self.older.iter().any(|head| head.morally_strong(other))
    }
}

/// Variables beyond which none is made for a location on which nothing was released.
const MOST_UNRELEASED: usize = 1 << 16;
/// Writers at once of one location that are told apart.
const MOST_HEADS: usize = 16;
/// Bytes by which locations are found.
const LINE: usize = 16;
const SHARDS: usize = 64;
const FILTER_BITS: usize = 1 << 18;

/// The synchronisation variables of the process.
pub struct SyncVars {
    /// By line.
    shards: [Mutex<ByLine>; SHARDS],
    /// One bit per hash of a line: clear where no variable is in it.
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

/// Hashes lines and other numbers, by another factor than what chooses their shard: within a shard
/// that would give few values.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LineHasher(u64);

impl Hasher for LineHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_usize(byte.into()));
    }

    fn write_usize(&mut self, line: usize) {
        self.write_u64(line as u64);
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0xd6e8_feb8_6659_fd93).rotate_left(32);
    }
}

type ByLine = HashMap<usize, Vec<SyncVar>, BuildHasherDefault<LineHasher>>;

const fn hash(line: usize) -> usize {
    (line as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize >> 40
}

impl SyncVars {
    fn may_have(&self, line: usize) -> bool {
        let h = hash(line) % FILTER_BITS;
        self.filter[h / 64].load(Ordering::Acquire) >> (h % 64) & 1 != 0
    }

    fn shard(&self, line: usize) -> &Mutex<ByLine> {
        &self.shards[hash(line) % SHARDS]
    }

    /// Whether there is no variable at all.
    pub fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// Forgets all: everything so far happens before everything to come.
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

    /// Whether variables are still made for locations on which nothing was released.
    fn has_few(&self) -> bool {
        self.count.load(Ordering::Acquire) < MOST_UNRELEASED
    }

    /// The variable of a location; a new one, where `make` says so and there is none.
    fn variable<'s>(
        &self,
        shard: &'s mut ByLine,
        (address, size): Location,
        make: bool,
    ) -> Option<&'s mut SyncVar> {
        let line = address / LINE;
        let is_it = |v: &SyncVar| v.address == address && v.size == size;
        if !shard.get(&line).is_some_and(|vars| vars.iter().any(is_it)) {
            if !make {
                return None;
            }
            let log = ObservationLog::new(self.has_few());
            let h = hash(line) % FILTER_BITS;
            self.filter[h / 64].fetch_or(1 << (h % 64), Ordering::AcqRel);
            self.count.fetch_add(1, Ordering::AcqRel);
            shard.entry(line).or_default().push(SyncVar {
                address,
                size,
                value: Released::default(),
                older: SmallVec::new(),
                log,
                replaced: None,
                stores_under_way: 0,
                reads_under_way: false,
                overwrites_under_way: 0,
                loads_under_way: 0,
            });
        }
        shard.get_mut(&line)?.iter_mut().find(|v| is_it(v))
    }

    /// An atomic write is about to happen. `rmw`: it reads the old value first. `log`: it
    /// and its launch, where that keeps a log. Returns how many the location has had with it; 0
    /// where nothing is kept of it.
    pub fn write(
        &self,
        location: Location,
        writer: Head,
        what: &Carried,
        rmw: bool,
        log: Option<(u64, AtomicOperation)>,
    ) -> u32 {
        let (address, size) = location;
        self.each(address, size as usize, |v| {
            if (v.address, v.size) != location {
                if v.is_quiet() {
                    v.replaced = Some(std::mem::take(&mut v.value));
                }
                v.overwrites_under_way += 1;
                self.overwrites.fetch_add(1, Ordering::AcqRel);
            }
        });
        let line = address / LINE;
        let few = log.is_some() && self.has_few();
        if what.is_empty() && !few && !self.may_have(line) {
            return 0;
        }
        let mut shard = self.shard(line).lock();
        let Some(var) = self.variable(&mut shard, location, !what.is_empty() || few) else {
            return 0;
        };
        let linked = rmw && var.is_strong_with(writer);
        let alone = var.is_quiet();
        var.log.write(log, linked, alone);
        if !linked && alone {
            var.replaced = Some(std::mem::take(&mut var.value));
        } else if alone {
            var.older.clone_from(&var.value.heads);
        }
        // Of a read-modify-write under way it is not known which write it reads: what linked neither to
        // what was before may link to the other.
        var.reads_under_way |= rmw;
        if !alone
            && var.reads_under_way
            && let Some(before) = var.replaced.take()
        {
            var.value.join(&before);
            var.log.join_before();
        }
        // Of several at once it is not known which comes last: what they leave stands for each of them,
        // until one comes alone.
        var.stores_under_way += 1;
        var.value.set_head(writer, alone);
        var.value.publish(writer.home, writer.cluster, what);
        var.log.writes()
    }

    /// The atomic write that [`SyncVars::write`] announced has happened; `uid` and
    /// `thread` made it. Returns how many the location has had by now, as that does.
    pub fn written(&self, location: Location, uid: u64, thread: u32) -> u32 {
        if self.overwrites.load(Ordering::Acquire) > 0 {
            self.each(location.0, location.1 as usize, |v| {
                if (v.address, v.size) != location && v.overwrites_under_way > 0 {
                    v.overwrites_under_way -= 1;
                    self.overwrites.fetch_sub(1, Ordering::AcqRel);
                    v.settle();
                }
            });
        }
        let line = location.0 / LINE;
        if !self.may_have(line) {
            return 0;
        }
        let mut shard = self.shard(line).lock();
        let Some(v) = self.variable(&mut shard, location, false) else {
            return 0;
        };
        v.stores_under_way = v.stores_under_way.saturating_sub(1);
        v.log.written(uid, thread);
        v.settle();
        v.log.writes()
    }

    /// A load begins whose [`SyncVars::read`] comes later than it is made, with others' writes
    /// between. Until [`SyncVars::end_load`] nothing that it may read is forgotten.
    pub fn begin_load(&self, location: Location) {
        let mut shard = self.shard(location.0 / LINE).lock();
        if let Some(v) = self.variable(&mut shard, location, true) {
            v.loads_under_way += 1;
        }
    }

    /// A load that was begun has been read.
    pub fn end_load(&self, location: Location) {
        let mut shard = self.shard(location.0 / LINE).lock();
        if let Some(v) = self.variable(&mut shard, location, false) {
            v.loads_under_way = v.loads_under_way.saturating_sub(1);
            v.settle();
        }
    }

    /// What an atomic read that has happened learns. `log`: it and its launch, where it is
    /// a load and its launch keeps a log.
    pub fn read(&self, location: Location, reader: Head, log: Option<(u64, AtomicOperation)>) -> Carried {
        let mut learnt = Carried::default();
        let line = location.0 / LINE;
        let few = log.is_some() && self.has_few();
        if !few && !self.may_have(line) {
            return learnt;
        }
        let mut shard = self.shard(line).lock();
        let Some(v) = self.variable(&mut shard, location, few) else {
            return learnt;
        };
        let observes = v.is_strong_with(reader);
        if observes {
            v.value.read(reader, &mut learnt);
        }
        if let Some(r) = v.replaced.as_ref().filter(|r| r.is_strong_with(reader)) {
            r.read(reader, &mut learnt);
        }
        if let Some((launch, load)) = log {
            v.log.read(launch, load, observes);
        }
        learnt
    }

    /// What a launch has done to a location by atomics, where all of it is known.
    pub fn log(&self, location: Location, launch: u64) -> Option<Vec<AtomicOperation>> {
        let line = location.0 / LINE;
        if !self.may_have(line) {
            return None;
        }
        let mut shard = self.shard(line).lock();
        self.variable(&mut shard, location, false)?.log.of(launch)
    }

    /// [`ObservationLog::excuse`] for a location.
    pub(crate) fn excuse(&self, location: Location, excuses: &[Excuse]) -> Option<usize> {
        let mut shard = self.shard(location.0 / LINE).lock();
        self.variable(&mut shard, location, false)?.log.excuse(excuses)
    }

    /// Forgets what was done to these bytes by atomics: other memory lies there.
    pub fn forget(&self, address: usize, size: usize) {
        self.each(address, size, |v| {
            v.log = ObservationLog::new(true);
            v.value = Released::default();
            v.replaced = None;
            v.older.clear();
        });
    }

    /// Bytes are overwritten by something that releases nothing: variables
    /// that overlap them carry nothing any more, except those to which atomic writes are
    /// under way that may come last, and those that a load under way may have read before.
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
        // A location in the line before may reach into the first one.
        let (first, last) = ((address / LINE).saturating_sub(1), (end - 1) / LINE);
        let change = |vars: &mut Vec<SyncVar>| {
            let overlaps = |v: &&mut SyncVar| v.address < end && v.address + v.size as usize > address;
            vars.iter_mut().filter(overlaps).for_each(&what);
        };
        if last - first > 1 << 16 {
            for shard in &self.shards {
                shard.lock().values_mut().for_each(change);
            }
            return;
        }
        for line in first..=last {
            if self.may_have(line)
                && let Some(vars) = self.shard(line).lock().get_mut(&line)
            {
                change(vars);
            }
        }
    }

    /// A block that published on a location has ended: what it published for
    /// its own threads is not needed any more, nor what it did for those of its
    /// cluster, whose blocks have all ended.
    pub fn block_ended(&self, home: u64, cluster: Option<u64>, address: usize) {
        let line = address / LINE;
        if let Some(vars) = self.shard(line).lock().get_mut(&line) {
            for v in vars.iter_mut().filter(|v| v.address == address) {
                v.value.blocks.retain(|b| b.0 != home);
                v.value.clusters.retain(|c| Some(c.0) != cluster);
            }
        }
    }
}
