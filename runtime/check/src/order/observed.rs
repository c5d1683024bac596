//! Observed writes: atomic writes whose values atomic reads have read.
//!
//! PTX ISA, "Causality order": an operation also happens before another one if it precedes a third
//! in observation order, and the third is before the other in base causality order. So an atomic
//! write needs no release to happen before what follows an atomic read of its value, or of the
//! value that a chain of read-modify-writes made of it. For example, the last block that adds to a
//! counter may reset it by a plain write. This orders the observed write alone: not what its thread
//! did before, not even loads of the same location.
//!
//! The vector clocks hold base causality order. Beside them each location has an
//! [`ObservationLog`] of the atomic operations on it. It is asked only when a race of an atomic
//! access is about to be reported.
//!
//! Operations of threads on several workers may be *under way* at once: begun, and not known to
//! have happened. It is not known which of them comes first, so they count as one chain.

use std::collections::{HashMap, HashSet};

use gpurace_abi::scope::Scope;

/// An atomic operation on a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtomicOperation {
    /// Uid that its block had when the thread made it.
    pub uid: u64,
    /// Its thread, linear in the block.
    pub thread: u32,
    /// The thread's epoch.
    pub clock: u32,
    /// The instruction, by its number in the process; `None` if it takes no part in races, or races
    /// as a plain access.
    pub site: Option<u32>,
    /// The threads to which it is atomic.
    pub scope: Scope,
    /// It stores, or reads and modifies; otherwise it loads.
    pub modifies: bool,
    /// It is under way.
    pub under_way: bool,
    /// Its place in the log.
    pub place: Place,
}

/// The place of an operation among a location's writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The chain that a write is in, or that a load has read from. A chain is a store and the
    /// read-modify-writes of its value.
    chain: u32,
    /// The number of a write among the location's writes, from 1 on.
    at: u32,
    /// The last write of the chain that the operation, as a read, may have observed; 0 for none.
    seen: u32,
}

/// Number of operations from which on a log drops those that others stand for.
const ROOM: usize = 8;
/// Number of operations from which on a log drops more of them.
const MANY: usize = 1024;
/// Most operations of a log. A location with more has no log for the rest of the launch.
const MOST: usize = 4096;
/// How many of the newest operations a load searches for an older one of its thread.
const NEAR: usize = 16;

/// The atomic operations on a location by the newest launch that made one.
#[derive(Debug)]
pub(crate) struct ObservationLog {
    launch: u64,
    /// No operation of the launch is missing, except those that others stand for.
    whole: bool,
    ops: Vec<AtomicOperation>,
    /// The newest chain.
    chain: u32,
    /// Number of the newest write.
    writes: u32,
    /// While the store that began the chain is under way: the chain before, and its last write.
    before: Option<(u32, u32)>,
    /// Number of operations at which it drops some again.
    room: usize,
}

impl ObservationLog {
    /// An empty log. `whole`: no atomic has accessed the location before.
    pub(crate) fn new(whole: bool) -> Self {
        Self { launch: 0, whole, ops: Vec::new(), chain: 0, writes: 0, before: None, room: ROOM }
    }

    /// Makes it the log of this launch, unless it is of a later one. True if it is whole.
    fn of_launch(&mut self, launch: u64) -> bool {
        if launch > self.launch {
            // A log misses nothing that comes after its first operation.
            let whole = self.whole || self.launch > 0;
            *self = Self { launch, ..Self::new(whole) };
        } else if launch < self.launch {
            // The log is of one of two launches that run at once.
            self.whole = false;
        }
        self.whole
    }

