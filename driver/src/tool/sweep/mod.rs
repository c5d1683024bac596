//! `gpurace sweep`: a matrix of runs, in shards, on one machine or on many.
//!
//! The runs of shard K of N are those whose number in the sweep is K modulo N. Whatever starts the shards is a
//! scheduler of its own: Slurm, Kubernetes, a shell. All that shards share is the folder of results.
//!
//! | module | what it knows |
//! |---|---|
//! | [`matrix`] | the description in TOML, and the runs that it stands for |
//! | [`results`] | the stored results: what is done, and what is not |
//! | `slurm` | a job array of Slurm |

pub mod matrix;
pub mod results;
mod slurm;

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::Args;

use super::runs::{self, Joined, PlannedRun};
use super::{Done, own_options};
use crate::diagnostic::{Error, note, temporary_folder};
use results::Results;

/// Arguments of `gpurace sweep`.
#[derive(Args)]
pub struct SweepArgs {
    /// The description of the sweep (TOML)
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The folder for the results [default: beside the description, named after it]
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
    /// Number of runs at the same time; use more than one only if runs do not write to the same files
    #[arg(short, long, value_name = "N", default_value = "1")]
    jobs: NonZeroUsize,
    /// Make only the runs of shard K of N, counted from 0. The status is 0 once all of them are made
    #[arg(long, value_name = "K/N", conflicts_with_all = ["merge", "slurm", "output", "short"])]
    shard: Option<Shard>,
    /// Make no run: join the results that there are
    #[arg(long, conflicts_with = "slurm")]
    merge: bool,
    /// Make runs again that failed without a finding
    #[arg(long, conflicts_with = "merge")]
    retry: bool,
    /// Submit a job array of N shards to Slurm; arguments of `sbatch` follow `--`
    #[arg(long, value_name = "N", conflicts_with_all = ["output", "short"])]
    slurm: Option<NonZeroUsize>,
    /// Also write the joined report to this file, in the format of its extension
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print one line for each finding instead of the whole text
    #[arg(long)]
    short: bool,
    /// Arguments of `sbatch`
    #[arg(last = true, requires = "slurm", value_name = "ARGUMENT")]
    sbatch: Vec<OsString>,
}

/// A shard of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shard {
    index: usize,
    count: usize,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
        match parts {
            Some((index, count)) if index < count => Ok(Self { index, count }),
            _ => Err("wanted K/N with a K from 0 to below N".to_owned()),
        }
    }
}

/// Makes the runs of a sweep that have no result, and joins the results.
///
/// # Errors
/// The description is wrong, a program cannot be run, or a file cannot be read or written.
pub fn sweep(args: &SweepArgs) -> Result<Done, Error> {
    let own = own_options("`--output=FILE` writes the joined report")?;
    let mut plans = matrix::read(&args.file, &own)?;
    let folder = args.results.clone().unwrap_or_else(|| args.file.with_extension("results"));
    let results = Results::open(&folder)?;
    if let Some(shards) = args.slurm {
        return slurm::submit(args, &folder, shards);
    }
    let all = plans.len();
    if let Some(Shard { index, count }) = args.shard {
        plans = plans.into_iter().skip(index).step_by(count).collect();
    }
    let made = if args.merge { 0 } else { make(args, &plans, &results)? };
    let keys = results.keys()?;
    let missing = plans.iter().filter(|plan| !keys.contains(&*OsString::from(matrix::key(plan)))).count();
    if args.shard.is_some() {
        let (count, before) = (plans.len(), plans.len().saturating_sub(missing + made));
        let text = format!("{made} runs made, {before} of {count} were there, {missing} missing\n");
        let status = if missing == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        return Ok(Done { text, status });
    }
    if missing == all {
        return Err(Error::new("no run has a result yet"));
    }
    let mut done = join(args, &plans, &results)?;
    if missing > 0 {
        done.text += &format!("{missing} of {all} runs are missing: `gpurace sweep` makes them\n");
        // What was found counts, and what was not run has found nothing yet.
        if done.status == ExitCode::SUCCESS {
            done.status = ExitCode::FAILURE;
        }
    }
    let others = keys.len().saturating_sub(all - missing);
    if others > 0 {
        note("gpurace", &format!("{others} results of runs that the sweep does not have are not counted"));
    }
    Ok(done)
}

/// Makes the runs without a result. Returns how many were made.
fn make(args: &SweepArgs, plans: &[PlannedRun], results: &Results) -> Result<usize, Error> {
    let keys = results.keys()?;
    let is_left = |plan: &&PlannedRun| -> Result<bool, Error> {
        if !keys.contains(&*OsString::from(matrix::key(plan))) {
            return Ok(true);
        }
        Ok(args.retry && results.load(plan)?.is_some_and(|outcome| outcome.failed()))
    };
    let mut left = Vec::new();
    for plan in plans {
        if is_left(&plan)? {
            left.push(plan);
        }
    }
    // Programs are named as seen from the description.
    let current = args.file.parent().filter(|folder| *folder != Path::new(""));
    let folder = temporary_folder()?;
    let stopped = runs::stopped_by_signals()?;
    let bar = runs::bar(plans.len() as u64, left.len() as u64);
    let (made, found) = (AtomicU64::new(0), AtomicU64::new(0));
    let work = |index: u64| {
        let plan = left[index as usize];
        let outcome = plan.run(&folder.path().join(index.to_string()), current)?;
        // What a signal has ended is to be made again. A shell has the status of the program that it ran.
        if outcome.interrupted || stopped.load(Ordering::Relaxed) && !outcome.succeeded {
            return Ok(());
        }
        let found = found.fetch_add(outcome.found().into(), Ordering::Relaxed) + u64::from(outcome.found());
        results.store(plan, outcome)?;
        made.fetch_add(1, Ordering::Relaxed);
        bar.set_message(format!("{found} with findings"));
        bar.inc(1);
        Ok(())
    };
    let ended = runs::in_parallel(args.jobs.get(), left.len() as u64, &stopped, work);
    bar.finish_and_clear();
    ended?;
    Ok(made.into_inner() as usize)
}

/// Joins the results that there are, in the order of the runs.
fn join(args: &SweepArgs, plans: &[PlannedRun], results: &Results) -> Result<Done, Error> {
    let mut joined = Joined::default();
    for plan in plans {
        if let Some(outcome) = results.load(plan)? {
            joined.add(&plan.name()?, plan, outcome)?;
        }
    }
    joined.conclude("gpurace sweep", args.short, args.output.as_deref(), "")
}
