//! Random histories far past the exhaustive bounds. The message of a failure has the seed of the
//! history. `GPURACE_ORACLE_HISTORIES=n` runs `n` per test.

use gpurace_check::{AtomicKind, Limits, Order, Scope, SyncFeatures};
use gpurace_random::Random;

use crate::drive::{Driver, GLOBAL, SHARED, SHARED_SIZE};
use crate::model::{Event, Machine, Op};

/// What the histories of a test are made of.
pub struct Mix {
    pub features: SyncFeatures,
    pub words: usize,
    pub shared: bool,
    pub sub_word: bool,
    /// How many of 100 events synchronise.
    pub sync: usize,
    /// How many of 100 events are meetings of a block's threads.
    pub meetings: usize,
    pub length: usize,
    pub sites: usize,
}

const SCOPES: [Scope; 4] = [Scope::Block, Scope::Cluster, Scope::Device, Scope::System];
const ORDERS: [Order; 5] = [Order::Relaxed, Order::Acquire, Order::Release, Order::AcqRel, Order::SeqCst];
const KINDS: [AtomicKind; 6] = [
    AtomicKind::Load,
    AtomicKind::Store,
    AtomicKind::Rmw,
    AtomicKind::VolatileLoad,
    AtomicKind::VolatileStore,
    AtomicKind::Reduction,
];

/// The shared memory of a thread's block.
fn shared_memory(m: &Machine, thread: usize) -> usize {
    let (launch, block, _) = m.threads[thread];
    of_block(m, launch, block)
}

fn of_block(m: &Machine, launch: usize, block: u64) -> usize {
    let blocks = m.threads.iter().map(|t| t.1).max().unwrap() + 1;
    SHARED + (launch as u64 * blocks + block) as usize * SHARED_SIZE
}

/// The shared memory of some block of the thread's cluster.
fn shared_in_cluster(r: &mut Random, m: &Machine, thread: usize) -> usize {
    let (launch, block, _) = m.threads[thread];
    match m.cluster {
        0 => shared_memory(m, thread),
        n => of_block(m, launch, block - block % n + r.below(n as usize) as u64),
    }
}

/// A flag in the shared memory of a thread's block, beside the data.
fn mbarrier(m: &Machine, thread: usize) -> usize {
    shared_memory(m, thread) + SHARED_SIZE - 8
}

fn scope(r: &mut Random, mix: &Mix) -> Scope {
    r.pick(if mix.features.narrow_order { &SCOPES } else { &SCOPES[2..] })
}

