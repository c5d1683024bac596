//! Races while the program runs: they are resolved while their objects are alive, and written.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use gpurace_check::{Checker, HostAccess, KernelKey, RaceRecord, RaceScope, Space};
use gpurace_report::cause::Cause;
use gpurace_report::collect::Added;
use gpurace_report::hint::SideFacts;
use gpurace_report::plain::MakePlain as _;
use gpurace_report::schema;
use gpurace_report::text::TextRenderer;

use super::{Session, SessionState};
use crate::backend::{FoundRace, OwnChecker};
use crate::session::launch_record::LaunchRecord;
use crate::session::resolve::{self, InKernel, MemoryObject, Resolved};
use crate::session::{shared_objects, transfer_sites, watch};

/// Races whose causes are looked for in the control flow. Each may take a millisecond. Further ones of a kernel
/// and object are one finding.
const MOST_CAUSES: u64 = 1 << 13;

/// A race that was resolved when it was found, while its objects were alive.
pub(super) struct FoundResolved {
    pub(super) race: schema::Race,
    pub(super) cause: Cause,
    pub(super) facts: [SideFacts; 2],
    pub(super) in_kernel: Option<InKernel>,
    /// The widest group of threads that were seen to race on these lines.
    pub(super) widest: schema::Scope,
    /// The options or a suppression leave it out.
    pub(super) left_out: bool,
    /// It was written or counted among the findings so far.
    pub(super) written: bool,
}

impl Session {
    /// Checks accesses of the host to host-visible memory. They race with operations that the host has not
    /// waited for.
    pub fn host_accesses(&self, accesses: &[HostAccess]) {
        let checker = self.checker();
        let unwaited = self.order.lock().unwaited();
        let mut state = self.state.lock();
        let has_fences = |operation| {
            find_launch(&state.launches, operation).is_some_and(|launch| launch.kernel.meta().sync.fences)
        };
        // A kernel with fences may have synchronised with the host: by it, the host also knows what came before.
        let told = unwaited.iter().copied().filter(|&operation| has_fences(operation)).max();
        let transfers = watch::transfers(self, told.unwrap_or(0));
        let overlaps = |operation| unwaited.binary_search(&operation).is_ok() && !has_fences(operation);
        for access in accesses {
            checker.host_access(*access, &overlaps);
            for (transfer, touched) in &transfers {
                touched.iter().for_each(|touched| checker.host_meets_transfer(access, transfer, touched));
            }
        }
        self.write_new_races(&mut state);
        drop(state);
        self.halt_if_asked();
    }

    /// Writes the races that were found since the last time.
    pub fn collect(&self) {
        self.write_new_races(&mut self.state.lock());
        self.halt_if_asked();
    }

    /// Resolves the races that were found since the last time, and writes those that equal no
    /// earlier one.
    pub(super) fn write_new_races(&self, state: &mut SessionState) {
        for record in self.checker.get().into_iter().flat_map(Checker::take_new_races) {
            let resolved = resolve::race(self, &record, |operation| find_launch(&state.launches, operation));
            let found = self.write_if_new(state, &record, resolved);
            state.found.push(found);
        }
        let own_checker = self.program.backend.if_chosen().and_then(|backend| backend.own_checker());
        for race in own_checker.into_iter().flat_map(OwnChecker::take_found) {
            let launch = find_launch(&state.launches, race.record.launch);
            let object = self.object_of(&race, launch.as_ref());
            let record = as_in_process(race.record, launch.as_ref());
            let resolved =
                resolve::race_at(self, &record, object, |operation| find_launch(&state.launches, operation));
            let found = self.write_if_new(state, &record, resolved);
            state.elsewhere.extend(found);
        }
    }

    /// The object of a race that a backend's own checker found.
    fn object_of(&self, race: &FoundRace, launch: Option<&LaunchRecord>) -> Option<MemoryObject> {
        match race.record.space {
            Space::Global => resolve::global_object(&self.program, race.record.address),
            Space::Shared => {
                let (launch, own_checker) = (launch?, self.program.backend.if_chosen()?.own_checker()?);
                let place = race.shared_offset.and_then(|at| own_checker.shared_place(launch.kernel, at));
                Some(match place {
                    Some(at) => shared_objects::object_at(launch, at),
                    None => shared_objects::some_object(launch),
                })
            }
        }
    }

