//! Tests `gpurace stress`. A shell script takes the place of a checked program. Like one, it reads the seed
//! and the path of its report from the options.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use gpurace_report::schema::{Device, Report};
use gpurace_tests::toolchain::write_program;

/// Makes a folder with `app`. Seeds 3 and 5 find the same race, and seed 5 finds another one. With the
/// argument `fail`, seed 4 ends with status 9.
fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut report =
        Report::from_json(include_str!("../../runtime/base/report/src/tests/interface.json")).unwrap();
    report.divergence.clear();
    report.notes.clear();
    report.races[0].count = 1;
    let write = |name: &str, report: &Report| {
        fs::write(dir.path().join(name), report.to_json()).unwrap();
    };
    write("none.json", &Report::new(Device::Cpu));
    write("3.json", &report);
    let mut other = report.races[0].clone();
    other.accesses[0].line = Some(30);
    report.races.push(other);
    write("5.json", &report);
    script(
        dir.path(),
        r#"
options=":$GPURACE_OPTIONS"
echo "$GPURACE_OPTIONS" >>seen
seed=${options##*:seed=}; seed=${seed%%:*}
json=${options##*:json=\"}; json=${json%%\"*}
json=$(echo "$json" | sed "s/%p/$$/")
[ -f "$seed.json" ] && cp "$seed.json" "$json" && exit 66
cp none.json "$json"
if [ "$1" = fail ] && [ "$seed" = 4 ]; then echo "wrong sum" >&2; exit 9; fi
"#,
    );
    dir
}

fn script(dir: &Path, text: &str) {
    write_program(&dir.join("app"), format!("#!/bin/sh\n{text}")).unwrap();
}

fn stress(dir: &Path, own: Option<&str>, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpurace"));
    command.arg("stress").args(args).current_dir(dir);
    match own {
        Some(own) => command.env("GPURACE_OPTIONS", own),
        None => command.env_remove("GPURACE_OPTIONS"),
    };
    command.output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn findings_of_all_seeds_are_joined_and_replayed() {
    let dir = folder();
    let args = ["-n", "8", "--short", "-o", "all.json", "--", "./app", "a b"];
    let output = stress(dir.path(), None, &args);
    assert_eq!(output.status.code(), Some(66), "{}", stderr(&output));
    insta::assert_snapshot!(stdout(&output), @r"
    reduce.cu:18:15: data race: read of shared `tile`+64 with write at reduce.cu:17:13, in `reduce(float const*, float*)`, between warps of one block (2 times), and 1 more race
    SUMMARY: gpurace: 2 data races (1 finding)
    2 of 8 runs found something, with seeds 3, 5
    replay: GPURACE_OPTIONS=seed=3 ./app 'a b'
    replay: GPURACE_OPTIONS=seed=5 ./app 'a b'  # 1 more race
    ");
    let all = fs::read_to_string(dir.path().join("all.json")).unwrap();
    assert_eq!(Report::from_json(&all).unwrap().races.len(), 2);
    // A shell can run the replay line, and it finds the race again.
    let line = stdout(&output);
    let line = line.lines().find_map(|line| line.strip_prefix("replay: ")).unwrap();
    let options = r#"json="again.json""#;
    let line = line.replace("seed=3", &format!("'seed=3:{options}'"));
    let again = Command::new("sh").args(["-c", &line]).current_dir(dir.path()).status();
    assert_eq!(again.unwrap().code(), Some(66));
}

#[test]
fn several_jobs_find_the_same() {
    let dir = folder();
    let one = stress(dir.path(), None, &["-n", "8", "--", "./app"]);
    let three = stress(dir.path(), None, &["-n", "8", "-j", "3", "--", "./app"]);
    assert_eq!(stdout(&one), stdout(&three));
}

#[test]
fn other_seeds_and_the_first_finding_only() {
    let dir = folder();
    let none = stress(dir.path(), None, &["-n", "2", "--seed-from", "6", "--", "./app"]);
    assert_eq!(none.status.code(), Some(0));
    assert_eq!(stdout(&none), "no races were reported\n0 of 2 runs found something\n");
    fs::remove_file(dir.path().join("seen")).unwrap();
    let first = stress(dir.path(), None, &["-n", "8", "--stop", "--short", "--", "./app"]);
    assert_eq!(first.status.code(), Some(66));
    assert!(stdout(&first).contains("1 of 4 runs found something, with seed 3\n"));
    let seen = fs::read_to_string(dir.path().join("seen")).unwrap();
    assert_eq!(seen.lines().count(), 4);
}

#[test]
fn own_options_are_kept() {
    let dir = folder();
    let own = "kernels=app::*:same_value=ignore";
    let output = stress(dir.path(), Some(own), &["-n", "4", "--", "./app"]);
    assert_eq!(output.status.code(), Some(66));
    let seen = fs::read_to_string(dir.path().join("seen")).unwrap();
    for (seed, line) in seen.lines().enumerate() {
        assert!(line.starts_with(&format!("explore=0:{own}:seed={seed}:json=")), "{line}");
        let read = gpurace_options::Options::parse(line).unwrap();
        assert_eq!(read.seed, seed as u64);
        assert!(!read.checks_kernel("other()") && read.checks_kernel("app::k()"));
    }
    let wanted = format!("replay: GPURACE_OPTIONS='{own}:seed=3' ./app\n");
    assert!(stdout(&output).contains(&wanted), "{}", stdout(&output));
}

#[test]
fn runs_that_fail_are_said() {
    let dir = folder();
    let both = stress(dir.path(), None, &["-n", "5", "--short", "--", "./app", "fail"]);
    // The status for a race wins over the one for a failure.
    assert_eq!(both.status.code(), Some(66));
    let alone = stress(dir.path(), None, &["-n", "1", "--seed-from", "4", "--", "./app", "fail"]);
    assert_eq!(alone.status.code(), Some(1));
    insta::assert_snapshot!(stdout(&alone), @r"
    no races were reported
    1 of 1 runs failed without a finding, first seed 4 (exit status: 9)
      | wrong sum
    replay: GPURACE_OPTIONS=seed=4 ./app fail
    0 of 1 runs found something
    ");
}

#[test]
fn what_cannot_be_run_is_named() {
    let dir = folder();
    let said = |own: Option<&str>, args: &[&str]| {
        let output = stress(dir.path(), own, args);
        assert_eq!(output.status.code(), Some(1));
        stderr(&output)
    };
    insta::assert_snapshot!(said(None, &["--", "app"]), @r"
    gpurace: error: cannot run `app`: No such file or directory (os error 2)
    gpurace: hint: to run the file in this folder, write `./app`
    ");
    insta::assert_snapshot!(said(Some("sed=1"), &["--", "./app"]), @r"
    gpurace: error: GPURACE_OPTIONS: unknown option `sed`; did you mean `seed`?
    gpurace: hint: `GPURACE_OPTIONS=help=1` lists every option
    ");
    script(dir.path(), "echo no checks here\n");
    insta::assert_snapshot!(said(None, &["-n", "3", "--", "./app"]), @r"
    gpurace: error: `./app` wrote no report with seed 0 (exit status: 0); its output ends:
      | no checks here
    gpurace: hint: was it built with `-fsanitize=gpurace`?
    ");
    assert_eq!(stress(dir.path(), None, &["-n", "0", "--", "./app"]).status.code(), Some(2));
    assert_eq!(stress(dir.path(), None, &[]).status.code(), Some(2));
}
