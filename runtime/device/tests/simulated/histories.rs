//! Random histories of blocks. A race that the device runtime reports is a race by the oracle's
//! vector clocks; a race that it does not report, it has counted.
//!
//! A thread runs the code behind a barrier as late as possible, before its next action: threads run
//! ahead of each other as far as on a GPU.

use std::collections::HashMap;

use gpurace_abi::device::{CheckerState, Counters, FoundRace, LaunchCell, RACE_COUNTERS, SlotSet, UNKNOWN};
use gpurace_check::{AtomicKind, Order, Scope};
use gpurace_random::Random;

use super::model::{Event, Machine, Op, Oracle};
use super::{Control, Simulated, begin};

#[allow(improper_ctypes)]
unsafe extern "C" {
    fn __gpurace_simulate(who: *const Simulated);
    fn __gpurace_enter(cell: u64);
    fn __gpurace_leave();
    fn __gpurace_read(address: u64, size: u32, site: u32);
    fn __gpurace_write(address: u64, size: u32, site: u32, value: u64);
    fn __gpurace_atomic(address: u64, size: u32, site: u32, kind: u32, scope: u32, order: u32);
    fn __gpurace_irregular();
    fn __gpurace_before_barrier() -> u64;
    fn __gpurace_after_barrier(before: u64);
    fn __gpurace_before_syncwarp(mask: u32) -> u32;
    fn __gpurace_after_syncwarp(before: u32);
}

const GLOBAL: usize = 0x10_0000_0000;
const SHARED: usize = 0x20_0000_0000;
const SHARED_SIZE: usize = 64;
const THREADS: u32 = 64;
const SLOTS: usize = 3;

/// The code behind a synchronisation, which the thread has still to run.
#[derive(Clone, Copy)]
enum Behind {
    Barrier(u64),
    Syncwarp(u32),
}

/// A simulated device with its memory.
struct Device {
    state: Box<CheckerState>,
    counters: Box<Counters>,
    records: Vec<FoundRace>,
    race_counters: Vec<u32>,
    window: Vec<u64>,
    slots: Vec<u64>,
    /// The blocks' shared memory, behind which their near shadow lies.
    near: [Vec<u64>; 2],
    bits: u32,
    set: Box<SlotSet>,
    cell: Box<LaunchCell>,
    controls: Vec<Control>,
    behind: HashMap<(usize, u32), Behind>,
    next_uid: u64,
}

impl Device {
    fn new(mix: Mix) -> Box<Self> {
        let stride = 8 + SHARED_SIZE * 2;
        let mut device = Box::new(Self {
            state: Box::default(),
            counters: Box::default(),
            records: vec![FoundRace::default(); 64],
            race_counters: vec![0; RACE_COUNTERS as usize],
            window: vec![0; 64],
            slots: vec![0; stride * SLOTS / 8],
            near: [(); 2].map(|()| vec![!0; SHARED_SIZE * 3 / 8]),
            bits: 0,
            set: Box::default(),
            cell: Box::default(),
            controls: vec![Control::default(); 2],
            behind: HashMap::new(),
            next_uid: 0,
        });
        *device.state = CheckerState {
            window: GLOBAL as u64,
            window_size: 256,
            shadow: device.window.as_ptr() as u64,
            counters: &raw const *device.counters as u64,
            races: device.records.as_ptr() as u64,
            race_capacity: 64,
            race_counters: device.race_counters.as_ptr() as u64,
            orders: mix.fences.into(),
            relaxed_volatile: mix.relaxed_volatile.into(),
            ..CheckerState::default()
        };
        *device.set = SlotSet {
            bits: &raw const device.bits as u64,
            first: device.slots.as_ptr() as u64,
            count: SLOTS as u64,
            stride: stride as u64,
            shared: SHARED_SIZE as u64,
        };
        device
    }

