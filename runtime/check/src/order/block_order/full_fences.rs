//! What threads have released by `fence.sc`, and barriers pass on.
//!
//! A common last-block reduction: all threads of a block store, each one makes a `__threadfence()`, they meet at a
//! barrier, and one of them counts the block by a relaxed atomic. Its own fence came before the barrier, so its release
//! pattern does not hold the others' stores. The order follows from Fence-SC order (PTX ISA, "Fence-SC"):
//!
//! - `fence.sc` F of a storing thread comes before the atomic write, by the barrier;
//! - the read of another block observes this write, and comes before a `fence.sc` G of its thread;
//! - were G before F in Fence-SC order, then the read would come before the write that it observes.
//!
//! So F comes before G in each execution, and what was before F is before what follows G. No other acquire learns this.
//!
//! Here barriers of the block, syncs of lanes, and named barriers for those that wait, pass on what fences before them
//! released. Only a thread that has made a `fence.sc` itself tells of it by its atomics: others' atomics mostly tell of
//! nothing, and stay cheap. What comes by a release and an acquire is not passed on.

use super::BlockOrder;
use crate::order::carried::{Carried, Reach};
use crate::order::vector::Clocks;

/// What one thread has made and knows of `fence.sc`.
#[derive(Debug, Default)]
pub(super) struct FullFences {
    /// The thread has made one.
    has_made: bool,
    /// What those of the thread have released that no barrier has passed on since.
    own: Carried,
    /// What syncs of some threads have passed on since the last barrier of the block.
    passed_on: Carried,
    /// A releasing fence of the thread holds what the block's barriers up to this one have passed on.
    held: u32,
}

/// What the block's barriers have passed on to all of its threads.
#[derive(Debug, Default)]
pub(super) struct FullFencesOfBlock {
    /// What they have passed on.
    passed_on: Carried,
    /// Number of the barriers that did.
    barriers: u32,
    /// A thread has made a `fence.sc` since the last barrier.
    any: bool,
}

impl BlockOrder {
    /// Notes a `fence.sc` of a thread, and what it has released.
    pub(super) fn full_fence(&mut self, thread: u32, released: &Clocks, reach: Reach) {
        let (narrowest, barriers) = (self.narrowest, self.full_fences.barriers);
        self.full_fences.any = true;
        let full = &mut self.sync_of(thread).full;
        full.has_made = true;
        full.own.set(released.clone(), reach, narrowest);
        if reach == Reach::Launch {
            // The fence is a release of all that was passed on before it.
            full.passed_on = Carried::default();
            full.held = barriers;
        }
    }

    /// Lets threads that have met know what the `fence.sc` of each of them released.
    pub(super) fn pass_on_full_fences(&mut self, met: impl Iterator<Item = u32> + Clone) {
        if !self.full_fences.any {
            return;
        }
        let mut all = Carried::default();
        for thread in met.clone() {
            if let Some(s) = &mut self.sync[thread as usize] {
                all.join(&std::mem::take(&mut s.full.own));
                if !s.full.passed_on.same(&all) {
                    all.join(&s.full.passed_on);
                }
            }
        }
        if !all.is_empty() {
            met.for_each(|thread| self.sync_of(thread).full.passed_on = all.clone());
        }
    }

    /// Lets all threads of the block know what the `fence.sc` of each of them released.
    pub(super) fn pass_on_full_fences_to_all(&mut self) {
        let block = &mut self.full_fences;
        if !std::mem::take(&mut block.any) {
            return;
        }
        for s in self.sync.iter_mut().flatten() {
            block.passed_on.join(&std::mem::take(&mut s.full.own));
            block.passed_on.join(&std::mem::take(&mut s.full.passed_on));
        }
        block.barriers += 1;
    }

    /// What an atomic write of a thread tells of the `fence.sc` of others; `None` if its own fences tell the same.
    pub(super) fn passed_on(&self, thread: u32) -> Option<Carried> {
        let full = &self.sync[thread as usize].as_ref()?.full;
        let block = &self.full_fences;
        let by_block = (full.held < block.barriers).then_some(&block.passed_on);
        let mut all = full.passed_on.clone();
        by_block.into_iter().for_each(|by_block| all.join(by_block));
        (full.has_made && !all.is_empty()).then_some(all)
    }
}
