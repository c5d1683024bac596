//! What was observed, and so happened before what its observer does next.
//!
//! PTX ISA, "Causality order": an operation is also before another one where it precedes
//! a third in observation order and that is before the other in base causality order. So an
//! atomic write needs no release to be before what follows the atomic read that
//! observes it, or one that observes a read-modify-write made of it: a counter of blocks
//! may be set back by a plain write in the last of them. That is of the observed write
//! alone. What its thread did before is not ordered by that, not even its loads of the same
//! location.
//!
//! The vector clocks hold base causality order. Beside them, a location has a [`Log`] of the
//! atomic operations on it, which is asked only where an atomic and another access would
//! be reported.

use std::collections::{HashMap, HashSet};

use gpurace_abi::scope::Scope;

/// An atomic operation on a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Logged {
    /// Its block's uid then.
    pub uid: u64,
    /// Its thread, linear in the block.
    pub thread: u32,
    /// The thread's epoch.
    pub clock: u32,
    /// The instruction, by its number in the process; `None` where it takes no part in
    /// races, or races as a plain access.
    pub site: Option<u32>,
    /// How far it is atomic.
    pub scope: Scope,
    /// It stores, or reads and modifies.
    pub modifies: bool,
    /// It has begun, and is not known to have happened.
    pub under_way: bool,
    /// Its place in the log.
    pub place: Place,
}

/// Where in a location's writes an operation stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The chain of read-modify-writes that it is in or, a load, that it has read from.
    chain: u32,
    /// Of a write, how many the location had with it.
    at: u32,
    /// As a read: it has observed its chain's writes up to this one. 0: none.
    seen: u32,
}

/// Operations from which on those are dropped that others stand for.
const ROOM: usize = 8;
/// Operations of one location beyond which more are dropped.
const MANY: usize = 1024;
/// Operations of one location beyond which it has no log for the rest of the launch.
const MOST: usize = 4096;
/// Operations from the newest among which a load looks for an older one of its thread.
const NEAR: usize = 16;

/// The atomic operations on a location by the newest launch that made one.
#[derive(Debug)]
pub(crate) struct Log {
    launch: u64,
    /// Nothing of that launch is missing that matters.
    whole: bool,
    ops: Vec<Logged>,
    chain: u32,
    writes: u32,
    /// While the store that began the chain is under way: the chain before, and its writes.
    before: Option<(u32, u32)>,
    room: usize,
}

impl Log {
    /// `whole`: of a location that was not accessed by atomics before.
    pub(crate) fn new(whole: bool) -> Self {
        Self { launch: 0, whole, ops: Vec::new(), chain: 0, writes: 0, before: None, room: ROOM }
    }

    fn of_launch(&mut self, launch: u64) -> bool {
        if launch > self.launch {
            // Nothing of it is missing: where there is a log, it has all that comes.
            let whole = self.whole || self.launch > 0;
            *self = Self { launch, ..Self::new(whole) };
        } else if launch < self.launch {
            // Of two launches at once, one has the log.
            self.whole = false;
        }
        self.whole
    }

    /// An atomic write, if its launch keeps a log. `linked`: it reads, and observes, the
    /// write before. `alone`: no other one is under way, on another processor. Of those that
    /// are, it is not known which comes first: they are taken for one chain.
    pub(crate) fn write(&mut self, op: Option<(u64, Logged)>, linked: bool, alone: bool) {
        let kept = match op {
            Some((launch, op)) => self.of_launch(launch).then_some(op),
            None => {
                self.whole = false;
                None
            }
        };
        if !linked && alone {
            self.before = Some((self.chain, self.writes));
            self.chain += 1;
        }
        self.writes += 1;
        if let Some(mut op) = kept {
            let seen = if linked { self.writes - 1 } else { 0 };
            op.place = Place { chain: self.chain, at: self.writes, seen };
            op.under_way = true;
            self.push(op);
        }
    }

    /// The chain that a write under way has begun may go on with the one before: they are taken for one.
    pub(crate) fn join_before(&mut self) {
        let Some((before, _)) = self.before.take() else { return };
        for op in self.ops.iter_mut().filter(|op| op.place.chain == self.chain) {
            op.place.chain = before;
        }
        self.chain = before;
    }