    /// Simulates a thread of a block in the calls that follow.
    fn simulate(&mut self, block: usize, thread: u32) {
        // SAFETY: the memory lives as long as the device.
        unsafe {
            __gpurace_simulate(&Simulated {
                control: &raw mut self.controls[block],
                state: &raw const *self.state,
                thread,
                threads: THREADS,
                block: block as u64,
                shared: (SHARED + block * SHARED_SIZE) as u64,
                shared_size: SHARED_SIZE as u64,
                near: self.near[block].as_ptr() as u64,
            });
        }
        match self.behind.remove(&(block, thread)) {
            // SAFETY: as above.
            Some(Behind::Barrier(before)) => unsafe { __gpurace_after_barrier(before) },
            // SAFETY: as above.
            Some(Behind::Syncwarp(before)) => unsafe { __gpurace_after_syncwarp(before) },
            None => {}
        }
    }

    fn begin(&mut self) {
        // Each other launch has near shadow.
        self.begin_with(match self.next_uid % 4 {
            0 => LaunchCell {
                near: SHARED_SIZE as u64,
                near_end: SHARED_SIZE as u64,
                near_cells: SHARED_SIZE as u64 / 4,
                ..LaunchCell::default()
            },
            _ => LaunchCell { slots: &raw const *self.set as u64, ..LaunchCell::default() },
        });
    }

    /// Begins a launch with this shadow of shared memory.
    fn begin_with(&mut self, shadow: LaunchCell) {
        self.simulate(0, 0);
        let told = LaunchCell { blocks: 2, number: 1, first_uid: self.next_uid, ..shadow };
        // SAFETY: the cell lives as long as the device.
        unsafe { begin(&raw const *self.cell as u64, &told) };
        self.next_uid += 2;
        for block in 0..2 {
            for thread in 0..THREADS {
                self.simulate(block, thread);
                // SAFETY: as above.
                unsafe { __gpurace_enter(&raw const *self.cell as u64) };
            }
        }
    }

    fn end(&mut self) {
        for block in 0..2 {
            for thread in 0..THREADS {
                self.simulate(block, thread);
                // SAFETY: as above.
                unsafe { __gpurace_leave() };
            }
        }
        assert_eq!(self.bits, 0, "all slots are given back");
    }

    fn step(&mut self, machine: &Machine, event: &Event) {
        let of_block = |b: u64| machine.threads.iter().filter(move |t| t.1 == b).map(|t| t.2);
        match *event {
            Event::Access { thread, op, address, size, site } => {
                let (_, block, tid) = machine.threads[thread];
                self.simulate(block as usize, tid);
                let (address, size) = (address as u64, size as u32);
                // SAFETY: accesses shadow alone.
                unsafe {
                    match op {
                        Op::Read => __gpurace_read(address, size, site),
                        Op::Write => __gpurace_write(address, size, site, 0),
                        Op::Atomic(kind, scope, order) => {
                            __gpurace_atomic(address, size, site, kind as u32, scope as u32, order as u32);
                        }
                    }
                }
            }
            Event::Fence { thread, .. } => {
                let (_, block, tid) = machine.threads[thread];
                self.simulate(block as usize, tid);
                // SAFETY: as above.
                unsafe { __gpurace_irregular() };
            }
            Event::Syncwarp { block, warp, mask, .. } => {
                let lanes: Vec<u32> =
                    of_block(block).filter(|t| t / 32 == warp && mask >> (t % 32) & 1 == 1).collect();
                let mut before = Vec::new();
                for &lane in &lanes {
                    self.simulate(block as usize, lane);
                    // SAFETY: as above.
                    before.push(unsafe { __gpurace_before_syncwarp(mask) });
                }
                for (lane, before) in lanes.into_iter().zip(before) {
                    self.behind.insert((block as usize, lane), Behind::Syncwarp(before));
                }
            }
            Event::Barrier { block, .. } => {
                let mut before = Vec::new();
                for tid in of_block(block) {
                    self.simulate(block as usize, tid);
                    // SAFETY: as above.
                    before.push((tid, unsafe { __gpurace_before_barrier() }));
                }
                for (tid, before) in before {
                    self.behind.insert((block as usize, tid), Behind::Barrier(before));
                }
            }
            Event::NamedBarrier { ref waited, .. } => {
                for &thread in waited {
                    let (_, block, tid) = machine.threads[thread];
                    self.simulate(block as usize, tid);
                    // SAFETY: as above.
                    unsafe { __gpurace_irregular() };
                }
            }
            ref other => unreachable!("not drawn: {other:?}"),
        }
    }

