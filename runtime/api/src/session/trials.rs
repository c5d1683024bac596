//! Trials: runs of a launch under further schedules.
//!
//! If the order of a launch rests on more than barriers, one schedule shows one order: who took a lock
//! first, which block came last. So the launch runs under further schedules, each in a forked child from
//! the memory that the launch found. Of a trial only the findings count. The program's results are those
//! of its own schedule.
//!
//! What runs depends on counts alone, never on time: the launches of a kernel and size so far, what their
//! trials found, their steps, and what the kernel's protocol says of loops whose accesses are proved.

use std::collections::HashMap;

use gpurace_check::RaceRecord;
use gpurace_protocol::run::ThreadWork;
use gpurace_report::schema::{self, Divergence, Fault};
use serde::{Deserialize, Serialize};

use super::{BegunLaunch, Session};
use crate::session::launch_record::LaunchRecord;

/// The steps of a trial that every launch may have: less than a tenth of a second.
const MOST_STEPS: u64 = 1 << 17;
/// What longer trials of one launch may cost, in steps.
const LONG: u64 = 6 * MOST_STEPS;
/// What all trials may cost, in steps.
const MOST_STEPS_IN_ALL: u64 = 1 << 22;
/// Statements of proved code that take as long as a step.
const STATEMENTS_PER_STEP: u64 = 64;
/// Steps that a trial counts for beside those that it makes: a fork takes as long.
const FORK: u64 = 1 << 11;
/// Launches in a row whose trials found nothing new, before only each launch whose number is a power of
/// two has trials.
const QUIET: u64 = 4;

/// What trials have cost and found so far.
#[derive(Default)]
pub(super) struct Explored {
    pub(super) counts: schema::Trials,
    spent: u64,
    launches: HashMap<KernelSize, Launches>,
}

/// A kernel, and the order of magnitude of its grid and blocks.
type KernelSize = (u32, u32, u32);

fn kernel_size(LaunchRecord { kernel, shape, .. }: &LaunchRecord) -> KernelSize {
    (kernel.key, shape.blocks().ilog2(), shape.threads().ilog2())
}

/// The launches of one kernel and size.
#[derive(Default)]
struct Launches {
    /// How many there were.
    count: u64,
    /// How many had trials.
    explored: u64,
    /// How many of the last ones had trials that found nothing new.
    quiet: u64,
}

/// What a trial found.
#[derive(Default, Serialize, Deserialize)]
pub struct Trial {
    /// The seed of its schedule.
    pub seed: u64,
    /// Its races.
    pub races: Vec<RaceRecord>,
    /// Its divergences.
    pub divergence: Vec<Divergence>,
    /// The fault that ended it.
    pub fault: Option<Fault>,
    /// The steps that it made.
    pub steps: u64,
    /// It ended before the launch did.
    pub unfinished: bool,
}

/// What a trial of a launch may cost, as estimated before.
#[derive(Clone, Copy, Debug)]
struct TrialCost {
    /// Turns of its threads. Its steps are these and its checks.
    turns: u64,
    /// Steps that take as long as the whole trial.
    whole: u64,
}

impl TrialCost {
    /// The cost of a launch of so many threads that do this.
    fn of(threads: u64, work: ThreadWork) -> Self {
        let turns = threads.saturating_mul(1 + work.waits);
        let whole = turns.saturating_add(threads.saturating_mul(work.statements) / STATEMENTS_PER_STEP);
        Self { turns, whole }
    }

    /// What so many steps of the trial cost.
    fn of_steps(self, steps: u64) -> u64 {
        let cost = u128::from(steps) * u128::from(self.whole) / u128::from(self.turns.max(1));
        u64::try_from(cost).unwrap_or(u64::MAX)
    }

    /// The steps that each of up to `wanted` trials may make. Where a trial would take long, few run to their
    /// end. The others end early, and there are none if threads run long between two steps. What is `left` is not
    /// exceeded.
    fn steps_of_trials(self, wanted: usize, left: u64) -> Vec<u64> {
        if self.whole <= MOST_STEPS {
            return vec![MOST_STEPS; wanted];
        }
        let whole = (LONG / self.whole).max(u64::from(self.whole <= left)) as usize;
        let short = if self.whole < 2 * self.turns { wanted } else { 0 };
        let steps = std::iter::repeat_n(MOST_STEPS + 2 * self.turns, whole);
        steps.chain(std::iter::repeat_n(MOST_STEPS / 2, short)).take(wanted).collect()
    }
}

