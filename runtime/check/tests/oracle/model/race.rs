//! Which accesses race.

use gpurace_check::AtomicKind;

use super::{Clock, Op, Oracle, Past, Thread, What, join};

/// A pair of accesses that race.
#[derive(Clone, Debug)]
pub struct Pair {
    pub earlier: usize,
    pub bytes: std::ops::Range<usize>,
    /// The later access is ordered after a read that observes the earlier one: no race by PTX's
    /// causality order.
    pub observed: bool,
}

/// An access, as reports name it.
#[derive(Clone, Debug)]
pub struct Named {
    pub launch: usize,
    pub block: u64,
    pub tid: u32,
    /// The thread; or its copies between two commits or arrivals, if it has not waited for them.
    pub agent: usize,
    pub op: Op,
    pub site: u32,
}

impl Oracle {
    #[expect(clippy::too_many_arguments, reason = "what an access is")]
    pub(super) fn access(
        &mut self,
        thread: Thread,
        op: Op,
        address: usize,
        size: usize,
        site: u32,
        copy: Option<usize>,
        mut released: Clock,
    ) -> Vec<Pair> {
        self.clocks[thread][thread] += 1;
        let observed = match op {
            Op::Atomic(_, scope, _) if op.reads_atomically() => self.observed(thread, scope, address, size),
            Op::Atomic(..) | Op::Read | Op::Write => None,
        };
        let now = self.past.len();
        self.past.push(Past {
            thread,
            what: What::Access { op, address, size, site, observed },
            stamp: match copy {
                Some(component) => (component, 1),
                None => (thread, self.clocks[thread][thread]),
            },
            released: Clock::new(),
            done: None,
            clock: Clock::new(),
            met: self.known_by_meeting(thread),
        });
        // An acquire is itself ordered after the release that it reads.
        if let Op::Atomic(kind, scope, order) = op
            && order.acquires()
            && op.reads_atomically()
            && kind != AtomicKind::Reduction
        {
            self.acquire(thread, scope, Some((address, size)));
        }
        let clock = self.clocks[thread].clone();
        join(&mut released, &clock);
        (self.past[now].clock, self.past[now].released) = (clock, released);
        let mut races = Vec::new();
        for (i, p) in self.past[..now].iter().enumerate() {
            let What::Access { op: before, address: a, size: s, .. } = p.what else {
                continue;
            };
            let bytes = a.max(address)..(a + s).min(address + size);
            if bytes.is_empty() || p.stamp.0 == thread {
                continue;
            }
            let ordered = self.clocks[thread].get(p.stamp.0).is_some_and(|&known| known >= p.stamp.1);
            if !ordered && self.conflict(p.thread, before, (a, s), thread, op, (address, size)) {
                let observed = self.has_observed(thread, i, now);
                races.push(Pair { earlier: i, bytes, observed });
            }
        }
        races
    }

    fn conflict(
        &self,
        ta: Thread,
        a: Op,
        at_a: (usize, usize),
        tb: Thread,
        b: Op,
        at_b: (usize, usize),
    ) -> bool {
        if !a.modifies() && !b.modifies() {
            return false;
        }
        if a.is_volatile() && b.is_volatile() && !self.machine.relaxed_volatile {
            return true;
        }
        match (a.scope(), b.scope()) {
            (Some(sa), Some(sb)) => at_a != at_b || !self.includes(sa, ta, tb) || !self.includes(sb, tb, ta),
            _ => true,
        }
    }

    /// True if the checker may report a pair with access `k` that is no race. It does not know all
    /// observed writes: not those of launches that run at once, not for asynchronous copies or atomics,
    /// and not volatile ones. If `k` races with another atomic of the
    /// location, the report may name this one.
    pub fn may_report_observed(&self, pair: &Pair, k: usize, pairs: &[Pair]) -> bool {
        let What::Access { op, address, size, .. } = self.past[pair.earlier].what else { unreachable!() };
        let beside = self.machine.unordered.iter().any(|u| !u.is_empty());
        let is_copy = self.past[k].stamp.0 != self.past[k].thread;
        let What::Access { op: of_k, .. } = self.past[k].what else { unreachable!() };
        let is_atomic = matches!(of_k, Op::Atomic(..));
        let other = pairs.iter().filter(|p| !p.observed).any(|p| match self.past[p.earlier].what {
            What::Access { op: Op::Atomic(..), address: a, size: s, .. } => (a, s) == (address, size),
            _ => false,
        });
        let is_volatile = op.is_volatile() && !self.machine.relaxed_volatile;
        beside || is_copy || is_atomic || is_volatile || other
    }

    /// True if two threads are in different blocks of one cluster.
    pub fn only_share_cluster(&self, a: &Named, b: &Named) -> bool {
        let n = self.machine.cluster.max(1);
        a.launch == b.launch && a.block != b.block && a.block / n == b.block / n
    }

    /// True if access `i` happens before access `k`.
    pub fn before(&self, i: usize, k: usize) -> bool {
        let (a, b) = (&self.past[i], &self.past[k]);
        let known = b.clock.get(a.stamp.0).copied().unwrap_or(0);
        i != k && known >= a.stamp.1
    }

    /// True if access `i` happens before a wait for copy `k`. Whatever is ordered after the copy by
    /// that wait is ordered after both.
    pub fn before_wait(&self, i: usize, k: usize) -> bool {
        let (a, b) = (&self.past[i], &self.past[k]);
        let done = b.done.as_ref();
        done.is_some_and(|d| d.get(a.stamp.0).is_some_and(|&known| known >= a.stamp.1))
    }

    pub fn named(&self, i: usize) -> Named {
        let p = &self.past[i];
        let (launch, block, tid) = self.machine.threads[p.thread];
        let What::Access { op, site, .. } = p.what else { panic!("{i} is not an access") };
        Named { launch, block, tid, agent: if p.done.is_some() { p.thread } else { p.stamp.0 }, op, site }
    }
}
