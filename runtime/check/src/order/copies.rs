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

use crate::model::access::Op;

/// The asynchronous copies of one thread.
#[derive(Debug, Default)]
pub(crate) struct ThreadCopies {
    /// Epoch of copies that begin now.
    pub(crate) epoch: u32,
    /// For each committed group that was not waited for, the epoch after it.
    pub(crate) groups: VecDeque<u32>,
    /// What copies that only this thread can wait for touch, by epoch.
    pub(crate) under_way: VecDeque<CopySide>,
}

/// One side of a copy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopySide {
    pub(crate) epoch: u32,
    pub(crate) address: usize,
    pub(crate) size: u64,
    pub(crate) site: u32,
    pub(crate) op: Op,
}

impl ThreadCopies {
    /// The oldest part of a copy before an epoch.
    pub(crate) fn take_below(&mut self, epoch: u32) -> Option<CopySide> {
        match self.under_way.front() {
            Some(p) if p.epoch < epoch => self.under_way.pop_front(),
            _ => None,
        }
    }
}
