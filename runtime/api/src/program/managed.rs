//! The managed memory of the program: managed allocations and `__managed__` variables.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::program::{allocations, modules};

/// Number of managed allocations and variables. Most programs have none, and every call of the
/// program asks.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Counts a new managed allocation or variable.
pub fn made() {
    COUNT.fetch_add(1, Ordering::Relaxed);
}

/// Counts a managed allocation that was freed.
pub fn gone() {
    COUNT.fetch_sub(1, Ordering::Relaxed);
}

/// True if there is any managed memory.
pub fn exists() -> bool {
    COUNT.load(Ordering::Relaxed) > 0
}

/// The byte ranges of all managed memory.
pub fn ranges() -> impl Iterator<Item = Range<usize>> {
    allocations::managed().into_iter().chain(modules::managed())
}
