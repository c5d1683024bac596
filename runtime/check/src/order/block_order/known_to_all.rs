//! What all threads of a block know of each other although no barrier told them.
//!
//! All of them may have waited for an mbarrier at which all have arrived. An epoch that every thread then knows of
//! every other is as if a barrier had ended it. So the floor rises to the first epoch that some thread does not know of
//! some other. Records from before the floor are settled, and need no look into vector clocks.

use super::BlockOrder;
use crate::order::vector::Clocks;

/// What each thread has acquired of all threads of its block.
#[derive(Debug, Default)]
pub(super) struct KnownToAll {
    /// For each thread: it knows all epochs below this one, of every thread of the block.
    by: Vec<u32>,
    /// Number of threads that know no more than the floor.
    behind: usize,
    /// What the last thread has acquired, and what `by` holds for it. Mostly the next thread has acquired the same.
    last: (Clocks, u32),
}

impl KnownToAll {
    /// Forgets all: so many threads know no more than the floor.
    pub(super) fn restart(&mut self, threads: usize) {
        self.by.clear();
        self.by.resize(threads, 0);
        self.behind = threads;
        self.last = (Clocks::new(), 0);
    }
}

impl BlockOrder {
    /// Raises the floor if `thread` was the last one to learn of all others. It has just acquired something.
    pub(super) fn learnt_by(&mut self, thread: u32) {
        let Some(s) = &self.sync[thread as usize] else { return };
        if !self.known_to_all.last.0.same(&s.acquired) {
            let least_of = |warp: u32| {
                let known = s.acquired.of_warp(self.uid, warp);
                let lanes = (self.threads - warp * 32).min(32) as usize;
                known[..lanes].iter().copied().min()
            };
            // A thread that knows no more than the floor of some warp does not raise the floor.
            let mut all = (0..self.threads.div_ceil(32)).filter_map(least_of);
            let least =
                all.try_fold(u32::MAX, |least, known| (known > self.floor).then_some(least.min(known)));
            self.known_to_all.last = (s.acquired.clone(), least.unwrap_or(0));
        }
        let KnownToAll { by, behind, last } = &mut self.known_to_all;
        let known = &mut by[thread as usize];
        if last.1 <= self.floor || last.1 <= *known {
            return;
        }
        *behind -= usize::from(*known <= self.floor);
        *known = last.1;
        if *behind == 0 {
            self.floor = by.iter().copied().min().unwrap_or(self.floor);
            *behind = by.iter().filter(|&&known| known <= self.floor).count();
        }
    }
}

#[cfg(test)]
mod tests {
    use gpurace_abi::scope::{Order, Scope};

    use super::*;
    use crate::order::block_order::Mode;
    use crate::order::carried::{Carried, Location};

    const THREADS: u32 = 34;
    const AT: Location = (64, 8);

    fn block() -> BlockOrder {
        let mut order = BlockOrder::default();
        order.restart(Mode::Exact, THREADS, 7, 7, Clocks::new(), None);
        order
    }

    fn arrive(order: &mut BlockOrder, threads: impl Iterator<Item = u32>) -> Carried {
        let mut released = Carried::default();
        for thread in threads {
            released.join(&order.publish(thread, AT, Scope::Block, Order::Release));
        }
        released
    }

    fn wait(order: &mut BlockOrder, threads: impl Iterator<Item = u32>, released: &Carried) {
        threads.for_each(|thread| order.observe(thread, AT, Scope::Block, Order::Acquire, released.clone()));
    }

    #[test]
    fn the_floor_rises_once_all_have_waited_for_all() {
        let mut order = block();
        for round in 1..4 {
            let released = arrive(&mut order, 0..THREADS);
            wait(&mut order, 1..THREADS, &released);
            assert_eq!(order.floor(), round - 1, "thread 0 has not waited");
            wait(&mut order, 0..1, &released);
            assert_eq!((order.floor(), order.max_clock()), (round, round));
        }
        order.barrier(None);
        assert_eq!(order.floor(), 4);
    }

    #[test]
    fn the_floor_stays_where_some_thread_is_not_known() {
        let mut order = block();
        let released = arrive(&mut order, 0..THREADS - 1);
        wait(&mut order, 0..THREADS, &released);
        assert_eq!(order.floor(), 0, "the last thread has not arrived");
        let released = arrive(&mut order, THREADS - 1..THREADS);
        wait(&mut order, 0..THREADS - 1, &released);
        assert_eq!(order.floor(), 0, "the last thread has not waited, though it knows of itself");
    }

    #[test]
    fn the_floor_is_what_the_last_thread_knows_of_the_last() {
        let mut order = block();
        let first = arrive(&mut order, 0..THREADS);
        let second = arrive(&mut order, 0..THREADS);
        wait(&mut order, 0..THREADS - 1, &second);
        wait(&mut order, THREADS - 1..THREADS, &first);
        assert_eq!(order.floor(), 1);
        wait(&mut order, THREADS - 1..THREADS, &second);
        assert_eq!((order.floor(), order.max_clock()), (2, 2));
    }
}
