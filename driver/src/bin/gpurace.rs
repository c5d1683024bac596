//! `gpurace`: reports, options, and whether this machine can build.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use gpurace_driver::diagnostic::Error;
use gpurace_driver::doctor;
use gpurace_driver::toolchain::World;
use gpurace_report::schema::Report;
use gpurace_report::sources::DiskSources;
use gpurace_report::text::TextRenderer;

/// Finds data races in CUDA programs. Programs are built with
/// `gclang++ -fsanitize=gpurace`; this tool reads what they wrote.
#[derive(Parser)]
#[command(name = "gpurace", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print a report that a program wrote (`GPURACE_OPTIONS=json=FILE`) as text
    Report {
        /// The report; `-` is standard input
        file: PathBuf,
        /// A folder that relative names of source files are relative to
        #[arg(long, value_name = "DIR")]
        source_dir: Vec<PathBuf>,
        /// Print the statistics as well
        #[arg(long)]
        stats: bool,
    },
    /// List the keys of `GPURACE_OPTIONS`
    Options,
    /// Say what of clang, plugin, runtime and CUDA toolkit is there, and how to get the rest
    Doctor,
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Report {
            file,
            source_dir,
            stats,
        } => report(&file, source_dir, stats),
        Command::Options => Ok((gpurace_options::help_text(), ExitCode::SUCCESS)),
        Command::Doctor => World::real().map(|world| {
            let findings = doctor::examine(&world);
            let complete = findings.iter().all(|finding| finding.outcome.is_ok());
            (
                doctor::render(&findings),
                if complete {
                    ExitCode::SUCCESS
                } else {
                    ExitCode::FAILURE
                },
            )
        }),
    };
    match outcome {
        Ok((text, status)) => {
            // A reader that closed the pipe has read what it wanted.
            let _ = std::io::stdout().write_all(text.as_bytes());
            status
        }
        Err(error) => {
            error.print("gpurace");
            ExitCode::FAILURE
        }
    }
}

fn report(
    file: &Path,
    source_dirs: Vec<PathBuf>,
    stats: bool,
) -> Result<(String, ExitCode), Error> {
    let text = if file == Path::new("-") {
        std::io::read_to_string(std::io::stdin())
    } else {
        std::fs::read_to_string(file)
    };
    let name = file.display();
    let text = text.map_err(|e| Error::new(format!("cannot read `{name}`: {e}")))?;
    let report = Report::from_json(&text).map_err(|e| {
        Error::new(format!(
            "`{name}` is not a report of this version of gpurace: {e}"
        ))
        .hint("reports are written with `GPURACE_OPTIONS=json=FILE`")
    })?;
    let color = std::io::stdout().is_terminal();
    let sources = DiskSources::new(source_dirs);
    // A stored report does not know the process that it came from.
    let text = TextRenderer {
        pid: 0,
        color,
        sources: &sources,
    }
    .report(&report, stats);
    let text = if text.is_empty() {
        "no races were reported\n".to_owned()
    } else {
        text
    };
    Ok((text, ExitCode::SUCCESS))
}