    /// The number of counted reasons for a missed race.
    fn not_known(&self) -> u64 {
        let c = &self.counters;
        c.undecided + c.narrowed + c.repeated
    }
}

#[derive(Clone, Copy)]
struct Mix {
    sub_word: bool,
    atomics: bool,
    partial: bool,
    named: bool,
    fences: bool,
    shared: bool,
    relaxed_volatile: bool,
}

const PLAIN: Mix = Mix {
    sub_word: false,
    atomics: false,
    partial: false,
    named: false,
    fences: false,
    shared: false,
    relaxed_volatile: false,
};

fn machine(relaxed_volatile: bool) -> Machine {
    let threads = (0..2).flat_map(|b| [0, 1, 32, 33].map(|t| (0, b, t))).collect();
    Machine { threads, unordered: vec![vec![]], regular: vec![], cluster: 0, relaxed_volatile }
}

fn event(r: &mut Random, m: &Machine, mix: Mix) -> Event {
    let thread = r.below(m.threads.len());
    let (launch, block, tid) = m.threads[thread];
    match r.below(10) {
        0 => return Event::Barrier { launch, block },
        1 => {
            let mask = match r.below(3) {
                0 if mix.partial => 1 << (tid % 32),
                1 if mix.partial => 3,
                _ => !0,
            };
            // The oracle has two lanes of a warp, the device 32: a mask of both is partial.
            return Event::Syncwarp { launch, block, warp: tid / 32, mask };
        }
        2 if mix.named => {
            let waited = (0..m.threads.len())
                .filter(|&t| m.threads[t].1 == block && r.below(2) == 0)
                .collect::<Vec<_>>();
            if !waited.is_empty() {
                return Event::NamedBarrier { barrier: 1, waited };
            }
        }
        3 if mix.fences => return Event::Fence { thread, scope: Scope::Device, order: Order::SeqCst },
        _ => {}
    }
    let base = if mix.shared { SHARED + block as usize * SHARED_SIZE } else { GLOBAL };
    let word = r.below(2) * 4;
    let atomic = mix.atomics && r.below(2) == 0;
    let (offset, size) = match r.below(4) {
        0 if mix.sub_word && !atomic => (r.below(4), 1),
        1 if mix.sub_word && !atomic && word == 0 => (0, 8),
        _ => (0, 4),
    };
    let op = if atomic {
        let kinds = [
            AtomicKind::Load,
            AtomicKind::Store,
            AtomicKind::Rmw,
            AtomicKind::VolatileLoad,
            AtomicKind::VolatileStore,
        ];
        let order = match r.below(5) {
            0 if mix.fences => Order::Acquire,
            1 if mix.fences => Order::Release,
            2 if mix.fences => Order::AcqRel,
            _ => Order::Relaxed,
        };
        Op::atomic(kinds[r.below(5)], [Scope::Block, Scope::Device][r.below(2)], order)
    } else if r.below(2) == 0 {
        Op::Write
    } else {
        Op::Read
    };
    Event::Access { thread, op, address: base + word + offset, size, site: r.below(4) as u32 }
}

