//! CMake projects with the toolchain file: a user configures, builds and tests them, uses ccache, and
//! opens them in clangd. A test whose program is missing is skipped and counted. `scripts/setup`
//! installs all programs.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use gpurace_tests::toolchain::{Outcome, run, tool, work_folder, workspace};
use libtest_mimic::{Arguments, Failed, Trial};

type Test = fn() -> Result<(), Failed>;

fn main() -> ExitCode {
    let args = Arguments::from_args();
    let missing =
        |also: &[&str]| !["cmake", "ctest", "ninja"].iter().chain(also).all(|program| is_there(program));
    let tests: [(&str, Test, &[&str]); 14] = [
        ("a_racy_test_of_the_example_fails", a_racy_test_fails, &[]),
        ("the_repaired_example_passes", the_repaired_example_passes, &[]),
        ("only_enabled_targets_are_checked", only_enabled_targets, &[]),
        ("the_old_module_finds_cuda", the_old_module, &[]),
        ("a_target_that_names_cuda_s_headers_is_installed", installed, &[]),
        ("separable_compilation_is_linked", separable_compilation, &[]),
        ("the_driver_and_its_modules_are_built", driver_api, &[]),
        ("libraries_beside_the_runtime_are_found_and_linked", own_libraries, &[]),
        ("a_project_may_set_nvccs_flags", nvccs_flags, &[]),
        ("the_presets_are_read", the_presets_are_read, &[]),
        ("init_writes_presets_that_work", init, &[]),
        ("ccache_finds_what_was_compiled_before", ccache, &["ccache"]),
        ("clangd_reads_the_example", clangd, &["clangd-22"]),
        ("tests_leave_reports", tests_leave_reports, &["/usr/include/gtest/gtest.h"]),
    ];
    let trials = tests.map(|(name, test, also)| Trial::test(name, test).with_ignored_flag(missing(also)));
    libtest_mimic::run(&args, trials.into()).exit_code()
}