pub fn event(r: &mut Random, m: &Machine, mix: &Mix, launches: &[usize]) -> Event {
    let threads: Vec<usize> = (0..m.threads.len()).filter(|&t| launches.contains(&m.threads[t].0)).collect();
    let thread = r.pick(&threads);
    let (launch, block, tid) = m.threads[thread];
    let f = if m.regular.contains(&launch) { regular() } else { mix.features };
    if m.cluster > 0 && r.below(100) < mix.sync / 2 {
        // Orders that no program has are made, too: checker and oracle treat them alike.
        return match r.below(5) {
            0 | 1 => Event::ClusterArrive {
                thread,
                order: r.pick(&[Order::Release, Order::Release, Order::Relaxed]),
            },
            2 => Event::ClusterOver { launch, first: block - block % m.cluster },
            _ => Event::ClusterWait { thread },
        };
    }
    if r.below(100) < mix.sync {
        let of_block: Vec<usize> = threads
            .iter()
            .copied()
            .filter(|&t| (m.threads[t].0, m.threads[t].1) == (launch, block))
            .collect();
        loop {
            match r.below(if f.async_copies { 10 } else { 6 }) {
                0 if r.below(3) == 0 => return Event::Barrier { launch, block },
                1 if f.partial_masks => {
                    // The oracle does not have all lanes: others would pass order on.
                    let lanes = of_block
                        .iter()
                        .filter(|&&t| m.threads[t].2 / 32 == tid / 32)
                        .fold(0, |lanes, &t| lanes | 1 << (m.threads[t].2 % 32));
                    let mask = match r.below(4) {
                        0 => !0,
                        _ => 1 << (tid % 32) | r.bits() as u32 & lanes,
                    };
                    return Event::Syncwarp { launch, block, warp: tid / 32, mask };
                }
                1 => {
                    return Event::Syncwarp { launch, block, warp: tid / 32, mask: !0 };
                }
                2 if f.fences => {
                    return Event::Fence { thread, scope: scope(r, mix), order: r.pick(&ORDERS[1..]) };
                }
                3 if f.named_barriers => {
                    let barrier = r.below(2) as u32;
                    return Event::Arrive { thread, barrier };
                }
                4 if f.named_barriers => {
                    let mut waited = of_block.clone();
                    waited.retain(|&t| t == thread || r.below(2) == 0);
                    return Event::NamedBarrier { barrier: r.below(2) as u32, waited };
                }
                5 if f.fences => {
                    // A flag, beside the data.
                    let order = r.pick(&ORDERS);
                    let op = Op::atomic(r.pick(&KINDS), scope(r, mix), order);
                    let beside = m.cluster > 0 && r.below(2) == 0;
                    let address = match (f.async_copies && r.below(2) == 0) || beside {
                        true => shared_in_cluster(r, m, thread) + SHARED_SIZE - 8,
                        false => GLOBAL + 256 + 16 * r.below(3),
                    };
                    return Event::Access { thread, op, address, size: 4, site: 900 };
                }
                6 if f.async_copies => return Event::Commit { thread },
                7 | 8 if f.async_copies => {
                    let but = r.below(3) as u32;
                    return Event::CopyWait { thread, but };
                }
                9 if f.async_copies && f.fences => {
                    return Event::CopyArrive { thread, address: mbarrier(m, thread), size: 4, site: 900 };
                }
                _ => {}
            }
        }
    }
    let atomic = r.below(4) == 0;
    let sizes: &[usize] = match (mix.sub_word, atomic) {
        (false, _) => &[4],
        (true, true) => &[1, 2, 4, 8, 16],
        (true, false) => &[1, 2, 4, 8, 16, 20],
    };
    let size = r.pick(sizes);
    let base = if mix.shared && r.below(2) == 0 { shared_in_cluster(r, m, thread) } else { GLOBAL };
    let mut offset = r.below(mix.words * 4);
    if atomic {
        offset &= !(size - 1);
    } else if !mix.sub_word || r.below(4) != 0 {
        offset &= !(size.min(8).next_power_of_two() - 1);
    }
    let op = if atomic {
        let order = if f.fences && r.below(4) == 0 { r.pick(&ORDERS) } else { Order::Relaxed };
        Op::atomic(r.pick(&KINDS), scope(r, mix), order)
    } else {
        r.pick(&[Op::Read, Op::Read, Op::Write])
    };
    if f.async_copies && matches!(op, Op::Read | Op::Write) && r.below(2) == 0 {
        let kind = 102 + usize::from(op == Op::Write);
        let site = (kind * 8 + size.trailing_zeros() as usize) * 4 + r.below(mix.sites);
        return Event::Copy { thread, op, address: base + offset, size, site: site as u32 };
    }
    // A site is one instruction: one kind of access, of one size.
    let kind = match op {
        Op::Read => 0,
        Op::Write => 1,
        Op::Atomic(k, s, o) => 2 + k as usize + 5 * (s as usize + 4 * o as usize),
    };
    let site = (kind * 8 + size.trailing_zeros() as usize) * 4 + r.below(mix.sites);
    Event::Access { thread, op, address: base + offset, size, site: site as u32 }
}

/// Threads of a block arrive at an mbarrier of theirs, and wait there. Mostly all of them do. Other events come
/// between.
fn meeting(r: &mut Random, m: &Machine, mix: &Mix, launches: &[usize]) -> Vec<Event> {
    let threads: Vec<usize> = (0..m.threads.len()).filter(|&t| launches.contains(&m.threads[t].0)).collect();
    let (launch, block, _) = m.threads[r.pick(&threads)];
    let mut of_block = threads;
    of_block.retain(|&t| (m.threads[t].0, m.threads[t].1) == (launch, block));
    let arrives = Op::atomic(AtomicKind::Reduction, scope(r, mix), Order::Release);
    let waits = Op::atomic(AtomicKind::Load, scope(r, mix), Order::Acquire);
    let mut events = Vec::new();
    for (op, site) in [(arrives, 901), (waits, 902)] {
        let some_miss = r.below(4) == 0;
        for i in (1..of_block.len()).rev() {
            of_block.swap(i, r.below(i + 1));
        }
        for &thread in &of_block {
            if !(some_miss && r.below(of_block.len()) == 0) {
                let address = mbarrier(m, thread);
                events.push(Event::Access { thread, op, address, size: 4, site });
            }
            if r.below(of_block.len()) == 0 {
                events.push(event(r, m, mix, launches));
            }
        }
    }
    events
}

