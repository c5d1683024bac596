//! Asynchronous copies of a block's threads.

use super::Block;
use crate::batch::{Value, WholeAccess};
use crate::model::access::Op;
use crate::order::copies::CopySide;

impl Block {
    /// The read of `size` bytes by an asynchronous copy of a thread.
    pub fn async_read(&mut self, thread: u32, address: usize, size: u64, site: u32) {
        self.copy(thread, address, size, site, Op::Read);
    }

    /// The write of `size` bytes by an asynchronous copy of a thread.
    pub fn async_write(&mut self, thread: u32, address: usize, size: u64, site: u32) {
        self.inner.syncvars.overwrite(address, size as usize);
        self.copy(thread, address, size, site, Op::Write);
    }

    /// Checks one side of a copy that begins now.
    fn copy(&mut self, thread: u32, address: usize, size: u64, site: u32, op: Op) {
        self.checks += 1;
        let epoch = self.copies.get(thread as usize).map(|copies| copies.epoch);
        let side = CopySide { epoch: epoch.unwrap_or(0), address, size, site, op };
        match self.copies.get_mut(thread as usize) {
            Some(copies) => copies.under_way.push_back(side),
            None => self.unforeseen(),
        }
        self.check_side(thread, side, epoch);
    }

    /// Checks one side of a copy. `copy`: the epoch of the thread's copies; `None` if it counts as
    /// the thread's own access.
    fn check_side(&mut self, thread: u32, side: CopySide, copy: Option<u32>) {
        let CopySide { address, size, site, op, .. } = side;
        let (entry, value) = (self.entry(site), Value::Unknown);
        self.check_long(WholeAccess { thread, address, size, site, entry, op, value, copy });
    }

    /// Makes the thread's copies since the last commit a group.
    pub fn async_commit(&mut self, thread: u32) {
        if let Some(copies) = self.copies.get_mut(thread as usize) {
            copies.epoch += 1;
            copies.groups.push_back(copies.epoch);
        }
    }

    /// Lets a thread learn that all its groups but the last `but` are done: it has waited for them.
    pub fn async_wait(&mut self, thread: u32, but: u32) {
        let Some(copies) = self.copies.get_mut(thread as usize) else {
            return;
        };
        let done = copies.groups.len().saturating_sub(but as usize);
        let Some(epoch) = copies.groups.drain(..done).next_back() else {
            return;
        };
        self.view.order.wait_for_copies(thread, epoch);
        // Other threads can learn only from this thread that these copies are done. So they may as
        // well be accesses of its own, which fit the shadow words.
        self.sightings.quiet = true;
        while let Some(side) = self.copies[thread as usize].take_below(epoch) {
            self.check_side(thread, side, None);
        }
        self.sightings.quiet = false;
    }

    /// Makes an mbarrier track the thread's copies so far: what the thread publishes there next tells
    /// that they are done.
    pub fn async_arrive(&mut self, thread: u32, mbarrier: usize) {
        let Some(copies) = self.copies.get_mut(thread as usize) else {
            return;
        };
        copies.epoch += 1;
        // Other threads may learn of these from the mbarrier.
        copies.under_way.clear();
        let epoch = copies.epoch;
        self.view.order.track_copies(thread, mbarrier, epoch);
    }
}