/// A trial that a launch is to have.
#[derive(Clone, Copy, Debug)]
pub struct PlannedTrial {
    /// The seed of its schedule.
    pub seed: u64,
    /// The steps that it may make.
    pub most_steps: u64,
}

fn cost_of(begun: &BegunLaunch) -> TrialCost {
    let work = begun.wanted.as_ref().map(|decision| decision.work).unwrap_or_default();
    let shape = &begun.record.shape;
    TrialCost::of(shape.blocks().saturating_mul(shape.threads().into()), work)
}

impl Session {
    /// The trials that a launch is to have.
    pub fn planned_trials(&self, begun: &BegunLaunch) -> Vec<PlannedTrial> {
        let record = &begun.record;
        let wanted = self.options().explore.saturating_sub(1) as usize;
        // A debugger stops in this process.
        let wanted = if self.stops_in_debugger() { 0 } else { wanted };
        if wanted == 0 || begun.wanted.is_none() || !record.kernel.meta().sync.uses_atomics {
            return Vec::new();
        }
        let mut explored = self.explored.lock();
        let left = MOST_STEPS_IN_ALL.saturating_sub(explored.spent);
        let launches = explored.launches.entry(kernel_size(record)).or_default();
        launches.count += 1;
        if left == 0 || launches.quiet >= QUIET && !launches.count.is_power_of_two() {
            return Vec::new();
        }
        // First the schedules that are not drawn. The drawn ones are others in each launch.
        let own = self.options().seed;
        let drawn = own.max(5).saturating_add(1 + launches.explored * self.options().explore);
        launches.explored += 1;
        let seeds = (1..=5).chain(drawn..).filter(|&seed| seed != own);
        let steps = cost_of(begun).steps_of_trials(wanted, left);
        seeds.zip(steps).map(|(seed, most_steps)| PlannedTrial { seed, most_steps }).collect()
    }

    /// The threads of this process that belong to the session and are idle.
    pub fn idle_threads(&self) -> usize {
        self.prover.solver_threads() + self.progress.threads()
    }

    /// The races that the checker has found since the last call.
    pub fn take_new_races(&self) -> Vec<RaceRecord> {
        self.checker().take_new_races()
    }

    /// Adds what the trials of a launch found. The launch itself has ended.
    pub fn add_trials(&self, begun: &BegunLaunch, trials: Vec<Trial>) {
        if trials.is_empty() {
            return;
        }
        let mut found = 0;
        let mut counts = schema::Trials { launches: 1, ..Default::default() };
        for Trial { seed, races, divergence, fault, steps, unfinished } in trials {
            counts.trials += 1;
            counts.steps += steps;
            counts.unfinished += u64::from(unfinished);
            for record in races {
                found += u64::from(self.checker().add_race(RaceRecord { seed: Some(seed), ..record }));
            }
            for divergence in divergence {
                found += u64::from(self.add_divergence(Divergence { seed: Some(seed), ..divergence }));
            }
            if let Some(fault) = fault {
                found += u64::from(self.add_fault(Fault { seed: Some(seed), ..fault }));
            }
        }
        let mut explored = self.explored.lock();
        explored.spent += cost_of(begun).of_steps(counts.steps).saturating_add(counts.trials * FORK);
        let launches = explored.launches.entry(kernel_size(&begun.record)).or_default();
        launches.quiet = if found == 0 { launches.quiet + 1 } else { 0 };
        explored.counts.add(counts);
        drop(explored);
        self.collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(threads: u64, statements: u64, waits: u64) -> Vec<u64> {
        TrialCost::of(threads, ThreadWork { statements, waits }).steps_of_trials(11, MOST_STEPS_IN_ALL)
    }

    #[test]
    fn trials_that_take_long_are_few() {
        assert_eq!(steps(512, 40, 3), [MOST_STEPS; 11]);
        // Eleven turns of each thread: four trials run to their end.
        let some = steps(16384, 0, 10);
        assert_eq!((some.len(), some.iter().filter(|&&most| most > 16384 * 11).count()), (11, 4));
        // Threads that sum up 1,024 elements each: one trial.
        assert_eq!(steps(16384, 4096, 10).len(), 1);
        // Too many threads, with and without long loops.
        assert_eq!(steps(1 << 24, 10, 0), [MOST_STEPS / 2; 11]);
        assert!(steps(1 << 24, 4096, 0).is_empty());
    }

    #[test]
    fn what_trials_cost_counts_loops() {
        let cost = TrialCost::of(1000, ThreadWork { statements: 640, waits: 1 });
        assert_eq!((cost.turns, cost.whole), (2000, 12000));
        assert_eq!(cost.of_steps(100), 600);
    }
}
