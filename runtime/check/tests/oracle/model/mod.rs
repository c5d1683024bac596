//! The oracle: happens-before by the definitions of the PTX memory model. `event.rs` has the events,
//! this file keeps each thread's clock, `race.rs` compares accesses.

mod event;
mod race;

use std::collections::HashMap;

use gpurace_check::{AtomicKind, Order, Scope};

pub use event::{Event, Machine, Op, Thread};
pub use race::{Named, Pair};

type Clock = Vec<u32>;

fn join(a: &mut Clock, b: &Clock) {
    if a.len() < b.len() {
        a.resize(b.len(), 0);
    }
    for (a, b) in a.iter_mut().zip(b) {
        *a = (*a).max(*b);
    }
}

/// One access or fence that took place.
#[derive(Clone, Debug)]
struct Past {
    thread: Thread,
    what: What,
    /// The thread's clock, with this operation unless a copy made it.
    clock: Clock,
    /// The same, of what the thread knows by barriers alone.
    met: Clock,
    /// A component of clocks, and a number: a thread knows that it happened if its clock is at least
    /// so far there.
    stamp: (usize, u32),
    /// What it publishes as a release.
    released: Clock,
    /// For a copy, the thread's clock when it had waited for the copy.
    done: Option<Clock>,
}

/// The asynchronous copies of a thread. Those between two commits or arrivals have one component of
/// all clocks: 1 if they are known to be done, otherwise 0.
#[derive(Clone, Debug, Default)]
struct Copies {
    /// The components. The last one is of copies that begin now.
    components: Vec<usize>,
    /// For each group, the number of components of it and all groups before it.
    groups: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Access {
        op: Op,
        address: usize,
        size: usize,
        site: u32,
        /// The write whose value it read, if it is an atomic read.
        observed: Option<usize>,
    },
    Fence {
        scope: Scope,
        order: Order,
    },
}

#[derive(Clone)]
pub struct Oracle {
    machine: Machine,
    clocks: Vec<Clock>,
    /// What each thread knows of others by barriers of the block, syncs of lanes and named barriers that it waited at.
    met: Vec<Clock>,
    past: Vec<Past>,
    copies: Vec<Copies>,
    components: usize,
    /// What arrivals have released, by launch and block and by barrier.
    arrived: Vec<((usize, u64), u32, Clock)>,
    /// What arrivals at a cluster's barrier have released in this phase and the last one, by launch
    /// and first block.
    cluster_barriers: HashMap<(usize, u64), [Clock; 2]>,
}

impl Copies {
    /// The clock of a thread that knows only that the copies of the first components are done.
    fn done(&self, components: usize) -> Clock {
        let mut clock = Clock::new();
        for &c in &self.components[..components] {
            if clock.len() <= c {
                clock.resize(c + 1, 0);
            }
            clock[c] = 1;
        }
        clock
    }
}

impl Oracle {
    pub fn new(machine: Machine) -> Self {
        let n = machine.threads.len();
        Self {
            machine,
            copies: vec![Copies::default(); n],
            components: n,
            clocks: vec![vec![0; n]; n],
            met: vec![vec![0; n]; n],
            past: Vec::new(),
            arrived: Vec::new(),
            cluster_barriers: HashMap::new(),
        }
    }

    /// Launch and first block of a thread's cluster. Without clusters each block is one.
    fn cluster(&self, t: Thread) -> (usize, u64) {
        let (launch, block, _) = self.machine.threads[t];
        (launch, block - block % self.machine.cluster.max(1))
    }

    fn block(&self, t: Thread) -> (usize, u64) {
        (self.machine.threads[t].0, self.machine.threads[t].1)
    }

    fn same_block(&self, a: Thread, b: Thread) -> bool {
        self.block(a) == self.block(b)
    }

    fn includes(&self, scope: Scope, of: Thread, other: Thread) -> bool {
        match scope {
            Scope::Block => self.same_block(of, other),
            Scope::Cluster => self.cluster(of) == self.cluster(other),
            Scope::Device | Scope::System => true,
        }
    }

    /// True if two operations are morally strong: of one thread, or each scope includes the other's
    /// thread.
    fn morally_strong(&self, a: Thread, sa: Scope, b: Thread, sb: Scope) -> bool {
        a == b || (self.includes(sa, a, b) && self.includes(sb, b, a))
    }

    /// Begins a launch: its threads learn what they are ordered after.
    pub fn begin_launch(&mut self, launch: usize) {
        let n = self.machine.threads.len();
        for t in 0..n {
            if self.machine.threads[t].0 != launch {
                continue;
            }
            for other in 0..n {
                let l = self.machine.threads[other].0;
                if l < launch && !self.machine.unordered[launch].contains(&l) {
                    let mut c = self.clocks[other].clone();
                    join(&mut c, &self.copies[other].done(self.copies[other].components.len()));
                    // What the earlier launch did, and what that is ordered after.
                    join(&mut self.clocks[t], &c);
                }
            }
        }
    }

