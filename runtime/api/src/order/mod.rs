//! The order of operations: a vector clock for each stream.
//!
//! Two operations may overlap on a device unless something orders them, even if the executor runs
//! them one after the other. The rules of order are those of the CUDA C++ Programming Guide,
//! "Streams", "Default Stream" and "Events":
//!
//! - operations of one stream run in order;
//! - an operation of the legacy default stream runs after all earlier ones of blocking streams, and
//!   later ones of those streams run after it;
//! - an event carries the order of its stream to a stream that waits for it;
//! - an operation that the host waited for runs before all operations that the host submits later.
//!
//! Transfers are numbered among the launches if another operation may overlap them. The others
//! cannot race.
//!
//! Host threads share one clock, since the library does not see how they synchronise with each other. This may add an
//! order that the program does not have, and so hide a race. Too little order would invent races. For the same reason a
//! new stream starts after everything that all earlier streams have waited for. So the library keeps no operation of a
//! program with one stream.

use std::collections::{BTreeMap, VecDeque};

/// The number of a stream. No two streams have the same. 0 is the legacy default stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u64);

/// The legacy default stream.
pub const DEFAULT: StreamId = StreamId(0);

/// For each stream, the number of its operations that come before a point.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clock(BTreeMap<StreamId, u64>);

impl Clock {
    /// Adds the operations of another clock.
    pub fn join(&mut self, other: &Self) {
        for (&stream, &tick) in &other.0 {
            let mine = self.0.entry(stream).or_default();
            *mine = (*mine).max(tick);
        }
    }

    /// True if the first `tick` operations of a stream are among them.
    fn knows(&self, stream: StreamId, tick: u64) -> bool {
        self.0.get(&stream).is_some_and(|&known| known >= tick)
    }

    /// How many operations of a stream are among them.
    fn count(&self, stream: StreamId) -> u64 {
        self.0.get(&stream).copied().unwrap_or_default()
    }

    /// Adds the next operation of a stream. Returns how many those of the stream are now.
    fn tick(&mut self, stream: StreamId) -> u64 {
        let tick = self.0.entry(stream).or_default();
        *tick += 1;
        *tick
    }
}

/// What orders the operations of a stream other than the default stream.
#[derive(Debug, Default)]
struct StreamOrder {
    /// The operations that its next one comes after, as far as the stream tells.
    clock: Clock,
    /// It is ordered with the default stream.
    blocking: bool,
}

/// An operation that was submitted.
#[derive(Clone, Copy, Debug)]
struct Submitted {
    /// Its number.
    operation: u64,
    stream: StreamId,
    /// How many operations its stream has had, with it.
    tick: u64,
}

/// The order of an operation among the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationOrder {
    /// Earlier operations that are not ordered before it, in the order of their submission.
    pub unordered: Vec<u64>,
    /// Operations up to this one are ordered before every operation to come.
    pub settled: u64,
    /// An earlier or later operation may overlap it.
    pub overlaps: bool,
}

/// What may overlap a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransferOrder {
    /// Nothing. It has no number.
    Alone,
    /// Accesses of the host alone.
    BesideHost,
    /// Other operations.
    BesideOthers(OperationOrder),
}

/// The order of all operations that were submitted. At first there are none, and only the default
/// stream.
#[derive(Debug, Default)]
pub struct Order {
    /// The operations that the next one of the default stream comes after, as far as that stream tells.
    default: Clock,
    /// The other streams.
    streams: BTreeMap<StreamId, StreamOrder>,
    /// The number of the stream that was made last.
    last_stream: u64,
    /// The operations that the host has waited for.
    host: Clock,
    /// The operations that some operation to come may overlap, and the last one.
    pending: Vec<Submitted>,
    /// The last operations that the host may not have waited for.
    unwaited: VecDeque<Submitted>,
}

/// Operations that are kept for [`Order::unwaited`].
const UNWAITED: usize = 1 << 12;

impl Order {
    /// Makes a stream. `blocking`: it is ordered with the default stream.
    pub fn create(&mut self, blocking: bool) -> StreamId {
        let clock = self.after_all();
        self.last_stream += 1;
        let id = StreamId(self.last_stream);
        self.streams.insert(id, StreamOrder { clock, blocking });
        id
    }

    /// Begins a stream for a part of a graph: a new one, or one that an earlier launch of the graph
    /// has used. It begins after `clock` alone, and ends by [`Self::destroy`].
    pub fn open(&mut self, again: Option<StreamId>, clock: Clock) -> StreamId {
        let id = again.unwrap_or_else(|| {
            self.last_stream += 1;
            StreamId(self.last_stream)
        });
        self.streams.insert(id, StreamOrder { clock, blocking: false });
        id
    }

