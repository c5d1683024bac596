//! What one run of the program asks for, finds and counts.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use gpurace_abi::meta::{ModuleMeta, Verdict};
use gpurace_check::{Checker, Clusters, HostAccess, KernelKey, LaunchInfo, Limits, RaceRecord, RaceScope, Space, Touched, Transfer};
use gpurace_cpu::LaunchReport;
use gpurace_options::{Options, SameValue};
use gpurace_report::collect::{Added, Collector};
use gpurace_report::schema::{self, KernelStats, Report, Sites, Stats};
use gpurace_report::sources::DiskSources;
use gpurace_report::text::TextRenderer;
use parking_lot::{Mutex, MutexGuard};

use crate::backend::{self, Backend, Copied};
use crate::beside::{self, Bare, Beside};
use crate::call_site;
use crate::finish;
use crate::launch::Launch;
use crate::log::Log;
use crate::modules::{self, Kernel};
use crate::order::{ORDER, Ordered, StreamId};
use crate::prove::reach::{Footprint, Reach, Span};
use crate::prove::{self, Decision, Fate};
use crate::resolve::{self, LaunchRecord, Object};
use crate::suppress::Suppressions;
use crate::transfer::{self, Part};
use crate::watch;

/// Launches that a report can still name; what is older is shown without its
/// grid and line.
const LAUNCHES_KEPT: usize = 1 << 16;
/// Launches of a kernel of which it is known what called them, the first ones:
/// to look takes 5 µs, as long as a launch of one warp.
const STACKS_KEPT: u64 = 256;
/// Closes the last finding, as the report's text opens each.
const RULE: &str = "==================\n";

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

/// A race that was resolved when it was found, while its objects were alive.
struct Found {
    race: schema::Race,
    /// The options leave it out.
    left_out: bool,
    /// Its text was written, or another of its entry's.
    written: bool,
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

/// Launches of one kernel.
#[derive(Clone, Default)]
struct Counts {
    launches: u64,
    unchecked: u64,
    checks: u64,
    /// What became of its sites, the least of all launches; empty where none
    /// was to be checked so far.
    fates: Vec<Fate>,
}

impl Counts {
    fn add_fates(&mut self, fates: &[Fate]) {
        if self.fates.is_empty() {
            self.fates = fates.to_vec();
        }
        for (own, &new) in self.fates.iter_mut().zip(fates) {
            *own = (*own).min(new);
        }
    }
}

/// A launch that has begun.
pub struct Begun {
    /// What stays known of it.
    pub record: LaunchRecord,
    /// Where it stands to the others.
    pub ordered: Ordered,
    /// How it is to be checked; `None` where it runs bare: it is not to be checked, or
    /// nothing in it needs a check.
    pub wanted: Option<Arc<Decision>>,
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
        self.log
            .get_or_init(|| Log::open(&self.options.log_path, std::process::id()))
    }

    fn checker(&self) -> &Checker {
        self.checker
            .get_or_init(|| Checker::with(Limits::default(), Some(read_memory)))
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
        TextRenderer {
            pid: Some(std::process::id()),
            color: self.log().color,
            sources,
        }
    }

