//! Ways to build: objects, archives, shared libraries, several files, several languages. The device
//! code of every object must arrive in the program.

use std::path::{Path, PathBuf};
use std::process::Command;

use gpurace_tests::report::Report;
use gpurace_tests::toolchain::{compile, run, run_checked, tool, work_folder};

const FIRST: &str = r#"
__global__ void kernel_of_first(int* out) { out[0] = threadIdx.x; }
namespace { __global__ void hidden(int* out) { out[1] = threadIdx.x; } }
void first(int* out) {
    kernel_of_first<<<1, 32>>>(out);
    hidden<<<1, 32>>>(out);
}
"#;

// The hidden kernel has the same name in both files.
const SECOND: &str = r#"
namespace { __global__ void hidden(int* out) { out[threadIdx.x] = 7; } }
void first(int* out);
int run(int* host) {
    int* out;
    cudaMalloc(&out, 32 * sizeof(int));
    first(out);
    hidden<<<1, 32>>>(out);
    return cudaMemcpy(host, out, 32 * sizeof(int), cudaMemcpyDeviceToHost);
}
"#;

const MAIN: &str = r#"
#include <cstdio>
int run(int* host);
int main() {
    int host[32];
    if (run(host) != 0) return 2;
    printf("%d %d\n", host[0], host[31]);
}
"#;

fn folder(test: &str) -> PathBuf {
    let folder = work_folder(&format!("builds_{test}")).unwrap();
    for (name, text) in [("first.cu", FIRST), ("second.cu", SECOND), ("main.cpp", MAIN)] {
        std::fs::write(folder.join(name), text).unwrap();
    }
    folder
}

/// Asserts that the program reports both races of `first.cu` on their lines. `second.cu` has none.
fn assert_runs_and_reports(program: &Path, folder: &Path) -> Report {
    let checked = run_checked(program, &[], "", folder).unwrap();
    assert_eq!(checked.outcome.stdout, "7 7\n", "{}", checked.outcome.stderr);
    let report = checked.report.unwrap();
    let mut found: Vec<_> =
        report.races.iter().map(|r| (r.kernel.clone().unwrap_or_default(), r.accesses[0].line)).collect();
    found.sort();
    let hidden = "(anonymous namespace)::hidden(int*)".to_owned();
    assert_eq!(found, [(hidden, Some(3)), ("kernel_of_first(int*)".to_owned(), Some(2))]);
    assert_eq!(checked.outcome.status, Some(66));
    report
}

fn build(args: &[&str], folder: &Path) {
    let all: Vec<&str> = ["-fsanitize=gpurace"].iter().chain(args).copied().collect();
    compile(&all, folder).unwrap();
}

#[test]
fn several_files_at_once() {
    let folder = folder("at_once");
    build(&["first.cu", "second.cu", "main.cpp", "-o", "app"], &folder);
    assert_runs_and_reports(&folder.join("app"), &folder);
}

#[test]
fn variables_that_a_header_defines_are_each_files_own() {
    let folder = work_folder("builds_header").unwrap();
    let header = r#"
#include <cstdio>
inline __device__ int counter = 4;
inline __constant__ int step = 6;
template <class T> __device__ T of_type = 5;
struct Held { static inline __device__ int member = 2; };
inline __managed__ int total = 9;
"#;
    let of_file = |name: &str| {
        format!(
            r#"
#include "header.h"
static __global__ void add() {{ counter++; of_type<int>++; Held::member++; total += step; }}
void {name}() {{
    int got[3];
    add<<<1, 1>>>();
    cudaMemcpyFromSymbol(&got[0], counter, 4);
    cudaMemcpyFromSymbol(&got[1], of_type<int>, 4);
    cudaMemcpyFromSymbol(&got[2], Held::member, 4);
    printf("%d %d %d %d\n", got[0], got[1], got[2], total);
}}
"#
        )
    };
    let main = "void one(); void two(); int main() { one(); one(); two(); }";
    for (name, text) in
        [("header.h", header), ("one.cu", &of_file("one")), ("two.cu", &of_file("two")), ("main.cpp", main)]
    {
        std::fs::write(folder.join(name), text).unwrap();
    }
    // Linked device code has one variable.
    let wanted =
        [(&[][..], "5 6 3 15\n6 7 4 21\n5 6 3 15\n"), (&["-fgpu-rdc"], "5 6 3 15\n6 7 4 21\n7 8 5 27\n")];
    for (options, wanted) in wanted {
        for level in ["-O0", "-O2"] {
            let all: Vec<&str> = options
                .iter()
                .copied()
                .chain([level, "-std=c++17", "one.cu", "two.cu", "main.cpp", "-o", "program"])
                .collect();
            build(&all, &folder);
            let outcome = run(&mut Command::new(folder.join("program")), &folder).unwrap();
            assert_eq!(
                (outcome.status, &outcome.stdout[..]),
                (Some(0), wanted),
                "{options:?} {level}: {}",
                outcome.stderr
            );
        }
    }
}

