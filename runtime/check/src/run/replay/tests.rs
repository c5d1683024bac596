use super::*;
use crate::model::race::{RaceScope, Space};
use gpurace_abi::event::NamedWait;
use gpurace_abi::scope::{AtomicKind, Order, Scope};

const GLOBAL: u64 = 0x7f00_0000_0000;
const FLAG: u64 = GLOBAL + 0x1000;
const SHARED_BYTES: usize = 256;
/// The bits of an event that say that it is of shared memory.
const IS_SHARED: u32 = event(true) ^ event(false);

const fn event(shared: bool) -> u32 {
    Event::pack(0, EventKind::Read, AtomicKind::Load, Scope::Block, Order::Relaxed, shared)
}

/// An access of a word.
fn word(address: u64, site: u32) -> Event {
    Event { address, size: 4, site, ..Event::default() }
}

/// A log that is being written: blocks of 64 threads.
#[derive(Default)]
struct Writer(Vec<Event>);

impl Writer {
    fn push(&mut self, block: u32, thread: u32, kind: EventKind, event: Event) -> &mut Self {
        let what =
            Event::pack(thread, kind, AtomicKind::Rmw, Scope::Device, Order::SeqCst, false) | event.what;
        self.0.push(Event { block, what, complete: 1, ..event });
        self
    }

    fn plain(&mut self, block: u32, thread: u32, kind: EventKind) -> &mut Self {
        self.push(block, thread, kind, Event::default())
    }

    fn write(&mut self, block: u32, thread: u32, site: u32) -> &mut Self {
        self.push(block, thread, EventKind::Write, word(GLOBAL, site))
    }

    fn write_shared(&mut self, block: u32, thread: u32, address: u64, site: u32) -> &mut Self {
        self.push(block, thread, EventKind::Write, Event { what: IS_SHARED, ..word(address, site) })
    }

    fn barrier(&mut self, block: u32, thread: u32, extra: u32) -> &mut Self {
        self.push(block, thread, EventKind::Barrier, Event { extra, ..Event::default() })
    }

    fn warp_arrive(&mut self, thread: u32, lanes: u32) -> &mut Self {
        self.push(0, thread, EventKind::WarpArrive, Event { address: lanes.into(), ..Event::default() })
    }

    /// A sync of all lanes, with this number.
    fn warp_synced(&mut self, thread: u32, extra: u32) -> &mut Self {
        self.push(0, thread, EventKind::WarpPassed, Event { extra, ..Event::default() })
    }

    fn warp_passed(&mut self, thread: u32) -> &mut Self {
        self.plain(0, thread, EventKind::WarpPassed)
    }

    fn named(&mut self, thread: u32, number: u64, waits: bool) -> &mut Self {
        self.push(
            0,
            thread,
            EventKind::NamedArrive,
            Event { address: number, extra: waits.into(), ..Event::default() },
        )
    }

    fn named_passed(&mut self, thread: u32, number: u64) -> &mut Self {
        self.push(0, thread, EventKind::NamedPassed, Event { address: number, ..Event::default() })
    }

    fn atomic(
        &mut self,
        block: u32,
        thread: u32,
        kind: EventKind,
        atomic: AtomicKind,
        order: Order,
    ) -> &mut Self {
        let what = Event::pack(thread, kind, atomic, Scope::Device, order, false);
        self.0.push(Event { address: FLAG, block, what, site: 90, size: 4, complete: 1, ..Event::default() });
        self
    }

    /// Both events of an atomic access.
    fn whole(&mut self, block: u32, thread: u32, atomic: AtomicKind, order: Order) -> &mut Self {
        self.atomic(block, thread, EventKind::Atomic, atomic, order);
        self.atomic(block, thread, EventKind::AtomicDone, atomic, order)
    }

    fn rmw(&mut self, block: u32, thread: u32, order: Order) -> &mut Self {
        self.whole(block, thread, AtomicKind::Rmw, order)
    }

    fn load(&mut self, block: u32, thread: u32, order: Order) -> &mut Self {
        self.whole(block, thread, AtomicKind::Load, order)
    }

