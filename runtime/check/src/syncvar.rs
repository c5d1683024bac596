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

use crate::observed::{Log, Logged};
use crate::vector::Clocks;

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
        self.wide.same(&other.wide)
            && self.block.same(&other.block)
            && self.cluster.same(&other.cluster)
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

#[derive(Clone, Debug, Default)]
struct Value {
    head: Option<Head>,
    wide: Clocks,
    /// By the releasing block's first uid; of blocks that run.
    blocks: Vec<(u64, Clocks)>,
    /// By what the releasing block's cluster is known by.
    clusters: Vec<(u64, Clocks)>,
}

impl Value {
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
        if self.head.is_none_or(|h| !h.morally_strong(reader)) {
            return;
        }
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
    value: Value,
    /// What was done to it by atomics.
    log: Log,
    /// The value that stores under way replace: until they are done, a reader
    /// on another processor may still see it.
    replaced: Option<Value>,
    stores_under_way: u32,
}

/// Variables beyond which none is made for a location on which nothing was released.
const MOST_UNRELEASED: usize = 1 << 16;
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
}

impl Default for SyncVars {
    fn default() -> Self {
        Self {
            shards: std::array::from_fn(|_| Mutex::default()),
            filter: (0..FILTER_BITS / 64).map(|_| AtomicU64::new(0)).collect(),
            count: AtomicUsize::new(0),
        }
    }
}

/// Hashes lines, by another factor than what chooses their shard: within a shard that would give few values.
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
            let log = Log::new(self.has_few());
            let h = hash(line) % FILTER_BITS;
            self.filter[h / 64].fetch_or(1 << (h % 64), Ordering::AcqRel);
            self.count.fetch_add(1, Ordering::AcqRel);
            shard.entry(line).or_default().push(SyncVar {
                address,
                size,
                value: Value::default(),
                log,
                replaced: None,
                stores_under_way: 0,
            });
        }
        shard.get_mut(&line)?.iter_mut().find(|v| is_it(v))
    }

    /// An atomic write is about to happen. `rmw`: it reads the old value first. `log`: it
    /// and its launch, where that keeps a log.
    pub fn write(&self, location: Location, writer: Head, what: &Carried, rmw: bool, log: Option<(u64, Logged)>) {
        let (address, size) = location;
        self.overwrite(address, size as usize, Some((address, size)));
        let line = address / LINE;
        let few = log.is_some() && self.has_few();
        if what.is_empty() && !few && !self.may_have(line) {
            return;
        }
        let mut shard = self.shard(line).lock();
        let Some(var) = self.variable(&mut shard, location, !what.is_empty() || few) else {
            return;
        };
        let linked = rmw && var.value.head.is_some_and(|h| h.morally_strong(writer));
        var.log.write(log, linked, var.stores_under_way == 0);
        if !linked {
            let old = std::mem::take(&mut var.value);
            match &mut var.replaced {
                None => var.replaced = Some(old),
                // Several at once: a reader may see any of them.
                Some(r) => {
                    r.wide.join(&old.wide);
                    for (home, block) in old.blocks {
                        let block = Carried { block, ..Carried::default() };
                        r.publish(home, None, &block);
                    }
                    for (id, cluster) in old.clusters {
                        let cluster = Carried { cluster, ..Carried::default() };
                        r.publish(0, Some(id), &cluster);
                    }
                    if r.head.is_none() {
                        r.head = old.head;
                    }
                }
            }
        }
        var.stores_under_way += 1;
        var.value.head = Some(writer);
        var.value.publish(writer.home, writer.cluster, what);
    }

    /// The atomic write that [`SyncVars::write`] announced has happened; `uid` and
    /// `thread` made it.
    pub fn written(&self, (address, size): Location, uid: u64, thread: u32) {
        let line = address / LINE;
        if !self.may_have(line) {
            return;
        }
        let mut shard = self.shard(line).lock();
        let Some(vars) = shard.get_mut(&line) else {
            return;
        };
        if let Some(v) = vars
            .iter_mut()
            .find(|v| v.address == address && v.size == size)
        {
            v.stores_under_way = v.stores_under_way.saturating_sub(1);
            v.log.written(uid, thread, v.stores_under_way == 0);
            if v.stores_under_way == 0 {
                v.replaced = None;
            }
        }
    }

    /// What an atomic read that has happened learns. `log`: it and its launch, where it is
    /// a load and its launch keeps a log.
    pub fn read(&self, location: Location, reader: Head, log: Option<(u64, Logged)>) -> Carried {
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
        v.value.read(reader, &mut learnt);
        if let Some(r) = &v.replaced {
            r.read(reader, &mut learnt);
        }
        if let Some((launch, load)) = log {
            let observes = v.value.head.is_some_and(|h| h.morally_strong(reader));
            v.log.read(launch, load, observes);
        }
        learnt
    }

    /// What a launch has done to a location by atomics, where all of it is known.
    pub fn log(&self, location: Location, launch: u64) -> Option<Vec<Logged>> {
        let line = location.0 / LINE;
        if !self.may_have(line) {
            return None;
        }
        let mut shard = self.shard(line).lock();
        self.variable(&mut shard, location, false)?.log.of(launch)
    }

    /// Forgets what was done to these bytes by atomics: other memory lies there.
    pub fn forget(&self, address: usize, size: usize) {
        self.each(address, size, |v| {
            v.log = Log::new(true);
            v.value = Value::default();
            v.replaced = None;
        });
    }

    /// Bytes are overwritten by something that releases nothing: variables
    /// that overlap them carry nothing any more, except the one `but`.
    pub fn overwrite(&self, address: usize, size: usize, but: Option<Location>) {
        self.each(address, size, |v| {
            if but != Some((v.address, v.size)) {
                v.value = Value::default();
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
