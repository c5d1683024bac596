//! Asynchronous copies of a block's threads.

use super::Block;
use crate::batch::{Value, WholeAccess};
use crate::model::access::Op;
use crate::order::copies::CopySide;

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
        self.checks += 1;
        let copy = match self.copies.get_mut(thread as usize) {
            Some(copies) => {
                let epoch = copies.epoch;
                copies.under_way.push_back(CopySide { epoch, address, size, site, op });
                Some(epoch)
            }
            None => {
                self.unforeseen();
                None
            }
        };
        self.check_part(thread, CopySide { epoch: 0, address, size, site, op }, copy);
    }

    /// Checks one side of a copy, made in this epoch of the thread's copies or by the thread itself.
    fn check_part(&mut self, thread: u32, part: CopySide, copy: Option<u32>) {
        let CopySide { address, size, site, op, .. } = part;
        let (entry, value) = (self.entry(site), Value::Unknown);
        self.check_long(WholeAccess { thread, address, size, site, entry, op, value, copy });
    }

    /// The copies since the last commit become a group.
    pub fn async_commit(&mut self, thread: u32) {
        if let Some(copies) = self.copies.get_mut(thread as usize) {
            copies.epoch += 1;
            copies.groups.push_back(copies.epoch);
        }
    }

    /// The thread has waited for all its groups but the last `but`.
    pub fn async_wait(&mut self, thread: u32, but: u32) {
        let Some(copies) = self.copies.get_mut(thread as usize) else {
            return;
        };
        let done = copies.groups.len().saturating_sub(but as usize);
        let Some(epoch) = copies.groups.drain(..done).next_back() else {
            return;
        };
        self.view.order.wait_for_copies(thread, epoch);
        // Other threads can learn that these are done from this thread alone. So they may as well
        // be accesses of its own, which fit the shadow words.
        self.sightings.quiet = true;
        while let Some(part) = self.copies[thread as usize].take_below(epoch) {
            self.check_part(thread, part, None);
        }
        self.sightings.quiet = false;
    }

    /// An mbarrier is made to track the thread's copies so far: what the thread
    /// publishes there next tells that they are done.
    pub fn async_arrive(&mut self, thread: u32, mbarrier: usize) {
        let Some(copies) = self.copies.get_mut(thread as usize) else {
            return;
        };
        copies.epoch += 1;
        // Others may learn of these without the thread.
        copies.under_way.clear();
        let epoch = copies.epoch;
        self.view.order.track_copies(thread, mbarrier, epoch);
    }
}
