//! One test per program, revision and optimisation level under `tests/programs`.
//!
//! With a filter, all matching tests run. Without one, a sample of the levels does, or all with `GPURACE_PROGRAMS=all`.

use std::process::ExitCode;

use gpurace_tests::annotation::Known;
use gpurace_tests::case::{Case, collect};
use gpurace_tests::toolchain::has_gpu;
use libtest_mimic::{Arguments, Trial};

/// True if a run without a filter includes the case. A case costs a build of its own, and all of them take longer than
/// the other suites together. So each mistake is tried with proofs, and one in eight also without. Of the programs
/// without a mistake, one in four is tried with proofs and one in four without. Programs that name their levels are
/// tried at all of them.
fn is_of_sample(case: &Case) -> bool {
    let names_levels = !case.program.words(case.revision.as_deref(), "opt").is_empty();
    let has_proofs = case.opt != "O0";
    let number = case.program.number();
    let is_taken = match case.is_right() {
        true => number % 4 == u64::from(has_proofs),
        false => has_proofs || number.is_multiple_of(8),
    };
    names_levels || is_taken
}

fn main() -> ExitCode {
    let args = Arguments::from_args();
    let takes_all =
        args.filter.is_some() || std::env::var("GPURACE_PROGRAMS").is_ok_and(|which| which == "all");
    let mut trials = Vec::new();
    for folder in ["race", "clean", "exec", "error"] {
        let cases = match collect(folder) {
            Ok(cases) => cases,
            Err(e) => {
                eprintln!("error: {e}");
                return ExitCode::FAILURE;
            }
        };
        for case in cases.into_iter().filter(|case| takes_all || is_of_sample(case)) {
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
