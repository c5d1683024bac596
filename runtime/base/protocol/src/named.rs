//! Named barriers, `bar.sync id, n`: the sets of warps that wait for each other.
//!
//! Whoever makes [`KnownNamed`] shows that all threads which ever arrive at one barrier are in one set, and that the
//! barrier waits for as many threads as the set has. So each phase of it needs one arrival of every thread of the set.

use std::collections::BTreeMap;

use crate::protocol::Named;

/// The threads of a warp.
pub const WARP: u32 = 32;

/// Sets of `size` threads with consecutive linear indices in their block, from a first index on. They are whole warps.
/// Threads before the first are in no set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WarpSets {
    size: u32,
    first: u32,
}

impl WarpSets {
    /// All threads of the block are one set.
    pub const BLOCK: Self = Self { size: 1024, first: 0 };

    /// `None` if these are no whole warps.
    pub const fn new(first: u32, size: u32) -> Option<Self> {
        let whole = size > 0 && size.is_multiple_of(WARP) && first.is_multiple_of(WARP);
        if whole && size <= Self::BLOCK.size { Some(Self { size, first }) } else { None }
    }

    /// The threads of a set.
    pub const fn size(self) -> u32 {
        self.size
    }

    /// The linear index of the first thread that is in a set.
    pub const fn first(self) -> u32 {
        self.first
    }

    /// True if two threads that are in one of these sets are also in one of the `wider` sets.
    pub fn within(self, wider: Self) -> bool {
        wider == Self::BLOCK
            || self.first >= wider.first
                && wider.size.is_multiple_of(self.size)
                && (self.first - wider.first).is_multiple_of(self.size)
    }
}

/// What is known of the named barriers of a kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownNamed {
    /// For each arrival that proofs tell from `__syncthreads`: the sets whose threads wait for each other there, if
    /// known.
    apart: BTreeMap<Named, Option<WarpSets>>,
}

impl KnownNamed {
    /// Adds an arrival at a barrier that is not that of the block.
    pub fn insert(&mut self, sync: Named, sets: Option<WarpSets>) {
        self.apart.insert(sync, sets);
    }

    /// True if the barrier is not that of the block.
    pub fn is_apart(&self, sync: Named) -> bool {
        self.apart.contains_key(&sync)
    }

    /// The sets of threads that wait for each other there.
    pub fn sets(&self, sync: Named) -> Option<WarpSets> {
        self.apart.get(&sync).copied().flatten()
    }

    /// All sets, small ones first.
    pub fn all_sets(&self) -> Vec<WarpSets> {
        let mut all: Vec<_> = self.apart.values().copied().flatten().collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_within_wider_ones() {
        let sets = |first, size| WarpSets::new(first, size).unwrap();
        assert!(sets(0, 64).within(sets(0, 128)) && sets(32, 96).within(WarpSets::BLOCK));
        assert!(sets(64, 32).within(sets(32, 96)) && sets(128, 128).within(sets(0, 128)));
        assert!(!sets(0, 128).within(sets(0, 64)) && !sets(0, 32).within(sets(32, 32)));
        // A set from thread 64 on is in two of the wider ones.
        assert!(!sets(64, 128).within(sets(0, 128)) && !sets(0, 96).within(sets(0, 128)));
        assert_eq!((WarpSets::new(0, 48), WarpSets::new(16, 32), WarpSets::new(0, 0)), (None, None, None));
    }
}
