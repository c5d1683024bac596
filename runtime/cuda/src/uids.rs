//! Which launch and which block a number in a shadow word is of.

use std::collections::BTreeMap;

use gpurace_abi::device::{Found, UIDS, UNORDERED};

/// Launches whose uids are kept.
const RECENT: usize = 1 << 16;

/// The uids of blocks that have been given out since shadow was last empty.
#[derive(Debug, Default)]
pub struct Uids {
    given: u64,
    /// The launches that were checked last, and copies that made records, since then, by number: the first uid, and blocks.
    recent: BTreeMap<u64, (u64, u64)>,
    /// Launches up to this number are not in `recent`, though they may have been checked.
    forgotten: u64,
    /// Launches that a later one may overlap and was not told of, and races with launches that are not known any more.
    pub untold: u64,
}

impl Uids {
    /// Whether there are so many left.
    pub fn has(&self, blocks: u64) -> bool {
        self.given + blocks <= UIDS
    }

    /// Gives so many out.
    pub fn give(&mut self, blocks: u64) {
        self.given += blocks;
    }

    /// Begins anew: all that was before is before all to come, and shadow is empty.
    pub fn begin_anew(&mut self) {
        self.given = 0;
        self.forgotten = self.recent.keys().next_back().copied().unwrap_or(self.forgotten);
        self.recent.clear();
    }

    /// The launch or copy of this number has the last `blocks` that were given out; gives the first of them.
    pub fn remember(&mut self, number: u64, blocks: u64) -> u64 {
        if self.recent.len() == RECENT {
            self.forgotten = self.recent.pop_first().map_or(self.forgotten, |(oldest, _)| oldest);
        }
        let first = self.given - blocks;
        // No word holds a uid beyond.
        self.recent.insert(number, (first, blocks.min(UIDS)));
        first
    }

    /// The uids of launches and copies with these numbers, as [`gpurace_abi::device::LaunchCell::unordered`] has them.
    pub fn unordered(&mut self, numbers: &[u64]) -> [u64; UNORDERED] {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for number in numbers {
            if *number <= self.forgotten {
                self.untold += 1;
                continue;
            }
            // Those that are not there ran bare, or are copies of memory without shadow.
            let Some(&(first_uid, blocks)) = self.recent.get(number) else { continue };
            let is_full = ranges.len() == UNORDERED;
            match ranges.last_mut() {
                Some((first, count)) if *first + *count == first_uid => *count += blocks,
                _ if is_full => self.untold += 1,
                _ => ranges.push((first_uid, blocks)),
            }
        }
        std::array::from_fn(|at| ranges.get(at).map_or(0, |(first, count)| first << 32 | count))
    }

    /// Says of a race between launches which the earlier one is; counts it where that is not known any more, and gives nothing.
    pub fn resolved(&mut self, mut found: Found) -> Option<Found> {
        if found.earlier_launch != u64::MAX {
            return Some(found);
        }
        let uid = found.earlier_block;
        let mut launches = self.recent.iter();
        let of = launches.find(|&(_, &(first_uid, blocks))| (first_uid..first_uid + blocks).contains(&uid));
        let Some((&number, &(first_uid, _))) = of else {
            self.untold += 1;
            return None;
        };
        (found.earlier_launch, found.earlier_block) = (number, uid - first_uid);
        Some(found)
    }
}