/// True if a program answers, or a file with this absolute path exists.
fn is_there(program: &str) -> bool {
    if program.starts_with('/') {
        return Path::new(program).exists();
    }
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

fn example() -> PathBuf {
    workspace().join("examples/cmake-project")
}

/// Runs a command in `folder`, without the environment variables that this process's user has set.
fn command(program: &str, args: &[&str], folder: &Path) -> Result<Outcome, String> {
    let mut command = Command::new(program);
    command.args(args).current_dir(folder);
    for variable in ["GPURACE_OPTIONS", "CUDAARCHS", "CUDACXX", "CUDAFLAGS", "CMAKE_GENERATOR"] {
        command.env_remove(variable);
    }
    command.env("XDG_CACHE_HOME", folder).env("CCACHE_DIR", folder.join("ccache"));
    run(&mut command, folder)
}

/// Runs a command that must end with status 0.
fn succeed(program: &str, args: &[&str], folder: &Path) -> Result<Outcome, String> {
    let outcome = command(program, args, folder)?;
    match outcome.status {
        Some(0) => Ok(outcome),
        status => {
            Err(format!("{program} {args:?} ended with {status:?}:\n{}{}", outcome.stdout, outcome.stderr))
        }
    }
}

/// Configures a project in `folder/build` with the toolchain file, and builds it in parallel.
fn build(source: &Path, folder: &Path, options: &[&str]) -> Result<(), String> {
    let toolchain = workspace().join("driver/share/cmake/gpurace/gpurace-toolchain.cmake");
    let bin = tool("gclang++")?.parent().map(Path::to_owned).unwrap_or_default();
    let words = [
        format!("-DCMAKE_TOOLCHAIN_FILE={}", toolchain.display()),
        format!("-DGPURACE_BIN_DIR={}", bin.display()),
        source.display().to_string(),
    ];
    let mut args = vec!["-B", "build"];
    args.extend(words.iter().map(String::as_str));
    args.extend(options);
    succeed("cmake", &args, folder)?;
    succeed("cmake", &["--build", "build", "--parallel", "2"], folder)?;
    Ok(())
}

/// Returns the names of the tests that failed, and the output of ctest.
fn failed_tests(folder: &Path) -> Result<(Vec<String>, String), String> {
    let outcome = command("ctest", &["--test-dir", "build", "--output-on-failure"], folder)?;
    let failed = outcome.stdout.lines().skip_while(|line| !line.contains("tests FAILED"));
    let name = |line: &str| {
        line.split_once(" - ").map(|(_, rest)| rest.split(' ').next().unwrap_or(rest).to_owned())
    };
    Ok((failed.filter_map(name).collect(), outcome.stdout))
}

fn a_racy_test_fails() -> Result<(), Failed> {
    let folder = work_folder("cmake_racy")?;
    build(&example(), &folder, &["-G", "Ninja"])?;
    let (failed, said) = failed_tests(&folder)?;
    assert_eq!(failed, ["blur"], "{said}");
    // The test fails because of the race. Its own assertions hold.
    assert!(said.contains("WARNING: gpurace: data race"), "{said}");
    assert!(said.contains("blur.cu:10"), "{said}");
    assert!(said.contains("2/2 Test"), "{said}");
    Ok(())
}

fn the_repaired_example_passes() -> Result<(), Failed> {
    let folder = work_folder("cmake_fixed")?;
    build(&example(), &folder, &["-G", "Unix Makefiles", "-DFIXED=ON", "-DCMAKE_BUILD_TYPE=Release"])?;
    let (failed, said) = failed_tests(&folder)?;
    assert!(failed.is_empty() && said.contains("100% tests passed, 0 tests failed out of 2"), "{said}");
    Ok(())
}

/// Two libraries with one racy kernel each. `gpurace_enable` is called for one of them.
const HALF: &str = "
cmake_minimum_required(VERSION 3.25)
project(half LANGUAGES CXX CUDA)
enable_testing()
find_package(gpurace REQUIRED)
foreach(name checked plain)
  add_library(lib_${name} STATIC racy.cu)
  add_executable(${name} main.cpp)
  target_link_libraries(${name} PRIVATE lib_${name})
  add_test(NAME ${name} COMMAND ${name})
endforeach()
gpurace_enable(lib_checked)
";

const RACY: &str = "__device__ int total;\n__global__ void add() { total += threadIdx.x; }\n\
    int run() { add<<<1, 64>>>(); return cudaDeviceSynchronize(); }\n";
const MAIN: &str = "int run();\nint main() { return run(); }\n";

fn only_enabled_targets() -> Result<(), Failed> {
    let folder = work_folder("cmake_enable")?;
    let source = folder.join("source");
    let write = |name: &str, text: &str| std::fs::write(source.join(name), text).map_err(|e| e.to_string());
    std::fs::create_dir_all(&source).map_err(|e| e.to_string())?;
    write("CMakeLists.txt", HALF)?;
    write("racy.cu", RACY)?;
    write("main.cpp", MAIN)?;
    build(&source, &folder, &["-G", "Ninja", "-DGPURACE_SANITIZE=OFF"])?;
    let (failed, said) = failed_tests(&folder)?;
    assert_eq!(failed, ["checked"], "{said}");
    assert!(said.contains("WARNING: gpurace: data race"), "{said}");
    Ok(())
}

/// CUDA not as a language, but by CMake's module `FindCUDA`.
const OLD: &str = "
cmake_minimum_required(VERSION 3.10)
project(old CXX)
enable_testing()
find_package(CUDA REQUIRED)
set(CUDA_NVCC_FLAGS ${CUDA_NVCC_FLAGS} -O2 -arch=sm_80)
cuda_add_library(racy STATIC racy.cu)
cuda_add_executable(old main.cpp)
target_link_libraries(old racy)
add_test(NAME old COMMAND old)
";

fn the_old_module() -> Result<(), Failed> {
    let folder = work_folder("cmake_old")?;
    let source = folder.join("source");
    std::fs::create_dir_all(&source).map_err(|e| e.to_string())?;
    for (name, text) in [("CMakeLists.txt", OLD), ("racy.cu", RACY), ("main.cpp", MAIN)] {
        std::fs::write(source.join(name), text).map_err(|e| e.to_string())?;
    }
    build(&source, &folder, &["-G", "Unix Makefiles"])?;
    let (failed, said) = failed_tests(&folder)?;
    assert_eq!(failed, ["old"], "{said}");
    assert!(said.contains("WARNING: gpurace: data race"), "{said}");
    Ok(())
}

/// A library whose interface names the toolkit's headers. CMake refuses to install one that names a folder of its
/// build.
const INSTALLED: &str = "
cmake_minimum_required(VERSION 3.25)
project(installed LANGUAGES CXX CUDA)
add_library(racy SHARED racy.cu)
target_include_directories(racy PUBLIC ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
install(TARGETS racy EXPORT racy)
install(EXPORT racy DESTINATION lib/cmake)
";

fn installed() -> Result<(), Failed> {
    let folder = work_folder("cmake_installed")?;
    let source = folder.join("source");
    std::fs::create_dir_all(&source).map_err(|e| e.to_string())?;
    for (name, text) in [("CMakeLists.txt", INSTALLED), ("racy.cu", RACY)] {
        std::fs::write(source.join(name), text).map_err(|e| e.to_string())?;
    }
    build(&source, &folder, &[])?;
    std::fs::remove_dir_all(folder.join("build")).map_err(|e| e.to_string())?;
    let other = build(&source, &folder, &["-DCMAKE_CUDA_COMPILER=/nowhere/nvcc"]).unwrap_err();
    assert!(other.contains("`/nowhere/nvcc`, wanted"), "{other}");
    Ok(())
}

/// Device functions in one static library, and kernels in another one and in the program, whose
/// `main` is C++.
const SEPARABLE: &str = "
cmake_minimum_required(VERSION 3.25)
project(separable LANGUAGES CXX CUDA)
enable_testing()
set(CMAKE_CUDA_SEPARABLE_COMPILATION ON)
add_library(functions STATIC functions.cu)
add_library(kernels STATIC kernels.cu)
target_link_libraries(kernels PUBLIC functions)
set_target_properties(kernels PROPERTIES CUDA_RESOLVE_DEVICE_SYMBOLS ON)
add_library(dynamic SHARED kernels.cu)
target_link_libraries(dynamic PRIVATE functions)
set_target_properties(functions PROPERTIES POSITION_INDEPENDENT_CODE ON)
foreach(library kernels dynamic)
  add_executable(with_${library} main.cpp)
  target_link_libraries(with_${library} PRIVATE ${library})
  add_test(NAME ${library} COMMAND with_${library})
endforeach()
";

fn separable_compilation() -> Result<(), Failed> {
    let folder = work_folder("cmake_separable")?;
    let source = folder.join("source");
    std::fs::create_dir_all(&source).map_err(|e| e.to_string())?;
    for (name, text) in [
        ("CMakeLists.txt", SEPARABLE),
        ("functions.cu", "__device__ void add(int* total) { *total += threadIdx.x; }\n"),
        (
            "kernels.cu",
            "__device__ void add(int*);\n__device__ int total;\n__global__ void sum() { add(&total); }\n\
             int run() { sum<<<1, 64>>>(); return cudaDeviceSynchronize(); }\n",
        ),
        ("main.cpp", "int run();\nint main() { return run(); }\n"),
    ] {
        std::fs::write(source.join(name), text).map_err(|e| e.to_string())?;
    }
    for generator in ["Ninja", "Unix Makefiles"] {
        let folder = folder.join(generator.replace(' ', ""));
        std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
        build(&source, &folder, &["-G", generator])?;
        let (failed, said) = failed_tests(&folder)?;
        assert_eq!(failed, ["kernels", "dynamic"], "{said}");
        assert_eq!(said.matches("#0 add(int*) ").count() + said.matches("#0 add ").count(), 4, "{said}");
    }
    Ok(())
}

/// A program without kernels of its own, linked by the project's C++ compiler, and a module that nvcc makes.
const DRIVER: &str = r#"
cmake_minimum_required(VERSION 3.25)
project(driver LANGUAGES CXX CUDA)
find_package(CUDAToolkit REQUIRED)
add_custom_command(OUTPUT kernel.fatbin DEPENDS kernel.cu
  COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} -arch=sm_80 -fatbin ${CMAKE_SOURCE_DIR}/kernel.cu -o kernel.fatbin)
add_custom_target(kernel ALL DEPENDS kernel.fatbin)
add_executable(host main.cpp)
target_link_libraries(host PRIVATE CUDA::cuda_driver)
add_executable(cuda main.cu)
target_link_libraries(cuda PRIVATE CUDA::cuda_driver)
enable_testing()
add_test(NAME host COMMAND host kernel.fatbin)
add_test(NAME cuda COMMAND cuda kernel.fatbin)
"#;

const DRIVER_MAIN: &str = r#"
#include <cuda.h>
int main(int, char **argv) {
  CUcontext context;
  CUmodule module;
  CUfunction kernel;
  CUdeviceptr out;
  if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context)) return 1;
  if (cuModuleLoad(&module, argv[1]) || cuModuleGetFunction(&kernel, module, "same") || cuMemAlloc(&out, 4)) return 2;
  void *arguments[] = {&out};
  return cuLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, 0, arguments, 0) || cuCtxSynchronize();
}
"#;

