//! Operations as they begin and end: the number that each gets, which of them are checked, and what
//! the checker learns of them.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use gpurace_abi::ablation::{self, Mechanism};
use gpurace_check::{Clusters, HostAccess, KernelKey, LaunchInfo, Touched, Transfer};
use gpurace_protocol::touched::Manner;
use gpurace_report::schema::Divergence;
use parking_lot::MutexGuard;

use super::Session;
use crate::backend::memory::TransferSide;
use crate::backend::module::{Kernel, KernelLaunch};
use crate::host::python;
use crate::host::stack::{self, LaunchStack};
use crate::order::{OperationOrder, StreamId, TransferOrder};
use crate::program::named_regions::NamedRegions;
use crate::program::python_stacks::PythonStackId;
use crate::prove::decision::is_in_shared_memory;
use crate::prove::reach::{Footprint, Reach, Repeatable, Span};
use crate::prove::{Decision, Fingerprint};
use crate::session::launch_record::LaunchRecord;
use crate::session::overlapped::{self, BareLaunch, OverlappedOperations};
use crate::session::{transfer_sites, watch};

/// Launches that a report can still name. It shows races of older ones without grid and line.
const LAUNCHES_KEPT: usize = 1 << 16;

/// Launches of a kernel for which the call stack is kept: the first ones. To read a stack takes 5 µs,
/// as long as a launch of one warp.
const STACKS_KEPT: u64 = 256;

/// A launch that has begun.
pub struct BegunLaunch {
    /// The record that is kept of it.
    pub record: LaunchRecord,
    /// Its order among the operations.
    pub ordered: OperationOrder,
    /// Which of its sites are checked. `None` if it runs bare: the options leave it out, or no site
    /// needs a check.
    pub wanted: Option<Arc<Decision>>,
    /// The host may access the same memory before it waits.
    met_by_host: bool,
    /// The memory that it may touch, if it is to be kept in reserve for the host.
    pub reserve: Option<Footprint>,
    /// If it has no finding, later launches with this fingerprint run bare.
    fingerprint: Option<Fingerprint>,
}

/// How a launch has ended.
#[derive(Default)]
pub struct EndedLaunch {
    /// It came to its end, without a fault.
    pub is_whole: bool,
    /// The divergences that are shown.
    pub divergence: Vec<Divergence>,
    /// Number of further blocks with divergence.
    pub not_shown: u64,
}

impl Session {
    /// Begins a launch: gives it a number, and decides whether it is checked.
    pub fn begin(&self, launch: &KernelLaunch<'_>) -> BegunLaunch {
        self.enter();
        let kernel = launch.kernel;
        let mut overlapped = self.overlapped.lock();
        let (mut record, ordered) = self.number(launch, &mut overlapped);
        let (nth, is_checked) = self.count_launch(&record);
        if !is_checked {
            let (wanted, reserve, fingerprint) = (None, None, None);
            return BegunLaunch { record, ordered, wanted, met_by_host: false, reserve, fingerprint };
        }
        self.count_beside(&ordered);
        let operation = record.operation;
        let met_by_host = watch::add_launch(self, operation, launch);
        // A proof covers one launch alone, neither the host nor other operations.
        let on_host = self.backend().own_checker().is_none();
        let (decision, reserve, fingerprint) = if (ordered.overlaps || met_by_host) && on_host {
            let (decision, reserve) =
                self.decide_overlapped(&mut overlapped, launch, &ordered, operation, met_by_host);
            (decision, reserve, None)
        } else if met_by_host {
            (Arc::new(Decision::unproved(kernel)), None, None)
        } else {
            let (decision, fingerprint) = self.decide_alone(overlapped, launch);
            (decision, None, fingerprint)
        };
        let is_bare = decision.is_bare();
        {
            let mut state = self.state.lock();
            let counts = state.counts.entry(kernel.key).or_default();
            counts.add_fates(&decision.fates);
            counts.proved += u64::from(is_bare);
        }
        // Only a launch that is checked, or may be repeated later, can be in a report.
        if nth < STACKS_KEPT && (ordered.overlaps || met_by_host || !is_bare) {
            (record.stack, record.args) = (stack::callers(), launch.args.into());
            self.state.lock().keep_details(&record);
        }
        let wanted = (!is_bare).then_some(decision);
        BegunLaunch { record, ordered, wanted, met_by_host, reserve, fingerprint }
    }

