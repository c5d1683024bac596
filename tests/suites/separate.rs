//! Separate compilation (`-fgpu-rdc`): device code uses functions and variables of another file, and
//! the objects reach the link in each usual way.

use std::path::{Path, PathBuf};
use std::process::Command;

use gpurace_tests::report::Report;
use gpurace_tests::toolchain::{Outcome, compile, run, run_checked, tool, work_folder};

/// No host code names a part of this file. `bump` races if threads share `p`.
const DEVICE: &str = "\
__device__ int counter;
__device__ void bump(int* p) {
    *p += 1;
}
";

// Both files have a static kernel `work`, and one kernel with a name of its own.
const SHARED: &str = "\
#include <cstdio>
extern __device__ int counter;
__device__ void bump(int*);
static __global__ void work() { bump(&counter); }
int shared() {
    int sum = 0;
    work<<<1, 32>>>();
    cudaMemcpyFromSymbol(&sum, counter, sizeof sum);
    return sum > 0;
}
";

const OWN: &str = "\
__device__ void bump(int*);
static __global__ void work(int* out) { bump(&out[threadIdx.x]); }
__global__ void scale(int* out) { out[threadIdx.x] *= 3; }
int own() {
    int *out, host[32];
    cudaMalloc(&out, sizeof host);
    cudaMemset(out, 0, sizeof host);
    work<<<1, 32>>>(out);
    scale<<<1, 32>>>(out);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    return host[31];
}
";

const MAIN: &str = "\
#include <cstdio>
int shared();
int own();
int main() { printf(\"%d %d\\n\", shared(), own()); }
";

fn folder(test: &str) -> PathBuf {
    let folder = work_folder(&format!("separate_{test}")).unwrap();
    for (name, text) in [("device.cu", DEVICE), ("shared.cu", SHARED), ("own.cu", OWN), ("main.cpp", MAIN)] {
        std::fs::write(folder.join(name), text).unwrap();
    }
    folder
}

fn build(args: &[&str], folder: &Path) {
    let all: Vec<&str> = ["-fsanitize=gpurace"].iter().chain(args).copied().collect();
    compile(&all, folder).unwrap();
}

/// Compiles all files to objects, the CUDA ones with these options.
fn objects(options: &[&str], folder: &Path) {
    for source in ["device.cu", "shared.cu", "own.cu"] {
        let args: Vec<&str> = options.iter().copied().chain(["-c", source]).collect();
        build(&args, folder);
    }
    build(&["-c", "main.cpp"], folder);
}

fn archive(name: &str, members: &[&str], folder: &Path) {
    let mut ar = Command::new("ar");
    let outcome = run(ar.arg("rcs").arg(name).args(members).current_dir(folder), folder);
    assert_eq!(outcome.unwrap().status, Some(0));
}

/// Runs the program. Its one race is in the function of `device.cu` that `shared.cu` calls.
fn assert_runs_and_reports(folder: &Path) -> Report {
    let checked = run_checked(&folder.join("app"), &[], "", folder).unwrap();
    assert_eq!(checked.outcome.stdout, "1 3\n", "{}", checked.outcome.stderr);
    assert_eq!(checked.outcome.status, Some(66));
    let report = checked.report.unwrap();
    let found: Vec<_> = report.races.iter().map(|r| (r.kernel.as_deref(), r.accesses[0].line)).collect();
    assert_eq!(found, [(Some("work()"), Some(3))]);
    assert!(checked.outcome.stderr.contains("#1 work shared.cu:4"), "{}", checked.outcome.stderr);
    report
}

fn refused(args: &[&str], folder: &Path) -> Outcome {
    let mut command = Command::new(tool("gclang++").unwrap());
    command.arg("-fsanitize=gpurace").args(args).current_dir(folder);
    let outcome = run(&mut command, folder).unwrap();
    assert_eq!(outcome.status, Some(1), "{}", outcome.stderr);
    outcome
}

#[test]
fn all_files_at_once() {
    let folder = folder("at_once");
    build(&["-fgpu-rdc", "device.cu", "shared.cu", "own.cu", "main.cpp", "-o", "app"], &folder);
    assert_runs_and_reports(&folder);
}

#[test]
fn objects_then_link_and_what_calls_across_files_is_proved() {
    let folder = folder("objects");
    objects(&["-O2", "-fgpu-rdc"], &folder);
    build(
        &["-fgpu-rdc", "device.o", "shared.o", "own.o", "main.o", "-o", "app", "-fgpurace-facts=facts.json"],
        &folder,
    );
    assert_runs_and_reports(&folder);
    let facts: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.join("facts.json")).unwrap()).unwrap();
    // For each access of the kernel: true if it is proved for blocks of one thread only.
    let needs_one_thread = |name: &str| -> Vec<bool> {
        let kernel = facts["kernels"].as_array().unwrap().iter().find(|k| k["name"] == name);
        let sites =
            kernel.unwrap_or_else(|| panic!("no `{name}` in {facts}"))["sites"].as_array().unwrap().clone();
        sites
            .iter()
            .map(|site| {
                assert!(site["verdict"].as_str().unwrap().starts_with("proved"), "{facts}");
                site["requires"].as_array().unwrap().iter().any(|condition| condition == "blockDim.x == 1")
            })
            .collect()
    };
    // One kernel passes a thread's own element to `bump`, the other a shared one.
    assert_eq!(needs_one_thread("work(int*)"), [false, false], "{facts}");
    assert_eq!(needs_one_thread("work()"), [true, true], "{facts}");
}

