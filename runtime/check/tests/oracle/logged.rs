//! Random histories as event logs that a GPU may write of them, replayed.
//!
//! A history says in which order events happened. Its log keeps the order of events that order
//! threads, and may vary in the rest: when a thread logs that it comes to a barrier or has passed it,
//! which thread logs that first, and when an atomic access begins and is done.

use std::collections::{HashMap, HashSet};

use gpurace_abi::event::{Event as Logged, EventKind, NamedWait};
use gpurace_check::{
    AtomicKind, Clusters, KernelKey, Order, RaceRecord, Replay, Replayed, Scope, Space, SyncFeatures,
};
use gpurace_random::Random;

use crate::drive::{Driver, GLOBAL, SHARED, SHARED_SIZE};
use crate::model::{Event, Machine, Op, Oracle, Thread};
use crate::random::{self, Mix, blocks, exact, histories, mix};

/// How the log of a history is made.
#[derive(Clone, Copy)]
struct Making {
    /// Other threads' events may come between the two events of an atomic access.
    splits: bool,
    /// All threads leave at the end.
    leaves: bool,
}

fn threads_per_block(m: &Machine) -> u32 {
    m.threads.iter().map(|t| t.2).max().unwrap() + 1
}

fn block_count(m: &Machine) -> u64 {
    m.threads.iter().map(|t| t.1).max().unwrap() + 1
}

/// The machine's threads of a block.
fn of_block(m: &Machine, block: u64) -> Vec<Thread> {
    (0..m.threads.len()).filter(|&t| m.threads[t].1 == block).collect()
}

fn of_cluster(m: &Machine, first: u64) -> Vec<Thread> {
    (0..m.threads.len()).filter(|&t| m.threads[t].1 / m.cluster == first / m.cluster).collect()
}

/// The threads that take part in an event.
fn participants(m: &Machine, e: &Event) -> Vec<Thread> {
    match *e {
        Event::Syncwarp { block, warp, mask, .. } => {
            let is_of = |&t: &Thread| m.threads[t].2 / 32 == warp && mask >> (m.threads[t].2 % 32) & 1 == 1;
            of_block(m, block).into_iter().filter(is_of).collect()
        }
        Event::Barrier { block, .. } => of_block(m, block),
        Event::NamedBarrier { ref waited, .. } => waited.clone(),
        _ => e.thread().into_iter().collect(),
    }
}

/// Changes a history into one that a program can have. A thread that waits at a barrier acquires
/// there, as by a fence and as in the executor. All threads come to the barrier of a cluster before
/// one passes it. No thread reaches another block's shared memory by an offset.
fn of_a_program(m: &Machine, history: Vec<Event>) -> Vec<Event> {
    let mut made = Vec::new();
    let fence = |thread| Event::Fence { thread, scope: Scope::System, order: Order::Acquire };
    // For each cluster, the threads that have arrived; and those that have yet to wait for a phase that
    // is over.
    let mut arrived: HashMap<u64, HashSet<Thread>> = HashMap::new();
    let mut over: HashSet<Thread> = HashSet::new();
    let wait = |made: &mut Vec<Event>, over: &mut HashSet<Thread>, thread| {
        if over.remove(&thread) {
            made.extend([fence(thread), Event::ClusterWait { thread }]);
        }
    };
    for e in history {
        match e {
            Event::Access { thread, address, .. }
            | Event::Copy { thread, address, .. }
            | Event::CopyArrive { thread, address, .. } => {
                let own = SHARED + m.threads[thread].1 as usize * SHARED_SIZE;
                if address < SHARED || (own..own + SHARED_SIZE).contains(&address) {
                    made.push(e);
                }
            }
            Event::Barrier { .. } => {
                made.extend(participants(m, &e).into_iter().map(fence));
                made.push(e);
            }
            Event::NamedBarrier { ref waited, .. } => {
                made.extend(waited.iter().copied().map(fence));
                made.push(e);
            }
            Event::ClusterOver { .. } => {}
            Event::ClusterArrive { thread, .. } => {
                let first = m.threads[thread].1 / m.cluster * m.cluster;
                if !over.contains(&thread) && arrived.entry(first).or_default().insert(thread) {
                    made.push(e);
                }
            }
            Event::ClusterWait { thread } => {
                let first = m.threads[thread].1 / m.cluster * m.cluster;
                let here = arrived.entry(first).or_default();
                if here.contains(&thread) {
                    for other in of_cluster(m, first) {
                        wait(&mut made, &mut over, other);
                        if !here.contains(&other) {
                            made.push(Event::ClusterArrive { thread: other, order: Order::Release });
                        }
                    }
                    made.push(Event::ClusterOver { launch: 0, first });
                    over.extend(of_cluster(m, first));
                    here.clear();
                }
                wait(&mut made, &mut over, thread);
            }
            _ => made.push(e),
        }
    }
    made
}

