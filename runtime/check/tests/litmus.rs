//! Random litmus programs: in each execution that comes about if one thread acts at a time, the checker
//! reports the races that the axioms of the PTX memory model say there are. `gpurace_litmus` knows the
//! axioms, and shares no code with the checker.
//!
//! `GPURACE_CASES=n` judges n programs, `GPURACE_SEED=s` begins with that of seed s.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use gpurace_check::{AtomicKind, Block, Checker, KernelKey, LaunchInfo, Limits, Order, Scope, SyncFeatures};
use gpurace_litmus::execution::{Execution, Rules};
use gpurace_litmus::program::Order::{AcqRel, Acquire, Relaxed, Release};
use gpurace_litmus::program::Scope::{Cta, Gpu};
use gpurace_litmus::program::{self, Instruction, Meeting, Program, Strength, Update};
use gpurace_litmus::shorthand::{atom, global, if_is, ld, ld_atomic, st, st_atomic, thread};
use gpurace_litmus::walk::{Code, Event, Kind};
use gpurace_litmus::{generate, interleavings, shrink};
use gpurace_random::{Random, number};

/// Where the locations lie. No memory is accessed there.
const GLOBAL: usize = 0x10_0000_0000;
const SHARED: usize = 0x20_0000_0000;
const SHARED_SIZE: usize = 64;

/// Blocks of a launch, and threads of a block.
const BLOCKS: u64 = 2;
const THREADS: u32 = 64;

/// Random executions of a program, beside one for each that differs in what reads return.
const RANDOM: usize = 40;

struct Driver {
    checker: Checker,
    next: u64,
    blocks: Vec<Block>,
    rules: Rules,
    executions: u64,
    racing: u64,
    /// Reports of a write that was observed, which are known false alarms.
    observed: u64,
}

fn shared(block: u64) -> Range<usize> {
    let at = SHARED + block as usize * SHARED_SIZE;
    at..at + SHARED_SIZE
}

fn scope(of: program::Scope) -> Scope {
    match of {
        program::Scope::Cta => Scope::Block,
        program::Scope::Gpu => Scope::Device,
        program::Scope::Sys => Scope::System,
    }
}

fn order(event: &Event) -> Order {
    match (event.acquires, event.releases) {
        (false, false) => Order::Relaxed,
        (true, false) => Order::Acquire,
        (false, true) => Order::Release,
        (true, true) => Order::AcqRel,
    }
}

impl Driver {
    fn new(rules: Rules) -> Self {
        let checker = Checker::with(Limits::default(), None);
        checker.relax_volatile(rules.volatile_is_strong);
        Self { checker, next: 1, blocks: Vec::new(), rules, executions: 0, racing: 0, observed: 0 }
    }

    /// Runs an execution, whose events are in the order in which they happened. Returns the sites of each
    /// pair that is reported, the earlier one first.
    fn run(&mut self, program: &Program, execution: &Execution<'_>) -> BTreeSet<(usize, usize)> {
        let features = SyncFeatures {
            barriers: true,
            warp_syncs: true,
            partial_masks: true,
            fences: true,
            narrow_order: true,
            observes: true,
            uses_atomics: true,
            suspends: true,
            ..SyncFeatures::default()
        };
        let info = LaunchInfo {
            features,
            settled: self.next - 1,
            ..LaunchInfo::new(self.next, KernelKey(0), BLOCKS, THREADS)
        };
        self.next += 1;
        let launch = self.checker.begin_launch(info, &[]);
        for b in 0..BLOCKS {
            match self.blocks.get_mut(b as usize) {
                Some(block) => block.restart(&launch, b, shared(b)),
                None => {
                    let mut block = Block::begin(&launch, b, shared(b));
                    block.trace();
                    self.blocks.push(block);
                }
            }
        }
        let mut reported = BTreeSet::new();
        for event in &execution.events {
            let thread = &program.threads[event.thread];
            let block = &mut self.blocks[thread.block as usize];
            step(block, thread.number, event, program, execution.code);
            let races = block.take_traced();
            reported.extend(races.iter().map(|r| (r.earlier.site as usize, r.later.site as usize)));
        }
        self.checker.end_launch(&launch);
        reported
    }