    fn leave_all(&mut self, block: u32) -> &mut Self {
        self.leave_all_but(block, &[])
    }

    fn leave_all_but(&mut self, block: u32, stay: &[u32]) -> &mut Self {
        for thread in (0..64).filter(|thread| !stay.contains(thread)) {
            self.plain(block, thread, EventKind::Leave);
        }
        self
    }

    fn replayed_with(&self, change: impl Fn(&mut Logged)) -> Replayed {
        let mut launch = launch();
        change(&mut launch);
        Replay::new().launch(&launch, &self.0)
    }

    fn replayed(&self) -> Replayed {
        self.replayed_with(|_| {})
    }

    /// Sites of the races; nothing is left out or unknown.
    fn races(&self) -> Vec<(u32, u32)> {
        let found = self.replayed();
        assert_eq!((found.left_out, found.unknown, &found.notes), (0, false, &Vec::new()));
        sites(&found)
    }
}

fn launch() -> Logged {
    Logged {
        id: 7,
        kernel: KernelKey(3),
        stream: 2,
        threads_per_block: 64,
        blocks: 4,
        clusters: None,
        features: SyncFeatures::default(),
        shared: SHARED_BYTES,
    }
}

fn sites(found: &Replayed) -> Vec<(u32, u32)> {
    found.races.iter().map(|race| (race.earlier.site, race.later.site)).collect()
}

fn log() -> Writer {
    Writer::default()
}

/// Threads add to a counter, all at once or `one_by_one`, and then `readers` read it by plain reads.
/// Returns the sites of races, and the number of undecided pairs.
fn counted(one_by_one: bool, readers: &[u32], observes: bool) -> (Vec<(u32, u32)>, u64) {
    let mut log = log();
    let threads = 0..8;
    for thread in threads.clone() {
        log.atomic(0, thread, EventKind::Atomic, AtomicKind::Rmw, Order::Relaxed);
        if one_by_one {
            log.atomic(0, thread, EventKind::AtomicDone, AtomicKind::Rmw, Order::Relaxed);
        }
    }
    for thread in threads.filter(|_| !one_by_one) {
        log.atomic(0, thread, EventKind::AtomicDone, AtomicKind::Rmw, Order::Relaxed);
    }
    for &reader in readers {
        log.push(0, reader, EventKind::Read, word(FLAG, 7));
    }
    let found = log.replayed_with(|launch| launch.features.observes = observes);
    assert_eq!((found.left_out, found.unknown, &found.notes), (0, false, &Vec::new()));
    (sites(&found), found.undecided)
}

#[test]
fn a_sync_of_all_lanes_is_logged_once() {
    assert_eq!(log().write(0, 0, 1).warp_synced(5, 2).write(0, 31, 2).races(), []);
    assert_eq!(
        log().write(0, 0, 1).warp_synced(40, 2).write(0, 31, 2).races(),
        [(1, 2)],
        "a sync of another warp"
    );
    assert_eq!(
        log().write(0, 0, 1).warp_synced(5, 2).write(0, 40, 2).races(),
        [(1, 2)],
        "a thread of another warp"
    );
    // Other lanes log it late.
    let late = |number| log().warp_synced(5, 4).write(0, 0, 1).warp_synced(9, number).write(0, 31, 2).races();
    assert_eq!((late(4), late(3), late(5)), (vec![(1, 2)], vec![(1, 2)], vec![]));
    // A sync of some lanes at the same time is another one.
    let mut log = log();
    log.write(0, 0, 1)
        .warp_arrive(0, 3)
        .warp_synced(1, 2)
        .write(0, 1, 2)
        .warp_arrive(1, 3)
        .warp_passed(0)
        .write(0, 0, 3);
    assert_eq!(log.races(), []);
}

