//! Regions: an access of a whole warp leaves the same records and finds the same races as its
//! threads one by one; and threads of several blocks access a region at the same time.

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use gpurace_abi::device::{
    CheckerState, Counters, FoundRace, LaunchCell, OP_READ, OP_WRITE, RACE_COUNTERS, ShadowRange, UNKNOWN,
};
use gpurace_random::Random;

use super::{Control, Simulated, begin};

#[allow(improper_ctypes)]
unsafe extern "C" {
    fn __gpurace_simulate(who: *const Simulated);
    fn __gpurace_interleave_by(step: Option<extern "C" fn()>);
    fn __gpurace_enter(cell: u64);
    fn __gpurace_read(address: u64, size: u32, site: u32);
    fn __gpurace_write(address: u64, size: u32, site: u32, value: u64);
    fn __gpurace_atomic(address: u64, size: u32, site: u32, kind: u32, scope: u32, order: u32);
    fn __gpurace_before_barrier() -> u64;
    fn __gpurace_after_barrier(before: u64);
    fn __gpurace_before_syncwarp(mask: u32) -> u32;
    fn __gpurace_after_syncwarp(before: u32);
    fn __gpurace_warp(address: u64, size: u32, site: u32, op: u32);
}

const GLOBAL: u64 = 0x10_0000_0000;
const REGIONS: usize = 4;
const WORDS: usize = REGIONS * 32;
const THREADS: u32 = 64;
const BLOCKS: usize = 3;
const RECORDS: usize = 256;

struct Device {
    state: CheckerState,
    counters: Counters,
    records: Vec<FoundRace>,
    race_counters: Vec<u32>,
    shadow: Vec<u64>,
    ranges: Vec<ShadowRange>,
    cells: Vec<LaunchCell>,
    controls: [Control; BLOCKS],
}

impl Device {
    /// A device whose memory has regions, or is a variable, which has none.
    fn new(regions: bool) -> Box<Self> {
        let shadow = vec![0; WORDS];
        let range =
            ShadowRange { start: GLOBAL, end: GLOBAL + WORDS as u64 * 4, shadow: shadow.as_ptr() as u64 };
        let mut device = Box::new(Self {
            state: CheckerState::default(),
            counters: Counters::default(),
            records: vec![FoundRace::default(); RECORDS],
            race_counters: vec![0; RACE_COUNTERS as usize],
            shadow,
            ranges: vec![range],
            cells: vec![LaunchCell::default(); 8],
            controls: Default::default(),
        });
        device.state = CheckerState {
            window: GLOBAL,
            window_size: if regions { WORDS as u64 * 4 } else { 0 },
            shadow: device.shadow.as_ptr() as u64,
            counters: &raw const device.counters as u64,
            races: device.records.as_ptr() as u64,
            race_capacity: RECORDS as u64,
            race_counters: device.race_counters.as_ptr() as u64,
            ..CheckerState::default()
        };
        device
    }

    fn simulated(&mut self, block: usize, thread: u32) -> Simulated {
        Simulated {
            control: &raw mut self.controls[block],
            state: &raw const self.state,
            thread,
            threads: THREADS,
            block: block as u64,
            shared: 0,
            shared_size: 0,
            near: 0,
        }
    }

    fn simulate(&mut self, block: usize, thread: u32) {
        // SAFETY: the memory lives as long as the device.
        unsafe { __gpurace_simulate(&self.simulated(block, thread)) };
    }

    fn begin(&mut self, launch: usize, first_uid: u64) {
        let cell = &raw const self.cells[launch] as u64;
        self.simulate(0, 0);
        let (blocks, number) = (BLOCKS as u64, launch as u64);
        let told = LaunchCell {
            blocks,
            number,
            first_uid,
            ranges: self.ranges.as_ptr() as u64,
            range_count: self.ranges.len() as u64,
            ..LaunchCell::default()
        };
        // SAFETY: the cell lives as long as the device.
        unsafe { begin(cell, &told) };
        for block in 0..BLOCKS {
            self.simulate(block, 0);
            // SAFETY: as above.
            unsafe { __gpurace_enter(cell) };
        }
    }

