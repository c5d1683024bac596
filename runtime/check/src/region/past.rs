//! A region's records when nothing accesses it: looked up, taken out and let go of.

use std::sync::atomic::{AtomicU64, Ordering};

use super::records::{List, RANGES, Ranges, Region, WORDS};
use crate::checker::Inner;
use crate::pool::Pool;
use crate::word::{self, GRANULE};

/// Whether a region has records for its words together.
pub(crate) fn is_closed(w: u64) -> bool {
    matches!(Region::unpack(w), Region::Alone(_) | Region::Ranges(_) | Region::Busy)
}

/// The records of a word that its region has for it: none where it has its own. No block may
/// be running.
pub(crate) fn records_of(w: u64, address: usize) -> impl Iterator<Item = u64> {
    let i = (address / GRANULE % WORDS) as u32;
    List::of(&Region::unpack(w))
        .ranges
        .into_iter()
        .filter(move |r| r.mask >> i & 1 != 0)
        .map(move |r| r.of(i))
}

impl Inner {
    /// Lets go of what a region's word points to, which nobody else has.
    pub(crate) fn drop_region(&self, w: u64) {
        if let Region::Ranges(at) = Region::unpack(w) {
            self.ranges.give_back(at);
        }
    }

    /// Takes these words out of a region's records: their history is over.
    pub(crate) fn forget_in_region(&self, region: &AtomicU64, words: u32) {
        loop {
            let w = region.load(Ordering::Acquire);
            let at = Region::unpack(w);
            match at {
                Region::Empty | Region::Open => return,
                Region::Busy => std::thread::yield_now(),
                Region::Alone(_) | Region::Ranges(_) => {
                    let busy =
                        region.compare_exchange(w, word::BUSY_WORD, Ordering::AcqRel, Ordering::Acquire);
                    if busy.is_err() {
                        continue;
                    }
                    let mut list = List::of(&at);
                    list.ranges.iter_mut().for_each(|r| r.mask &= !words);
                    list.retain(|r| r.mask != 0);
                    let next = if list.count == 0 {
                        self.drop_region(w);
                        0
                    } else {
                        let at = match at {
                            Region::Ranges(at) => at,
                            _ => Pool::new(self.ranges.clone()).take(),
                        };
                        // SAFETY: the region's own, which is busy, or a new piece.
                        unsafe { at.write(Ranges(list.ranges)) };
                        RANGES | at as u64
                    };
                    return region.store(next, Ordering::Release);
                }
            }
        }
    }
}