    /// Compares what the checker reports with the model.
    fn compare(&mut self, program: &Program, execution: &Execution<'_>) -> Result<(), String> {
        let reported = self.run(program, execution);
        let orders = execution.orders(self.rules, &[]);
        let races = execution.races(&orders, self.rules);
        self.executions += 1;
        self.racing += u64::from(!races.is_empty());
        let event = |site: usize| execution.events.iter().position(|e| e.site == site).expect("an event");
        let site = |event: usize| execution.events[event].site;
        // Each instruction is executed at most once.
        let real: BTreeSet<(usize, usize)> = races.iter().map(|r| (site(r.first), site(r.second))).collect();
        for pair in reported.difference(&real) {
            let (earlier, later) = (event(pair.0), event(pair.1));
            // The known false alarms of docs/soundness.md: a write that was observed, and an atomic that
            // is ordered after it by nothing else, or an access that races with another atomic; or the
            // write is plain, and its thread's own read-modify-write has passed it on.
            let observed =
                orders.causality[earlier] >> later & 1 != 0 && orders.base[earlier] >> later & 1 == 0;
            let strong = |event: usize| execution.events[event].scope.is_some();
            let beside = races.iter().any(|r| r.second == later && strong(r.first));
            if !(observed && (strong(later) || beside || !strong(earlier))) {
                return Err(format!("reported, but no race: {pair:?}"));
            }
            self.observed += 1;
        }
        let found = |later: usize| reported.iter().any(|&(_, b)| b == later);
        match real.iter().find(|pair| !found(pair.1)) {
            Some(pair) => Err(format!("a race, but not reported: {pair:?}")),
            None => Ok(()),
        }
    }

    /// Compares in all executions of a program in which one thread acts at a time.
    fn check(&mut self, program: &Program, seed: u64) -> Result<(), String> {
        let code = Code::new(program);
        let mut result = Ok(());
        let mut compare = |execution: &Execution<'_>| {
            if result.is_ok() {
                result =
                    self.compare(program, execution).map_err(|why| format!("{why}\n{}", shown(execution)));
            }
        };
        interleavings::each(&code, 20_000, &mut compare);
        let random = &mut Random(seed);
        for _ in 0..RANDOM {
            compare(&interleavings::random(&code, random));
        }
        result
    }
}

