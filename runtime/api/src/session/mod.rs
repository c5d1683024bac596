//! One run of the program: what its options ask for, what it finds and counts, and the report.
//!
//! | module | what it knows |
//! |---|---|
//! | this one | the session: everything that belongs to one run |
//! | `operations` | launches and transfers as they begin and end |
//! | [`overlapped`] | operations that others may overlap, and which of them ran without checks |
//! | [`reserve`] | children that can check a launch if the host meets it |
//! | [`trials`] | runs of a launch under further schedules |
//! | [`launch_record`] | what is kept of each launch |
//! | `found`, [`resolve`] | races as they are found, and their names, lines and objects |
//! | [`suppress`] | findings that the user leaves out |
//! | [`watch`] | accesses of the host to managed and page-locked memory before it waits |
//! | [`transfer_sites`] | the host's calls that copy or fill |
//! | `counts`, `coverage`, `report` | the counts of kernels, what ran of them, and the report at the end |
//! | `fixes` | which barriers would mend the findings |
//! | `recent` | what was found since the program last asked |
//! | `callback` | the function that the program wants to be called for each finding |
//! | `expected` | races that the program expects |
//! | `breaks` | stops in a debugger |
//! | `changes` | options and suppressions that the program sets while it runs |
//! | `progress` | how far a long run is, on the terminal |
//! | `fork` | a forked child forgets its parent's findings |
//! | [`finish`] | the end of the process |

mod breaks;
pub mod callback;
mod changes;
mod counts;
mod coverage;
mod expected;
pub mod finish;
mod fixes;
mod fork;
mod found;
pub mod launch_record;
mod operations;
pub mod overlapped;
mod progress;
mod recent;
mod report;
pub mod reserve;
pub mod resolve;
pub mod shared_objects;
pub mod suppress;
pub mod transfer_sites;
pub mod trials;
pub mod watch;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use gpurace_check::{Checker, Limits};
use gpurace_options::{HaltOnError, Lesser, Options, Volatile};
use gpurace_report::collect::Collector;
use gpurace_report::schema;
use gpurace_report::sources::DiskSources;
use gpurace_report::text::TextRenderer;
use parking_lot::{Mutex, RwLock};

use crate::backend::Backend;
use crate::host::errors::StickyError;
use crate::host::log::TextLog;
use crate::host::message;
use crate::host::notes::Notes;
use crate::order::Order;
use crate::program::Program;
use crate::prove::Prover;
use crate::session::breaks::Breaks;
use crate::session::callback::Callback;
use crate::session::counts::KernelCounts;
use crate::session::expected::Expectation;
use crate::session::found::FoundResolved;
use crate::session::launch_record::LaunchRecord;
use crate::session::overlapped::OverlappedOperations;
use crate::session::progress::Progress;
use crate::session::recent::ToldSoFar;
use crate::session::reserve::Reserve;
use crate::session::suppress::Suppressions;
use crate::session::transfer_sites::TransferCalls;
use crate::session::trials::Explored;
use crate::session::watch::Watch;

pub use operations::{BegunLaunch, EndedLaunch};

/// One run of the program.
pub struct Session {
    /// The options in `GPURACE_OPTIONS`, or what the program has made of them. A change leaves the old ones in memory,
    /// since others may read them.
    options: RwLock<&'static Options>,
    suppressions: RwLock<Suppressions>,
    callback: Callback,
    /// The process that it belongs to. A forked child is another process until it launches a
    /// kernel.
    pid: AtomicU32,
    log: OnceLock<TextLog>,
    checker: OnceLock<Checker>,
    /// Decides which accesses of launches need no check.
    prover: Prover,
    notes: Arc<Notes>,
    sources: OnceLock<DiskSources>,
    last_launch: AtomicU64,
    /// Number of the last operation that the checker knows: launches, and transfers that another
    /// operation may overlap.
    last_operation: AtomicU64,
    /// Number of races whose cause was looked for in their kernel's control flow.
    causes_sought: AtomicU64,
    /// Number of operations that may have run beside an earlier one, on a backend that compares no
    /// launch with another operation.
    not_compared: AtomicU64,
    /// What the program has registered and allocated.
    pub program: Program,
    /// The fault of a kernel.
    pub sticky: StickyError,
    /// The host's accesses to host-visible memory.
    watch: Watch,
    /// The host's calls that copy or fill.
    pub transfer_calls: Mutex<TransferCalls>,
    /// Operations that later ones may overlap.
    overlapped: Mutex<OverlappedOperations>,
    /// Launches that the host has not waited for.
    reserves: Mutex<Vec<Reserve>>,
    /// The order of operations.
    pub order: Mutex<Order>,
    explored: Mutex<Explored>,
    progress: Progress,
    breaks: Breaks,
    state: Mutex<SessionState>,
    /// The report was completed: a signal in an exit handler must not complete it again.
    is_complete: AtomicBool,
}

struct SessionState {
    launches: VecDeque<LaunchRecord>,
    counts: HashMap<u32, KernelCounts>,
    /// The most blocks of a launch.
    largest_grid: u64,
    /// The checker's races, in its order. `None` for two accesses that only read.
    found: Vec<Option<FoundResolved>>,
    /// The races that a backend's own checker found.
    elsewhere: Vec<FoundResolved>,
    divergence: Vec<schema::Divergence>,
    faults: Vec<schema::Fault>,
    /// Number of findings that each suppression left out.
    suppressed: BTreeMap<String, u64>,
    /// What the program has asked for.
    told: ToldSoFar,
    /// Where the program expects races: the innermost part of it comes last.
    expected: Vec<Expectation>,
    /// Number of races that were found where the program expects them.
    found_as_expected: u64,
    live: Collector,
}