    /// The clock of a stream's last operation, itself included.
    pub fn now(&self, id: StreamId) -> Clock {
        match id {
            DEFAULT => self.default.clone(),
            _ => self.streams.get(&id).map(|stream| stream.clock.clone()).unwrap_or_default(),
        }
    }

    /// Removes a stream. Its operations stay unordered until the host waits.
    pub fn destroy(&mut self, id: StreamId) {
        // The default stream would have waited for it.
        if let Some(stream) = self.streams.remove(&id)
            && stream.blocking
        {
            self.default.join(&stream.clock);
        }
    }

    /// Submits an operation. Returns the clock of the operations that it runs after, itself
    /// included.
    pub fn submit(&mut self, id: StreamId) -> Clock {
        let clock = if id == DEFAULT {
            for stream in self.streams.values().filter(|stream| stream.blocking) {
                self.default.join(&stream.clock);
            }
            &mut self.default
        } else {
            let stream = self.streams.entry(id).or_default();
            if stream.blocking {
                stream.clock.join(&self.default);
            }
            &mut stream.clock
        };
        clock.join(&self.host);
        clock.tick(id);
        clock.clone()
    }

    /// Submits a launch with this number. Later operations have larger numbers.
    pub fn launch(&mut self, id: StreamId, operation: u64) -> OperationOrder {
        self.settle();
        let clock = self.submit(id);
        self.place(id, operation, &clock)
    }

    /// Submits a transfer. It gets this number if another operation may overlap it, or the host, which may access
    /// its memory if `host_visible`. The host waits for it if `waits`.
    pub fn transfer(
        &mut self,
        id: StreamId,
        operation: u64,
        waits: bool,
        host_visible: bool,
    ) -> TransferOrder {
        self.settle();
        let clock = self.submit(id);
        if waits {
            self.host_waits(&clock);
        }
        let tick = clock.count(id);
        let alone = self.unordered(&clock).next().is_none() && self.after_all().knows(id, tick);
        if !alone {
            TransferOrder::BesideOthers(self.place(id, operation, &clock))
        } else if host_visible && !waits {
            self.keep_unwaited(Submitted { operation, stream: id, tick });
            TransferOrder::BesideHost
        } else {
            TransferOrder::Alone
        }
    }

    /// Submits an operation that nothing to come can meet. Returns its order to those before it.
    pub fn last_use(&mut self, id: StreamId, operation: u64) -> OperationOrder {
        self.settle();
        let clock = self.submit(id);
        let unordered: Vec<u64> = self.unordered(&clock).collect();
        let settled = self.settled_before(operation);
        OperationOrder { overlaps: !unordered.is_empty(), unordered, settled }
    }

    /// The last operation that all to come are ordered after.
    fn settled_before(&self, operation: u64) -> u64 {
        self.pending.first().map_or(operation, |oldest| oldest.operation) - 1
    }

    /// Operations that are not before this clock.
    fn unordered(&self, clock: &Clock) -> impl Iterator<Item = u64> {
        self.pending
            .iter()
            .filter(|earlier| !clock.knows(earlier.stream, earlier.tick))
            .map(|earlier| earlier.operation)
    }

    /// The order of an operation that was submitted with this clock.
    fn place(&mut self, id: StreamId, operation: u64, clock: &Clock) -> OperationOrder {
        let unordered: Vec<u64> = self.unordered(clock).collect();
        let settled = self.settled_before(operation);
        let tick = clock.count(id);
        let overlaps = !unordered.is_empty() || !self.after_all().knows(id, tick);
        let submitted = Submitted { operation, stream: id, tick };
        self.pending.push(submitted);
        self.keep_unwaited(submitted);
        OperationOrder { unordered, settled, overlaps }
    }

    /// Adds an operation to those that the host has not waited for.
    fn keep_unwaited(&mut self, submitted: Submitted) {
        if self.unwaited.len() == UNWAITED {
            self.unwaited.pop_front();
        }
        self.unwaited.push_back(submitted);
    }

    /// Forgets operations that all operations to come are ordered after.
    fn settle(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let after_all = self.after_all();
        self.pending.retain(|earlier| !after_all.knows(earlier.stream, earlier.tick));
    }

    /// The operations that every operation to come is ordered after, on whichever stream.
    fn after_all(&self) -> Clock {
        // What the next operation of the default stream comes after.
        let mut all = self.default.clone();
        for stream in self.streams.values().filter(|stream| stream.blocking) {
            all.join(&stream.clock);
        }
        for stream in self.streams.values() {
            all.0.retain(|&of, tick| {
                let of_default = if stream.blocking { self.default.count(of) } else { 0 };
                *tick = (*tick).min(stream.clock.count(of).max(of_default));
                *tick > 0
            });
        }
        all.join(&self.host);
        all
    }