fn driver_api() -> Result<(), Failed> {
    let folder = work_folder("cmake_driver")?;
    let source = folder.join("source");
    std::fs::create_dir_all(&source).map_err(|e| e.to_string())?;
    let kernel = "extern \"C\" __global__ void same(int* out) { *out = threadIdx.x; }\n";
    for (name, text) in [
        ("CMakeLists.txt", DRIVER),
        ("kernel.cu", kernel),
        ("main.cpp", DRIVER_MAIN),
        ("main.cu", DRIVER_MAIN),
    ] {
        std::fs::write(source.join(name), text).map_err(|e| e.to_string())?;
    }
    build(&source, &folder, &["-G", "Ninja"])?;
    let (failed, said) = failed_tests(&folder)?;
    assert_eq!(failed, ["host", "cuda"], "{said}");
    assert_eq!(said.matches("#0 same ").count(), 4, "{said}");
    Ok(())
}

/// A program that calls the libraries beside the runtime: they are targets, and a C++ file includes their headers.
const LIBRARIES: &str = "\
cmake_minimum_required(VERSION 3.25)
project(libraries LANGUAGES CXX CUDA)
find_package(CUDAToolkit REQUIRED)
enable_testing()
foreach(kind \"\" _static)
  add_executable(app${kind} main.cu norm.cpp)
  target_link_libraries(app${kind} PRIVATE CUDA::cublas${kind} CUDA::cublasLt CUDA::curand${kind}
    CUDA::cufft${kind} CUDA::cusparse${kind}
    CUDA::cusolver${kind} CUDA::nvrtc)
  add_test(NAME app${kind} COMMAND app${kind})
endforeach()
";

const LIBRARIES_NORM: &str = "\
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cufft.h>
#include <curand.h>
#include <cusolverDn.h>
#include <cusparse.h>
#include <nvrtc.h>
float norm(cublasHandle_t handle, const float* x, int n) {
    float found = 0, random = 0;
    curandGenerator_t generator;
    curandCreateGeneratorHost(&generator, CURAND_RNG_PSEUDO_DEFAULT);
    curandGenerateUniform(generator, &random, 1);
    if (!(random > 0 && random <= 1)) return -1;
    int version = 0;
    if (cufftGetVersion(&version) != CUFFT_SUCCESS || version != CUFFT_VERSION) return -1;
    if (cusparseGetProperty(MAJOR_VERSION, &version) || version != CUSPARSE_VER_MAJOR) return -1;
    if (cusolverGetVersion(&version) || version != CUSOLVER_VERSION) return -1;
    if (nvrtcGetNumSupportedArchs(&version) != NVRTC_SUCCESS || version == 0) return -1;
    return cublasSnrm2(handle, n, x, 1, &found) == CUBLAS_STATUS_SUCCESS ? found : -1;
}
";

const LIBRARIES_MAIN: &str = "\
#include <cublas_v2.h>
float norm(cublasHandle_t handle, const float* x, int n);
__global__ void fill(float* x) { x[threadIdx.x] = 2; }
int main() {
    cublasHandle_t handle;
    float* x;
    cublasCreate(&handle);
    cudaMalloc(&x, 16 * sizeof(float));
    fill<<<1, 16>>>(x);
    bool right = norm(handle, x, 16) == 8;
    cublasDestroy(handle);
    return !right;
}
";

fn own_libraries() -> Result<(), Failed> {
    let folder = work_folder("cmake_libraries")?;
    let source = folder.join("source");
    std::fs::create_dir_all(&source).map_err(|e| e.to_string())?;
    for (name, text) in
        [("CMakeLists.txt", LIBRARIES), ("norm.cpp", LIBRARIES_NORM), ("main.cu", LIBRARIES_MAIN)]
    {
        std::fs::write(source.join(name), text).map_err(|e| e.to_string())?;
    }
    build(&source, &folder, &["-G", "Ninja"])?;
    let (failed, said) = failed_tests(&folder)?;
    assert_eq!(failed, [""; 0], "{said}");
    Ok(())
}

/// Returns how many objects ccache had, and how many it had not.
fn cache_counts(folder: &Path) -> Result<(u32, u32), String> {
    let said = succeed("ccache", &["--print-stats"], folder)?.stdout;
    let count = |key: &str| {
        let value = said.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok());
        value.ok_or_else(|| format!("no `{key}` in:\n{said}"))
    };
    Ok((count("direct_cache_hit\t")?, count("cache_miss\t")?))
}