#[test]
fn a_link_without_the_option_sees_what_the_objects_hold() {
    let folder = folder("unasked");
    objects(&["-fgpu-rdc"], &folder);
    build(&["device.o", "shared.o", "own.o", "main.o", "-o", "app"], &folder);
    assert_runs_and_reports(&folder);
}

#[test]
fn an_archive_of_device_functions_that_no_host_code_names() {
    let folder = folder("archive");
    objects(&["-rdc=true"], &folder);
    archive("libdevice.a", &["device.o"], &folder);
    archive("libhost.a", &["shared.o", "own.o"], &folder);
    build(&["main.o", "-L.", "-lhost", "-ldevice", "-o", "app"], &folder);
    assert_runs_and_reports(&folder);
}

#[test]
fn a_shared_library_keeps_its_device_code() {
    let folder = folder("shared");
    objects(&["-fPIC", "-fgpu-rdc"], &folder);
    build(&["-shared", "device.o", "shared.o", "own.o", "-o", "libkernels.so"], &folder);
    build(&["main.o", "-L.", "-lkernels", "-Wl,-rpath,.", "-o", "app"], &folder);
    assert_runs_and_reports(&folder);
}

#[test]
fn a_device_link_of_its_own_then_any_linker() {
    let folder = folder("dlink");
    objects(&["-dc"], &folder);
    archive("libdevice.a", &["device.o"], &folder);
    build(&["-dlink", "shared.o", "own.o", "libdevice.a", "-lcudadevrt", "-o", "joined.o"], &folder);
    let mut linker = Command::new("g++");
    let runtime = tool("gclang++").unwrap().parent().unwrap().to_owned();
    linker.args(["main.o", "shared.o", "own.o", "joined.o", "libdevice.a", "-o", "app", "-lgpurace_rt"]);
    linker.arg("-L").arg(&runtime).arg(format!("-Wl,-rpath,{}", runtime.display()));
    let outcome = run(linker.current_dir(&folder), &folder).unwrap();
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert_runs_and_reports(&folder);
    // gclang++ sees that the device code is already linked.
    build(&["main.o", "shared.o", "own.o", "joined.o", "libdevice.a", "-o", "app"], &folder);
    assert_runs_and_reports(&folder);
}

#[test]
fn a_device_link_of_objects_that_need_hidden_symbols() {
    let folder = folder("dlink_hidden");
    // The destructor's registration needs `__dso_handle`, and each use of `own_of` needs a hidden function.
    let hidden = "__attribute__((visibility(\"hidden\"))) int own_of(int);";
    let destructor = "struct Named { ~Named() { value = 0; } int value = own_of(1); } named;";
    std::fs::write(folder.join("shared.cu"), format!("{SHARED}{hidden}\n{destructor}\n")).unwrap();
    std::fs::write(folder.join("main.cpp"), format!("{hidden}\nint own_of(int a) {{ return a; }}\n{MAIN}"))
        .unwrap();
    objects(&["-dc"], &folder);
    build(&["-dlink", "device.o", "shared.o", "own.o", "-o", "joined.o"], &folder);
    build(&["main.o", "device.o", "shared.o", "own.o", "joined.o", "-o", "app"], &folder);
    assert_runs_and_reports(&folder);
}

#[test]
fn link_time_optimisation_of_host_code() {
    let folder = folder("lto");
    objects(&["-flto", "-fgpu-rdc"], &folder);
    build(&["-flto", "-fuse-ld=lld", "device.o", "shared.o", "own.o", "main.o", "-o", "app"], &folder);
    assert_runs_and_reports(&folder);
}

