//! All histories within bounds.
//!
//! Each interleaving is a history, so each sequence of events of an alphabet is run. Threads of a
//! warp, warps of a block and blocks are alike, so only histories in which they first appear in order
//! are run. The bounds are one less in unoptimised builds. `GPURACE_ORACLE_DEPTH=n` adds `n` to them.

use gpurace_check::{AtomicKind, Order, Scope, SyncFeatures};

use crate::drive::{Driver, GLOBAL, SHARED, SHARED_SIZE};
use crate::model::{Event, Machine, Op};

fn depth(bound: usize) -> usize {
    let more = std::env::var("GPURACE_ORACLE_DEPTH").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    bound + more - usize::from(cfg!(debug_assertions))
}

pub fn machine(threads: &[(u64, u32)]) -> Machine {
    Machine {
        threads: threads.iter().map(|&(b, t)| (0, b, t)).collect(),
        unordered: vec![vec![]],
        regular: vec![],
        cluster: 0,
        relaxed_volatile: false,
    }
}

/// True if the threads of a history first appear in order.
fn canonical(machine: &Machine, history: &[usize], alphabet: &[Event]) -> bool {
    let mut used: Vec<(u64, u32)> = Vec::new();
    for &e in history {
        let seen: (u64, u32) = match alphabet[e] {
            Event::Access { thread, .. }
            | Event::Fence { thread, .. }
            | Event::Copy { thread, .. }
            | Event::Commit { thread }
            | Event::CopyWait { thread, .. }
            | Event::CopyArrive { thread, .. } => {
                let (_, b, t) = machine.threads[thread];
                (b, t)
            }
            Event::Barrier { block, .. } => {
                if block > 0 && !used.iter().any(|u| u.0 == block - 1) {
                    return false;
                }
                continue;
            }
            Event::ClusterArrive { thread, .. } | Event::ClusterWait { thread } => {
                let (_, b, t) = machine.threads[thread];
                (b, t)
            }
            Event::Syncwarp { .. }
            | Event::Arrive { .. }
            | Event::NamedBarrier { .. }
            | Event::ClusterOver { .. } => continue,
        };
        if used.contains(&seen) {
            continue;
        }
        let (b, t) = seen;
        let lane_first = t % 32 == 0 || used.contains(&(b, t - 1));
        let warp_first = t < 32 || used.iter().any(|u| u.0 == b && u.1 / 32 == t / 32 - 1);
        let block_first = b == 0 || used.iter().any(|u| u.0 == b - 1);
        if !(lane_first && warp_first && block_first) {
            return false;
        }
        used.push(seen);
    }
    true
}

/// Runs every history of `length` events. Returns how many there are.
fn all(driver: &mut Driver, alphabet: &[Event], length: usize, symmetric: bool) -> u64 {
    let mut history = Vec::new();
    let mut count = 0;
    descend(driver, alphabet, length, symmetric, &mut history, &mut count);
    assert_eq!(driver.notes(), Vec::<String>::new());
    assert!(driver.races > 0, "no history raced: the test shows nothing");
    println!("{count} histories, {} events, {} racing accesses", driver.events, driver.races);
    count
}

fn descend(
    driver: &mut Driver,
    alphabet: &[Event],
    left: usize,
    symmetric: bool,
    history: &mut Vec<usize>,
    count: &mut u64,
) {
    if left == 0 {
        // Events behind the last access show nothing.
        if matches!(alphabet[*history.last().unwrap()], Event::Access { .. }) {
            let events: Vec<Event> = history.iter().map(|&e| alphabet[e].clone()).collect();
            driver.run(&events);
            *count += 1;
        }
        return;
    }
    for e in 0..alphabet.len() {
        history.push(e);
        if !symmetric || canonical(&driver.machine, history, alphabet) {
            descend(driver, alphabet, left - 1, symmetric, history, count);
        }
        history.pop();
    }
}

const RELAXED: Order = Order::Relaxed;

fn accesses(threads: usize, ops: &[(Op, u32)], at: usize) -> Vec<Event> {
    let one =
        |thread| ops.iter().map(move |&(op, site)| Event::Access { thread, op, address: at, size: 4, site });
    (0..threads).flat_map(one).collect()
}

