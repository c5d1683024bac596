//! Trials: runs of a launch under further schedules.
//!
//! If the order of a launch rests on more than barriers, one schedule shows one order: who took a lock
//! first, which block came last. So the launch runs under further schedules, each in a forked child from
//! the memory that the launch found. Of a trial only the findings count. The program's results are those
//! of its own schedule.
//!
//! What runs depends on counts alone, never on time: the launches of a kernel and size so far, what their
//! trials found, and their steps.

use std::collections::HashMap;

use gpurace_check::RaceRecord;
use gpurace_report::schema::{self, Divergence, Fault};
use serde::{Deserialize, Serialize};

use super::{BegunLaunch, Session};
use crate::session::resolve::LaunchRecord;

/// The most steps of one trial: less than a tenth of a second.
pub const MOST_STEPS: u64 = 1 << 17;
/// The most steps of all trials.
const MOST_STEPS_IN_ALL: u64 = 1 << 22;
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

impl Session {
    /// The seeds of the trials of a launch.
    pub fn seeds_of_trials(&self, begun: &BegunLaunch) -> Vec<u64> {
        let record = &begun.record;
        let wanted = self.options.explore.saturating_sub(1) as usize;
        if wanted == 0 || begun.wanted.is_none() || !record.kernel.meta().sync.uses_atomics {
            return Vec::new();
        }
        let mut explored = self.explored.lock();
        let is_affordable = explored.spent < MOST_STEPS_IN_ALL;
        let launches = explored.launches.entry(kernel_size(record)).or_default();
        launches.count += 1;
        if !is_affordable || launches.quiet >= QUIET && !launches.count.is_power_of_two() {
            return Vec::new();
        }
        // First the schedules that are not drawn. The drawn ones are others in each launch.
        let own = self.options.seed;
        let drawn = own.max(5).saturating_add(1 + launches.explored * self.options.explore);
        launches.explored += 1;
        (1..=5).chain(drawn..).filter(|&seed| seed != own).take(wanted).collect()
    }

    /// The threads of this process that belong to the session and are idle.
    pub fn idle_threads(&self) -> usize {
        self.prover.solver_threads()
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
        explored.spent += counts.steps + counts.trials * FORK;
        let launches = explored.launches.entry(kernel_size(&begun.record)).or_default();
        launches.quiet = if found == 0 { launches.quiet + 1 } else { 0 };
        explored.counts.add(counts);
        drop(explored);
        self.collect();
    }
}