/// The history as the driver runs it: a named barrier at which the whole block waits is one of the
/// whole block.
fn for_the_driver(m: &Machine, history: &[Event]) -> Vec<Event> {
    let plain = |e: &Event| match e {
        Event::NamedBarrier { waited, .. } => {
            let block = m.threads[waited[0]].1;
            let whole = waited.len() == of_block(m, block).len();
            if whole { Event::Barrier { launch: 0, block } } else { e.clone() }
        }
        _ => e.clone(),
    };
    history.iter().map(plain).collect()
}

const RMW: AtomicKind = AtomicKind::Rmw;

/// An event of a thread in a log.
fn logged(m: &Machine, t: Thread, kind: EventKind, address: usize) -> Logged {
    ordered(m, t, kind, address, (RMW, Scope::Block, Order::Relaxed))
}

fn ordered(
    m: &Machine,
    t: Thread,
    kind: EventKind,
    address: usize,
    (atomic, scope, order): (AtomicKind, Scope, Order),
) -> Logged {
    let (_, block, thread) = m.threads[t];
    let own = SHARED + block as usize * SHARED_SIZE;
    let shared = address.checked_sub(own).filter(|&offset| offset < SHARED_SIZE);
    Logged {
        address: shared.unwrap_or(address) as u64,
        block: block as u32,
        what: Logged::pack(thread, kind, atomic, scope, order, shared.is_some()),
        complete: 1,
        ..Logged::default()
    }
}

/// The events behind each event of the history: first those that are logged late, then those that
/// are logged early.
struct Slots {
    late: Vec<Vec<Logged>>,
    early: Vec<Vec<Logged>>,
}