    /// Adds an atomic write; `None` if its launch keeps no logs. `linked`: it reads and observes the
    /// write before it. `alone`: nothing else is under way.
    pub(crate) fn write(&mut self, op: Option<(u64, AtomicOperation)>, linked: bool, alone: bool) {
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

    /// Joins the chain that a write under way has begun to the one before, which it may continue.
    pub(crate) fn join_before(&mut self) {
        let Some((before, _)) = self.before.take() else { return };
        for op in self.ops.iter_mut().filter(|op| op.place.chain == self.chain) {
            op.place.chain = before;
        }
        self.chain = before;
    }

    /// Number of writes in the launch of the log.
    pub(crate) fn writes(&self) -> u32 {
        self.writes
    }

    /// Notes that a write of the log has happened. Writes that began meanwhile may have happened
    /// before it.
    pub(crate) fn written(&mut self, uid: u64, thread: u32) {
        let (chain, writes) = (self.chain, self.writes);
        let of_thread = |o: &&mut AtomicOperation| (o.uid, o.thread, o.under_way) == (uid, thread, true);
        if let Some(own) = self.ops.iter_mut().rev().find(of_thread) {
            own.under_way = false;
            if own.place.chain == chain && own.place.at != writes {
                own.place.seen = writes;
            }
        }
    }

    /// Notes that nothing is under way any more.
    pub(crate) fn settle(&mut self) {
        self.before = None;
    }

    /// Adds a load. `observes`: it is morally strong with the newest write.
    pub(crate) fn read(&mut self, launch: u64, mut op: AtomicOperation, observes: bool) {
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

    /// Adds a load, or what it has observed to an older load that it equals.
    fn push_load(&mut self, op: AtomicOperation) {
        let same = |o: &&mut AtomicOperation| !o.modifies && Load::of(o, true) == Load::of(&op, true);
        match self.ops.iter_mut().rev().take(NEAR).find(same) {
            Some(older) => older.place.seen = older.place.seen.max(op.place.seen),
            None => self.push(op),
        }
    }

    /// Adds an operation. Drops others, or all, if there are too many.
    fn push(&mut self, op: AtomicOperation) {
        if self.ops.len() >= self.room {
            self.drop_older(true);
            if self.ops.len() > MANY {
                // A thread's last load then stands for those of earlier epochs, too.
                self.drop_older(false);
            }
            if self.ops.len() > MOST {
                (self.whole, self.ops) = (false, Vec::new());
            }
            self.room = ROOM.max(2 * self.ops.len());
        }
        self.ops.push(op);
    }

    /// Drops operations that newer ones stand for:
    ///
    /// - A later load of its thread stands for a load; of the same epoch if `epochs`.
    /// - A later write of its instruction in its chain stands for a write. Whoever has observed the
    ///   later one, or is ordered after it, has observed this one; whoever has not races with the
    ///   later one. A write under way stays: it is not known yet what it has observed.
    fn drop_older(&mut self, epochs: bool) {
        let (mut loads, mut writes) = (HashMap::new(), HashSet::new());
        let mut kept: Vec<AtomicOperation> = Vec::new();
        for op in self.ops.iter().rev() {
            if op.modifies {
                // A write that may have observed newer ones stays.
                let is_stood_for = !op.under_way && op.place.seen < op.place.at;
                if !writes.insert((op.place.chain, op.site)) && is_stood_for {
                    continue;
                }
            } else if let Some(&newer) = loads.get(&Load::of(op, epochs)) {
                let newer: &mut AtomicOperation = &mut kept[newer];
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

    /// The operations of a launch; `None` if they are not all known.
    pub(crate) fn of(&self, launch: u64) -> Option<Vec<AtomicOperation>> {
        (self.whole && self.launch == launch).then(|| self.ops.clone())
    }
}

/// What loads have in common if one of them stands for all.
#[derive(PartialEq, Eq, Hash)]
struct Load {
    uid: u64,
    thread: u32,
    epoch: Option<u32>,
    chain: u32,
    raced: bool,
}

impl Load {
    fn of(op: &AtomicOperation, epochs: bool) -> Self {
        Self {
            uid: op.uid,
            thread: op.thread,
            epoch: epochs.then_some(op.clock),
            chain: op.place.chain,
            raced: op.site.is_some(),
        }
    }
}

/// The operations, by index, that a thread has not observed and is not ordered after. `known` says
/// which ones it is ordered after. What it may have observed counts as observed.
pub(crate) fn unobserved(ops: &[AtomicOperation], known: &[bool]) -> Vec<usize> {
    // For each chain, the last write that was observed.
    let mut observed: Vec<(u32, u32)> = Vec::new();
    for (op, _) in ops.iter().zip(known).filter(|(_, known)| **known) {
        let Place { chain, seen, .. } = op.place;
        match observed.iter_mut().find(|o| o.0 == chain) {
            Some(o) => o.1 = o.1.max(seen),
            None => observed.push((chain, seen)),
        }
    }
    let is_observed = |op: &AtomicOperation| {
        op.modifies && observed.iter().any(|&(chain, seen)| chain == op.place.chain && op.place.at <= seen)
    };
    (0..ops.len()).filter(|&i| !known[i] && !is_observed(&ops[i])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(thread: u32, site: u32, modifies: bool) -> AtomicOperation {
        let (uid, clock, site, scope) = (0, 0, Some(site), Scope::Device);
        AtomicOperation {
            uid,
            thread,
            clock,
            site,
            scope,
            modifies,
            under_way: false,
            place: Place::default(),
        }
    }

    /// Threads and sites of the operations that `knower` has neither observed nor made.
    fn left(log: &ObservationLog, knower: u32) -> Vec<(u32, u32)> {
        let ops = log.of(1).expect("a log");
        let known: Vec<_> = ops.iter().map(|o| o.thread == knower).collect();
        let left = unobserved(&ops, &known);
        left.iter().map(|&i| (ops[i].thread, ops[i].site.unwrap_or(0))).collect()
    }

    #[test]
    fn the_last_of_a_long_chain_has_observed_all_of_it() {
        let mut log = ObservationLog::new(true);
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
        let mut log = ObservationLog::new(true);
        log.read(1, op(5, 3, false), true);
        log.write(Some((1, op(5, 1, true))), false, true);
        log.write(Some((1, op(6, 1, true))), true, true);
        assert_eq!(left(&log, 6), [(5, 3)]);
    }

    #[test]
    fn a_store_ends_a_chain() {
        let mut log = ObservationLog::new(true);
        log.write(Some((1, op(1, 1, true))), false, true);
        log.write(Some((1, op(2, 2, true))), false, true);
        log.written(0, 2);
        log.settle();
        log.read(1, op(3, 3, false), true);
        assert_eq!(left(&log, 3), [(1, 1)]);
    }

    #[test]
    fn a_store_beside_another_write_ends_none() {
        let mut log = ObservationLog::new(true);
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
        let mut log = ObservationLog::new(true);
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
        // None of them has observed a write that begins later.
        log.write(Some((1, op(threads, 1, true))), true, true);
        assert_eq!(left(&log, 1), [(threads, 1)]);
    }

    #[test]
    fn a_log_that_is_too_long_is_none() {
        let mut log = ObservationLog::new(true);
        for thread in 0..4 * MOST as u32 {
            log.read(1, op(thread, 1, false), true);
        }
        assert!(log.of(1).is_none());
        // The next launch has one again.
        log.write(Some((2, op(0, 1, true))), false, true);
        assert!(log.of(2).is_some());
    }
}
