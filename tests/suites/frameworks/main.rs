//! Of several tests of a test framework one races: that test fails, by name, and no other one. A test
//! whose framework is missing is skipped and counted. `scripts/setup --for-all-tests` installs all of them.

mod bazel;
mod cargo;
mod host_api;
mod python_frames;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use gpurace_tests::toolchain::{Outcome, compile, run, tool, work_folder, workspace};
use libtest_mimic::{Arguments, Failed, Trial};

type Test = fn() -> Result<(), Failed>;

fn main() -> ExitCode {
    let args = Arguments::from_args();
    let has = |header: &str| Path::new("/usr/include").join(header).exists();
    let (googletest, catch, doctest) =
        (has("gtest/gtest.h"), has("catch2/catch.hpp"), has("doctest/doctest.h"));
    let pytest = python().is_some();
    let bazel = Command::new("bazel").arg("--version").output().is_ok_and(|output| output.status.success());
    let tests: [(&str, Test, bool); 20] = [
        ("googletest_fails_the_racy_tests_alone", googletest_fails_racy_tests, googletest),
        ("googletest_without_the_runtime_is_left_alone", googletest_without_runtime, googletest),
        ("googletest_finds_the_runtime_of_a_library", googletest_of_a_library, googletest),
        ("catch2_fails_the_racy_test_alone", || checked_scope("catch2", CATCH), catch),
        ("doctest_fails_the_racy_test_alone", || checked_scope("doctest", DOCTEST), doctest),
        ("pytest_fails_the_racy_tests_alone", pytest_fails_racy_tests, pytest),
        ("pytest_s_status_is_its_own", pytest_s_status, pytest),
        ("pytest_keeps_the_user_s_reports", pytest_keeps_reports, pytest),
        ("googletest_expects_races", host_api::googletest_expects, googletest),
        ("catch2_expects_races", || host_api::others_expect("catch2", CATCH), catch),
        ("doctest_expects_races", || host_api::others_expect("doctest", DOCTEST), doctest),
        ("a_program_may_ask_for_findings", host_api::a_program_asks, true),
        ("a_c_program_uses_the_host_api", host_api::a_c_program, true),
        ("a_python_program_uses_the_host_api", host_api::a_python_program, true),
        ("launches_from_python_name_its_frames", python_frames::frames, true),
        ("pushed_ranges_of_nvtx_are_named_regions", ranges_of_nvtx, true),
        ("faults_and_divergences_are_findings", host_api::faults_and_divergences, true),
        ("cargo_test_fails_the_racy_test_alone", cargo::tests_of_cargo, true),
        ("bazel_fails_the_racy_test_alone", bazel::tests_of_bazel, bazel),
        ("a_forked_child_is_told_of_its_own_findings", host_api::a_forked_child, true),
    ];
    let trials = tests.map(|(name, test, can)| Trial::test(name, test).with_ignored_flag(!can));
    libtest_mimic::run(&args, trials.into()).exit_code()
}

/// A Python that has pytest.
fn python() -> Option<&'static str> {
    ["python3", "/usr/bin/python3"].into_iter().find(|python| {
        Command::new(python)
            .args(["-c", "import pytest"])
            .output()
            .is_ok_and(|output| output.status.success())
    })
}

const FLAGS: [&str; 3] = ["-fsanitize=gpurace", "-fgpurace-exec=cpu", "-Wno-gpurace"];

const KERNELS: &str = r#"
#include <cuda_runtime.h>
__global__ void racy(int *out) { out[0] = threadIdx.x; }
__global__ void clean(int *out) { out[threadIdx.x] = threadIdx.x; }
extern "C" int launch(int races) {
  int *out;
  cudaMalloc(&out, 32 * sizeof(int));
  if (races)
    racy<<<1, 32>>>(out);
  else
    clean<<<1, 32>>>(out);
  cudaDeviceSynchronize();
  return cudaFree(out);
}
extern "C" void *allocate() {
  void *memory;
  cudaMalloc(&memory, 32 * sizeof(int));
  return memory;
}
extern "C" int race_on(void *memory) {
  racy<<<1, 32>>>((int *)memory);
  return cudaDeviceSynchronize();
}
"#;

