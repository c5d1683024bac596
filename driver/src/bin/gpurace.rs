//! `gpurace`: reports, verdicts, options, and whether this machine can build.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;
use gpurace_driver::tool::Cli;

fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(done) => {
            // A reader that closed the pipe has read what it wanted.
            let _ = std::io::stdout().write_all(done.text.as_bytes());
            done.status
        }
        Err(error) => {
            error.print("gpurace");
            ExitCode::FAILURE
        }
    }
}
