//! Fuzzing: a decoder gets valid inputs that were changed at random, and must neither panic, nor hang, nor
//! allocate by a length that it did not check.
//!
//! [`bolero`] makes the changes and shrinks those of a failure. It needs no nightly compiler. `cargo test` runs each
//! target for a second. For longer, and by coverage of the code:
//!
//! ```sh
//! GPURACE_FUZZ_SECONDS=60 cargo test --release -p gpurace-fuzz -- --nocapture
//! cargo bolero test -p gpurace-fuzz --test decoders --sanitizer NONE -T 60s container
//! ```
//!
//! Each target prints the number of its executions.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use bolero::TypeGenerator;

/// A change of an input. Places are taken modulo its length.
#[derive(Clone, Debug, TypeGenerator)]
pub enum Edit {
    /// Sets a byte.
    Set(u32, u8),
    /// Changes one bit.
    Flip(u32, u8),
    /// Inserts a byte several times.
    Insert(u32, u8, u8),
    /// Removes bytes.
    Remove(u32, u8),
    /// Cuts the end off.
    Cut(u32),
    /// Copies bytes to another place.
    Copy(u32, u32, u8),
    /// Repeats bytes many times: deep nesting, long lists.
    Repeat(u32, u8, u8),
    /// Writes a number that is often a bound, in as many bytes as the last field says.
    Number(u32, u8, u8),
    /// The same in the form of postcard's lengths.
    Varint(u32, u8),
    /// Replaces the decimal number at or behind this place by one that is often a bound.
    Decimal(u32, u8),
    /// Inserts a word that means something to a decoder.
    Word(u32, u8),
}

/// Which of the valid inputs is changed, and how.
pub type Input = (u8, Vec<Edit>);

/// Numbers at which lengths, indices and sums go wrong.
const NUMBERS: [u64; 14] = [
    0,
    1,
    0x7f,
    0xff,
    0x7fff,
    0xffff,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 32,
    (1 << 63) - 1,
    1 << 63,
    u64::MAX - 1,
    u64::MAX,
];

/// Words of the text formats.
const WORDS: [&str; 24] = [
    "null",
    "true",
    "\"",
    "\\u0000",
    "[[[[[[[[",
    "{\"",
    "}",
    ",",
    ":",
    "=",
    "`",
    "\u{1b}[2J",
    "\u{202e}",
    "\n",
    "\\",
    "'",
    "*",
    "$",
    "%",
    "{",
    "@",
    "//",
    "/*",
    "1e999",
];

/// Returns a valid input with the changes.
pub fn edited(valid: &[Vec<u8>], (which, edits): &Input) -> Vec<u8> {
    let mut bytes = valid[usize::from(*which) % valid.len()].clone();
    for edit in edits.iter().take(24) {
        apply(&mut bytes, edit);
    }
    bytes.truncate(1 << 20);
    bytes
}

fn apply(bytes: &mut Vec<u8>, edit: &Edit) {
    let length = bytes.len();
    let at = |place: u32| if length == 0 { 0 } else { place as usize % length };
    let number = |which: u8| NUMBERS[usize::from(which) % NUMBERS.len()];
    let overwrite = |bytes: &mut Vec<u8>, from: usize, new: &[u8]| {
        let end = bytes.len().min(from + new.len());
        bytes.splice(from..end, new.iter().copied());
    };
    match *edit {
        Edit::Set(place, byte) => overwrite(bytes, at(place), &[byte]),
        Edit::Flip(place, bit) => {
            if let Some(byte) = bytes.get_mut(at(place)) {
                *byte ^= 1 << (bit % 8);
            }
        }
        Edit::Insert(place, byte, times) => {
            let new = vec![byte; usize::from(times)];
            bytes.splice(at(place)..at(place), new);
        }
        Edit::Remove(place, count) => {
            let end = length.min(at(place) + usize::from(count));
            bytes.drain(at(place)..end);
        }
        Edit::Cut(place) => bytes.truncate(at(place)),
        Edit::Copy(from, to, count) => {
            let new = bytes[at(from)..length.min(at(from) + usize::from(count))].to_vec();
            bytes.splice(at(to)..at(to), new);
        }
        Edit::Repeat(place, count, times) => {
            let part = bytes[at(place)..length.min(at(place) + usize::from(count % 32))].to_vec();
            // At most 32 KiB are added.
            let new = part.repeat(usize::from(times) * 4);
            bytes.splice(at(place)..at(place), new);
        }
        Edit::Number(place, which, size) => {
            overwrite(bytes, at(place), &number(which).to_le_bytes()[..1 + usize::from(size % 8)]);
        }
        Edit::Varint(place, which) => {
            let (mut left, mut new) = (number(which), Vec::new());
            while left >= 0x80 {
                new.push(left as u8 | 0x80);
                left >>= 7;
            }
            new.push(left as u8);
            overwrite(bytes, at(place), &new);
        }
        Edit::Decimal(place, which) => {
            let from =
                bytes.iter().skip(at(place)).position(u8::is_ascii_digit).map(|found| at(place) + found);
            if let Some(from) = from {
                let digits = bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                bytes.splice(from..from + digits, number(which).to_string().into_bytes());
            }
        }
        Edit::Word(place, which) => {
            let word = WORDS[usize::from(which) % WORDS.len()];
            bytes.splice(at(place)..at(place), word.bytes());
        }
    }
}

