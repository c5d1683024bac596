//! The same history in two ways: accesses that are looked at together, and one by one.

use std::collections::{BTreeSet, HashSet};

use gpurace_check::{Block, KernelKey, LaunchInfo, RaceRecord, SyncFeatures};

/// SplitMix64 (Steele, Lea, Flood, 2014).
pub struct Random(pub u64);

impl Random {
    /// 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// Where global memory lies.
pub const GLOBAL: usize = 0x10_0000;
/// Where the first block's shared memory lies.
pub const SHARED: usize = 0x7000_0000;
/// How much a block has of it.
pub const SHARED_BYTES: usize = 0x400;

/// A launch of three blocks.
pub fn launch(id: u64, threads: u32, settled: u64) -> LaunchInfo {
    LaunchInfo {
        id,
        kernel: KernelKey(1),
        site_base: 0,
        features: SyncFeatures::default(),
        threads_per_block: threads,
        blocks: 3,
        clusters: None,
        stream: 1,
        settled,
    }
}

/// A race: what made the earlier access, and the later one.
type Pair = (u32, String, Later);
/// An access that races: its instruction, thread, and first byte in common.
type Later = (u32, Option<u32>, usize);

fn pairs(block: &mut Block) -> BTreeSet<Pair> {
    let pair = |r: &RaceRecord| (r.earlier.site, format!("{:?} {:?}", r.earlier.op, r.scope), (r.later.site, r.later.thread, r.address));
    block.take_traced().iter().map(pair).collect()
}

/// What both have found since the last call, which must be the same. How much that is.
pub fn compare(together: &mut Block, apart: &mut Block, accessed: &HashSet<(u32, usize)>, after: impl Fn() -> String) -> usize {
    let [t, a] = [together, apart].map(pairs);
    // Where a thread reads a word twice, either read may stand for both.
    let lost: Vec<_> = a.difference(&t).collect();
    assert!(lost.is_empty(), "{lost:?} are lost {}", after());
    let later = |pairs: &BTreeSet<Pair>| pairs.iter().map(|(.., later)| *later).collect::<BTreeSet<_>>();
    let more: Vec<_> = t.difference(&a).collect();
    assert!(later(&t) == later(&a), "{more:?} are none {}", after());
    assert!(more.iter().all(|(site, _, later)| accessed.contains(&(*site, later.2 & !3))), "{more:?} {}", after());
    t.len()
}
