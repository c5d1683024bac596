//! Sources and arguments that nvcc accepts: gclang builds them, and the programs run.

use std::path::PathBuf;
use std::process::Command;

use gpurace_tests::toolchain::{Checked, Outcome, compile, run, run_checked, tool, work_folder};

fn folder_with(test: &str, source: &str) -> PathBuf {
    let folder = work_folder(&format!("nvcc_{test}")).unwrap();
    std::fs::write(folder.join("app.cu"), source).unwrap();
    folder
}

/// Builds a checked program with these further arguments, and runs it.
fn built(test: &str, source: &str, more: &[&str]) -> Checked {
    let folder = folder_with(test, source);
    let args = ["-fsanitize=gpurace", "-Wno-gpurace", "app.cu", "-o", "app"];
    compile(&[&args[..], more].concat(), &folder).unwrap();
    run_checked(&folder.join("app"), &[], "", &folder).unwrap()
}

/// Compiles a program that gclang refuses.
fn refused(test: &str, source: &str, args: &[&str]) -> Outcome {
    let folder = folder_with(test, source);
    let mut command = Command::new(tool("gclang++").unwrap());
    command.args(["-fgpurace-exec=cpu", "app.cu", "-o", "app"]).args(args).current_dir(&folder);
    let outcome = run(&mut command, &folder).unwrap();
    assert_eq!(outcome.status, Some(1), "{}", outcome.stderr);
    outcome
}

