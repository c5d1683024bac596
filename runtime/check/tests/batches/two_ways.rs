//! The same history in two ways: accesses that are checked together, and one by one. Both must find
//! the same races.

use std::collections::{BTreeSet, HashMap, HashSet};

use gpurace_check::batch::{Addresses, Batch};
use gpurace_check::{Block, Checker, KernelKey, LaunchInfo, RaceRecord, SyncFeatures, Touched, Transfer};
use gpurace_random::Random;

/// Where global memory lies.
pub const GLOBAL: usize = 0x10_0000;
/// Where the first block's shared memory lies.
pub const SHARED: usize = 0x7000_0000;
/// Bytes of a block's shared memory.
pub const SHARED_BYTES: usize = 0x400;
/// Distance between the shared memory of two blocks.
pub const SHARED_APART: usize = 0x10_0000;

/// A launch of three blocks.
pub fn launch(id: u64, threads: u32) -> LaunchInfo {
    LaunchInfo { stream: 1, ..LaunchInfo::new(id, KernelKey(1), 3, threads) }
}

/// A row with these addresses.
pub fn row(site: u32, size: u32, writes: bool, addresses: Addresses<'_>) -> Batch<'_> {
    Batch { writes, ..Batch::reads(site, size, addresses) }
}

/// Makes the accesses of a row one by one.
pub fn one_by_one(block: &mut Block, row: &Batch<'_>) {
    for (thread, address) in accesses(row) {
        match row.writes {
            true => block.write(thread, address, row.size, row.site, None),
            false => block.read(thread, address, row.size, row.site),
        }
    }
}

/// The accesses of a row: threads and addresses.
pub fn accesses(row: &Batch<'_>) -> Vec<(u32, usize)> {
    let each = row.addresses.each();
    (0..).zip(&*each).filter(|&(_, &at)| at != 0).map(|(thread, &at)| (thread, at as usize)).collect()
}

/// A race: the site of the earlier access, what made it, and the later access.
type Pair = (u32, String, Later);
/// The later access of a race: its site, its thread, and the word. Which bytes are in common depends on
/// which of several earlier accesses is told.
type Later = (u32, Option<u32>, usize);

fn pairs(block: &mut Block) -> BTreeSet<Pair> {
    let pair = |r: &RaceRecord| {
        (
            r.earlier.site,
            format!("{:?} {:?}", r.earlier.op, r.scope),
            (r.later.site, r.later.thread, r.address & !3),
        )
    };
    block.take_traced().iter().map(pair).collect()
}

/// A thread between two barriers: launch, block, number of barriers before, thread.
pub type Who = (u64, u64, usize, u32);

/// Who has accessed a word through a site.
#[derive(Default)]
pub struct Accessed(HashMap<(u32, usize), HashSet<Who>>);

impl Accessed {
    /// Adds an access of some bytes.
    pub fn add(&mut self, site: u32, address: usize, size: usize, who: Who) {
        let words = (address & !3..address + size).step_by(4);
        words.for_each(|word| _ = self.0.entry((site, word)).or_default().insert(who));
    }

    /// Adds the accesses of a row. `when`: launch, block, number of barriers before.
    pub fn add_row(&mut self, row: &Batch<'_>, when: (u64, u64, usize)) {
        for (thread, address) in accesses(row) {
            self.add(row.site, address, row.size as usize, (when.0, when.1, when.2, thread));
        }
    }

    fn of(&self, site: u32, word: usize) -> Option<&HashSet<Who>> {
        self.0.get(&(site, word))
    }

    /// True if a race with the access through `other` may be reported as one with the access through
    /// `site`: both are by one thread between two barriers, or that through `site` comes after the
    /// other and has replaced its record. Launches are ordered.
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

/// Which races the two ways must have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Same {
    /// Those that one of the two accesses finds, in the order in which they are made one by one.
    Later,
    /// Those of the two sites, in some order: all accesses of one thread may be checked before those of another one.
    Sites,
}

/// Compares the races that both ways have found since the last call. Returns how many there are.
pub fn compare(
    together: &mut Block,
    apart: &mut Block,
    accessed: &Accessed,
    same: Same,
    after: impl Fn() -> String,
) -> usize {
    let [t, a] = [together, apart].map(pairs);
    if same == Same::Sites {
        let is_told = |by: &BTreeSet<Pair>, (site, _, later): &Pair| {
            by.iter().filter(|(.., of)| of.2 == later.2).any(|(told, _, (of, ..))| {
                let stands_for = |site| *told == site || accessed.may_stand_for(*told, site, later.2);
                *of == later.0 && stands_for(*site) || of == site && stands_for(later.0)
            })
        };
        for (one, other, which) in [(&a, &t, "lost"), (&t, &a, "none")] {
            let differ: Vec<_> = one.iter().filter(|pair| !is_told(other, pair)).collect();
            assert!(differ.is_empty(), "{differ:?} are {which} {}", after());
        }
        return t.len();
    }
    // If a thread reads a word twice, either read may stand for both.
    let is_told = |(site, _, later): &Pair| {
        t.iter().any(|(told, _, by)| by == later && accessed.may_stand_for(*told, *site, later.2))
    };
    let lost: Vec<_> = a.difference(&t).filter(|pair| !is_told(pair)).collect();
    assert!(lost.is_empty(), "{lost:?} are lost {}", after());
    let later = |pairs: &BTreeSet<Pair>| pairs.iter().map(|(.., later)| *later).collect::<BTreeSet<_>>();
    let more: Vec<_> = t.difference(&a).collect();
    assert!(later(&t) == later(&a), "{more:?} are none {}", after());
    assert!(
        more.iter().all(|(site, _, later)| accessed.of(*site, later.2).is_some()),
        "{more:?} {}",
        after()
    );
    t.len()
}

/// A block in both ways.
pub struct Both<'a> {
    pub together: &'a mut Block,
    pub apart: &'a mut Block,
    /// Linear index of the block.
    pub index: usize,
    accessed: &'a mut Accessed,
    /// Launch, block, number of barriers before.
    pub when: (u64, u64, usize),
}

