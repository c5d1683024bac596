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

/// What the trials of a kernel may cost, in steps, for each trial that a launch is to have: together a tenth of a
/// second. If its launches cost more than that, its trials may cost as much.
const LEAST_OF_TRIAL: u64 = 12_000;
/// What all trials may cost.
const MOST_STEPS_IN_ALL: u64 = 1 << 22;
/// The fewest steps of a trial that ends before its launch would.
const FEWEST_STEPS: u64 = 1 << 12;
/// How many turns of threads that one loop runs for all of them take as long as a turn on a stack of its own.
const TURNS_IN_A_LOOP: u64 = 8;
/// The most trials of a launch that order its blocks alone.
const OF_BLOCKS: u64 = 2;
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
    kernels: HashMap<u32, KernelCosts>,
}

/// What the launches of a kernel cost, in steps.
#[derive(Clone, Copy, Default)]
struct KernelCosts {
    /// The launches themselves.
    own: u64,
    /// Their trials.
    trials: u64,
}

impl KernelCosts {
    /// What its trials may still cost, if a launch is to have `wanted` of them.
    fn left(self, wanted: usize) -> u64 {
        self.own.max(LEAST_OF_TRIAL * wanted as u64).saturating_sub(self.trials)
    }
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
    /// Its seed ordered the blocks alone.
    pub ordered_blocks: bool,
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
    /// The cost of a trial of a launch whose threads each do this.
    fn of(threads: u64, work: ThreadWork) -> Self {
        let turns = threads.saturating_mul(1 + work.waits);
        let whole = turns.saturating_add(threads.saturating_mul(work.statements) / STATEMENTS_PER_STEP);
        Self { turns, whole }
    }

    /// The cost of the first `steps` steps of the trial.
    fn of_steps(self, steps: u64) -> u64 {
        let cost = u128::from(steps) * u128::from(self.whole) / u128::from(self.turns.max(1));
        u64::try_from(cost).unwrap_or(u64::MAX)
    }

    /// True if a trial of so many steps runs to its end, with room for checks.
    fn ends_within(self, most_steps: u64) -> bool {
        most_steps >= 2 * self.turns
    }

    /// True if threads run long between two steps.
    fn has_long_steps(self) -> bool {
        self.whole >= 2 * self.turns
    }

    /// The cost of the launch itself. `in_a_loop`: one loop runs all threads of a block.
    fn of_launch(self, in_a_loop: bool) -> u64 {
        if in_a_loop && !self.has_long_steps() {
            self.whole - self.turns + self.turns / TURNS_IN_A_LOOP
        } else {
            self.whole
        }
    }

    /// True if trials of the launch order its blocks alone: one loop runs all threads of a block, and a trial thread by
    /// thread would end early.
    fn orders_blocks(self, in_a_loop: bool) -> bool {
        in_a_loop && self.whole > LEAST_OF_TRIAL
    }

    /// The number of trials that order blocks alone, if `wanted` are, and all together may cost as much as is `left`.
    fn trials_of_blocks(self, wanted: usize, left: u64) -> usize {
        let fit = left / self.of_launch(true).max(1);
        fit.min(OF_BLOCKS).min(wanted as u64) as usize
    }

    /// The steps that each of up to `wanted` trials may make, so that all of them cost about as much as is `left`. As
    /// many trials as fit may run to their end, with room for checks. Further ones share the rest and end early. There
    /// are none of these if threads run long between two steps.
    fn steps_of_trials(self, wanted: usize, left: u64) -> Vec<u64> {
        let wanted = wanted as u64;
        let whole = (left / self.whole.max(1)).min(wanted);
        let rest = left - whole * self.whole;
        let short = if self.has_long_steps() { 0 } else { (rest / FEWEST_STEPS).min(wanted - whole) };
        let steps_of_whole = (left / wanted.max(1)).max(2 * self.turns);
        let steps = std::iter::repeat_n(steps_of_whole, whole as usize);
        steps.chain(std::iter::repeat_n(rest / short.max(1), short as usize)).collect()
    }
}

/// A trial that a launch is to have.
#[derive(Clone, Copy, Debug)]
pub struct PlannedTrial {
    /// The seed of its schedule.
    pub seed: u64,
    /// The steps that it may make.
    pub most_steps: u64,
    /// The seed orders the blocks alone.
    pub orders_blocks: bool,
}