/// Makes a log of a history.
fn log(r: &mut Random, m: &Machine, history: &[Event], making: Making) -> Vec<Logged> {
    let slots = history.len() + 1;
    let mut behind = Slots { late: vec![Vec::new(); slots], early: vec![Vec::new(); slots] };
    let mut core: Vec<Vec<Logged>> = vec![Vec::new(); slots];
    // Slot 0 is before all events. The threads that the machine does not have leave there.
    for block in 0..block_count(m) {
        for thread in 0..threads_per_block(m) {
            if !m.threads.contains(&(0, block, thread)) {
                let what = Logged::pack(thread, EventKind::Leave, RMW, Scope::Block, Order::Relaxed, false);
                core[0].push(Logged { block: block as u32, what, complete: 1, ..Logged::default() });
            }
        }
    }
    let mut last_named: HashMap<(u64, u32), usize> = HashMap::new();
    // For each thread, the first slot in which its next event may lie.
    let mut from = vec![0; m.threads.len()];
    let mut told_by = vec![1; block_count(m) as usize];
    let mut synced: HashMap<(u64, u32), u32> = HashMap::new();
    for (i, e) in history.iter().enumerate() {
        let slot = i + 1;
        let mut here = participants(m, e);
        let next = |t: Thread| {
            history[i + 1..]
                .iter()
                .position(|e| participants(m, e).contains(&t))
                .map_or(slots - 1, |n| i + 1 + n)
        };
        // Early events come behind the thread's late ones, and late ones before its next event.
        let early = |r: &mut Random, from: usize| from + r.below(slot - from);
        let late = |r: &mut Random, t: Thread| slot + r.below(next(t) + 1 - slot);
        for n in (1..here.len()).rev() {
            here.swap(n, r.below(n + 1));
        }
        let mut until = vec![slot; here.len()];
        match *e {
            Event::Access { thread, op, address, size, site } => {
                let event = |kind, what| Logged {
                    site,
                    size: size as u32,
                    ..ordered(m, thread, kind, address, what)
                };
                let plain = (RMW, Scope::Block, Order::Relaxed);
                match op {
                    Op::Read => core[slot].push(event(EventKind::Read, plain)),
                    Op::Write => core[slot].push(event(EventKind::Write, plain)),
                    Op::Atomic(kind, scope, order) => {
                        let [begun, done] = [EventKind::Atomic, EventKind::AtomicDone]
                            .map(|k| event(k, (kind, scope, order)));
                        if making.splits {
                            behind.early[early(r, from[thread])].push(begun);
                            until[0] = late(r, thread);
                            behind.late[until[0]].push(done);
                        } else {
                            core[slot].extend([begun, done]);
                        }
                    }
                }
            }
            Event::Fence { thread, scope, order } => {
                core[slot].push(ordered(m, thread, EventKind::Fence, 0, (RMW, scope, order)))
            }
            Event::Copy { thread, op, address, size, site } => {
                let kind = if op == Op::Read { EventKind::AsyncRead } else { EventKind::AsyncWrite };
                core[slot].push(Logged { site, size: size as u32, ..logged(m, thread, kind, address) });
            }
            Event::Commit { thread } => core[slot].push(logged(m, thread, EventKind::AsyncCommit, 0)),
            Event::CopyWait { thread, but } => {
                core[slot].push(Logged { extra: but, ..logged(m, thread, EventKind::AsyncWait, 0) })
            }
            Event::CopyArrive { thread, address, size, site } => {
                let what = (RMW, Scope::Block, Order::Release);
                let event =
                    |kind| Logged { site, size: size as u32, ..ordered(m, thread, kind, address, what) };
                core[slot].push(event(EventKind::AsyncArrive));
                core[slot].push(event(EventKind::Atomic));
                if making.splits {
                    until[0] = late(r, thread);
                    behind.late[until[0]].push(event(EventKind::AtomicDone));
                } else {
                    core[slot].push(event(EventKind::AtomicDone));
                }
            }
            Event::Syncwarp { block, warp, mask, .. } => {
                // A sync of all lanes that have not left may be logged as one of all lanes.
                let all = of_block(m, block).into_iter().filter(|&t| m.threads[t].2 / 32 == warp).count();
                let whole = here.len() == all && r.below(2) == 0;
                let synced = synced.entry((block, warp)).or_insert(0);
                *synced += u32::from(whole) * (1 + r.below(3) as u32);
                let extra = if whole { *synced } else { 0 };
                for (n, &t) in here.iter().enumerate() {
                    if !whole {
                        behind.early[early(r, from[t])].push(logged(
                            m,
                            t,
                            EventKind::WarpArrive,
                            mask as usize,
                        ));
                    }
                    let passed = Logged { extra, ..logged(m, t, EventKind::WarpPassed, 0) };
                    if n == 0 {
                        core[slot].push(passed);
                    } else if !whole || r.below(2) == 0 {
                        until[n] = late(r, t);
                        behind.late[until[n]].push(passed);
                    }
                }
            }
            Event::NamedBarrier { barrier, .. } => {
                // A thread comes to the next phase only once some thread has passed this one.
                let phase = last_named.entry((m.threads[here[0]].1, barrier)).or_default();
                for (n, &t) in here.iter().enumerate() {
                    let arrive = Logged {
                        extra: NamedWait::WholeBlock as u32,
                        ..logged(m, t, EventKind::NamedArrive, barrier as usize)
                    };
                    behind.early[early(r, from[t].max(*phase))].push(arrive);
                    let passed = logged(m, t, EventKind::NamedPassed, barrier as usize);
                    if n == 0 {
                        core[slot].push(passed);
                    } else {
                        until[n] = late(r, t);
                        behind.late[until[n]].push(passed);
                    }
                }
                *phase = slot;
            }
            Event::Arrive { thread, barrier } => {
                core[slot].push(logged(m, thread, EventKind::NamedArrive, barrier as usize));
                until[0] = late(r, thread);
                behind.late[until[0]].push(logged(m, thread, EventKind::NamedPassed, barrier as usize));
            }
            Event::Barrier { block, .. } => {
                told_by[block as usize] += 1 + r.below(3) as u32;
                let extra = told_by[block as usize];
                for (n, &t) in here.iter().enumerate() {
                    let passed = Logged { extra, ..logged(m, t, EventKind::Barrier, 0) };
                    match n {
                        0 => core[slot].push(passed),
                        // The other threads log it late, or not at all.
                        _ if r.below(2) == 0 => {
                            until[n] = late(r, t);
                            behind.late[until[n]].push(passed);
                        }
                        _ => {}
                    }
                }
            }
            Event::ClusterArrive { thread, order } => {
                core[slot].push(ordered(
                    m,
                    thread,
                    EventKind::ClusterArrive,
                    0,
                    (RMW, Scope::Cluster, order),
                ));
            }
            Event::ClusterOver { .. } => {}
            Event::ClusterWait { thread } => core[slot].push(logged(m, thread, EventKind::ClusterPassed, 0)),
        }
        for (&t, until) in here.iter().zip(until) {
            from[t] = until;
        }
    }
    let mut log = Vec::new();
    for (slot, core) in core.iter_mut().enumerate() {
        log.append(core);
        for part in [&mut behind.late[slot], &mut behind.early[slot]] {
            for n in (1..part.len()).rev() {
                part.swap(n, r.below(n + 1));
            }
            log.append(part);
        }
    }
    if making.leaves {
        log.extend((0..m.threads.len()).map(|t| logged(m, t, EventKind::Leave, 0)));
    }
    log
}

