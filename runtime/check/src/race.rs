//! What was found: one record per unordered pair of sites and kernel.

use std::collections::HashMap;

use gpurace_abi::scope::Scope;
use parking_lot::Mutex;

use crate::launch::KernelKey;

/// What a side of a race did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SideOp {
    /// A plain read.
    Read,
    /// A plain write.
    Write,
    /// An atomic or volatile load.
    AtomicLoad,
    /// An atomic or volatile store, or a read-modify-write.
    AtomicWrite,
}

impl SideOp {
    /// Whether it changes memory.
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::AtomicWrite)
    }
}

/// Memory of which kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// A block's shared memory.
    Shared,
    /// Everything else: global memory, device variables, managed memory.
    Global,
}

/// The narrowest group of threads that holds both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RaceScope {
    /// One warp.
    Warp,
    /// One block.
    Block,
    /// One cluster.
    Cluster,
    /// One launch.
    Grid,
    /// Different launches on one device.
    Device,
    /// A launch and the host.
    System,
}

/// One of the two accesses. What is not known is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// What it did.
    pub op: SideOp,
    /// Its instruction: `site_base` of its launch plus the module's index.
    pub site: u32,
    /// Bytes; of an earlier plain access only its instruction tells.
    pub size: Option<u32>,
    /// First byte.
    pub address: Option<usize>,
    /// Id of its launch.
    pub launch: u64,
    /// Stream of its launch.
    pub stream: u64,
    /// Linear index of its block in the launch.
    pub block: Option<u64>,
    /// Linear index of its thread in the block.
    pub thread: Option<u32>,
    /// Scope of an atomic or volatile access.
    pub scope: Option<Scope>,
}

/// A data race.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RaceRecord {
    /// Kernel of the later access; of the earlier one where the later one is
    /// of none.
    pub kernel: KernelKey,
    /// Launch of the later access.
    pub launch: u64,
    /// The access that was seen first.
    pub earlier: Side,
    /// The access that found the race.
    pub later: Side,
    /// First byte that both cover.
    pub address: usize,
    /// Which memory it is in.
    pub space: Space,
    /// First byte of the shared memory of the later access's block.
    pub shared_base: usize,
    /// The narrowest group that holds both threads.
    pub scope: RaceScope,
    /// Whether equal values were written, each time that the race was seen;
    /// `None` where one side does not write or a value is not known.
    pub same_value: Option<bool>,
    /// How often it was seen: accesses that found it.
    pub count: u64,
}

/// What names a race: kernel, smaller and larger site.
pub(crate) type PairKey = (KernelKey, u32, u32);

/// The races of the process.
#[derive(Default)]
pub(crate) struct Races {
    list: Mutex<List>,
}

#[derive(Default)]
struct List {
    by_pair: HashMap<PairKey, usize>,
    records: Vec<RaceRecord>,
    taken: usize,
}

/// Combines what two sightings of one race say of the values.
pub(crate) fn both_same(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (None, _) | (_, None) => None,
        (Some(true), Some(true)) => Some(true),
    }
}

impl Races {
    /// Notes a sighting. Returns the race's index, for [`Races::add`].
    pub(crate) fn see(&self, key: PairKey, record: RaceRecord) -> usize {
        let list = &mut *self.list.lock();
        match list.by_pair.get(&key) {
            Some(&i) => {
                let r = &mut list.records[i];
                r.count += record.count;
                r.same_value = both_same(r.same_value, record.same_value);
                i
            }
            None => {
                list.by_pair.insert(key, list.records.len());
                list.records.push(record);
                list.records.len() - 1
            }
        }
    }

    /// Notes further sightings.
    pub(crate) fn add(&self, index: usize, count: u64, same_value: Option<bool>) {
        let r = &mut self.list.lock().records[index];
        r.count += count;
        r.same_value = both_same(r.same_value, same_value);
    }

    pub(crate) fn all(&self) -> Vec<RaceRecord> {
        self.list.lock().records.clone()
    }

    pub(crate) fn take_new(&self) -> Vec<RaceRecord> {
        let list = &mut *self.list.lock();
        let new = list.records[list.taken..].to_vec();
        list.taken = list.records.len();
        new
    }
}
