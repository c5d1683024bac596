//! `gpurace`: reports, verdicts, options, and whether this machine can build.

use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;

use clap::Parser as _;
use gpurace_driver::diagnostic::Error;
use gpurace_driver::tool::Cli;

fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(done) => {
            let mut out = std::io::stdout().lock();
            match out.write_all(done.text.as_bytes()).and_then(|()| out.flush()) {
                // A reader that closed the pipe has read what it wanted.
                Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                    Error::new(format!("cannot write to standard output: {error}")).print("gpurace");
                    ExitCode::FAILURE
                }
                _ => done.status,
            }
        }
        Err(error) => {
            error.print("gpurace");
            ExitCode::FAILURE
        }
    }
}