/// The seeds of trials thread by thread. If all trials run to their end, the seeds 1 to 5 come first, and drawn schedules
/// follow. If not, the most useful come first: seed 2, then two drawn schedules, then one of each kind in turn. `own`: the
/// launch's seed. `in_a_loop`: one loop runs all threads of a block; otherwise the seeds 0 and 1 are one schedule.
fn seeds_of_trials(own: u64, drawn: u64, all_end: bool, in_a_loop: bool) -> impl Iterator<Item = u64> {
    let in_order = if all_end { [1, 2, 3, 4, 5] } else { [2, 1, 3, 4, 5] };
    let are_drawn: &[bool] = if all_end { &[false; 5] } else { &[false, true, true] };
    let mut in_order =
        in_order.into_iter().filter(move |&seed| seed != 1 || own != 0 || all_end || in_a_loop);
    let mut drawn = drawn..;
    let are_drawn = are_drawn.iter().copied().chain([false, true].into_iter().cycle());
    let seeds = are_drawn.filter_map(move |is_drawn| if is_drawn { drawn.next() } else { in_order.next() });
    seeds.filter(move |&seed| seed != own)
}

fn cost_of(begun: &BegunLaunch) -> TrialCost {
    let work = begun.wanted.as_ref().map(|decision| decision.work).unwrap_or_default();
    let shape = &begun.record.shape;
    TrialCost::of(shape.blocks().saturating_mul(shape.threads().into()), work)
}

