//! The blocks that each worker runs.

use std::sync::atomic::Ordering;

use crate::launch::LaunchState;
use crate::rng::Rng;

/// With a seed, blocks change places within windows of so many. Programs may rely on the start of
/// the blocks before theirs.
const WINDOW: usize = 8;

/// Iterates over one worker's share of a launch: the indices of its units (blocks or clusters) in
/// the order in which it takes them up. If a launch runs in chunks, over the first block of each
/// chunk that the worker gets: there nothing depends on which worker runs a block, and a slow
/// worker does not hold up the others.
pub(crate) struct Share<'a> {
    chunks: Option<&'a LaunchState>,
    next: u64,
    step: u64,
    end: u64,
    rng: Option<Rng>,
    window: Vec<u64>,
}

impl<'a> Share<'a> {
    pub(crate) fn new(launch: &'a LaunchState, worker: usize) -> Self {
        Self {
            chunks: launch.in_chunks().then_some(launch),
            next: worker as u64,
            step: launch.workers as u64,
            end: launch.units(),
            rng: (launch.seed != 0).then(|| Rng::new(launch.seed, u64::MAX)),
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
        if let Some(rng) = &mut self.rng
            && self.window.is_empty()
        {
            let window = (self.next..self.end).step_by(self.step as usize).take(WINDOW);
            self.window.extend(window);
            rng.shuffle(&mut self.window);
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