/// Compiles `kernels.cu`, and this text as the program that links it.
fn build(folder: &Path, source: &str, text: &str, more: &[&str]) -> Result<PathBuf, Failed> {
    std::fs::write(folder.join("kernels.cu"), KERNELS)?;
    std::fs::write(folder.join(source), text)?;
    let mut words = FLAGS.to_vec();
    words.extend(["kernels.cu", source, "-o", "program"]);
    let include = format!("-I{}", workspace().join("driver/include").display());
    words.push(&include);
    words.extend(more);
    compile(&words, folder)?;
    Ok(folder.join("program"))
}

fn execute(program: &Path, args: &[&str], folder: &Path) -> Result<Outcome, Failed> {
    let mut command = Command::new(program);
    command.args(args).current_dir(folder).env("GPURACE_OPTIONS", "device=cpu").env("XDG_CACHE_HOME", folder);
    Ok(run(&mut command, folder)?)
}

const GOOGLETEST: &str = r#"
#include <gtest/gtest.h>
#include <gpurace/testing.h>
GPURACE_LISTEN();
extern "C" int launch(int races);
TEST(Sum, Before) { EXPECT_EQ(launch(0), 0); }
TEST(Sum, Races) { EXPECT_EQ(launch(1), 0); }
TEST(Sum, Between) { EXPECT_EQ(launch(0), 0); }
TEST(Sum, RacesAgain) { EXPECT_EQ(launch(1), 0); }
class InSetUp : public testing::Test {
protected:
  static void SetUpTestSuite() { launch(1); }
};
TEST_F(InSetUp, Passes) { EXPECT_EQ(launch(0), 0); }
"#;

/// The names of the test cases of an XML report that have a failure, and the failures' texts.
fn failures(xml: &Path) -> Result<Vec<(String, String)>, Failed> {
    let text = std::fs::read_to_string(xml)?;
    let mut found = Vec::new();
    for case in text.split("<testcase ").skip(1) {
        let case = case.split("</testcase>").next().unwrap_or_default();
        let name = case.split(" name=\"").nth(1).or_else(|| case.strip_prefix("name=\""));
        let name = name.and_then(|rest| rest.split('"').next()).unwrap_or_default();
        let own = case.split_once('>').filter(|(head, _)| !head.ends_with('/')).map(|(_, body)| body);
        if let Some(failure) = own.filter(|body| body.contains("<failure") || body.contains("<error")) {
            found.push((name.to_owned(), failure.to_owned()));
        }
    }
    Ok(found)
}

fn names(failures: &[(String, String)]) -> Vec<&str> {
    failures.iter().map(|(name, _)| &**name).collect()
}

fn googletest_fails_racy_tests() -> Result<(), Failed> {
    let folder = work_folder("frameworks_googletest")?;
    let program = build(&folder, "suite.cpp", GOOGLETEST, &["-lgtest", "-lgtest_main"])?;
    let all = execute(&program, &["--gtest_output=xml:all.xml"], &folder)?;
    assert_eq!(all.status, Some(1), "{}", all.stdout);
    let failed = failures(&folder.join("all.xml"))?;
    // The set-up of a suite is no test: the suite fails, not the test after it.
    let tests: Vec<_> = failed.iter().filter(|(name, _)| !name.is_empty()).cloned().collect();
    assert_eq!(names(&tests), ["Races", "RacesAgain"], "{}", all.stdout);
    for (name, text) in &tests {
        assert!(text.contains("kernels.cu:3") && text.contains("data race"), "{name}: {text}");
    }
    // The report names the test of the launch that it shows.
    assert!(tests[0].1.contains("in `Sum.Races`"), "{}", tests[0].1);
    assert!(tests[1].1.contains("had been seen before"), "{}", tests[1].1);
    assert!(all.stdout.contains("outside of tests:"), "{}", all.stdout);

    let without = execute(&program, &["--gtest_filter=Sum.Before:Sum.Between"], &folder)?;
    assert_eq!(without.status, Some(0), "{}", without.stdout);
    let set_up = execute(&program, &["--gtest_filter=InSetUp.*"], &folder)?;
    assert_eq!(set_up.status, Some(1), "{}", set_up.stdout);
    assert!(set_up.stdout.contains("[       OK ] InSetUp.Passes"), "{}", set_up.stdout);
    Ok(())
}

