//! `gclang` and `gclang++`: clang with `-fsanitize=gpurace`.

use std::process::ExitCode;

fn main() -> ExitCode {
    gpurace_driver::gclang::main()
}