    /// A launch begins: it gets its number, and checks if the options say so.
    pub fn begin(&self, launch: &Launch<'_>) -> Begun {
        self.pid.store(std::process::id(), Ordering::Relaxed);
        let kernel = launch.kernel;
        // The numbers and the order are taken together: later launches have
        // larger numbers.
        let mut beside = self.beside.lock();
        let (id, operation, ordered) = {
            let mut order = ORDER.lock();
            let id = self.last_launch.fetch_add(1, Ordering::Relaxed) + 1;
            let operation = self.last_operation.fetch_add(1, Ordering::Relaxed) + 1;
            let ordered = order.launch(launch.stream, operation);
            beside.settle(&order);
            (id, operation, ordered)
        };
        let mut record = LaunchRecord {
            id,
            operation,
            kernel,
            grid: launch.grid,
            block: launch.block,
            dynamic_shared: launch.dynamic_shared,
            cluster: launch.cluster,
            stream: launch.stream.0,
            call_site: launch.call_site,
            stack: call_site::Stack::default(),
        };
        let (checked, nth) = {
            let mut state = self.state.lock();
            if state.launches.len() == LAUNCHES_KEPT {
                state.launches.pop_front();
            }
            state.launches.push_back(record);
            let counts = state.counts.entry(kernel.key).or_default();
            let nth = counts.launches;
            counts.launches += 1;
            let checked = self.options.checks_kernel(&kernel.demangled)
                && nth.is_multiple_of(u64::from(self.options.every.get()));
            // Code that was built without checks runs unchecked too.
            let checked = checked && kernel.module.meta.instrumented;
            counts.unchecked += u64::from(!checked);
            (checked, nth)
        };
        if !checked {
            return Begun { record, ordered, wanted: None };
        }
        // Proofs are about one launch: what may be concurrent with the host is checked.
        let decision = match (ordered.overlaps, watch::may_meet(launch.args)) {
            (false, true) => Arc::new(Decision::unproved(kernel)),
            (false, false) => {
                drop(beside);
                prove::decide(launch)
            }
            (true, met_by_host) => self.decide_beside(&mut beside, launch, &ordered, operation, met_by_host),
        };
        self.state
            .lock()
            .counts
            .entry(kernel.key)
            .or_default()
            .add_fates(&decision.fates);
        // Only what is checked, or may be made known later, can be in a report.
        if nth < STACKS_KEPT && (ordered.overlaps || !decision.is_bare()) {
            record.stack = call_site::callers();
            self.state.lock().keep_stack(&record);
        }
        if decision.is_bare() {
            return Begun { record, ordered, wanted: None };
        }
        Begun { record, ordered, wanted: Some(decision) }
    }

    /// Decides about a launch that others may run beside. It runs without checks only where
    /// no operation before it may meet it, and where it can be made known to later ones.
    fn decide_beside(
        &self,
        beside: &mut Beside,
        launch: &Launch<'_>,
        ordered: &Ordered,
        operation: u64,
        met_by_host: bool,
    ) -> Arc<Decision> {
        let kernel = launch.kernel;
        let unproved = || Arc::new(Decision::unproved(kernel));
        if !backend::get().checks_on_host() {
            return unproved();
        }
        let Reach { footprint, repeat } = prove::reach(launch);
        let met = met_by_host || kernel.prover.met.load(Ordering::Relaxed) || self.options.blocks.is_some();
        if let Some(what) = repeat.filter(|what| !met && beside.allows(&footprint, what.cost, &ordered.unordered)) {
            let decision = prove::decide(launch);
            if decision.is_bare() {
                let (info, unordered) = (info(launch, operation, ordered), ordered.unordered.clone());
                beside.add_bare(footprint, Bare { kernel, info, unordered, what, forgotten: Vec::new() });
                return decision;
            }
        }
        // What its threads learn of others by atomics has to hold all that is before it.
        let sync = &kernel.meta().sync;
        let learns = sync.fences || sync.observes;
        let met = if learns { &Footprint::ANYTHING } else { &footprint };
        self.repeat(beside.before(met, &ordered.unordered, true));
        beside.add_checked(operation, footprint, &ordered.unordered);
        unproved()
    }

    /// Makes launches known to the checker that ran without it. Their kernels are checked from here on
    /// where others may run beside them.
    fn repeat(&self, launches: Vec<Bare>) {
        for bare in launches {
            bare.kernel.prover.met.store(true, Ordering::Relaxed);
            match bare.repeat(self.checker()) {
                Ok(stats) => {
                    let mut state = self.state.lock();
                    state.counts.entry(bare.kernel.key).or_default().checks += stats.checks_executed;
                }
                Err(why) => self.note_once(format!(
                    "a launch of `{}` that ran without checks not known to those beside it: {why}; races with it may be missed",
                    bare.kernel.demangled
                )),
            }
        }
    }

