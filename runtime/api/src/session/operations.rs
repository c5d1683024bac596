//! Launches and copies as they begin and end: which number each gets, which are checked, and what the checker is told.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use gpurace_check::{Clusters, KernelKey, LaunchInfo, Touched, Transfer};
use gpurace_cpu::LaunchReport;

use super::Session;
use crate::backend::{self, Copied};
use crate::beside::{self, Bare, Beside};
use crate::call_site;
use crate::launch::Launch;
use crate::modules;
use crate::order::{ORDER, Ordered, StreamId};
use crate::prove::reach::{Footprint, Reach, Span};
use crate::prove::{self, Decision};
use crate::resolve::{self, LaunchRecord};
use crate::transfer::{self, Part};
use crate::watch;

/// Launches that a report can still name; what is older is shown without its
/// grid and line.
const LAUNCHES_KEPT: usize = 1 << 16;

/// Launches of a kernel of which it is known what called them, the first ones:
/// to look takes 5 µs, as long as a launch of one warp.
const STACKS_KEPT: u64 = 256;

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

impl Session {
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
        self.state.lock().counts.entry(kernel.key).or_default().add_fates(&decision.fates);
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
        if let Some(what) =
            repeat.filter(|what| !met && beside.allows(&footprint, what.cost, &ordered.unordered))
        {
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

    /// A launch has ended: what it found is counted and written.
    pub fn end(&self, begun: &Begun, checks: Option<&gpurace_check::Launch>, report: Option<&LaunchReport>) {
        if let Some(checks) = checks {
            let stats = self.checker().end_launch(checks);
            let mut state = self.state.lock();
            state.counts.entry(begun.record.kernel.key).or_default().checks += stats.checks_executed;
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
                self.note(format!("{rest} more blocks of `{kernel}` with barrier divergence not shown"));
            }
        }
        self.halt_if_asked();
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
        clusters: gpurace_cpu::clusters(launch.cluster, meta).map(|blocks| Clusters {
            grid: launch.grid,
            blocks,
            end_of_block: kernel.module.end_of_block(),
        }),
        stream: launch.stream.0,
        settled: ordered.settled,
    }
}