fn run_log(replay: &mut Replay, m: &Machine, features: SyncFeatures, log: &[Logged]) -> Replayed {
    let size = u32::try_from(m.cluster).ok().filter(|&n| n > 0);
    let launch = gpurace_check::Logged {
        id: 1,
        kernel: KernelKey(0),
        stream: 0,
        threads_per_block: threads_per_block(m),
        blocks: block_count(m),
        clusters: size.map(|n| Clusters {
            grid: [block_count(m) as u32, 1, 1],
            blocks: [n, 1, 1],
            end_of_block: 99,
        }),
        features,
        shared: SHARED_SIZE,
    };
    replay.launch(&launch, log)
}

/// Records with offsets in place of addresses of shared memory.
fn anywhere(mut records: Vec<RaceRecord>) -> Vec<RaceRecord> {
    for record in &mut records {
        if record.space == Space::Shared {
            let base = record.shared_base;
            let offset = |address: usize| address.wrapping_sub(base);
            record.address -= base;
            record.earlier.address = record.earlier.address.map(offset);
            record.later.address = record.later.address.map(offset);
        }
        record.shared_base = 0;
    }
    records
}

fn history_of(r: &mut Random, m: &Machine, mix: &Mix) -> Vec<Event> {
    let history = (0..mix.length).map(|_| random::event(r, m, mix, &[0])).collect();
    of_a_program(m, history)
}

/// A history of one counter, to which threads add and which they read by plain reads. The thread that
/// added last may do that.
fn counting(r: &mut Random, m: &Machine, mix: &Mix) -> Vec<Event> {
    let one = |r: &mut Random| match r.below(100) {
        n if n < mix.sync => random::event(r, m, &Mix { sync: 100, ..*mix }, &[0]),
        _ => {
            let (thread, adds) = (r.below(m.threads.len()), r.below(2) == 0);
            let (op, site) =
                if adds { (Op::Atomic(RMW, Scope::Device, Order::Relaxed), 1) } else { (Op::Read, 2) };
            Event::Access { thread, op, address: GLOBAL, size: 4, site: site + r.below(2) as u32 * 2 }
        }
    };
    let history = (0..mix.length).map(|_| one(r)).collect();
    of_a_program(m, history)
}

/// Compares the races of logs with those of the driver, which is compared with the oracle: sites,
/// operations, blocks, threads, bytes, scopes, counts.
fn run(name: &str, m: &Machine, mix: &Mix) {
    let (mut events, mut races) = (0, 0);
    let mut replay = Replay::new();
    for seed in 0..histories() / 8 {
        let r = &mut Random(seed);
        let history = history_of(r, m, mix);
        let making = Making { splits: false, leaves: m.cluster == 0 && seed.is_multiple_of(2) };
        let log = log(r, m, &history, making);
        let found = run_log(&mut replay, m, mix.features, &log);
        let wanted = Driver::new(m.clone(), mix.features).records(&for_the_driver(m, &history));
        assert_eq!(
            anywhere(found.races.clone()),
            anywhere(wanted),
            "{name}, seed {seed}: {history:#?}\n{log:#?}"
        );
        assert_eq!((found.unknown, found.left_out, found.notes.len()), (false, 0, 0), "{name}, seed {seed}");
        assert_eq!(
            run_log(&mut Replay::new(), m, mix.features, &log),
            found,
            "{name}, seed {seed}: what was replayed before matters"
        );
        events += log.len();
        races += found.races.len();
    }
    println!("{name}: {events} events, {races} races");
    assert!(races > 0);
}

