//! Buffers that change places in a loop.

use gpurace_tests::toolchain::{compile, run_checked, work_folder};

const SOURCE: &str = r#"
#include <cstdlib>
// Prefix sums with a number that chooses the buffer. With `late`, without the barrier.
template <int late> __global__ void numbers(const float* in, float* out) {
    __shared__ float t[2][256];
    int i = threadIdx.x, to = 0;
    t[to][i] = in[i];
    __syncthreads();
    for (int o = 1; o < 256; o *= 2) {
        to = 1 - to;
        t[to][i] = i >= o ? t[1 - to][i] + t[1 - to][i - o] : t[1 - to][i];
        if (!late) __syncthreads();
    }
    out[i] = t[to][i];
}
// The same with pointers. With `late`, they are swapped twice, so that each thread writes what others read.
template <int late> __global__ void pointers(const float* in, float* out) {
    __shared__ float x[256], y[256];
    int i = threadIdx.x;
    float *from = x, *to = y;
    from[i] = in[i];
    __syncthreads();
    for (int o = 1; o < 256; o *= 2) {
        to[i] = i >= o ? from[i] + from[i - o] : from[i];
        __syncthreads();
        float* other = from;
        from = to;
        to = other;
        if (late) from[(i + 1) % 256] = 1;
    }
    out[i] = from[i];
}
// Two arrays of global memory. With `late`, a thread writes the one that it reads.
template <int late> __global__ void arrays(float* a, float* b) {
    int i = threadIdx.x;
    for (int k = 0; k < 5; k++) {
        float left = i ? a[i - 1] : 0;
        (late ? a : b)[i] = left;
        __syncthreads();
        float* other = a;
        a = b;
        b = other;
    }
}
// Numbers that are swapped. With `late`, one of them only.
template <int late> __global__ void rows(const float* in, float* out) {
    __shared__ float t[2][256];
    int i = threadIdx.x, from = 0, to = 1;
    t[from][i] = in[i];
    __syncthreads();
    for (int k = 0; k < 6; k++) {
        t[to][i] = t[from][255 - i];
        __syncthreads();
        int other = from;
        from = to;
        if (!late) to = other;
    }
    out[i] = t[from][i];
}
int main(int, char** argv) {
    float *a, *b;
    cudaMalloc(&a, 4096);
    cudaMalloc(&b, 4096);
    cudaMemset(a, 0, 4096);
    switch (atoi(argv[1])) {
    case 0: numbers<0><<<1, 256>>>(a, b); break;
    case 1: pointers<0><<<1, 256>>>(a, b); break;
    case 2: arrays<0><<<1, 256>>>(a, b); break;
    case 3: rows<0><<<1, 256>>>(a, b); break;
    case 4: numbers<1><<<1, 256>>>(a, b); break;
    case 5: pointers<1><<<1, 256>>>(a, b); break;
    case 6: arrays<1><<<1, 256>>>(a, b); break;
    case 7: rows<1><<<1, 256>>>(a, b); break;
    case 8: arrays<0><<<1, 256>>>(a, a); break;
    }
    return cudaDeviceSynchronize();
}
"#;

#[test]
fn buffers_that_change_places_are_proved_while_barriers_part_them() {
    let folder = work_folder("proofs_swapped").unwrap();
    std::fs::write(folder.join("k.cu"), SOURCE).unwrap();
    compile(&["-fsanitize=gpurace", "k.cu", "-o", "k"], &folder).unwrap();
    for which in 0..9 {
        let run = run_checked(&folder.join("k"), &[&which.to_string()], "cache_dir=", &folder).unwrap();
        let report = run.report.unwrap();
        assert_eq!(report.stats.checks_executed == 0, which < 4, "kernel {which}");
        assert_eq!(report.races.is_empty(), which < 4, "kernel {which}");
    }
}