pub fn histories() -> u64 {
    std::env::var("GPURACE_ORACLE_HISTORIES")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(if cfg!(debug_assertions) { 200 } else { 4_000 })
}

fn run(name: &str, m: &Machine, mix: &Mix) {
    run_with(name, m, mix, Limits::default());
}

/// As [`run`], with a quarter of the histories: for one of many machines.
fn run_few(name: &str, m: &Machine, mix: &Mix) {
    run_some(name, m, mix, Limits::default(), 0..histories() / 4);
}

fn run_with(name: &str, m: &Machine, mix: &Mix, limits: Limits) {
    run_some(name, m, mix, limits, 0..histories());
}

fn run_some(name: &str, m: &Machine, mix: &Mix, limits: Limits, seeds: std::ops::Range<u64>) {
    let mut driver = Driver::with(m.clone(), mix.features, limits);
    let concurrent = m.unordered.iter().any(|u| !u.is_empty());
    for seed in seeds {
        let r = &mut Random(seed);
        let launches = m.unordered.len();
        // Half of the histories order threads by device scope alone.
        let narrow_order = seed % 2 == 0;
        let mix = &Mix { features: SyncFeatures { narrow_order, ..mix.features }, ..*mix };
        let history: Vec<Event> = (0..mix.length)
            .flat_map(|i| {
                let now = i * launches / mix.length;
                // A launch may still run beside launches that are not ordered after it.
                let running: Vec<usize> = (0..launches)
                    .filter(|&l| {
                        l == now
                            || (concurrent && l < now && (l + 1..=now).all(|k| m.unordered[k].contains(&l)))
                    })
                    .collect();
                if mix.meetings > 0 && r.below(100) < mix.meetings {
                    return meeting(r, m, mix, &running);
                }
                vec![event(r, m, mix, &running)]
            })
            .collect();
        driver.run(&history);
    }
    assert_eq!(driver.notes(), Vec::<String>::new());
    assert!(driver.races > 0);
    println!("{name}: {} events, {} racing accesses", driver.events, driver.races);
}

pub fn blocks(blocks: u64, tids: &[u32]) -> Machine {
    Machine {
        threads: (0..blocks).flat_map(|b| tids.iter().map(move |&t| (0, b, t))).collect(),
        unordered: vec![vec![]],
        regular: vec![],
        cluster: 0,
        relaxed_volatile: false,
    }
}

pub fn regular() -> SyncFeatures {
    SyncFeatures { barriers: true, warp_syncs: true, suspends: true, observes: true, ..Default::default() }
}

pub fn exact() -> SyncFeatures {
    SyncFeatures { partial_masks: true, named_barriers: true, fences: true, narrow_order: true, ..regular() }
}

pub fn mix(features: SyncFeatures) -> Mix {
    Mix { features, words: 2, shared: true, sub_word: false, sync: 30, meetings: 0, length: 60, sites: 2 }
}

#[test]
fn regular_words() {
    let m = blocks(3, &[0, 1, 2, 32, 33, 64]);
    run("words", &m, &mix(regular()));
    run("much sync", &m, &Mix { sync: 70, words: 1, ..mix(regular()) });
    run("one site", &m, &Mix { sites: 1, words: 1, sync: 40, ..mix(regular()) });
}

#[test]
fn regular_bytes() {
    let m = blocks(2, &[0, 1, 32, 33]);
    run("bytes", &m, &Mix { sub_word: true, words: 4, ..mix(regular()) });
}

#[test]
fn masks_and_named_barriers() {
    let m = blocks(2, &[0, 1, 2, 3, 32, 33, 64]);
    let features = SyncFeatures { fences: false, ..exact() };
    run("masks", &m, &Mix { sync: 50, ..mix(features) });
    run("masks, bytes", &m, &Mix { sync: 50, sub_word: true, ..mix(features) });
}

#[test]
fn releases_and_acquires() {
    let m = blocks(3, &[0, 1, 32]);
    run("fences", &m, &Mix { sync: 70, words: 1, sites: 1, length: 80, ..mix(exact()) });
    run(
        "fences, few",
        &blocks(2, &[0, 32]),
        &Mix { sync: 70, words: 1, sites: 1, length: 80, ..mix(exact()) },
    );
    let relaxed = Machine { relaxed_volatile: true, ..m.clone() };
    run("fences, volatile is relaxed", &relaxed, &Mix { sync: 60, words: 1, ..mix(exact()) });
    run("fences, bytes", &m, &Mix { sync: 60, sub_word: true, ..mix(exact()) });
}

