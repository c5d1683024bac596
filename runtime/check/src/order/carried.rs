//! What atomics carry from one thread to another, and how far.

use crate::model::entry::COPIES;
use crate::order::vector::Clocks;

/// How far an operation reaches, by its scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// The threads of its block.
    Block,
    /// The threads of its cluster, in a launch with clusters.
    Cluster,
    /// All threads: device and system scope.
    Launch,
}

/// The thread of an atomic operation, and how far the operation reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// First uid of the thread's block.
    pub home: u64,
    /// Linear index in the block.
    pub thread: u32,
    /// The block's cluster, by the first uid of its first block; `None` in a launch without
    /// clusters.
    pub cluster: Option<u64>,
    /// How far the operation reaches.
    pub reach: Reach,
}

/// How far the acquires of a launch reach at least. What they cannot tell apart is carried once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Narrowest {
    /// The threads of a block.
    #[default]
    Block,
    /// The threads of a block, in a launch with clusters.
    BlockOfCluster,
    /// All threads.
    Launch,
}

impl Head {
    /// True if one thread made both operations, or each one's scope includes the other's thread.
    pub fn morally_strong(self, other: Head) -> bool {
        match self.reach.min(other.reach) {
            Reach::Launch => true,
            Reach::Cluster if self.cluster.is_some() && self.cluster == other.cluster => true,
            Reach::Cluster | Reach::Block => self.home == other.home,
        }
    }
}

/// The bytes of an atomic operation: the first one, and how many. Operations of different sizes
/// never make a release or acquire pattern together.
pub type Location = (usize, u32);

/// What a release publishes, or an acquire learns.
#[derive(Clone, Debug, Default)]
pub struct Carried {
    /// To all threads.
    pub wide: Clocks,
    /// To threads of one cluster; empty in a launch without clusters.
    pub cluster: Clocks,
    /// To threads of one block.
    pub block: Clocks,
    /// The block's uid and the thread that release all of it, if one does.
    pub by: Option<(u64, u32)>,
    /// What only a `fence.sc` learns. See [`crate::order::block_order`].
    pub full: Option<Box<Carried>>,
}

impl Carried {
    /// True if it carries nothing.
    pub fn is_empty(&self) -> bool {
        self.wide.is_empty() && self.block.is_empty() && self.cluster.is_empty() && self.full.is_none()
    }

    /// Replaces what it carries to all threads within `reach`. `narrowest`: the least reach of any acquire of it.
    pub fn set(&mut self, released: Clocks, reach: Reach, narrowest: Narrowest) {
        if reach == Reach::Launch {
            self.wide = released.clone();
            if narrowest == Narrowest::Launch {
                return;
            }
        }
        if narrowest == Narrowest::BlockOfCluster && reach >= Reach::Cluster {
            self.cluster = released.clone();
        }
        self.block = released;
    }

    /// What it carries to threads at this distance.
    pub fn of(&self, reach: Reach) -> Clocks {
        match reach {
            Reach::Block => self.block.clone(),
            Reach::Cluster => self.cluster.clone(),
            Reach::Launch => self.wide.clone(),
        }
    }

    /// Adds what `other` carries.
    pub fn join(&mut self, other: &Carried) {
        let one = self.wide.same(&self.block) && other.wide.same(&other.block);
        self.by = self.by.filter(|_| self.by == other.by);
        self.wide.join(&other.wide);
        self.cluster.join(&other.cluster);
        if one {
            self.block.clone_from(&self.wide);
        } else {
            self.block.join(&other.block);
        }
        if let Some(full) = &other.full {
            self.full.get_or_insert_default().join(full);
        }
    }

    /// Forgets that a thread's asynchronous copies are done. `home`: the first uid of its block.
    pub fn forget_copies(&mut self, home: u64, thread: u32) {
        for clocks in [&mut self.wide, &mut self.cluster, &mut self.block] {
            clocks.forget_thread(home | COPIES, thread);
        }
        if let Some(full) = &mut self.full {
            full.forget_copies(home, thread);
        }
    }

    /// Adds to `clocks` what an acquire with this reach learns. `full`: it is a `fence.sc`.
    pub fn teach_fence(&self, clocks: &mut Clocks, reach: Reach, full: bool) {
        self.teach(clocks, reach);
        if let Some(more) = self.full.as_ref().filter(|_| full) {
            more.teach(clocks, reach);
        }
    }

    /// Adds to `clocks` what an acquire other than a `fence.sc` learns with this reach.
    pub fn teach(&self, clocks: &mut Clocks, reach: Reach) {
        clocks.join(&self.block);
        if reach >= Reach::Cluster {
            clocks.join(&self.cluster);
        }
        if reach == Reach::Launch && !self.wide.same(&self.block) {
            clocks.join(&self.wide);
        }
    }

    /// True if an acquire other than a `fence.sc` learns all that it carries with this reach.
    pub fn is_within(&self, reach: Reach) -> bool {
        let is_in_block = |clocks: &Clocks| clocks.is_empty() || clocks.same(&self.block);
        let is_wide = !is_in_block(&self.wide) || !is_in_block(&self.cluster);
        self.full.is_none() && (reach == Reach::Launch || !is_wide)
    }

    /// True if both are known to carry the same.
    pub fn same(&self, other: &Carried) -> bool {
        let same_full = match (&self.full, &other.full) {
            (None, None) => true,
            (Some(one), Some(other)) => one.same(other),
            _ => false,
        };
        self.wide.same(&other.wide)
            && self.block.same(&other.block)
            && self.cluster.same(&other.cluster)
            && same_full
    }
}

/// What a thread's relaxed reads of one location have seen. A later fence may acquire it.
#[derive(Clone, Debug)]
pub struct Pending {
    /// The location.
    pub location: Location,
    /// What the reads have seen.
    pub seen: Carried,
}

impl Pending {
    /// Adds to a list what a read has seen.
    pub fn add(list: &mut Vec<Pending>, location: Location, seen: Carried) {
        match list.iter_mut().find(|p| p.location == location) {
            Some(p) if p.seen.same(&seen) => {}
            Some(p) => p.seen.join(&seen),
            None => list.push(Pending { location, seen }),
        }
    }
}