#[test]
fn objects_then_link() {
    let folder = folder("objects");
    for source in ["first.cu", "second.cu", "main.cpp"] {
        build(&["-O2", "-c", source], &folder);
    }
    // Each source becomes one object, which holds its device code.
    std::fs::remove_file(folder.join("first.cu")).unwrap();
    std::fs::create_dir(folder.join("elsewhere")).unwrap();
    for object in ["first.o", "second.o", "main.o"] {
        std::fs::rename(folder.join(object), folder.join("elsewhere").join(object)).unwrap();
    }
    build(&["elsewhere/first.o", "elsewhere/second.o", "elsewhere/main.o", "-o", "app"], &folder);
    assert_runs_and_reports(&folder.join("app"), &folder);
}

#[test]
fn archive() {
    let folder = folder("archive");
    for source in ["first.cu", "second.cu", "main.cpp"] {
        build(&["-c", source], &folder);
    }
    let mut ar = Command::new("ar");
    let outcome = run(ar.args(["rcs", "libkernels.a", "first.o", "second.o"]).current_dir(&folder), &folder);
    assert_eq!(outcome.unwrap().status, Some(0));
    build(&["main.o", "-L.", "-lkernels", "-o", "app"], &folder);
    assert_runs_and_reports(&folder.join("app"), &folder);
}

#[test]
fn shared_library() {
    let folder = folder("shared");
    build(&["-fPIC", "-shared", "first.cu", "second.cu", "-o", "libkernels.so"], &folder);
    let rpath = format!("-Wl,-rpath,{}", folder.display());
    build(&["main.cpp", "-L.", "-lkernels", &rpath, "-o", "app"], &folder);
    assert_runs_and_reports(&folder.join("app"), &folder);
}

#[test]
fn cuda_in_a_cpp_file() {
    let folder = folder("language");
    std::fs::rename(folder.join("first.cu"), folder.join("first.cpp")).unwrap();
    build(&["-c", "-x", "cuda", "first.cpp", "-o", "first.o"], &folder);
    build(&["first.o", "second.cu", "main.cpp", "-o", "app"], &folder);
    assert_runs_and_reports(&folder.join("app"), &folder);
}

#[test]
fn the_sanitizer_is_taken_back() {
    let folder = folder("taken_back");
    build(&["-fno-sanitize=gpurace", "first.cu", "second.cu", "main.cpp", "-o", "app"], &folder);
    let checked = run_checked(&folder.join("app"), &[], "", &folder).unwrap();
    assert_eq!((checked.outcome.status, checked.outcome.stderr.as_str()), (Some(0), ""));
}

#[test]
fn checked_and_bare_files_go_together() {
    let folder = folder("mixed");
    compile(&["-c", "second.cu"], &folder).unwrap();
    build(&["first.cu", "second.o", "main.cpp", "-o", "app"], &folder);
    let report = assert_runs_and_reports(&folder.join("app"), &folder);
    // A note counts the launches without checks.
    assert!(report.stats.launches_unchecked == 1 || !report.notes.is_empty(), "{:?}", report.stats);
}