#[test]
fn threads_that_meet_at_an_mbarrier() {
    let meetings = Mix { meetings: 20, sync: 15, length: 40, ..mix(exact()) };
    run("meetings", &blocks(2, &[0, 1, 2]), &meetings);
    run("meetings, one site", &blocks(1, &[0, 1, 2, 3]), &Mix { words: 1, sites: 1, ..meetings });
    run("meetings, bytes", &blocks(1, &[0, 1, 2]), &Mix { sub_word: true, ..meetings });
    let limits = Limits { clock: 3, ..Limits::default() };
    run_with("meetings, ids", &blocks(2, &[0, 1]), &meetings, limits);
    let copies = SyncFeatures { async_copies: true, ..exact() };
    run("meetings, copies", &blocks(1, &[0, 1, 2]), &Mix { features: copies, ..meetings });
    let two_warps: Vec<u32> = (0..34).collect();
    let m = blocks(1, &two_warps);
    run_some("meetings, warps", &m, &Mix { length: 16, ..meetings }, Limits::default(), 0..histories() / 16);
    let clustered = Machine { cluster: 2, ..blocks(2, &[0, 1]) };
    run("meetings, clusters", &clustered, &meetings);
}

#[test]
fn asynchronous_copies() {
    let m = blocks(2, &[0, 1, 2, 32]);
    let groups = SyncFeatures { async_copies: true, ..regular() };
    let copies = SyncFeatures { async_copies: true, ..exact() };
    run("copies", &m, &Mix { sync: 50, ..mix(groups) });
    run("copies, one thread", &blocks(1, &[0]), &Mix { sync: 40, ..mix(groups) });
    run("copies, bytes", &m, &Mix { sync: 50, sub_word: true, ..mix(copies) });
    run(
        "copies, fences",
        &blocks(2, &[0, 1, 32]),
        &Mix { sync: 70, words: 1, sites: 1, length: 80, ..mix(copies) },
    );
    let limits = Limits { clock: 3, ..Limits::default() };
    let mix = Mix { sync: 60, ..mix(copies) };
    run_with("copies, ids", &m, &mix, limits);
    let beside = Machine {
        threads: (0..3).flat_map(|l| [(l, 0, 0), (l, 0, 1), (l, 1, 0)]).collect(),
        unordered: vec![vec![], vec![0], vec![0]],
        regular: vec![],
        cluster: 0,
        relaxed_volatile: false,
    };
    run("copies, launches", &beside, &mix);
}

#[test]
fn clusters_of_blocks() {
    let clustered = |n: u64, blocks: u64, tids: &[u32]| Machine { cluster: n, ..self::blocks(blocks, tids) };
    let m = clustered(2, 4, &[0, 1, 32]);
    run("clusters", &m, &mix(regular()));
    run("clusters, one block each", &clustered(1, 3, &[0, 1, 32]), &mix(exact()));
    let flags = Mix { sync: 70, words: 1, sites: 1, length: 80, ..mix(exact()) };
    run("clusters, fences", &m, &flags);
    run("clusters, fences, few", &clustered(2, 3 + 1, &[0]), &flags);
    run("clusters, bytes", &clustered(3, 3, &[0, 1, 32]), &Mix { sync: 50, sub_word: true, ..mix(exact()) });
    let copies = SyncFeatures { async_copies: true, ..exact() };
    run("clusters, copies", &m, &Mix { sync: 60, ..mix(copies) });
    let limits = Limits { clock: 3, ..Limits::default() };
    run_with("clusters, ids", &m, &Mix { sync: 60, ..mix(exact()) }, limits);
    let beside = Machine {
        threads: (0..2).flat_map(|l| [(l, 0, 0), (l, 0, 1), (l, 1, 0), (l, 2, 0), (l, 3, 0)]).collect(),
        unordered: vec![vec![], vec![0]],
        regular: vec![],
        cluster: 2,
        relaxed_volatile: false,
    };
    run("clusters, launches", &beside, &flags);
    let in_order = Machine { unordered: vec![vec![], vec![]], ..beside };
    run("clusters, launches in order", &in_order, &mix(exact()));
}

