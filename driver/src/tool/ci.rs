//! `gpurace ci`: runs tests, and shows the races of all programs that they run where the CI shows them.
//!
//! The command writes the reports of its programs into one folder. The joined report is written there in the formats
//! that a CI keeps. Annotations and the summary of a job of GitHub Actions are written if the environment has them.

use std::env;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};

use clap::{Args, ValueEnum};
use gpurace_options::VARIABLE;
use gpurace_report::baseline;
use gpurace_report::schema::Report;
use gpurace_report::words::plural;

use super::reports::{self, Format, Style};
use super::{Done, FOUND, own_options, with};
use crate::diagnostic::{Error, note};

/// The joined report in the formats that a CI keeps.
const FILES: [(&str, Format); 4] = [
    ("report.json", Format::Json),
    ("report.html", Format::Html),
    ("report.sarif", Format::Sarif),
    ("codequality.json", Format::Gitlab),
];

/// Which findings let a job fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// Any finding
    Any,
    /// A finding that the baseline does not have
    New,
    /// No finding
    None,
}

/// Arguments of `gpurace ci`.
#[derive(Args)]
pub struct CiArgs {
    /// The folder for the reports
    #[arg(long, value_name = "DIR", default_value = "gpurace-reports")]
    reports: PathBuf,
    /// Which findings let the job fail, with status 66 [default: any; with a baseline, new]
    #[arg(long, value_enum)]
    fail_on: Option<FailOn>,
    /// An older report, whose findings are known: annotations and the summary leave them out
    #[arg(long, value_name = "FILE", required_if_eq("fail_on", "new"))]
    baseline: Option<PathBuf>,
    /// The command that runs the tests, and its arguments
    #[arg(required = true, last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Runs the tests and shows what was found.
///
/// # Errors
/// The command cannot be run, no program wrote a report, or a file cannot be read or written.
pub fn ci(args: &CiArgs) -> Result<Done, Error> {
    let default = if args.baseline.is_some() { FailOn::New } else { FailOn::Any };
    let fail_on = args.fail_on.unwrap_or(default);
    // A wrong name shall not cost a run of all tests.
    let known = args.baseline.as_deref().map(reports::read).transpose()?;
    let runs = args.reports.join("runs");
    prepare(&args.reports, &runs)?;
    let status = run(args, fail_on, &runs)?;
    let files = reports::files_in(&runs)?;
    if files.is_empty() {
        let name = args.command[0].display();
        if !status.success() {
            note("gpurace", &format!("`{name}` failed ({status}), and no program wrote a report"));
            return Ok(Done { text: String::new(), status: code(status) });
        }
        return Err(Error::new(format!("no program that `{name}` ran wrote a report"))
            .hint("were they built with `-fsanitize=gpurace`?"));
    }
    let all = reports::read_all(&files)?;
    for (name, format) in FILES {
        reports::deliver(render(&all, format), Some(&args.reports.join(name)))?;
    }
    let mut shown = all;
    if let Some(known) = &known {
        let (new, count) = baseline::new_findings(shown, known);
        shown = new;
        if count > 0 {
            let count = plural(count, "finding is", "findings are");
            shown.notes.push(format!("{count} in the baseline and not shown"));
        }
    }
    if let Some(file) = variable("GITHUB_STEP_SUMMARY") {
        append(Path::new(&file), &render(&shown, Format::Markdown))?;
    }
    let is_github = variable("GITHUB_ACTIONS").is_some_and(|value| value == "true");
    let text = render(&shown, if is_github { Format::Github } else { Format::Short });
    let fails = fail_on != FailOn::None && shown.has_findings();
    Ok(Done {
        text,
        status: if !status.success() {
            code(status)
        } else if fails {
            FOUND.into()
        } else {
            ExitCode::SUCCESS
        },
    })
}

/// Makes the folders, without the reports of an earlier run.
fn prepare(folder: &Path, runs: &Path) -> Result<(), Error> {
    fs::create_dir_all(runs).map_err(Error::cannot("write", runs))?;
    let written = FILES.map(|(name, _)| folder.join(name)).into_iter().filter(|file| file.exists());
    for file in reports::files_in(runs)?.into_iter().chain(written) {
        fs::remove_file(&file).map_err(Error::cannot("write", &file))?;
    }
    Ok(())
}

/// Runs the command. Its programs write their reports to this folder.
fn run(args: &CiArgs, fail_on: FailOn, runs: &Path) -> Result<ExitStatus, Error> {
    // Tests change the folder that they run in.
    let runs = std::path::absolute(runs).map_err(Error::cannot("find", runs))?;
    let mut more = format!("json=\"{}/%p.json\"", runs.display());
    // A known race fails no test.
    if fail_on != FailOn::Any {
        more += ":exitcode=0";
    }
    let own = own_options("the reports are in the folder of `--reports`")?;
    Command::new(&args.command[0])
        .args(&args.command[1..])
        .env(VARIABLE, with(&own, &more))
        .status()
        .map_err(Error::cannot("run", &args.command[0]))
}

fn render(report: &Report, format: Format) -> String {
    let nothing = "no races to show";
    let style = Style { format, color: false, stats: false, no_source: false, name: "gpurace ci", nothing };
    reports::render(report, style, &[])
}

/// A variable of the environment that is set and not empty.
fn variable(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

fn append(file: &Path, text: &str) -> Result<(), Error> {
    let opened = OpenOptions::new().create(true).append(true).open(file);
    let written = opened.and_then(|mut opened| opened.write_all(text.as_bytes()));
    written.map_err(Error::cannot("write", file))
}

/// The status of the command, as a shell gives it.
fn code(status: ExitStatus) -> ExitCode {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    u8::try_from(code.unwrap_or(1)).map_or(ExitCode::FAILURE, ExitCode::from)
}
