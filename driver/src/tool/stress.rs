//! `gpurace stress`: one program under many schedules.
//!
//! The branches that a racy program takes may depend on the schedule, so one seed can show races that
//! another hides. Each run has its own seed and its own folder for reports. A run of several processes
//! (`mpirun`) writes several reports.

use std::ffi::OsString;
use std::fs::{self, File};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use gpurace_options::VARIABLE;
use gpurace_report::merge::Merger;
use gpurace_report::schema::Report;
use indicatif::{ProgressBar, ProgressStyle};
use signal_hook::consts::{SIGINT, SIGTERM};

use super::reports::{self, Format, Style};
use super::{Done, FOUND, own_options, with};
use crate::diagnostic::{Error, temporary_folder};

/// The number of seeds that the summary names. It counts the rest.
const SEEDS_NAMED: usize = 10;
/// The number of last lines of a failed run's output that the summary shows.
const LINES_SHOWN: usize = 20;

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

/// The results of one run.
struct Run {
    seed: u64,
    status: ExitStatus,
    /// The last lines of its output, if it failed for another reason than a finding.
    output: Option<String>,
    reports: Vec<Report>,
}

impl Run {
    fn found(&self) -> bool {
        self.reports.iter().any(Report::has_findings)
    }

    /// True if the run failed and reported nothing.
    fn failed(&self) -> bool {
        !self.status.success() && !self.found()
    }
}

/// Runs a program under many seeds.
///
/// # Errors
/// The program cannot be run, or writes no report.
pub fn stress(args: &StressArgs) -> Result<Done, Error> {
    let own = own_options("`--output=FILE` writes the joined report")?;
    let folder = temporary_folder()?;
    let stopped = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stopped))
            .map_err(|e| Error::new(format!("cannot handle signals: {e}")))?;
    }
    let bar = ProgressBar::new(args.runs).with_style(style());
    bar.tick();
    let next = AtomicU64::new(0);
    let outcome: Mutex<Result<Vec<Run>, Error>> = Mutex::new(Ok(Vec::new()));
    let work = || {
        while !stopped.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= args.runs {
                break;
            }
            let Some(seed) = args.seed_from.checked_add(index) else {
                break;
            };
            let run = run(&args.command, &own, seed, folder.path());
            let mut outcome = outcome.lock().unwrap_or_else(PoisonError::into_inner);
            match (&mut *outcome, run) {
                (Ok(runs), Ok(run)) => {
                    if run.found() && args.stop {
                        stopped.store(true, Ordering::Relaxed);
                    }
                    runs.push(run);
                    let found = runs.iter().filter(|run| run.found()).count();
                    bar.set_message(format!("{found} with findings"));
                    bar.inc(1);
                }
                (Ok(_), Err(error)) => {
                    stopped.store(true, Ordering::Relaxed);
                    // Only the first error is shown.
                    *outcome = Err(error);
                }
                (Err(_), _) => {}
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..args.jobs.get() {
            scope.spawn(work);
        }
    });
    bar.finish_and_clear();
    let mut runs = outcome.into_inner().unwrap_or_else(PoisonError::into_inner)?;
    runs.sort_by_key(|run| run.seed);
    conclude(args, &own, runs)
}

fn style() -> ProgressStyle {
    ProgressStyle::with_template("{bar:30} {pos}/{len} runs, {eta} left {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
}

fn run(command: &[OsString], own: &str, seed: u64, folder: &Path) -> Result<Run, Error> {
    let cannot = |what: &str, e: std::io::Error| Error::new(format!("cannot {what}: {e}"));
    let name = command[0].display();
    let folder = folder.join(seed.to_string());
    fs::create_dir(&folder).map_err(|e| cannot("create a temporary folder", e))?;
    let shown = folder.display();
    // Each run is one schedule, unless the user asks for more.
    let options = with("explore=0", own);
    let options = with(
        options.trim_end_matches(':'),
        &format!("seed={seed}:json=\"{shown}/%p.json\":log_path=\"{shown}/%p.log\""),
    );
    let output_path = folder.join("output");
    let output = File::create(&output_path).map_err(|e| cannot("create a temporary file", e))?;
    let again = output.try_clone().map_err(|e| cannot("create a temporary file", e))?;
    let status = Command::new(&command[0])
        .args(&command[1..])
        .env(VARIABLE, options)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(again)
        .status()
        .map_err(|e| {
            let error = cannot(&format!("run `{name}`"), e);
            let bare = !command[0].as_encoded_bytes().contains(&b'/');
            if bare && Path::new(&command[0]).exists() {
                error.hint(format!("to run the file in this folder, write `./{name}`"))
            } else {
                error
            }
        })?;
    let files = reports::files_in(&folder)?;
    let reports: Vec<Report> = files.iter().map(|file| reports::read(file)).collect::<Result<_, _>>()?;
    let mut run = Run { seed, status, output: None, reports };
    if run.failed() || run.reports.is_empty() {
        let output = fs::read(&output_path).unwrap_or_default();
        run.output = Some(last_lines(&String::from_utf8_lossy(&output)));
    }
    if run.reports.is_empty() {
        let output = run.output.unwrap_or_default();
        return Err(Error::new(format!(
            "`{name}` wrote no report with seed {seed} ({status}){}",
            if output.is_empty() { output } else { format!("; its output ends:\n{output}") }
        ))
        .hint("was it built with `-fsanitize=gpurace`?"));
    }
    // There may be many runs: do not keep the folders of those that ended.
    let _ = fs::remove_dir_all(&folder);
    Ok(run)
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES_SHOWN)..].join("\n")
}

