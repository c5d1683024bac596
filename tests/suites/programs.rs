//! One test per program, revision and optimisation level under `tests/programs`.

use std::process::ExitCode;

use gpurace_tests::annotation::Known;
use gpurace_tests::case::collect;
use gpurace_tests::toolchain::has_gpu;
use libtest_mimic::{Arguments, Trial};

fn main() -> ExitCode {
    let args = Arguments::from_args();
    let mut trials = Vec::new();
    for folder in ["race", "clean", "exec", "error"] {
        let cases = match collect(folder) {
            Ok(cases) => cases,
            Err(e) => {
                eprintln!("error: {e}");
                return ExitCode::FAILURE;
            }
        };
        for case in cases {
            let kind = match case.known() {
                Some(Known::Miss) => "known miss",
                Some(Known::Alarm) => "known alarm",
                Some(Known::Failure) => "known failure",
                None => "",
            };
            let ignored = case.needs_gpu() && !has_gpu();
            let name = case.name();
            let test = move || case.check().map_err(Into::into);
            trials.push(Trial::test(name, test).with_kind(kind).with_ignored_flag(ignored));
        }
    }
    libtest_mimic::run(&args, trials).exit_code()
}