/// Runs random histories. Returns the number of racing accesses by the oracle, and the number of
/// these that the device reports.
fn run(mix: Mix, seed: u64, histories: u64) -> (u64, u64) {
    let m = machine(mix.relaxed_volatile);
    let mut device = Device::new(mix);
    let (mut racy, mut reported) = (0, 0);
    for n in 0..histories {
        let mut r = Random(seed << 32 | n);
        // The launch follows others, whose records are settled.
        if device.next_uid > 1 << 20 {
            device = Device::new(mix);
        }
        device.begin();
        device.race_counters.fill(0);
        let (undecided, lost) = (device.counters.undecided, device.not_known());
        let mut oracle = Oracle::new(m.clone());
        oracle.begin_launch(0);
        // Words with a race, whose older records may be lost.
        let mut known: Vec<usize> = Vec::new();
        let mut history = Vec::new();
        for _ in 0..40 {
            let e = event(&mut r, &m, mix);
            history.push(e.clone());
            let before = device.counters.races;
            device.step(&m, &e);
            let pairs = oracle.step(&e);
            let found = device.counters.races > before;
            let Event::Access { thread, address, site, size, .. } = e else {
                assert!(!found);
                continue;
            };
            for f in &mut device.records[..(device.counters.races as usize).min(64)] {
                if f.complete == 0 {
                    continue;
                }
                f.complete = 0;
                let (_, block, tid) = m.threads[thread];
                assert_eq!((f.block, f.thread, f.site, f.address), (block, tid, site, address as u64));
                let real = pairs.iter().any(|p| {
                    let n = oracle.named(p.earlier);
                    (f.earlier_thread == UNKNOWN || (f.earlier_thread, f.earlier_block) == (n.tid, n.block))
                        && (f.earlier_site == UNKNOWN || f.earlier_site == n.site)
                });
                assert!(real, "seed {seed}, history {n}: no race: {f:?}\n{pairs:?}\n{history:#?}");
            }
            device.counters.races = 0;
            racy += u64::from(!pairs.is_empty());
            reported += u64::from(found);
            let words = (address & !3..address + size).step_by(4);
            let quiet = pairs.iter().any(|p| {
                words.clone().any(|w| !known.contains(&w) && p.bytes.start < w + 4 && w < p.bytes.end)
            });
            if quiet && !found {
                assert!(device.not_known() > lost, "seed {seed}, history {n}: lost {pairs:?}\n{history:#?}");
            }
            if found || device.counters.undecided > undecided {
                known.extend(words);
            }
        }
        device.end();
    }
    (racy, reported)
}

fn histories() -> u64 {
    std::env::var("GPURACE_ORACLE_HISTORIES").ok().and_then(|n| n.parse().ok()).unwrap_or(3000)
}

/// Runs a mix of histories. At least `percent` of the racing accesses must be reported: a bit less
/// than was measured.
fn at_least(mix: Mix, percent: u64) {
    let (racy, reported) = run(mix, 1, histories());
    println!("{racy} racing accesses, {reported} reported");
    assert!(racy > 1000);
    assert!(reported * 100 >= racy * percent, "{reported} of {racy} reported");
}

#[test]
fn global_memory() {
    at_least(PLAIN, 65);
}

#[test]
fn shared_memory() {
    at_least(Mix { shared: true, ..PLAIN }, 70);
}

#[test]
fn bytes_of_words() {
    at_least(Mix { sub_word: true, ..PLAIN }, 65);
    at_least(Mix { sub_word: true, shared: true, ..PLAIN }, 65);
    at_least(Mix { sub_word: true, atomics: true, ..PLAIN }, 50);
}

#[test]
fn atomics() {
    at_least(Mix { atomics: true, ..PLAIN }, 64);
    at_least(Mix { atomics: true, shared: true, ..PLAIN }, 65);
    at_least(Mix { atomics: true, relaxed_volatile: true, ..PLAIN }, 62);
}

#[test]
fn partial_masks_and_named_barriers() {
    at_least(Mix { partial: true, named: true, ..PLAIN }, 25);
    at_least(Mix { partial: true, named: true, shared: true, ..PLAIN }, 25);
}

#[test]
fn fences() {
    at_least(Mix { fences: true, atomics: true, ..PLAIN }, 4);
    at_least(Mix { fences: true, atomics: true, partial: true, named: true, sub_word: true, ..PLAIN }, 2);
}

#[test]
fn near_shadow_begins_where_the_blocks_own_memory_does() {
    const FIRST: usize = 16;
    let mut device = Device::new(PLAIN);
    device.begin_with(LaunchCell {
        near: (SHARED_SIZE - 2 * FIRST) as u64,
        near_end: SHARED_SIZE as u64,
        near_cells: (SHARED_SIZE - FIRST) as u64 / 4,
        ..LaunchCell::default()
    });
    device.simulate(0, 0);
    for at in [0, FIRST - 4, FIRST] {
        // SAFETY: the thread is in a block that has begun.
        unsafe { __gpurace_write((SHARED + at) as u64, 4, 1, 0) };
    }
    assert_eq!(device.counters.shared_outside, 2);
    let (before, shadow) = device.near[0].split_at(SHARED_SIZE / 8);
    assert!(before.iter().all(|&word| word == !0), "{before:x?}");
    assert!(shadow[0] != 0 && shadow[1] == 0, "{shadow:x?}");
}
