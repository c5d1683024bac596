//! One execution, the orders of the model in it, and its races.
//!
//! Sets of events are bit sets, so an execution has at most 64 events. Names of sections are those of the
//! PTX ISA.

use crate::program::Scope;
use crate::walk::{Code, Event, Kind};

/// What is taken for order, and what for a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Two volatile accesses are morally strong, and an observed volatile write precedes what follows its
    /// observer. Without this, volatile accesses order by fences alone.
    pub volatile_is_strong: bool,
    /// A barrier of the block acquires what its threads have read by strong reads, as an acquire fence of
    /// device scope would.
    pub barriers_acquire: bool,
    /// `fence.sc` operations synchronise in Fence-SC order.
    pub full_fences: bool,
    /// Of Fence-SC order, what a read shows: a `fence.sc` comes before a write by barriers alone, the writer has made
    /// one itself, and the write was observed by a thread that makes a `fence.sc` afterwards.
    pub observed_fences: bool,
    /// A write that was observed precedes what follows its observer, though nothing was released.
    pub observation: bool,
}

impl Rules {
    /// The model as PTX's text has it.
    pub const PTX: Self = Self {
        volatile_is_strong: true,
        barriers_acquire: false,
        full_fences: true,
        observed_fences: false,
        observation: true,
    };
    /// What gpurace says that it takes for a race, by default.
    pub const GPURACE: Self = Self {
        volatile_is_strong: false,
        barriers_acquire: true,
        full_fences: false,
        observed_fences: true,
        observation: true,
    };
    /// The same with `volatile=relaxed`.
    pub const VOLATILE_RELAXED: Self = Self { volatile_is_strong: true, ..Self::GPURACE };
}

/// The write that a read returns: an event, or the first value of the location.
pub type Source = Option<usize>;

/// Events, and what each read returns.
#[derive(Clone, Debug)]
pub struct Execution<'a> {
    /// The code of its program.
    pub code: &'a Code,
    /// What happened.
    pub events: Vec<Event>,
    /// The events of each thread in program order. A meeting is one event of all its threads.
    pub threads: Vec<Vec<usize>>,
    /// For each event that reads, what it returns.
    pub from: Vec<Source>,
}

/// Two accesses that race, and their sites, the smaller one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Race {
    /// The smaller event.
    pub first: usize,
    /// The larger one.
    pub second: usize,
    /// Their instructions, the smaller one first.
    pub sites: (usize, usize),
}

/// A relation: for each event, the set of those that follow it.
pub type Relation = Vec<u64>;

/// The orders of an execution that do not rest on coherence.
#[derive(Clone, Debug)]
pub struct Orders {
    /// Program order and synchronisation, with all that follows from them ("Base causality order").
    pub base: Relation,
    /// For each event, the reads that it precedes in observation order.
    pub observed: Relation,
    /// "Causality order".
    pub causality: Relation,
}

/// The elements of a bit set.
pub fn elements(set: u64) -> impl Iterator<Item = usize> {
    (0..64).filter(move |i| set >> i & 1 != 0)
}

/// Adds what follows by transitivity.
pub fn close(relation: &mut Relation) {
    for k in 0..relation.len() {
        let through = relation[k];
        for row in relation.iter_mut() {
            if *row >> k & 1 != 0 {
                *row |= through;
            }
        }
    }
}

/// True if something precedes itself in a closed relation.
pub fn is_cyclic(closed: &Relation) -> bool {
    closed.iter().enumerate().any(|(i, row)| row >> i & 1 != 0)
}

