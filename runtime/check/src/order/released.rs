//! What the value of an atomic location carries: who may have written it, and what a thread that acquires it learns.
//! The value of a grid's barrier has phases.

use smallvec::SmallVec;

use crate::order::carried::{Carried, Head};
use crate::order::vector::Clocks;

/// Most writers at once of one location that are told apart.
const MOST_HEADS: usize = 16;

/// A value of a location: who may have written it, and what an acquire of it learns.
#[derive(Clone, Debug, Default)]
pub(super) struct Released {
    /// The writers, the newest last. There are several if their writes were under way at once:
    /// then it is not known which came last.
    pub(super) heads: SmallVec<[Head; 1]>,
    /// What any thread learns.
    wide: Clocks,
    /// What threads of a releasing block learn, by the block's first uid. Blocks that have ended
    /// are removed.
    blocks: Vec<(u64, Clocks)>,
    /// What threads of a releasing block's cluster learn, by [`Head::cluster`].
    clusters: Vec<(u64, Clocks)>,
    /// What a `fence.sc` learns beside that. It has no heads.
    full: Option<Box<Released>>,
}

impl Released {
    /// True if an operation is morally strong with a write that may be the newest.
    pub(super) fn is_strong_with(&self, other: Head) -> bool {
        self.heads.iter().any(|head| head.morally_strong(other))
    }

    /// Adds a writer; the only one if its write is `alone`. Writers that differ only by the thread
    /// are kept once.
    pub(super) fn set_head(&mut self, writer: Head, alone: bool) {
        let alike = |head: &Head| Head { thread: writer.thread, ..*head } == writer;
        self.heads.retain(|head| !alone && !alike(head));
        if self.heads.len() >= MOST_HEADS {
            self.heads.remove(0);
        }
        self.heads.push(writer);
    }

    /// Notes that the value may also be `other`.
    pub(super) fn join(&mut self, other: &Released) {
        self.wide.join(&other.wide);
        for (home, block) in &other.blocks {
            self.publish(*home, None, &Carried { block: block.clone(), ..Carried::default() });
        }
        for (id, cluster) in &other.clusters {
            self.publish(0, Some(*id), &Carried { cluster: cluster.clone(), ..Carried::default() });
        }
        if let Some(full) = &other.full {
            self.full.get_or_insert_default().join(full);
        }
        let room = MOST_HEADS.saturating_sub(self.heads.len());
        self.heads.insert_many(0, other.heads.iter().copied().take(room));
    }

    /// Adds what a block of a cluster releases.
    pub(super) fn publish(&mut self, home: u64, cluster: Option<u64>, what: &Carried) {
        if let Some(full) = &what.full {
            self.full.get_or_insert_default().publish(home, cluster, full);
        }
        if let Some(cluster) = cluster.filter(|_| !what.cluster.is_empty()) {
            match self.clusters.iter_mut().find(|c| c.0 == cluster) {
                Some(c) => c.1.learn(&what.cluster, what.by),
                None => self.clusters.push((cluster, what.cluster.clone())),
            }
        }
        if what.wide.same(&what.block)
            && let [(h, clocks)] = self.blocks.as_mut_slice()
            && *h == home
            && self.wide.same(clocks)
        {
            // One block alone: both stay one object.
            self.wide.learn(&what.wide, what.by);
            clocks.clone_from(&self.wide);
            return;
        }
        self.wide.learn(&what.wide, what.by);
        if what.block.is_empty() {
            return;
        }
        match self.blocks.iter_mut().find(|b| b.0 == home) {
            Some(b) => b.1.learn(&what.block, what.by),
            // Shares the tree: later joins need not compare two equal ones.
            None if self.wide.same(&what.wide) && what.wide.same(&what.block) => {
                self.blocks.push((home, self.wide.clone()));
            }
            None => self.blocks.push((home, what.block.clone())),
        }
    }

    /// Adds to `into` what a reader learns.
    pub(super) fn read(&self, reader: Head, into: &mut Carried) {
        into.wide.join(&self.wide);
        if let Some(b) = self.blocks.iter().find(|b| b.0 == reader.home) {
            into.block.join(&b.1);
        }
        if let Some(c) = self.clusters.iter().find(|c| Some(c.0) == reader.cluster) {
            into.cluster.join(&c.1);
        }
        if let Some(full) = &self.full {
            let mut learnt = Carried::default();
            full.read(reader, &mut learnt);
            if !learnt.is_empty() {
                into.full.get_or_insert_default().join(&learnt);
            }
        }
    }

    /// Forgets what was released for the threads of a block and of its cluster.
    pub(super) fn forget(&mut self, home: u64, cluster: Option<u64>) {
        self.blocks.retain(|b| b.0 != home);
        self.clusters.retain(|c| Some(c.0) != cluster);
        if let Some(full) = &mut self.full {
            full.forget(home, cluster);
        }
    }
}

/// The phases of the barrier of a grid. Its loads wait until all blocks have arrived. When a block looks, others may
/// have arrived for the next phase already, and their arrivals change the same word. What they did before orders
/// nothing: the block goes on whether or not it sees them.
#[derive(Debug)]
pub(super) struct Phases {
    /// Checked blocks of the grid: a phase has so many arrivals that are known.
    pub(super) blocks: u64,
    /// Arrivals in the current phase.
    pub(super) arrived: u64,
    /// The value when the last phase was complete.
    pub(super) complete: Released,
}

impl Phases {
    /// Counts an arrival that makes this value.
    pub(super) fn arrive(&mut self, value: &Released) {
        self.arrived += 1;
        if self.arrived == self.blocks {
            self.arrived = 0;
            self.complete = value.clone();
        }
    }
}
