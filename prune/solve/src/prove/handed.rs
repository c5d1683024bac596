//! The values that threads hand to their blocks: whether barriers order the accesses.

use std::collections::BTreeSet;

use gpurace_protocol::condition::Condition;

use super::Prover;
use crate::handed::Handed;

impl Prover<'_> {
    /// Keeps those values of which the load yields what the first thread has stored. No proof uses any so far,
    /// so these proofs do not rest on each other.
    pub(super) fn find_handed(&mut self, candidates: Vec<Handed>) {
        let shown = candidates.into_iter().filter_map(|handed| {
            let conditions = self.in_order(&handed)?;
            Some(Handed { conditions, ..handed })
        });
        let shown = shown.collect();
        // It is set once for each protocol.
        let _ = self.setting.handed.set(shown);
    }

    /// The conditions under which barriers order the load with all writes, and no two threads store without order.
    fn in_order(&mut self, handed: &Handed) -> Option<BTreeSet<Condition>> {
        let mut conditions = self.ordered_with_writes(handed.load)?;
        conditions.extend(self.same_object(handed.store, handed.store, 0).ok()?);
        Some(conditions)
    }
}