/// The program is linked by another compiler, with a library that has the kernels.
fn googletest_of_a_library() -> Result<(), Failed> {
    let folder = work_folder("frameworks_library")?;
    std::fs::write(folder.join("kernels.cu"), KERNELS)?;
    std::fs::write(folder.join("suite.cpp"), GOOGLETEST)?;
    let mut words = FLAGS.to_vec();
    words.extend(["-fPIC", "-shared", "kernels.cu", "-o", "libkernels.so"]);
    compile(&words, &folder)?;
    let mut compiler = Command::new("c++");
    compiler.args([
        "suite.cpp",
        "-o",
        "program",
        "-L.",
        "-lkernels",
        "-Wl,-rpath,.",
        "-lgtest",
        "-lgtest_main",
    ]);
    let include = format!("-I{}", workspace().join("driver/include").display());
    let built = run(compiler.arg(include).current_dir(&folder), &folder)?;
    assert_eq!(built.status, Some(0), "{}", built.stderr);
    let ran = execute(&folder.join("program"), &["--gtest_filter=Sum.*"], &folder)?;
    for line in ["[  FAILED  ] Sum.Races (", "[  FAILED  ] Sum.RacesAgain (", "[  PASSED  ] 2 tests."] {
        assert!(ran.stdout.contains(line), "no `{line}` in {}", ran.stdout);
    }
    Ok(())
}

fn googletest_without_runtime() -> Result<(), Failed> {
    let folder = work_folder("frameworks_plain")?;
    let source = "#include <gtest/gtest.h>\n#include <gpurace/testing.h>\nGPURACE_LISTEN();\nTEST(A, B) { gpurace_options(\"exitcode=3\"); GPURACE_EXPECT_RACE(gpurace_flush()); }\n";
    std::fs::write(folder.join("plain.cpp"), source)?;
    let mut compiler = Command::new("c++");
    compiler.args(["-Wall", "-Wextra", "-Werror", "plain.cpp", "-o", "plain", "-lgtest", "-lgtest_main"]);
    let include = format!("-I{}", workspace().join("driver/include").display());
    let built = run(compiler.arg(include).current_dir(&folder), &folder)?;
    assert_eq!(built.status, Some(0), "{}", built.stderr);
    let ran = execute(&folder.join("plain"), &[], &folder)?;
    assert_eq!(ran.status, Some(0), "{}", ran.stdout);
    Ok(())
}

const CATCH: &str = "#define CATCH_CONFIG_MAIN\n#include <catch2/catch.hpp>\n";
const DOCTEST: &str = "#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN\n#include <doctest/doctest.h>\n";
const CASES: &str = r#"
#include <gpurace/testing.h>
extern "C" int launch(int races);
TEST_CASE("before") { GPURACE_CHECK_SCOPE(); launch(0); }
TEST_CASE("it races") { GPURACE_CHECK_SCOPE(); launch(1); }
TEST_CASE("it races, then fails") { GPURACE_CHECK_SCOPE(); launch(1); REQUIRE(launch(0) == 1); }
TEST_CASE("after") { GPURACE_CHECK_SCOPE(); launch(0); }
"#;

