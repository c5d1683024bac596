//! Bytes on which the program says that races are intended.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Ranges by their first byte; they may overlap.
#[derive(Debug, Default)]
pub(crate) struct Benign {
    ranges: BTreeMap<usize, usize>,
    /// The longest range.
    longest: usize,
}

impl Benign {
    pub(crate) fn add(&mut self, address: usize, size: usize) {
        let known = self.ranges.entry(address).or_default();
        *known = size.max(*known);
        self.longest = self.longest.max(size);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// True if a range holds the byte.
    pub(crate) fn holds(&self, byte: usize) -> bool {
        let first = (byte + 1).saturating_sub(self.longest);
        let near = self.ranges.range(first..=byte);
        near.into_iter().any(|(start, size)| byte - start < *size)
    }

    /// Removes the ranges that begin in `bytes`, whose memory was freed.
    pub(crate) fn forget(&mut self, bytes: Range<usize>) {
        if !self.ranges.is_empty() {
            self.ranges.retain(|start, _| !bytes.contains(start));
        }
    }

    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
        self.longest = 0;
    }
}

/// The ranges of global memory.
#[derive(Debug, Default)]
pub(crate) struct GlobalBenign {
    /// False while there were none: then no lock is taken.
    any: AtomicBool,
    ranges: RwLock<Benign>,
}

impl GlobalBenign {
    /// False if there are none.
    pub(crate) fn has_some(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    pub(crate) fn ranges(&self) -> RwLockReadGuard<'_, Benign> {
        self.ranges.read()
    }

    pub(crate) fn change(&self) -> RwLockWriteGuard<'_, Benign> {
        self.any.store(true, Ordering::Release);
        self.ranges.write()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_held_by_the_ranges_that_were_added() {
        let mut benign = Benign::default();
        assert!(!benign.holds(0));
        benign.add(100, 4);
        benign.add(200, 100);
        benign.add(210, 1);
        benign.add(100, 2);
        for (byte, held) in [(99, false), (100, true), (103, true), (104, false)] {
            assert_eq!(benign.holds(byte), held, "{byte}");
        }
        assert!(benign.holds(299) && !benign.holds(300));
        benign.forget(150..250);
        assert!(!benign.holds(210) && benign.holds(102));
        benign.clear();
        assert!(!benign.holds(102));
    }
}
