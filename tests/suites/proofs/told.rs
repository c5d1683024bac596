//! What threads tell their blocks through shared memory: which of them writes, and how many elements there are. And the
//! rest of a matrix, which a block spreads over its threads.

const SOURCE: &str = r#"
#include <cstdlib>
#define T 64
// In each round, the thread with the largest number writes. With `late`, a new round begins too early.
template <int late> __global__ void winners(const int* in, int* out, int rounds) {
    __shared__ int most[T], who[T];
    int t = threadIdx.x;
    for (int k = 0; k < rounds; k++) {
        most[t] = in[(t * 7 + k * 5) % T];
        who[t] = t;
        __syncthreads();
        for (int s = T / 2; s > 0; s /= 2) {
            if (t < s && most[t + s] > most[t]) most[t] = most[t + s], who[t] = who[t + s];
            __syncthreads();
        }
        if (t == who[0]) out[blockIdx.x * rounds + k] = t;
        if (!late) __syncthreads();
    }
}
// A block lists what it finds, then takes places for all. With `less`, it takes too few.
template <int less> __global__ void append(const int* in, int* list, int* count) {
    __shared__ int local[T], n, base;
    int t = threadIdx.y * blockDim.x + threadIdx.x;
    if (t == 0) n = 0;
    __syncthreads();
    if (in[t] % 3) local[atomicAdd(&n, 1)] = blockIdx.x * T + t;
    __syncthreads();
    if (t == 0) base = atomicAdd(count, n - less);
    __syncthreads();
    for (int i = t; i < n; i += blockDim.x * blockDim.y) list[base + i] = local[i];
}
// The same with a number that is read once. With `early`, before all threads have added.
template <int early> __global__ void append_once(const int* in, int* list, int* count) {
    __shared__ int local[T], n, base;
    int t = threadIdx.x;
    if (t == 0) n = 0;
    __syncthreads();
    if (in[t] % 3) local[atomicAdd(&n, 1)] = blockIdx.x * T + t;
    if (!early) __syncthreads();
    int own = n;
    if (t == 0) base = atomicAdd(count, own);
    __syncthreads();
    if (t < own) list[base + t] = local[t];
}
// Each thread keeps its place in the block. With `twice`, the places are two apart, but the block takes one for each.
template <int twice> __global__ void append_own(const int* in, int* list, int* count) {
    __shared__ int n, base;
    int t = threadIdx.x, at = -1;
    if (t == 0) n = 0;
    __syncthreads();
    if (in[t] % 3) at = atomicAdd(&n, 1);
    __syncthreads();
    if (t == 0) base = atomicAdd(count, n);
    __syncthreads();
    if (at >= 0) list[base + (1 + twice) * at] = blockIdx.x * T + t;
}
// A matrix is factored in place. With `narrow`, its rows overlap.
template <int narrow> __global__ void factor(float* a) {
    const int N = 8;
    __shared__ float s[N * N];
    __shared__ float pivot;
    int t = threadIdx.x;
    s[t] = a[blockIdx.x * T + t];
    __syncthreads();
    for (int k = 0; k < N; k++) {
        int w = N - k - 1;
        if (t == 0) pivot = s[k * N + k] + 1;
        __syncthreads();
        for (int i = t; i < w * w; i += blockDim.x) {
            int r = i / w, c = i % w;
            s[(k + 1 + r) * (N - 2 * narrow) + k + 1 + c] += pivot;
        }
        __syncthreads();
    }
    a[blockIdx.x * T + t] = s[t];
}
int main(int, char** argv) {
    int *in, *out, *count, host[T];
    float* matrices;
    for (int i = 0; i < T; i++) host[i] = i * 37 % 64;
    cudaMalloc(&in, sizeof host);
    cudaMalloc(&out, 1 << 12);
    cudaMalloc(&count, 4);
    cudaMalloc(&matrices, 1 << 12);
    cudaMemcpy(in, host, sizeof host, cudaMemcpyHostToDevice);
    cudaMemset(count, 0, 4);
    cudaMemset(matrices, 0, 1 << 12);
    switch (atoi(argv[1])) {
    case 0: winners<0><<<3, T>>>(in, out, 5); break;
    case 1: append<0><<<3, dim3(16, 4)>>>(in, out, count); break;
    case 2: append_once<0><<<3, T>>>(in, out, count); break;
    case 3: append_own<0><<<3, T>>>(in, out, count); break;
    case 4: factor<0><<<3, T>>>(matrices); break;
    case 5: winners<1><<<3, T>>>(in, out, 5); break;
    case 6: append<1><<<3, dim3(16, 4)>>>(in, out, count); break;
    case 7: append_once<1><<<3, T>>>(in, out, count); break;
    case 8: append_own<1><<<3, T>>>(in, out, count); break;
    case 9: factor<1><<<3, T>>>(matrices); break;
    }
    return cudaDeviceSynchronize();
}
"#;

#[test]
fn what_threads_tell_their_blocks_is_known() {
    super::compare(SOURCE, "proofs_told", 0..=9, &[0, 1, 2, 3, 4], &[0, 1, 2, 3, 4]);
}
