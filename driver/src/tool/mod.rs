//! `gpurace`: its command line, and a module for each group of commands.
//!
//! The definitions here are the only ones: help, completions and man pages are
//! generated from them.
//!
//! | module | command |
//! |---|---|
//! | [`reports`] | `report`, `merge`: reading, joining and rendering reports |
//! | [`run`] | `run`: a program that uses the driver API |
//! | [`gdb`] | `gdb`: a program in a debugger, which stops at its races |
//! | [`stress`] | `stress`: one program under many seeds |
//! | [`sweep`] | `sweep`: a matrix of runs, on one machine or many |
//! | [`runs`] | runs whose reports these two join |
//! | [`ci`] | `ci`: tests in a CI, which shows what was found |
//! | [`facts`] | `facts`: verdicts of a build, and how two builds differ |
//! | [`explain`] | `explain`: why each access has its verdict, for all launches or for one |
//! | [`init`] | `init`: what a project needs, for its build system |
//! | [`toolkit`] | `toolkit`: a folder that looks like a CUDA toolkit |
//! | [`lsp`] | `lsp`: reports and verdicts in an editor |
//! | [`generate`] | `completions`, `man` |

pub mod ci;
pub mod explain;
pub mod facts;
pub mod gdb;
pub mod generate;
pub mod init;
pub mod lsp;
pub mod reports;
pub mod run;
pub mod runs;
pub mod stress;
pub mod sweep;
pub mod toolkit;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use gpurace_options::{Options, VARIABLE};

use crate::diagnostic::{Error, note};
use crate::toolchain::World;
use crate::{doctor, project};

/// The exit status of a command that found races. Instrumented programs use the same one.
pub const FOUND: u8 = 66;

/// Finds data races in CUDA programs. Build a program with `gclang++ -fsanitize=gpurace` and run it;
/// this tool reads the reports that it writes.
#[derive(Parser)]
#[command(
    name = "gpurace",
    version,
    after_help = "A program writes its report with `GPURACE_OPTIONS=json=FILE`; `gpurace options` lists all options."
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Render reports as text, JSON, SARIF, Markdown, one HTML page, or for a CI
    Report(reports::ReportArgs),
    /// Join the reports of many ranks, shards or seeds into one
    Merge(reports::MergeArgs),
    /// Run a program that finds gpurace's CUDA driver API (`libcuda.so.1`) in place of NVIDIA's
    Run(run::RunArgs),
    /// Run a program in gdb, which stops at each race and shows device threads
    #[command(disable_help_flag = true)]
    Gdb(gdb::GdbArgs),
    /// Run a program under many schedules and join its reports
    Stress(stress::StressArgs),
    /// Run a matrix of programs, inputs, options and seeds, and join the reports
    Sweep(sweep::SweepArgs),
    /// Run tests in a CI, and show the findings of all their programs there
    Ci(ci::CiArgs),
    /// Show the verdicts of a build, or compare those of two builds
    Facts(facts::FactsArgs),
    /// Explain each access of a source: its verdict, why, and what would let it be proved
    Explain(explain::ExplainArgs),
    /// Serve an editor: findings, fixes and verdicts in the source (language server protocol)
    Lsp(lsp::LspArgs),
    /// Write what a project needs to be built with gpurace, or say it, for the build system that it has
    Init(init::InitArgs),
    /// Make a folder that looks like a CUDA toolkit, for builds that want one, and print its path
    Toolkit(toolkit::ToolkitArgs),
    /// List the keys of `GPURACE_OPTIONS`
    Options {
        /// Print a Markdown table
        #[arg(long)]
        markdown: bool,
    },
    /// Check the installation: clang, plugin, runtime, CUDA toolkit; and what of a project will not build
    Doctor {
        /// The project's folder
        #[arg(value_name = "DIR")]
        project: Option<PathBuf>,
    },
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write a manual page for each command
    Man {
        /// The folder for the pages
        #[arg(value_name = "DIR")]
        dir: PathBuf,
    },
}

/// The outcome of a command: its output and its exit status.
#[derive(Debug)]
pub struct Done {
    /// The text for standard output.
    pub text: String,
    /// The exit status of the process.
    pub status: ExitCode,
}

impl Done {
    /// Returns the outcome of a successful command with this output.
    pub fn success(text: impl Into<String>) -> Self {
        Self { text: text.into(), status: ExitCode::SUCCESS }
    }
}

impl Cli {
    /// Runs the command.
    ///
    /// # Errors
    /// The reason why the command failed.
    pub fn run(self) -> Result<Done, Error> {
        match self.command {
            Command::Report(args) => reports::report(&args),
            Command::Merge(args) => reports::merge(&args),
            Command::Run(args) => run::run(&args),
            Command::Gdb(args) => gdb::gdb(&args),
            Command::Stress(args) => stress::stress(&args),
            Command::Sweep(args) => sweep::sweep(&args),
            Command::Ci(args) => ci::ci(&args),
            Command::Facts(args) => facts::facts(&args),
            Command::Explain(args) => explain::explain(&args),
            Command::Lsp(args) => lsp::lsp(&args),
            Command::Init(args) => init::init(&args),
            Command::Toolkit(args) => toolkit::toolkit(&args),
            Command::Options { markdown: false } => Ok(Done::success(gpurace_options::help_text())),
            Command::Options { markdown: true } => Ok(Done::success(gpurace_options::markdown_table())),
            Command::Doctor { project } => {
                let world = World::real()?;
                let findings = doctor::examine(&world);
                let mut complete = findings.iter().all(|finding| finding.outcome.is_ok());
                let mut text = doctor::render(&findings);
                if let Some(folder) = project {
                    let found = project::examine(&folder, world.cuda_search(None).run().toolkit.as_ref())?;
                    complete &= found.is_empty();
                    text += &found.render();
                }
                let status = if complete { ExitCode::SUCCESS } else { ExitCode::FAILURE };
                Ok(Done { text, status })
            }
            Command::Completions { shell } => Ok(Done::success(generate::completions(shell))),
            Command::Man { dir } => generate::write_man_pages(&dir).map(Done::success),
        }
    }
}

/// Returns the user's `GPURACE_OPTIONS` for programs that a command runs. `instead` says what takes the place of
/// `json`.
///
/// # Errors
/// They are wrong: no program needs to run to show it.
fn own_options(instead: &str) -> Result<String, Error> {
    let own = match std::env::var(VARIABLE) {
        Ok(own) => own,
        Err(std::env::VarError::NotPresent) => return Ok(String::new()),
        Err(e) => return Err(Error::new(format!("{VARIABLE}: {e}"))),
    };
    let options = Options::parse(&own).map_err(|e| Error::new(e.to_string()).hint(e.hint()))?;
    if options.json.is_some() {
        note("gpurace", &format!("`json` of `{VARIABLE}` is not used: {instead}"));
    }
    Ok(own)
}

/// Returns options followed by more of them.
fn with(own: &str, more: &str) -> String {
    if own.is_empty() { more.to_owned() } else { format!("{}:{more}", own.trim_end_matches(':')) }
}
