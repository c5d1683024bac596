//! Runs of programs whose reports are joined: those of `gpurace stress` and `gpurace sweep`.
//!
//! Each run has a folder of its own for reports. A run of several processes (`mpirun`) writes several reports.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use gpurace_options::VARIABLE;
use gpurace_report::merge::Merger;
use gpurace_report::schema::Report;
use indicatif::{ProgressBar, ProgressStyle};
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::reports::{self, Format, Style};
use super::{Done, FOUND, with};
use crate::diagnostic::Error;

/// The number of last lines of a failed run's output that are kept.
const LINES_KEPT: usize = 20;

/// A run that is to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedRun {
    /// The program and its arguments.
    pub words: Vec<OsString>,
    /// `GPURACE_OPTIONS` without the seed.
    pub options: String,
    /// The seed. A run with one is one schedule, unless the options ask for more.
    pub seed: Option<u64>,
}

/// What a run has left.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// True if its status was 0.
    pub succeeded: bool,
    /// Its status, in words.
    pub status: String,
    /// The last lines of its output, if it failed for another reason than a finding, or wrote no report.
    pub output: Option<String>,
    /// The reports of its processes.
    pub reports: Vec<Report>,
    /// A signal that asks programs to end has ended it. Whoever sent the signal may be about to send it to this
    /// process too.
    #[serde(skip)]
    pub interrupted: bool,
}

impl Outcome {
    /// True if it found something.
    pub fn found(&self) -> bool {
        self.reports.iter().any(Report::has_findings)
    }

    /// True if it failed and reported nothing, or wrote no report.
    pub fn failed(&self) -> bool {
        self.reports.is_empty() || !self.succeeded && !self.found()
    }
}

impl PlannedRun {
    /// Runs it in this folder, or in the current one. Reports go through the folder `temporary`, which is this run's
    /// own.
    ///
    /// # Errors
    /// It cannot be run, or a report cannot be read.
    pub fn run(&self, temporary: &Path, current: Option<&Path>) -> Result<Outcome, Error> {
        let cannot = |what: &str, e: std::io::Error| Error::new(format!("cannot {what}: {e}"));
        fs::create_dir(temporary).map_err(|e| cannot("create a temporary folder", e))?;
        let shown = temporary.display();
        let mut options = self.options.clone();
        if let Some(seed) = self.seed {
            options = with(&with("explore=0", &options), &format!("seed={seed}"));
        }
        let options = with(&options, &format!("json=\"{shown}/%p.json\":log_path=\"{shown}/%p.log\""));
        let output_path = temporary.join("output");
        let output = File::create(&output_path).map_err(|e| cannot("create a temporary file", e))?;
        let again = output.try_clone().map_err(|e| cannot("create a temporary file", e))?;
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).env(VARIABLE, options);
        command.stdin(Stdio::null()).stdout(output).stderr(again);
        if let Some(current) = current {
            command.current_dir(current);
        }
        let status = command.status().map_err(|e| {
            let name = self.words[0].display();
            let error = cannot(&format!("run `{name}`"), e);
            let bare = !self.words[0].as_encoded_bytes().contains(&b'/');
            if bare && current.unwrap_or(Path::new("")).join(&self.words[0]).exists() {
                error.hint(format!("to run the file in this folder, write `./{name}`"))
            } else {
                error
            }
        })?;
        let files = reports::files_in(temporary)?;
        let reports: Vec<Report> = files.iter().map(|file| reports::read(file)).collect::<Result<_, _>>()?;
        let mut outcome = Outcome {
            succeeded: status.success(),
            status: status.to_string(),
            output: None,
            reports,
            interrupted: status.signal().is_some_and(|signal| [SIGHUP, SIGINT, SIGTERM].contains(&signal)),
        };
        if outcome.failed() {
            let output = fs::read(&output_path).unwrap_or_default();
            outcome.output = Some(last_lines(&String::from_utf8_lossy(&output)));
        }
        // There may be many runs: do not keep the folders of those that ended.
        let _ = fs::remove_dir_all(temporary);
        Ok(outcome)
    }

    /// Returns its name among other runs: `./app 64, every=2, seed 3`.
    ///
    /// # Errors
    /// A word cannot be quoted for a shell.
    pub fn name(&self) -> Result<String, Error> {
        let words: Vec<String> =
            self.words.iter().map(|word| quoted(&word.to_string_lossy())).collect::<Result<_, _>>()?;
        let mut name = words.join(" ");
        if !self.options.is_empty() {
            name += &format!(", {}", self.options);
        }
        if let Some(seed) = self.seed {
            name += &format!(", seed {seed}");
        }
        Ok(name)
    }

    /// Returns the shell command line that runs it again.
    ///
    /// # Errors
    /// A word cannot be quoted for a shell.
    pub fn replay(&self) -> Result<String, Error> {
        let options = match self.seed {
            Some(seed) => with(&self.options, &format!("seed={seed}")),
            None => self.options.clone(),
        };
        let mut line = String::new();
        if !options.is_empty() {
            line += &format!("{VARIABLE}={} ", quoted(&options)?);
        }
        let words: Vec<String> =
            self.words.iter().map(|word| quoted(&word.to_string_lossy())).collect::<Result<_, _>>()?;
        Ok(line + &words.join(" "))
    }
}