fn checked_scope(framework: &str, head: &str) -> Result<(), Failed> {
    let folder = work_folder(&format!("frameworks_{framework}"))?;
    let program = build(&folder, "suite.cpp", &format!("{head}{CASES}"), &[])?;
    for (case, status, races) in [("before", 0, 0), ("it races", 1, 1), ("it races*", 1, 2), ("after", 0, 0)]
    {
        let named = format!("--test-case={case}");
        let ran = execute(&program, &[if framework == "catch2" { case } else { &named }], &folder)?;
        let counted = ran.stdout.matches("WARNING: gpurace: data race").count();
        assert_eq!(
            (ran.status.map(|status| i32::from(status != 0)), counted),
            (Some(status), races),
            "{case}: {}{}",
            ran.stdout,
            ran.stderr
        );
    }
    let all = execute(&program, &[], &folder)?;
    assert!(all.stdout.contains("2 passed | 2 failed"), "{}", all.stdout);
    Ok(())
}

const PYTEST: &str = r#"
import ctypes
import subprocess

import pytest


def program(*args, **more):
    return subprocess.run(["./program", *args], capture_output=True, **more)


def launch(races):
    assert ctypes.CDLL("./libkernels.so").launch(races) == 0


def test_program_before():
    program(check=True)


def test_program_races():
    program("races")


def test_program_races_and_is_checked():
    program("races", check=True)


def test_program_after():
    program(check=True)


def test_module_before():
    launch(0)


def test_module_races():
    launch(1)


def test_module_after():
    launch(0)


@pytest.fixture
def racy():
    program("races")


def test_fixture_races(racy):
    pass


@pytest.mark.xfail(strict=True)
def test_race_is_expected():
    launch(1)
"#;

/// A folder with a program, an extension module and tests.
fn python_tests(name: &str) -> Result<PathBuf, Failed> {
    let folder = work_folder(&format!("frameworks_{name}"))?;
    let main =
        "extern \"C\" int launch(int races);\nint main(int count, char **) { return launch(count > 1); }\n";
    build(&folder, "main.cpp", main, &[])?;
    let mut words = FLAGS.to_vec();
    words.extend(["-fPIC", "-shared", "kernels.cu", "-o", "libkernels.so"]);
    compile(&words, &folder)?;
    std::fs::write(folder.join("test_all.py"), PYTEST)?;
    Ok(folder)
}