#[test]
fn launches_in_order_and_beside_each_other() {
    let threads = |launches: usize| -> Vec<(usize, u64, u32)> {
        (0..launches).flat_map(|l| [(l, 0, 0), (l, 0, 1), (l, 0, 32), (l, 1, 0)]).collect()
    };
    // For each launch, those that it is not ordered after.
    let cases: [(&str, &[&[usize]]); 5] = [
        ("in order", &[&[], &[], &[]]),
        ("two streams", &[&[], &[0]]),
        // The second reads in order what the first wrote. The third is concurrent with both.
        ("two in order, one beside them", &[&[], &[], &[0, 1]]),
        ("one beside two in order", &[&[], &[0], &[0]]),
        ("fork and join", &[&[], &[], &[1], &[]]),
    ];
    for (name, unordered) in cases {
        let m = Machine {
            threads: threads(unordered.len()),
            unordered: unordered.iter().map(|u| u.to_vec()).collect(),
            regular: vec![],
            cluster: 0,
            relaxed_volatile: false,
        };
        run_few(name, &m, &mix(regular()));
        run_few(name, &m, &mix(exact()));
        let flags = Mix { sync: 60, words: 1, sites: 1, ..mix(exact()) };
        run_few(name, &m, &flags);
        for regular in 0..unordered.len() {
            let m = Machine { regular: vec![regular], ..m.clone() };
            run_few(name, &m, &flags);
        }
    }
}

#[test]
fn blocks_that_take_new_ids_at_barriers() {
    let limits = Limits { clock: 3, ..Limits::default() };
    let m = blocks(2, &[0, 1, 32]);
    run_with("ids", &m, &Mix { sync: 50, ..mix(regular()) }, limits);
    run_with("ids, exact", &m, &Mix { sync: 60, ..mix(exact()) }, limits);
}

#[test]
fn shadow_that_is_cleared_between_launches() {
    let limits = Limits { uids: 16, clock: 8, ..Limits::default() };
    let m = blocks(2, &[0, 1, 32]);
    let histories = Mix { length: 20, ..mix(regular()) };
    run_some("clears", &m, &histories, limits, 0..100);
}

/// One of the histories that random runs have found to be hard.
#[test]
fn a_release_of_another_size_releases_nothing() {
    let m = blocks(1, &[0, 1, 32]);
    let access = |thread, op, size, site| Event::Access { thread, op, address: GLOBAL, size, site };
    let atomic = |kind, order| Op::Atomic(kind, Scope::System, order);
    let mut driver = Driver::with(m, exact(), Limits::default());
    driver.run(&[
        access(0, atomic(AtomicKind::Store, Order::SeqCst), 16, 1),
        access(0, atomic(AtomicKind::Store, Order::Relaxed), 8, 2),
        access(1, atomic(AtomicKind::Rmw, Order::AcqRel), 8, 3),
        Event::NamedBarrier { barrier: 1, waited: vec![1, 2] },
        access(2, Op::Read, 20, 4),
    ]);
    assert_eq!(driver.races, 2);
}

/// A hard history: a store whose scope reaches only its block, on a location with more operations than
/// a log keeps at first.
#[test]
fn an_observed_atomic_of_another_scope_stands_for_none() {
    let m = blocks(3, &[0, 1, 32]);
    let at = |thread, kind, scope, order| Event::Access {
        thread,
        op: Op::atomic(kind, scope, order),
        address: GLOBAL,
        size: 4,
        site: 900,
    };
    let (device, system) = (Scope::Device, Scope::System);
    let mut driver = Driver::with(m, exact(), Limits::default());
    driver.run(&[
        at(7, AtomicKind::Store, device, Order::Acquire),
        at(3, AtomicKind::Rmw, device, Order::Release),
        at(2, AtomicKind::Store, device, Order::Relaxed),
        at(5, AtomicKind::Load, Scope::Cluster, Order::AcqRel),
        at(6, AtomicKind::Store, Scope::Cluster, Order::SeqCst),
        at(4, AtomicKind::VolatileLoad, device, Order::SeqCst),
        at(2, AtomicKind::VolatileLoad, system, Order::Acquire),
        at(7, AtomicKind::Rmw, device, Order::AcqRel),
        at(3, AtomicKind::VolatileStore, Scope::Block, Order::Acquire),
        at(1, AtomicKind::Rmw, system, Order::Release),
    ]);
    assert!(driver.races > 0);
}
