//! Events, and what happens before what by the definitions of the PTX memory model.

use gpurace_check::{AtomicKind, Order, Scope};

/// A thread: its index in [`Machine::threads`].
pub type Thread = usize;

/// Which threads there are.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Launch, block in the launch, linear thread in the block.
    pub threads: Vec<(usize, u64, u32)>,
    /// For each launch, those it is not ordered after.
    pub unordered: Vec<Vec<usize>>,
    /// Launches of kernels that only have barriers and syncs of whole warps.
    pub regular: Vec<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Read,
    Write,
    Atomic(AtomicKind, Scope, Order),
}

impl Op {
    fn modifies(self) -> bool {
        match self {
            Op::Read => false,
            Op::Write => true,
            Op::Atomic(kind, ..) => !matches!(kind, AtomicKind::Load | AtomicKind::VolatileLoad),
        }
    }

    fn reads_atomically(self) -> bool {
        match self {
            Op::Read | Op::Write => false,
            Op::Atomic(kind, ..) => !matches!(kind, AtomicKind::Store | AtomicKind::VolatileStore),
        }
    }

    /// A volatile access races as a plain one.
    pub fn as_raced(self) -> Op {
        match self {
            Op::Atomic(AtomicKind::VolatileLoad, ..) => Op::Read,
            Op::Atomic(AtomicKind::VolatileStore, ..) => Op::Write,
            Op::Atomic(AtomicKind::Load | AtomicKind::Store | AtomicKind::Rmw, ..)
            | Op::Read
            | Op::Write => self,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    Access {
        thread: Thread,
        op: Op,
        address: usize,
        size: usize,
        site: u32,
    },
    Fence {
        thread: Thread,
        scope: Scope,
        order: Order,
    },
    /// Lanes of one warp of one block.
    Syncwarp {
        launch: usize,
        block: u64,
        warp: u32,
        mask: u32,
    },
    Barrier {
        launch: usize,
        block: u64,
    },
    Arrive {
        thread: Thread,
        barrier: u32,
    },
    /// All these threads, of one block, waited.
    NamedBarrier {
        barrier: u32,
        waited: Vec<Thread>,
    },
}

type Clock = Vec<u32>;

fn join(a: &mut Clock, b: &Clock) {
    for (a, b) in a.iter_mut().zip(b) {
        *a = (*a).max(*b);
    }
}

/// One access or fence that took place.
#[derive(Clone, Debug)]
struct Past {
    thread: Thread,
    what: What,
    /// The thread's clock, this operation included.
    clock: Clock,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Access {
        op: Op,
        address: usize,
        size: usize,
        site: u32,
        /// The write whose value it read, where it is an atomic read.
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
    past: Vec<Past>,
    /// Launch and block, barrier, what arrived.
    arrived: Vec<((usize, u64), u32, Clock)>,
}

/// A pair of accesses that race.
#[derive(Clone, Debug)]
pub struct Pair {
    pub earlier: usize,
    pub bytes: std::ops::Range<usize>,
}

/// An access, as reports name it.
#[derive(Clone, Debug)]
pub struct Named {
    pub launch: usize,
    pub block: u64,
    pub tid: u32,
    pub thread: Thread,
    pub op: Op,
    pub site: u32,
}

impl Oracle {
    pub fn new(machine: Machine) -> Self {
        let n = machine.threads.len();
        Self {
            machine,
            clocks: vec![vec![0; n]; n],
            past: Vec::new(),
            arrived: Vec::new(),
        }
    }

    fn block(&self, t: Thread) -> (usize, u64) {
        (self.machine.threads[t].0, self.machine.threads[t].1)
    }

    fn same_block(&self, a: Thread, b: Thread) -> bool {
        self.block(a) == self.block(b)
    }

    fn includes(&self, scope: Scope, of: Thread, other: Thread) -> bool {
        match scope {
            Scope::Block | Scope::Cluster => self.same_block(of, other),
            Scope::Device | Scope::System => true,
        }
    }

    /// Morally strong: of one thread, or each scope includes the other's thread.
    fn morally_strong(&self, a: Thread, sa: Scope, b: Thread, sb: Scope) -> bool {
        a == b || (self.includes(sa, a, b) && self.includes(sb, b, a))
    }

    /// A launch begins: what its threads are ordered after.
    pub fn begin_launch(&mut self, launch: usize) {
        let n = self.machine.threads.len();
        for t in 0..n {
            if self.machine.threads[t].0 != launch {
                continue;
            }
            for other in 0..n {
                let l = self.machine.threads[other].0;
                if l < launch && !self.machine.unordered[launch].contains(&l) {
                    let c = self.clocks[other].clone();
                    // Only what the earlier launch did, and is itself ordered after.
                    join(&mut self.clocks[t], &c);
                }
            }
        }
    }

    /// The event takes place. For an access: the earlier ones it races with.
    pub fn step(&mut self, e: &Event) -> Vec<Pair> {
        match *e {
            Event::Access {
                thread,
                op,
                address,
                size,
                site,
            } => self.access(thread, op, address, size, site),
            Event::Fence {
                thread,
                scope,
                order,
            } => {
                self.clocks[thread][thread] += 1;
                if order.acquires() {
                    self.acquire(thread, scope, None);
                }
                let clock = self.clocks[thread].clone();
                self.past.push(Past {
                    thread,
                    what: What::Fence { scope, order },
                    clock,
                });
                Vec::new()
            }
            Event::Syncwarp {
                launch,
                block,
                warp,
                mask,
            } => {
                let threads = self.of_block(launch, block, |tid| {
                    tid / 32 == warp && mask >> (tid % 32) & 1 != 0
                });
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
            Event::NamedBarrier {
                barrier,
                ref waited,
            } => {
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
        }
    }

    fn of_block(&self, launch: usize, block: u64, f: impl Fn(u32) -> bool) -> Vec<Thread> {
        let threads = self.machine.threads.iter().enumerate();
        threads
            .filter(|(_, t)| (t.0, t.1) == (launch, block) && f(t.2))
            .map(|(i, _)| i)
            .collect()
    }

    fn meet(&mut self, threads: &[Thread]) {
        let mut all = vec![0; self.clocks.len()];
        for &t in threads {
            join(&mut all, &self.clocks[t]);
        }
        for &t in threads {
            self.clocks[t].clone_from(&all);
        }
    }

    /// An acquire by `thread`: by an operation on a location, or by a fence.
    fn acquire(&mut self, thread: Thread, scope: Scope, location: Option<(usize, usize)>) {
        let mut learnt = vec![0; self.clocks.len()];
        for read in &self.past {
            let What::Access {
                op: Op::Atomic(..),
                address,
                size,
                observed,
                ..
            } = read.what
            else {
                continue;
            };
            if read.thread != thread || location.is_some_and(|l| l != (address, size)) {
                continue;
            }
            let mut write = observed;
            while let Some(w) = write {
                self.released_by(w, thread, scope, &mut learnt);
                let What::Access { observed, .. } = self.past[w].what else {
                    unreachable!()
                };
                write = observed;
            }
        }
        join(&mut self.clocks[thread], &learnt);
    }

    /// What the release patterns that end in write `w` release to an acquire.
    fn released_by(&self, w: usize, to: Thread, scope: Scope, learnt: &mut Clock) {
        let write = &self.past[w];
        let What::Access { address, size, .. } = write.what else {
            unreachable!()
        };
        for first in &self.past[..=w] {
            if first.thread != write.thread {
                continue;
            }
            let releases = match first.what {
                What::Fence { scope, order } => order.releases().then_some(scope),
                What::Access {
                    op: Op::Atomic(kind, scope, order),
                    address: a,
                    size: s,
                    ..
                } => (order.releases()
                    && !matches!(kind, AtomicKind::Load | AtomicKind::VolatileLoad)
                    && (a, s) == (address, size))
                    .then_some(scope),
                What::Access { .. } => None,
            };
            if let Some(s) = releases
                && self.morally_strong(first.thread, s, to, scope)
            {
                join(learnt, &first.clock);
            }
        }
    }

    /// The write whose value an atomic read now sees, if it observes it in the model's sense.
    fn observed(&self, thread: Thread, scope: Scope, address: usize, size: usize) -> Option<usize> {
        for (i, p) in self.past.iter().enumerate().rev() {
            let What::Access {
                op,
                address: a,
                size: s,
                ..
            } = p.what
            else {
                continue;
            };
            if !op.modifies() || a >= address + size || address >= a + s {
                continue;
            }
            // The newest write to any of the bytes.
            return match op {
                Op::Atomic(_, of, _) if (a, s) == (address, size) => self
                    .morally_strong(p.thread, of, thread, scope)
                    .then_some(i),
                Op::Atomic(..) | Op::Read | Op::Write => None,
            };
        }
        None
    }

    fn access(
        &mut self,
        thread: Thread,
        op: Op,
        address: usize,
        size: usize,
        site: u32,
    ) -> Vec<Pair> {
        self.clocks[thread][thread] += 1;
        let mut races = Vec::new();
        for (i, p) in self.past.iter().enumerate() {
            let What::Access {
                op: before,
                address: a,
                size: s,
                ..
            } = p.what
            else {
                continue;
            };
            let bytes = a.max(address)..(a + s).min(address + size);
            if bytes.is_empty() || p.thread == thread {
                continue;
            }
            let ordered = self.clocks[thread][p.thread] >= p.clock[p.thread];
            if !ordered && self.conflict(p.thread, before, (a, s), thread, op, (address, size)) {
                races.push(Pair { earlier: i, bytes });
            }
        }
        let observed = match op {
            Op::Atomic(_, scope, _) if op.reads_atomically() => {
                self.observed(thread, scope, address, size)
            }
            Op::Atomic(..) | Op::Read | Op::Write => None,
        };
        let clock = self.clocks[thread].clone();
        let what = What::Access {
            op,
            address,
            size,
            site,
            observed,
        };
        self.past.push(Past {
            thread,
            what,
            clock,
        });
        if let Op::Atomic(_, scope, order) = op
            && order.acquires()
            && op.reads_atomically()
        {
            self.acquire(thread, scope, Some((address, size)));
        }
        races
    }

    fn conflict(
        &self,
        ta: Thread,
        a: Op,
        at_a: (usize, usize),
        tb: Thread,
        b: Op,
        at_b: (usize, usize),
    ) -> bool {
        if !a.modifies() && !b.modifies() {
            return false;
        }
        match (a.as_raced(), b.as_raced()) {
            (Op::Atomic(_, sa, _), Op::Atomic(_, sb, _)) => {
                at_a != at_b || !self.includes(sa, ta, tb) || !self.includes(sb, tb, ta)
            }
            _ => true,
        }
    }

    /// Whether access `i` happens before access `k`.
    pub fn before(&self, i: usize, k: usize) -> bool {
        let (a, b) = (&self.past[i], &self.past[k]);
        i != k && b.clock[a.thread] >= a.clock[a.thread]
    }

    pub fn named(&self, i: usize) -> Named {
        let p = &self.past[i];
        let (launch, block, tid) = self.machine.threads[p.thread];
        let What::Access { op, site, .. } = p.what else {
            panic!("{i} is not an access")
        };
        Named {
            launch,
            block,
            tid,
            thread: p.thread,
            op,
            site,
        }
    }
}