#[test]
fn without_checks() {
    let folder = folder("bare");
    for source in ["device.cu", "shared.cu", "own.cu", "main.cpp"] {
        compile(&["-fgpu-rdc", "-c", source], &folder).unwrap();
    }
    compile(&["device.o", "shared.o", "own.o", "main.o", "-o", "app"], &folder).unwrap();
    let checked = run_checked(&folder.join("app"), &[], "", &folder).unwrap();
    assert_eq!((checked.outcome.status, checked.outcome.stdout.as_str()), (Some(0), "1 3\n"));
}

#[test]
fn files_with_and_without_the_option_in_one_program() {
    let folder = folder("both");
    objects(&["-fgpu-rdc"], &folder);
    std::fs::write(
        folder.join("alone.cu"),
        "__device__ int counter;\n__global__ void alone() { counter = threadIdx.x; }\n\
         int run() { alone<<<1, 2>>>(); return cudaDeviceSynchronize(); }\n",
    )
    .unwrap();
    let main = format!("int run();\n{}", MAIN.replace("{ printf", "{ run(); printf"));
    std::fs::write(folder.join("main.cpp"), main).unwrap();
    build(&["-c", "main.cpp"], &folder);
    // The `counter` of this file is a variable of its own: the others' is in another image.
    std::fs::write(folder.join("rename.h"), "#define counter own_counter\n").unwrap();
    build(&["-include", "rename.h", "-c", "alone.cu"], &folder);
    build(&["alone.o", "device.o", "shared.o", "own.o", "main.o", "-o", "app"], &folder);
    let checked = run_checked(&folder.join("app"), &[], "", &folder).unwrap();
    let mut kernels: Vec<_> =
        checked.report.unwrap().races.iter().map(|r| r.kernel.clone().unwrap()).collect();
    kernels.sort();
    assert_eq!(kernels, ["alone()", "work()"]);
}

#[test]
fn a_function_that_is_nowhere_is_named() {
    let folder = folder("undefined");
    objects(&["-fgpu-rdc"], &folder);
    let outcome = refused(&["main.o", "shared.o", "own.o", "-o", "app"], &folder);
    for part in [
        "no object of this link defines device function `bump(int*)`",
        "device symbol `counter`",
        "hint: compile the file that defines it with `-fgpu-rdc`",
    ] {
        assert!(outcome.stderr.contains(part), "{}", outcome.stderr);
    }
}

/// Code in both files: a static variable and a constant, which host code uses through kernels; a
/// template; an inline function.
const HEADER: &str = "\
#include <cstdio>
template <int N> __global__ void reverse(int* p) {
    __shared__ int s[N];
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    p[threadIdx.x] = s[N - 1 - threadIdx.x];
}
static __device__ int mine;
static __constant__ int scale[4];
inline __device__ int next(int x) { static __device__ int calls; atomicAdd(&calls, 1); return x + 1; }
template <int N> int reversed() {
    int *p, h[N];
    cudaMalloc(&p, sizeof h);
    reverse<N><<<1, N>>>(p);
    cudaMemcpy(h, p, sizeof h, cudaMemcpyDeviceToHost);
    return h[0];
}
static __global__ void set() { mine = next(scale[1]); }
static int set_to(int value) {
    int values[4] = {0, value}, result;
    cudaMemcpyToSymbol(scale, values, sizeof values);
    set<<<1, 1>>>();
    cudaMemcpyFromSymbol(&result, mine, sizeof result);
    return result;
}
";

#[test]
fn what_several_files_have_alike_is_kept_apart_or_is_one() {
    let folder = folder("alike");
    std::fs::write(folder.join("both.h"), HEADER).unwrap();
    let main = "#include \"both.h\"\nint other();\n\
                int main() { int a = set_to(5), b = other(); printf(\"%d %d %d\\n\", a, b, reversed<32>()); }\n";
    std::fs::write(folder.join("one.cu"), main).unwrap();
    std::fs::write(
        folder.join("two.cu"),
        "#include \"both.h\"\nint other() { return set_to(7) * 100 + reversed<32>(); }\n",
    )
    .unwrap();
    for level in ["-O0", "-O2"] {
        build(&["-fgpu-rdc", level, "one.cu", "two.cu", "-o", "app"], &folder);
        let checked = run_checked(&folder.join("app"), &[], "", &folder).unwrap();
        assert_eq!(checked.outcome.stdout, "6 831 31\n", "{}", checked.outcome.stderr);
        assert_eq!(checked.outcome.status, Some(0), "{}", checked.outcome.stderr);
    }
}

