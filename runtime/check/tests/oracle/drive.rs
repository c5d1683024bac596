//! Runs a history through the checker and the oracle, and compares what they say.

use std::collections::HashMap;
use std::sync::Arc;

use gpurace_check::{
    AtomicKind, Block, Checker, ClusterBarrier, Clusters, KernelKey, Launch, LaunchInfo, Limits, Order,
    RaceRecord, RaceScope, Scope, SideOp, Space, SyncFeatures,
};

use crate::model::{Event, Machine, Named, Op, Oracle, Pair};

/// Where the words under test lie. No memory is accessed there.
pub const GLOBAL: usize = 0x10_0000_0000;
/// Where the blocks' shared memory lies, one after the other.
pub const SHARED: usize = 0x20_0000_0000;
pub const SHARED_SIZE: usize = 64;

/// A launch and its blocks. Blocks of the last history are used again.
#[derive(Default)]
struct Running {
    launch: Option<Arc<Launch>>,
    blocks: Vec<Block>,
    /// The barriers of clusters, by first block.
    barriers: HashMap<u64, ClusterBarrier>,
}

/// A checker that many histories run through, one launch after the other.
pub struct Driver {
    pub machine: Machine,
    features: SyncFeatures,
    /// Launches that order threads by less than device scope.
    narrow: Vec<usize>,
    threads_per_block: u32,
    blocks: u64,
    checker: Checker,
    limits: Limits,
    next_id: u64,
    runs: u64,
    running: Vec<Running>,
    fresh_oracle: Oracle,
    pub events: u64,
    pub races: u64,
}

impl Driver {
    pub fn new(machine: Machine, features: SyncFeatures) -> Self {
        Self::with(machine, features, Limits::default())
    }

    pub fn with(machine: Machine, features: SyncFeatures, limits: Limits) -> Self {
        let threads_per_block = machine.threads.iter().map(|t| t.2).max().unwrap() + 1;
        let blocks = machine.threads.iter().map(|t| t.1).max().unwrap() + 1;
        Self {
            fresh_oracle: Oracle::new(machine.clone()),
            running: machine.unordered.iter().map(|_| Running::default()).collect(),
            checker: checker(limits, machine.relaxed_volatile),
            machine,
            features,
            narrow: Vec::new(),
            threads_per_block,
            blocks,
            limits,
            next_id: 1,
            runs: 0,
            events: 0,
            races: 0,
        }
    }

    /// Begins a launch, and ends those that it is ordered after.
    fn begin(&mut self, l: usize, first: u64) {
        let unordered = &self.machine.unordered[l];
        for earlier in (0..l).filter(|e| !unordered.contains(e)) {
            let ended = &mut self.running[earlier];
            if let Some(launch) = ended.launch.take() {
                ended.blocks.drain(..).for_each(Block::end);
                self.checker.end_launch(&launch);
            }
        }
        let unordered: Vec<u64> = unordered.iter().map(|&u| first + u as u64).collect();
        let mut features = SyncFeatures { narrow_order: self.narrow.contains(&l), ..self.features };
        if self.machine.regular.contains(&l) {
            features.partial_masks = false;
            features.async_copies = false;
            features.named_barriers = false;
            features.fences = false;
        }
        let (id, kernel) = (first + l as u64, KernelKey(l as u32 % 2));
        let info = LaunchInfo {
            features,
            clusters: self.clusters(),
            settled: first - 1,
            ..LaunchInfo::new(id, kernel, self.blocks, self.threads_per_block)
        };
        let launch = self.checker.begin_launch(info, &unordered);
        let shared = |b: u64| {
            let slot = l as u64 * self.blocks + b;
            let at = SHARED + slot as usize * SHARED_SIZE;
            at..at + SHARED_SIZE
        };
        let blocks = &mut self.running[l].blocks;
        for b in 0..self.blocks {
            match blocks.get_mut(b as usize) {
                Some(block) => block.restart(&launch, b, shared(b)),
                None => {
                    let mut block = Block::begin(&launch, b, shared(b));
                    block.trace();
                    blocks.push(block);
                }
            }
        }
        if self.machine.cluster > 0 {
            let all: Vec<_> = (0..self.blocks).map(shared).collect();
            for cluster in all.chunks(self.machine.cluster as usize) {
                launch.begin_cluster(cluster);
            }
            for (b, block) in self.running[l].blocks.iter_mut().enumerate() {
                let first = b - b % self.machine.cluster as usize;
                block.join_cluster(&all[first..first + self.machine.cluster as usize]);
            }
        }
        self.running[l].barriers.clear();
        self.running[l].launch = Some(launch);
    }

    fn clusters(&self) -> Option<Clusters> {
        let size = u32::try_from(self.machine.cluster).ok().filter(|&n| n > 0)?;
        Some(Clusters { grid: [self.blocks as u32, 1, 1], blocks: [size, 1, 1], end_of_block: 99 })
    }

