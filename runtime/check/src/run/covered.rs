//! Reads without a check of their own: another access's check stands for each,
//! one of the same thread to the same bytes, with nothing between the two
//! that could order one of them alone.
//!
//! With a check, such a read would
//! * meet each record that the other access meets, in the same order to it: a race is one of both,
//!   where the read conflicts with the record, too;
//! * leave no record where the other access's is its thread's alone, which stands for the read
//!   ([`crate::model::step::covers`]);
//! * leave one where it comes after the other and that record is of several threads, which says of
//!   none what it has read.
//!
//! So the races of the other access tell those of the read.

use std::collections::HashMap;

use parking_lot::RwLock;

use crate::run::checker::Checker;

/// By the access that is checked, the reads that it stands for.
#[derive(Default)]
pub(crate) struct Covered(RwLock<HashMap<u32, Vec<CoveredRead>>>);

/// A read that another access's check stands for; both by their numbers in the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoveredRead {
    /// The read.
    pub read: u32,
    /// The access that is checked.
    pub by: u32,
    /// The read comes before it.
    pub before: bool,
}

impl Covered {
    /// The reads that an access's check stands for.
    pub(crate) fn by(&self, site: u32) -> Vec<CoveredRead> {
        self.0.read().get(&site).cloned().unwrap_or_default()
    }
}

impl Checker {
    /// Says that a plain read has no check. To be said before the first launch that reaches it.
    pub fn cover(&self, read: CoveredRead) {
        let mut all = self.inner.covered.0.write();
        let reads = all.entry(read.by).or_default();
        if !reads.contains(&read) {
            reads.push(read);
        }
    }
}
