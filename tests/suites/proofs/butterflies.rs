//! Exchanges at distances that each launch is given: sorting networks and transforms by launches.

use super::compare;

const SOURCE: &str = r#"
#include <cstdlib>
constexpr int N = 512;
__device__ void swap(float* a, int i, int j) {
    float x = a[i], y = a[j];
    a[i] = y;
    a[j] = x;
}
// A bitonic sort's step. Without `leads`, both threads of a pair write.
template <bool leads> __global__ void step(float* a, int j, int k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int far = i ^ j;
    if (!leads) {
        a[i] = a[far];
    } else if (far > i) {
        if ((i & k) == 0 ? a[i] > a[far] : a[i] < a[far]) swap(a, i, far);
    }
}
// With `set`, the threads write that have some bit of the distance.
template <bool set> __global__ void by_bit(float* a, int j) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (((i & j) != 0) == set) {
        if (set) a[i] = a[i ^ j];
        else swap(a, i, i ^ j);
    }
}
// Stages of a transform, which need a power of two.
__global__ void by_mask(float* a, int half) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int low = i & (half - 1);
    int first = 2 * (i - low) + low;
    swap(a, first, first + half);
}
__global__ void by_shifts(float* a, int stage) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int half = 1 << stage;
    int first = (i >> stage) << (stage + 1) | (i & (half - 1));
    swap(a, first, first + half);
}
// These need none.
template <int rows> __global__ void by_parity(float* a, int half) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i / half % 2 == 0) swap(a, i, i + rows * half);
}
template <class F> void powers(F launch) {
    for (int j = 1; j < N / 2; j *= 2) launch(j);
}
int main(int, char** argv) {
    float* a;
    cudaMalloc(&a, 4 * N * sizeof(float));
    float start[N];
    for (int i = 0; i < N; i++) start[i] = float((i * 37) % 101);
    cudaMemcpy(a, start, sizeof start, cudaMemcpyHostToDevice);
    switch (atoi(argv[1])) {
    case 0:
        for (int k = 2; k <= N; k *= 2)
            for (int j = k / 2; j > 0; j /= 2) step<true><<<N / 64, 64>>>(a, j, k);
        break;
    // Any distance pairs the elements.
    case 1: step<true><<<N / 64, 64>>>(a, 12, 3); break;
    case 2: powers([&](int j) { by_bit<false><<<N / 64, 64>>>(a, j); }); break;
    case 3: powers([&](int j) { by_mask<<<N / 128, 64>>>(a, j); }); break;
    case 4:
        for (int stage = 0; 1 << stage < N / 2; stage++) by_shifts<<<N / 128, 64>>>(a, stage);
        break;
    case 5: powers([&](int j) { by_parity<1><<<N / 64, 64>>>(a, j); }); break;
    case 6: by_parity<1><<<N / 64, 64>>>(a, 3); break;
    case 7: step<false><<<N / 64, 64>>>(a, 4, 8); break;
    case 8: by_bit<true><<<N / 64, 64>>>(a, 3); break;
    case 9: by_mask<<<N / 128, 64>>>(a, 12); break;
    case 10: by_parity<2><<<N / 64, 64>>>(a, 4); break;
    }
    return cudaDeviceSynchronize();
}
"#;

#[test]
fn exchanges_are_proved_while_one_thread_of_each_pair_makes_them() {
    compare(SOURCE, "proofs_butterflies", 0..=10, &[0, 1, 2, 3, 4, 5, 6], &[0, 1, 2, 3, 4, 5, 6]);
}
