//! Runs launches once more on the executor, each in a forked child: trials, a launch that has faulted, and a launch in
//! reserve that the host has met.

use std::time::Duration;

use gpurace_check::HostAccess;
use gpurace_cpu::{Executor, FaultKind};
use gpurace_report::schema;

use super::divergences;
use super::executor::{code_for, launch_of, shown_fault, shown_kind};
use crate::backend::module::KernelLaunch;
use crate::host::child::{self, Child, WaitingChild};
use crate::session::reserve::CheckedForHost;
use crate::session::trials::{PlannedTrial, Trial};
use crate::session::{BegunLaunch, Session};

/// Time after which a trial is given up. Its steps end it long before.
const TRIAL_LIMIT: Duration = Duration::from_secs(60);

/// The most steps of a launch that has faulted, and the time after which it is given up.
const MOST_STEPS_TO_A_FAULT: u64 = 1 << 24;
const FAULT_LIMIT: Duration = Duration::from_secs(10);

/// The trials of a launch, which run in children.
pub(super) struct StartedTrials<'a> {
    session: &'static Session,
    begun: &'a BegunLaunch,
    children: Vec<(PlannedTrial, Child)>,
}

impl<'a> StartedTrials<'a> {
    /// Starts the trials of a launch that is about to run.
    pub(super) fn start(
        session: &'static Session,
        executor: &Executor,
        launch: &gpurace_cpu::KernelLaunch<'_>,
        begun: &'a BegunLaunch,
    ) -> Self {
        let mut started = Self { session, begun, children: Vec::new() };
        let planned = session.planned_trials(begun, launch.has_loop());
        if planned.is_empty() {
            return started;
        }
        if let Err(why) = child::may_fork(executor.threads() + session.idle_threads()) {
            started.miss(why);
            return started;
        }
        for trial in planned {
            match Child::start(|| try_launch(session, executor, launch, begun, trial)) {
                Ok(child) => started.children.push((trial, child)),
                Err(error) => {
                    started.miss(&error.to_string());
                    break;
                }
            }
        }
        started
    }

    fn miss(&self, why: &str) {
        self.session.note_once(format!(
            "launches of `{}` did not run under all further schedules: {why}; `gpurace stress` runs the program under them",
            self.begun.record.kernel.demangled
        ));
    }

    /// Waits for the trials, and adds what they found.
    pub(super) fn end(mut self) {
        let mut trials = Vec::new();
        for (PlannedTrial { seed, orders_blocks, .. }, child) in std::mem::take(&mut self.children) {
            match result(child, TRIAL_LIMIT) {
                Some(trial) => trials.push(Trial { seed, ordered_blocks: orders_blocks, ..trial }),
                None => self.miss("a process was ended, or took too long"),
            }
        }
        self.session.add_trials(self.begun, trials);
    }
}

fn result(child: Child, limit: Duration) -> Option<Trial> {
    serde_json::from_slice(&child.result(limit)?).ok()
}

/// Returns a launch's fault with its line and its thread. In the launch, one loop ran all threads of a block, so the
/// fault names no thread. This function runs the launch again in a child, thread by thread, from the memory that the
/// launch has left. `None` if the child does not show the same fault.
pub(super) fn fault_of_one_thread(
    session: &'static Session,
    executor: &Executor,
    launch: &gpurace_cpu::KernelLaunch<'_>,
    begun: &BegunLaunch,
    known: &schema::Fault,
) -> Option<schema::Fault> {
    child::may_fork(executor.threads() + session.idle_threads()).ok()?;
    let in_order = PlannedTrial { seed: 1, most_steps: MOST_STEPS_TO_A_FAULT, orders_blocks: false };
    let child = Child::start(|| try_launch(session, executor, launch, begun, in_order)).ok()?;
    let found = result(child, FAULT_LIMIT)?.fault?;
    let is_same = (found.kind, &found.object) == (known.kind, &known.object);
    (is_same && found.line.is_some()).then_some(found)
}

/// Forks a child for a launch that is about to run. When it is asked for accesses of the host, it runs the launch with
/// all checks, and compares.
pub(super) fn in_reserve(
    session: &'static Session,
    executor: &Executor,
    launch: &KernelLaunch<'_>,
    code: &gpurace_cpu::image::Kernel,
    begun: &BegunLaunch,
) -> std::io::Result<WaitingChild> {
    let mut checks = None;
    WaitingChild::start(|accesses| {
        let accesses: Vec<HostAccess> = serde_json::from_slice(accesses).unwrap_or_default();
        let checks = checks.get_or_insert_with(|| run_for_host(session, executor, launch, code, begun));
        let races = session.races_with_host(begun.record.operation, &accesses);
        serde_json::to_vec(&CheckedForHost { races, checks: std::mem::take(checks) }).unwrap_or_default()
    })
}

/// Runs a launch with all checks. Returns how many these were. This process is a child.
fn run_for_host(
    session: &'static Session,
    executor: &Executor,
    launch: &KernelLaunch<'_>,
    code: &gpurace_cpu::image::Kernel,
    begun: &BegunLaunch,
) -> u64 {
    let begun = session.begun_for_host(begun);
    let Some(wanted) = &begun.wanted else { return 0 };
    let checks = session.check(launch, &begun, wanted);
    let code = code_for(code, launch.kernel, Some(wanted));
    let run = launch_of(session, launch, code, &begun, Some(checks.clone()));
    let executor = executor.in_child();
    // The parent's own run of the launch prints, and tells of a fault.
    let _ = executor.run(&gpurace_cpu::KernelLaunch { trial: Some(u64::MAX), ..run });
    session.end_for_host(&checks)
}

/// Runs a launch with a seed and a bound on its steps, and returns what was found. This process is a child.
fn try_launch(
    session: &'static Session,
    executor: &Executor,
    launch: &gpurace_cpu::KernelLaunch<'_>,
    begun: &BegunLaunch,
    PlannedTrial { seed, most_steps, orders_blocks }: PlannedTrial,
) -> Vec<u8> {
    let executor = executor.in_child();
    session.take_new_races();
    let result = executor.run(&gpurace_cpu::KernelLaunch {
        seed,
        seed_orders_blocks: orders_blocks,
        trial: Some(most_steps),
        ..launch.clone()
    });
    let mut trial = Trial::default();
    match result {
        Ok(report) => {
            trial.divergence = divergences::of_launch(&begun.record, &report, session.options()).divergence;
            (trial.steps, trial.unfinished) = (report.steps, report.unfinished);
        }
        Err(fault) => {
            // Memory that other processes see is protected here.
            let is_ours = match fault.kind {
                FaultKind::IllegalAddress { address: Some(address), .. } => {
                    !child::is_shared(address as usize)
                }
                _ => true,
            };
            trial.fault = shown_kind(&fault.kind)
                .1
                .filter(|_| is_ours)
                .map(|kind| shown_fault(session, &fault, kind, begun));
            trial.unfinished = true;
        }
    }
    trial.races = session.take_new_races();
    serde_json::to_vec(&trial).unwrap_or_default()
}