#[test]
fn lanes_leave_together_or_alone() {
    let leave = |log: &mut Writer, thread, lanes: u32| {
        log.push(0, thread, EventKind::Leave, Event { address: lanes.into(), ..Event::default() });
    };
    let then = |left: &[(u32, u32)], thread| {
        let mut log = log();
        log.write(0, 63, 1);
        left.iter().for_each(|&(thread, lanes)| leave(&mut log, thread, lanes));
        let found = log.write(0, thread, 2).replayed();
        (sites(&found), found.left_out)
    };
    let all = u32::MAX;
    assert_eq!(then(&[(0, all)], 40), (vec![(1, 2)], 0), "the other warp is there");
    assert_eq!(then(&[(0, all)], 7), (vec![], 1), "a thread that has left does nothing");
    assert_eq!(then(&[(0, 3), (2, 0)], 3), (vec![(1, 2)], 0));
    assert_eq!(then(&[(0, 3), (2, 0)], 2), (vec![], 1));
    // A thread that has left stays so, and logs nothing.
    assert_eq!(then(&[(0, 1), (5, all), (32, all >> 1)], 63), (vec![], 0));
    assert_eq!(then(&[(0, all), (5, all)], 63), (vec![], 1));
    assert_eq!(then(&[(0, all), (32, all)], 63), (vec![], 1), "its block is over");
}

#[test]
fn all_but_one_of_those_that_add_at_once_race() {
    // The thread that came last has observed all others.
    assert_eq!(counted(true, &[7], true), (vec![], 0));
    assert_eq!(counted(true, &[6], true), (vec![(90, 7)], 0));
    assert_eq!(counted(false, &[7], true), (vec![], 1));
    assert_eq!(counted(false, &[3, 5], true), (vec![(90, 7)], 1));
    // One thread that reads twice may have come last.
    assert_eq!(counted(false, &[3, 3], true), (vec![], 2));
    // Nothing is observed if the kernel uses no value of an atomic.
    assert_eq!(counted(false, &[7], false), (vec![(90, 7)], 0));
}

#[test]
fn the_first_event_of_a_barrier_stands_for_all_threads() {
    assert_eq!(log().write(0, 0, 1).write(0, 33, 2).races(), [(1, 2)]);
    assert_eq!(log().write(0, 0, 1).barrier(0, 50, 2).write(0, 33, 2).races(), []);
    // A late event of the barrier before is no barrier.
    let late = |number| log().barrier(0, 50, 2).write(0, 0, 1).barrier(0, 33, number).write(0, 33, 2).races();
    assert_eq!(late(2), [(1, 2)]);
    assert_eq!(late(1), [(1, 2)]);
    assert_eq!(late(9), []);
    // Another block's barrier orders nothing here.
    assert_eq!(log().write(0, 0, 1).barrier(1, 33, 5).write(0, 33, 2).races(), [(1, 2)]);
}

#[test]
fn lanes_sync_when_the_first_has_passed() {
    let arrived = || {
        let mut log = log();
        log.write(0, 0, 1).warp_arrive(0, 3).warp_arrive(1, 3);
        log
    };
    assert_eq!(arrived().warp_passed(1).write(0, 1, 2).races(), []);
    assert_eq!(arrived().write(0, 1, 2).races(), [(1, 2)], "nobody has passed");
    assert_eq!(arrived().warp_passed(1).write(0, 2, 2).races(), [(1, 2)], "lane 2 is not among them");
    // Lane 1 has come to the next sync when lane 0 logs that it has passed the one before.
    let mut next = arrived();
    next.warp_passed(1).warp_arrive(1, 3).warp_passed(0).write(0, 0, 3);
    assert_eq!(next.write(0, 1, 4).races(), [(3, 4)]);
    let mut next = arrived();
    next.warp_passed(1).warp_arrive(1, 3).warp_passed(0).write(0, 0, 3).warp_arrive(0, 3).warp_passed(1);
    assert_eq!(next.write(0, 1, 4).races(), []);
}

#[test]
fn lanes_with_other_masks_do_not_sync() {
    let mut log = log();
    log.write(0, 0, 1).warp_arrive(0, 3).warp_arrive(1, 7).warp_passed(1);
    assert_eq!(log.write(0, 1, 2).races(), [(1, 2)]);
    // A lane that the mask leaves out does not wait.
    let mut log = Writer::default();
    log.write(0, 0, 1).warp_arrive(0, 2).warp_arrive(1, 2).warp_passed(0).warp_passed(1);
    assert_eq!(log.write(0, 1, 2).races(), [(1, 2)]);
}

