//! Asynchronous copies (`cp.async`).
//!
//! PTX ISA, "Asynchronous operations" and `cp.async`: a copy happens after
//! what precedes it in its thread, and before nothing until it is known to be
//! done: the thread waits for its group (`cp.async.wait_group`, `wait_all`), or
//! somebody waits for an mbarrier that was made to track it
//! (`cp.async.mbarrier.arrive`). Copies of one thread are not ordered to each
//! other. So a copy is checked as an access by a party of its own, one for each
//! thread, that knows what the thread knows when the copy begins. Its epochs
//! are counted here: one ends with each commit and with each arrival. To wait
//! is to learn that the epochs up to one have happened; barriers, warp syncs and
//! releases spread that as they spread what an acquire learns.

use std::collections::VecDeque;

use crate::block::{Block, Value};
use crate::launch::Launch;
use crate::word::Op;

/// The asynchronous copies of one thread.
#[derive(Debug, Default)]
pub(crate) struct ThreadCopies {
    /// Epoch of copies that begin now.
    epoch: u32,
    /// For each committed group that was not waited for, the epoch after it.
    groups: VecDeque<u32>,
    /// What copies that only this thread can wait for touch, by epoch.
    under_way: VecDeque<Part>,
}

/// One side of a copy.
#[derive(Clone, Copy, Debug)]
struct Part {
    epoch: u32,
    address: usize,
    size: u64,
    site: u32,
    op: Op,
}

/// A fresh block's, by thread; none where the kernel has no copies.
pub(crate) fn of_threads(launch: &Launch) -> Vec<ThreadCopies> {
    let threads = if launch.features.async_copies { launch.threads } else { 0 };
    (0..threads).map(|_| ThreadCopies::default()).collect()
}

impl Block {
    /// An asynchronous copy of this thread reads `size` bytes.
    pub fn async_read(&mut self, thread: u32, address: usize, size: u64, site: u32) {
        self.copy(thread, address, size, site, Op::Read);
    }

    /// An asynchronous copy of this thread writes `size` bytes.
    pub fn async_write(&mut self, thread: u32, address: usize, size: u64, site: u32) {
        self.inner.syncvars.overwrite(address, size as usize);
        self.copy(thread, address, size, site, Op::Write);
    }

    fn copy(&mut self, thread: u32, address: usize, size: u64, site: u32, op: Op) {
        self.state.checks += 1;
        let Some(copies) = self.state.copies.get_mut(thread as usize) else {
            self.unforeseen();
            return self.words(thread, address, size, site, op, Value::Unknown, None);
        };
        let epoch = copies.epoch;
        copies.under_way.push_back(Part { epoch, address, size, site, op });
        self.words(thread, address, size, site, op, Value::Unknown, Some(epoch));
    }

    /// The copies since the last commit become a group.
    pub fn async_commit(&mut self, thread: u32) {
        if let Some(copies) = self.state.copies.get_mut(thread as usize) {
            copies.epoch += 1;
            copies.groups.push_back(copies.epoch);
        }
    }

    /// The thread has waited for all its groups but the last `but`.
    pub fn async_wait(&mut self, thread: u32, but: u32) {
        let Some(copies) = self.state.copies.get_mut(thread as usize) else {
            return;
        };
        let done = copies.groups.len().saturating_sub(but as usize);
        let Some(epoch) = copies.groups.drain(..done).next_back() else {
            return;
        };
        self.state.order.wait_for_copies(thread, epoch);
        // Who knows now that these are done knows it from this thread: they may as
        // well be accesses of its own, which fit the shadow words.
        self.state.sightings.quiet = true;
        while let Some(part) = self.state.copies[thread as usize].take_below(epoch) {
            self.words(thread, part.address, part.size, part.site, part.op, Value::Unknown, None);
        }
        self.state.sightings.quiet = false;
    }

    /// An mbarrier is made to track the thread's copies so far: what the thread
    /// publishes there next tells that they are done.
    pub fn async_arrive(&mut self, thread: u32, mbarrier: usize) {
        let Some(copies) = self.state.copies.get_mut(thread as usize) else {
            return;
        };
        copies.epoch += 1;
        // Others may learn of these without the thread.
        copies.under_way.clear();
        let epoch = copies.epoch;
        self.state.order.track_copies(thread, mbarrier, epoch);
    }
}

impl ThreadCopies {
    /// The oldest part of a copy before an epoch.
    fn take_below(&mut self, epoch: u32) -> Option<Part> {
        match self.under_way.front() {
            Some(p) if p.epoch < epoch => self.under_way.pop_front(),
            _ => None,
        }
    }
}