#[test]
fn no_include_is_needed_for_what_the_runtime_header_includes() {
    let source = "\
__global__ void told(int n) {
    assert(n == 1);
    printf(\"n is %d\\n\", n);
}
int main() {
    assert(sizeof(int) == 4);
    told<<<1, 1>>>(1);
    if (cudaDeviceSynchronize() != cudaSuccess) fprintf(stderr, \"not told\\n\");
    clock_t begin = clock();
    time_t now = time(0);
    void* memory = malloc(4);
    memset(memory, 0, 4);
    free(memory);
    float x = 1.0f;
    double y = 2.0;
    bool right = isfinite(x) && isfinite(y) && !isnan(x) && !std::isinf(y) && floorf(2.5f) == 2.0f;
    return right && max(1, 2) == 2 && strlen(\"abc\") == 3 && clock() >= begin && now ? 0 : 1;
}
";
    let run = built("includes", source, &[]);
    assert_eq!(run.outcome.status, Some(0), "{}", run.outcome.stderr);
    assert_eq!(run.outcome.stdout, "n is 1\n");
}

#[test]
fn old_host_code_sees_what_cuda_12_had() {
    let folder = folder_with("host_of_cuda_12", "int rate(); int main() { return rate() <= 0; }\n");
    let host = "#include <cuda_runtime.h>\nint rate() {\n  cudaDeviceProp p;\n  cudaGetDeviceProperties(&p, 0);\n  \
                return cudaThreadSynchronize() ? -1 : p.clockRate;\n}\n";
    std::fs::write(folder.join("host.cpp"), host).unwrap();
    let args = ["-fsanitize=gpurace", "-MD", "-MF", "host.d", "-c", "host.cpp"];
    compile(&args, &folder).unwrap();
    // Dependencies name the toolkit's headers, not the copies.
    let dependencies = std::fs::read_to_string(folder.join("host.d")).unwrap();
    assert!(dependencies.contains("/include/driver_types.h"), "{dependencies}");
    assert!(!dependencies.contains("gpurace-"), "{dependencies}");
    compile(&["-fsanitize=gpurace", "app.cu", "host.cpp", "-o", "app"], &folder).unwrap();
    let checked = run_checked(&folder.join("app"), &[], "", &folder).unwrap();
    assert_eq!(checked.outcome.status, Some(0), "{}", checked.outcome.stderr);
}

#[test]
fn libraries_get_the_standard_that_they_need() {
    let source =
        "#include <cuda/std/array>\n__global__ void k(cuda::std::array<int, 2>* p) { (*p)[0] = 1; }\n";
    let folder = folder_with("newer_standard", source);
    // Only C++17 accepts this.
    std::fs::write(folder.join("plain.cu"), "inline int shared = 1;\n").unwrap();
    let compiled = |name: &str| {
        let mut command = Command::new(tool("gclang++").unwrap());
        command.args(["-fgpurace-exec=cpu", "-std=c++11", "-Werror", "-c", name]).current_dir(&folder);
        run(&mut command, &folder).unwrap()
    };
    let needs = compiled("app.cu");
    assert_eq!(needs.status, Some(0), "{}", needs.stderr);
    assert!(needs.stderr.contains("`-std=c++17` replaces `-std=c++11`"), "{}", needs.stderr);
    let plain = compiled("plain.cu");
    assert!(plain.status == Some(1) && !plain.stderr.contains("replaces"), "{}", plain.stderr);
}

#[test]
fn pragmas_in_macros_and_spaces_in_launches_keep_their_lines() {
    let source = "\
#define UNROLL #pragma unroll
#define UNROLL_4 #pragma unroll 4
__global__ void sums(int* out) {
    int sum = 0;
    UNROLL
    for (int i = 0; i < 4; i++) sum += i;
    UNROLL_4
    for (int i = 0; i < 8; i++) sum += i;
    out[0] = sum + threadIdx.x;
}
int main() {
    int* out;
    cudaMalloc(&out, 128);
    sums<< <1, 32> >>(out);
    return cudaDeviceSynchronize();
}
";
    let run = built("dialect", source, &[]);
    let report = run.report.unwrap();
    assert_eq!(report.races[0].accesses[0].line, Some(9), "{}", run.outcome.stderr);
    assert_eq!(report.races[0].launch.as_ref().unwrap().line, Some(14), "{}", run.outcome.stderr);
    assert!(run.outcome.stderr.contains("out[0] = sum + threadIdx.x;"), "{}", run.outcome.stderr);
}

#[test]
fn headers_of_the_program_are_adapted_too() {
    let source = "\
#include \"launch.h\"
struct barrier {
    int* count;
    ~barrier() { ++*count; }
};
int main() {
    int count = 0;
    { barrier own = {&count}; }
    int* out;
    cudaMalloc(&out, 128);
    launch(out);
    return cudaDeviceSynchronize() || count != 1;
}
";
    let folder = folder_with("dialect_header", source);
    std::fs::create_dir_all(folder.join("parts")).unwrap();
    let kernel = "__global__ void same(int* out) { out[0] = threadIdx.x; }\n";
    let launch = "inline void launch(int* out) { same << < 1, 32 >> > (out); }\n";
    std::fs::write(folder.join("parts/launch.h"), format!("{kernel}{launch}")).unwrap();
    compile(&["-fsanitize=gpurace", "-Iparts", "app.cu", "-o", "app"], &folder).unwrap();
    let run = run_checked(&folder.join("app"), &[], "", &folder).unwrap();
    assert_eq!(run.outcome.status, Some(66), "{}", run.outcome.stderr);
    let race = &run.report.unwrap().races[0];
    assert_eq!((race.accesses[0].line, race.launch.as_ref().unwrap().line), (Some(1), Some(2)));
}

#[test]
fn sources_of_one_name_are_not_mixed_up() {
    let folder = folder_with("one_name", "");
    for (name, body) in
        [("a", "int b();\nint main() { return b() - 7; }\n"), ("b", "int b() { return 7; }\n")]
    {
        std::fs::create_dir_all(folder.join(name)).unwrap();
        let source = format!("#define UNROLL #pragma unroll\n{body}");
        std::fs::write(folder.join(name).join("x.cu"), source).unwrap();
    }
    compile(&["-fsanitize=gpurace", "a/x.cu", "b/x.cu", "-o", "app"], &folder).unwrap();
    assert_eq!(run(&mut Command::new(folder.join("app")), &folder).unwrap().status, Some(0));
}

#[test]
fn lambdas_answer_what_nvcc_is_asked() {
    let source = "\
template <class F> __global__ void each(F f) { f((int)threadIdx.x); }
struct Functor { __device__ void operator()(int) const {} };
__global__ void fresh(int* p) {
    int* q = new int(3);
    p[threadIdx.x] = *q;
    delete q;
}
#define DEVICE(T) __nv_is_extended_device_lambda_closure_type(T)
#define BOTH(T) __nv_is_extended_host_device_lambda_closure_type(T)
#if !defined(__CUDACC_EXTENDED_LAMBDA__) || !defined(__CUDACC_RELAXED_CONSTEXPR__)
#error macros of the options
#endif
int main() {
    int* p;
    cudaMalloc(&p, 128);
    std::function<int*(int*)> same = [](int* q) { return std::move(q); };
    fresh<<<1, 32>>>(same(p));
    auto device = [=] __device__(int i) { p[i] = i; };
    auto both = [=] __host__ __device__(int i) { p[i] = i; };
    auto generic = [=] __device__(auto i) { p[i] = i; };
    static_assert(DEVICE(decltype(device)) && !BOTH(decltype(device)), \"\");
    static_assert(BOTH(decltype(both)) && !DEVICE(decltype(both)), \"\");
    static_assert(__nv_is_extended_device_lambda_with_preserved_return_type(decltype(device)), \"\");
    static_assert(!DEVICE(Functor) && !BOTH(Functor) && !DEVICE(int*) && !BOTH(int), \"\");
    each<<<1, 32>>>(device);
    each<<<1, 32>>>(both);
    each<<<1, 32>>>(generic);
    return cudaDeviceSynchronize();
}
";
    let run = built("lambdas", source, &["--extended-lambda", "--expt-relaxed-constexpr"]);
    assert_eq!(run.outcome.status, Some(0), "{}", run.outcome.stderr);
}

#[test]
fn products_and_sums_stay_apart_without_fmad() {
    let source = "\
__global__ void product(float* x, float y) { x[0] = x[1] * x[1] - y; }
int main() {
    float* x;
    cudaMallocManaged(&x, 8);
    x[1] = 1.0f + 1.0f / 4096;
    register float rounded = x[1] * x[1];
    product<<<1, 1>>>(x, rounded);
    cudaDeviceSynchronize();
    return x[0] != 0;
}
";
    for (test, arguments, status) in
        [("joined", &["-std=c++17"][..], 1), ("apart", &["-std=c++17", "--fmad=false"], 0)]
    {
        let run = built(test, source, arguments);
        assert_eq!(run.outcome.status, Some(status), "{}", run.outcome.stderr);
    }
}

#[test]
fn arguments_of_nvcc_build() {
    let source = "int main() { return NAMED - 3; }\n";
    let folder = folder_with("arguments", source);
    std::fs::write(folder.join("options"), "-DNAMED=3 -O1").unwrap();
    let line = "-fsanitize=gpurace app.cu --options-file options -gencode arch=compute_100,code=sm_100 \
                -Xlinker -z,now -Xlinker=-z,relro -Xcompiler -Wall,-fPIC -Xptxas -v,-O3 -t 2 -dlto \
                --compress-mode=size -MD -MF app.d -output-file app";
    compile(&line.split_whitespace().collect::<Vec<_>>(), &folder).unwrap();
    assert_eq!(run(&mut Command::new(folder.join("app")), &folder).unwrap().status, Some(0));
    let dependencies = std::fs::read_to_string(folder.join("app.d")).unwrap();
    assert!(dependencies.starts_with("app:") && dependencies.contains("app.cu"), "{dependencies}");
}

#[test]
fn libraries_are_there_under_each_of_their_names() {
    let source = "\
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cufft.h>
#include <curand.h>
#include <cusolverDn.h>
#include <cusparse.h>
#include <nvrtc.h>
int main() {
    cublasHandle_t handle;
    int version;
    bool right = cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS;
    right &= cublasGetVersion(handle, &version) == CUBLAS_STATUS_SUCCESS && version == CUBLAS_VERSION;
    right &= curandGetVersion(&version) == CURAND_STATUS_SUCCESS && version == CURAND_VERSION;
    right &= cufftGetVersion(&version) == CUFFT_SUCCESS && version == CUFFT_VERSION;
    right &= cusparseGetProperty(MAJOR_VERSION, &version) == CUSPARSE_STATUS_SUCCESS && version == CUSPARSE_VER_MAJOR;
    right &= cusolverGetVersion(&version) == CUSOLVER_STATUS_SUCCESS && version == CUSOLVER_VERSION;
    right &= nvrtcGetNumSupportedArchs(&version) == NVRTC_SUCCESS && version > 0;
    right &= cublasLtGetVersion() != 0 && cublasDestroy(handle) == CUBLAS_STATUS_SUCCESS;
    return !right;
}
";
    for (test, libraries) in [
        (
            "shared",
            vec!["-lcublas", "-lcublasLt", "-lcurand", "-lcufft", "-lcusparse", "-lcusolver", "-lnvrtc"],
        ),
        (
            "static",
            vec![
                "-lcublas_static",
                "-lcublasLt_static",
                "-lcurand_static",
                "-lcufft_static",
                "-lcusparse_static",
                "-lcusolver_static",
                "-lcusolver_lapack_static",
                "-lnvrtc_static",
                "-lnvrtc-builtins_static",
                "-lnvptxcompiler_static",
                "-lculibos",
            ],
        ),
        (
            "file",
            vec![
                "-fgpurace-exec=cpu",
                "/usr/local/cuda/lib64/libcublas.so.13",
                "/usr/local/cuda/lib64/libcurand.so.10",
                "/usr/local/cuda/lib64/libcufft.so.12",
                "/usr/local/cuda/lib64/libcusparse.so.12",
                "/usr/local/cuda/lib64/libcusolver.so.12",
                "/usr/local/cuda/lib64/libnvrtc.so.13",
            ],
        ),
    ] {
        let run = built(&format!("libraries_{test}"), source, &libraries);
        assert_eq!(run.outcome.status, Some(0), "{test}: {}", run.outcome.stderr);
    }
}

#[test]
fn a_missing_library_that_nothing_calls_is_left_out() {
    let run = built("uncalled", "int main() {}\n", &["-lcudnn", "-lnppc_static"]);
    assert_eq!((run.outcome.status, run.outcome.stderr.as_str()), (Some(0), ""));
    // An error before the link has nothing to do with it.
    let said = refused("misspelt", "int main() { return none; }\n", &["-lcudnn"]).stderr;
    assert!(said.contains("undeclared identifier 'none'") && !said.contains("cudnn"), "{said}");
}

#[test]
fn a_language_behind_all_files_makes_them_device_code() {
    let folder = work_folder("nvcc_language").unwrap();
    let source = "\
__global__ void store(int* to) { to[0] = threadIdx.x; }
int main() {
    int* device;
    cudaMalloc(&device, 4);
    store<<<1, 64>>>(device);
    return cudaDeviceSynchronize();
}
";
    std::fs::write(folder.join("app.cpp"), source).unwrap();
    compile(&["-fsanitize=gpurace", "-Wno-gpurace", "app.cpp", "-x", "cu", "-o", "app"], &folder).unwrap();
    let run = run_checked(&folder.join("app"), &[], "", &folder).unwrap();
    assert_eq!(run.outcome.status, Some(66), "{}", run.outcome.stderr);
}

#[test]
fn openmp_threads_call_the_runtime() {
    let source = "\
#include <omp.h>
__global__ void store(int* to, int value) { to[threadIdx.x] = value; }
int main() {
    int sum = 0;
#pragma omp parallel num_threads(4) reduction(+ : sum)
    {
        int *device, host[32];
        cudaMalloc(&device, sizeof(host));
        store<<<1, 32>>>(device, omp_get_thread_num() + 1);
        cudaMemcpy(host, device, sizeof(host), cudaMemcpyDeviceToHost);
        sum += host[7];
        cudaFree(device);
    }
    return sum - 10;
}
";
    // As build files for nvcc with GCC write it.
    let run = built("openmp", source, &["-Xcompiler", "-fopenmp", "-lgomp", "-Xcompiler", "-export-dynamic"]);
    assert_eq!((run.outcome.status, run.outcome.stderr.as_str()), (Some(0), ""));
}

#[test]
fn c_sources_and_archives_are_made_as_by_nvcc() {
    let source = "\
extern \"C\" int* made(int n);
__device__ int twice(int i);
__global__ void fill(int* out) { out[threadIdx.x] = twice(threadIdx.x); }
int main() {
    int *out, *host = made(32);
    cudaMalloc(&out, 128);
    fill<<<1, 32>>>(out);
    cudaMemcpy(host, out, 128, cudaMemcpyDefault);
    return host[31] != 62;
}
";
    let folder = folder_with("c_sources", source);
    let c = "#include <stdlib.h>\nint* made(int class) { return malloc(class * sizeof(int)); }\n";
    std::fs::write(folder.join("made.c"), c).unwrap();
    std::fs::write(folder.join("twice.cu"), "__device__ int twice(int i) { return 2 * i; }\n").unwrap();
    let flags = ["-fsanitize=gpurace", "-std=c++17", "-rdc=true"];
    let build = |more: &[&str]| compile(&[&flags[..], more].concat(), &folder).unwrap();
    let passes = || run(&mut Command::new(folder.join("app")), &folder).unwrap().status == Some(0);
    build(&["app.cu", "twice.cu", "made.c", "-o", "app"]);
    assert!(passes());
    build(&["-lib", "twice.cu", "made.c", "-o", "parts.a"]);
    build(&["app.cu", "parts.a", "-o", "app"]);
    assert!(passes());
}

#[test]
fn openmp_is_linked_as_nvcc_does() {
    let source = "\
#include <omp.h>
int main() {
    int threads = 0;
    #pragma omp parallel num_threads(2) reduction(+ : threads)
    threads += omp_in_parallel();
    return threads != 2;
}
";
    let folder = folder_with("openmp_linked", source);
    let build = |args: &[&str]| compile(&[&["-fsanitize=gpurace"], args].concat(), &folder).unwrap();
    build(&["-Xcompiler", "-fopenmp", "-c", "app.cu", "-o", "app.o"]);
    for library in [&["-lm"], &["-lgomp"]] {
        build(&[&["app.o", "-o", "app"], &library[..]].concat());
        assert_eq!(run(&mut Command::new(folder.join("app")), &folder).unwrap().status, Some(0));
    }
}

#[test]
fn what_is_missing_or_misspelt_is_named() {
    let cufftw = "extern \"C\" int fftw_init_threads();\nint main() { return fftw_init_threads(); }\n";
    let said = refused("cufftw", cufftw, &["-lcufftw"]).stderr;
    assert!(said.contains("error: `-lcufftw`: the library of cuFFTW was not found"), "{said}");
    // A program for a GPU needs NVIDIA's.
    let gpu = ["-fsanitize=gpurace", "-fgpurace-exec=cuda", "-lcublas"];
    let cublas = "extern \"C\" int cublasCreate_v2(void**);\nint main() { return cublasCreate_v2(0); }\n";
    let said = refused("cublas", cublas, &gpu).stderr;
    assert!(said.contains("error: `-lcublas`: the library of cuBLAS was not found"), "{said}");
    assert!(said.contains("hint: gpurace has one for the host only"), "{said}");
    let empty = "int main() {}\n";
    let said = refused("sanitizer", empty, &["-fsanitize=gpurce"]).stderr;
    assert!(said.contains("hint: did you mean `-fsanitize=gpurace`?"), "{said}");
    let said = refused("lib", empty, &["--cuda"]).stderr;
    assert!(said.contains("error: nvcc's `--cuda` is not supported"), "{said}");
}