/// Returns a word as a shell reads it.
fn quoted(word: &str) -> Result<String, Error> {
    // `=` and `:` need no quotes; without quotes the line looks as in the documentation.
    let plain = |c: char| c.is_ascii_alphanumeric() || "=:,._-/+@%#".contains(c);
    if !word.is_empty() && word.chars().all(plain) && !word.starts_with('#') {
        return Ok(word.to_owned());
    }
    shlex::try_quote(word)
        .map(|word| word.into_owned())
        .map_err(|e| Error::new(format!("cannot quote `{word}` for a shell: {e}")))
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(LINES_KEPT)..].join("\n")
}

/// Shows a bar for runs, `left` of which are still to be made. The rate is that of this process's own runs.
pub fn bar(runs: u64, left: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} runs, {per_sec}, {eta} left {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::new(runs).with_style(style).with_position(runs - left);
    bar.reset_eta();
    bar.tick();
    bar
}

/// Returns a flag that Ctrl-C and `SIGTERM` set.
///
/// # Errors
/// The signals cannot be handled.
pub fn stopped_by_signals() -> Result<Arc<AtomicBool>, Error> {
    let stopped = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stopped))
            .map_err(|e| Error::new(format!("cannot handle signals: {e}")))?;
    }
    Ok(stopped)
}

/// Does the works 0 to `count`, several at a time, until one fails or `stopped` is set.
///
/// # Errors
/// The first error of a work.
pub fn in_parallel(
    jobs: usize,
    count: u64,
    stopped: &AtomicBool,
    work: impl Fn(u64) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    let next = AtomicU64::new(0);
    let failed: Mutex<Result<(), Error>> = Mutex::new(Ok(()));
    let thread = || {
        while !stopped.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                break;
            }
            if let Err(error) = work(index) {
                stopped.store(true, Ordering::Relaxed);
                let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                if failed.is_ok() {
                    *failed = Err(error);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(thread);
        }
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Runs whose reports are joined, in their order.
#[derive(Default)]
pub struct Joined {
    merger: Merger,
    runs: usize,
    found: usize,
    failed: usize,
    /// The first run that failed: its name and status, its output, and the line that replays it.
    first_failed: Option<(String, Option<String>, String)>,
    /// The line that replays each run with new entries, and how many these are.
    replays: Vec<(String, usize)>,
}

impl Joined {
    /// Adds a run, which notes call `origin`.
    ///
    /// # Errors
    /// Its command cannot be quoted.
    pub fn add(&mut self, origin: &str, plan: &PlannedRun, outcome: Outcome) -> Result<(), Error> {
        self.runs += 1;
        self.found += usize::from(outcome.found());
        if outcome.failed() {
            self.failed += 1;
            if self.first_failed.is_none() {
                let status = if outcome.reports.is_empty() {
                    format!("{origin} ({}, no report)", outcome.status)
                } else {
                    format!("{origin} ({})", outcome.status)
                };
                self.first_failed = Some((status, outcome.output, plan.replay()?));
            }
        }
        let before = self.merger.entries();
        for report in outcome.reports {
            self.merger.add(origin, report);
        }
        let new = self.merger.entries() - before;
        if new > 0 {
            self.replays.push((plan.replay()?, new));
        }
        Ok(())
    }

    /// Returns the joined report as text, with a summary and the lines that replay runs. `which` names the runs with
    /// findings. Writes the report to the file `output` too.
    ///
    /// # Errors
    /// There is no report, or the file cannot be written.
    pub fn conclude(
        self,
        name: &str,
        short: bool,
        output: Option<&Path>,
        which: &str,
    ) -> Result<Done, Error> {
        let mut summary = String::new();
        if let Some((first, output, replay)) = &self.first_failed {
            summary +=
                &format!("{} of {} runs failed without a finding, first {first}\n", self.failed, self.runs);
            for line in output.iter().flat_map(|output| output.lines()) {
                summary += &format!("  | {line}\n");
            }
            summary += &format!("replay: {replay}\n");
        }
        summary += &format!("{} of {} runs found something{which}\n", self.found, self.runs);
        for (index, (line, new)) in self.replays.iter().enumerate() {
            let what = match (index, new) {
                (0, _) => String::new(),
                (_, 1) => "  # 1 more race".to_owned(),
                (_, new) => format!("  # {new} more races"),
            };
            summary += &format!("replay: {line}{what}\n");
        }
        let report = self.merger.finish();
        let Some(report) = report else {
            return match self.runs {
                0 => Err(Error::new("interrupted before the first run ended")),
                _ => Ok(Done { text: summary, status: ExitCode::FAILURE }),
            };
        };
        let style = |format| Style {
            format,
            color: false,
            stats: false,
            no_source: false,
            name,
            nothing: "no races were reported",
        };
        if let Some(path) = output {
            let format = Format::of_file(path).unwrap_or(Format::Json);
            let text = reports::render(&report, style(format), &[]);
            reports::deliver(text, Some(path))?;
        }
        let format = if short { Format::Short } else { Format::Text };
        let color = std::io::IsTerminal::is_terminal(&std::io::stdout());
        let text = reports::render(&report, Style { color, ..style(format) }, &[]);
        Ok(Done {
            text: text + &summary,
            status: if report.has_findings() {
                FOUND.into()
            } else if self.failed > 0 {
                ExitCode::FAILURE
            } else {
                ExitCode::SUCCESS
            },
        })
    }
}