#[test]
fn lanes_that_have_left_count_as_arrived() {
    let with = |leaves: bool| {
        let mut log = log();
        log.write(0, 1, 1);
        if leaves {
            log.plain(0, 1, EventKind::Leave);
        }
        log.warp_arrive(0, 3).warp_passed(0).write(0, 0, 2).races()
    };
    assert_eq!(with(true), []);
    // A log that no GPU writes.
    assert_eq!(with(false), [(1, 2)]);
}

#[test]
fn a_named_barrier_orders_the_threads_that_wait_there() {
    let arrived = |number| {
        let mut log = log();
        log.write(0, 0, 1).named(0, 1, true).named(40, number, true).named_passed(40, number);
        log
    };
    assert_eq!(arrived(1).write(0, 40, 2).races(), []);
    assert_eq!(arrived(2).write(0, 40, 2).races(), [(1, 2)]);
    assert_eq!(arrived(1).write(0, 41, 2).races(), [(1, 2)]);
    // `bar.arrive`: the threads that wait are ordered after it, but it is not after them.
    let passes = || {
        let mut log = log();
        log.write(0, 0, 1).named(0, 1, false).named(40, 1, true).named_passed(0, 1).named_passed(40, 1);
        log
    };
    assert_eq!(passes().write(0, 40, 2).races(), []);
    let mut other = log();
    other.write(0, 40, 1).named(0, 1, false).named(40, 1, true).named_passed(0, 1).named_passed(40, 1);
    assert_eq!(other.write(0, 0, 2).races(), [(1, 2)]);
}

#[test]
fn the_next_phase_of_a_named_barrier_begins_while_a_thread_is_late() {
    let mut log = log();
    log.named(0, 1, true).named(40, 1, true).named_passed(40, 1).write(0, 40, 1).named(40, 1, true);
    // Thread 0 has passed only the first phase.
    log.named_passed(0, 1);
    let first = log.0.len();
    assert_eq!(log.write(0, 0, 2).races(), [(1, 2)]);
    log.0.truncate(first);
    assert_eq!(log.named(0, 1, true).named_passed(0, 1).write(0, 0, 2).races(), []);
}

#[test]
fn a_named_barrier_of_all_threads_that_are_left_is_one_of_the_block() {
    let mut log = log();
    log.write(0, 5, 1).leave_all_but(0, &[0, 40]).named(0, 1, true).named(40, 1, true).named_passed(0, 1);
    assert_eq!(log.write(0, 40, 2).races(), []);
    let mut log = Writer::default();
    log.write(0, 5, 1).leave_all_but(0, &[0, 40, 41]).named(0, 1, true).named(40, 1, true).named_passed(0, 1);
    assert_eq!(log.write(0, 40, 2).races(), [(1, 2)]);
}

#[test]
fn a_flag_orders_blocks_if_it_is_acquired() {
    let with = |order: Order| {
        let mut log = log();
        log.write(0, 0, 1).rmw(0, 0, Order::Release);
        log.load(1, 0, order).write(1, 0, 2).races()
    };
    assert_eq!(with(Order::Acquire), []);
    assert_eq!(with(Order::Relaxed), [(1, 2)]);
    // With fences.
    let mut log = log();
    log.write(0, 0, 1).plain(0, 0, EventKind::Fence).rmw(0, 0, Order::Relaxed).rmw(1, 0, Order::Relaxed);
    assert_eq!(log.plain(1, 0, EventKind::Fence).write(1, 0, 2).races(), []);
}

#[test]
fn each_of_two_writes_under_way_may_be_the_last() {
    let under_way = |kind: AtomicKind| {
        let mut log = log();
        log.write(0, 0, 1);
        for event in [EventKind::Atomic, EventKind::AtomicDone] {
            (0..2).for_each(|block| _ = log.atomic(block, 0, event, kind, Order::Release));
        }
        log
    };
    for kind in [AtomicKind::Store, AtomicKind::Rmw] {
        let mut both = under_way(kind);
        both.load(2, 0, Order::Acquire);
        assert_eq!(both.write(2, 0, 2).races(), [], "{kind:?}");
        // A write that comes alone is the last.
        let mut after = under_way(kind);
        after.whole(3, 0, AtomicKind::Store, Order::Relaxed);
        after.load(2, 0, Order::Acquire);
        assert_eq!(after.write(2, 0, 2).races(), [(1, 2)], "{kind:?}");
    }
}