    /// The block of a thread, and the barrier of its cluster.
    fn at_cluster(&mut self, thread: usize) -> (&mut Block, &mut ClusterBarrier, u32) {
        let (launch, b, tid) = self.machine.threads[thread];
        let running = &mut self.running[launch];
        let barrier = running.barriers.entry(b - b % self.machine.cluster).or_default();
        (&mut running.blocks[b as usize], barrier, tid)
    }

    /// Runs one history. If checker and oracle disagree, panics with the shortest history that still
    /// shows it.
    pub fn run(&mut self, history: &[Event]) {
        let Err(mut why) = self.attempt(history) else {
            return;
        };
        let mut history = history.to_vec();
        let mut i = 0;
        while i < history.len() {
            let mut shorter = history.clone();
            shorter.remove(i);
            match self.attempt(&shorter) {
                Err(w) => (history, why, i) = (shorter, w, 0),
                Ok(()) => i += 1,
            }
        }
        let threads = &self.machine.threads;
        let lines: Vec<String> = history.iter().map(|e| format!("  {e:?}")).collect();
        panic!("{why}\nthreads (launch, block, thread): {threads:?}\n{}", lines.join("\n"));
    }

    fn attempt(&mut self, history: &[Event]) -> Result<(), String> {
        self.runs += 1;
        if self.runs.is_multiple_of(1 << 18) {
            // A new checker keeps the table of launches small.
            self.running.iter_mut().for_each(|r| *r = Running::default());
            self.checker = checker(self.limits, self.machine.relaxed_volatile);
        }
        let first = self.next_id;
        self.next_id += self.running.len() as u64;
        let mut oracle = self.fresh_oracle.clone();
        self.narrow = history.iter().filter(|e| e.is_narrow_order()).map(|e| self.launch_of(e)).collect();
        let mut begun = 0;
        let mut accesses = 0;
        for (i, e) in history.iter().enumerate() {
            // A launch begins with its first event, after those before it.
            while begun <= self.launch_of(e) {
                self.begin(begun, first);
                oracle.begin_launch(begun);
                begun += 1;
            }
            let pairs = oracle.step(e);
            let found = self.check(e);
            self.events += 1;
            match e {
                Event::Access { address, size, .. }
                | Event::Copy { address, size, .. }
                | Event::CopyArrive { address, size, .. } => {
                    compare(&oracle, accesses, *address, *size, &pairs, &found, first)
                        .map_err(|why| format!("event {i}: {why}\nreported: {found:?}"))?;
                    self.races += u64::from(!pairs.is_empty());
                    accesses += 1;
                }
                Event::Fence { .. } => accesses += 1,
                _ => {}
            }
        }
        for launch in self.running.iter_mut().filter_map(|r| r.launch.take()) {
            self.checker.end_launch(&launch);
        }
        Ok(())
    }

    pub fn notes(&self) -> Vec<String> {
        self.checker.notes()
    }

    fn launch_of(&self, e: &Event) -> usize {
        match *e {
            Event::Syncwarp { launch, .. }
            | Event::Barrier { launch, .. }
            | Event::ClusterOver { launch, .. } => launch,
            Event::NamedBarrier { ref waited, .. } => self.machine.threads[waited[0]].0,
            _ => self.machine.threads[e.thread().expect("one thread's")].0,
        }
    }

    fn check(&mut self, e: &Event) -> Vec<RaceRecord> {
        let threads = &self.machine.threads;
        match *e {
            Event::Access { thread, op, address, size, site } => {
                let (launch, b, tid) = threads[thread];
                let block = &mut self.running[launch].blocks[b as usize];
                let n = size as u32;
                match op {
                    Op::Read if size > 16 => block.read_range(tid, address, size as u64, site),
                    Op::Write if size > 8 => block.write_range(tid, address, size as u64, site),
                    Op::Read => block.read(tid, address, n, site),
                    Op::Write => block.write(tid, address, n, site, None),
                    Op::Atomic(kind, scope, order) => {
                        block.atomic(tid, address, n, site, kind, scope, order);
                        block.atomic_done(tid, address, n, site, kind, scope, order);
                    }
                }
                return block.take_traced();
            }
            Event::Fence { thread, scope, order } => {
                let (launch, b, tid) = threads[thread];
                self.running[launch].blocks[b as usize].fence(tid, scope, order);
            }
            Event::Copy { thread, op, address, size, site } => {
                let (launch, b, tid) = threads[thread];
                let block = &mut self.running[launch].blocks[b as usize];
                match op {
                    Op::Read => block.async_read(tid, address, size as u64, site),
                    Op::Write => block.async_write(tid, address, size as u64, site),
                    Op::Atomic(..) => unreachable!("copies are plain"),
                }
                return block.take_traced();
            }
            Event::Commit { thread } => {
                let (launch, b, tid) = threads[thread];
                self.running[launch].blocks[b as usize].async_commit(tid);
            }
            Event::CopyWait { thread, but } => {
                let (launch, b, tid) = threads[thread];
                self.running[launch].blocks[b as usize].async_wait(tid, but);
            }
            Event::CopyArrive { thread, address, size, site } => {
                let (launch, b, tid) = threads[thread];
                let block = &mut self.running[launch].blocks[b as usize];
                let (kind, scope, order) = (AtomicKind::Rmw, Scope::Block, Order::Release);
                let n = size as u32;
                block.async_arrive(tid, address);
                block.atomic(tid, address, n, site, kind, scope, order);
                block.atomic_done(tid, address, n, site, kind, scope, order);
                return block.take_traced();
            }
            Event::Syncwarp { launch, block, warp, mask } => {
                self.running[launch].blocks[block as usize].syncwarp(warp, mask);
            }
            Event::Barrier { launch, block } => self.running[launch].blocks[block as usize].barrier(),
            Event::Arrive { thread, barrier } => {
                let (launch, b, tid) = threads[thread];
                self.running[launch].blocks[b as usize].barrier_arrive(tid, barrier);
            }
            Event::NamedBarrier { barrier, ref waited } => {
                let (launch, b, _) = threads[waited[0]];
                let tids: Vec<u32> = waited.iter().map(|&t| threads[t].2).collect();
                self.running[launch].blocks[b as usize].named_barrier(barrier, &tids);
            }
            Event::ClusterArrive { thread, order } => {
                let (block, barrier, tid) = self.at_cluster(thread);
                block.cluster_arrive(tid, order, barrier);
            }
            Event::ClusterOver { launch, first } => {
                self.running[launch].barriers.entry(first).or_default().complete();
            }
            Event::ClusterWait { thread } => {
                let (block, barrier, tid) = self.at_cluster(thread);
                block.cluster_wait(tid, barrier);
            }
        }
        Vec::new()
    }
}