/// How long each target runs.
pub fn time() -> Duration {
    let seconds = std::env::var("GPURACE_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(1))
}

/// An execution takes less time than this.
const LONGEST: Duration = Duration::from_secs(10);
/// No execution allocates so many bytes at once.
const LARGEST: usize = 256 << 20;

thread_local! {
    static LARGEST_SO_FAR: Cell<usize> = const { Cell::new(0) };
}

/// Takes note of an allocation of this thread. The allocator of a test program calls it.
pub fn allocates(bytes: usize) {
    let _ = LARGEST_SO_FAR.try_with(|largest| largest.set(largest.get().max(bytes)));
}

/// The executions that have begun, with their targets and inputs.
static RUNNING: Mutex<Option<HashMap<ThreadId, Execution>>> = Mutex::new(None);

/// When it began, its target, and its input.
type Execution = (Instant, &'static str, Vec<u8>);

/// A fuzz target: its name, and how often it ran.
#[derive(Debug)]
pub struct Target {
    name: &'static str,
    executions: AtomicU64,
    accepted: AtomicU64,
}

impl Target {
    /// Begins a target.
    pub fn new(name: &'static str) -> Self {
        static WATCHED: Once = Once::new();
        WATCHED.call_once(|| {
            thread::spawn(watch);
        });
        Self { name, executions: AtomicU64::new(0), accepted: AtomicU64::new(0) }
    }

    /// Runs the decoder on an input. It returns whether it accepted the input.
    pub fn run(&self, input: Vec<u8>, decode: impl FnOnce(&[u8]) -> bool) {
        let lock = || RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let this = thread::current().id();
        lock().get_or_insert_default().insert(this, (Instant::now(), self.name, input.clone()));
        LARGEST_SO_FAR.set(0);
        let accepted = decode(&input);
        let largest = LARGEST_SO_FAR.get();
        lock().get_or_insert_default().remove(&this);
        assert!(
            largest <= LARGEST,
            "{}: an allocation of {largest} bytes for {} of input",
            self.name,
            input.len()
        );
        self.executions.fetch_add(1, Ordering::Relaxed);
        self.accepted.fetch_add(accepted.into(), Ordering::Relaxed);
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        let (all, accepted) =
            (self.executions.load(Ordering::Relaxed), self.accepted.load(Ordering::Relaxed));
        println!("fuzz: {}: {all} executions, {accepted} accepted", self.name);
    }
}

/// Ends the process if an execution takes too long: nothing else ends one that hangs.
fn watch() {
    loop {
        thread::sleep(Duration::from_secs(1));
        let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        for (began, name, input) in running.iter().flat_map(|running| running.values()) {
            if began.elapsed() > LONGEST {
                eprintln!(
                    "fuzz: {name}: an execution takes more than {LONGEST:?}; its input: {}",
                    input.escape_ascii()
                );
                std::process::abort();
            }
        }
    }
}
