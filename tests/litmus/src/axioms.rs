//! Whether the model allows an execution: PTX ISA, "Axioms". A coherence order is looked for that meets
//! them. All axioms but the first two here speak of one location, so each location is looked at alone.

use crate::execution::{Execution, Orders, Relation, close, elements, is_cyclic};
use crate::walk::Kind;

impl Execution<'_> {
    /// "No Thin Air": no cycle of reads and of what depends on them by branches. The value that a
    /// read-modify-write writes depends on what it reads.
    pub fn is_out_of_thin_air(&self) -> bool {
        let mut causes: Relation = vec![0; self.events.len()];
        for (e, event) in self.events.iter().enumerate() {
            if let Some(write) = self.from[e] {
                causes[write] |= 1 << e;
            }
            for &on in &event.depends {
                causes[self.threads[event.thread][on]] |= 1 << e;
            }
        }
        close(&mut causes);
        is_cyclic(&causes)
    }

    /// "Fence-SC": Fence-SC order does not contradict causality order. `full` is part of `orders`.
    pub fn fences_contradict(&self, orders: &Orders, full: &[(usize, usize)]) -> bool {
        full.iter().any(|&(a, b)| orders.base[b] >> a & 1 != 0)
    }

    /// True if each location has a coherence order that meets the other axioms.
    pub fn is_coherent(&self, orders: &Orders) -> bool {
        (0..self.code.locations).all(|at| {
            let accesses: Vec<usize> =
                (0..self.events.len()).filter(|&e| self.events[e].at() == Some(at)).collect();
            let mut writes: Vec<usize> =
                accesses.iter().copied().filter(|&e| self.events[e].written().is_some()).collect();
            let n = writes.len();
            self.some_order(orders, &accesses, &mut writes, n)
        })
    }

    /// Tries all orders of the first `n` writes.
    fn some_order(&self, orders: &Orders, accesses: &[usize], writes: &mut Vec<usize>, n: usize) -> bool {
        if n == 0 {
            return self.is_coherent_in(orders, accesses, writes);
        }
        for i in 0..n {
            writes.swap(i, n - 1);
            // "Coherence": nothing that comes earlier here may follow the last one by causality.
            let last = writes[n - 1];
            let contradicts = writes[..n - 1].iter().any(|&w| orders.causality[last] >> w & 1 != 0);
            if !contradicts && self.some_order(orders, accesses, writes, n - 1) {
                return true;
            }
            writes.swap(i, n - 1);
        }
        false
    }

    /// The axioms for one location whose writes come in this order. Coherence order is what of it
    /// relates writes that are morally strong or ordered by causality, and what follows by transitivity:
    /// writes that race are not related.
    fn is_coherent_in(&self, orders: &Orders, accesses: &[usize], writes: &[usize]) -> bool {
        let precedes = |a: usize, b: usize| orders.causality[a] >> b & 1 != 0;
        let mut coherence: Relation = vec![0; self.events.len()];
        for (i, &a) in writes.iter().enumerate() {
            for &b in &writes[i + 1..] {
                if self.morally_strong(a, b) || precedes(a, b) {
                    coherence[a] |= 1 << b;
                }
            }
        }
        close(&mut coherence);
        let all_writes = writes.iter().fold(0u64, |set, w| set | 1 << w);
        // The writes that follow what a read returns.
        let overtaken = |read: usize| match self.from[read] {
            Some(write) => coherence[write],
            None => all_writes,
        };
        for &e in accesses {
            let event = &self.events[e];
            if event.read().is_none() {
                continue;
            }
            // "Causality".
            if self.from[e].is_some_and(|write| precedes(e, write)) {
                return false;
            }
            if elements(overtaken(e)).any(|write| precedes(write, e)) {
                return false;
            }
            // "Atomicity" of read-modify-writes.
            let between = |&write: &usize| {
                write != e && coherence[write] >> e & 1 != 0 && self.morally_strong(write, e)
            };
            if event.written().is_some() && elements(overtaken(e)).any(|write| between(&write)) {
                return false;
            }
        }
        // "Sequential Consistency Per Location".
        let mut communication: Relation = vec![0; self.events.len()];
        for &a in accesses {
            for &b in accesses.iter().filter(|&&b| b != a) {
                let (x, y) = (&self.events[a], &self.events[b]);
                let program_order = x.thread == y.thread && {
                    let thread = &self.threads[x.thread];
                    thread.iter().position(|&e| e == a) < thread.iter().position(|&e| e == b)
                };
                let communicates = self.from[b] == Some(a)
                    || coherence[a] >> b & 1 != 0
                    || (x.read().is_some() && overtaken(a) >> b & 1 != 0);
                if program_order || (communicates && self.morally_strong(a, b)) {
                    communication[a] |= 1 << b;
                }
            }
        }
        close(&mut communication);
        debug_assert!(accesses.iter().all(|&e| matches!(self.events[e].kind, Kind::Access { .. })));
        !is_cyclic(&communication)
    }
}