    fn all_threads<T>(
        &mut self,
        block: usize,
        threads: std::ops::Range<u32>,
        before: impl Fn() -> T,
        after: impl Fn(T),
    ) {
        let mut said = Vec::new();
        for thread in threads.clone() {
            self.simulate(block, thread);
            said.push(before());
        }
        for (thread, said) in threads.zip(said) {
            self.simulate(block, thread);
            after(said);
        }
    }

    fn step(&mut self, event: Event) {
        match event {
            Event::Warp { block, warp, at, size, op, site } => {
                self.simulate(block, warp * 32);
                // SAFETY: accesses shadow and the simulated thread alone.
                unsafe { __gpurace_warp(GLOBAL + at, size, site, op) };
            }
            Event::Thread { block, thread, at, size, op, site } => {
                self.simulate(block, thread);
                access(at, size, op, site);
            }
            Event::Barrier { block } => {
                self.all_threads(
                    block,
                    0..THREADS,
                    // SAFETY: accesses shadow and the simulated thread alone.
                    || unsafe { __gpurace_before_barrier() },
                    // SAFETY: as above.
                    |before| unsafe { __gpurace_after_barrier(before) },
                );
            }
            Event::Syncwarp { block, warp } => {
                let lanes = warp * 32..warp * 32 + 32;
                self.all_threads(
                    block,
                    lanes,
                    // SAFETY: accesses shadow and the simulated thread alone.
                    || unsafe { __gpurace_before_syncwarp(!0) },
                    // SAFETY: as above.
                    |before| unsafe { __gpurace_after_syncwarp(before) },
                );
            }
        }
    }

    /// The races found since the last call, and the number of all races.
    fn found(&mut self) -> (Vec<FoundRace>, u64) {
        let written = self.counters.races as usize;
        let found = self.records[..written.min(RECORDS)].to_vec();
        let all = self.counters.races + self.counters.repeated;
        (self.counters.races, self.counters.repeated) = (0, 0);
        self.race_counters.fill(0);
        (found, all)
    }
}

const ATOMIC: u32 = 2;

