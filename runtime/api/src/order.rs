//! Which work is ordered before which: vector clocks per stream.
//!
//! Work runs as it is submitted, one piece after the other. On a device it may
//! overlap; what forbids that is kept here, so that launches which only happen
//! to run one after the other are told from launches that must. The rules are
//! those of the CUDA C++ Programming Guide, "Streams", "Default Stream" and
//! "Events":
//!
//! - operations of one stream run in order;
//! - an operation of the legacy default stream runs after all earlier ones of
//!   blocking streams, and those run after it;
//! - an event carries the order of its stream to whoever waits for it;
//! - what the host waited for is before all that it submits later.
//!
//! Copies and fills that kernels could see are numbered among the launches,
//! but only those that something may overlap: the others cannot race.
//!
//! Host threads share one clock: how they synchronise with each other cannot be
//! seen here, and an order too many hides a race where an order too few would
//! invent one. For the same reason a new stream starts after everything that
//! all streams before it had already waited for, so that a program with one
//! stream keeps nothing.

use std::collections::{BTreeMap, VecDeque};

use parking_lot::Mutex;

/// A stream. Numbers are never used twice; 0 is the legacy default stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u64);

/// The legacy default stream.
pub const DEFAULT: StreamId = StreamId(0);

/// For each stream the number of its operations that are known to be over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clock(BTreeMap<StreamId, u64>);

impl Clock {
    /// Adds what another has seen.
    pub fn join(&mut self, other: &Self) {
        for (&stream, &tick) in &other.0 {
            let mine = self.0.entry(stream).or_default();
            *mine = (*mine).max(tick);
        }
    }

    fn knows(&self, stream: StreamId, tick: u64) -> bool {
        self.0.get(&stream).is_some_and(|&known| known >= tick)
    }

    fn tick(&mut self, stream: StreamId) -> u64 {
        let tick = self.0.entry(stream).or_default();
        *tick += 1;
        *tick
    }
}

#[derive(Debug, Default)]
struct StreamOrder {
    clock: Clock,
    blocking: bool,
}

/// A launch that the host has not waited for.
#[derive(Clone, Copy, Debug)]
struct Pending {
    launch: u64,
    stream: StreamId,
    tick: u64,
}

/// Where a launch stands to the ones before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ordered {
    /// Earlier launches that nothing orders before it, in the order of their
    /// submission.
    pub unordered: Vec<u64>,
    /// Launches up to this one are before every launch still to come.
    pub settled: u64,
    /// Some launch, an earlier one or one still to come, may run while it does.
    pub overlaps: bool,
}

/// The order of everything that was submitted.
#[derive(Debug, Default)]
pub struct Order {
    streams: BTreeMap<StreamId, StreamOrder>,
    last_stream: u64,
    host: Clock,
    pending: Vec<Pending>,
    /// Launches that the host may not have waited for, the last ones.
    unwaited: VecDeque<Pending>,
}

/// Launches that are kept for [`Order::unwaited`].
const UNWAITED: usize = 1 << 12;

/// The order of this process.
pub static ORDER: Mutex<Order> = Mutex::new(Order::new());

impl Order {
    /// Nothing submitted, the default stream alone.
    pub const fn new() -> Self {
        Self {
            streams: BTreeMap::new(),
            last_stream: 0,
            host: Clock(BTreeMap::new()),
            pending: Vec::new(),
            unwaited: VecDeque::new(),
        }
    }

    /// A new stream; `blocking` if it is ordered with the default stream.
    pub fn create(&mut self, blocking: bool) -> StreamId {
        let clock = self.after_all();
        self.last_stream += 1;
        let id = StreamId(self.last_stream);
        self.streams.insert(id, StreamOrder { clock, blocking });
        id
    }

    /// A stream for part of a graph, which begins after `clock` alone; one that
    /// was there before may come again. It ends by [`Self::destroy`].
    pub fn open(&mut self, again: Option<StreamId>, clock: Clock) -> StreamId {
        let id = again.unwrap_or_else(|| {
            self.last_stream += 1;
            StreamId(self.last_stream)
        });
        self.streams.insert(id, StreamOrder { clock, blocking: false });
        id
    }