impl Execution<'_> {
    fn reaches(&self, scope: Scope, from: usize, to: usize) -> bool {
        scope != Scope::Cta || self.code.blocks[from] == self.code.blocks[to]
    }

    fn mutual(&self, a: (usize, Option<Scope>), b: (usize, Option<Scope>)) -> bool {
        a.0 == b.0
            || matches!((a.1, b.1), (Some(sa), Some(sb))
                if self.reaches(sa, a.0, b.0) && self.reaches(sb, b.0, a.0))
    }

    /// "Morally strong operations". Two accesses are of one location: all have one size.
    pub fn morally_strong(&self, a: usize, b: usize) -> bool {
        let (a, b) = (&self.events[a], &self.events[b]);
        self.mutual((a.thread, a.scope), (b.thread, b.scope))
    }

    fn reduces(&self, event: usize) -> bool {
        matches!(self.events[event].kind, Kind::Access { reduces: true, .. })
    }

    fn is_volatile(&self, event: usize) -> bool {
        matches!(self.events[event].kind, Kind::Access { volatile: true, .. })
    }

    /// "Observation Order". A row is the set of the reads that a write precedes.
    fn observation(&self) -> Relation {
        let mut observed = vec![0; self.events.len()];
        for read in 0..self.events.len() {
            let mut at = read;
            let mut seen = 0u64;
            while let Some(write) = self.from[at].filter(|&w| self.morally_strong(w, at)) {
                if seen >> write & 1 != 0 {
                    // Atomics that read from each other: no consistent execution.
                    break;
                }
                seen |= 1 << write;
                observed[write] |= 1 << read;
                // The chain goes on through read-modify-writes.
                if self.events[write].read().is_none() {
                    break;
                }
                at = write;
            }
        }
        observed
    }

    /// The first operations of the release patterns on the location of `write` whose strong write it is
    /// ("Release and Acquire Patterns"): thread and scope with each.
    fn releases(&self, write: usize) -> Vec<usize> {
        let event = &self.events[write];
        if event.scope.is_none() {
            return Vec::new();
        }
        let thread = &self.threads[event.thread];
        let upto = thread.iter().position(|&e| e == write).expect("an event of its thread");
        let begins = |&e: &usize| {
            let first = &self.events[e];
            first.releases && (matches!(first.kind, Kind::Fence { .. }) || first.at() == event.at())
        };
        thread[..=upto].iter().copied().filter(begins).collect()
    }

    /// The last operations of the acquire patterns whose strong read this is, each with its scope. A
    /// meeting stands for the acquire fence that a barrier may have.
    fn acquires(&self, read: usize, rules: Rules) -> Vec<(usize, Scope)> {
        let event = &self.events[read];
        if event.scope.is_none() || self.reduces(read) {
            return Vec::new();
        }
        let thread = &self.threads[event.thread];
        let from = thread.iter().position(|&e| e == read).expect("an event of its thread");
        let ends = |&e: &usize| {
            let last = &self.events[e];
            match last.kind {
                Kind::Fence { .. } => Some((e, last.scope?)),
                Kind::Meet { meeting } => {
                    (rules.barriers_acquire && self.code.of_block[meeting]).then_some((e, Scope::Gpu))
                }
                Kind::Access { .. } => (last.acquires && last.at() == event.at()).then_some((e, last.scope?)),
            }
        };
        thread[from..].iter().filter_map(ends).collect()
    }

    /// The pairs of [`Rules::observed_fences`]. `steps`: the next events of each event in program order.
    fn observed_fences(&self, steps: &Relation, observed: &Relation, rules: Rules) -> Vec<(usize, usize)> {
        let mut local = steps.clone();
        close(&mut local);
        let is_full = |&e: &usize| matches!(self.events[e].kind, Kind::Fence { full: true });
        let mut pairs = Vec::new();
        for (write, &reads) in observed.iter().enumerate() {
            let before = (0..self.events.len()).filter(|&e| local[e] >> write & 1 != 0).filter(is_full);
            let before: Vec<usize> = before.collect();
            let writer = self.events[write].thread;
            if !before.iter().any(|&e| self.events[e].thread == writer) {
                continue;
            }
            for read in elements(reads) {
                let to = self.events[read].thread;
                let ends = |&(e, _): &(usize, Scope)| {
                    is_full(&e) || matches!(self.events[e].kind, Kind::Meet { .. })
                };
                for (last, scope) in self.acquires(read, rules).into_iter().filter(ends) {
                    let first = before.iter().map(|&first| (first, &self.events[first]));
                    let strong = first.filter(|(_, f)| self.mutual((f.thread, f.scope), (to, Some(scope))));
                    pairs.extend(strong.map(|(first, _)| (first, last)));
                }
            }
        }
        pairs
    }

    /// The orders that follow from what each read returns and from `full`, the Fence-SC order: pairs of
    /// fences.
    pub fn orders(&self, rules: Rules, full: &[(usize, usize)]) -> Orders {
        let observed = self.observation();
        let mut base = vec![0; self.events.len()];
        for thread in &self.threads {
            for pair in thread.windows(2) {
                base[pair[0]] |= 1 << pair[1];
            }
        }
        let observed_fences =
            if rules.observed_fences { self.observed_fences(&base, &observed, rules) } else { Vec::new() };
        for &(a, b) in full.iter().filter(|_| rules.full_fences).chain(&observed_fences) {
            base[a] |= 1 << b;
        }
        for (write, &reads) in observed.iter().enumerate().filter(|(_, reads)| **reads != 0) {
            let releases = self.releases(write);
            for read in elements(reads).filter(|_| !releases.is_empty()) {
                // The thread of a meeting's fence is the reader's.
                let to = self.events[read].thread;
                for (last, scope) in self.acquires(read, rules) {
                    for &first in &releases {
                        let f = &self.events[first];
                        if self.mutual((f.thread, f.scope), (to, Some(scope))) {
                            base[first] |= 1 << last;
                        }
                    }
                }
            }
        }
        close(&mut base);
        let counts = |x: usize| rules.observation && (rules.volatile_is_strong || !self.is_volatile(x));
        let causality = (0..base.len())
            .map(|x| {
                elements(if counts(x) { observed[x] } else { 0 })
                    .fold(base[x], |row, z| row | base[z] & self.same_place(x))
            })
            .collect();
        Orders { base, observed, causality }
    }

    /// The accesses of the location of an event.
    pub fn same_place(&self, event: usize) -> u64 {
        let at = self.events[event].at();
        let same = self.events.iter().enumerate().filter(|(_, e)| at.is_some() && e.at() == at);
        same.fold(0, |set, (i, _)| set | 1 << i)
    }

    /// The pairs in a data race ("Conflict and Data-races").
    pub fn races(&self, orders: &Orders, rules: Rules) -> Vec<Race> {
        let mut races = Vec::new();
        for (a, x) in self.events.iter().enumerate() {
            if x.at().is_none() {
                continue;
            }
            for b in elements(self.same_place(a)).filter(|&b| b > a) {
                let y = &self.events[b];
                let strong = self.morally_strong(a, b)
                    && (rules.volatile_is_strong
                        || x.thread == y.thread
                        || !(self.is_volatile(a) && self.is_volatile(b)));
                let conflict = x.written().is_some() || y.written().is_some();
                let ordered = orders.causality[a] >> b & 1 != 0 || orders.causality[b] >> a & 1 != 0;
                if conflict && !strong && !ordered {
                    let sites = (x.site.min(y.site), x.site.max(y.site));
                    races.push(Race { first: a, second: b, sites });
                }
            }
        }
        races
    }

    /// The pairs of `fence.sc` operations that Fence-SC order relates.
    pub fn full_fences(&self) -> Vec<(usize, usize)> {
        let fences: Vec<usize> = (0..self.events.len())
            .filter(|&e| matches!(self.events[e].kind, Kind::Fence { full: true }))
            .collect();
        let mut pairs = Vec::new();
        for (i, &a) in fences.iter().enumerate() {
            for &b in &fences[i + 1..] {
                if self.events[a].thread != self.events[b].thread && self.morally_strong(a, b) {
                    pairs.push((a, b));
                }
            }
        }
        pairs
    }
}
