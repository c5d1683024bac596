//! What ranges cost, in steps. The number of steps depends on the questions alone, never on the machine or its
//! load, so limits can count them.

use std::cell::Cell;

thread_local! {
    static SPENT: Cell<u64> = const { Cell::new(0) };
}

/// The steps that this thread has made: one for each node whose range was computed, and one for each
/// argument of a launch that was read.
pub fn spent() -> u64 {
    SPENT.get()
}

/// Counts steps.
pub(super) fn spend(steps: u64) {
    SPENT.set(SPENT.get().wrapping_add(steps));
}