fn ccache() -> Result<(), Failed> {
    let folder = work_folder("cmake_ccache")?;
    let source = folder.join("source");
    std::fs::create_dir_all(&source).map_err(|e| e.to_string())?;
    let write = |name: &str, text: &str| std::fs::write(source.join(name), text).map_err(|e| e.to_string());
    write(
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.25)\nproject(cached LANGUAGES CUDA)\nadd_executable(app app.cu other.cu)\n\
         set_target_properties(app PROPERTIES CUDA_SEPARABLE_COMPILATION ON)\n",
    )?;
    // Only device code reads the header.
    write(
        "app.cu",
        "#ifdef __CUDA_ARCH__\n#include \"value.h\"\n#else\n#define VALUE 0\n#endif\n\
        __device__ int f(int);\n__global__ void k(int* p) { *p = f(VALUE); }\n\
        int main() { int *p, h; cudaMalloc(&p, 4); k<<<1, 1>>>(p); cudaMemcpy(&h, p, 4, cudaMemcpyDeviceToHost); return h; }\n",
    )?;
    write("other.cu", "__device__ int f(int x) { return x; }\n")?;
    let status = |value: &str, counts: (u32, u32)| -> Result<(), String> {
        write("value.h", &format!("#define VALUE {value}\n"))?;
        let _ = std::fs::remove_dir_all(folder.join("build"));
        // The file must be older than ccache's run: ccache does not trust a newer one.
        std::thread::sleep(std::time::Duration::from_millis(1100));
        build(&source, &folder, &["-G", "Ninja", "-DCMAKE_CUDA_COMPILER_LAUNCHER=ccache"])?;
        let app = folder.join("build/app").display().to_string();
        assert_eq!(command(&app, &[], &folder)?.status, value.parse().ok());
        assert_eq!(cache_counts(&folder)?, counts);
        Ok(())
    };
    status("5", (0, 2))?;
    status("5", (2, 2))?;
    status("6", (3, 3))?;
    Ok(())
}