fn shown(execution: &Execution<'_>) -> String {
    let lines = execution.events.iter().enumerate().map(|(i, e)| {
        let Event { thread, site, kind, scope, acquires, releases, .. } = e;
        format!(
            "  {i}: T{thread} site {site} {kind:?} {scope:?} acquires {acquires} releases {releases} from {:?}",
            execution.from[i]
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn step(block: &mut Block, thread: u32, event: &Event, program: &Program, code: &Code) {
    let site = event.site as u32;
    match event.kind {
        Kind::Fence { full } => {
            let order = if full { Order::SeqCst } else { Order::AcqRel };
            block.fence(thread, scope(event.scope.expect("a fence has a scope")), order);
        }
        Kind::Meet { meeting } => match program.meetings[meeting] {
            Meeting::Block(_) => {
                block.acquire_at_barrier(0..THREADS);
                block.barrier();
            }
            Meeting::Lanes { warp, mask, .. } => block.syncwarp(warp, mask),
        },
        Kind::Access { at, reads, writes, volatile, reduces } => {
            let (location, of) = code.places[at];
            let base = of.map_or(GLOBAL, |block| shared(u64::from(block)).start);
            let address = base + 4 * location;
            let Some(reach) = event.scope else {
                return match writes {
                    Some(_) => block.write(thread, address, 4, site, None),
                    None => block.read(thread, address, 4, site),
                };
            };
            let kind = match (reads, writes) {
                (_, None) if volatile => AtomicKind::VolatileLoad,
                (_, Some(_)) if volatile => AtomicKind::VolatileStore,
                (_, None) => AtomicKind::Load,
                (None, Some(_)) => AtomicKind::Store,
                (Some(_), Some(_)) if reduces => AtomicKind::Reduction,
                (Some(_), Some(_)) => AtomicKind::Rmw,
            };
            let (reach, order) = (scope(reach), order(event));
            block.atomic(thread, address, 4, site, kind, reach, order);
            block.atomic_done(thread, address, 4, site, kind, reach, order);
        }
    }
}

fn run(rules: Rules) {
    let cases = number("GPURACE_CASES", if cfg!(debug_assertions) { 200 } else { 3_000 });
    let first = number("GPURACE_SEED", 0);
    let mut driver = Driver::new(rules);
    let mut wrong: BTreeMap<String, (u64, Program, String, u64)> = BTreeMap::new();
    for seed in first..first + cases {
        let program = generate::program(seed);
        let Err(_) = driver.check(&program, seed) else { continue };
        let small = shrink::shrink(&program, &mut |p| driver.check(p, seed).is_err());
        let why = driver.check(&small, seed).unwrap_err();
        let times = wrong.get(&small.to_string()).map_or(0, |w| w.3);
        wrong.insert(small.to_string(), (seed, small, why, times + 1));
    }
    let Driver { executions, racing, observed, .. } = driver;
    println!("{executions} executions, {racing} with a race, {observed} known false alarms");
    assert_eq!(driver.checker.notes(), Vec::<String>::new());
    assert!(driver.racing > 0 && driver.racing < driver.executions);
    let messages: Vec<String> = wrong
        .values()
        .map(|(seed, program, why, times)| format!("seed {seed} ({times} times):\n{program}{why}"))
        .collect();
    assert!(messages.is_empty(), "{}", messages.join("\n\n"));
}

#[test]
fn executions_are_judged_as_by_the_model() {
    run(Rules::GPURACE);
}

#[test]
fn executions_are_judged_as_by_the_model_if_volatile_is_relaxed() {
    run(Rules::VOLATILE_RELAXED);
}

/// An acquire-release passes on what it acquires, also where its own scope is needed to reach on, and is
/// itself ordered after the release that it reads.
#[test]
fn an_acquire_is_ordered_and_passes_on_what_it_reads() {
    let passed_on = global(
        2,
        vec![
            thread(0, 0, vec![st(0, 1), atom(AcqRel, Gpu, 0, 1, Update::Add(1))]),
            thread(1, 0, vec![atom(AcqRel, Gpu, 0, 1, Update::Swap(1, 2))]),
            thread(1, 1, vec![ld_atomic(Acquire, Cta, 0, 1), if_is(0, 2, vec![ld(1, 0)])]),
        ],
    );
    let itself = global(
        1,
        vec![
            thread(0, 0, vec![ld(0, 0), st_atomic(Release, Gpu, 0, 1)]),
            thread(1, 0, vec![atom(Acquire, Gpu, 0, 0, Update::Swap(1, 2))]),
        ],
    );
    for (name, program, pair) in [("passed on", passed_on, (0, 5)), ("itself", itself, (0, 2))] {
        let mut driver = Driver::new(Rules::GPURACE);
        assert_eq!(driver.check(&program, 0), Ok(()), "{name}");
        // Nobody reports the pair. In a neighbour that acquires nothing, it races.
        let mut relaxed = program.clone();
        let last = relaxed.threads.last_mut().unwrap();
        match &mut last.code[0] {
            Instruction::Load { strength, .. } => *strength = Strength::Atomic(Cta, Relaxed),
            Instruction::Modify { order, .. } => *order = Relaxed,
            other => panic!("{other:?}"),
        }
        let reported = |driver: &mut Driver, program: &Program| {
            let code = Code::new(program);
            let mut all = BTreeSet::new();
            interleavings::each(&code, 1_000, &mut |e| all.extend(driver.run(program, e)));
            all.contains(&pair)
        };
        assert_eq!(
            (reported(&mut driver, &program), reported(&mut driver, &relaxed)),
            (false, true),
            "{name}"
        );
    }
}

/// A `fence.sc` before a barrier releases by the atomics of other threads, for those who make one after the read.
#[test]
fn full_fences_before_a_barrier_order() {
    let full = Instruction::Fence { scope: Gpu, full: true };
    let other = |scope| Instruction::Fence { scope, full: false };
    let narrow = Instruction::Fence { scope: Cta, full: true };
    for (meets, number) in [(Meeting::Block(0), 32), (Meeting::Lanes { block: 0, warp: 0, mask: 3 }, 1)] {
        let program = |storer: &Instruction, reader: &Instruction| {
            let meet = Instruction::Meet(0);
            let teller = vec![full.clone(), meet.clone(), st_atomic(Relaxed, Gpu, 1, 1)];
            let storer = vec![st(0, 1), storer.clone(), meet];
            let reader = vec![ld_atomic(Relaxed, Gpu, 0, 1), if_is(0, 1, vec![reader.clone(), ld(1, 0)])];
            let threads = vec![thread(0, 0, teller), thread(0, number, storer), thread(1, 0, reader)];
            Program { meetings: vec![meets], ..global(2, threads) }
        };
        let mut driver = Driver::new(Rules::GPURACE);
        assert_eq!(driver.check(&program(&full, &full), 0), Ok(()));
        assert_eq!(driver.racing, 0);
        for (storer, reader) in
            [(&other(Gpu), &full), (&narrow, &full), (&full, &other(Gpu)), (&full, &narrow)]
        {
            let racing = driver.racing;
            assert_eq!(driver.check(&program(storer, reader), 0), Ok(()), "{storer:?} {reader:?}");
            assert!(driver.racing > racing, "{storer:?} {reader:?}");
        }
    }
}

/// PTX puts a plain write before whatever follows a reader of its own thread's read-modify-write. The
/// checker knows observed atomics alone: a known false alarm.
#[test]
fn a_plain_write_that_its_own_thread_passes_on_is_reported() {
    let program = global(
        1,
        vec![
            thread(0, 0, vec![st(0, 3), atom(Relaxed, Gpu, 0, 0, Update::Exchange(2))]),
            thread(1, 0, vec![ld_atomic(Relaxed, Gpu, 0, 0), if_is(0, 2, vec![st(0, 5)])]),
        ],
    );
    let (mut driver, code) = (Driver::new(Rules::GPURACE), Code::new(&program));
    let (mut reported, mut races) = (false, false);
    interleavings::each(&code, 1_000, &mut |execution| {
        let real = execution.races(&execution.orders(Rules::GPURACE, &[]), Rules::GPURACE);
        races |= real.iter().any(|race| race.sites == (0, 4));
        reported |= driver.run(&program, execution).contains(&(0, 4));
    });
    assert_eq!((races, reported), (false, true));
}