    /// The checks of a launch that has begun, by the checker of this process.
    pub fn check(&self, launch: &Launch<'_>, begun: &Begun, wanted: &Decision) -> Arc<gpurace_check::Launch> {
        let kernel = launch.kernel;
        let info = info(launch, begun.record.operation, &begun.ordered);
        kernel.module.tell_covered(self.checker());
        self.checker().watch_host(watch::is_needed());
        self.checker().begin_pruned(info, &begun.ordered.unordered, wanted.proved.clone())
    }

    /// A launch that was to be checked runs without: it has no code with checks.
    pub fn runs_unchecked(&self, record: &LaunchRecord) {
        self.state.lock().counts.entry(record.kernel.key).or_default().unchecked += 1;
        let kernel = &record.kernel.demangled;
        self.note_once(format!(
            "launches of `{kernel}` not checked: with checks, its blocks need more shared memory or registers than the GPU has"
        ));
    }

    /// A copy or fill is about to happen. Where something may overlap it,
    /// `parts` says what it touches, and it is checked.
    pub fn transfer(&self, stream: StreamId, host_waits: bool, parts: impl FnOnce() -> Vec<Part>) {
        let backend = backend::get();
        let placing = backend.placing();
        let mut beside = self.beside.lock();
        let (operation, ordered) = {
            let mut order = ORDER.lock();
            let operation = self.last_operation.load(Ordering::Relaxed) + 1;
            let (_, Some(ordered)) = order.copy(stream, operation, host_waits) else {
                return;
            };
            self.last_operation.store(operation, Ordering::Relaxed);
            beside.settle(&order);
            (operation, ordered)
        };
        // A program that was built without checks has asked for none.
        let mut modules = modules::registered().into_iter().flatten();
        if !modules.any(|meta| meta.instrumented) {
            return;
        }
        let transfer = Transfer {
            id: operation,
            site_base: transfer::SITE_BASE,
            stream: stream.0,
            settled: ordered.settled,
        };
        let parts = parts();
        let touched: Vec<Touched> = parts.iter().flat_map(|part| part.touched()).collect();
        if backend.checks_on_host() {
            let span = |t: &Touched| Span { bytes: t.bytes.clone(), writes: t.writes };
            let footprint = beside::of_copy(touched.iter().map(span).collect());
            self.repeat(beside.before(&footprint, &ordered.unordered, false));
            self.checker().transfer(transfer, &ordered.unordered, touched);
            beside.add_checked(operation, footprint, &ordered.unordered);
        } else {
            // The checker here knows the copies alone, the backend's own knows the launches.
            self.checker().transfer(transfer, &ordered.unordered, touched);
            backend.touch(Copied { number: operation, stream, unordered: ordered.unordered, parts });
        }
        drop(beside);
        drop(placing);
        self.write_new_races(&mut self.state.lock());
        self.halt_if_asked();
    }