const ATOMICS: [(Op, u32); 2] = [
    (Op::Atomic(AtomicKind::Rmw, Scope::Block, RELAXED), 3),
    (Op::Atomic(AtomicKind::Rmw, Scope::Device, RELAXED), 4),
];
const PLAIN: [(Op, u32); 3] = [(Op::Read, 0), (Op::Read, 1), (Op::Write, 2)];

const GRID: [(u64, u32); 8] = [(0, 0), (0, 1), (0, 32), (0, 33), (1, 0), (1, 1), (1, 32), (1, 33)];

fn grid_syncs(events: &mut Vec<Event>) {
    for block in 0..2 {
        events.push(Event::Barrier { launch: 0, block });
        for warp in 0..2 {
            events.push(Event::Syncwarp { launch: 0, block, warp, mask: !0 });
        }
    }
}

fn regular() -> SyncFeatures {
    SyncFeatures { barriers: true, warp_syncs: true, suspends: true, observes: true, ..Default::default() }
}

fn exact() -> SyncFeatures {
    SyncFeatures { partial_masks: true, named_barriers: true, fences: true, narrow_order: true, ..regular() }
}

#[test]
fn two_blocks_of_two_warps_of_two_threads() {
    let mut alphabet = accesses(8, &PLAIN, GLOBAL);
    alphabet.extend(accesses(8, &ATOMICS, GLOBAL));
    grid_syncs(&mut alphabet);
    for features in [regular(), exact()] {
        all(&mut Driver::new(machine(&GRID), features), &alphabet, depth(4), true);
    }
}

#[test]
fn volatile_accesses() {
    let system = |kind| Op::Atomic(kind, Scope::System, RELAXED);
    let ops = [
        (Op::Read, 0),
        (Op::Write, 1),
        (system(AtomicKind::VolatileLoad), 2),
        (system(AtomicKind::VolatileStore), 3),
        (system(AtomicKind::Rmw), 4),
        ATOMICS[0],
        ATOMICS[1],
    ];
    let threads = [(0, 0), (0, 1), (1, 0)];
    let mut alphabet = accesses(3, &ops, GLOBAL);
    let pair = |op| Event::Access { thread: 2, op, address: GLOBAL, size: 8, site: 5 };
    alphabet.extend([pair(system(AtomicKind::VolatileLoad)), pair(system(AtomicKind::VolatileStore))]);
    alphabet.push(Event::Barrier { launch: 0, block: 0 });
    for relaxed_volatile in [false, true] {
        for features in [regular(), exact()] {
            let machine = Machine { relaxed_volatile, ..machine(&threads) };
            all(&mut Driver::new(machine, features), &alphabet, depth(4), true);
        }
    }
}

#[test]
fn two_blocks_deeper_without_atomics() {
    let mut alphabet = accesses(8, &[(Op::Read, 0), (Op::Write, 1)], GLOBAL);
    grid_syncs(&mut alphabet);
    all(&mut Driver::new(machine(&GRID), regular()), &alphabet, depth(5), true);
}

#[test]
fn atomic_loads_and_stores_of_all_scopes() {
    let ops: Vec<(Op, u32)> = [Scope::Block, Scope::Cluster, Scope::Device, Scope::System]
        .into_iter()
        .flat_map(|s| [AtomicKind::Load, AtomicKind::Store].map(|k| Op::Atomic(k, s, RELAXED)))
        .chain([Op::Read, Op::Write])
        .zip(0..)
        .collect();
    let threads = [(0, 0), (0, 1), (0, 32), (1, 0)];
    let mut alphabet = accesses(4, &ops, GLOBAL);
    alphabet.push(Event::Barrier { launch: 0, block: 0 });
    alphabet.push(Event::Syncwarp { launch: 0, block: 0, warp: 0, mask: !0 });
    for features in [regular(), exact()] {
        all(&mut Driver::new(machine(&threads), features), &alphabet, depth(4), false);
    }
}

#[test]
fn shared_memory_of_one_block() {
    let threads = [(0, 0), (0, 1), (0, 32), (0, 33)];
    let mut alphabet = accesses(4, &PLAIN, SHARED);
    alphabet.extend(accesses(4, &ATOMICS[..1], SHARED));
    alphabet.push(Event::Barrier { launch: 0, block: 0 });
    for warp in 0..2 {
        alphabet.push(Event::Syncwarp { launch: 0, block: 0, warp, mask: !0 });
    }
    for features in [regular(), exact()] {
        all(&mut Driver::new(machine(&threads), features), &alphabet, depth(5), true);
    }
}

