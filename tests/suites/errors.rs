//! Wrong input to `gclang` and to a checked program gives one error that names what was found and what
//! was wanted. The texts of all errors are tested beside the code that makes them; here is one of each
//! kind, to show that it ends the command.

use std::path::Path;
use std::process::Command;

use gpurace_tests::toolchain::{Outcome, compile, programs, run, tool, work_folder};

/// Runs `gclang++` with these arguments.
fn gclang(test: &str, args: &[&str]) -> Outcome {
    let folder = work_folder(&format!("errors_{test}")).unwrap();
    let mut command = Command::new(tool("gclang++").unwrap());
    run(command.args(args).current_dir(&folder), &folder).unwrap()
}

/// Asserts that a command failed and that its standard error has all fragments.
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
fn a_misspelt_flag_is_named_with_the_nearest_one() {
    let outcome = gclang("flag", &["-fgpurace-exce=cpu", "x.cu"]);
    assert_refused(
        &outcome,
        &["error: unknown argument `-fgpurace-exce=cpu`", "hint: did you mean `-fgpurace-exec=`?"],
    );
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

/// Builds and runs a checked program with these options.
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

#[test]
fn what_nvcc_alone_accepts_is_named_where_it_is_the_cause() {
    let said = |test: &str, text: &str| {
        let source = work_folder(&format!("errors_source_{test}")).unwrap().join("k.cu");
        std::fs::write(&source, text).unwrap();
        let args = ["-fsanitize=gpurace", "-fgpurace-exec=cpu", "-c", source.to_str().unwrap()];
        let outcome = gclang(test, &args);
        assert_eq!(outcome.status, Some(1), "{}", outcome.stderr);
        let ours = outcome.stderr.lines().filter(|line| line.starts_with("gclang++: ")).map(str::to_owned);
        ours.collect::<Vec<_>>().join("; ")
    };
    let unused = "template<class T> struct A { void f() { absent = 1; } };\n";
    let used = format!("{unused}template struct A<int>;\n");
    let asks = "#ifndef __NVCC__\n#error not nvcc\n#endif\n";
    assert_eq!(
        said("unused", unused),
        "gclang++: error: clang finds errors also in templates that nothing uses, unlike nvcc; \
         gclang++: hint: to look at used ones only, add `-fdelayed-template-parsing`"
    );
    assert_eq!(said("used", &used), "");
    assert!(said("nvcc", asks).ends_with("hint: if the source needs it, add `-D__NVCC__`"));
    // The macro does not help.
    assert_eq!(said("neither", &format!("{asks}int x = absent;\n")), "");
    assert_eq!(said("none", "#ifdef __NVCC__\n#endif\nint x = absent;\n"), "");
}