fn clangd() -> Result<(), Failed> {
    let folder = work_folder("cmake_clangd")?;
    build(&example(), &folder, &["-G", "Ninja", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"])?;
    for source in ["blur/blur.cu", "scan/scan.cu", "smooth.cpp", "tests/test_blur.cpp"] {
        let check = format!("--check={}", example().join(source).display());
        let said = succeed("clangd-22", &["--compile-commands-dir=build", &check], &folder)?.stderr;
        assert!(said.contains("All checks completed, 0 errors"), "{said}");
    }
    Ok(())
}

/// The project enables CUDA late, with flags of nvcc only, as CloverLeaf does.
const NVCC: &str = "
cmake_minimum_required(VERSION 3.25)
project(late LANGUAGES CXX)
set(CMAKE_CUDA_FLAGS \"-forward-unknown-to-host-compiler -extended-lambda -use_fast_math -restrict -arch=sm_80\")
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
enable_testing()
set_source_files_properties(kernel.cpp PROPERTIES LANGUAGE CUDA)
add_executable(app kernel.cpp)
target_link_libraries(app PRIVATE CUDA::cudart CUDA::nvToolsExt)
add_test(NAME app COMMAND app)
";

fn nvccs_flags() -> Result<(), Failed> {
    let folder = work_folder("cmake_nvcc")?;
    let source = folder.join("source");
    std::fs::create_dir_all(&source).map_err(|e| e.to_string())?;
    std::fs::write(source.join("CMakeLists.txt"), NVCC).map_err(|e| e.to_string())?;
    let kernel = "__device__ int total;\n__global__ void add() { total += threadIdx.x; }\n\
                  int main() { add<<<1, 64>>>(); return cudaDeviceSynchronize(); }\n";
    std::fs::write(source.join("kernel.cpp"), kernel).map_err(|e| e.to_string())?;
    build(&source, &folder, &["-G", "Ninja"])?;
    let (failed, said) = failed_tests(&folder)?;
    assert_eq!(failed, ["app"], "{said}");
    assert!(said.contains("kernel.cpp:2"), "{said}");
    Ok(())
}

fn the_presets_are_read() -> Result<(), Failed> {
    let source = example().display().to_string();
    let said = succeed("cmake", &["-S", &source, "--list-presets"], &work_folder("cmake_presets")?)?.stdout;
    for preset in ["\"gpurace\"", "\"gpurace-fixed\""] {
        assert!(said.contains(preset), "{said}");
    }
    Ok(())
}

const REPORTS: &str = "
cmake_minimum_required(VERSION 3.25)
project(reports LANGUAGES CXX CUDA)
enable_testing()
find_package(gpurace REQUIRED)
find_package(GTest REQUIRED)
add_executable(suite suite.cu listener.cpp)
target_link_libraries(suite PRIVATE GTest::gtest_main)
gpurace_discover_tests(suite PROPERTIES LABELS gpu)
add_executable(single single.cu)
add_test(NAME \"a single/one\" COMMAND single)
gpurace_report_tests(\"a single/one\")
";

const SUITE: &str = "
#include <gtest/gtest.h>
__device__ int total;
__global__ void add() { total += threadIdx.x; }
__global__ void nothing() {}
TEST(Sum, Races) { add<<<1, 64>>>(); EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess); }
TEST(Sum, Passes) { nothing<<<1, 64>>>(); EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess); }
";

/// The project's own C++ compiler compiles it.
const LISTENER: &str = "
#include <gtest/gtest.h>
#include <gpurace/testing.h>
GPURACE_LISTEN();
";

const SINGLE: &str = "
__device__ int last;
__global__ void set() { last = threadIdx.x; }
int main() { set<<<1, 64>>>(); return cudaDeviceSynchronize(); }
";

fn init() -> Result<(), Failed> {
    let folder = work_folder("cmake_init")?;
    let gpurace = tool("gpurace")?;
    let init = |folder: &Path| command(gpurace.to_str().unwrap(), &["init"], folder);
    let nothing = init(&folder)?;
    assert_eq!(nothing.status, Some(1), "{}", nothing.stderr);
    assert!(
        nothing.stderr.contains("found no build system in `.`, wanted one of `CMakeLists.txt`"),
        "{}",
        nothing.stderr
    );

    let kernel = "__global__ void mirror(int* out) {\n    __shared__ int tile[64];\n    tile[threadIdx.x] = 1;\n    \
                  out[threadIdx.x] = tile[63 - threadIdx.x];\n}\nint main() {\n    int* out;\n    \
                  cudaMalloc(&out, 256);\n    mirror<<<1, 64>>>(out);\n    return cudaDeviceSynchronize();\n}\n";
    std::fs::write(folder.join("mirror.cu"), kernel)?;
    let project = "cmake_minimum_required(VERSION 3.25)\nproject(mirror LANGUAGES CXX CUDA)\nenable_testing()\n\
                   add_executable(mirror mirror.cu)\nadd_test(NAME mirror COMMAND mirror)\n";
    std::fs::write(folder.join("CMakeLists.txt"), project)?;
    std::fs::write(
        folder.join("Makefile"),
        "CUCC := /usr/local/cuda/bin/nvcc\nmirror: mirror.cu\n\t$(CUCC) $< -o $@\n",
    )?;
    let said = init(&folder)?.stdout;
    assert!(said.contains("wrote `./CMakeUserPresets.json`"), "{said}");
    for (program, args) in
        [("cmake", ["--preset", "gpurace"].as_slice()), ("cmake", &["--build", "--preset", "gpurace"])]
    {
        succeed(program, args, &folder)?;
    }
    let tested = command("ctest", &["--preset", "gpurace"], &folder)?;
    assert!(
        tested.stdout.contains("F1: missing barrier: shared variable `tile` in `mirror`"),
        "{}",
        tested.stdout
    );
    assert_eq!(tested.status, Some(8), "{}", tested.stdout);

    // The Makefile is an other way, by its own variable.
    let variable = "make CUCC=\"gclang++ -fsanitize=gpurace -fgpurace-exec=cpu\"";
    assert!(said.contains(variable), "{said}");
    let make = said
        .lines()
        .find_map(|line| line.split_once(": make").map(|(_, rest)| format!("make{rest}")))
        .unwrap();
    let path = format!("{}:{}", gpurace.parent().unwrap().display(), std::env::var("PATH")?);
    succeed("env", &[&format!("PATH={path}"), "sh", "-c", &make], &folder)?;
    assert_eq!(command("./mirror", &[], &folder)?.status, Some(66));

    // A second time there is nothing to write, and a user's own presets stay as they are.
    let again = init(&folder)?.stdout;
    assert!(again.contains("`./CMakeUserPresets.json` has a preset `gpurace`"), "{again}");
    let own = "{ \"version\": 6 }";
    std::fs::write(folder.join("CMakeUserPresets.json"), own)?;
    let said = init(&folder)?.stdout;
    assert!(said.contains("add these presets to") && said.contains("gpurace-toolchain.cmake"), "{said}");
    assert_eq!(std::fs::read_to_string(folder.join("CMakeUserPresets.json"))?, own);
    std::fs::write(folder.join("CMakeUserPresets.json"), "{")?;
    let broken = init(&folder)?;
    assert!(broken.status == Some(1) && broken.stderr.contains("is not JSON"), "{}", broken.stderr);
    Ok(())
}

/// The names of the files in `build/gpurace`, without process numbers.
fn reports(folder: &Path) -> Result<Vec<String>, Failed> {
    let files = std::fs::read_dir(folder.join("build/gpurace"))?;
    let mut names: Vec<String> = files
        .map(|file| {
            let name = file?.file_name().to_string_lossy().into_owned();
            let kept = |part: &&str| part.parse::<u32>().is_err();
            Ok(name.split('.').filter(kept).collect::<Vec<_>>().join("."))
        })
        .collect::<std::io::Result<_>>()?;
    names.sort();
    Ok(names)
}

fn tests_leave_reports() -> Result<(), Failed> {
    let folder = work_folder("cmake_reports")?;
    let source = folder.join("source");
    std::fs::create_dir_all(&source)?;
    for (name, text) in
        [("CMakeLists.txt", REPORTS), ("suite.cu", SUITE), ("listener.cpp", LISTENER), ("single.cu", SINGLE)]
    {
        std::fs::write(source.join(name), text)?;
    }
    build(&source, &folder, &["-G", "Ninja"])?;
    let (failed, said) = failed_tests(&folder)?;
    assert_eq!(failed, ["Sum.Races", "a"], "{said}");
    assert!(said.contains("[  FAILED  ] Sum.Races"), "{said}");
    assert_eq!(
        reports(&folder)?,
        ["a_single_one.json", "report.html", "report.json", "suite.json", "suite.json"]
    );
    let joined = std::fs::read_to_string(folder.join("build/gpurace/report.json"))?;
    let joined = gpurace_tests::report::Report::parse(&joined)?;
    let mut kernels: Vec<_> = joined.races.iter().filter_map(|race| race.kernel.as_deref()).collect();
    kernels.dedup();
    kernels.sort_unstable();
    assert_eq!(kernels, ["add()", "set()"]);

    // Reports of the last run alone are joined.
    let one = command("ctest", &["--test-dir", "build", "-R", "Sum.Passes"], &folder)?;
    assert_eq!(one.status, Some(0), "{}", one.stdout);
    assert_eq!(reports(&folder)?, ["report.html", "report.json", "suite.json"]);
    let labelled = command("ctest", &["--test-dir", "build", "-N", "-L", "gpu"], &folder)?;
    assert!(labelled.stdout.contains("Sum.Races"), "{}", labelled.stdout);
    Ok(())
}