/// The sites of a history's accesses.
#[derive(Clone, Copy)]
enum Sites {
    /// Each access has a site of its own, so that a record tells its accesses.
    Own,
    /// Several threads share a site, as the history was made.
    Shared,
}

impl Sites {
    fn give(self, history: &mut [Event]) {
        let mut next = 0;
        for e in history {
            let site = match e {
                Event::Access { site, .. } | Event::Copy { site, .. } | Event::CopyArrive { site, .. } => {
                    Some(site)
                }
                // The oracle numbers fences, too.
                Event::Fence { .. } => None,
                _ => continue,
            };
            if let (Self::Own, Some(site)) = (self, site) {
                *site = next;
            }
            next += 1;
        }
    }
}

/// Replays logs in which atomic accesses begin before they happen and are done after it, with other
/// events between. Each reported race must be one of the history. Of two writes at once either may
/// come first, and a load may have read any value that was there meanwhile. So accesses may seem
/// ordered that are not, but never the reverse.
fn run_split(name: &str, m: &Machine, mix: &Mix, sites: Sites) {
    let (mut races, mut missed) = (0, 0);
    let mut replay = Replay::new();
    for seed in 0..histories() / 2 {
        let r = &mut Random(seed);
        let mut history = match sites {
            Sites::Own => history_of(r, m, mix),
            Sites::Shared => counting(r, m, mix),
        };
        sites.give(&mut history);
        match split(&mut replay, m, mix.features, &history, seed) {
            Ok((found, racing)) => {
                races += found;
                missed += usize::from(found == 0 && racing > 0);
            }
            Err(why) => {
                let (why, history) = shortest(m, mix.features, history, sites, seed, why);
                let lines: Vec<_> = history.iter().map(|e| format!("  {e:?}")).collect();
                panic!("{name}, seed {seed}: {why}\nthreads: {:?}\n{}", m.threads, lines.join("\n"));
            }
        }
    }
    println!("{name}: {races} races, {missed} histories with races of which none was found");
    assert!(races > 0 && missed * 40 < histories() as usize);
}

/// The number of reported pairs, and of pairs that race; or a pair that was reported and does not
/// race.
fn split(
    replay: &mut Replay,
    m: &Machine,
    features: SyncFeatures,
    history: &[Event],
    seed: u64,
) -> Result<(usize, usize), String> {
    let log = log(&mut Random(seed), m, history, Making { splits: true, leaves: false });
    let found = run_log(replay, m, features, &log);
    assert_eq!((found.unknown, found.left_out, found.notes.len()), (false, 0, 0), "seed {seed}");
    let racing = racing(m, &for_the_driver(m, history));
    let pair =
        |race: &RaceRecord| (race.earlier.site.min(race.later.site), race.earlier.site.max(race.later.site));
    match found.races.iter().find(|race| !racing.contains(&pair(race))) {
        None => Ok((found.races.len(), racing.len())),
        Some(race) => {
            let say = |e: &Logged| {
                format!(
                    "  block {} thread {} {:?} {:?} {:?} {:#x} site {}",
                    e.block,
                    e.thread(),
                    e.kind(),
                    e.atomic(),
                    e.scope(),
                    e.address,
                    e.site
                )
            };
            let lines: Vec<_> = log.iter().map(say).collect();
            Err(format!("reported, but no race: {race:#?}\n{}", lines.join("\n")))
        }
    }
}

