//! Copies and fills: the records of rows of bytes, against a table of bytes.

use gpurace_abi::device::{CheckerState, Counters, FoundRace, LaunchCell, OP_READ, OP_WRITE, RACE_COUNTERS};
use gpurace_random::Random;

use super::{Control, Simulated, begin};

#[allow(improper_ctypes)]
unsafe extern "C" {
    fn __gpurace_simulate(who: *const Simulated);
    fn __gpurace_enter(cell: u64);
    fn __gpurace_touch(
        cell: u64,
        start: u64,
        width: u64,
        rows: u64,
        pitch: u64,
        shadow: u64,
        op: u64,
        site: u64,
        threads: u64,
    );
    fn __gpurace_read(address: u64, size: u32, site: u32);
    fn __gpurace_write(address: u64, size: u32, site: u32, value: u64);
}

const GLOBAL: u64 = 0x10_0000_0000;
const WORDS: usize = 64;
const THREADS: u32 = 32;
/// Uids of the three operations: a launch of two blocks, a copy, a launch of one block.
const UIDS: [u64; 3] = [5, 7, 8];

struct Device {
    state: CheckerState,
    counters: Counters,
    records: Vec<FoundRace>,
    race_counters: Vec<u32>,
    window: Vec<u64>,
    cells: [LaunchCell; 3],
    control: Control,
}

impl Device {
    fn new() -> Box<Self> {
        let mut device = Box::new(Self {
            state: CheckerState::default(),
            counters: Counters::default(),
            records: vec![FoundRace::default(); 4096],
            race_counters: vec![0; RACE_COUNTERS as usize],
            window: vec![0; WORDS],
            cells: [LaunchCell::default(); 3],
            control: Control::default(),
        });
        device.state = CheckerState {
            window: GLOBAL,
            window_size: WORDS as u64 * 4,
            shadow: device.window.as_ptr() as u64,
            counters: &raw const device.counters as u64,
            races: device.records.as_ptr() as u64,
            race_capacity: 4096,
            race_counters: device.race_counters.as_ptr() as u64,
            ..CheckerState::default()
        };
        device
    }

    fn simulate(&mut self, block: u64, thread: u32) {
        // SAFETY: the memory lives as long as the device.
        unsafe {
            __gpurace_simulate(&Simulated {
                control: &raw mut self.control,
                state: &raw const self.state,
                thread,
                threads: THREADS,
                block,
                shared: 0,
                shared_size: 0,
            });
        }
    }

    /// Begins an operation, and returns its cell. `beside`: uids that it may overlap.
    fn begin(&mut self, which: usize, blocks: u64, beside: u64) -> u64 {
        let cell = &raw const self.cells[which] as u64;
        self.simulate(0, 0);
        let (number, unordered) = (which as u64 + 1, [beside, 0, 0, 0]);
        // SAFETY: the cell lives as long as the device.
        unsafe {
            begin(
                cell,
                &LaunchCell { blocks, number, first_uid: UIDS[which], unordered, ..LaunchCell::default() },
                None,
            )
        };
        cell
    }

    /// The number of races found since the last call, repeated ones included.
    fn races(&mut self) -> u64 {
        let found = self.counters.races + self.counters.repeated;
        (self.counters.races, self.counters.repeated) = (0, 0);
        self.race_counters.fill(0);
        found
    }
}

/// The access that a word has had: `false` a read, `true` a write.
type Words = [Option<bool>; WORDS];

fn conflicts(a: Option<bool>, b: Option<bool>) -> bool {
    matches!((a, b), (Some(a), Some(b)) if a || b)
}