impl SessionState {
    /// The state before the first launch. `live` joins the findings so far.
    fn new(live: Collector) -> Self {
        Self {
            launches: VecDeque::new(),
            counts: HashMap::new(),
            largest_grid: 0,
            found: Vec::new(),
            elsewhere: Vec::new(),
            divergence: Vec::new(),
            faults: Vec::new(),
            suppressed: BTreeMap::new(),
            told: ToldSoFar::default(),
            expected: Vec::new(),
            found_as_expected: 0,
            live,
        }
    }

    /// Adds call stack and arguments to the record of a launch.
    fn keep_details(&mut self, record: &LaunchRecord) {
        let at = self.launches.binary_search_by_key(&record.operation, |launch| launch.operation);
        if let Some(kept) = at.ok().and_then(|at| self.launches.get_mut(at)) {
            (kept.stack, kept.python, kept.args) = (record.stack, record.python, Arc::clone(&record.args));
        }
    }
}

/// Reads memory of the program to compare written values.
fn read_memory(address: usize, size: u32) -> Option<u64> {
    // The memory exists: another thread has accessed these bytes, and the checked access is about to.
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
        let notes = Arc::new(Notes::default());
        Self {
            suppressions: RwLock::new(suppressions),
            callback: Callback::default(),
            pid: AtomicU32::new(std::process::id()),
            log: OnceLock::new(),
            checker: OnceLock::new(),
            prover: Prover::new(&options, notes.clone()),
            breaks: Breaks::default(),
            progress: Progress::new(&options),
            notes,
            options: RwLock::new(Box::leak(Box::new(options))),
            sources: OnceLock::new(),
            last_launch: AtomicU64::new(0),
            last_operation: AtomicU64::new(0),
            causes_sought: AtomicU64::new(0),
            not_compared: AtomicU64::new(0),
            overlapped: Mutex::default(),
            reserves: Mutex::default(),
            order: Mutex::default(),
            program: Program::default(),
            sticky: StickyError::default(),
            watch: Watch::default(),
            transfer_calls: Mutex::default(),
            is_complete: AtomicBool::new(false),
            explored: Mutex::default(),
            state: Mutex::new(SessionState::new(collector)),
        }
    }

    /// The options as they are now.
    pub fn options(&self) -> &'static Options {
        *self.options.read()
    }

    /// The backend.
    pub fn backend(&self) -> &'static dyn Backend {
        self.program.backend.get()
    }

    /// True if the session belongs to this process.
    pub fn is_own_process(&self) -> bool {
        self.pid.load(Ordering::Relaxed) == std::process::id()
    }

    /// True if the report counts accesses.
    pub fn counts_sites(&self) -> bool {
        self.options().json.is_some() || self.options().stats
    }

    fn log(&self) -> &TextLog {
        self.log.get_or_init(|| TextLog::open(&self.options().log_path, std::process::id()))
    }

    fn checker(&self) -> &Checker {
        self.checker.get_or_init(|| {
            let checker = Checker::with(Limits::default(), Some(read_memory));
            checker.relax_volatile(self.options().volatile == Volatile::Relaxed);
            checker
        })
    }

    /// The source files of the program.
    fn sources(&self) -> &DiskSources {
        let sources = self.sources.get_or_init(|| {
            let mut directories: Vec<PathBuf> = Vec::new();
            for file in self.program.modules.described().flat_map(|meta| &meta.files) {
                let directory = PathBuf::from(&file.directory);
                if !file.system && !directories.contains(&directory) {
                    directories.push(directory);
                }
            }
            DiskSources::new(directories)
        });
        for file in self.program.modules.described().flat_map(|meta| &meta.files) {
            if let Some(text) = &file.text {
                sources.keep(&file.name, text);
            }
        }
        sources
    }

    fn renderer(&self) -> TextRenderer<'_> {
        TextRenderer { pid: Some(std::process::id()), color: self.log().color, sources: self.sources() }
    }

    /// Ignores races on these bytes: the program says that they are intended.
    pub fn benign(&self, address: usize, size: usize) {
        match self.backend().own_checker() {
            None => self.checker().benign(address, size),
            Some(own) => own.benign(address, size),
        }
    }

    /// True if an operation was checked.
    pub fn has_checker(&self) -> bool {
        self.checker.get().is_some()
    }

    /// Adds a note of something that was lost or not checked, unless it was added before.
    pub fn note_once(&self, note: String) {
        self.notes.add_once(note);
    }

    /// Ends the program, or stops in a debugger, if there are findings and the options ask for it.
    fn halt_if_asked(&self) {
        if self.stops_in_debugger() {
            self.stop_at_new_races();
            return;
        }
        let halt =
            self.options().halt_on_error != HaltOnError::No && !self.state.lock().live.findings().is_empty();
        if halt {
            if self.options().halt_on_error == HaltOnError::Break {
                message::note(
                    "no debugger is attached: `halt_on_error=break` ends the program at its first race",
                );
            }
            self.tell();
            finish::halt(self);
        }
    }

    /// Adds a note of something that was lost or not checked.
    pub fn note(&self, note: String) {
        self.notes.add(note);
    }

    /// Forgets earlier accesses to memory that was freed or allocated.
    pub fn forget(&self, address: usize, size: usize) {
        let bytes = address..address.saturating_add(size);
        self.overlapped.lock().forget(&bytes);
        self.forget_in_reserves(&bytes);
        self.watch.forget(&bytes);
        if let Some(checker) = self.checker.get() {
            checker.forget(address, size);
        }
    }
}

/// What joins the findings of a run.
fn collector(options: &Options) -> Collector {
    Collector::new(options.max_reports, options.same_value == Lesser::Ignore)
}