    /// Accesses of the host to managed memory: those to bytes that launches
    /// have touched which it has not waited for are races.
    pub fn host_accesses(&self, accesses: impl Iterator<Item = HostAccess>) {
        let Some(checker) = self.checker.get() else {
            return;
        };
        let unwaited = ORDER.lock().unwaited();
        let mut state = self.state.lock();
        let overlaps = |operation| {
            let launch = find_launch(&state.launches, operation);
            // Through a fence the kernel may have told the host.
            unwaited.binary_search(&operation).is_ok()
                && launch.is_none_or(|launch| !launch.kernel.meta().sync.fences)
        };
        for access in accesses {
            checker.host_access(access, &overlaps);
        }
        self.write_new_races(&mut state);
        drop(state);
        self.halt_if_asked();
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

    /// A launch has ended: what it found is counted and written.
    pub fn end(&self, begun: &Begun, checks: Option<&gpurace_check::Launch>, report: Option<&LaunchReport>) {
        if let Some(checks) = checks {
            let stats = self.checker().end_launch(checks);
            let mut state = self.state.lock();
            state
                .counts
                .entry(begun.record.kernel.key)
                .or_default()
                .checks += stats.checks_executed;
            self.write_new_races(&mut state);
        }
        for scattered in report.iter().flat_map(|report| &report.scattered) {
            if resolve::is_one_place(begun.record.kernel, scattered) {
                self.add_divergence(resolve::divergence(&begun.record, scattered));
            }
        }
        if let Some(report) = report.filter(|report| report.divergences > 0) {
            for divergence in &report.divergence {
                self.add_divergence(resolve::divergence(&begun.record, divergence));
            }
            let rest = report.divergences - report.divergence.len() as u64;
            if rest > 0 {
                let kernel = &begun.record.kernel.demangled;
                self.note(format!(
                    "{rest} more blocks of `{kernel}` with barrier divergence not shown"
                ));
            }
        }
        self.halt_if_asked();
    }

    /// Adds a divergence or deadlock and writes it if it is new.
    pub fn add_divergence(&self, divergence: schema::Divergence) {
        let mut state = self.state.lock();
        if let Some(by) = self.suppressions.of_divergence(&divergence) {
            *state.suppressed.entry(by).or_default() += 1;
            return;
        }
        if state.live.add_divergence(divergence.clone()) == Added::First {
            self.log().write(&self.renderer().divergence(&divergence));
        }
        state.divergence.push(divergence);
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

    /// What a backend has found elsewhere is written.
    pub fn collect(&self) {
        self.write_new_races(&mut self.state.lock());
        self.halt_if_asked();
    }

    /// Resolves the races that were found since the last time and writes those that are new entries.
    fn write_new_races(&self, state: &mut State) {
        for record in self.checker.get().into_iter().flat_map(Checker::take_new_races) {
            let resolved = resolve::race(&record, |operation| find_launch(&state.launches, operation));
            let found = self.write_if_new(state, &record, resolved);
            state.found.push(found);
        }
        for backend::Found { mut record, object, shared_offset } in backend::chosen().into_iter().flat_map(Backend::take_found) {
            let launch = find_launch(&state.launches, record.later.launch);
            // A copy has no kernel; what it races with has.
            if let Some(launch) = launch.or_else(|| find_launch(&state.launches, record.earlier.launch)) {
                record.kernel = KernelKey(launch.kernel.key);
                if record.scope == RaceScope::Grid && launch.is_one_cluster(record.later.block, record.earlier.block) {
                    record.scope = RaceScope::Cluster;
                }
            }
            for side in [&mut record.later, &mut record.earlier] {
                let Some(launch) = find_launch(&state.launches, side.launch) else { continue };
                side.site = side.site.saturating_add(launch.kernel.module.site_base).min(transfer::SITE_BASE - 1);
                side.stream = launch.stream;
            }
            let shared = || {
                let launch = launch.as_ref()?;
                let place = shared_offset.and_then(|offset| backend::get().shared_place(launch.kernel, offset));
                Some(place.map_or_else(|| resolve::some_shared_object(launch), |at| resolve::shared_object(launch, at)))
            };
            let object = object.or_else(|| (record.space == Space::Shared).then(shared).flatten());
            let resolved = resolve::race_at(&record, object, |operation| find_launch(&state.launches, operation));
            let found = self.write_if_new(state, &record, resolved);
            state.elsewhere.extend(found);
        }
    }

    /// Writes a race unless it is one of an entry that was written, or is left out.
    fn write_if_new(
        &self,
        state: &mut State,
        record: &RaceRecord,
        resolved: Option<(schema::Race, Option<Object>)>,
    ) -> Option<Found> {
        let (race, object) = resolved?;
        let left_out = object.is_some_and(|object| !self.options.checks_object(&object.description()))
            || [&record.later, &record.earlier].iter().any(|side| {
                !transfer::is_one(side) && side.block.is_some_and(|block| !self.options.checks_block(block))
            });
        let suppressed = if left_out { None } else { self.suppressions.of_race(&race) };
        let left_out = left_out || suppressed.is_some();
        if let Some(by) = suppressed {
            *state.suppressed.entry(by).or_default() += 1;
        }
        let added = if left_out { Added::Ignored } else { state.live.add_race(race.clone()) };
        if added == Added::First {
            self.log().write(&self.renderer().race(&race));
        }
        let written = matches!(added, Added::First | Added::Again);
        Some(Found { race, left_out, written })
    }

    /// Locks the state, or gives up where a signal interrupted its holder.
    fn state_at_end(&self) -> Option<MutexGuard<'_, State>> {
        self.state.try_lock_for(Duration::from_secs(1))
    }

    /// The whole report, with what was found since the last launch. Gives
    /// `None` where a signal came while the findings were being changed.
    pub fn finish(&self) -> Option<Report> {
        let mut state = self.state_at_end()?;
        let state = &mut *state;
        self.write_new_races(state);
        let backend = backend::chosen();
        for (operation, checks) in backend.into_iter().flat_map(Backend::take_checks) {
            if let Some(launch) = find_launch(&state.launches, operation) {
                state.counts.entry(launch.kernel.key).or_default().checks += checks;
            }
        }
        let mut last = collector(&self.options);
        if let Some(checker) = self.checker.get() {
            // Counts and values have grown since the races were written.
            for (found, record) in state.found.iter_mut().zip(checker.races()) {
                let Some(found) = found.as_mut().filter(|found| !found.left_out) else {
                    continue;
                };
                found.race.count = record.count;
                found.race.same_value = record.same_value;
                if last.add_race(found.race.clone()) == Added::First && !found.written {
                    found.written = true;
                    self.log().write(&self.renderer().race(&found.race));
                }
            }
            for note in checker.notes() {
                last.note(note);
            }
        }
        for found in state.elsewhere.iter_mut().filter(|found| !found.left_out) {
            if last.add_race(found.race.clone()) == Added::First && !found.written {
                found.written = true;
                self.log().write(&self.renderer().race(&found.race));
            }
        }
        for note in backend.into_iter().flat_map(Backend::notes) {
            last.note(note);
        }
        for divergence in &state.divergence {
            last.add_divergence(divergence.clone());
        }
        for note in &state.notes {
            last.note(note.clone());
        }
        for (by, count) in &state.suppressed {
            last.note(format!("{count} suppressed by `{by}`"));
        }
        let device = backend.map_or(schema::Device::Cpu, Backend::device);
        Some(last.report(device, stats(&state.counts)))
    }

    /// What `stats=1` says of suppressions that left nothing out: whoever mends
    /// a race forgets the line that hid it.
    fn unused_suppressions(&self) -> String {
        let Some(state) = self.state_at_end() else {
            return String::new();
        };
        let unused = self.suppressions.unused(&state.suppressed);
        let lines = unused.iter().map(|line| format!("  unused suppression `{line}`\n"));
        lines.collect()
    }

    /// Writes what ends the text of the report.
    pub fn write_end(&self, report: &Report) {
        let renderer = self.renderer();
        let mut text = String::new();
        if report.has_findings() {
            text.push_str(RULE);
        }
        text.push_str(&renderer.notes(&report.notes));
        if self.options.stats {
            text.push_str(&renderer.stats(&report.stats));
            text.push_str(&self.unused_suppressions());
        }
        text.push_str(&renderer.summary(report));
        if !text.is_empty() {
            self.log().write(&text);
        }
    }
}

/// What the checker is to know of a launch.
fn info(launch: &Launch<'_>, operation: u64, ordered: &Ordered) -> LaunchInfo {
    let (kernel, meta) = (launch.kernel, launch.kernel.meta());
    LaunchInfo {
        id: operation,
        kernel: KernelKey(kernel.key),
        site_base: kernel.module.site_base,
        features: meta.sync,
        threads_per_block: launch.block.iter().product(),
        blocks: launch.grid.iter().map(|&n| u64::from(n)).product(),
        clusters: gpurace_cpu::clusters(launch.cluster, meta)
            .map(|blocks| Clusters { grid: launch.grid, blocks, end_of_block: kernel.module.end_of_block() }),
        stream: launch.stream.0,
        settled: ordered.settled,
    }
}

/// The launch that the checker knows by this number.
fn find_launch(launches: &VecDeque<LaunchRecord>, operation: u64) -> Option<LaunchRecord> {
    let at = launches
        .binary_search_by_key(&operation, |launch| launch.operation)
        .ok()?;
    launches.get(at).copied()
}

fn collector(options: &Options) -> Collector {
    Collector::new(options.max_reports, options.same_value == SameValue::Ignore)
}

/// How many accesses came to what.
fn sites(fates: impl Iterator<Item = Fate>) -> Sites {
    let mut sites = Sites::default();
    for fate in fates {
        sites.total += 1;
        match fate {
            Fate::Proved => sites.proved += 1,
            Fate::ProvedAtLaunch => sites.proved_at_launch += 1,
            Fate::Checked => sites.checked += 1,
        }
    }
    sites
}

/// What becomes of an access that no launch has reached. A proof under a
/// condition that nobody has tested is none.
fn fate_of(verdict: Verdict) -> Fate {
    match verdict {
        Verdict::Proved => Fate::Proved,
        Verdict::ProvedIf | Verdict::Racy | Verdict::Checked => Fate::Checked,
    }
}

fn stats(counts: &HashMap<u32, Counts>) -> Stats {
    let metas: Vec<&'static ModuleMeta> = modules::registered().into_iter().flatten().collect();
    let mut keys: Vec<_> = counts.iter().collect();
    keys.sort_by_key(|(key, _)| **key);
    let mut stats = Stats::default();
    // By module and site, the least of the kernels that were launched.
    let mut least: HashMap<(*const ModuleMeta, u32), Fate> = HashMap::new();
    for (&key, count) in keys {
        stats.launches += count.launches;
        stats.launches_unchecked += count.unchecked;
        stats.checks_executed += count.checks;
        let Some(kernel) = modules::kernel_of_key(key) else {
            continue;
        };
        let fates = kernel_fates(kernel, count);
        for (&site, &fate) in kernel.meta().sites.iter().zip(&fates) {
            let least = least
                .entry((std::ptr::from_ref(kernel.module.meta), site))
                .or_insert(fate);
            *least = (*least).min(fate);
        }
        stats.kernels.push(KernelStats {
            name: kernel.demangled.clone(),
            sites: sites(fates.into_iter()),
            launches: count.launches,
            checks_executed: count.checks,
        });
    }
    let all = metas.iter().filter(|meta| meta.instrumented).flat_map(|&meta| {
        let least = &least;
        meta.sites.iter().zip(0u32..).map(move |(site, id)| {
            let launched = least.get(&(std::ptr::from_ref(meta), id));
            launched.copied().unwrap_or_else(|| fate_of(site.verdict))
        })
    });
    stats.sites = sites(all);
    stats
}

fn kernel_fates(kernel: &Kernel, count: &Counts) -> Vec<Fate> {
    let meta = &kernel.module.meta;
    if !meta.instrumented {
        return Vec::new();
    }
    if !count.fates.is_empty() {
        return count.fates.clone();
    }
    let known = &kernel.meta().verdicts;
    (0..kernel.meta().sites.len())
        .map(|at| fate_of(known.get(at).copied().unwrap_or_default()))
        .collect()
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