#[test]
fn a_read_beside_a_write_may_see_the_value_before() {
    let with = |done: bool| {
        let mut log = log();
        log.write(0, 0, 1).rmw(0, 0, Order::Release);
        // Its scope leaves the reader out, so its value tells the reader nothing.
        let own = |kind| Event {
            what: Event::pack(33, kind, AtomicKind::Rmw, Scope::Block, Order::Relaxed, false),
            address: FLAG,
            site: 91,
            size: 4,
            complete: 1,
            ..Event::default()
        };
        log.0.push(own(EventKind::Atomic));
        if done {
            log.0.push(own(EventKind::AtomicDone));
        }
        let found = log.load(1, 0, Order::Acquire).write(1, 0, 2).replayed();
        sites(&found).contains(&(1, 2))
    };
    assert!(!with(false));
    assert!(with(true));
}

#[test]
fn an_atomic_that_is_done_without_having_begun_is_left_out() {
    let mut log = log();
    log.write(0, 0, 1).atomic(0, 0, EventKind::AtomicDone, AtomicKind::Rmw, Order::Release);
    assert_eq!(log.replayed().left_out, 1);
    assert!(log.replayed().unknown, "what it has ordered is unknown");
    // An impossible plain access orders nothing.
    let mut log = Writer::default();
    log.push(0, 0, EventKind::Read, Event { address: 1 << 60, size: 4, ..Event::default() });
    assert_eq!((log.replayed().left_out, log.replayed().unknown), (1, false));
}

#[test]
fn a_load_may_see_any_value_that_was_there_meanwhile() {
    // Between the two events of a load the flag is set, and reset by a store that releases nothing.
    let with = |begins_before: bool| {
        let mut log = log();
        let load = |log: &mut Writer, kind| {
            log.atomic(1, 0, kind, AtomicKind::Load, Order::Acquire);
        };
        if begins_before {
            load(&mut log, EventKind::Atomic);
        }
        log.write(0, 0, 1).rmw(0, 0, Order::Release);
        log.whole(0, 33, AtomicKind::Store, Order::Relaxed);
        if !begins_before {
            load(&mut log, EventKind::Atomic);
        }
        load(&mut log, EventKind::AtomicDone);
        // Once the load is over, a later one sees only the last store.
        let first = log.write(1, 0, 2).races();
        log.whole(0, 33, AtomicKind::Store, Order::Relaxed);
        log.load(2, 0, Order::Acquire).write(2, 0, 3);
        (first, log.races().contains(&(2, 3)) || log.races().contains(&(1, 3)))
    };
    assert_eq!(with(true), (vec![], true));
    assert_eq!(with(false), (vec![(1, 2)], true));
}

#[test]
fn elements_of_a_vector_are_under_way_together() {
    let mut log = log();
    log.write(0, 0, 1);
    for kind in [EventKind::Atomic, EventKind::AtomicDone] {
        for element in 0..2 {
            let what = Event::pack(0, kind, AtomicKind::Store, Scope::Device, Order::Release, false);
            log.0.push(Event {
                address: FLAG + 4 * element,
                what,
                site: 90,
                size: 4,
                complete: 1,
                ..Event::default()
            });
        }
    }
    assert_eq!(log.load(1, 0, Order::Acquire).write(1, 0, 2).races(), []);
}