fn access(at: u64, size: u32, op: u32, site: u32) {
    // SAFETY: accesses shadow and the simulated thread alone.
    unsafe {
        match op {
            OP_READ => __gpurace_read(GLOBAL + at, size, site),
            OP_WRITE => __gpurace_write(GLOBAL + at, size, site, 0),
            _ => __gpurace_atomic(GLOBAL + at, size, site, 2, 2, 0),
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// All lanes of a warp, at consecutive addresses from a region's first word on.
    Warp {
        block: usize,
        warp: u32,
        at: u64,
        size: u32,
        op: u32,
        site: u32,
    },
    Thread {
        block: usize,
        thread: u32,
        at: u64,
        size: u32,
        op: u32,
        site: u32,
    },
    Barrier {
        block: usize,
    },
    Syncwarp {
        block: usize,
        warp: u32,
    },
}

impl Event {
    fn draw(r: &mut Random) -> Self {
        let (block, warp) = (r.below(BLOCKS), r.below(2) as u32);
        let (op, site) = (r.below(2) as u32, r.below(5) as u32);
        match r.below(16) {
            0 => Self::Barrier { block },
            1 => Self::Syncwarp { block, warp },
            2..=4 => {
                let thread = warp * 32 + r.below(32) as u32;
                let at = r.below(WORDS) as u64 * 4;
                let (at, size, op) = match r.below(6) {
                    0 => (at + r.below(4) as u64, 1, op),
                    1 => (at & !7, 8, op),
                    2 => (at, 4, ATOMIC),
                    _ => (at, 4, op),
                };
                Self::Thread { block, thread, at, size, op, site }
            }
            n => {
                let size = [4, 4, 4, 8, 16][n % 5];
                let regions = size as usize / 4;
                Self::Warp {
                    block,
                    warp,
                    at: (r.below(REGIONS / regions) * regions) as u64 * 128,
                    size,
                    op,
                    site,
                }
            }
        }
    }
}

/// States of a region's first word: see `region.h`.
const FIRST_REGION: u64 = 112;
const OPEN: u64 = 124;

/// The record that a word would have without regions.
fn word_of(shadow: &[u64], word: usize) -> u64 {
    let region = shadow[word / 32 * 32];
    match region >> 57 {
        OPEN if word.is_multiple_of(32) => 0,
        FIRST_REGION..OPEN => {
            let (state, field) = ((region >> 57) - FIRST_REGION, region >> 37 & 0x3ff);
            let op = [0, 1, 26][state as usize / 4];
            let thread = (field & !7) + ((word as u64 % 32) >> (field & 7));
            (4 + op * 4 + state % 4) << 57 | region & 0x3ff << 47 | thread << 37 | region & ((1 << 37) - 1)
        }
        _ => shadow[word],
    }
}

#[test]
fn a_warps_access_is_that_of_its_threads() {
    let (mut races, mut as_regions, mut opened) = (0, 0, 0);
    for history in 0..20_000 {
        let mut r = Random(5 << 32 | history);
        let mut both = [Device::new(true), Device::new(false)];
        let mut events = Vec::new();
        for launch in 0..1 + r.below(4) {
            let first_uid = 1 + (launch * BLOCKS) as u64;
            let is_alive = |word: u64| word >> 57 >= 4 && word >> 13 & 0xff_ffff >= first_uid;
            for device in &mut both {
                device.begin(launch, first_uid);
            }
            for _ in 0..1 + r.below(24) {
                let event = Event::draw(&mut r);
                events.push(event);
                let dropped = both.each_ref().map(|device| device.counters.narrowed);
                let [(found, all), (wanted, wanted_all)] = both.each_mut().map(|device| {
                    device.step(event);
                    device.found()
                });
                let now = both.each_ref().map(|device| device.counters.narrowed);
                let what = || format!("history {history}, launch {launch}: {events:#?}");
                match event {
                    // Without regions each word is a race, with them each access.
                    Event::Warp { size: 8 | 16, .. } => assert_eq!(all > 0, wanted_all > 0, "{}", what()),
                    _ => assert_eq!((&found, all), (&wanted, wanted_all), "{}", what()),
                }
                races += all;
                // Lost records are counted.
                assert!(now[0] - dropped[0] <= now[1] - dropped[1], "{}", what());
                assert!(now[0] > dropped[0] || now[1] == dropped[1], "{}", what());
                for word in 0..WORDS {
                    let [mine, wanted] = both.each_ref().map(|device| word_of(&device.shadow, word));
                    assert!(
                        mine == wanted || !is_alive(mine) && !is_alive(wanted),
                        "word {word}: {mine:#x}, wanted {wanted:#x}; {}",
                        what()
                    );
                }
                as_regions += both[0]
                    .shadow
                    .iter()
                    .step_by(32)
                    .filter(|&&word| (FIRST_REGION..OPEN).contains(&(word >> 57)))
                    .count();
                opened += both[0].shadow.iter().step_by(32).filter(|&&word| word >> 57 == OPEN).count();
            }
        }
        assert_eq!(both[0].counters.contended, 0);
    }
    println!("{races} races, {as_regions} regions, {opened} open ones");
    assert!(races > 100_000 && as_regions > 50_000 && opened > 5000);
}

/// Two launches at one time, each without a race, are not compared with each other: whatever records
/// they overwrite, none is taken for one of the other launch.
#[test]
fn launches_that_overlap_make_no_race() {
    for history in 0..2000 {
        let mut r = Random(7 << 32 | history);
        let mut device = Device::new(true);
        let mut beside: [Control; BLOCKS] = Default::default();
        device.begin(0, 1);
        std::mem::swap(&mut device.controls, &mut beside);
        device.begin(1, 1 + BLOCKS as u64);
        for _ in 0..60 {
            if r.below(2) == 0 {
                std::mem::swap(&mut device.controls, &mut beside);
            }
            // A block has a region of its own, and a thread a word.
            let (block, op, site) = (r.below(BLOCKS), r.below(2) as u32, r.below(5) as u32);
            let (at, thread) = (block as u64 * 128, r.below(32) as u32);
            device.step(match r.below(2) {
                0 => Event::Warp { block, warp: 0, at, size: 4, op, site },
                _ => Event::Thread { block, thread, at: at + u64::from(thread) * 4, size: 4, op, site },
            });
            assert_eq!(device.found().1, 0, "history {history}");
        }
    }
}

/// An access of a block's first warp, or of one of its threads.
#[derive(Clone, Copy, Debug)]
struct Doing {
    warp: bool,
    word: u64,
    op: u32,
}

impl Doing {
    fn draw(r: &mut Random) -> Self {
        Self { warp: r.below(2) == 0, word: r.below(32) as u64, op: r.below(2) as u32 }
    }
}

/// Lets one thread run at a time.
struct Turns {
    turn: AtomicUsize,
    over: [AtomicBool; 2],
    random: Mutex<Random>,
}

static TURNS: Turns = Turns {
    turn: AtomicUsize::new(0),
    over: [AtomicBool::new(false), AtomicBool::new(false)],
    random: Mutex::new(Random(23)),
};

thread_local! {
    static ME: Cell<usize> = const { Cell::new(0) };
}

impl Turns {
    fn wait(&self, me: usize) {
        while self.turn.load(Ordering::Acquire) != me {
            std::thread::yield_now();
        }
    }

    /// Lets the other thread run, or lets this one go on.
    fn pass(&self, me: usize) {
        let other = 1 - me;
        if !self.over[other].load(Ordering::Acquire) && self.random.lock().unwrap().below(2) == 0 {
            self.turn.store(other, Ordering::Release);
            self.wait(me);
        }
    }
}

extern "C" fn pass() {
    TURNS.pass(ME.get());
}

#[test]
fn blocks_that_access_a_region_at_one_time_lose_nothing() {
    const ROUNDS: usize = 6000;
    let mut r = Random(17);
    let mut device = Device::new(true);
    let (mut met, mut apart, mut lost) = (0, 0, 0);
    for n in 0..ROUNDS {
        // Every fourth round has a fresh region, the others one that earlier launches used.
        if n % 4 == 0 {
            device.shadow.fill(0);
        }
        device.begin(n % 8, 1 + (n * BLOCKS) as u64);
        // Three accesses of each block to one region.
        let doing: [[Doing; 3]; 2] = std::array::from_fn(|_| std::array::from_fn(|_| Doing::draw(&mut r)));
        TURNS.turn.store(r.below(2), Ordering::Release);
        TURNS.over.iter().for_each(|over| over.store(false, Ordering::Release));
        // As addresses, since pointers are not `Send`.
        let who = [0, 1]
            .map(|block| device.simulated(block, 0))
            .map(|who| (who.control as usize, who.state as usize));
        std::thread::scope(|scope| {
            for (block, (control, state)) in who.into_iter().enumerate() {
                let doing = doing[block];
                scope.spawn(move || {
                    ME.set(block);
                    TURNS.wait(block);
                    // SAFETY: the memory lives as long as the device; one thread goes on at a time.
                    unsafe { __gpurace_interleave_by(Some(pass)) };
                    for doing in doing {
                        let who = Simulated {
                            control: control as *mut Control,
                            state: state as *const CheckerState,
                            thread: if doing.warp { 0 } else { doing.word as u32 },
                            threads: THREADS,
                            block: block as u64,
                            shared: 0,
                            shared_size: 0,
                            near: 0,
                        };
                        // Reads of one site have one record.
                        let site = doing.op;
                        // SAFETY: as above.
                        unsafe { __gpurace_simulate(&who) };
                        match doing.warp {
                            // SAFETY: as above.
                            true => unsafe { __gpurace_warp(GLOBAL, 4, site, doing.op) },
                            false => access(doing.word * 4, 4, doing.op, site),
                        }
                    }
                    TURNS.over[block].store(true, Ordering::Release);
                    TURNS.turn.store(1 - block, Ordering::Release);
                });
            }
        });
        let (found, all) = device.found();
        let what = || format!("round {n}: {doing:?}: {found:?}");
        for f in &found {
            let (block, word) = (f.block as usize, (f.address - GLOBAL) / 4);
            let did = |block: usize, op: u32| {
                doing[block].iter().any(|doing| doing.op == op && (doing.warp || doing.word == word))
            };
            assert!(did(block, f.op) && did(1 - block, f.earlier_op), "{}", what());
            assert!(f.op == OP_WRITE || f.earlier_op == OP_WRITE, "{}", what());
            assert_eq!(u64::from(f.thread), word, "{}", what());
            assert!([UNKNOWN, word as u32].contains(&f.earlier_thread), "{}", what());
        }
        // Each word on which the two blocks conflict is reported, with some pair of accesses,
        // unless a record was dropped.
        let touches = |block: usize, word: u64, writes: bool| {
            doing[block]
                .iter()
                .any(|doing| (doing.warp || doing.word == word) && (!writes || doing.op == OP_WRITE))
        };
        let racy =
            |word: u64| (0..2).any(|block| touches(block, word, true) && touches(1 - block, word, false));
        let wanted = (0..32).filter(|&word| racy(word)).count() as u64;
        let dropped = device.counters.narrowed;
        assert!(all >= wanted || dropped > 0, "{all} of {wanted}; {}", what());
        assert!(wanted > 0 || all == 0, "{all}; {}", what());
        (lost, device.counters.narrowed) = (lost + dropped, 0);
        met += u64::from(wanted > 0);
        apart += u64::from(wanted == 0);
    }
    assert_eq!(device.counters.contended, 0);
    println!("{met} rounds with races, {apart} without, {lost} accesses dropped");
    assert!(met > 1000 && apart > 100);
}

#[test]
fn variables_that_share_a_word_have_each_their_own_shadow() {
    let mut device = Device::new(false);
    let at = |word: usize| device.shadow.as_ptr() as u64 + word as u64 * 8;
    let of = |start, end, shadow| ShadowRange { start: GLOBAL + start, end: GLOBAL + end, shadow };
    // A byte, a variable that begins beside it and extends to other words, and one further behind.
    device.ranges = vec![of(1, 2, at(0)), of(2, 9, at(8)), of(40, 44, at(16))];
    device.begin(1, 5);
    let races = |device: &mut Device, accesses: &[(u32, u64, u32)]| {
        let before = device.counters.races + device.counters.repeated;
        for &(thread, offset, size) in accesses {
            device.simulate(0, thread);
            // SAFETY: accesses shadow alone.
            unsafe { __gpurace_write(GLOBAL + offset, size, offset as u32, 0) };
        }
        device.counters.races + device.counters.repeated - before
    };
    assert_eq!(races(&mut device, &[(0, 1, 1), (32, 2, 2), (33, 4, 4), (34, 8, 1), (0, 40, 4)]), 0);
    assert_eq!(device.counters.outside, 0);
    for (offset, size) in [(1, 1), (3, 1), (7, 1), (8, 1), (40, 4)] {
        assert_eq!(races(&mut device, &[(40, offset, size)]), 1, "{offset}");
    }
    assert_eq!(races(&mut device, &[(41, 0, 1), (41, 9, 1), (41, 36, 4), (41, 44, 4)]), 0);
    assert_eq!(device.counters.outside, 4);
    assert!(
        device.shadow[1..8]
            .iter()
            .chain(&device.shadow[11..16])
            .chain(&device.shadow[17..])
            .all(|&word| word == 0)
    );
}
