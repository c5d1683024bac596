//! `gpurace`: what its command line is and what each command does.
//!
//! The definitions here are the only ones: help, completions and man pages are
//! generated from them.
//!
//! | module | command |
//! |---|---|
//! | [`reports`] | `report`, `merge`: reading, joining and rendering reports |
//! | [`stress`] | `stress`: one program under many seeds |
//! | [`facts`] | `facts`: verdicts of a build, and how two builds differ |
//! | [`explain`] | `explain`: why each access has its verdict, for all launches or for one |
//! | [`generate`] | `completions`, `man` |

pub mod explain;
pub mod facts;
pub mod generate;
pub mod reports;
pub mod stress;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::diagnostic::Error;
use crate::doctor;
use crate::toolchain::World;

/// Status of commands that look for races and found some: that of an
/// instrumented program.
pub const FOUND: u8 = 66;

/// Finds data races in CUDA programs. Programs are built with `gclang++ -fsanitize=gpurace`; this
/// tool reads what they wrote.
#[derive(Parser)]
#[command(
    name = "gpurace",
    version,
    after_help = "A program writes its report with `GPURACE_OPTIONS=json=FILE`; `gpurace options` lists what else it takes."
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Render reports as text, JSON, SARIF, Markdown or one HTML page
    Report(reports::ReportArgs),
    /// Join the reports of many ranks, shards or seeds into one
    Merge(reports::MergeArgs),
    /// Run a program under many schedules and join what it reports
    Stress(stress::StressArgs),
    /// Show the verdicts of a build, or how those of two builds differ
    Facts(facts::FactsArgs),
    /// Explain each access of a source: its verdict, why, and what would let it be proved
    Explain(explain::ExplainArgs),
    /// List the keys of `GPURACE_OPTIONS`
    Options {
        /// As a table in Markdown
        #[arg(long)]
        markdown: bool,
    },
    /// Say what of clang, plugin, runtime and CUDA toolkit is there, and how to get the rest
    Doctor,
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write manual pages, one for each command
    Man {
        /// The folder to write them to
        #[arg(value_name = "DIR")]
        dir: PathBuf,
    },
}

/// What a command has to say, and how it ends.
#[derive(Debug)]
pub struct Done {
    /// For standard output.
    pub text: String,
    /// The status of the process.
    pub status: ExitCode,
}

impl Done {
    /// Text, and success.
    pub fn success(text: impl Into<String>) -> Self {
        Self { text: text.into(), status: ExitCode::SUCCESS }
    }
}

impl Cli {
    /// Does what the command line asks for.
    ///
    /// # Errors
    /// What kept the command from being done.
    pub fn run(self) -> Result<Done, Error> {
        match self.command {
            Command::Report(args) => reports::report(&args),
            Command::Merge(args) => reports::merge(&args),
            Command::Stress(args) => stress::stress(&args),
            Command::Facts(args) => facts::facts(&args),
            Command::Explain(args) => explain::explain(&args),
            Command::Options { markdown: false } => Ok(Done::success(gpurace_options::help_text())),
            Command::Options { markdown: true } => Ok(Done::success(gpurace_options::markdown_table())),
            Command::Doctor => {
                let findings = doctor::examine(&World::real()?);
                let complete = findings.iter().all(|finding| finding.outcome.is_ok());
                Ok(Done {
                    text: doctor::render(&findings),
                    status: if complete { ExitCode::SUCCESS } else { ExitCode::FAILURE },
                })
            }
            Command::Completions { shell } => Ok(Done::success(generate::completions(shell))),
            Command::Man { dir } => generate::write_man_pages(&dir).map(Done::success),
        }
    }
}