    /// Makes an event happen. Returns the earlier accesses with which it races.
    pub fn step(&mut self, e: &Event) -> Vec<Pair> {
        match *e {
            Event::Access { thread, op, address, size, site } => {
                let released = Clock::new();
                self.access(thread, op, address, size, site, None, released)
            }
            Event::Copy { thread, op, address, size, site } => {
                let component = match self.copies[thread].components.last() {
                    Some(&c) => c,
                    None => self.next_copies(thread),
                };
                let released = Clock::new();
                self.access(thread, op, address, size, site, Some(component), released)
            }
            Event::Commit { thread } => {
                let group = self.copies[thread].components.len();
                self.copies[thread].groups.push(group);
                self.next_copies(thread);
                Vec::new()
            }
            Event::CopyWait { thread, but } => {
                let c = &self.copies[thread];
                if let Some(last) = c.groups.len().checked_sub(1 + but as usize) {
                    let done = c.done(c.groups[last]);
                    join(&mut self.clocks[thread], &done);
                    let clock = &self.clocks[thread];
                    for p in &mut self.past {
                        let waited = p.thread == thread && done.get(p.stamp.0) == Some(&1);
                        if waited && p.done.is_none() {
                            p.done = Some(clock.clone());
                        }
                    }
                }
                Vec::new()
            }
            Event::CopyArrive { thread, address, size, site } => {
                let c = &self.copies[thread];
                let done = c.done(c.components.len());
                self.next_copies(thread);
                let op = Op::Atomic(AtomicKind::Rmw, Scope::Block, Order::Release);
                self.access(thread, op, address, size, site, None, done)
            }
            Event::Fence { thread, scope, order } => {
                self.clocks[thread][thread] += 1;
                if order.acquires() {
                    self.acquire(thread, scope, None);
                }
                if order == Order::SeqCst {
                    self.acquire_full_fences(thread, scope);
                }
                let clock = self.clocks[thread].clone();
                let met = self.known_by_meeting(thread);
                self.past.push(Past {
                    thread,
                    what: What::Fence { scope, order },
                    stamp: (thread, clock[thread]),
                    released: clock.clone(),
                    done: None,
                    clock,
                    met,
                });
                Vec::new()
            }
            Event::Syncwarp { launch, block, warp, mask } => {
                let threads =
                    self.of_block(launch, block, |tid| tid / 32 == warp && mask >> (tid % 32) & 1 != 0);
                self.meet(&threads);
                Vec::new()
            }
            Event::Barrier { launch, block } => {
                let threads = self.of_block(launch, block, |_| true);
                self.meet(&threads);
                Vec::new()
            }
            Event::Arrive { thread, barrier } => {
                let clock = self.clocks[thread].clone();
                self.arrived.push((self.block(thread), barrier, clock));
                Vec::new()
            }
            Event::NamedBarrier { barrier, ref waited } => {
                self.meet(waited);
                let block = self.block(waited[0]);
                let (here, rest) = std::mem::take(&mut self.arrived)
                    .into_iter()
                    .partition(|a| a.0 == block && a.1 == barrier);
                self.arrived = rest;
                for a in here {
                    for &t in waited {
                        join(&mut self.clocks[t], &a.2);
                    }
                }
                Vec::new()
            }
            Event::ClusterArrive { thread, order } => {
                let mut released = match order.releases() {
                    true => self.clocks[thread].clone(),
                    false => Clock::new(),
                };
                for p in self.past.iter().filter(|p| p.thread == thread) {
                    if let What::Fence { scope, order } = p.what
                        && order.releases()
                        && scope != Scope::Block
                    {
                        join(&mut released, &p.released);
                    }
                }
                let cluster = self.cluster(thread);
                join(&mut self.cluster_barriers.entry(cluster).or_default()[0], &released);
                Vec::new()
            }
            Event::ClusterOver { launch, first } => {
                let barrier = self.cluster_barriers.entry((launch, first)).or_default();
                barrier[1] = std::mem::take(&mut barrier[0]);
                Vec::new()
            }
            Event::ClusterWait { thread } => {
                let cluster = self.cluster(thread);
                let over = &self.cluster_barriers.entry(cluster).or_default()[1];
                join(&mut self.clocks[thread], over);
                Vec::new()
            }
        }
    }

    /// Gives copies that begin from now on a component of their own.
    fn next_copies(&mut self, thread: Thread) -> usize {
        self.components += 1;
        self.copies[thread].components.push(self.components - 1);
        self.components - 1
    }

    fn of_block(&self, launch: usize, block: u64, f: impl Fn(u32) -> bool) -> Vec<Thread> {
        let threads = self.machine.threads.iter().enumerate();
        threads.filter(|(_, t)| (t.0, t.1) == (launch, block) && f(t.2)).map(|(i, _)| i).collect()
    }

