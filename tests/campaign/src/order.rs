//! Which accesses race: happens-before by its definition, over all accesses, byte by byte.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Act {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Reads and writes in one step, at the device's scope.
    Atomic,
}

/// Two sites, the lower one first.
pub type Pair = (usize, usize);

/// An access of one thread.
#[derive(Clone, Debug)]
struct Access {
    block: u32,
    thread: u32,
    /// How many synchronisations the thread had passed.
    clock: u32,
    /// What the thread knew of others then: for each thread of its block, how many it had passed.
    known: Rc<Vec<u32>>,
    act: Act,
    site: usize,
}

impl Access {
    fn races(&self, later: &Self) -> bool {
        let conflict = (self.act != Act::Read || later.act != Act::Read)
            && !(self.act == Act::Atomic && later.act == Act::Atomic);
        let other = (self.block, self.thread) != (later.block, later.thread);
        let ordered = self.block == later.block && later.known[self.thread as usize] > self.clock;
        conflict && other && !ordered
    }
}

/// The threads of one block, and how they are ordered.
pub struct Clocks {
    block: u32,
    own: Vec<u32>,
    known: Vec<Rc<Vec<u32>>>,
}

impl Clocks {
    /// The threads of a block that begins.
    pub fn new(block: u32, threads: usize) -> Self {
        let known = Rc::new(vec![0; threads]);
        Self { block, own: vec![0; threads], known: std::iter::repeat_n(known, threads).collect() }
    }

    /// These threads wait for each other.
    pub fn meet(&mut self, threads: &[usize]) {
        let mut all = vec![0; self.own.len()];
        let mut last: Option<&Rc<Vec<u32>>> = None;
        for &t in threads {
            self.own[t] += 1;
            let known = &self.known[t];
            if last.is_none_or(|last| !Rc::ptr_eq(last, known)) {
                all.iter_mut().zip(known.iter()).for_each(|(a, &k)| *a = (*a).max(k));
                last = Some(known);
            }
        }
        threads.iter().for_each(|&t| all[t] = self.own[t]);
        let all = Rc::new(all);
        threads.iter().for_each(|&t| self.known[t] = Rc::clone(&all));
    }
}

/// The races of a launch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Races {
    /// All pairs of sites with a race.
    pub pairs: BTreeSet<Pair>,
    /// For each byte with races, the pairs that race there; each such set once.
    pub bytes: BTreeSet<BTreeSet<Pair>>,
}

/// All accesses of a launch.
#[derive(Default)]
pub struct History {
    /// For each array (owner of the memory, number) the accesses of each of its bytes.
    bytes: BTreeMap<(u32, usize), Vec<Vec<u32>>>,
    accesses: Vec<Access>,
}

impl History {
    /// Adds an access to bytes of an array. `memory` has the owner, which tells the blocks' own memories apart,
    /// and the array's number.
    pub fn add(
        &mut self,
        clocks: &Clocks,
        thread: usize,
        memory: (u32, usize),
        bytes: std::ops::Range<usize>,
        act: Act,
        site: usize,
    ) {
        let access = Access {
            block: clocks.block,
            thread: thread as u32,
            clock: clocks.own[thread],
            known: Rc::clone(&clocks.known[thread]),
            act,
            site,
        };
        let number = self.accesses.len() as u32;
        self.accesses.push(access);
        let of = self.bytes.entry(memory).or_default();
        of.resize(of.len().max(bytes.end), Vec::new());
        of[bytes].iter_mut().for_each(|byte| byte.push(number));
    }

    /// Number of accesses.
    pub fn len(&self) -> usize {
        self.accesses.len()
    }

    /// True before the first access.
    pub fn is_empty(&self) -> bool {
        self.accesses.is_empty()
    }

    /// Adds the races to those of earlier launches.
    pub fn find(&self, races: &mut Races) {
        let mut last: &[u32] = &[];
        for list in self.bytes.values().flatten() {
            if list == last {
                continue;
            }
            last = list;
            if list.iter().all(|&a| self.accesses[a as usize].act == Act::Read) {
                continue;
            }
            let mut here = BTreeSet::new();
            for (i, &later) in list.iter().enumerate() {
                let later = &self.accesses[later as usize];
                for &earlier in &list[..i] {
                    let earlier = &self.accesses[earlier as usize];
                    if earlier.races(later) {
                        here.insert((earlier.site.min(later.site), earlier.site.max(later.site)));
                    }
                }
            }
            if !here.is_empty() {
                races.pairs.extend(&here);
                races.bytes.insert(here);
            }
        }
    }
}