impl Session {
    /// The trials that a launch is to have. `in_a_loop`: one loop runs all threads of a block.
    pub fn planned_trials(&self, begun: &BegunLaunch, in_a_loop: bool) -> Vec<PlannedTrial> {
        let record = &begun.record;
        let wanted = self.options().explore.saturating_sub(1) as usize;
        // A debugger stops in this process.
        let wanted = if self.stops_in_debugger() { 0 } else { wanted };
        if wanted == 0 || begun.wanted.is_none() || !record.kernel.meta().sync.uses_atomics {
            return Vec::new();
        }
        let cost = cost_of(begun);
        let mut explored = self.explored.lock();
        let costs = explored.kernels.entry(record.kernel.key).or_default();
        costs.own = costs.own.saturating_add(cost.of_launch(in_a_loop));
        let left = costs.left(wanted).min(MOST_STEPS_IN_ALL.saturating_sub(explored.spent));
        let launches = explored.launches.entry(kernel_size(record)).or_default();
        launches.count += 1;
        if left < FEWEST_STEPS || launches.quiet >= QUIET && !launches.count.is_power_of_two() {
            return Vec::new();
        }
        let own = self.options().seed;
        if cost.orders_blocks(in_a_loop) {
            // Other schedules in each launch. The first one is in order, as the launch is.
            let seeds = (2..).filter(|&seed| seed != own).skip((launches.explored * OF_BLOCKS) as usize);
            launches.explored += 1;
            let of_blocks =
                seeds.map(|seed| PlannedTrial { seed, most_steps: u64::MAX, orders_blocks: true });
            return of_blocks.take(cost.trials_of_blocks(wanted, left)).collect();
        }
        // The drawn schedules are others in each launch.
        let drawn = own.max(5).saturating_add(1 + launches.explored * self.options().explore);
        launches.explored += 1;
        let steps = cost.steps_of_trials(wanted, left);
        let all_end = steps.len() == wanted && steps.iter().all(|&most| cost.ends_within(most));
        let seeds = seeds_of_trials(own, drawn, all_end, in_a_loop);
        let by_threads = |(seed, most_steps)| PlannedTrial { seed, most_steps, orders_blocks: false };
        seeds.zip(steps).map(by_threads).collect()
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
        let (mut found, mut cost) = (0, 0u64);
        let cost_of = cost_of(begun);
        let mut counts = schema::Trials { launches: 1, ..Default::default() };
        for Trial { seed, races, divergence, fault, steps, unfinished, ordered_blocks } in trials {
            cost += if ordered_blocks { cost_of.of_launch(true) } else { cost_of.of_steps(steps) };
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
        explored.spent = explored.spent.saturating_add(cost).saturating_add(counts.trials * FORK);
        let costs = explored.kernels.entry(begun.record.kernel.key).or_default();
        costs.trials = costs.trials.saturating_add(cost);
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

    fn cost(threads: u64, statements: u64, waits: u64) -> TrialCost {
        TrialCost::of(threads, ThreadWork { statements, waits })
    }

    #[test]
    fn trials_cost_what_is_left() {
        for (cost, left) in [
            (cost(512, 40, 3), 132_000),
            (cost(16384, 0, 10), 132_000),
            (cost(16384, 0, 10), 1 << 20),
            (cost(1 << 24, 10, 0), 1 << 21),
            (cost(16384, 4096, 10), 1 << 21),
        ] {
            let steps = cost.steps_of_trials(11, left);
            let most: u64 = steps.iter().map(|&most| cost.of_steps(most).min(cost.whole)).sum();
            // Between two steps of a short trial there is at most as much again.
            assert!(!steps.is_empty() && steps.len() <= 11 && most < 2 * left, "{cost:?} {steps:?}");
        }
    }

    #[test]
    fn trials_that_take_long_are_few() {
        let whole = |steps: &[u64], turns: u64| steps.iter().filter(|&&most| most >= 2 * turns).count();
        assert_eq!(cost(512, 40, 3).steps_of_trials(11, 132_000), [12_000; 11]);
        // Eleven turns of each thread: one trial runs to its end, the others share the rest.
        let some = cost(16384, 0, 10).steps_of_trials(11, 300_000);
        assert_eq!((some.len(), whole(&some, 11 * 16384)), (11, 1));
        // Threads that sum up 1,024 elements each: one trial for what the launch costs.
        let long = cost(16384, 4096, 10);
        assert_eq!(long.steps_of_trials(11, long.of_launch(true)).len(), 1);
        // Too many threads, with and without long loops.
        assert_eq!(cost(1 << 24, 10, 0).steps_of_trials(11, 132_000), [12_000; 11]);
        assert!(cost(1 << 24, 4096, 0).steps_of_trials(11, 132_000).is_empty());
        assert!(cost(512, 0, 0).steps_of_trials(11, 0).is_empty());
    }

    #[test]
    fn trials_of_large_launches_order_blocks_where_a_loop_runs_their_threads() {
        let small = cost(512, 0, 3);
        let large = cost(1 << 16, 0, 3);
        assert!(!small.orders_blocks(true) && large.orders_blocks(true) && !large.orders_blocks(false));
        let one = large.of_launch(true);
        let counts = [one - 1, one, 2 * one, 9 * one].map(|left| large.trials_of_blocks(11, left));
        assert_eq!(counts, [0, 1, 2, 2]);
        assert_eq!(large.trials_of_blocks(1, 9 * one), 1);
    }

    #[test]
    fn the_first_of_few_trials_are_the_most_useful() {
        let seeds = |own: u64, all_end, in_a_loop| {
            seeds_of_trials(own, own.max(5) + 1, all_end, in_a_loop).take(11).collect::<Vec<_>>()
        };
        assert_eq!(seeds(0, true, true), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
        assert_eq!(seeds(0, false, true), [2, 6, 7, 1, 8, 3, 9, 4, 10, 5, 11]);
        assert_eq!(seeds(0, false, false), [2, 6, 7, 3, 8, 4, 9, 5, 10, 11, 12]);
        assert_eq!(seeds(2, false, false), [6, 7, 1, 8, 3, 9, 4, 10, 5, 11, 12]);
        assert_eq!(seeds(40, false, true)[..3], [2, 41, 42]);
    }

    #[test]
    fn trials_of_a_kernel_cost_as_much_as_its_launches() {
        let costs = |own, trials| KernelCosts { own, trials }.left(11);
        assert_eq!(costs(0, 0), 11 * LEAST_OF_TRIAL);
        assert_eq!(costs(1 << 20, 1 << 19), 1 << 19);
        assert_eq!(costs(1 << 20, 1 << 21), 0);
    }

    #[test]
    fn what_trials_cost_counts_loops() {
        let cost = cost(1000, 640, 1);
        assert_eq!((cost.turns, cost.whole), (2000, 12000));
        assert_eq!(cost.of_steps(100), 600);
        assert_eq!((cost.of_launch(false), cost.of_launch(true)), (12000, 12000));
        let short = TrialCost::of(800, ThreadWork { statements: 8, waits: 1 });
        assert_eq!((short.of_launch(false), short.of_launch(true)), (1700, 300));
    }
}
