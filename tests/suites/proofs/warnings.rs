//! What the compiler says of proofs: warnings, remarks, and the file of facts.

use std::process::Command;

use gpurace_tests::toolchain::{Outcome, compile, run, tool, work_folder};
use serde_json::Value;

use super::SOURCE;

/// A kernel that races in every launch with more than one thread, and two that do not.
const RACY_AND_FINE: &str = "__global__ void racy(int* p, int n) {\n    p[threadIdx.x / 2] = n;\n}\n\
     __global__ void fine(int* p, int n) {\n    if (threadIdx.x == 0 && blockIdx.x == 0) p[0] = n;\n}\n\
     __global__ void absurd(int* p, int n) {\n    p[blockIdx.x * blockDim.x + threadIdx.x] = n;\n}\n";

/// Returns what `gclang++` prints about a source.
fn diagnostics(test: &str, source: &str, flags: &[&str]) -> Outcome {
    let folder = work_folder(&format!("proofs_{test}")).unwrap();
    std::fs::write(folder.join("w.cu"), source).unwrap();
    let mut command = Command::new(tool("gclang++").unwrap());
    command.args(["-fsanitize=gpurace", "-fgpurace-exec=cpu", "-c", "w.cu", "-o", "w.o"]);
    command.args(flags).current_dir(&folder);
    run(&mut command, &folder).unwrap()
}

#[test]
fn a_race_in_every_launch_is_a_warning() {
    let said = diagnostics("warning", RACY_AND_FINE, &[]);
    assert_eq!(said.status, Some(0));
    assert!(said.stderr.starts_with("w.cu:2:24: warning: data race in `racy(int*, int)`"), "{}", said.stderr);
    assert!(
        said.stderr.contains("[-Wgpurace]") && said.stderr.contains("w.cu:2:24: note: "),
        "{}",
        said.stderr
    );
    // A race only if `blockDim.y` is 2 is a condition of a proof, not a warning.
    assert_eq!(said.stderr.matches("warning:").count(), 1, "{}", said.stderr);

    let said = diagnostics("werror", RACY_AND_FINE, &["-Werror=gpurace"]);
    assert_eq!(said.status, Some(1));
    assert!(said.stderr.contains("error: data race") && said.stderr.contains("[-Werror,-Wgpurace]"));
    for silent in ["-Wno-gpurace", "-w"] {
        let said = diagnostics(&format!("silent{silent}"), RACY_AND_FINE, &[silent]);
        assert_eq!((said.status, said.stderr.as_str()), (Some(0), ""), "{silent}");
    }
}

#[test]
fn a_race_within_each_block_is_a_warning_though_blocks_race_too() {
    let shift = "__global__ void shift(int* a) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    \
                 a[i] = a[i + 1];\n}\n";
    let said = diagnostics("shift", shift, &[]);
    assert!(said.stderr.starts_with("w.cu:3:12: warning: data race in `shift(int*)`"), "{}", said.stderr);
    // Only another block races here, and the kernel may be for one.
    let blocks = shift.replace("i + 1]", "i + blockDim.x]");
    assert_eq!(diagnostics("blocks", &blocks, &[]).stderr, "");
}

#[test]
fn two_lines_and_an_object_are_one_warning() {
    let sums = "__global__ void sums(int* a) {\n    int i = threadIdx.x;\n    \
                int sum = a[i + 1] + a[i + 2] + a[i + 3];\n    \
                a[i] = sum;\n    a[i + 256] = a[i + 255];\n}\n";
    let said = diagnostics("lines", sums, &[]).stderr;
    assert_eq!(said.matches("[-Wgpurace]").count(), 2, "{said}");
    assert!(said.contains("note: 2 further pairs of accesses in these lines race likewise"), "{said}");
}

#[test]
fn no_warning_rests_on_a_pointer_that_may_be_to_another_array() {
    let turned = "__global__ void turned(float* a, float* b, float* c) {\n    int i = threadIdx.x;\n    \
                  for (int k = 0; k < 8; k++) {\n        b[i] = i ? a[i - 1] : 0;\n        __syncthreads();\n        \
                  float* t = a;\n        a = b;\n        b = c;\n        c = t;\n    }\n}\n";
    assert_eq!(diagnostics("turned", turned, &[]).stderr, "");
    let swapped = turned.replace("b = c;", "").replace("c = t;", "b = t;");
    assert_eq!(diagnostics("swapped", &swapped, &[]).stderr, "");
    let racy = swapped.replace("b[i] = i", "a[i] = i");
    let said = diagnostics("swapped_racy", &racy, &[]).stderr;
    assert!(said.starts_with("w.cu:4:"), "{said}");
}

#[test]
fn remarks_say_what_is_proved_and_what_is_not() {
    let said = diagnostics("remarks", RACY_AND_FINE, &["-Rpass=gpurace", "-Wno-gpurace"]).stderr;
    assert!(
        said.contains("w.cu:5:51: remark: write of 4 bytes in `fine(int*, int)` cannot race in launches"),
        "{said}"
    );
    assert!(!said.contains("racy("), "{said}");
    let said = diagnostics("missed", RACY_AND_FINE, &["-Rpass-missed=gpurace", "-Wno-gpurace"]).stderr;
    assert!(
        said.contains("w.cu:2:24: remark: write of 4 bytes in `racy(int*, int)` stays checked"),
        "{said}"
    );
    assert!(said.contains("[-Rpass-missed=gpurace]") && !said.contains("fine("), "{said}");
}

#[test]
fn facts_hold_verdicts_with_their_reasons() {
    let folder = work_folder("proofs_facts").unwrap();
    std::fs::write(folder.join("k.cu"), SOURCE).unwrap();
    let flags = ["-fsanitize=gpurace", "-c", "k.cu", "-o", "k.o", "-fgpurace-facts=facts.json"];
    compile(&flags, &folder).unwrap();
    let facts: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("facts.json")).unwrap()).unwrap();
    assert_eq!(facts["schema"], "gpurace-facts/1");
    let kernels = facts["kernels"].as_array().unwrap();
    let saxpy = kernels.iter().find(|k| k["name"].as_str().unwrap().starts_with("saxpy(")).unwrap();
    let sites = saxpy["sites"].as_array().unwrap();
    assert_eq!(sites.len(), 3);
    let store = sites.iter().find(|s| s["op"] == "write").unwrap();
    assert_eq!((&store["verdict"], &store["line"]), (&Value::from("proved-if"), &Value::from(5)));
    let requires: Vec<_> =
        store["requires"].as_array().unwrap().iter().map(|r| r.as_str().unwrap()).collect();
    assert!(requires.contains(&"blockDim.y == 1") && requires.contains(&"disjoint(x, y)"), "{requires:?}");
    let through = kernels.iter().find(|k| k["name"].as_str().unwrap().starts_with("through(")).unwrap();
    let checked = through["sites"].as_array().unwrap().iter().find(|s| s["verdict"] == "checked").unwrap();
    assert!(checked["why"].as_str().unwrap().contains("value loaded from `index`"), "{checked}");
}
