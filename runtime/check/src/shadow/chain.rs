//! Chains: the history of a word as a list of any number of full-width records.
//!
//! A shadow word points to its chain. The worker that has set the shadow word to busy owns the
//! chain.

use crate::model::access::Op;
use crate::model::entry::Entry;

/// The records of one word.
#[derive(Debug, Default)]
pub struct Chain {
    /// In the order of their first access.
    pub entries: Vec<Entry>,
    /// Every entry is a plain read, so a further read races with none of them.
    pub reads_only: bool,
}

impl Chain {
    /// Sets [`Chain::reads_only`] from the entries.
    pub(crate) fn find_reads_only(&mut self) {
        self.reads_only = self.entries.iter().all(|e| e.touch.op == Op::Read);
    }
}
