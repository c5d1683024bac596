//! What a program may ask of gpurace and tell it while it runs, in C, C++ and Python.

use std::path::{Path, PathBuf};
use std::process::Command;

use gpurace_tests::toolchain::{Outcome, compile, run, work_folder, workspace};
use libtest_mimic::Failed;

use super::{FLAGS, KERNELS, build, execute, failures, names};

const ASKS: &str = r#"
#include <cstdio>
#include <gpurace/findings.h>
extern "C" int launch(int races);
int main() {
  const char *text;
  launch(0);
  printf("%zu\n", gpurace_findings(&text));
  gpurace_region_begin("solver");
  gpurace_region_begin("step");
  launch(1);
  gpurace_region_end();
  gpurace_region_end();
  size_t count = gpurace_findings(&text);
  printf("%zu %s", count, text);
  printf("%zu\n", gpurace_findings(nullptr));
  gpurace_options("exitcode=5");
}
"#;

pub fn a_program_asks() -> Result<(), Failed> {
    let folder = work_folder("frameworks_asks")?;
    let program = build(&folder, "main.cpp", ASKS, &[])?;
    let ran = execute(&program, &[], &folder)?;
    assert_eq!(ran.status, Some(5), "{}", ran.stderr);
    let lines: Vec<_> = ran.stdout.lines().collect();
    // What the user leaves out is no finding.
    std::fs::write(folder.join("known"), "race:racy\n")?;
    let mut suppressed = Command::new(&program);
    suppressed.current_dir(&folder).env("GPURACE_OPTIONS", "device=cpu:suppressions=known");
    let suppressed = run(&mut suppressed, &folder)?;
    assert_eq!((suppressed.status, &*suppressed.stdout), (Some(0), "0\n0 0\n"), "{}", suppressed.stderr);
    assert_eq!((lines.first(), lines.last()), (Some(&"0"), Some(&"0")), "{}", ran.stdout);
    assert!(
        lines[1].starts_with("1 ===") && ran.stdout.contains("WARNING: gpurace: data race"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains("kernels.cu:9, in `solver / step`"), "{}", ran.stdout);
    // The report at the end is whole: asking takes nothing away.
    assert!(ran.stderr.contains("SUMMARY: gpurace: 1 data race"), "{}", ran.stderr);
    Ok(())
}

const C_PROGRAM: &str = r#"
#include <gpurace/findings.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
int launch(int races);
void *allocate(void);
int race_on(void *memory);
static void told(const char *text, void *calls) {
  ++*(int *)calls;
  printf("told of %s", strstr(text, "data race"));
  launch(0);
}
static void show(int value) { printf("%d", value); }
static int expected(int races) {
  gpurace_expect_begin();
  launch(races);
  return (int)gpurace_expect_end();
}
int main(int count, char **words) {
  const char *what = count > 1 ? words[1] : "";
  int calls = 0;
  gpurace_on_finding(told, &calls);
  if (!strcmp(what, "expect")) show(expected(1)), show(expected(0)), show(expected(1));
  if (!strcmp(what, "again")) show(expected(1)), show(launch(1));
  if (!strcmp(what, "before")) show(launch(1)), show(expected(1)), show(launch(0));
  if (!strcmp(what, "nested")) {
    gpurace_expect_begin();
    show(expected(1)), show(expected(0)), show(launch(1));
    show((int)gpurace_expect_end());
  }
  if (!strcmp(what, "inside")) {
    gpurace_expect_begin();
    launch(1);
    gpurace_flush();
    show((int)gpurace_findings(NULL));
    gpurace_expect_end();
  }
  if (!strcmp(what, "unended")) {
    gpurace_expect_begin();
    launch(1);
  }
  if (!strcmp(what, "killed")) {
    launch(1);
    gpurace_flush();
    raise(SIGKILL);
  }
  if (!strcmp(what, "options")) {
    show(gpurace_options("every=0")), show(gpurace_options("skip_kernels=r*:device=cpu"));
    show(gpurace_options("skip_kernels=r*")), show(launch(1));
    show(gpurace_options("skip_kernels=c*:exitcode=7")), show(launch(1));
  }
  if (!strcmp(what, "suppress")) {
    show(gpurace_suppress("race:clean\nraces:racy")), show(gpurace_suppress("race:racy"));
    launch(1);
  }
  if (!strcmp(what, "benign")) {
    void *memory = allocate();
    gpurace_benign(memory, 4);
    race_on(memory);
  }
  if (!strcmp(what, "untold")) {
    gpurace_on_finding(NULL, NULL);
    launch(1);
  }
  printf(" %d\n", calls);
}
"#;

/// Compiles a program in C with the system's compiler.
fn c_program(folder: &Path, runtime: bool) -> Result<PathBuf, Failed> {
    std::fs::write(folder.join("program.c"), C_PROGRAM)?;
    let mut compiler = Command::new("cc");
    compiler.current_dir(folder).args([
        "-std=c11",
        "-D_POSIX_C_SOURCE=200809L",
        "-Wall",
        "-Wextra",
        "-Werror",
    ]);
    compiler.arg(format!("-I{}", workspace().join("driver/include").display())).arg("program.c");
    if runtime {
        compiler.args(["-c", "-o", "program.o"]);
    } else {
        std::fs::write(
            folder.join("stubs.c"),
            "int launch(int r) { return r - r; }\nvoid *allocate(void) { return 0; }\nint race_on(void *m) { return !m; }\n",
        )?;
        compiler.args(["stubs.c", "-o", "program"]);
    }
    let built = run(&mut compiler, folder)?;
    assert_eq!(built.status, Some(0), "{}", built.stderr);
    if runtime {
        std::fs::write(folder.join("kernels.cu"), KERNELS)?;
        let mut words = FLAGS.to_vec();
        words.extend(["kernels.cu", "program.o", "-o", "program"]);
        compile(&words, folder)?;
    }
    Ok(folder.join("program"))
}

/// Runs a case of the program. Returns what it wrote, and its JSON report.
fn case(program: &Path, what: &str, folder: &Path) -> Result<(Outcome, String), Failed> {
    let json = folder.join(format!("{what}.json"));
    let mut command = Command::new(program);
    let options = format!("device=cpu:json={}", json.display());
    command.arg(what).current_dir(folder).env("GPURACE_OPTIONS", options).env("XDG_CACHE_HOME", folder);
    let ran = run(&mut command, folder)?;
    Ok((ran, std::fs::read_to_string(&json).unwrap_or_default()))
}

pub fn a_c_program() -> Result<(), Failed> {
    let folder = work_folder("frameworks_c_program")?;
    let program = c_program(&folder, true)?;
    let told = "told of data race (pid=";
    // The case, what it prints, its status, and the number of races in its report.
    for (what, prints, status, races) in [
        ("expect", "101 0\n", Some(0), 0),
        ("again", "0 1\n", Some(66), 1),
        ("before", "10 1\n", Some(66), 1),
        ("nested", "1001 0\n", Some(0), 0),
        ("inside", "0 0\n", Some(0), 0),
        ("unended", " 0\n", Some(66), 1),
        ("killed", "", None, 1),
        ("options", "0 1\n", Some(7), 1),
        ("suppress", "10 0\n", Some(0), 0),
        ("benign", " 0\n", Some(0), 0),
        ("untold", " 0\n", Some(66), 1),
        ("", " 0\n", Some(0), 0),
    ] {
        let (ran, json) = case(&program, what, &folder)?;
        assert_eq!(ran.status, status, "{what}: {}{}", ran.stdout, ran.stderr);
        assert_eq!(json.matches("\"same_value\"").count(), races, "{what}: {json}");
        assert!(ran.stdout.ends_with(prints), "{what}: {}", ran.stdout);
        let calls = usize::from(prints.ends_with(" 1\n"));
        assert_eq!(ran.stdout.matches(told).count(), calls, "{what}: {}", ran.stdout);
    }
    let (ran, json) = case(&program, "expect", &folder)?;
    assert!(json.contains("2 races were found where the program expects races"), "{json}");
    assert!(!ran.stderr.contains("WARNING"), "{}", ran.stderr);
    // What is found again is shown where it was found outside.
    let (again, _) = case(&program, "again", &folder)?;
    assert!(again.stderr.contains("In launch 2 of `racy"), "{}", again.stderr);
    let (options, _) = case(&program, "options", &folder)?;
    assert!(options.stderr.contains("`device` cannot change while the program runs"), "{}", options.stderr);
    let (suppress, _) = case(&program, "suppress", &folder)?;
    assert!(suppress.stderr.contains("gpurace_suppress: suppressions: line 2"), "{}", suppress.stderr);
    let mut halting = Command::new(&program);
    halting.arg("again").current_dir(&folder).env("GPURACE_OPTIONS", "device=cpu:halt_on_error=1");
    let halting = run(&mut halting, &folder)?;
    assert!(halting.status == Some(66) && halting.stdout.contains(told), "{}", halting.stdout);

    // Without the runtime, nothing happens, and expectations are met.
    let plain = c_program(&work_folder("frameworks_c_plain")?, false)?;
    for (what, prints) in [("expect", "111 0\n"), ("options", "000000 0\n"), ("suppress", "00 0\n")] {
        let (ran, _) = case(&plain, what, &folder)?;
        assert_eq!((ran.status, &*ran.stdout), (Some(0), prints), "{what}");
    }
    Ok(())
}

const PYTHON: &str = r#"
import ctypes
import sys

import gpurace

told = []
gpurace.on_finding(told.append)
with gpurace.expect_race():
    assert not gpurace.is_loaded()
gpurace.flush()
if len(sys.argv) > 1:
    kernels = ctypes.CDLL("./libkernels.so")
    kernels.allocate.restype = ctypes.c_void_p
    kernels.race_on.argtypes = [ctypes.c_void_p]
    assert gpurace.is_loaded()
    gpurace.on_finding(told.append)
    with gpurace.expect_race():
        kernels.launch(1)
    try:
        with gpurace.expect_race():
            kernels.launch(0)
        raise SystemExit(3)
    except AssertionError as error:
        assert "no race was found" in str(error)
    memory = kernels.allocate()
    gpurace.benign(memory, 128)
    kernels.race_on(memory)
    for change, wrong in [(gpurace.set_options, "device=cpu"), (gpurace.suppress, "races:x")]:
        try:
            change(wrong)
            raise SystemExit(4)
        except ValueError as error:
            assert wrong in str(error)
    assert not told and not gpurace.recent_findings()
    kernels.launch(1)
    assert len(told) == 1 and "data race" in told[0], told
    gpurace.on_finding(None)
    gpurace.flush()
    with open("report.json") as report:
        assert '"same_value"' in report.read()
    gpurace.suppress("race:racy")
    gpurace.set_options("exitcode=9")
"#;

pub fn a_python_program() -> Result<(), Failed> {
    let folder = work_folder("frameworks_python_program")?;
    std::fs::write(folder.join("kernels.cu"), KERNELS)?;
    std::fs::write(folder.join("program.py"), PYTHON)?;
    let mut words = FLAGS.to_vec();
    words.extend(["-fPIC", "-shared", "kernels.cu", "-o", "libkernels.so"]);
    compile(&words, &folder)?;
    for (args, status) in [(&[][..], 0), (&["kernels"], 9)] {
        let mut command = Command::new("python3");
        command.arg("program.py").args(args).current_dir(&folder).env("GPURACE_OPTIONS", "json=report.json");
        command.env("PYTHONPATH", workspace().join("driver/python")).env("PYTHONDONTWRITEBYTECODE", "1");
        let ran = run(&mut command, &folder)?;
        assert_eq!(ran.status, Some(status), "{}{}", ran.stdout, ran.stderr);
    }
    Ok(())
}

const EXPECTS: &str = r#"
#include <gpurace/testing.h>
GPURACE_LISTEN();
extern "C" int launch(int races);
TEST(Expect, Races) { GPURACE_EXPECT_RACE(launch(1)); }
TEST(Expect, Clean) { GPURACE_EXPECT_RACE(launch(0)); }
TEST(Expect, RacesOutside) {
  GPURACE_EXPECT_RACE(launch(1));
  launch(1);
}
TEST(Expect, RacesAgain) { GPURACE_EXPECT_RACE(const int races = 1; launch(races); launch(races)); }
"#;

pub fn googletest_expects() -> Result<(), Failed> {
    let folder = work_folder("frameworks_googletest_expects")?;
    let source = format!("#include <gtest/gtest.h>{EXPECTS}");
    let program = build(&folder, "suite.cpp", &source, &["-lgtest", "-lgtest_main"])?;
    let ran = execute(&program, &["--gtest_output=xml:all.xml"], &folder)?;
    assert_eq!(ran.status, Some(1), "{}", ran.stdout);
    let failed = failures(&folder.join("all.xml"))?;
    assert_eq!(names(&failed), ["Clean", "RacesOutside"], "{}", ran.stdout);
    assert!(failed[0].1.contains("gpurace: no race in `launch(0)`"), "{}", failed[0].1);
    assert!(failed[0].1.contains("suite.cpp:6"), "{}", failed[0].1);
    assert!(failed[1].1.contains("`Expect.RacesOutside`"), "{}", failed[1].1);
    let passes = execute(&program, &["--gtest_filter=Expect.Races:Expect.RacesAgain"], &folder)?;
    assert_eq!(passes.status, Some(0), "{}{}", passes.stdout, passes.stderr);
    Ok(())
}

pub fn others_expect(framework: &str, head: &str) -> Result<(), Failed> {
    let folder = work_folder(&format!("frameworks_{framework}_expects"))?;
    let cases = r#"
#include <gpurace/testing.h>
extern "C" int launch(int races);
TEST_CASE("races") { GPURACE_CHECK_SCOPE(); GPURACE_EXPECT_RACE(launch(1)); }
TEST_CASE("clean") { GPURACE_CHECK_SCOPE(); GPURACE_EXPECT_RACE(launch(0)); }
"#;
    let program = build(&folder, "suite.cpp", &format!("{head}{cases}"), &[])?;
    for (case, fails) in [("races", false), ("clean", true)] {
        let named = format!("--test-case={case}");
        let ran = execute(&program, &[if framework == "catch2" { case } else { &named }], &folder)?;
        assert_eq!(ran.status != Some(0), fails, "{case}: {}{}", ran.stdout, ran.stderr);
        assert_eq!(ran.stdout.contains("gpurace: no race in `launch(0)`"), fails, "{case}: {}", ran.stdout);
    }
    Ok(())
}

const OTHERS: &str = r#"
#include <cstdio>
#include <gpurace/findings.h>
__global__ void diverges() { if (threadIdx.x < 8) __syncthreads(); else { __syncthreads(); } }
__global__ void traps() { __trap(); }
int main() {
  const char *text;
  diverges<<<1, 64>>>();
  cudaDeviceSynchronize();
  printf("%zu %s\n", gpurace_findings(&text), text);
  traps<<<1, 1>>>();
  cudaDeviceSynchronize();
  printf("%zu %s\n", gpurace_findings(&text), text);
  printf("%zu\n", gpurace_findings(&text));
}
"#;

pub fn faults_and_divergences() -> Result<(), Failed> {
    let folder = work_folder("frameworks_others")?;
    let program = build(&folder, "others.cu", OTHERS, &[])?;
    let ran = execute(&program, &[], &folder)?;
    assert_eq!(ran.status, Some(66), "{}", ran.stderr);
    for text in ["0 data races, 1 barrier divergence", "0 data races, 1 fault", "\n0\n"] {
        assert!(ran.stdout.contains(text), "no `{text}` in {}", ran.stdout);
    }
    Ok(())
}

const FORKS: &str = r#"
#include <cstdio>
#include <gpurace/findings.h>
#include <sys/wait.h>
#include <unistd.h>
extern "C" int launch(int races);
int main() {
  launch(1);
  int status;
  if (fork() == 0) return (int)gpurace_findings(nullptr) + 10;
  wait(&status);
  printf("%d ", WEXITSTATUS(status));
  fflush(stdout);
  if (fork() == 0) {
    launch(0);
    return (int)gpurace_findings(nullptr) + 10;
  }
  wait(&status);
  printf("%d %zu\n", WEXITSTATUS(status), gpurace_findings(nullptr));
}
"#;

pub fn a_forked_child() -> Result<(), Failed> {
    let folder = work_folder("frameworks_forks")?;
    let program = build(&folder, "forks.cpp", FORKS, &[])?;
    let ran = execute(&program, &[], &folder)?;
    assert_eq!((ran.status, &*ran.stdout), (Some(66), "10 10 1\n"), "{}", ran.stderr);
    Ok(())
}