    /// Writes that the location has had in the launch of the log.
    pub(crate) fn writes(&self) -> u32 {
        self.writes
    }

    /// A write has happened that was logged before. What others on other processors
    /// have begun meanwhile may have happened before it.
    pub(crate) fn written(&mut self, uid: u64, thread: u32) {
        let (chain, writes) = (self.chain, self.writes);
        let of_thread = |o: &&mut Logged| (o.uid, o.thread, o.under_way) == (uid, thread, true);
        if let Some(own) = self.ops.iter_mut().rev().find(of_thread) {
            own.under_way = false;
            if own.place.chain == chain && own.place.at != writes {
                own.place.seen = writes;
            }
        }
    }

    /// Nothing is under way any more.
    pub(crate) fn settle(&mut self) {
        self.before = None;
    }

    /// A load. `observes`: it is morally strong with the location's newest write.
    pub(crate) fn read(&mut self, launch: u64, mut op: Logged, observes: bool) {
        if !self.of_launch(launch) {
            return;
        }
        if let Some((chain, seen)) = self.before {
            op.place = Place { chain, at: 0, seen };
            self.push_load(op);
        }
        let seen = if observes { self.writes } else { 0 };
        op.place = Place { chain: self.chain, at: 0, seen };
        self.push_load(op);
    }

    fn push_load(&mut self, op: Logged) {
        let same = |o: &&mut Logged| !o.modifies && Load::of(o, true) == Load::of(&op, true);
        match self.ops.iter_mut().rev().take(NEAR).find(same) {
            Some(older) => older.place.seen = older.place.seen.max(op.place.seen),
            None => self.push(op),
        }
    }

    fn push(&mut self, op: Logged) {
        if self.ops.len() >= self.room {
            self.drop_older(true);
            if self.ops.len() > MANY {
                // What a thread's load has observed counts from its last epoch on then.
                self.drop_older(false);
            }
            if self.ops.len() > MOST {
                (self.whole, self.ops) = (false, Vec::new());
            }
            self.room = ROOM.max(2 * self.ops.len());
        }
        self.ops.push(op);
    }

    /// Drops what newer operations stand for: a load by a later one of its thread,
    /// a read-modify-write by a later one of the instruction in its chain: who has observed that,
    /// or is ordered after it, has observed this one, and who has not races with it. One that is under way is still to be told what it has observed.
    fn drop_older(&mut self, epochs: bool) {
        let (mut loads, mut writes) = (HashMap::new(), HashSet::new());
        let mut kept: Vec<Logged> = Vec::new();
        for op in self.ops.iter().rev() {
            if op.modifies {
                // What may have observed newer ones stands for itself.
                let is_stood_for = !op.under_way && op.place.seen < op.place.at;
                if !writes.insert((op.place.chain, op.site)) && is_stood_for {
                    continue;
                }
            } else if let Some(&newer) = loads.get(&Load::of(op, epochs)) {
                let newer: &mut Logged = &mut kept[newer];
                newer.place.seen = newer.place.seen.max(op.place.seen);
                continue;
            } else {
                loads.insert(Load::of(op, epochs), kept.len());
            }
            kept.push(*op);
        }
        kept.reverse();
        self.ops = kept;
    }

    /// The operations, where all of them by the launch are known.
    pub(crate) fn of(&self, launch: u64) -> Option<Vec<Logged>> {
        (self.whole && self.launch == launch).then(|| self.ops.clone())
    }
}

/// What loads have in common of which one stands for all.
#[derive(PartialEq, Eq, Hash)]
struct Load {
    uid: u64,
    thread: u32,
    epoch: Option<u32>,
    chain: u32,
    raced: bool,
}

impl Load {
    fn of(op: &Logged, epochs: bool) -> Self {
        Self {
            uid: op.uid,
            thread: op.thread,
            epoch: epochs.then_some(op.clock),
            chain: op.place.chain,
            raced: op.site.is_some(),
        }
    }
}