#[test]
fn two_definitions_are_an_error_of_the_link() {
    let folder = folder("twice");
    objects(&["-fgpu-rdc"], &folder);
    std::fs::write(folder.join("again.cu"), "__device__ void bump(int* p) { *p = 0; }\n").unwrap();
    build(&["-fgpu-rdc", "-c", "again.cu"], &folder);
    let outcome = refused(&["main.o", "shared.o", "own.o", "device.o", "again.o", "-o", "app"], &folder);
    assert!(
        outcome.stderr.contains("multiple definition of `__gpurace_device__Z4bumpPi'"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn checked_and_unchecked_units_are_not_joined() {
    let folder = folder("mixed");
    objects(&["-fgpu-rdc"], &folder);
    compile(&["-fgpu-rdc", "-c", "device.cu"], &folder).unwrap();
    let outcome = refused(&["main.o", "shared.o", "own.o", "device.o", "-o", "app"], &folder);
    assert!(outcome.stderr.contains("that of `device.cu` without"), "{}", outcome.stderr);
}

#[test]
fn dependency_files_name_the_sources_alone() {
    let folder = folder("dependencies");
    build(&["-fgpu-rdc", "-c", "-MMD", "-MF", "own.d", "own.cu"], &folder);
    assert_eq!(std::fs::read_to_string(folder.join("own.d")).unwrap(), "own.o: own.cu\n");
}

#[test]
fn a_program_without_device_code_links_with_the_option() {
    let folder = folder("none");
    std::fs::write(folder.join("empty.cpp"), "int main() {}\n").unwrap();
    build(&["-fgpu-rdc", "empty.cpp", "-o", "app"], &folder);
    assert_eq!(run_checked(&folder.join("app"), &[], "", &folder).unwrap().outcome.status, Some(0));
}

#[test]
fn managed_variables_of_several_files_have_pages_of_their_own() {
    let folder = work_folder("separate_managed").unwrap();
    let header = "\
#include <cstdio>
extern __managed__ int total;
extern __managed__ int table[];
inline __managed__ int counter = 4;
template <class T> __managed__ T of_type = 5;
";
    // These variables lie beside the managed ones in their file.
    let definitions = "\
#include \"header.h\"
int before;
__managed__ int total = 3;
int between;
static __managed__ int own = 20;
__managed__ int table[7] = {1, 2, 3};
int behind;
__global__ void add() { total++; table[2]++; counter++; of_type<int>++; own++; }
void first(int* sum, const void** places) {
    add<<<1, 1>>>();
    cudaDeviceSynchronize();
    *sum = own;
    const void* all[] = {&before, &between, &behind, &own};
    for (auto place : all) *places++ = place;
}
";
    let main = "\
#include \"header.h\"
int neighbour;
static __managed__ int own = 30;
__global__ void add_more() { total++; table[2]++; counter++; of_type<int>++; own++; }
void first(int* sum, const void** places);
int main() {
    int sum;
    const void* places[11] = {&total, table, &counter, &of_type<int>, &own, &neighbour, stdout};
    first(&sum, places + 7);
    add_more<<<1, 1>>>();
    cudaDeviceSynchronize();
    printf(\"%d %d %d %d %d %d\\n\", total, table[2], counter, of_type<int>, own, sum);
    // The first five variables and the last one are managed.
    for (int i = 0; i < 11; i++)
        for (int j = 0; j < i; j++)
            if ((j < 5 || i == 10) && (size_t)places[i] / 4096 == (size_t)places[j] / 4096) printf(\"%d beside %d\\n\", i, j);
}
";
    for (name, text) in [("header.h", header), ("definitions.cu", definitions), ("main.cu", main)] {
        std::fs::write(folder.join(name), text).unwrap();
    }
    for options in [&[][..], &["-O2"], &["-flto", "-fuse-ld=lld"]] {
        let all: Vec<&str> = ["-fgpu-rdc", "-std=c++17"]
            .iter()
            .chain(options)
            .copied()
            .chain(["definitions.cu", "main.cu", "-o", "program"])
            .collect();
        build(&all, &folder);
        let outcome = run(&mut Command::new(folder.join("program")), &folder).unwrap();
        assert_eq!(
            (outcome.status, &outcome.stdout[..]),
            (Some(0), "5 5 6 7 31 21\n"),
            "{options:?}: {}",
            outcome.stderr
        );
    }
}