#[test]
fn rows_meet_the_launches_beside_them_and_no_others() {
    let mut r = Random(11);
    let (mut met, mut met_later, mut apart) = (0, 0, 0);
    for _ in 0..4000 {
        let mut device = Device::new();
        // A launch reads and writes words.
        let mut first: Words = [None; WORDS];
        let cell = device.begin(0, 2, 0);
        device.simulate(1, 0);
        // SAFETY: the cell lives as long as the device.
        unsafe { __gpurace_enter(cell) };
        for (word, did) in first.iter_mut().enumerate() {
            *did = [None, Some(false), Some(true)][r.below(3)];
            let address = GLOBAL + word as u64 * 4;
            device.simulate(1, (word % THREADS as usize) as u32);
            match *did {
                // SAFETY: accesses shadow alone.
                Some(true) => unsafe { __gpurace_write(address, 4, 3, 0) },
                // SAFETY: as above.
                Some(false) => unsafe { __gpurace_read(address, 4, 2) },
                None => {}
            }
        }
        assert_eq!(device.races(), 0);

        // A copy, ordered after the launch or not.
        let (beside, writes) = (r.below(2) == 0, r.below(2) == 0);
        let (rows, width) = (1 + r.below(4) as u64, 1 + r.below(40) as u64);
        let pitch = width + r.below(9) as u64;
        let start = r.below((WORDS * 4) - ((rows - 1) * pitch + width) as usize + 1) as u64;
        let bytes: Vec<u64> =
            (0..rows).flat_map(|row| (0..width).map(move |at| start + row * pitch + at)).collect();
        let of_word = |word: usize| bytes.iter().filter(|&&byte| byte / 4 == word as u64).count();
        let cell = device.begin(1, 1, if beside { UIDS[0] << 32 | 2 } else { 0 });
        let blocks = 1 + r.below(2) as u64;
        let (op, shadow) = (if writes { OP_WRITE } else { OP_READ }, device.state.shadow + start / 4 * 8);
        for block in 0..blocks {
            for thread in 0..THREADS {
                device.simulate(block, thread);
                // SAFETY: accesses shadow alone.
                unsafe {
                    __gpurace_touch(
                        cell,
                        GLOBAL + start,
                        width,
                        rows,
                        pitch,
                        shadow,
                        op.into(),
                        9,
                        blocks * u64::from(THREADS),
                    )
                };
            }
        }
        for found in &device.records[..device.counters.races as usize] {
            let word = ((found.address - GLOBAL) / 4) as usize;
            assert_eq!((found.site, found.launch, found.relation), (9, 2, 3));
            assert_eq!((found.earlier_launch, found.earlier_block, found.op), (u64::MAX, UIDS[0] + 1, op));
            assert!(conflicts(first[word], Some(writes)) && of_word(word) > 0, "{found:?}");
        }
        // Rows whose pitch is no multiple of a word may touch a word twice, and race twice.
        let times = |word: usize| {
            (0..rows)
                .filter(|row| {
                    bytes[(row * width) as usize..((row + 1) * width) as usize]
                        .iter()
                        .any(|b| b / 4 == word as u64)
                })
                .count()
        };
        // The last writer's record stays in the word.
        let wanted: usize =
            (0..WORDS).filter(|&word| beside && conflicts(first[word], Some(writes))).map(times).sum();
        let races = device.races();
        assert!(races <= wanted as u64 && (races > 0) == (wanted > 0), "{races} races of {wanted}");
        if pitch.is_multiple_of(4) || rows == 1 {
            assert_eq!(races, wanted as u64);
        }
        met += races;
        apart += u64::from(!beside);

        // A launch after the first one, which may overlap the copy, writes whole words.
        let whole: Vec<usize> = (0..WORDS)
            .filter(|&word| {
                (0..rows).any(|row| {
                    (0..4).all(|at| {
                        let byte = word as u64 * 4 + at;
                        (start + row * pitch..start + row * pitch + width).contains(&byte)
                    })
                })
            })
            .collect();
        let cell = device.begin(2, 1, UIDS[1] << 32 | 1);
        device.simulate(0, 0);
        // SAFETY: as above.
        unsafe { __gpurace_enter(cell) };
        for word in 0..WORDS {
            // SAFETY: as above.
            unsafe { __gpurace_write(GLOBAL + word as u64 * 4, 4, 4, 0) };
            let kept = device.counters.narrowed == 0 || writes && !beside;
            let races = device.races();
            assert!(races == 0 || of_word(word) > 0, "word {word}: not of the copy");
            // After two reads the word may hold the launch's record; the dropped one is counted.
            assert!(
                races == 1 || !whole.contains(&word) || !kept,
                "word {word} of a copy that {}",
                if writes { "writes" } else { "reads" }
            );
            met_later += races;
        }
    }
    assert!(met > 10_000 && met_later > 10_000 && apart > 1000, "{met} {met_later} {apart}");
}

#[test]
fn what_was_submitted_later_and_ran_before_is_met() {
    for (later_first, wanted) in [(true, 1), (false, 0)] {
        let mut device = Device::new();
        let write = |device: &mut Device, which: usize| {
            let cell = device.begin(which, 1, 0);
            // SAFETY: accesses shadow alone.
            unsafe {
                __gpurace_enter(cell);
                __gpurace_write(GLOBAL, 4, 1, 0);
            }
        };
        // Uids are assigned in the order of submission. Neither operation has the other's uids.
        for which in if later_first { [2, 0] } else { [0, 2] } {
            write(&mut device, which);
        }
        assert_eq!(device.races(), wanted, "the one that was submitted later runs first: {later_first}");
    }
}