#[test]
fn include_paths_and_macros_reach_the_device_side() {
    let folder = folder("include");
    std::fs::create_dir(folder.join("inc")).unwrap();
    std::fs::write(folder.join("inc/put.h"), "__device__ inline void put(int* p) {\n  *p = VALUE;\n}\n")
        .unwrap();
    let text = "#include <put.h>\n__global__ void k(int* p) { put(p); }\n\
                int main() { int* p; cudaMalloc(&p, 4); k<<<1, 32>>>(p); return cudaDeviceSynchronize(); }\n";
    std::fs::write(folder.join("uses.cu"), text).unwrap();
    build(&["-Iinc", "-DVALUE=threadIdx.x", "-O2", "uses.cu", "-o", "app"], &folder);
    let report = run_checked(&folder.join("app"), &[], "", &folder).unwrap().report.unwrap();
    let [race] = &report.races[..] else { panic!("{:?}", report.races) };
    for access in &race.accesses {
        assert_eq!(access.line, Some(2));
        assert!(access.file.as_deref().unwrap().ends_with("inc/put.h"), "{access:?}");
    }
}

#[test]
fn works_from_any_folder_through_a_link() {
    let folder = folder("link");
    let link = folder.join("gclang++");
    std::os::unix::fs::symlink(tool("gclang++").unwrap(), &link).unwrap();
    let mut command = Command::new(&link);
    command.args([
        "-fgpurace-exec=cpu",
        "-fsanitize=gpurace",
        "first.cu",
        "second.cu",
        "main.cpp",
        "-o",
        "app",
    ]);
    let outcome = run(command.current_dir(&folder), &folder).unwrap();
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_runs_and_reports(&folder.join("app"), &folder);
}

#[test]
fn plain_cpp_is_left_to_clang() {
    let folder = folder("plain");
    std::fs::write(
        folder.join("plain.cpp"),
        "#include <cstdio>\nint main() { puts(\"plain\"); return 5; }\n",
    )
    .unwrap();
    let mut command = Command::new(tool("gclang++").unwrap());
    let outcome = run(command.args(["plain.cpp", "-o", "plain"]).current_dir(&folder), &folder).unwrap();
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let outcome = run(&mut Command::new(folder.join("plain")), &folder).unwrap();
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(5), "plain\n"));
}

/// A build for nvcc and g++: host code with OpenMP, which g++ links, and dependencies of a source with CUB.
#[test]
fn a_build_finds_a_toolkit() {
    let folder = work_folder("builds_toolkit").unwrap();
    let source = r#"
#include <cublas_v2.h>
#include <cub/cub.cuh>
#include <omp.h>
__global__ void count(int* out) { atomicAdd(out, 1); }
extern "C" int counted() {
    int *out, host = 0, threads = 0;
    cudaMalloc(&out, 4);
    cudaMemset(out, 0, 4);
#pragma omp parallel num_threads(3)
    {
#pragma omp atomic
        threads += omp_get_thread_num();
    }
    count<<<1, 32>>>(out);
    cudaMemcpy(&host, out, 4, cudaMemcpyDefault);
    return host + threads;
}
"#;
    std::fs::write(folder.join("count.cu"), source).unwrap();
    let main = "#include <cuda_runtime_api.h>\n#include <cstdio>\nextern \"C\" int counted();\n\
                int main() { printf(\"%d %d\\n\", counted(), int(cudaDeviceSynchronize())); }\n";
    std::fs::write(folder.join("main.cpp"), main).unwrap();
    let say = |command: &mut Command| {
        let output = command.current_dir(&folder).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        text
    };
    let toolkit = say(Command::new(tool("gpurace").unwrap()).args(["toolkit", "toolkit"]));
    let toolkit = PathBuf::from(toolkit.trim());
    let nvcc = || {
        let mut nvcc = Command::new(toolkit.join("bin/nvcc"));
        nvcc.args(["-arch=sm_35", "-std=c++17", "-Xcompiler", "-fopenmp", "count.cu"]);
        nvcc
    };
    let depends = say(nvcc().arg("-M"));
    assert!(depends.contains("cublas_v2.h") && depends.contains("cub/cub.cuh"), "{depends}");
    say(nvcc().args(["-c", "-o", "count.o"]));
    let (include, lib) = (toolkit.join("include"), toolkit.join("lib64"));
    say(Command::new("g++")
        .arg("-I")
        .arg(include)
        .args(["-fopenmp", "main.cpp", "count.o", "-o", "main", "-L"])
        .arg(&lib)
        .args(["-lcudart_static"]));
    let said = say(Command::new("./main").env("LD_LIBRARY_PATH", lib));
    assert_eq!(said, "35 0\n");
}