/// Returns the joined report, the seeds with findings, and the command lines that replay them.
fn conclude(args: &StressArgs, own: &str, runs: Vec<Run>) -> Result<Done, Error> {
    let found: Vec<u64> = runs.iter().filter(|run| run.found()).map(|run| run.seed).collect();
    let failed: Vec<&Run> = runs.iter().filter(|run| run.failed()).collect();
    let mut summary = String::new();
    if let Some(first) = failed.first() {
        summary += &format!(
            "{} of {} runs failed without a finding, first seed {} ({})\n",
            failed.len(),
            runs.len(),
            first.seed,
            first.status
        );
        for line in first.output.iter().flat_map(|output| output.lines()) {
            summary += &format!("  | {line}\n");
        }
        summary += &format!("replay: {}\n", replay(args, own, first.seed)?);
    }
    summary += &format!("{} of {} runs found something", found.len(), runs.len());
    if !found.is_empty() {
        summary += &format!(", with {}", seeds(&found));
    }
    summary.push('\n');
    let any_failed = !failed.is_empty();

    let mut merger = Merger::default();
    let mut replays = Vec::new();
    for run in runs {
        let before = merger.entries();
        for report in run.reports {
            merger.add(&format!("seed {}", run.seed), report);
        }
        let new = merger.entries() - before;
        if new > 0 {
            replays.push((run.seed, new));
        }
    }
    for (index, &(seed, new)) in replays.iter().enumerate() {
        let what = match (index, new) {
            (0, _) => String::new(),
            (_, 1) => "  # 1 more race".to_owned(),
            (_, new) => format!("  # {new} more races"),
        };
        summary += &format!("replay: {}{what}\n", replay(args, own, seed)?);
    }
    let report = merger.finish().ok_or_else(|| Error::new("interrupted before the first run ended"))?;
    let style = |format| Style {
        format,
        color: false,
        stats: false,
        no_source: false,
        name: "gpurace stress",
        nothing: "no races were reported",
    };
    if let Some(path) = &args.output {
        let format = Format::of_file(path).unwrap_or(Format::Json);
        let text = reports::render(&report, style(format), &[]);
        reports::deliver(text, Some(path))?;
    }
    let format = if args.short { Format::Short } else { Format::Text };
    let color = std::io::IsTerminal::is_terminal(&std::io::stdout());
    let text = reports::render(&report, Style { color, ..style(format) }, &[]);
    Ok(Done {
        text: text + &summary,
        status: if report.has_findings() {
            FOUND.into()
        } else if any_failed {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        },
    })
}

/// `seeds 3, 17 and 4 more`.
fn seeds(found: &[u64]) -> String {
    let shown = &found[..found.len().min(SEEDS_NAMED)];
    let list: Vec<String> = shown.iter().map(u64::to_string).collect();
    let word = if found.len() == 1 { "seed" } else { "seeds" };
    match found.len() - shown.len() {
        0 => format!("{word} {}", list.join(", ")),
        more => format!("{word} {} and {more} more", list.join(", ")),
    }
}

/// Returns the shell command line that runs a seed again.
fn replay(args: &StressArgs, own: &str, seed: u64) -> Result<String, Error> {
    let quoted = |word: &str| {
        // `=` and `:` need no quotes; without quotes the line looks as in the documentation.
        let plain = |c: char| c.is_ascii_alphanumeric() || "=:,._-/+@%#".contains(c);
        if !word.is_empty() && word.chars().all(plain) && !word.starts_with('#') {
            return Ok(word.to_owned());
        }
        shlex::try_quote(word)
            .map(|word| word.into_owned())
            .map_err(|e| Error::new(format!("cannot quote `{word}` for a shell: {e}")))
    };
    let mut line = format!("{VARIABLE}={}", quoted(&with(own, &format!("seed={seed}")))?);
    for word in &args.command {
        line.push(' ');
        line += &quoted(&word.to_string_lossy())?;
    }
    Ok(line)
}
