//! Covered reads: the check of another access stands for each. The other access is by the same
//! thread to the same bytes, and nothing between the two could order only one of them.
//!
//! With a check of its own, such a read
//!
//! - would meet each record that the other access meets, and be ordered to it in the same way. So if
//!   the other access races with a record, the read does too, unless it does not conflict.
//! - would leave no record if the other access has a record of its thread alone: that one represents
//!   the read ([`crate::model::step::covers`]).
//! - would leave a record if it comes after the other access and that one has joined a record of
//!   several threads, which does not say what each of them has read.
//!
//! So the races of the other access tell those of the read.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;

use crate::run::checker::Checker;

/// The covered reads of the process, by the site of the access that is checked.
#[derive(Default)]
pub(crate) struct Covered(RwLock<HashMap<u32, Arc<Vec<CoveredRead>>>>);

/// The covered reads of a site; `None` if there are none.
pub(crate) type CoveredReads = Option<Arc<Vec<CoveredRead>>>;

/// A covered read. Sites are numbers in the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoveredRead {
    /// Site of the read.
    pub read: u32,
    /// Site of the access that is checked.
    pub by: u32,
    /// The read comes before the access that is checked.
    pub before: bool,
}

impl Covered {
    /// The reads that the check of this site stands for.
    pub(crate) fn by(&self, site: u32) -> CoveredReads {
        self.0.read().get(&site).cloned()
    }
}

impl Checker {
    /// Adds a covered read, before the first launch that reaches it.
    pub fn cover(&self, read: CoveredRead) {
        let mut all = self.inner.covered.0.write();
        let reads = Arc::make_mut(all.entry(read.by).or_default());
        if !reads.contains(&read) {
            reads.push(read);
        }
    }
}