    /// Gives a launch its number and its place among the operations. Both are taken under one lock, so later launches
    /// have larger numbers.
    fn number(
        &self,
        launch: &KernelLaunch<'_>,
        overlapped: &mut OverlappedOperations,
    ) -> (LaunchRecord, OperationOrder) {
        let (id, operation, ordered) = {
            let mut order = self.order.lock();
            let id = self.last_launch.fetch_add(1, Ordering::Relaxed) + 1;
            let operation = self.last_operation.fetch_add(1, Ordering::Relaxed) + 1;
            let ordered = order.launch(launch.stream, operation);
            overlapped.settle(&mut order);
            (id, operation, ordered)
        };
        let record = LaunchRecord {
            id,
            operation,
            kernel: launch.kernel,
            shape: launch.shape,
            stream: launch.stream.0,
            call_site: launch.call_site,
            region: NamedRegions::current(),
            stack: LaunchStack::default(),
            python: PythonStackId::default(),
            args: Arc::default(),
        };
        (record, ordered)
    }

    /// Keeps the record of a launch, and counts it. Returns how many launches of its kernel came before, and whether it
    /// is checked, as the options say.
    fn count_launch(&self, record: &LaunchRecord) -> (u64, bool) {
        let (kernel, options) = (record.kernel, self.options());
        let mut state = self.state.lock();
        if state.launches.len() == LAUNCHES_KEPT {
            state.launches.pop_front();
        }
        state.launches.push_back(record.clone());
        state.largest_grid = state.largest_grid.max(record.shape.blocks());
        let counts = state.counts.entry(kernel.key).or_default();
        let nth = counts.launches;
        counts.launches += 1;
        // Code without checks runs unchecked too.
        let is_checked = options.checks_kernel(&kernel.demangled)
            && nth.is_multiple_of(u64::from(options.every.get()))
            && kernel.module.meta.instrumented;
        counts.unchecked += u64::from(!is_checked);
        (nth, is_checked)
    }

    /// Keeps the Python frames that led to a launch whose call stack is kept. No lock may be held.
    pub fn keep_python_stack(&self, begun: &mut BegunLaunch) {
        if begun.record.stack == LaunchStack::default() {
            return;
        }
        begun.record.python = self.program.python_stacks.keep(python::frames());
        if begun.record.python != PythonStackId::default() {
            self.state.lock().keep_details(&begun.record);
        }
    }

    /// The number of checks in a kernel's launches so far.
    fn checks_in(&self, kernel: &Kernel) -> u64 {
        self.state.lock().counts.get(&kernel.key).map_or(0, |counts| counts.checks)
    }

    /// Decides which accesses of a launch need a check, for itself alone.
    fn decide(&self, launch: &KernelLaunch<'_>) -> Arc<Decision> {
        self.prover.decide(&self.program, launch, self.checks_in(launch.kernel))
    }

    /// Decides about a launch that nothing overlaps. Bare launches before it are repeated for the checker if they may
    /// conflict with its checks.
    fn decide_alone(
        &self,
        overlapped: MutexGuard<'_, OverlappedOperations>,
        launch: &KernelLaunch<'_>,
    ) -> (Arc<Decision>, Option<Fingerprint>) {
        let kernel = launch.kernel;
        // Without such launches, others may begin meanwhile.
        let after_bare = overlapped.holds_bare().then_some(overlapped);
        let (decision, fingerprint) = self.prover.decide_alone(&self.program, launch, self.checks_in(kernel));
        if let Some(mut overlapped) = after_bare.filter(|_| !decision.is_bare()) {
            let footprint = self.prover.reach(&self.program, launch).footprint;
            self.repeat_before(&mut overlapped, kernel, &footprint, &[]);
        }
        (decision, fingerprint)
    }

