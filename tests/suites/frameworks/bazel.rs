//! Bazel builds and runs tests by the rules in `driver/share/bazel`.

use std::fs;
use std::path::Path;
use std::process::Command;

use gpurace_tests::toolchain::{run, tool, work_folder, workspace};
use libtest_mimic::Failed;

const BUILD: &str = r#"
load("@gpurace//:gpurace.bzl", "gpurace_binary", "gpurace_test")

cc_library(name = "twice", srcs = ["twice.cc"], hdrs = ["twice.h"])

gpurace_test(name = "clean", srcs = ["mirror.cu"], hdrs = ["twice.h"], deps = [":twice"], copts = ["-DBARRIER"])
gpurace_test(name = "racy", srcs = ["mirror.cu"], hdrs = ["twice.h"], deps = [":twice"])
gpurace_test(name = "wrong", srcs = ["mirror.cu"], hdrs = ["twice.h"], deps = [":twice"], copts = ["-DBARRIER"], args = ["3"])
gpurace_binary(name = "app", srcs = ["mirror.cu"], hdrs = ["twice.h"], deps = [":twice"])
"#;

const MIRROR: &str = r#"
#include "twice.h"
__global__ void mirror(int *out) {
  __shared__ int tile[64];
  tile[threadIdx.x] = threadIdx.x;
#ifdef BARRIER
  __syncthreads();
#endif
  out[threadIdx.x] = tile[63 - threadIdx.x];
}
int main(int argc, char **) {
  int *out;
  cudaMallocManaged(&out, 64 * sizeof(int));
  mirror<<<1, 64>>>(out);
  cudaDeviceSynchronize();
  return twice(argc) == 2 ? 0 : 3;
}
"#;

/// The rules that Bazel fetches before it builds anything, as those that it has built in. The tests fetch nothing.
const RULES: [(&str, &str, &str); 3] = [
    (
        "rules_cc",
        "cc/defs.bzl",
        "cc_binary cc_import cc_library cc_test cc_toolchain cc_toolchain_suite objc_library",
    ),
    (
        "rules_java",
        "java/defs.bzl",
        "java_binary java_import java_library java_package_configuration java_plugin java_runtime java_test \
         java_toolchain",
    ),
    ("remote_coverage_tools", "BUILD", "coverage_report_generator"),
];

/// Writes the project, and returns Bazel's arguments for its stand-ins.
fn project(folder: &Path) -> Result<Vec<String>, Failed> {
    let rules = workspace().join("driver/share/bazel");
    let name = format!("local_repository(name = \"gpurace\", path = \"{}\")\n", rules.display());
    for (file, text) in [
        ("WORKSPACE", name.as_str()),
        ("BUILD.bazel", BUILD),
        ("mirror.cu", MIRROR),
        ("twice.h", "int twice(int);\n"),
        ("twice.cc", "#include \"twice.h\"\nint twice(int x) { return 2 * x; }\n"),
    ] {
        fs::write(folder.join(file), text)?;
    }
    let stand_ins = work_folder("bazel_rules")?;
    let mut arguments = Vec::new();
    for (repository, file, names) in RULES {
        let (root, file) = (stand_ins.join(repository), stand_ins.join(repository).join(file));
        fs::create_dir_all(file.parent().unwrap_or(&root))?;
        for empty in [root.join("WORKSPACE"), root.join("BUILD"), file.with_file_name("BUILD")] {
            fs::write(empty, "")?;
        }
        let line = |name: &str| match repository {
            "remote_coverage_tools" => {
                format!("filegroup(name = \"{name}\", visibility = [\"//visibility:public\"])\n")
            }
            _ => format!("{name} = native.{name}\n"),
        };
        fs::write(file, names.split_whitespace().map(line).collect::<String>())?;
        arguments.push(format!("--override_repository={repository}={}", root.display()));
    }
    Ok(arguments)
}

pub fn tests_of_bazel() -> Result<(), Failed> {
    let folder = work_folder("bazel")?;
    let arguments = project(&folder)?;
    let gclang = tool("gclang")?;
    let built = gclang.parent().ok_or("no folder")?;
    let path = format!("{}:{}", built.display(), std::env::var("PATH")?);
    let cache = work_folder("bazel_cache")?;
    let bazel = |command: &str, words: &[&str]| {
        let mut bazel = Command::new("bazel");
        // Batch mode leaves no server behind.
        bazel.arg("--batch").arg(format!("--output_user_root={}", cache.display())).arg(command);
        bazel.args(&arguments).args(["--action_env=PATH", "--action_env=CUDA_PATH", "--noshow_progress"]);
        bazel.args(words).current_dir(&folder).env("PATH", &path).env_remove("LD_LIBRARY_PATH");
        bazel.env("CUDA_PATH", workspace().join(".cache/cuda-13.0"));
        run(&mut bazel, &folder)
    };
    let tested = bazel("test", &["--test_output=errors", "//..."])?;
    let all = format!("{}{}", tested.stdout, tested.stderr);
    // Some tests failed.
    assert_eq!(tested.status, Some(3), "{all}");
    let verdict = |test: &str| {
        let line = tested.stdout.lines().find(|line| line.starts_with(&format!("//:{test} ")));
        line.and_then(|line| line.split_whitespace().nth(1)).map(str::to_owned)
    };
    assert_eq!(
        ["clean", "racy", "wrong"].map(verdict),
        ["PASSED", "FAILED", "FAILED"].map(|it| Some(it.to_owned()))
    );
    assert_eq!(all.matches("F1: missing barrier: shared variable `tile` in `mirror`").count(), 1, "{all}");

    // Each test has a report.
    for (test, races) in [("clean", 0), ("racy", 1), ("wrong", 0)] {
        let reports = work_folder(&format!("bazel_{test}"))?;
        let zip = folder.join(format!("bazel-testlogs/{test}/test.outputs/outputs.zip"));
        let mut unpack = Command::new("python3");
        run(unpack.args(["-m", "zipfile", "-e"]).arg(zip).arg(&reports), &folder)?;
        let names =
            fs::read_dir(&reports)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
        let [report] = &names[..] else { return Err(format!("{test}: {names:?}").into()) };
        let report: serde_json::Value = serde_json::from_slice(&fs::read(report)?)?;
        assert_eq!(report["races"].as_array().map(Vec::len), Some(races), "{test}: {report}");
    }

    let ran = bazel("run", &["//:app"])?;
    assert_eq!(ran.status, Some(66), "{}{}", ran.stdout, ran.stderr);
    // The report finds the sources.
    assert!(
        ran.stderr.contains("fix: insert `__syncthreads();` before line 9 of mirror.cu"),
        "{}",
        ran.stderr
    );
    Ok(())
}