fn pytest(folder: &Path, args: &[&str], options: &str) -> Result<Outcome, Failed> {
    let mut command = Command::new(python().ok_or("no pytest")?);
    let mut path = tool("gpurace")?.parent().map(Path::as_os_str).unwrap_or_default().to_owned();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    command
        .args(["-m", "pytest", "-p", "gpurace.pytest_plugin", "-p", "no:cacheprovider"])
        .args(args)
        .current_dir(folder)
        .env("PYTHONPATH", workspace().join("driver/python"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("PATH", path)
        .env("TMPDIR", folder)
        .env("GPURACE_OPTIONS", format!("device=cpu:{options}").trim_end_matches(':'))
        .env("XDG_CACHE_HOME", folder);
    Ok(run(&mut command, folder)?)
}

fn pytest_fails_racy_tests() -> Result<(), Failed> {
    let folder = python_tests("pytest")?;
    let ran = pytest(&folder, &["--junitxml=all.xml", "test_all.py"], "")?;
    assert_eq!(ran.status, Some(1), "{}{}", ran.stdout, ran.stderr);
    let failed = failures(&folder.join("all.xml"))?;
    let wanted = [
        "test_program_races",
        "test_program_races_and_is_checked",
        "test_module_races",
        "test_fixture_races",
    ];
    assert_eq!(names(&failed), wanted, "{}", ran.stdout);
    for (name, text) in &failed {
        assert!(text.contains("kernels.cu:3") && text.contains("data race"), "{name}: {text}");
    }
    // The report names the test of a launch of the same process.
    let module = &failed[2].1;
    assert!(module.contains("`test_all.py::test_module_races`"), "{module}");
    // The other reason why a test failed stays.
    assert!(failed[1].1.contains("CalledProcessError"), "{}", failed[1].1);
    assert!(ran.stdout.contains("3 failed, 4 passed, 1 xfailed, 1 error"), "{}\n{}", ran.stdout, ran.stderr);
    Ok(())
}

fn pytest_s_status() -> Result<(), Failed> {
    let folder = python_tests("pytest_status")?;
    for (chosen, status) in [("expected", 0), ("before or after", 0), ("module_races", 1)] {
        let ran = pytest(&folder, &["test_all.py", "-k", chosen], "")?;
        assert_eq!(ran.status, Some(status), "{chosen}: {}{}", ran.stdout, ran.stderr);
    }
    // What races while a module is imported belongs to no test, and still counts.
    let outside = "import ctypes\nctypes.CDLL('./libkernels.so').launch(1)\ndef test_passes():\n    pass\n";
    std::fs::write(folder.join("test_outside.py"), outside)?;
    let ran = pytest(&folder, &["test_outside.py"], "")?;
    assert_eq!(ran.status, Some(1), "{}{}", ran.stdout, ran.stderr);
    for text in ["1 passed", "gpurace: outside of tests", "kernels.cu:3"] {
        assert!(ran.stdout.contains(text), "no `{text}` in {}", ran.stdout);
    }
    Ok(())
}

fn pytest_keeps_reports() -> Result<(), Failed> {
    let folder = python_tests("pytest_reports")?;
    std::fs::create_dir_all(folder.join("reports"))?;
    let ran = pytest(&folder, &["test_all.py", "-k", "test_program"], "json=reports/%p.json")?;
    assert_eq!(ran.status, Some(1), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(std::fs::read_dir(folder.join("reports"))?.count(), 4);
    Ok(())
}

const RANGES: &str = r#"
#include <gpurace/findings.h>
#include <nvtx3/nvToolsExt.h>
extern "C" int launch(int races);
int main() {
  nvtxRangePushA("solver");
  nvtxRangePushW(L"left");
  nvtxRangePop();
  nvtxRangeStartA("started");
  gpurace_region_begin("ü");
  nvtxRangePushW(L"\u00e4");
  launch(1);
}
"#;

fn ranges_of_nvtx() -> Result<(), Failed> {
    let folder = work_folder("frameworks_nvtx")?;
    let named = "kernels.cu:9, in `solver / ü / ä`";
    let program = build(&folder, "main.cpp", RANGES, &[])?;
    let ran = execute(&program, &[], &folder)?;
    assert!(ran.stderr.contains(named), "{}", ran.stderr);
    // A tool that the user names gets the ranges in the runtime's place.
    let mut with_tool = Command::new(&program);
    with_tool
        .current_dir(&folder)
        .env("GPURACE_OPTIONS", "device=cpu")
        .env("NVTX_INJECTION64_PATH", "/none.so");
    let with_tool = run(&mut with_tool, &folder)?;
    assert!(with_tool.stderr.contains("kernels.cu:9, in `ü`"), "{}", with_tool.stderr);

    // Objects of other compilers, before those of gclang, and such that call the functions by name.
    let toolkit = format!("-I{}", workspace().join(".cache/cuda-13.0/include").display());
    let include = format!("-I{}", workspace().join("driver/include").display());
    for more in [&[][..], &["-DNVTX_NO_IMPL"]] {
        let mut compiler = Command::new("g++");
        compiler.current_dir(&folder).args(["-c", "main.cpp", "-o", "main.o", &toolkit, &include]).args(more);
        assert_eq!(run(&mut compiler, &folder)?.status, Some(0));
        let mut words = vec!["main.o", "kernels.cu", "-lnvToolsExt", "-o", "program"];
        words.extend(FLAGS);
        compile(&words, &folder)?;
        let ran = execute(&program, &[], &folder)?;
        assert!(ran.stderr.contains(named), "{more:?}: {}", ran.stderr);
    }
    Ok(())
}
