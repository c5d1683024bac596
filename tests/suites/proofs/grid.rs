//! Loops over a barrier of the grid, whose end loaded numbers decide.

use gpurace_tests::toolchain::{compile, run_checked, work_folder};

const SOURCE: &str = r#"
#include <cooperative_groups.h>
#include <cstdlib>
namespace cg = cooperative_groups;
// Rounds until the change is small. With `late`, the next round's reset may come before a read.
template <int late> __global__ void rounds(float* a, float* b, float* change, int n, float tolerance) {
    cg::grid_group grid = cg::this_grid();
    for (int k = 0; k < 20; k++) {
        if (grid.thread_rank() == 0) change[0] = 1;
        grid.sync();
        for (int i = grid.thread_rank(); i < n; i += grid.size()) {
            float x = 0.5f * (i ? a[i - 1] : 1);
            atomicAdd(change, fabsf(x - a[i]));
            b[i] = x;
        }
        grid.sync();
        if (change[0] < tolerance) break;
        if (!late) grid.sync();
        float* other = a;
        a = b;
        b = other;
    }
}
// A number that the loop carries decides. With `late`, each block has one of its own.
template <int late> __global__ void carried(float* a, double* sum, int n, float tolerance) {
    cg::grid_group grid = cg::this_grid();
    if (grid.thread_rank() == 0) sum[0] = 4;
    grid.sync();
    float now = sum[0];
    int k = 1;
    while (now > tolerance * tolerance && k <= 20) {
        grid.sync();
        if (late ? threadIdx.x == 0 : grid.thread_rank() == 0) sum[late ? blockIdx.x : 0] = now / 2;
        for (int i = grid.thread_rank(); i < n; i += grid.size()) a[i] += now;
        grid.sync();
        now = sum[late ? blockIdx.x : 0];
        k++;
    }
}
// The loop tests a number at its end. With `late`, no barrier comes between a thread's write and this read.
template <int late> __global__ void again(float* a, float* left, int n) {
    cg::grid_group grid = cg::this_grid();
    int k = 0;
    do {
        int i = grid.thread_rank();
        float x = i ? a[i - 1] : 0;
        grid.sync();
        a[i] = x + 1;
        if (i == 0) *left -= 1;
        if (!late) grid.sync();
    } while (++k < 5 && sqrtf(*left) > 1);
}
int main(int, char** argv) {
    float *a, *b, *c;
    double* sum;
    cudaMalloc(&a, 8192);
    cudaMalloc(&b, 8192);
    cudaMalloc(&c, 64);
    cudaMalloc(&sum, 64);
    cudaMemset(a, 0, 8192);
    cudaMemset(b, 0, 8192);
    double four[8] = {4, 4, 4, 4, 4, 4, 4, 4};
    cudaMemcpy(sum, four, 64, cudaMemcpyHostToDevice);
    float left = 100;
    cudaMemcpy(c, &left, 4, cudaMemcpyHostToDevice);
    int n = 512;
    float tolerance = 0.25;
    void* of_rounds[] = {&a, &b, &c, &n, &tolerance};
    void* of_carried[] = {&a, &sum, &n, &tolerance};
    void* of_again[] = {&a, &c, &n};
    switch (atoi(argv[1])) {
    case 0: cudaLaunchCooperativeKernel((void*)rounds<0>, 4, 128, of_rounds, 0, 0); break;
    case 1: cudaLaunchCooperativeKernel((void*)carried<0>, 4, 128, of_carried, 0, 0); break;
    case 2: cudaLaunchCooperativeKernel((void*)again<0>, 4, 128, of_again, 0, 0); break;
    case 3: cudaLaunchCooperativeKernel((void*)rounds<1>, 4, 128, of_rounds, 0, 0); break;
    case 4: cudaLaunchCooperativeKernel((void*)carried<1>, 4, 128, of_carried, 0, 0); break;
    case 5: cudaLaunchCooperativeKernel((void*)again<1>, 4, 128, of_again, 0, 0); break;
    }
    return cudaDeviceSynchronize();
}
"#;

#[test]
fn loops_that_a_loaded_number_ends_are_proved_while_barriers_order_it() {
    let folder = work_folder("proofs_grid").unwrap();
    std::fs::write(folder.join("k.cu"), SOURCE).unwrap();
    compile(&["-fsanitize=gpurace", "k.cu", "-o", "k"], &folder).unwrap();
    for which in 0..6 {
        let run = run_checked(&folder.join("k"), &[&which.to_string()], "cache_dir=", &folder).unwrap();
        let report = run.report.unwrap();
        assert_eq!(report.stats.checks_executed == 0, which < 3, "kernel {which}");
    }
}