#[test]
fn annotations_are_heeded() {
    let ignore = |log: &mut Writer, on: u32| {
        log.push(0, 33, EventKind::Ignore, Event { extra: on, ..Event::default() });
    };
    let mut log = log();
    log.write(0, 0, 1);
    ignore(&mut log, 1);
    ignore(&mut log, 1);
    ignore(&mut log, 0);
    log.write(0, 33, 2);
    // Accesses of other threads are checked.
    assert_eq!(log.races(), []);
    ignore(&mut log, 0);
    assert_eq!(log.write(0, 33, 3).races(), [(1, 3)]);
    let meant = |bytes| {
        let mut log = Writer::default();
        log.push(0, 5, EventKind::Benign, Event { address: GLOBAL, size: bytes, ..Event::default() });
        log.write(0, 0, 1).write(0, 33, 2).races()
    };
    assert_eq!((meant(4), meant(3)), (vec![], vec![(1, 2)]));
    // The mark ends with the launch: only the caller knows if it is still the same memory.
    let mut log = Writer::default();
    log.push(0, 5, EventKind::Benign, Event { address: GLOBAL, size: 4, ..Event::default() });
    let mut replay = Replay::new();
    let bytes = GLOBAL as usize..GLOBAL as usize + 4;
    assert_eq!(replay.launch(&launch(), &log.0).benign, [bytes]);
    let mut later = Writer::default();
    later.write(0, 0, 1).write(0, 33, 2);
    assert_eq!(sites(&replay.launch(&launch(), &later.0)), [(1, 2)]);
    let told = |address| {
        let mut log = Writer::default();
        let happens = Event { address: FLAG, size: 1, ..Event::default() };
        log.write(0, 0, 1).push(0, 0, EventKind::Happens, happens);
        log.push(1, 0, EventKind::Happens, Event { address, extra: 1, size: 1, ..Event::default() })
            .write(1, 0, 2)
            .races()
    };
    assert_eq!((told(FLAG), told(FLAG + 8)), (vec![], vec![(1, 2)]));
}

#[test]
fn blocks_of_a_cluster_reach_each_others_shared_memory() {
    // `peer`: 1 + the rank; 0 for the own block.
    let found = |peer: u32| {
        let mut log = log();
        log.write_shared(1, 0, 8, 1);
        log.push(0, 0, EventKind::Write, Event { extra: peer, what: IS_SHARED, ..word(8, 2) });
        log.replayed_with(|launch| {
            launch.clusters = Some(Clusters { grid: [4, 1, 1], blocks: [2, 1, 1], end_of_block: 99 })
        })
    };
    assert_eq!(sites(&found(2)), [(1, 2)]);
    assert_eq!((sites(&found(1)), sites(&found(0))), (vec![], vec![]));
    // There is no third block in the cluster.
    assert_eq!((sites(&found(3)), found(3).left_out), (vec![], 1));
}

#[test]
fn a_barrier_with_a_number_of_threads_does_not_order_threads_that_have_ended() {
    let races = |wait: NamedWait| {
        let mut log = log();
        log.write(0, 5, 1).leave_all_but(0, &[0, 40]);
        for thread in [0, 40] {
            let event = Event { address: 1, extra: wait as u32, ..Event::default() };
            log.push(0, thread, EventKind::NamedArrive, event);
        }
        log.named_passed(0, 1).write(0, 40, 2).races()
    };
    assert_eq!(races(NamedWait::WholeBlock), []);
    assert_eq!(races(NamedWait::Counted), [(1, 2)]);
}

#[test]
fn copies_are_done_once_the_thread_has_waited() {
    let copied = |waits: bool| {
        let mut log = log();
        log.push(0, 0, EventKind::AsyncWrite, Event { size: 16, ..word(GLOBAL, 1) });
        log.plain(0, 0, EventKind::AsyncCommit);
        if waits {
            log.plain(0, 0, EventKind::AsyncWait);
        }
        let found = log.write(0, 0, 2).replayed_with(|launch| launch.features.async_copies = true);
        sites(&found)
    };
    assert_eq!(copied(true), []);
    assert_eq!(copied(false), [(1, 2)]);
}

#[test]
fn a_prefix_of_a_log_is_a_log() {
    let mut log = log();
    log.write_shared(0, 0, 8, 1).warp_arrive(0, 3).warp_arrive(1, 3).warp_passed(0).rmw(0, 0, Order::AcqRel);
    log.named(0, 1, true)
        .named(1, 1, true)
        .named_passed(0, 1)
        .write(1, 9, 5)
        .barrier(0, 3, 2)
        .leave_all(0)
        .leave_all(1);
    let whole = log.races();
    for length in 0..log.0.len() {
        let prefix = Writer(log.0[..length].to_vec());
        assert!(prefix.races().iter().all(|race| whole.contains(race)));
    }
}

