//! Chains: the history of a word as a list of any number of full-width records.
//!
//! A shadow word points to its chain. The worker that has set the shadow word to busy owns the
//! chain.

use crate::model::access::Op;
use crate::model::entry::Entry;
use crate::model::step;

/// The records of one word.
#[derive(Debug, Default)]
pub struct Chain {
    /// In the order of their first access.
    pub entries: Vec<Entry>,
    /// An operation that conflicts with whatever an entry conflicts with ([`step::common`]). `None` unless all entries
    /// are plain reads, or atomics of the same bytes.
    pub common: Option<Op>,
}

impl Chain {
    /// Sets [`Chain::common`] from the entries.
    pub(crate) fn find_common(&mut self) {
        let mut ops = self.entries.iter().map(|e| e.touch.op);
        self.common = ops.next().and_then(|first| ops.try_fold(first, step::common));
    }
}