    /// Decides about a launch that others or the host may overlap. It runs without checks only if no earlier
    /// operation conflicts with it, and if it can be repeated for what comes later. Where only the host may overlap
    /// it, it may also be kept in reserve: then its footprint is returned too.
    fn decide_overlapped(
        &self,
        overlapped: &mut OverlappedOperations,
        launch: &KernelLaunch<'_>,
        ordered: &OperationOrder,
        operation: u64,
        met_by_host: bool,
    ) -> (Arc<Decision>, Option<Footprint>) {
        let kernel = launch.kernel;
        if !ablation::is_on(Mechanism::BareBesideOthers) {
            return (Arc::new(Decision::unproved(kernel)), None);
        }
        let Reach { footprint, repeat, accesses } = self.prover.reach(&self.program, launch);
        let was_repeated = self.prover.of_kernel(kernel).was_repeated.load(Ordering::Relaxed);
        let is_checked = was_repeated || self.options().blocks.is_some();
        let allowed = |what: &Repeatable| {
            let equals = |old: &BareLaunch| old.equals(kernel, &what.launch);
            !is_checked && overlapped.allows(&footprint, what.cost, &ordered.unordered, equals)
        };
        if let Some(what) = repeat.filter(allowed) {
            let decision = self.decide(launch);
            if decision.is_bare() {
                let (info, unordered) = (info(launch, operation, ordered), ordered.unordered.clone());
                let bare = BareLaunch { kernel, info, unordered, what, met_by_host, forgotten: Vec::new() };
                overlapped.add_bare(footprint, bare);
                if met_by_host {
                    // The host's accesses are compared with what it finds.
                    self.checker();
                }
                return (decision, None);
            }
        }
        if !is_checked && !ordered.overlaps && self.may_reserve(accesses) {
            let decision = self.decide(launch);
            if decision.proves_any() {
                if !decision.is_bare() {
                    self.repeat_before(overlapped, kernel, &footprint, &[]);
                }
                self.checker();
                return (decision, Some(footprint));
            }
        }
        self.repeat_before(overlapped, kernel, &footprint, &ordered.unordered);
        if ordered.overlaps {
            overlapped.add_checked(operation, footprint, &ordered.unordered);
        }
        let has_shared = kernel.meta().sites.iter().any(|site| is_in_shared_memory(kernel, *site));
        let decision = match has_shared {
            true => self.decide(launch).beside_others(kernel),
            false => Decision::unproved(kernel),
        };
        (Arc::new(decision), None)
    }

    /// Repeats the bare launches that the checker must know before a checked launch with this footprint.
    fn repeat_before(
        &self,
        overlapped: &mut OverlappedOperations,
        kernel: &Kernel,
        footprint: &Footprint,
        unordered: &[u64],
    ) {
        // Its threads may learn of others by atomics: then all earlier bare launches are repeated.
        let sync = &kernel.meta().sync;
        let learns = sync.fences || sync.observes;
        let met = if learns { &Footprint::ANYTHING } else { footprint };
        self.repeat(overlapped.take_needed_before(met, unordered, true));
    }

    /// Repeats the bare launches that these accesses of the host, to one byte each, may race with.
    pub fn repeat_for_host(&self, accesses: &[HostAccess]) {
        let mut overlapped = self.overlapped.lock();
        if !overlapped.holds_bare() {
            return;
        }
        let unwaited = self.order.lock().unwaited();
        let span = |access: &HostAccess| Span {
            bytes: access.address..access.address.saturating_add(1),
            manner: Manner::of(access.writes),
        };
        let footprint = Footprint(Some(accesses.iter().map(span).collect()));
        self.repeat(overlapped.take_needed_before(&footprint, &unwaited, false));
    }