#[test]
fn shared_memory_of_a_block_that_is_over_goes_to_another() {
    let found = log().write_shared(2, 0, 8, 1).write_shared(2, 40, 8, 2).replayed();
    assert_eq!(sites(&found), [(1, 2)]);
    let race = &found.races[0];
    assert_eq!(
        (race.space, race.scope, race.address - race.shared_base),
        (Space::Shared, RaceScope::Block, 8)
    );
    assert_eq!((race.earlier.block, race.earlier.thread, race.later.thread), (Some(2), Some(0), Some(40)));
    assert_eq!((race.launch, race.earlier.launch, race.later.launch), (7, 7, 7));
    assert_eq!((race.kernel, race.later.stream), (KernelKey(3), 2));

    // Its addresses are used again.
    let mut log = log();
    log.write_shared(2, 0, 8, 1).leave_all(2).write_shared(0, 40, 8, 2).leave_all(0).write_shared(1, 0, 8, 3);
    assert_eq!(log.races(), []);
    let mut places = Places { next: SHARED.start, free: Vec::new() };
    let first = places.take(SHARED_BYTES).expect("a place");
    let second = places.take(SHARED_BYTES).expect("a place");
    assert!(first.end <= second.start && first.len() == SHARED_BYTES);
    places.free.push(first.clone());
    assert_eq!(places.take(SHARED_BYTES), Some(first));
    assert_eq!(places.take(SHARED.len()), None);
    assert_eq!(places.take(usize::MAX), None);
}

#[test]
fn what_makes_no_sense_is_left_out() {
    let left_out = |log: &Writer| {
        let found = log.replayed();
        assert_eq!(sites(&found), []);
        found.left_out
    };
    let event = |event: Event| left_out(log().push(0, 0, EventKind::Read, event));
    let of = |address, size| Event { address, size, ..Event::default() };
    assert_eq!(event(of(GLOBAL, 4)), 0);
    assert_eq!(event(of(GLOBAL, 0)), 0, "nothing");
    assert_eq!(event(of(1 << 47, 4)), 1);
    assert_eq!(event(of((1 << 47) - 2, 4)), 1);
    assert_eq!(event(of(u64::MAX, 4)), 1);
    assert_eq!(event(of(SHARED.start as u64 + 8, 4)), 1, "addresses of shared memory");
    assert_eq!(left_out(log().write_shared(0, 0, SHARED_BYTES as u64 - 4, 1)), 0);
    assert_eq!(left_out(log().write_shared(0, 0, SHARED_BYTES as u64 - 2, 1)), 1);
    assert_eq!(left_out(log().write(4, 0, 1)), 1, "no such block");
    assert_eq!(left_out(log().write(0, 64, 1)), 1, "no such thread");
    assert_eq!(left_out(log().plain(0, 0, EventKind::Leave).write(0, 0, 1)), 1, "it has left");
    assert_eq!(left_out(log().leave_all(0).write(0, 0, 1)), 1, "its block is over");
    assert_eq!(left_out(log().named(0, 16, true)), 1, "no such barrier");
    assert_eq!(left_out(&Writer(vec![Event::default()])), 1);
    assert_eq!(left_out(&Writer(vec![Event { what: !0, ..Event::default() }])), 1);
    let sizes = Event {
        what: Event::pack(0, EventKind::Atomic, AtomicKind::Rmw, Scope::Device, Order::Relaxed, false),
        size: 3,
        ..of(GLOBAL, 3)
    };
    assert_eq!(left_out(&Writer(vec![sizes])), 1);
}

