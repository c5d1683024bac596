//! The same history in two ways: accesses that are looked at together, and one by one.

use std::collections::{BTreeSet, HashMap, HashSet};

use gpurace_check::{Block, KernelKey, LaunchInfo, RaceRecord, SyncFeatures};

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
    let pair = |r: &RaceRecord| {
        (
            r.earlier.site,
            format!("{:?} {:?}", r.earlier.op, r.scope),
            (r.later.site, r.later.thread, r.address),
        )
    };
    block.take_traced().iter().map(pair).collect()
}

/// A thread between two barriers: launch, block, how many barriers it has come by, thread.
pub type Who = (u64, u64, usize, u32);

/// Who has accessed a word through a site.
#[derive(Default)]
pub struct Accessed(HashMap<(u32, usize), HashSet<Who>>);

impl Accessed {
    /// Bytes of memory, by a site.
    pub fn add(&mut self, site: u32, address: usize, size: usize, who: Who) {
        let words = (address & !3..address + size).step_by(4);
        words.for_each(|word| _ = self.0.entry((site, word)).or_default().insert(who));
    }

    fn of(&self, site: u32, word: usize) -> Option<&HashSet<Who>> {
        self.0.get(&(site, word))
    }

    /// Whether a race with the access through one site may be told as one with that through another
    /// one: of two accesses of a thread between two barriers, and where one comes before the
    /// other, one may have replaced the other. Launches are ordered.
    fn may_stand_for(&self, site: u32, other: u32, word: usize) -> bool {
        let replaces = |one: &Who, other: &Who| {
            let by_barrier = (one.0, one.1) == (other.0, other.1) && one.2 > other.2;
            one == other || by_barrier || one.0 > other.0
        };
        let both = self.of(site, word).zip(self.of(other, word));
        both.is_some_and(|(ones, others)| {
            ones.iter().any(|one| others.iter().any(|other| replaces(one, other)))
        })
    }
}

/// What both have found since the last call, which must be the same. How much that is.
pub fn compare(
    together: &mut Block,
    apart: &mut Block,
    accessed: &Accessed,
    after: impl Fn() -> String,
) -> usize {
    let [t, a] = [together, apart].map(pairs);
    // Where a thread reads a word twice, either read may stand for both.
    let is_told = |(site, _, later): &Pair| {
        t.iter().any(|(told, _, by)| by == later && accessed.may_stand_for(*told, *site, later.2 & !3))
    };
    let lost: Vec<_> = a.difference(&t).filter(|pair| !is_told(pair)).collect();
    assert!(lost.is_empty(), "{lost:?} are lost {}", after());
    let later = |pairs: &BTreeSet<Pair>| pairs.iter().map(|(.., later)| *later).collect::<BTreeSet<_>>();
    let more: Vec<_> = t.difference(&a).collect();
    assert!(later(&t) == later(&a), "{more:?} are none {}", after());
    assert!(
        more.iter().all(|(site, _, later)| accessed.of(*site, later.2 & !3).is_some()),
        "{more:?} {}",
        after()
    );
    t.len()
}
