//! Asynchronous copies (`cp.async`).
//!
//! PTX ISA, "Asynchronous operations" and `cp.async`: a copy happens after what precedes it in its
//! thread. It happens before nothing until it is known to be done: the thread waits for the copy's
//! group (`cp.async.wait_group`, `wait_all`), or some thread waits for an mbarrier that tracks the
//! copy (`cp.async.mbarrier.arrive`). Copies of one thread are not ordered to each other.
//!
//! So the checker treats the copies of a thread as a thread of its own, which knows what the
//! thread knew when the copy began. Their epochs are counted here. Each commit and each arrival
//! ends one. To wait is to learn that epochs have happened. Barriers, warp syncs and releases pass
//! this on, like all that an acquire learns.

use std::collections::VecDeque;

use crate::model::access::Op;

/// The asynchronous copies of one thread.
#[derive(Debug, Default)]
pub(crate) struct ThreadCopies {
    /// Epoch of copies that begin now.
    pub(crate) epoch: u32,
    /// For each committed group that the thread has not waited for, the epoch after it.
    pub(crate) groups: VecDeque<u32>,
    /// The accesses of copies that only this thread can wait for, by epoch.
    pub(crate) under_way: VecDeque<CopySide>,
}

/// The read or the write of a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopySide {
    pub(crate) epoch: u32,
    pub(crate) address: usize,
    pub(crate) size: u64,
    pub(crate) site: u32,
    pub(crate) op: Op,
}

impl ThreadCopies {
    /// Removes the oldest access of a copy before an epoch.
    pub(crate) fn take_below(&mut self, epoch: u32) -> Option<CopySide> {
        match self.under_way.front() {
            Some(p) if p.epoch < epoch => self.under_way.pop_front(),
            _ => None,
        }
    }
}
