//! Bad input: each is a clear error that names what was found and what was wanted.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use gpurace_tests::toolchain::{Outcome, compile, programs, run, tool, work_folder};

/// Runs `gclang++` with these arguments.
fn gclang(test: &str, args: &[&str]) -> Outcome {
    let folder = work_folder(&format!("errors_{test}")).unwrap();
    let mut command = Command::new(tool("gclang++").unwrap());
    run(command.args(args).current_dir(&folder), &folder).unwrap()
}

/// The outcome is a failure whose standard error has all fragments.
fn assert_refused(outcome: &Outcome, fragments: &[&str]) {
    assert_eq!(outcome.status, Some(1), "{}", outcome.stderr);
    for fragment in fragments {
        assert!(outcome.stderr.contains(fragment), "no `{fragment}` in:\n{}", outcome.stderr);
    }
}

fn program(name: &str) -> String {
    programs().join("report").join(name).to_str().unwrap().to_owned()
}

#[test]
fn a_missing_file_is_clangs_error() {
    let outcome = gclang("missing", &["-fsanitize=gpurace", "-fgpurace-exec=cpu", "nowhere.cu"]);
    assert_refused(&outcome, &["error: no such file or directory: 'nowhere.cu'"]);
}

#[test]
fn a_misspelt_flag_is_named_with_the_nearest_one() {
    let outcome = gclang("flag", &["-fgpurace-exce=cpu", "x.cu"]);
    assert_refused(
        &outcome,
        &["error: unknown argument `-fgpurace-exce=cpu`", "hint: did you mean `-fgpurace-exec=`?"],
    );
}

#[test]
fn a_bad_value_is_named_with_the_good_ones() {
    let outcome = gclang("value", &["-fgpurace-exec=gpu", "x.cu"]);
    assert_refused(&outcome, &["error: invalid value `gpu`", "`auto`, `cpu` or `cuda`"]);
}

#[test]
fn a_toolkit_that_is_not_there_is_named() {
    let source = program("two_races.cu");
    let support = format!("-I{}", programs().join("support").display());
    let args = [
        "-fsanitize=gpurace",
        "-fgpurace-exec=cpu",
        "--cuda-path=/nonexistent/cuda",
        &support,
        &source,
        "-c",
    ];
    assert_refused(&gclang("toolkit", &args), &["error:", "CUDA", "/nonexistent/cuda"]);
}

#[test]
fn another_version_of_clang_is_refused() {
    let folder = work_folder("errors_version").unwrap();
    let clang = folder.join("clang-18");
    std::fs::write(&clang, "#!/bin/sh\necho 'Debian clang version 18.1.8'\n").unwrap();
    std::fs::set_permissions(&clang, std::fs::Permissions::from_mode(0o755)).unwrap();
    let flag = format!("--clang={}", clang.display());
    let source = program("two_races.cu");
    let args = [&flag, "-fsanitize=gpurace", "-fgpurace-exec=cpu", &source];
    assert_refused(&gclang("version_run", &args), &["error:", "19", "18"]);
}

#[test]
fn a_clang_that_is_not_there_is_named() {
    let source = program("two_races.cu");
    let args = ["--clang=/nonexistent/clang", "-fsanitize=gpurace", "-fgpurace-exec=cpu", &source];
    assert_refused(&gclang("no_clang", &args), &["error:", "/nonexistent/clang"]);
}

#[test]
fn what_clang_warns_of_is_warned_of() {
    let folder = work_folder("errors_warning").unwrap();
    std::fs::write(folder.join("w.cu"), "__global__ void k(int* p) { int unused; *p = 1; }\nint main() {}\n")
        .unwrap();
    let outcome =
        gclang("warning", &["-fsanitize=gpurace", "-fgpurace-exec=cpu", "-Wall", "-Werror", "w.cu"]);
    assert_refused(&outcome, &["error: unused variable 'unused' [-Werror,-Wunused-variable]"]);
}

/// A checked program under these options.
fn under(test: &str, options: &str) -> Outcome {
    let folder = work_folder(&format!("errors_{test}")).unwrap();
    compile(&["-fsanitize=gpurace", &program("two_races.cu"), "-o", "program"], &folder).unwrap();
    let mut command = Command::new(folder.join("program"));
    run(command.env("GPURACE_OPTIONS", options).current_dir(&folder), &folder).unwrap()
}

#[test]
fn an_unknown_option_is_named_with_the_nearest_one() {
    let outcome = under("option", "exit_code=3");
    assert_refused(&outcome, &["unknown option `exit_code`", "did you mean `exitcode`?"]);
    assert!(!outcome.stderr.contains("WARNING"), "ran although its options are wrong:\n{}", outcome.stderr);
}

#[test]
fn an_option_without_a_value_is_refused() {
    assert_refused(&under("no_value", "stats"), &["found `stats`, wanted `key=value`"]);
}

#[test]
fn a_bad_value_of_an_option_is_named() {
    assert_refused(&under("option_value", "max_reports=many"), &["`max_reports=many`", "wanted"]);
}

#[test]
fn options_are_listed_on_demand() {
    let folder = Path::new("help");
    let outcome = under(folder.to_str().unwrap(), "help=1");
    for key in
        ["device", "exitcode", "halt_on_error", "max_reports", "log_path", "json", "suppressions", "seed"]
    {
        let listed = outcome.stderr.contains(key) || outcome.stdout.contains(key);
        assert!(listed, "no `{key}` in:\n{}{}", outcome.stdout, outcome.stderr);
    }
}

#[test]
fn a_report_that_cannot_be_written_is_said() {
    let outcome = under("unwritable", "json=/nonexistent/report.json");
    assert!(outcome.stderr.contains("/nonexistent/report.json"), "{}", outcome.stderr);
    assert_ne!(outcome.status, Some(0));
}