/// Which of these operations a thread has neither observed nor is ordered after,
/// by which of them are `known` to be before it.
pub(crate) fn unobserved(ops: &[Logged], known: &[bool]) -> Vec<usize> {
    let mut observed: Vec<(u32, u32)> = Vec::new();
    for (op, _) in ops.iter().zip(known).filter(|(_, known)| **known) {
        let (chain, upto) = (op.place.chain, op.place.seen);
        match observed.iter_mut().find(|o| o.0 == chain) {
            Some(o) => o.1 = o.1.max(upto),
            None => observed.push((chain, upto)),
        }
    }
    let has_observed = |op: &Logged| {
        op.modifies && observed.iter().any(|&(chain, upto)| chain == op.place.chain && op.place.at <= upto)
    };
    (0..ops.len()).filter(|&i| !known[i] && !has_observed(&ops[i])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(thread: u32, site: u32, modifies: bool) -> Logged {
        let (uid, clock, site, scope) = (0, 0, Some(site), Scope::Device);
        Logged { uid, thread, clock, site, scope, modifies, under_way: false, place: Place::default() }
    }

    /// Threads and sites of what `knower` has neither observed nor done itself.
    fn left(log: &Log, knower: u32) -> Vec<(u32, u32)> {
        let ops = log.of(1).expect("a log");
        let known: Vec<_> = ops.iter().map(|o| o.thread == knower).collect();
        let left = unobserved(&ops, &known);
        left.iter().map(|&i| (ops[i].thread, ops[i].site.unwrap_or(0))).collect()
    }

    #[test]
    fn the_last_of_a_long_chain_has_observed_all_of_it() {
        let mut log = Log::new(true);
        for thread in 0..1000 {
            log.write(Some((1, op(thread, 7 + thread % 3, true))), thread > 0, true);
            log.written(0, thread);
        log.settle();
        }
        assert!(log.ops.len() < 2 * ROOM);
        assert_eq!(left(&log, 999), []);
        // The newest one stands for those of its instruction.
        assert_eq!(left(&log, 998), [(999, 7)]);
    }

    #[test]
    fn a_load_is_observed_by_nobody() {
        let mut log = Log::new(true);
        log.read(1, op(5, 3, false), true);
        log.write(Some((1, op(5, 1, true))), false, true);
        log.write(Some((1, op(6, 1, true))), true, true);
        assert_eq!(left(&log, 6), [(5, 3)]);
    }

    #[test]
    fn a_store_ends_a_chain() {
        let mut log = Log::new(true);
        log.write(Some((1, op(1, 1, true))), false, true);
        log.write(Some((1, op(2, 2, true))), false, true);
        log.written(0, 2);
        log.settle();
        log.read(1, op(3, 3, false), true);
        assert_eq!(left(&log, 3), [(1, 1)]);
    }

    #[test]
    fn a_store_beside_another_write_ends_none() {
        let mut log = Log::new(true);
        log.write(Some((1, op(1, 1, true))), false, true);
        log.write(Some((1, op(2, 2, true))), false, false);
        log.written(0, 1);
        log.written(0, 2);
        log.settle();
        assert_eq!(left(&log, 1), []);
        log.read(1, op(3, 3, false), true);
        assert_eq!(left(&log, 3), []);
    }

    #[test]
    fn of_many_under_way_any_may_have_observed_all() {
        let mut log = Log::new(true);
        let threads = 4 * NEAR as u32;
        for thread in 0..threads {
            log.write(Some((1, op(thread, 1, true))), thread > 0, thread == 0);
        }
        // Nobody is known to have read yet what came later.
        assert_eq!(left(&log, 1).len() as u32, threads - 2);
        for thread in 0..threads {
            log.written(0, thread);
        }
        for thread in [0, 1, threads - 1] {
            assert_eq!(left(&log, thread), [], "{thread}");
        }
        // What begins later nobody of them has observed.
        log.write(Some((1, op(threads, 1, true))), true, true);
        assert_eq!(left(&log, 1), [(threads, 1)]);
    }

    #[test]
    fn a_log_that_is_too_long_is_none() {
        let mut log = Log::new(true);
        for thread in 0..4 * MOST as u32 {
            log.read(1, op(thread, 1, false), true);
        }
        assert!(log.of(1).is_none());
        // The next launch has one again.
        log.write(Some((2, op(0, 1, true))), false, true);
        assert!(log.of(2).is_some());
    }
}