#[test]
fn one_warp_of_four_lanes_with_every_mask() {
    let threads = [(0, 0), (0, 1), (0, 2), (0, 3)];
    for at in [GLOBAL, SHARED] {
        let mut alphabet = accesses(4, &[(Op::Read, 0), (Op::Write, 1)], at);
        alphabet.extend((1..16).map(|mask| Event::Syncwarp { launch: 0, block: 0, warp: 0, mask }));
        let features = SyncFeatures { partial_masks: true, ..regular() };
        all(&mut Driver::new(machine(&threads), features), &alphabet, depth(5), false);
    }
}

#[test]
fn three_warps_with_named_barriers() {
    let threads = [(0, 0), (0, 32), (0, 64)];
    let mut alphabet = accesses(3, &[(Op::Read, 0), (Op::Write, 1)], GLOBAL);
    alphabet.push(Event::Barrier { launch: 0, block: 0 });
    for waited in [vec![0, 1], vec![1, 2], vec![0, 2], vec![1], vec![0, 1, 2]] {
        alphabet.push(Event::NamedBarrier { barrier: 1, waited });
    }
    alphabet.extend((0..3).map(|thread| Event::Arrive { thread, barrier: 1 }));
    let features = SyncFeatures { named_barriers: true, ..regular() };
    all(&mut Driver::new(machine(&threads), features), &alphabet, depth(5), false);
}

#[test]
fn three_blocks_with_releases_and_acquires() {
    let threads = [(0, 0), (1, 0), (2, 0)];
    let flag = GLOBAL + 64;
    let mut alphabet = accesses(3, &[(Op::Read, 0), (Op::Write, 1)], GLOBAL);
    alphabet.extend(accesses(
        3,
        &[
            (Op::Atomic(AtomicKind::Store, Scope::Device, Order::Release), 2),
            (Op::Atomic(AtomicKind::Load, Scope::Device, Order::Acquire), 3),
            (Op::Atomic(AtomicKind::Rmw, Scope::Device, RELAXED), 4),
        ],
        flag,
    ));
    for thread in 0..3 {
        alphabet.push(Event::Fence { thread, scope: Scope::Device, order: Order::SeqCst });
    }
    let mut driver = Driver::new(machine(&threads), exact());
    all(&mut driver, &alphabet, depth(5), true);
}

#[test]
fn releases_of_every_scope_within_and_across_blocks() {
    let threads = [(0, 0), (0, 32), (1, 0)];
    let flag = GLOBAL + 64;
    let mut alphabet = accesses(3, &[(Op::Write, 1)], GLOBAL);
    for scope in [Scope::Block, Scope::Device] {
        alphabet.extend(accesses(
            3,
            &[
                (Op::Atomic(AtomicKind::Rmw, scope, Order::AcqRel), 2),
                (Op::Atomic(AtomicKind::Store, scope, RELAXED), 3),
                (Op::Atomic(AtomicKind::Load, scope, RELAXED), 4),
            ],
            flag,
        ));
        for thread in 0..3 {
            alphabet.push(Event::Fence { thread, scope, order: Order::SeqCst });
        }
    }
    alphabet.push(Event::Barrier { launch: 0, block: 0 });
    let mut driver = Driver::new(machine(&threads), exact());
    all(&mut driver, &alphabet, depth(4), false);
}

#[test]
fn bytes_of_two_words() {
    let threads = [(0, 0), (0, 1), (1, 0)];
    let mut alphabet = Vec::new();
    for thread in 0..3 {
        let extents = [(0, 1), (1, 1), (0, 2), (2, 4), (0, 4), (0, 8)];
        for (i, (offset, size)) in extents.into_iter().enumerate() {
            for (op, site) in [(Op::Read, 0), (Op::Write, 1)] {
                let site = site + 2 * i as u32;
                alphabet.push(Event::Access { thread, op, address: GLOBAL + offset, size, site });
            }
        }
        for (site, (offset, size)) in [(20, (0, 4)), (21, (4, 4)), (22, (0, 8)), (23, (2, 2))] {
            let op = Op::Atomic(AtomicKind::Rmw, Scope::Device, RELAXED);
            alphabet.push(Event::Access { thread, op, address: GLOBAL + offset, size, site });
        }
    }
    alphabet.push(Event::Syncwarp { launch: 0, block: 0, warp: 0, mask: !0 });
    for features in [regular(), exact()] {
        all(&mut Driver::new(machine(&threads), features), &alphabet, depth(4), true);
    }
}