impl Both<'_> {
    /// Notes an access that both ways make.
    pub fn accessed(&mut self, site: u32, address: usize, size: usize, thread: u32) {
        let (launch, block, barriers) = self.when;
        self.accessed.add(site, address, size, (launch, block, barriers, thread));
    }

    /// Makes the accesses of rows of a segment: together as rows, unless `mixed`.
    pub fn rows(&mut self, rows: &[Batch<'_>], mixed: bool) {
        match mixed {
            true => rows.iter().for_each(|row| one_by_one(self.together, row)),
            false => self.together.batches(rows, &(0..0)),
        }
        for row in rows {
            one_by_one(self.apart, row);
            self.accessed.add_row(row, self.when);
        }
    }
}

/// What a copy beside a launch touches: mostly nothing.
fn transfers(random: &mut Random) -> Vec<Touched> {
    let range = |random: &mut Random, writes| {
        let start = GLOBAL + random.below(0x800) as usize;
        Touched { bytes: start..start + 1 + random.below(0x80) as usize, writes, site: u32::from(writes) }
    };
    match random.below(8) {
        0 => vec![range(random, false)],
        1 => vec![range(random, true)],
        2 => (0..6).map(|_| range(random, true)).collect(),
        _ => Vec::new(),
    }
}

/// Runs a random history of up to three launches, each with less than `steps` steps. A step is a
/// barrier of a block, once in `barriers` times, or what `access` does and describes. `same` races are compared.
/// Returns the number of races.
pub fn history(
    seed: u64,
    threads: u32,
    features: SyncFeatures,
    (steps, barriers, same): (u64, u64, Same),
    random: &mut Random,
    mut access: impl FnMut(&mut Random, &mut Both<'_>) -> String,
) -> usize {
    let checkers = [Checker::new(), Checker::new()];
    let (mut found, mut log, mut accessed) = (0, Vec::new(), Accessed::default());
    for id in 1..=1 + random.below(3) {
        // Some launches keep records for a concurrent one.
        let settled = if random.below(2) == 0 { 2 * id - 2 } else { 0 } * u64::from(seed.is_multiple_of(2));
        let info = LaunchInfo { features, settled, ..launch(2 * id, threads) };
        let transfers = transfers(random);
        for checker in checkers.iter().filter(|_| !transfers.is_empty()) {
            let transfer = Transfer { id: 2 * id - 1, site_base: 900, stream: 2, settled: 0 };
            checker.transfer(transfer, &[], transfers.clone());
        }
        if !transfers.is_empty() {
            log.push(format!("beside {transfers:?}"));
        }
        let unordered: &[u64] = if transfers.is_empty() { &[] } else { &[2 * id - 1] };
        let launches = checkers.each_ref().map(|checker| checker.begin_launch(info, unordered));
        let mut blocks = [0, 1, 2].map(|b| {
            launches.each_ref().map(|launch| {
                let at = SHARED + b * SHARED_APART;
                let mut block = Block::begin(launch, b as u64, at..at + SHARED_BYTES);
                block.trace();
                block
            })
        });
        let mut passed = [0; 3];
        for _ in 0..random.below(steps) {
            let index = random.below(3) as usize;
            let [together, apart] = &mut blocks[index];
            if random.below(barriers) == 0 {
                together.barrier();
                apart.barrier();
                passed[index] += 1;
                log.push(format!("block {index}: barrier"));
                continue;
            }
            let when = (id, index as u64, passed[index]);
            let mut both = Both { together, apart, index, accessed: &mut accessed, when };
            log.push(format!("block {index}: {}", access(random, &mut both)));
            found += compare(together, apart, &accessed, same, || format!("seed {seed}: after {log:#?}"));
        }
        let checks = blocks.each_ref().map(|[t, a]| (t.checks(), a.checks()));
        assert!(checks.iter().all(|(t, a)| t == a), "seed {seed}: {checks:?}");
        blocks.into_iter().flatten().for_each(Block::end);
        checkers.iter().zip(&launches).for_each(|(checker, launch)| _ = checker.end_launch(launch));
        if random.below(4) == 0 {
            let (at, bytes) = (GLOBAL + random.below(0x800) as usize, random.below(0x400) as usize);
            checkers.iter().for_each(|checker| checker.forget(at, bytes));
        }
        log.push(format!("launch {id} ends"));
    }
    found
}

/// Runs histories, `few` unless the environment says how many. Some must have races.
pub fn run_histories(few: u64, history: impl Fn(u64) -> usize) {
    let histories = std::env::var("GPURACE_ROW_HISTORIES").map_or(few, |n| n.parse().expect("a number"));
    let found: usize = (0..histories).map(history).sum();
    println!("{found} races in {histories} histories");
    assert!(found > 0);
}