fn checker(limits: Limits, relaxed_volatile: bool) -> Checker {
    let checker = Checker::with(limits, None);
    checker.relax_volatile(relaxed_volatile);
    checker
}

fn compare(
    oracle: &Oracle,
    access: usize,
    address: usize,
    size: usize,
    pairs: &[Pair],
    found: &[RaceRecord],
    first_launch: u64,
) -> Result<(), String> {
    let in_word = |pair: &Pair, word: usize| pair.bytes.start < word + 4 && word < pair.bytes.end;
    let me = oracle.named(access);
    for r in found {
        let real = pairs.iter().any(|p| {
            let n = oracle.named(p.earlier);
            p.bytes.contains(&r.address)
                && (!p.observed || oracle.may_report_observed(p, access, pairs))
                && names(r, &n, first_launch)
                && r.earlier.block.is_none_or(|b| b == n.block)
                && r.earlier.thread.is_none_or(|t| t == n.tid)
                && (r.later.block, r.later.thread) == (Some(me.block), Some(me.tid))
                && r.scope == scope(oracle, &n, &me)
                && match r.space {
                    Space::Global => r.address < SHARED,
                    Space::Shared => (r.shared_base..r.shared_base + SHARED_SIZE).contains(&r.address),
                }
        });
        if !real {
            return Err(format!("reported, but no race: {r:#?}\nraces: {pairs:?}"));
        }
    }
    for word in (address & !3..address + size).step_by(4) {
        let reports = |k: usize| {
            let n = oracle.named(k);
            found.iter().any(|r| r.address & !3 == word && names(r, &n, first_launch))
        };
        for p in pairs.iter().filter(|p| in_word(p, word) && !p.observed) {
            let i = p.earlier;
            // The accesses that stand for `i`, those that stand for them, and so on.
            let mut standing = vec![i];
            let mut next = 0;
            while next < standing.len() {
                let i = standing[next];
                next += 1;
                for k in pairs.iter().filter(|q| in_word(q, word)).map(|q| q.earlier) {
                    let (a, b) = (oracle.named(i), oracle.named(k));
                    let own = a.agent == b.agent || oracle.before_wait(i, k);
                    if (own || oracle.before(i, k)) && !standing.contains(&k) {
                        standing.push(k);
                    }
                }
            }
            if !standing.iter().any(|&k| reports(k)) {
                return Err(format!("not reported: {:?} against {me:?}", oracle.named(i)));
            }
        }
    }
    Ok(())
}

fn names(r: &RaceRecord, n: &Named, first_launch: u64) -> bool {
    let op = match n.op {
        Op::Read => SideOp::Read,
        Op::Write => SideOp::Write,
        Op::Atomic(..) if n.op.modifies() => SideOp::AtomicWrite,
        Op::Atomic(..) => SideOp::AtomicLoad,
    };
    r.earlier.site == n.site && r.earlier.op == op && r.earlier.launch == first_launch + n.launch as u64
}

fn scope(oracle: &Oracle, a: &Named, b: &Named) -> RaceScope {
    if a.launch != b.launch {
        RaceScope::Device
    } else if oracle.only_share_cluster(a, b) {
        RaceScope::Cluster
    } else if a.block != b.block {
        RaceScope::Grid
    } else if a.tid / 32 != b.tid / 32 {
        RaceScope::Block
    } else {
        RaceScope::Warp
    }
}
