//! The blocks that each worker runs.

use std::sync::atomic::Ordering;

use crate::launch::{Choice, LaunchState};
use crate::rng::Rng;

/// The number of blocks that change places with each other in half of the drawn schedules. In the other half, and in
/// all other schedules that are not in order, it is the number that can be resident together. It is never more if blocks
/// may wait for each other: programs may rely on the start of the blocks before theirs.
const WINDOW: usize = 8;
/// The most blocks that change places.
const WIDEST: usize = 1 << 16;

/// Iterates over one worker's share of a launch: the indices of its units (blocks or clusters), in the order in which
/// it takes them up.
///
/// In a launch that runs in chunks, it gives the first block of each chunk that the worker gets. Workers take such
/// chunks as they come to them, so a slow worker does not hold up the others.
pub(crate) struct Share<'a> {
    chunks: Option<&'a LaunchState>,
    next: u64,
    step: u64,
    end: u64,
    choice: Choice,
    rng: Rng,
    /// Number of units that change places.
    width: usize,
    /// Units that were chosen to come next, the last first.
    window: Vec<u64>,
}

impl<'a> Share<'a> {
    /// The share of this worker.
    pub(crate) fn new(launch: &'a LaunchState, worker: usize) -> Self {
        let mut rng = Rng::new(launch.seed, u64::MAX);
        let together = match launch.blocks_are_apart {
            true => WIDEST,
            false => (launch.most_resident / launch.blocks_of_unit()).clamp(1, WIDEST),
        };
        let narrow = launch.choice == Choice::Drawn && rng.below(2) == 0;
        Self {
            chunks: launch.in_chunks().then_some(launch),
            next: worker as u64,
            step: launch.workers as u64,
            end: launch.units(),
            choice: launch.choice,
            rng,
            width: if narrow { WINDOW.min(together) } else { together },
            window: Vec::new(),
        }
    }
}

impl Iterator for Share<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        if let Some(launch) = self.chunks {
            let first = launch.next_chunk.fetch_add(launch.chunk, Ordering::Relaxed);
            return (first < launch.blocks).then_some(first);
        }
        if self.choice != Choice::FIRST && self.window.is_empty() {
            self.window.extend((self.next..self.end).step_by(self.step as usize).take(self.width));
            match self.choice {
                Choice::From(quarters) => {
                    let first = quarters as usize * self.window.len() / 4;
                    self.window.rotate_left(first);
                    self.window.reverse();
                }
                Choice::Last => {}
                Choice::Drawn => self.rng.shuffle(&mut self.window),
            }
        }
        if let Some(index) = self.window.pop() {
            self.next += self.step;
            return Some(index);
        }
        (self.next < self.end).then(|| {
            self.next += self.step;
            self.next - self.step
        })
    }
}
