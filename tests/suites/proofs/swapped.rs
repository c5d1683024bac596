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
// Three buffers that rotate. With `late`, a thread writes one that others read.
template <int late> __global__ void rotated(const float* in, float* out) {
    __shared__ float x[256], y[256], z[256];
    int i = threadIdx.x;
    float *a = x, *b = y, *c = z;
    a[i] = b[i] = in[i];
    __syncthreads();
    for (int k = 0; k < 7; k++) {
        (late ? b : c)[i] = b[255 - i] - a[(i + 1) % 256];
        __syncthreads();
        float* other = a;
        a = b;
        b = c;
        c = other;
    }
    out[i] = b[i];
}
// Numbers that rotate. With `late`, two of them become one.
template <int late> __global__ void ring(const float* in, float* out) {
    __shared__ float t[3][256];
    int i = threadIdx.x, a = 0, b = 1, c = 2;
    t[a][i] = t[b][i] = in[i];
    __syncthreads();
    for (int k = 0; k < 7; k++) {
        t[c][i] = t[b][255 - i] - t[a][(i + 1) % 256];
        __syncthreads();
        int other = a;
        a = b;
        b = c;
        c = late ? b : other;
    }
    out[i] = t[b][i];
}
// A swap in an inner loop, and another one in some rounds. With `late`, some threads make it.
template <int late> __global__ void sometimes(const float* in, float* out, int rounds) {
    __shared__ float x[256], y[256];
    int i = threadIdx.x;
    float *from = x, *to = y;
    from[i] = in[i];
    __syncthreads();
    for (int r = 0; r < rounds; r++) {
        for (int k = 0; k < rounds; k++) {
            to[i] = from[255 - i];
            __syncthreads();
            float* other = from;
            from = to;
            to = other;
        }
        if (late ? i % 2 : r % 3 == 1) {
            float* other = from;
            from = to;
            to = other;
        }
    }
    out[i] = from[i];
}
// Arrays of buffers. With `late`, both indices are one.
template <int late> __global__ void array(float* a, float* b) {
    __shared__ float x[256], y[256], z[256];
    float *two[2] = {a, b}, *three[3] = {x, y, z};
    int i = threadIdx.x;
    x[i] = y[i] = z[i] = 0;
    __syncthreads();
    for (int k = 0; k < 7; k++) {
        two[(k + 1) & 1][i] = two[k & 1][255 - i];
        three[(k + 2) % 3][i] = three[(k + (late ? 2 : 0)) % 3][255 - i];
        __syncthreads();
    }
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
    case 4: rotated<0><<<1, 256>>>(a, b); break;
    case 5: ring<0><<<1, 256>>>(a, b); break;
    case 6: sometimes<0><<<1, 256>>>(a, b, 5); break;
    case 7: array<0><<<1, 256>>>(a, b); break;
    case 8: numbers<1><<<1, 256>>>(a, b); break;
    case 9: pointers<1><<<1, 256>>>(a, b); break;
    case 10: arrays<1><<<1, 256>>>(a, b); break;
    case 11: rows<1><<<1, 256>>>(a, b); break;
    case 12: rotated<1><<<1, 256>>>(a, b); break;
    case 13: ring<1><<<1, 256>>>(a, b); break;
    case 14: sometimes<1><<<1, 256>>>(a, b, 5); break;
    case 15: array<1><<<1, 256>>>(a, b); break;
    case 16: arrays<0><<<1, 256>>>(a, a); break;
    case 17: array<0><<<1, 256>>>(a, a); break;
    }
    return cudaDeviceSynchronize();
}
"#;

/// The kernels before this one are free of races.
const PROVED: usize = 8;

#[test]
fn buffers_that_change_places_are_proved_while_barriers_part_them() {
    let folder = work_folder("proofs_swapped").unwrap();
    std::fs::write(folder.join("k.cu"), SOURCE).unwrap();
    compile(&["-fsanitize=gpurace", "k.cu", "-o", "k"], &folder).unwrap();
    for which in 0..18 {
        let run = run_checked(&folder.join("k"), &[&which.to_string()], "cache_dir=", &folder).unwrap();
        let report = run.report.unwrap();
        assert_eq!(report.stats.checks_executed == 0, which < PROVED, "kernel {which}");
        assert_eq!(report.races.is_empty(), which < PROVED, "kernel {which}");
    }
}
