//! What one run of the program asks for, finds and counts.

mod counts;
mod found;
mod operations;
mod report;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use gpurace_check::{Checker, Limits};
use gpurace_options::{Options, SameValue};
use gpurace_report::collect::Collector;
use gpurace_report::schema;
use gpurace_report::sources::DiskSources;
use gpurace_report::text::TextRenderer;
use parking_lot::Mutex;

use crate::backend;
use crate::beside::Beside;
use crate::finish;
use crate::log::Log;
use crate::modules;
use crate::resolve::LaunchRecord;
use crate::suppress::Suppressions;

use counts::Counts;
use found::Found;

pub use operations::Begun;

/// One run of the program.
pub struct Session {
    /// What `GPURACE_OPTIONS` asks for.
    pub options: Options,
    suppressions: Suppressions,
    /// Process that it is about: a forked child is another until it launches.
    pid: AtomicU32,
    log: OnceLock<Log>,
    checker: OnceLock<Checker>,
    sources: OnceLock<DiskSources>,
    last_launch: AtomicU64,
    /// Number of the last operation that the checker knows of: launches, and
    /// copies that something may overlap.
    last_operation: AtomicU64,
    /// What something still to come may run beside. Locked before the order and the state.
    beside: Mutex<Beside>,
    state: Mutex<State>,
}

struct State {
    launches: VecDeque<LaunchRecord>,
    counts: HashMap<u32, Counts>,
    /// The checker's races, in its order; `None` for what is none.
    found: Vec<Option<Found>>,
    /// What a backend found without the checker of this process.
    elsewhere: Vec<Found>,
    divergence: Vec<schema::Divergence>,
    notes: Vec<String>,
    /// By suppression how many findings it has left out.
    suppressed: BTreeMap<String, u64>,
    live: Collector,
}

impl State {
    /// Adds to a launch that is known what called it.
    fn keep_stack(&mut self, record: &LaunchRecord) {
        let at = self.launches.binary_search_by_key(&record.operation, |launch| launch.operation);
        if let Some(kept) = at.ok().and_then(|at| self.launches.get_mut(at)) {
            kept.stack = record.stack;
        }
    }
}

/// Reads memory of the program for the comparison of written values.
fn read_memory(address: usize, size: u32) -> Option<u64> {
    // It is asked for where another thread has accessed the same bytes before
    // and the checked access comes next: they are there.
    let mut bytes = [0u8; 8];
    let size = size as usize;
    if address == 0 || size > bytes.len() {
        return None;
    }
    // SAFETY: see above.
    unsafe { std::ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), size) };
    Some(u64::from_le_bytes(bytes))
}

impl Session {
    /// A session with these options and suppressions.
    pub fn new(options: Options, suppressions: Suppressions) -> Self {
        let collector = collector(&options);
        Self {
            options,
            suppressions,
            pid: AtomicU32::new(std::process::id()),
            log: OnceLock::new(),
            checker: OnceLock::new(),
            sources: OnceLock::new(),
            last_launch: AtomicU64::new(0),
            last_operation: AtomicU64::new(0),
            beside: Mutex::new(Beside::new()),
            state: Mutex::new(State {
                launches: VecDeque::new(),
                counts: HashMap::new(),
                found: Vec::new(),
                elsewhere: Vec::new(),
                divergence: Vec::new(),
                notes: Vec::new(),
                suppressed: BTreeMap::new(),
                live: collector,
            }),
        }
    }

    /// Whether this process is the one that the session is about.
    pub fn is_own_process(&self) -> bool {
        self.pid.load(Ordering::Relaxed) == std::process::id()
    }

    /// Whether somebody wants to know how many accesses there are.
    pub fn counts_sites(&self) -> bool {
        self.options.json.is_some() || self.options.stats
    }

    fn log(&self) -> &Log {
        self.log.get_or_init(|| Log::open(&self.options.log_path, std::process::id()))
    }

    fn checker(&self) -> &Checker {
        self.checker.get_or_init(|| Checker::with(Limits::default(), Some(read_memory)))
    }

    fn renderer(&self) -> TextRenderer<'_> {
        let sources = self.sources.get_or_init(|| {
            let mut directories: Vec<PathBuf> = Vec::new();
            for module in modules::registered() {
                for file in module.iter().flat_map(|meta| &meta.files) {
                    let directory = PathBuf::from(&file.directory);
                    if !file.system && !directories.contains(&directory) {
                        directories.push(directory);
                    }
                }
            }
            DiskSources::new(directories)
        });
        TextRenderer { pid: Some(std::process::id()), color: self.log().color, sources }
    }

    /// Races on these bytes are meant.
    pub fn benign(&self, address: usize, size: usize) {
        let backend = backend::get();
        match backend.checks_on_host() {
            true => self.checker().benign(address, size),
            false => backend.benign(address, size),
        }
    }

    /// Whether a launch or copy was checked.
    pub fn has_checker(&self) -> bool {
        self.checker.get().is_some()
    }

    /// Adds something that was lost or not checked, unless it was added before.
    pub fn note_once(&self, note: String) {
        let notes = &mut self.state.lock().notes;
        if !notes.contains(&note) {
            notes.push(note);
        }
    }

    fn halt_if_asked(&self) {
        let halt = self.options.halt_on_error && self.state.lock().live.findings() > 0;
        if halt {
            finish::halt(self);
        }
    }

    /// Adds something that was lost or not checked.
    pub fn note(&self, note: String) {
        self.state.lock().notes.push(note);
    }

    /// The memory was freed: what is there next has no history.
    pub fn forget(&self, address: usize, size: usize) {
        self.beside.lock().forget(&(address..address.saturating_add(size)));
        if let Some(checker) = self.checker.get() {
            checker.forget(address, size);
        }
    }
}

fn collector(options: &Options) -> Collector {
    Collector::new(options.max_reports, options.same_value == SameValue::Ignore)
}

static SESSION: OnceLock<Session> = OnceLock::new();

/// Makes the session of this process, if there is none yet.
pub fn begin(options: Options, suppressions: Suppressions) {
    SESSION.get_or_init(|| Session::new(options, suppressions));
}

/// The session of this process; one with the defaults where none was made.
pub fn get() -> &'static Session {
    SESSION.get_or_init(|| Session::new(Options::default(), Suppressions::default()))
}

/// The session, if anything has needed it yet.
pub fn existing() -> Option<&'static Session> {
    SESSION.get()
}