#[test]
fn any_events_are_survived() {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state >> 20
    };
    let clusters = [
        None,
        Some(Clusters { grid: [4, 1, 1], blocks: [2, 1, 1], end_of_block: 9 }),
        Some(Clusters { grid: [0; 3], blocks: [0; 3], end_of_block: 9 }),
    ];
    for round in 0..90usize {
        let events: Vec<_> = (0..200)
            .map(|_| {
                let kind = 1 + next() as u32 % 20;
                let what = (next() as u32 % 70) | (kind << 10) | ((next() as u32) << 16);
                Event {
                    address: if next() % 4 == 0 { next() << 20 } else { next() % 300 },
                    block: next() as u32 % 5,
                    what,
                    site: next() as u32,
                    size: [0, 1, 2, 4, 8, 16, 33][next() as usize % 7],
                    extra: next() as u32 % 9,
                    complete: 1,
                }
            })
            .collect();
        let features = SyncFeatures {
            async_copies: round.is_multiple_of(2),
            observes: round.is_multiple_of(3),
            ..SyncFeatures::default()
        };
        let of = Logged { clusters: clusters[round % 3], features, ..launch() };
        let found = Replay::new().launch(&of, &events);
        assert_eq!(found, Replay::new().launch(&of, &events));
        assert!(found.left_out > 0);
    }
}

#[test]
fn unknown_order_is_reported() {
    assert!(!log().write(0, 0, 1).replayed().unknown);
    assert!(log().plain(0, 0, EventKind::Unknown).replayed().unknown);
    // A barrier of clusters in a launch without any.
    assert!(log().plain(0, 0, EventKind::ClusterArrive).replayed().unknown);
}

#[test]
fn clusters_meet_at_their_barrier() {
    let replayed = |log: &Writer| {
        let clusters = Clusters { grid: [4, 1, 1], blocks: [2, 1, 1], end_of_block: 99 };
        let found = log.replayed_with(|launch| launch.clusters = Some(clusters));
        assert_eq!((found.left_out, found.unknown), (0, false));
        sites(&found)
    };
    let arrived = || {
        let mut log = log();
        log.write(0, 0, 1).plain(0, 0, EventKind::ClusterArrive).plain(1, 0, EventKind::ClusterArrive);
        log
    };
    assert_eq!(replayed(arrived().plain(1, 0, EventKind::ClusterPassed).write(1, 0, 2)), []);
    assert_eq!(replayed(arrived().write(1, 0, 2)), [(1, 2)], "it has not waited");
    let mut other = arrived();
    other.plain(2, 0, EventKind::ClusterArrive).plain(2, 0, EventKind::ClusterPassed);
    assert_eq!(replayed(other.write(2, 0, 2)), [(1, 2)], "another cluster");
    // A block that passes late has not waited for what another does before the next phase.
    let mut late = arrived();
    late.plain(1, 0, EventKind::ClusterPassed).push(1, 0, EventKind::Write, word(GLOBAL + 8, 3));
    late.plain(1, 0, EventKind::ClusterArrive).plain(0, 0, EventKind::ClusterPassed);
    late.push(0, 0, EventKind::Write, word(GLOBAL + 8, 4));
    assert_eq!(replayed(&late), [(3, 4)]);
}

#[test]
fn a_replay_does_not_depend_on_earlier_ones() {
    let mut racy = log();
    racy.write(0, 0, 1).write(1, 0, 2).write_shared(0, 0, 8, 3).write_shared(0, 40, 8, 4);
    let mut quiet = log();
    quiet.write(1, 0, 1).write_shared(1, 0, 8, 3);
    let (racy_alone, quiet_alone) = (racy.replayed(), quiet.replayed());
    assert_eq!((racy_alone.races.len(), quiet_alone.races.len()), (2, 0));
    let mut replay = Replay::new();
    for _ in 0..2 * MOST_LAUNCHES {
        assert_eq!(replay.launch(&launch(), &racy.0), racy_alone);
        assert_eq!(replay.launch(&launch(), &quiet.0), quiet_alone);
    }
}

#[test]
fn accesses_to_textures_and_surfaces_are_left_out_and_order_nothing() {
    for kind in [EventKind::Coordinates, EventKind::Fetch, EventKind::SurfaceRead, EventKind::SurfaceWrite] {
        let found = log().write(0, 0, 1).plain(0, 0, kind).plain(0, 33, kind).write(0, 33, 2).replayed();
        assert_eq!((sites(&found), found.left_out, found.unknown), (vec![(1, 2)], 2, false));
    }
}