    /// What the last operation of a stream was after, itself included.
    pub fn now(&self, id: StreamId) -> Clock {
        self.streams.get(&id).map(|stream| stream.clock.clone()).unwrap_or_default()
    }

    /// Forgets a stream. Its launches stay unordered until somebody waits.
    pub fn destroy(&mut self, id: StreamId) {
        // What the default stream would have waited for must not be lost.
        if let Some(stream) = self.streams.remove(&id)
            && stream.blocking
        {
            self.default_stream().clock.join(&stream.clock);
        }
    }

    fn default_stream(&mut self) -> &mut StreamOrder {
        self.streams
            .entry(DEFAULT)
            .or_insert_with(|| StreamOrder { clock: Clock::default(), blocking: false })
    }

    /// An operation is submitted to `stream`; gives what it runs after,
    /// itself included.
    pub fn submit(&mut self, id: StreamId) -> Clock {
        let mut clock = std::mem::take(&mut self.default_stream().clock);
        if id == DEFAULT {
            for stream in self.streams.values().filter(|stream| stream.blocking) {
                clock.join(&stream.clock);
            }
            clock.join(&self.host);
            clock.tick(id);
            self.default_stream().clock = clock.clone();
            return clock;
        }
        let stream = self.streams.entry(id).or_default();
        if stream.blocking {
            stream.clock.join(&clock);
        }
        stream.clock.join(&self.host);
        stream.clock.tick(id);
        let submitted = stream.clock.clone();
        self.default_stream().clock = clock;
        submitted
    }

    /// A launch is submitted to `stream`; later launches have larger ids.
    pub fn launch(&mut self, id: StreamId, launch: u64) -> Ordered {
        self.settle();
        let clock = self.submit(id);
        self.place(id, launch, &clock)
    }

    /// A copy is submitted to `stream`, under this number if something may
    /// overlap it; the host waits for it if `waits`.
    pub fn copy(&mut self, id: StreamId, launch: u64, waits: bool) -> (Clock, Option<Ordered>) {
        self.settle();
        let clock = self.submit(id);
        if waits {
            self.host_waits(&clock);
        }
        let tick = clock.0.get(&id).copied().unwrap_or_default();
        let alone = self.unordered(&clock).next().is_none() && self.after_all().knows(id, tick);
        let ordered = (!alone).then(|| self.place(id, launch, &clock));
        (clock, ordered)
    }

    /// Launches that an operation with this clock is not after.
    fn unordered(&self, clock: &Clock) -> impl Iterator<Item = u64> {
        self.pending
            .iter()
            .filter(|earlier| !clock.knows(earlier.stream, earlier.tick))
            .map(|earlier| earlier.launch)
    }

    /// Where a launch that was submitted with this clock stands to the others.
    fn place(&mut self, id: StreamId, launch: u64, clock: &Clock) -> Ordered {
        let unordered: Vec<u64> = self.unordered(clock).collect();
        let settled = self.pending.first().map_or(launch, |oldest| oldest.launch) - 1;
        let tick = clock.0.get(&id).copied().unwrap_or_default();
        let overlaps = !unordered.is_empty() || !self.after_all().knows(id, tick);
        let pending = Pending { launch, stream: id, tick };
        self.pending.push(pending);
        if self.unwaited.len() == UNWAITED {
            self.unwaited.pop_front();
        }
        self.unwaited.push_back(pending);
        Ordered { unordered, settled, overlaps }
    }

    /// Forgets launches that every stream, new ones too, is ordered after.
    fn settle(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        let after_all = self.after_all();
        self.pending.retain(|earlier| !after_all.knows(earlier.stream, earlier.tick));
    }

    /// What every stream would wait for if it were submitted to now.
    fn after_all(&mut self) -> Clock {
        let mut default = std::mem::take(&mut self.default_stream().clock);
        let waited = default.clone();
        for stream in self.streams.values().filter(|stream| stream.blocking) {
            default.join(&stream.clock);
        }
        let mut all = default;
        for (&id, stream) in &self.streams {
            if id == DEFAULT {
                continue;
            }
            all.0.retain(|of, tick| {
                let own = stream.clock.0.get(of).copied().unwrap_or_default();
                let through = if stream.blocking { waited.0.get(of).copied().unwrap_or_default() } else { 0 };
                *tick = (*tick).min(own.max(through));
                *tick > 0
            });
        }
        self.default_stream().clock = waited;
        all.join(&self.host);
        all
    }