    /// Operations that a later one may overlap, and the last operation, in the order of their
    /// submission.
    pub fn unsettled(&self) -> impl Iterator<Item = u64> {
        self.pending.iter().map(|submitted| submitted.operation)
    }

    /// Lets a stream wait for the operations of a clock.
    pub fn wait(&mut self, id: StreamId, clock: &Clock) {
        match id {
            DEFAULT => self.default.join(clock),
            _ => self.streams.entry(id).or_default().clock.join(clock),
        }
    }

    /// True if the host has not waited for some operation.
    pub fn host_is_ahead(&mut self) -> bool {
        let host = &self.host;
        self.unwaited.retain(|submitted| !host.knows(submitted.stream, submitted.tick));
        !self.unwaited.is_empty()
    }

    /// The operations that the host has not waited for. If there are more than are kept, the last ones.
    pub fn unwaited(&mut self) -> Vec<u64> {
        self.host_is_ahead();
        self.unwaited.iter().map(|submitted| submitted.operation).collect()
    }

    /// Lets the host wait for the operations of a clock.
    pub fn host_waits(&mut self, clock: &Clock) {
        self.host.join(clock);
    }

    /// Lets the host wait for all operations.
    pub fn host_waits_for_all(&mut self) {
        self.host.join(&self.default);
        for stream in self.streams.values() {
            self.host.join(&stream.clock);
        }
        // Destroyed streams have no clock any more. Their operations are over too.
        for earlier in self.pending.iter().chain(&self.unwaited) {
            let known = self.host.0.entry(earlier.stream).or_default();
            *known = (*known).max(earlier.tick);
        }
        self.pending.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn expect(order: &mut Order, stream: StreamId, launch: u64, unordered: &[u64]) {
        assert_eq!(order.launch(stream, launch).unordered, unordered);
    }

    const fn settled(launch: u64) -> OperationOrder {
        OperationOrder { unordered: vec![], settled: launch, overlaps: false }
    }

    fn two_streams(blocking: bool) -> (Order, StreamId, StreamId) {
        let mut order = Order::default();
        let a = order.create(blocking);
        let b = order.create(blocking);
        (order, a, b)
    }

    #[test]
    fn one_stream_is_in_order_and_two_are_not() {
        let (mut order, a, b) = two_streams(true);
        expect(&mut order, a, 1, &[]);
        expect(&mut order, a, 2, &[]);
        expect(&mut order, b, 3, &[1, 2]);
        expect(&mut order, a, 4, &[3]);
    }

    #[test]
    fn the_default_stream_orders_blocking_streams_only() {
        let (mut order, a, b) = two_streams(true);
        order.launch(a, 1);
        expect(&mut order, DEFAULT, 2, &[]);
        expect(&mut order, b, 3, &[]);

        let (mut order, a, b) = two_streams(false);
        order.launch(a, 1);
        expect(&mut order, DEFAULT, 2, &[1]);
        expect(&mut order, b, 3, &[1, 2]);
    }

    #[test]
    fn an_event_orders_what_is_before_it_alone() {
        let (mut order, a, b) = two_streams(false);
        order.launch(a, 1);
        let event = order.submit(a);
        order.launch(a, 2);
        order.wait(b, &event);
        expect(&mut order, b, 3, &[2]);
    }

    #[test]
    fn the_host_orders_what_it_waited_for() {
        let (mut order, a, b) = two_streams(false);
        order.launch(a, 1);
        let done = order.submit(a);
        expect(&mut order, b, 2, &[1]);
        order.host_waits(&done);
        expect(&mut order, b, 3, &[]);
        expect(&mut order, a, 4, &[2, 3]);
        order.host_waits_for_all();
        expect(&mut order, b, 5, &[]);
        assert_eq!(order.pending.len(), 1);
    }

    #[test]
    fn one_stream_settles_each_launch_at_once() {
        let mut order = Order::default();
        for launch in 1..100 {
            let ordered = order.launch(DEFAULT, launch);
            assert_eq!(ordered, settled(launch - 1));
        }
        assert_eq!(order.pending.len(), 1);
        // A stream that comes later is after all of them, a later launch is not.
        let late = order.create(false);
        expect(&mut order, late, 100, &[]);
        expect(&mut order, DEFAULT, 101, &[100]);
        assert_eq!(
            order.launch(late, 102),
            OperationOrder { unordered: vec![101], settled: 99, overlaps: true }
        );
    }

    #[test]
    fn a_blocking_stream_beside_the_default_one_settles_too() {
        let mut order = Order::default();
        let a = order.create(true);
        assert_eq!(order.launch(a, 1), settled(0));
        assert_eq!(order.launch(DEFAULT, 2), settled(1));
        assert_eq!(order.launch(a, 3), settled(2));
    }

    #[test]
    fn a_destroyed_stream_leaves_its_launches_unordered() {
        let (mut order, a, b) = two_streams(false);
        order.launch(a, 1);
        order.destroy(a);
        expect(&mut order, b, 2, &[1]);
        order.host_waits_for_all();
        expect(&mut order, b, 3, &[]);
    }

    #[test]
    fn a_copy_that_nothing_can_overlap_is_none() {
        let mut order = Order::default();
        order.launch(DEFAULT, 1);
        let copy = |order: &mut Order, stream, number, waits| order.transfer(stream, number, waits, false);
        assert_eq!(copy(&mut order, DEFAULT, 2, false), TransferOrder::Alone);
        assert_eq!(copy(&mut order, DEFAULT, 2, true), TransferOrder::Alone);
        // Blocking streams wait for the default one, whoever submits next.
        let a = order.create(true);
        assert_eq!(copy(&mut order, DEFAULT, 2, false), TransferOrder::Alone);
        assert_eq!(copy(&mut order, a, 2, false), TransferOrder::Alone);
        // Another stream does not wait for the first.
        let b = order.create(true);
        let beside = |unordered: &[u64], settled| {
            let unordered = unordered.to_vec();
            TransferOrder::BesideOthers(OperationOrder { unordered, settled, overlaps: true })
        };
        assert_eq!(copy(&mut order, a, 2, false), beside(&[], 1));
        assert_eq!(copy(&mut order, b, 3, true), beside(&[2], 1));
        // The host has waited for the second, not for the first.
        expect(&mut order, b, 4, &[2]);
        order.host_waits_for_all();
        assert_eq!(copy(&mut order, b, 5, true), TransferOrder::Alone);
    }

    #[test]
    fn the_host_may_meet_a_copy_that_nothing_else_can_overlap() {
        let mut order = Order::default();
        assert_eq!(order.transfer(DEFAULT, 1, true, true), TransferOrder::Alone);
        assert!(!order.host_is_ahead());
        assert_eq!(order.transfer(DEFAULT, 1, false, true), TransferOrder::BesideHost);
        assert_eq!(order.unwaited(), [1]);
        // It is ordered before all that follows.
        expect(&mut order, DEFAULT, 2, &[]);
        order.host_waits_for_all();
        assert!(!order.host_is_ahead());
    }

    #[test]
    fn the_host_is_ahead_until_it_waits() {
        let (mut order, a, b) = two_streams(false);
        assert!(!order.host_is_ahead());
        order.launch(a, 1);
        let after_first = order.submit(a);
        order.launch(a, 2);
        order.launch(b, 3);
        order.launch(DEFAULT, 4);
        assert_eq!(order.unwaited(), [1, 2, 3, 4]);
        order.host_waits(&after_first);
        assert_eq!(order.unwaited(), [2, 3, 4]);
        order.destroy(b);
        order.transfer(a, 5, true, true);
        let waited = order.now(a);
        order.host_waits(&waited);
        assert_eq!(order.unwaited(), [3, 4]);
        order.host_waits_for_all();
        assert!(!order.host_is_ahead());
    }

    #[test]
    fn nothing_is_beside_a_last_use() {
        let mut order = Order::default();
        let (a, b) = (order.create(false), order.create(false));
        order.launch(a, 1);
        order.launch(b, 2);
        assert_eq!(order.last_use(a, 3).unordered, [2]);
        expect(&mut order, b, 4, &[1]);
        // It still is an operation of its stream.
        let freed = order.now(a);
        order.wait(b, &freed);
        expect(&mut order, b, 5, &[]);
        order.host_waits_for_all();
        assert!(order.last_use(b, 6).unordered.is_empty());
    }

    #[test]
    fn a_stream_that_waits_for_nobody_overlaps_what_the_host_did_not_wait_for() {
        let mut order = Order::default();
        let own = order.create(false);
        let fill = order.transfer(DEFAULT, 1, false, false);
        assert!(matches!(fill, TransferOrder::BesideOthers(_)));
        expect(&mut order, own, 2, &[1]);
        order.host_waits_for_all();
        assert_eq!(order.transfer(DEFAULT, 3, true, false), TransferOrder::Alone);
        expect(&mut order, own, 3, &[]);
    }
}