#[test]
fn a_kernel_without_fences_beside_a_release() {
    // Two blocks of one launch pass a message. Between them a thread of a concurrent launch, whose
    // kernel orders nothing itself, writes the flag. A plain or relaxed write ends what was released;
    // a read-modify-write passes it on.
    let machine = Machine {
        threads: vec![(0, 0, 0), (0, 1, 0), (1, 0, 0)],
        unordered: vec![vec![], vec![0]],
        regular: vec![1],
        cluster: 0,
        relaxed_volatile: false,
    };
    let flag = GLOBAL + 64;
    let at = |thread, op, address, size, site| Event::Access { thread, op, address, size, site };
    let release = Op::Atomic(AtomicKind::Rmw, Scope::Device, Order::Release);
    let acquire = Op::Atomic(AtomicKind::Load, Scope::Device, Order::Acquire);
    let relaxed = |kind, scope| Op::Atomic(kind, scope, RELAXED);
    let alphabet = [
        at(0, Op::Write, GLOBAL, 4, 0),
        at(0, release, flag, 4, 1),
        at(1, acquire, flag, 4, 2),
        at(1, Op::Read, GLOBAL, 4, 3),
        at(2, Op::Write, flag, 4, 4),
        at(2, Op::Write, flag + 3, 1, 5),
        at(2, relaxed(AtomicKind::Store, Scope::Device), flag, 4, 6),
        at(2, relaxed(AtomicKind::Rmw, Scope::Device), flag, 4, 7),
        at(2, relaxed(AtomicKind::Rmw, Scope::Block), flag, 4, 8),
        at(2, relaxed(AtomicKind::VolatileStore, Scope::System), flag, 4, 9),
        at(2, Op::Write, flag - 8, 20, 10),
    ];
    let mut driver = Driver::new(machine, exact());
    all(&mut driver, &alphabet, depth(5), false);
}

/// Two blocks of one cluster and one of another, with split arrivals and waits.
#[test]
fn clusters_of_two_blocks() {
    let machine = Machine { cluster: 2, ..machine(&[(0, 0), (0, 1), (1, 0), (2, 0), (3, 0)]) };
    let scopes = [Scope::Block, Scope::Cluster, Scope::Device];
    let atomics = scopes.map(|s| Op::Atomic(AtomicKind::Rmw, s, RELAXED));
    let ops: Vec<(Op, u32)> = [Op::Read, Op::Write].into_iter().chain(atomics).zip(0..).collect();
    // The last block is there only because each cluster has two.
    let mut global = accesses(4, &ops, GLOBAL);
    // Shared memory of the second block: only the first cluster reaches it.
    let mut shared = accesses(3, &ops, SHARED + SHARED_SIZE);
    for events in [&mut global, &mut shared] {
        for thread in 0..3 {
            events.push(Event::ClusterArrive { thread, order: Order::Release });
            events.push(Event::ClusterWait { thread });
        }
        events.push(Event::ClusterArrive { thread: 0, order: Order::Relaxed });
        events.push(Event::ClusterOver { launch: 0, first: 0 });
        events.push(Event::Barrier { launch: 0, block: 0 });
        for features in [regular(), exact()] {
            all(&mut Driver::new(machine.clone(), features), events, depth(4), false);
        }
    }
    // Longer histories of few events: whole phases of the barrier, with accesses between arrival and
    // wait.
    let mut few = accesses(3, &[(Op::Read, 0), (Op::Write, 1)], SHARED + SHARED_SIZE);
    few.truncate(6);
    few.push(Event::ClusterArrive { thread: 0, order: Order::Release });
    few.push(Event::ClusterArrive { thread: 2, order: Order::Relaxed });
    few.push(Event::ClusterOver { launch: 0, first: 0 });
    few.push(Event::ClusterWait { thread: 2 });
    few.push(Event::ClusterWait { thread: 1 });
    all(&mut Driver::new(machine, regular()), &few, depth(6), false);
}