    /// Launches that something still to come may be concurrent with, and the last one; in
    /// the order of their submission.
    pub fn unsettled(&self) -> impl Iterator<Item = u64> {
        self.pending.iter().map(|launch| launch.launch)
    }

    /// `stream` waits for what `clock` has seen.
    pub fn wait(&mut self, id: StreamId, clock: &Clock) {
        match id {
            DEFAULT => self.default_stream().clock.join(clock),
            _ => self.streams.entry(id).or_default().clock.join(clock),
        }
    }

    /// Whether there is a launch that the host has not waited for.
    pub fn host_is_ahead(&mut self) -> bool {
        let host = &self.host;
        self.unwaited.retain(|launch| !host.knows(launch.stream, launch.tick));
        !self.unwaited.is_empty()
    }

    /// The launches that the host has not waited for; of very many, the last.
    pub fn unwaited(&mut self) -> Vec<u64> {
        self.host_is_ahead();
        self.unwaited.iter().map(|launch| launch.launch).collect()
    }

    /// The host waits for what `clock` has seen.
    pub fn host_waits(&mut self, clock: &Clock) {
        self.host.join(clock);
    }

    /// The host waits for all that was submitted.
    pub fn host_waits_for_all(&mut self) {
        for stream in self.streams.values() {
            self.host.join(&stream.clock);
        }
        // Streams that are gone have no clock any more; their work is over too.
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

    const fn settled(launch: u64) -> Ordered {
        Ordered { unordered: vec![], settled: launch, overlaps: false }
    }

    fn two_streams(blocking: bool) -> (Order, StreamId, StreamId) {
        let mut order = Order::new();
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
        let mut order = Order::new();
        for launch in 1..100 {
            let ordered = order.launch(DEFAULT, launch);
            assert_eq!(ordered, settled(launch - 1));
        }
        assert_eq!(order.pending.len(), 1);
        // A stream that comes later is after all of them, a later launch is not.
        let late = order.create(false);
        expect(&mut order, late, 100, &[]);
        expect(&mut order, DEFAULT, 101, &[100]);
        assert_eq!(order.launch(late, 102), Ordered { unordered: vec![101], settled: 99, overlaps: true });
    }

    #[test]
    fn a_blocking_stream_beside_the_default_one_settles_too() {
        let mut order = Order::new();
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
        let mut order = Order::new();
        order.launch(DEFAULT, 1);
        assert_eq!(order.copy(DEFAULT, 2, false).1, None);
        assert_eq!(order.copy(DEFAULT, 2, true).1, None);
        // Blocking streams wait for the default one, whoever submits next.
        let a = order.create(true);
        assert_eq!(order.copy(DEFAULT, 2, false).1, None);
        assert_eq!(order.copy(a, 2, false).1, None);
        // Another stream does not wait for the first.
        let b = order.create(true);
        let (_, first) = order.copy(a, 2, false);
        assert!(first.is_some_and(|ordered| ordered.overlaps && ordered.unordered.is_empty()));
        let (_, second) = order.copy(b, 3, true);
        assert_eq!(second.map(|ordered| ordered.unordered), Some(vec![2]));
        // The host has waited for the second, not for the first.
        expect(&mut order, b, 4, &[2]);
        order.host_waits_for_all();
        assert_eq!(order.copy(b, 5, true).1, None);
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
        let (waited, _) = order.copy(a, 5, true);
        order.host_waits(&waited);
        assert_eq!(order.unwaited(), [3, 4]);
        order.host_waits_for_all();
        assert!(!order.host_is_ahead());
    }

    #[test]
    fn a_stream_that_waits_for_nobody_overlaps_what_the_host_did_not_wait_for() {
        let mut order = Order::new();
        let own = order.create(false);
        let (_, fill) = order.copy(DEFAULT, 1, false);
        assert!(fill.is_some());
        expect(&mut order, own, 2, &[1]);
        order.host_waits_for_all();
        assert_eq!(order.copy(DEFAULT, 3, true).1, None);
        expect(&mut order, own, 3, &[]);
    }
}