    /// Writes a race unless an equal one was written or it is left out.
    fn write_if_new(
        &self,
        state: &mut SessionState,
        record: &RaceRecord,
        resolved: Option<Resolved>,
    ) -> Option<FoundResolved> {
        let Resolved { mut race, cause, facts, object, in_kernel } = resolved?;
        race.make_plain();
        let left_out = object.is_some_and(|object| !self.options().checks_object(&object.description()))
            || [&record.later, &record.earlier].iter().any(|side| {
                !transfer_sites::is_one(side)
                    && side.block.is_some_and(|block| !self.options().checks_block(block))
            });
        let suppressed = if left_out { None } else { self.suppressions.read().of_race(&race) };
        let left_out = left_out || suppressed.is_some();
        if let Some(by) = suppressed {
            *state.suppressed.entry(by).or_default() += 1;
        }
        let is_expected = !state.expected.is_empty();
        let added =
            if left_out || is_expected { Added::Ignored } else { state.live.add_race(race.clone(), &cause) };
        self.show(added, |renderer| renderer.race(&race));
        let written = added != Added::Ignored;
        let widest = resolve::scope(record.widest);
        Some(FoundResolved { race, cause, facts, in_kernel, widest, left_out, written })
    }

    /// Writes a finding if it is to be printed, and keeps it for the program's function if it is new.
    fn show(&self, added: Added, text: impl Fn(&TextRenderer<'_>) -> String) {
        if added == Added::First {
            self.log().write(&text(&self.renderer()));
        }
        if matches!(added, Added::First | Added::NotPrinted) {
            let plain = TextRenderer { color: false, ..self.renderer() };
            self.keep_for_callback(|| text(&plain));
        }
    }

    /// True if the cause of one more race may be looked for in the kernel's control flow.
    pub(super) fn may_seek_cause(&self) -> bool {
        self.causes_sought.fetch_add(1, Ordering::Relaxed) < MOST_CAUSES
    }

    /// Adds a divergence and writes it if it is new. Returns whether it is new; of a trial,
    /// only new ones are kept.
    pub fn add_divergence(&self, mut divergence: schema::Divergence) -> bool {
        divergence.make_plain();
        let mut state = self.state.lock();
        if let Some(by) = self.suppressions.read().of_divergence(&divergence) {
            *state.suppressed.entry(by).or_default() += 1;
            return false;
        }
        let added = state.live.add_divergence(divergence.clone());
        self.show(added, |renderer| renderer.divergence(&divergence));
        let is_new = added != Added::Again;
        if is_new || divergence.seed.is_none() {
            state.divergence.push(divergence);
        }
        is_new
    }

    /// Adds a fault and writes it if it is new. Returns whether it is new; of a trial, only new ones are
    /// kept.
    pub fn add_fault(&self, mut fault: schema::Fault) -> bool {
        fault.make_plain();
        let mut state = self.state.lock();
        let added = state.live.add_fault(fault.clone());
        self.show(added, |renderer| renderer.fault(&fault));
        let is_new = added != Added::Again;
        if is_new || fault.seed.is_none() {
            state.faults.push(fault);
        }
        is_new
    }
}

/// The race of a backend's own checker with the numbers that the checker of this process would give: of the kernel, of
/// the sites and of the stream. `launch`: the launch that the race is in.
fn as_in_process(mut record: RaceRecord, launch: Option<&LaunchRecord>) -> RaceRecord {
    if let Some(launch) = launch {
        record.kernel = KernelKey(launch.kernel.key);
        if record.scope == RaceScope::Grid && launch.is_one_cluster(record.later.block, record.earlier.block)
        {
            record.scope = RaceScope::Cluster;
        }
    }
    // If the launch is not known any more, nor is the module of the sites.
    let (base, stream) =
        launch.map_or((u32::MAX, 0), |launch| (launch.kernel.module.site_base, launch.stream));
    for side in [&mut record.later, &mut record.earlier] {
        side.site = side.site.saturating_add(base).min(transfer_sites::FIRST - 1);
        side.stream = stream;
    }
    record
}

/// The launch with this number among the operations.
pub(super) fn find_launch(launches: &VecDeque<LaunchRecord>, operation: u64) -> Option<LaunchRecord> {
    let at = launches.binary_search_by_key(&operation, |launch| launch.operation).ok()?;
    launches.get(at).cloned()
}