    /// Counts an operation that may have run beside an earlier one, if the backend has a checker of its
    /// own: that compares no launch with another operation.
    fn count_beside(&self, ordered: &OperationOrder) {
        if !ordered.unordered.is_empty() && self.backend().own_checker().is_some() {
            self.not_compared.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Repeats bare launches for the checker. From now on, launches of their kernels that others
    /// may overlap are checked.
    fn repeat(&self, launches: Vec<BareLaunch>) {
        for bare in launches {
            self.prover.of_kernel(bare.kernel).was_repeated.store(true, Ordering::Relaxed);
            match bare.repeat(self.checker()) {
                Ok(stats) => {
                    let mut state = self.state.lock();
                    state.counts.entry(bare.kernel.key).or_default().checks += stats.checks_executed;
                    drop(state);
                    if bare.what.repeat.is_partial() {
                        self.note_once(format!(
                            "reads of constant memory by the first launches of `{}` not compared with operations beside them; races may be missed",
                            bare.kernel.demangled
                        ));
                    }
                }
                Err(why) => self.note_once(format!(
                    "a launch of `{}` that ran without checks not known to those beside it: {why}; races with it may be missed",
                    bare.kernel.demangled
                )),
            }
        }
    }

    /// A launch with this footprint was to be kept in reserve, but is not: all its sites are checked.
    pub fn check_all(&self, begun: &mut BegunLaunch, footprint: &Footprint) {
        self.repeat_before(&mut self.overlapped.lock(), begun.record.kernel, footprint, &[]);
        let decision = Decision::unproved(begun.record.kernel);
        let mut state = self.state.lock();
        let counts = state.counts.entry(begun.record.kernel.key).or_default();
        counts.add_fates(&decision.fates);
        counts.proved -= u64::from(begun.wanted.is_none());
        begun.wanted = Some(Arc::new(decision));
    }

    /// The launch as a child runs it for the host: all its sites are checked.
    pub fn begun_for_host(&self, begun: &BegunLaunch) -> BegunLaunch {
        let wanted = Some(Arc::new(Decision::unproved(begun.record.kernel)));
        let (record, ordered) = (begun.record.clone(), begun.ordered.clone());
        BegunLaunch { record, ordered, wanted, met_by_host: true, reserve: None, fingerprint: None }
    }

    /// Starts the checks of a launch in the checker of this process.
    pub fn check(
        &self,
        launch: &KernelLaunch<'_>,
        begun: &BegunLaunch,
        wanted: &Decision,
    ) -> Arc<gpurace_check::Launch> {
        let kernel = launch.kernel;
        let info = info(launch, begun.record.operation, &begun.ordered);
        kernel.module.tell_covered(self.checker());
        self.prepare_stops();
        self.checker().watch_host(begun.met_by_host);
        self.checker().begin_pruned(info, &begun.ordered.unordered, wanted.proved.clone())
    }

    /// Notes that a launch runs without checks because its code with checks does not fit the
    /// device.
    pub fn runs_unchecked(&self, record: &LaunchRecord) {
        self.state.lock().counts.entry(record.kernel.key).or_default().unchecked += 1;
        let kernel = &record.kernel.demangled;
        self.note_once(format!(
            "launches of `{kernel}` not checked: with checks, its blocks need more shared memory or registers than the GPU has"
        ));
    }

    /// Begins a transfer. If another operation may overlap it, it is checked: `sides` returns what
    /// it touches.
    pub fn transfer(&self, stream: StreamId, host_waits: bool, sides: impl FnOnce() -> Vec<TransferSide>) {
        let mut overlapped = self.overlapped.lock();
        let (operation, ordered) = {
            let mut order = self.order.lock();
            let operation = self.last_operation.load(Ordering::Relaxed) + 1;
            let ordered = order.transfer(stream, operation, host_waits, self.program.has_host_visible());
            if ordered == TransferOrder::Alone {
                return;
            }
            self.last_operation.store(operation, Ordering::Relaxed);
            overlapped.settle(&mut order);
            (operation, ordered)
        };
        // Without checks in any module there is nothing to compare with.
        if !self.program.modules.described().any(|meta| meta.instrumented) {
            return;
        }
        self.enter();
        let touched: Vec<Touched> = sides().into_iter().flat_map(TransferSide::touched).collect();
        let transfer =
            |settled| Transfer { id: operation, site_base: transfer_sites::FIRST, stream: stream.0, settled };
        if !host_waits {
            watch::add_transfer(self, transfer(0), &touched);
        }
        let TransferOrder::BesideOthers(ordered) = ordered else { return };
        let transfer = transfer(ordered.settled);
        self.count_beside(&ordered);
        let span = |t: &Touched| Span { bytes: t.bytes.clone(), manner: Manner::of(t.writes) };
        let footprint = overlapped::of_transfer(touched.iter().map(span).collect());
        self.repeat(overlapped.take_needed_before(&footprint, &ordered.unordered, false));
        self.checker().transfer(transfer, &ordered.unordered, touched);
        overlapped.add_checked(operation, footprint, &ordered.unordered);
        drop(overlapped);
        self.collect();
    }

    /// Frees memory in the order of a stream. An earlier operation that touches it, and is not ordered before the free,
    /// has a race with it. Nothing to come may touch the memory.
    pub fn free(&self, stream: StreamId, bytes: Range<usize>) {
        let mut overlapped = self.overlapped.lock();
        let (id, ordered) = {
            let mut order = self.order.lock();
            let id = self.last_operation.fetch_add(1, Ordering::Relaxed) + 1;
            (id, order.last_use(stream, id))
        };
        let footprint = Footprint(Some(vec![Span { bytes: bytes.clone(), manner: Manner::Writes }]));
        if !overlapped.meets_one_of(&footprint, &ordered.unordered) {
            return;
        }
        self.enter();
        self.repeat(overlapped.take_needed_before(&footprint, &ordered.unordered, false));
        let site = self.transfer_calls.lock().site_of(stack::callers(), Some("cudaFreeAsync")) + 1;
        let settled = ordered.settled;
        let free = Transfer { id, site_base: transfer_sites::FIRST, stream: stream.0, settled };
        self.checker().free(free, &ordered.unordered, Touched { bytes, writes: true, site });
        drop(overlapped);
        self.collect();
    }

    /// Ends a launch: counts and writes its findings.
    pub fn end(&self, begun: &BegunLaunch, checks: Option<&gpurace_check::Launch>, found: EndedLaunch) {
        if let Some(checks) = checks {
            let stats = self.checker().end_launch(checks);
            let mut state = self.state.lock();
            state.counts.entry(begun.record.kernel.key).or_default().checks += stats.checks_executed;
            self.write_new_races(&mut state);
        }
        if let (Some(fingerprint), Some(decision)) = (begun.fingerprint, &begun.wanted)
            && found.is_whole
            && found.divergence.is_empty()
            && found.not_shown == 0
            && !self.checker().has_raced(KernelKey(begun.record.kernel.key))
        {
            self.prover.of_kernel(begun.record.kernel).clean.add(fingerprint, decision);
        }
        for divergence in found.divergence {
            self.add_divergence(divergence);
        }
        if found.not_shown > 0 {
            let (rest, kernel) = (found.not_shown, &begun.record.kernel.demangled);
            self.note(format!("{rest} more blocks of `{kernel}` with barrier divergence not shown"));
        }
        self.halt_if_asked();
    }
}

/// The description of a launch for the checker.
fn info(launch: &KernelLaunch<'_>, operation: u64, ordered: &OperationOrder) -> LaunchInfo {
    let (kernel, meta) = (launch.kernel, launch.kernel.meta());
    LaunchInfo {
        id: operation,
        kernel: KernelKey(kernel.key),
        site_base: kernel.module.site_base,
        features: meta.sync,
        threads_per_block: launch.shape.threads(),
        blocks: launch.shape.blocks(),
        clusters: launch.shape.clusters(meta.sync.clusters).map(|blocks| Clusters {
            grid: launch.shape.grid,
            blocks,
            end_of_block: kernel.module.end_of_block(),
        }),
        stream: launch.stream.0,
        settled: ordered.settled,
    }
}
