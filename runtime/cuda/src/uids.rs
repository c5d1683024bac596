//! Block uids: the launch and the block of each uid in a shadow word.

use std::collections::BTreeMap;

use gpurace_abi::device::{BLOCK_UIDS, FoundRace, UNORDERED_RANGES};

/// Number of launches whose uids are known.
const RECENT: usize = 1 << 16;

/// The uids that were handed out since shadow was last empty.
#[derive(Debug, Default)]
pub struct Uids {
    given: u64,
    /// The latest checked launches, and copies that made records, since then: number, first uid,
    /// and number of blocks.
    recent: BTreeMap<u64, (u64, u64)>,
    /// Launches up to this number may be missing in `recent`.
    forgotten: u64,
    /// Number of launches that a later one may overlap but is not checked against, and of races
    /// with launches that are not known any more.
    pub missed: u64,
}

impl Uids {
    /// True if so many uids are left.
    pub fn has(&self, blocks: u64) -> bool {
        self.given + blocks <= BLOCK_UIDS
    }

    /// Hands out so many uids.
    pub fn give(&mut self, blocks: u64) {
        self.given += blocks;
    }

    /// Begins anew: shadow is empty, and all earlier launches are ordered before all later ones.
    pub fn begin_anew(&mut self) {
        self.given = 0;
        self.forgotten = self.recent.keys().next_back().copied().unwrap_or(self.forgotten);
        self.recent.clear();
    }

    /// Assigns the last `blocks` uids to the launch or copy of this number. Returns the first of
    /// them.
    pub fn remember(&mut self, number: u64, blocks: u64) -> u64 {
        if self.recent.len() == RECENT {
            self.forgotten = self.recent.pop_first().map_or(self.forgotten, |(oldest, _)| oldest);
        }
        let first = self.given - blocks;
        // No shadow word holds a greater uid.
        self.recent.insert(number, (first, blocks.min(BLOCK_UIDS)));
        first
    }

    /// The uids of launches and copies with these numbers, as
    /// [`gpurace_abi::device::LaunchCell::unordered`] has them.
    pub fn unordered(&mut self, numbers: &[u64]) -> [u64; UNORDERED_RANGES] {
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for number in numbers {
            if *number <= self.forgotten {
                self.missed += 1;
                continue;
            }
            // A missing launch ran bare. A missing copy touched no shadow.
            let Some(&(first_uid, blocks)) = self.recent.get(number) else { continue };
            let is_full = ranges.len() == UNORDERED_RANGES;
            match ranges.last_mut() {
                Some((first, count)) if *first + *count == first_uid => *count += blocks,
                _ if is_full => self.missed += 1,
                _ => ranges.push((first_uid, blocks)),
            }
        }
        std::array::from_fn(|at| ranges.get(at).map_or(0, |(first, count)| first << 32 | count))
    }

    /// The race with its earlier launch filled in. `None` if that launch is not known any more: then
    /// the race is counted.
    pub fn resolved(&mut self, mut found: FoundRace) -> Option<FoundRace> {
        if found.earlier_launch != u64::MAX {
            return Some(found);
        }
        let uid = found.earlier_block;
        let mut launches = self.recent.iter();
        let of = launches.find(|&(_, &(first_uid, blocks))| (first_uid..first_uid + blocks).contains(&uid));
        let Some((&number, &(first_uid, _))) = of else {
            self.missed += 1;
            return None;
        };
        (found.earlier_launch, found.earlier_block) = (number, uid - first_uid);
        Some(found)
    }
}
