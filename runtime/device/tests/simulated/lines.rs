//! Lines: what a warp does together leaves and finds what its threads would leave and find one by one; and threads of several blocks
//! that access a line at one moment.

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use gpurace_abi::device::{Counters, Found, LaunchCell, OP_READ, OP_WRITE, Range, SEEN, State, UNKNOWN};
use gpurace_random::Random;

use super::{Control, Simulated, begin};

#[allow(improper_ctypes)]
unsafe extern "C" {
    fn __gpurace_stand_for(who: *const Simulated);
    fn __gpurace_step_by(step: Option<extern "C" fn()>);
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
const LINES: usize = 4;
const WORDS: usize = LINES * 32;
const THREADS: u32 = 64;
const BLOCKS: usize = 3;
const RECORDS: usize = 256;

struct Device {
    state: State,
    counters: Counters,
    records: Vec<Found>,
    seen: Vec<u32>,
    shadow: Vec<u64>,
    ranges: Vec<Range>,
    cells: Vec<LaunchCell>,
    controls: [Control; BLOCKS],
}

impl Device {
    /// With lines, or with the same memory as a variable's, which has none.
    fn new(lines: bool) -> Box<Self> {
        let shadow = vec![0; WORDS];
        let range = Range { start: GLOBAL, end: GLOBAL + WORDS as u64 * 4, shadow: shadow.as_ptr() as u64 };
        let mut device = Box::new(Self {
            state: State::default(),
            counters: Counters::default(),
            records: vec![Found::default(); RECORDS],
            seen: vec![0; SEEN as usize],
            shadow,
            ranges: vec![range],
            cells: vec![LaunchCell::default(); 8],
            controls: Default::default(),
        });
        device.state = State {
            window: GLOBAL,
            window_size: if lines { WORDS as u64 * 4 } else { 0 },
            shadow: device.shadow.as_ptr() as u64,
            counters: &raw const device.counters as u64,
            records: device.records.as_ptr() as u64,
            record_capacity: RECORDS as u64,
            seen: device.seen.as_ptr() as u64,
            ..State::default()
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
        }
    }

    fn stand_for(&mut self, block: usize, thread: u32) {
        // SAFETY: the memory lives as long as the device.
        unsafe { __gpurace_stand_for(&self.simulated(block, thread)) };
    }

    fn begin(&mut self, launch: usize, first_uid: u64, beside: u64) {
        let cell = &raw const self.cells[launch] as u64;
        self.stand_for(0, 0);
        let (unordered, ranges) = ([beside, 0, 0, 0], self.ranges.as_ptr() as u64);
        let (blocks, number) = (BLOCKS as u64, launch as u64);
        let told = LaunchCell {
            blocks,
            number,
            first_uid,
            unordered,
            ranges,
            range_count: self.ranges.len() as u64,
            ..LaunchCell::default()
        };
        // SAFETY: the cell lives as long as the device.
        unsafe { begin(cell, &told, None) };
        for block in 0..BLOCKS {
            self.stand_for(block, 0);
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
            self.stand_for(block, thread);
            said.push(before());
        }
        for (thread, said) in threads.zip(said) {
            self.stand_for(block, thread);
            after(said);
        }
    }

    fn step(&mut self, event: Event) {
        // SAFETY: all of these look at shadow and at the simulated thread alone.
        match event {
            Event::Warp { block, warp, at, size, op, site } => {
                self.stand_for(block, warp * 32);
                unsafe { __gpurace_warp(GLOBAL + at, size, site, op) };
            }
            Event::Thread { block, thread, at, size, op, site } => {
                self.stand_for(block, thread);
                access(at, size, op, site);
            }
            Event::Barrier { block } => {
                self.all_threads(
                    block,
                    0..THREADS,
                    || unsafe { __gpurace_before_barrier() },
                    |before| unsafe { __gpurace_after_barrier(before) },
                );
            }
            Event::Syncwarp { block, warp } => {
                let lanes = warp * 32..warp * 32 + 32;
                self.all_threads(
                    block,
                    lanes,
                    || unsafe { __gpurace_before_syncwarp(!0) },
                    |before| unsafe { __gpurace_after_syncwarp(before) },
                );
            }
        }
    }

    /// What was found since the last call: the records, and how many races in all.
    fn found(&mut self) -> (Vec<Found>, u64) {
        let written = self.counters.records as usize;
        let found = self.records[..written.min(RECORDS)].to_vec();
        let all = self.counters.records + self.counters.repeated;
        (self.counters.records, self.counters.repeated) = (0, 0);
        self.seen.fill(0);
        (found, all)
    }
}

const ATOMIC: u32 = 2;

fn access(at: u64, size: u32, op: u32, site: u32) {
    // SAFETY: looks at shadow and at the simulated thread alone.
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
    /// All lanes, consecutive bytes from a line's first on.
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
                let lines = size as usize / 4;
                Self::Warp { block, warp, at: (r.below(LINES / lines) * lines) as u64 * 128, size, op, site }
            }
        }
    }
}

/// What `line.h` calls the states of a line's first word.
const FIRST_LINE: u64 = 112;
const OPEN: u64 = 124;