/// The shortest history that still fails with one of some logs, and its failure.
fn shortest(
    m: &Machine,
    features: SyncFeatures,
    mut history: Vec<Event>,
    sites: Sites,
    seed: u64,
    mut why: String,
) -> (String, Vec<Event>) {
    let mut i = 0;
    while i < history.len() {
        let mut shorter = history.clone();
        shorter.remove(i);
        let clustered = matches!(
            history[i],
            Event::ClusterArrive { .. } | Event::ClusterOver { .. } | Event::ClusterWait { .. }
        );
        sites.give(&mut shorter);
        match (0..8)
            .find_map(|more| split(&mut Replay::new(), m, features, &shorter, seed + more).err())
            .filter(|_| !clustered)
        {
            Some(shorter_why) => (history, why, i) = (shorter, shorter_why, 0),
            None => i += 1,
        }
    }
    (why, history)
}

/// The pairs that race in a history, by their sites.
fn racing(m: &Machine, history: &[Event]) -> HashSet<(u32, u32)> {
    let mut oracle = Oracle::new(m.clone());
    oracle.begin_launch(0);
    let mut racing = HashSet::new();
    // The site of each access, by the oracle's number of it.
    let mut sites = Vec::new();
    for e in history {
        let pairs = oracle.step(e);
        match *e {
            Event::Access { site, .. } | Event::Copy { site, .. } | Event::CopyArrive { site, .. } => {
                sites.push(site)
            }
            Event::Fence { .. } => sites.push(u32::MAX),
            _ => {}
        }
        let pairs = pairs.iter().map(|pair| (sites[pair.earlier], sites[sites.len() - 1]));
        racing.extend(pairs.map(|(one, other)| (one.min(other), one.max(other))));
    }
    racing
}

fn copies() -> SyncFeatures {
    SyncFeatures { async_copies: true, ..exact() }
}

fn flags() -> Mix {
    Mix { sync: 70, words: 1, sites: 1, length: 80, ..mix(exact()) }
}

fn clusters(of: u64, blocks: u64, tids: &[u32]) -> Machine {
    Machine { cluster: of, ..self::blocks(blocks, tids) }
}

#[test]
fn a_log_has_the_races_of_its_history() {
    let m = blocks(3, &[0, 1, 2, 32, 33, 64]);
    run("log", &m, &mix(exact()));
    run("log, one site", &m, &Mix { sites: 1, words: 1, sync: 40, ..mix(exact()) });
    run(
        "log, bytes",
        &blocks(2, &[0, 1, 32, 33]),
        &Mix { sub_word: true, words: 4, sync: 50, ..mix(exact()) },
    );
    run("log, fences", &blocks(3, &[0, 1, 32]), &flags());
    run("log, fences, few", &blocks(2, &[0, 32]), &flags());
    run("log, whole block", &blocks(2, &[0, 1]), &Mix { sync: 60, ..mix(exact()) });
}

#[test]
fn a_log_of_copies_has_the_races_of_its_history() {
    let m = blocks(2, &[0, 1, 2, 32]);
    run("log, copies", &m, &Mix { sync: 50, ..mix(copies()) });
    run("log, copies, fences", &blocks(2, &[0, 1, 32]), &Mix { features: copies(), ..flags() });
}

#[test]
fn a_log_of_clusters_has_the_races_of_its_history() {
    run("log, clusters", &clusters(2, 4, &[0, 1, 32]), &Mix { sync: 60, ..mix(exact()) });
    run("log, clusters, fences", &clusters(2, 4, &[0, 1]), &flags());
    run("log, clusters, copies", &clusters(3, 3, &[0, 32]), &Mix { sync: 60, ..mix(copies()) });
}

#[test]
fn what_a_log_with_atomics_under_way_says_is_a_race() {
    run_split("under way", &blocks(3, &[0, 1, 32]), &flags(), Sites::Own);
    run_split("under way, few", &blocks(2, &[0, 32]), &flags(), Sites::Own);
    run_split(
        "under way, bytes",
        &blocks(3, &[0, 1, 32]),
        &Mix { sync: 60, sub_word: true, ..mix(exact()) },
        Sites::Own,
    );
    run_split(
        "under way, copies",
        &blocks(2, &[0, 1, 32]),
        &Mix { features: copies(), ..flags() },
        Sites::Own,
    );
    run_split("under way, clusters", &clusters(2, 4, &[0, 1]), &flags(), Sites::Own);
    let counting = || Mix { sync: 5, length: 7, ..mix(exact()) };
    run_split("counting", &blocks(1, &[0, 1, 2, 32]), &counting(), Sites::Shared);
    run_split("counting, blocks", &blocks(3, &[0, 32]), &counting(), Sites::Shared);
}