    fn meet(&mut self, threads: &[Thread]) {
        let mut all = vec![0; self.clocks.len()];
        for &t in threads {
            join(&mut all, &self.clocks[t]);
        }
        for &t in threads {
            self.clocks[t].clone_from(&all);
        }
        let mut met = Clock::new();
        for &t in threads {
            join(&mut met, &self.known_by_meeting(t));
        }
        for &t in threads {
            self.met[t].clone_from(&met);
        }
    }

    /// What a thread has done, and what it knows of others by barriers alone.
    fn known_by_meeting(&self, thread: Thread) -> Clock {
        let mut known = self.met[thread].clone();
        known[thread] = self.clocks[thread][thread];
        known
    }

    /// Lets a thread learn by a `fence.sc` what Fence-SC order tells of others, if barriers led from those to a write
    /// that the thread has observed, and the writer has made one itself.
    fn acquire_full_fences(&mut self, thread: Thread, scope: Scope) {
        let mut learnt = Clock::new();
        for read in self.past.iter().filter(|read| read.thread == thread) {
            let What::Access { op: Op::Atomic(kind, ..), observed: mut write, .. } = read.what else {
                continue;
            };
            while let Some(w) = write.filter(|_| kind != AtomicKind::Reduction) {
                let full = |p: &&Past| matches!(p.what, What::Fence { order: Order::SeqCst, .. });
                let before = || self.past[..w].iter().filter(full);
                let writer = &self.past[w];
                for fence in before().filter(|_| before().any(|fence| fence.thread == writer.thread)) {
                    let What::Fence { scope: of, .. } = fence.what else { unreachable!() };
                    if writer.met[fence.stamp.0] >= fence.stamp.1
                        && self.morally_strong(fence.thread, of, thread, scope)
                    {
                        join(&mut learnt, &fence.released);
                    }
                }
                let What::Access { observed, .. } = writer.what else { unreachable!() };
                write = observed;
            }
        }
        join(&mut self.clocks[thread], &learnt);
    }

    /// Lets a thread acquire, by an operation on a location or by a fence.
    fn acquire(&mut self, thread: Thread, scope: Scope, location: Option<(usize, usize)>) {
        let mut learnt = vec![0; self.clocks.len()];
        for read in &self.past {
            let What::Access { op: Op::Atomic(kind, ..), address, size, observed, .. } = read.what else {
                continue;
            };
            // The read is part of no acquire pattern.
            if kind == AtomicKind::Reduction {
                continue;
            }
            if read.thread != thread || location.is_some_and(|l| l != (address, size)) {
                continue;
            }
            let mut write = observed;
            while let Some(w) = write {
                self.released_by(w, thread, scope, &mut learnt);
                let What::Access { observed, .. } = self.past[w].what else { unreachable!() };
                write = observed;
            }
        }
        join(&mut self.clocks[thread], &learnt);
    }

    /// What an acquire learns from the release patterns that end in write `w`.
    fn released_by(&self, w: usize, to: Thread, scope: Scope, learnt: &mut Clock) {
        let write = &self.past[w];
        let What::Access { address, size, .. } = write.what else { unreachable!() };
        for first in &self.past[..=w] {
            if first.thread != write.thread {
                continue;
            }
            let releases = match first.what {
                What::Fence { scope, order } => order.releases().then_some(scope),
                What::Access { op: Op::Atomic(kind, scope, order), address: a, size: s, .. } => (order
                    .releases()
                    && !matches!(kind, AtomicKind::Load | AtomicKind::VolatileLoad)
                    && (a, s) == (address, size))
                    .then_some(scope),
                What::Access { .. } => None,
            };
            if let Some(s) = releases
                && self.morally_strong(first.thread, s, to, scope)
            {
                join(learnt, &first.released);
            }
        }
    }

    /// The write that an atomic read now observes, in the model's sense.
    fn observed(&self, thread: Thread, scope: Scope, address: usize, size: usize) -> Option<usize> {
        for (i, p) in self.past.iter().enumerate().rev() {
            let What::Access { op, address: a, size: s, .. } = p.what else {
                continue;
            };
            if !op.modifies() || a >= address + size || address >= a + s {
                continue;
            }
            // The newest write to any of the bytes.
            return match op {
                Op::Atomic(_, of, _) if (a, s) == (address, size) => {
                    self.morally_strong(p.thread, of, thread, scope).then_some(i)
                }
                Op::Atomic(..) | Op::Read | Op::Write => None,
            };
        }
        None
    }

    /// True if a write precedes, in observation order, a read before access `now` of the thread, which is
    /// ordered after that read.
    fn has_observed(&self, thread: Thread, write: usize, now: usize) -> bool {
        self.past[..now].iter().any(|read| {
            let What::Access { mut observed, .. } = read.what else { return false };
            let known = self.clocks[thread].get(read.stamp.0).is_some_and(|&known| known >= read.stamp.1);
            while let Some(w) = observed.filter(|_| known) {
                if w == write {
                    return true;
                }
                let What::Access { observed: before, .. } = self.past[w].what else { unreachable!() };
                observed = before;
            }
            false
        })
    }
}
