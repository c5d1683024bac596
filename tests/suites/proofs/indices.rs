//! Indices that a launch loads.

use gpurace_tests::toolchain::{compile, run_checked, work_folder};

use super::{Program, line_of};

/// The indices that a launch loads are looked at before it, each time anew.
#[test]
fn indices_that_are_distinct_or_sorted_lead_to_elements_of_the_threads_own() {
    let program = Program::new("contents", &[]);
    for (fine, racy, line) in
        [("i", "I", "out[to[i]] = i"), ("f", "F", "out[e] = i"), ("c", "C", "out[scan[i]] = i")]
    {
        let run = program.run(&[fine, fine]);
        assert_eq!((run.races(), run.checks()), (0, 0), "{:?}", run.sites());
        for launches in [&[racy][..], &[fine, racy, fine], &[racy, racy, racy, racy, fine]] {
            let run = program.run(launches);
            assert_eq!(run.races(), 1, "{launches:?}: {}", run.outcome.stderr);
            let access = &run.report["races"][0]["accesses"][0];
            assert_eq!(access["line"].as_u64().unwrap(), line_of(line));
        }
    }
}

/// A launch may change the indices that it loads, or those that lead to them. Then their values prove nothing.
#[test]
fn indices_that_a_launch_may_change_prove_nothing() {
    let source = r#"
#include <cstdlib>
__global__ void scatter(int n, const int* to, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[to[i]] = i;
}
__global__ void rows(int n, const int* vertex, const int* first, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) for (int e = first[vertex[i]]; e < first[vertex[i] + 1]; ++e) out[e] = i;
}
int main(int, char** argv) {
    int to[64], first[80], *a, *b;
    for (int i = 0; i < 64; ++i) to[i] = i * 7 % 64;
    for (int i = 0; i < 80; ++i) first[i] = 2 * i;
    cudaMalloc(&a, 4096);
    cudaMalloc(&b, 4096);
    cudaMemcpy(a, to, sizeof to, cudaMemcpyHostToDevice);
    cudaMemcpy(b, first, sizeof first, cudaMemcpyHostToDevice);
    int* outputs[] = {a + 64, a + 63, a, b + 200, b, b + 60};
    int* out = outputs[atoi(argv[1])];
    if (atoi(argv[2])) rows<<<2, 32>>>(60, a, b, out);
    else scatter<<<2, 32>>>(64, a, out);
    return cudaDeviceSynchronize();
}
"#;
    let folder = work_folder("proofs_changed_indices").unwrap();
    std::fs::write(folder.join("k.cu"), source).unwrap();
    compile(&["-fsanitize=gpurace", "k.cu", "-o", "k"], &folder).unwrap();
    compile(&["-fsanitize=gpurace", "-fgpurace-prune=off", "k.cu", "-o", "off"], &folder).unwrap();
    let run = |program: &str, output: usize, kernel: &str| {
        let arguments = [&*output.to_string(), kernel];
        let report = run_checked(&folder.join(program), &arguments, "cache_dir=", &folder).unwrap().report;
        let stats = report.unwrap();
        (stats.races.len(), stats.stats.checks_executed)
    };
    // Behind the indices in their allocation, over the last one, over all; in the other allocation likewise. Only 60
    // vertices are loaded.
    for (kernel, fine) in [("0", &[0, 3, 4, 5][..]), ("1", &[0, 1, 3])] {
        for output in 0..6 {
            let (races, checks) = run("k", output, kernel);
            assert_eq!(races, run("off", output, kernel).0, "output {output} of kernel {kernel}");
            assert_eq!((races == 0, checks == 0), (fine.contains(&output), fine.contains(&output)));
        }
    }
}

/// A number in memory says how many structs each thread reads. They are so large that any number might lead to other
/// memory.
#[test]
fn a_number_in_memory_bounds_what_is_read() {
    let source = r#"
#include <cstdlib>
struct Wide { double parts[6]; };
__global__ void sums(const int* count, const Wide* from, double* to) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double sum = 0;
    for (int j = 0; j < count[0]; ++j) sum += from[j].parts[0];
    to[i] = sum;
}
int main(int, char** argv) {
    int n = atoi(argv[1]), *count;
    Wide* from;
    double* apart;
    cudaMalloc(&count, sizeof n);
    cudaMemcpy(count, &n, sizeof n, cudaMemcpyHostToDevice);
    cudaMalloc(&from, 8192);
    cudaMemset(from, 0, 8192);
    cudaMalloc(&apart, 8192);
    sums<<<2, 32>>>(count, from, argv[2][0] == 'a' ? apart : (double*)(from + 10));
    return cudaDeviceSynchronize();
}
"#;
    let folder = work_folder("proofs_bounded_reads").unwrap();
    std::fs::write(folder.join("k.cu"), source).unwrap();
    compile(&["-fsanitize=gpurace", "k.cu", "-o", "k"], &folder).unwrap();
    let run = |count: &str, to: &str| {
        let report = run_checked(&folder.join("k"), &[count, to], "cache_dir=", &folder).unwrap().report;
        let report = report.unwrap();
        (report.races.len(), report.stats.checks_executed > 0)
    };
    for (count, to) in [("10", "apart"), ("100", "apart"), ("10", "behind")] {
        assert_eq!(run(count, to), (0, false), "{count} {to}");
    }
    // The eleventh struct is the first of the sums.
    assert_eq!(run("11", "behind"), (1, true));
}

/// Sizes in device memory meet the conditions of proofs that were made while compiling.
#[test]
fn sizes_in_memory_bound_an_index() {
    let source = r#"
#include <cstdlib>
struct Image { int width, height; };
__device__ Image image;
__global__ void of_variable(float* out) {
    int x = threadIdx.x, y = blockIdx.x;
    if (x < image.width && y < image.height) out[y * image.width + x] = x;
}
__global__ void of_pointer(const Image* image, const float* in, float* out) {
    int x = threadIdx.x, y = blockIdx.x;
    if (x < image->width && y < image->height) out[y * image->width + x] = in[y * image->width + x];
}
// Rows are as wide as the image is high.
__global__ void turned(const Image* image, float* out) {
    int x = threadIdx.x, y = blockIdx.x;
    if (x < image->width && y < image->height) out[y * image->height + x] = x;
}
int main(int, char** argv) {
    int which = atoi(argv[1]);
    Image *pointer, shape{48, which == 5 ? 16 : 60};
    float *a, *b;
    cudaMalloc(&pointer, 16384);
    cudaMalloc(&a, 16384);
    cudaMalloc(&b, 16384);
    cudaMemset(a, 0, 16384);
    cudaMemcpy(pointer, &shape, sizeof shape, cudaMemcpyHostToDevice);
    cudaMemcpyToSymbol(image, &shape, sizeof shape);
    switch (which) {
    case 0: of_variable<<<64, 64>>>(a); break;
    case 1: of_pointer<<<64, 64>>>(pointer, a, b); break;
    // The result lies behind the size, then one element behind the input.
    case 2: of_pointer<<<64, 64>>>(pointer, a, (float*)(pointer + 1)); break;
    case 3: of_pointer<<<64, 64>>>(pointer, a, a + 1); break;
    case 4: turned<<<64, 64>>>(pointer, a); break;
    case 5: turned<<<64, 64>>>(pointer, a); break;
    }
    return cudaDeviceSynchronize();
}
"#;
    super::compare(source, "proofs_sizes_in_memory", 0..=5, &[0, 1, 2, 4], &[0, 1, 2, 4]);
}