/// The record of a word as it would be without lines.
fn word_of(shadow: &[u64], word: usize) -> u64 {
    let line = shadow[word / 32 * 32];
    match line >> 57 {
        OPEN if word % 32 == 0 => 0,
        FIRST_LINE..OPEN => {
            let (state, field) = ((line >> 57) - FIRST_LINE, line >> 37 & 0x3ff);
            let op = [0, 1, 26][state as usize / 4];
            let thread = (field & !7) + (word as u64 % 32 >> (field & 7));
            (4 + op * 4 + state % 4) << 57 | line & 0x3ff << 47 | thread << 37 | line & ((1 << 37) - 1)
        }
        _ => shadow[word],
    }
}

#[test]
fn a_warps_access_is_that_of_its_threads() {
    let (mut races, mut as_lines, mut opened, mut cut) = (0, 0, 0, 0);
    'histories: for history in 0..20_000 {
        let mut r = Random(5 << 32 | history);
        let mut both = [Device::new(true), Device::new(false)];
        // First uid of each launch, and whether it may overlap the one before it.
        let launches: Vec<(u64, bool)> = (0..1 + r.below(4) as u64)
            .map(|n| (1 + n * BLOCKS as u64, n > 0 && history % 2 == 0 && r.below(2) == 0))
            .collect();
        let mut events = Vec::new();
        for (n, &(first_uid, beside)) in launches.iter().enumerate() {
            let earlier = if beside { (first_uid - BLOCKS as u64) << 32 | BLOCKS as u64 } else { 0 };
            let is_alive = |word: u64| {
                let uid = word >> 13 & 0xff_ffff;
                word >> 57 >= 4 && uid >= if beside { first_uid - BLOCKS as u64 } else { first_uid }
            };
            for device in &mut both {
                device.begin(n, first_uid, earlier);
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
                if beside && now[0] - dropped[0] > now[1] - dropped[1] {
                    // With launches that overlap more is lost than without lines, and counted.
                    cut += 1;
                    continue 'histories;
                }
                let what = || format!("history {history}, launches {launches:?}, launch {n}: {events:#?}");
                match event {
                    // Each word is told there, each access here.
                    Event::Warp { size: 8 | 16, .. } => assert_eq!(all > 0, wanted_all > 0, "{}", what()),
                    _ => assert_eq!((&found, all), (&wanted, wanted_all), "{}", what()),
                }
                races += all;
                // What was lost is counted.
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
                as_lines += both[0]
                    .shadow
                    .iter()
                    .step_by(32)
                    .filter(|&&line| (FIRST_LINE..OPEN).contains(&(line >> 57)))
                    .count();
                opened += both[0].shadow.iter().step_by(32).filter(|&&line| line >> 57 == OPEN).count();
            }
        }
        assert_eq!(both[0].counters.contended, 0);
    }
    println!(
        "{races} races, {as_lines} lines, {opened} open ones, {cut} histories not compared to their end"
    );
    assert!(races > 100_000 && as_lines > 50_000 && opened > 5000 && cut < 6000);
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

/// Who goes on, of threads of which one goes on at a time.
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

    /// The other goes on, or this one.
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
fn blocks_that_access_a_line_at_one_time_lose_nothing() {
    const ROUNDS: usize = 6000;
    let mut r = Random(17);
    let mut device = Device::new(true);
    let (mut met, mut apart, mut lost) = (0, 0, 0);
    for n in 0..ROUNDS {
        // In turn a line that was never used, and one as earlier launches left it.
        if n % 4 == 0 {
            device.shadow.fill(0);
        }
        device.begin(n % 8, 1 + (n * BLOCKS) as u64, 0);
        // Three accesses each, one after the other, of one line.
        let doing: [[Doing; 3]; 2] = std::array::from_fn(|_| std::array::from_fn(|_| Doing::draw(&mut r)));
        TURNS.turn.store(r.below(2), Ordering::Release);
        TURNS.over.iter().for_each(|over| over.store(false, Ordering::Release));
        // Addresses alone are handed to the threads.
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
                    unsafe { __gpurace_step_by(Some(pass)) };
                    for doing in doing {
                        let who = Simulated {
                            control: control as *mut Control,
                            state: state as *const State,
                            thread: if doing.warp { 0 } else { doing.word as u32 },
                            threads: THREADS,
                            block: block as u64,
                            shared: 0,
                            shared_size: 0,
                        };
                        // Reads of one site have one record.
                        let site = doing.op;
                        // SAFETY: as above.
                        unsafe { __gpurace_stand_for(&who) };
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
        // Of the words on which the two conflict each is told, with some pair of accesses, or something was counted.
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
    let of = |start, end, shadow| Range { start: GLOBAL + start, end: GLOBAL + end, shadow };
    // A byte, one that begins beside it and goes on in other words, and one far behind.
    device.ranges = vec![of(1, 2, at(0)), of(2, 9, at(8)), of(40, 44, at(16))];
    device.begin(1, 5, 0);
    let races = |device: &mut Device, accesses: &[(u32, u64, u32)]| {
        let before = device.counters.records + device.counters.repeated;
        for &(thread, offset, size) in accesses {
            device.stand_for(0, thread);
            // SAFETY: looks at shadow alone.
            unsafe { __gpurace_write(GLOBAL + offset, size, offset as u32, 0) };
        }
        device.counters.records + device.counters.repeated - before
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
