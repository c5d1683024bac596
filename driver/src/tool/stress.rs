//! `gpurace stress`: one program under many schedules.
//!
//! The branches that a racy program takes may depend on the schedule, so one seed can show races that
//! another hides. Each run has its own seed.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use clap::Args;

use super::runs::{self, Joined, Outcome, PlannedRun};
use super::{Done, own_options};
use crate::diagnostic::{Error, temporary_folder};

/// The number of seeds that the summary names. It counts the rest.
const SEEDS_NAMED: usize = 10;

/// Arguments of `gpurace stress`.
#[derive(Args)]
pub struct StressArgs {
    /// Number of runs, each with its own seed
    #[arg(short = 'n', long, value_name = "N", default_value = "50",
          value_parser = clap::value_parser!(u64).range(1..))]
    runs: u64,
    /// Number of runs at the same time; use more than one only if runs do not write to the same files
    #[arg(short, long, value_name = "N", default_value = "1")]
    jobs: NonZeroUsize,
    /// The first seed; the others follow it
    #[arg(long, value_name = "SEED", default_value = "0")]
    seed_from: u64,
    /// Stop at the first seed with a finding
    #[arg(long)]
    stop: bool,
    /// Also write the joined report to this file, in the format of its extension
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print one line for each finding instead of the whole text
    #[arg(long)]
    short: bool,
    /// The program and its arguments
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Runs a program under many seeds.
///
/// # Errors
/// The program cannot be run, or writes no report.
pub fn stress(args: &StressArgs) -> Result<Done, Error> {
    let own = own_options("`--output=FILE` writes the joined report")?;
    let folder = temporary_folder()?;
    let stopped = runs::stopped_by_signals()?;
    let count = args.runs.min((u64::MAX - args.seed_from).saturating_add(1));
    let bar = runs::bar(count, count);
    let done: Mutex<Vec<(u64, PlannedRun, Outcome)>> = Mutex::default();
    let work = |index: u64| {
        let seed = args.seed_from + index;
        let plan = PlannedRun { words: args.command.clone(), options: own.clone(), seed: Some(seed) };
        let outcome = plan.run(&folder.path().join(seed.to_string()), None)?;
        if outcome.reports.is_empty() {
            return Err(no_report(&plan, seed, outcome));
        }
        if outcome.found() && args.stop {
            stopped.store(true, Ordering::Relaxed);
        }
        let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
        done.push((seed, plan, outcome));
        let found = done.iter().filter(|(.., outcome)| outcome.found()).count();
        bar.set_message(format!("{found} with findings"));
        bar.inc(1);
        Ok(())
    };
    let ended = runs::in_parallel(args.jobs.get(), count, &stopped, work);
    bar.finish_and_clear();
    ended?;
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(seed, ..)| *seed);
    let found: Vec<u64> =
        done.iter().filter(|(.., outcome)| outcome.found()).map(|(seed, ..)| *seed).collect();
    let mut joined = Joined::default();
    for (seed, plan, outcome) in done {
        joined.add(&format!("seed {seed}"), &plan, outcome)?;
    }
    joined.conclude("gpurace stress", args.short, args.output.as_deref(), &seeds(&found))
}

fn no_report(plan: &PlannedRun, seed: u64, Outcome { status, output, .. }: Outcome) -> Error {
    let name = plan.words[0].display();
    let output = output.filter(|output| !output.is_empty());
    let output = output.map(|output| format!("; its output ends:\n{output}")).unwrap_or_default();
    Error::new(format!("`{name}` wrote no report with seed {seed} ({status}){output}"))
        .hint("was it built with `-fsanitize=gpurace`?")
}

/// `, with seeds 3, 17 and 4 more`.
fn seeds(found: &[u64]) -> String {
    let shown = &found[..found.len().min(SEEDS_NAMED)];
    let list: Vec<String> = shown.iter().map(u64::to_string).collect();
    let word = if found.len() == 1 { "seed" } else { "seeds" };
    match found.len() - shown.len() {
        _ if found.is_empty() => String::new(),
        0 => format!(", with {word} {}", list.join(", ")),
        more => format!(", with {word} {} and {more} more", list.join(", ")),
    }
}
