//! Asynchronous copies that their thread waits for before the next barrier, and some that are in flight over barriers.

use super::compare;

const SOURCE: &str = r#"
#include <cstdlib>
#include <cuda/pipeline>
#include <cuda_pipeline.h>
constexpr int T = 64;
__device__ void copy(float* to, const float* from) { __pipeline_memcpy_async(to, from, sizeof(float)); }
__device__ void wait() { __pipeline_commit(); __pipeline_wait_prior(0); }
// One tile, copied anew in each round; with `barrier` 0 while other threads may still read it.
template <bool barrier> __global__ void one_tile(const float* in, float* out, int rounds) {
    __shared__ float tile[T];
    float sum = 0;
    for (int r = 0; r < rounds; r++) {
        copy(&tile[threadIdx.x], &in[r * T + threadIdx.x]);
        wait();
        __syncthreads();
        sum += tile[T - 1 - threadIdx.x];
        if (barrier) __syncthreads();
    }
    out[blockIdx.x * T + threadIdx.x] = sum;
}
// The next tile is copied while this one is read; with `ahead` 0 into this one.
template <int ahead> __global__ void two_tiles(const float* in, float* out, int rounds) {
    __shared__ float tile[2][T];
    float sum = 0;
    copy(&tile[0][threadIdx.x], &in[threadIdx.x]);
    wait();
    __syncthreads();
    for (int r = 0; r < rounds; r++) {
        if (r + 1 < rounds) copy(&tile[(r + ahead) & 1][threadIdx.x], &in[(r + 1) * T + threadIdx.x]);
        sum += tile[r & 1][T - 1 - threadIdx.x];
        wait();
        __syncthreads();
    }
    out[blockIdx.x * T + threadIdx.x] = sum;
}
// A thread reads its own element, behind the wait or before it.
template <bool waits> __global__ void own(const float* in, float* out) {
    __shared__ float tile[T];
    copy(&tile[threadIdx.x], &in[threadIdx.x]);
    if (waits) wait();
    float early = tile[threadIdx.x];
    wait();
    __syncthreads();
    out[blockIdx.x * T + threadIdx.x] = early + tile[threadIdx.x ^ 1];
}
// The wait stands before the barrier or behind it, or the copies are in no group yet.
template <int order> __global__ void orders(const float* in, float* out) {
    __shared__ float tile[T];
    copy(&tile[threadIdx.x], &in[threadIdx.x]);
    if (order == 0) wait();
    if (order == 2) __pipeline_wait_prior(0);
    __syncthreads();
    if (order != 0) wait();
    out[blockIdx.x * T + threadIdx.x] = tile[threadIdx.x ^ 1];
}
// A thread overwrites the source of its copy, behind the barrier or while the copy is in flight.
template <bool early> __global__ void source(float* in, float* out) {
    __shared__ float tile[T];
    int i = blockIdx.x * T + threadIdx.x;
    copy(&tile[threadIdx.x], &in[i]);
    if (early) in[i] = 0;
    wait();
    __syncthreads();
    if (!early) in[i] = 0;
    out[i] = tile[threadIdx.x ^ 1];
}
// A ring of three tiles; with `left` 2 a tile is read before its copy is done, with `ahead` 1 it is copied too early.
template <int left, int ahead> __global__ void ring(const float* in, float* out, int rounds) {
    __shared__ float tile[3][T];
    int t = threadIdx.x;
    float sum = 0;
    copy(&tile[0][t], &in[t]);
    __pipeline_commit();
    copy(&tile[1][t], &in[T + t]);
    __pipeline_commit();
    for (int r = 0; r < rounds; r++) {
        __pipeline_wait_prior(left);
        __syncthreads();
        sum += tile[r % 3][T - 1 - t];
        if (r + 2 < rounds) copy(&tile[(r + 2 + ahead) % 3][t], &in[(r + 2) * T + t]);
        __pipeline_commit();
    }
    out[blockIdx.x * T + t] = sum;
}
// libcu++ asks whether its source is global memory, and copies at once from other memory. With `ahead` 0 it copies to
// the tile that is read.
template <int ahead> __global__ void library(const float* in, float* out, int rounds) {
    __shared__ float tile[2][T];
    int t = threadIdx.x;
    float sum = 0;
    auto pipeline = cuda::make_pipeline();
    pipeline.producer_acquire();
    cuda::memcpy_async(&tile[0][t], &in[t], sizeof(float), pipeline);
    pipeline.producer_commit();
    for (int r = 0; r < rounds; r++) {
        cuda::pipeline_consumer_wait_prior<0>(pipeline);
        __syncthreads();
        pipeline.producer_acquire();
        if (r + 1 < rounds)
            cuda::memcpy_async(&tile[(r + ahead) & 1][t], &in[(r + 1) * T + t], sizeof(float), pipeline);
        pipeline.producer_commit();
        sum += tile[r & 1][T - 1 - t];
        pipeline.consumer_release();
    }
    out[blockIdx.x * T + t] = sum;
}
// A ring whose first copies are started in a loop; with `left` 3 a tile is read before its copy is done.
template <int left> __global__ void rolled(const float* in, float* out, int rounds) {
    __shared__ float tile[4][T];
    int t = threadIdx.x;
    float sum = 0;
    for (int s = 0; s < 3; s++) {
        if (s < rounds) copy(&tile[s][t], &in[s * T + t]);
        __pipeline_commit();
    }
    for (int r = 0; r < rounds; r++) {
        __pipeline_wait_prior(left);
        __syncthreads();
        if (r + 3 < rounds) copy(&tile[(r + 3) % 4][t], &in[(r + 3) * T + t]);
        __pipeline_commit();
        sum += tile[r % 4][T - 1 - t];
    }
    out[blockIdx.x * T + t] = sum;
}
// Two numbers that go round say which tile is read and which one is copied. With `first` 2 the latter is the tile that
// others may still read.
enum How { REMAINDER, BRANCH, FOLLOWS };
template <How how, int first> __global__ void stages(const float* in, float* out, int rounds) {
    __shared__ float tile[4][T];
    int t = threadIdx.x, reads = 0, writes = first;
    float sum = 0;
    for (int s = 0; s < 3; s++) {
        copy(&tile[s][t], &in[s * T + t]);
        __pipeline_commit();
    }
    for (int r = 0; r < rounds; r++) {
        __pipeline_wait_prior(2);
        __syncthreads();
        if (r + 3 < rounds) copy(&tile[writes][t], &in[(r + 3) * T + t]);
        __pipeline_commit();
        sum += tile[reads][T - 1 - t];
        if (how == FOLLOWS) writes = reads;
        if (how == REMAINDER) writes = (writes + 1) % 4;
        if (how == BRANCH && ++writes == 4) writes = 0;
        if (how == BRANCH && ++reads == 4) reads = 0;
        if (how != BRANCH) reads = (reads + 1) % 4;
    }
    out[blockIdx.x * T + t] = sum;
}
// The last round has a group less. With `last` 1 its wait leaves the tile that is read in flight.
template <int last> __global__ void chosen(const float* in, float* out, int rounds) {
    __shared__ float tile[2][T];
    int t = threadIdx.x, stage = 0;
    float sum = 0;
    copy(&tile[0][t], &in[t]);
    __pipeline_commit();
    for (int r = 0; r < rounds; r++) {
        if (r + 1 < rounds) {
            copy(&tile[stage ^ 1][t], &in[(r + 1) * T + t]);
            __pipeline_commit();
        }
        __pipeline_wait_prior(r + 1 < rounds ? 1 : last);
        __syncthreads();
        sum += tile[stage][T - 1 - t];
        stage ^= 1;
        __syncthreads();
    }
    out[blockIdx.x * T + t] = sum;
}
// `consumer_wait` counts the groups. With `ahead` 2 it waits for one of two, and the other tile is read. With `loaded`
// nobody knows how many groups there are.
template <int ahead, bool loaded> __global__ void counted(const float* in, float* out, int rounds) {
    __shared__ float tile[3][T];
    int t = threadIdx.x;
    float sum = 0;
    auto pipeline = cuda::make_pipeline();
    for (int s = 0; s < ahead; s++) {
        cuda::memcpy_async(&tile[s][t], &in[s * T + t], sizeof(float), pipeline);
        pipeline.producer_commit();
    }
    if (loaded && in[t] > 1) pipeline.producer_commit();
    for (int r = 0; r < rounds; r++) {
        pipeline.consumer_wait();
        __syncthreads();
        if (r + ahead < rounds) {
            cuda::memcpy_async(&tile[(r + ahead) % 3][t], &in[(r + ahead) * T + t], sizeof(float), pipeline);
            pipeline.producer_commit();
        }
        sum += tile[(ahead == 2 ? r + 1 : r) % 3][T - 1 - t];
        __syncthreads();
    }
    out[blockIdx.x * T + t] = sum;
}
int main(int, char** argv) {
    float *in, *out;
    cudaMalloc(&in, 4096);
    cudaMalloc(&out, 4096);
    cudaMemset(in, 0, 4096);
    switch (atoi(argv[1])) {
    case 0: one_tile<true><<<4, T>>>(in, out, 8); break;
    case 1: two_tiles<1><<<4, T>>>(in, out, 8); break;
    case 2: orders<0><<<4, T>>>(in, out); break;
    case 3: source<false><<<4, T>>>(in, out); break;
    case 4: one_tile<false><<<4, T>>>(in, out, 8); break;
    case 5: two_tiles<0><<<4, T>>>(in, out, 8); break;
    case 6: orders<1><<<4, T>>>(in, out); break;
    case 7: orders<2><<<4, T>>>(in, out); break;
    case 8: source<true><<<4, T>>>(in, out); break;
    case 9: own<false><<<4, T>>>(in, out); break;
    // No race, but the wait does not stand on a way to a barrier of its own.
    case 10: own<true><<<4, T>>>(in, out); break;
    case 11: ring<1, 0><<<4, T>>>(in, out, 8); break;
    case 12: ring<2, 0><<<4, T>>>(in, out, 8); break;
    case 13: ring<1, 1><<<4, T>>>(in, out, 8); break;
    case 14: library<1><<<4, T>>>(in, out, 8); break;
    case 15: library<0><<<4, T>>>(in, out, 8); break;
    case 16: rolled<2><<<4, T>>>(in, out, 8); break;
    case 17: rolled<3><<<4, T>>>(in, out, 8); break;
    case 18: chosen<0><<<4, T>>>(in, out, 8); break;
    case 19: chosen<1><<<4, T>>>(in, out, 8); break;
    case 20: counted<1, false><<<4, T>>>(in, out, 8); break;
    case 21: counted<2, false><<<4, T>>>(in, out, 8); break;
    // No race in this launch.
    case 23: stages<REMAINDER, 3><<<4, T>>>(in, out, 8); break;
    case 24: stages<BRANCH, 3><<<4, T>>>(in, out, 8); break;
    case 25: stages<FOLLOWS, 3><<<4, T>>>(in, out, 8); break;
    case 26: stages<REMAINDER, 2><<<4, T>>>(in, out, 8); break;
    case 27: stages<BRANCH, 0><<<4, T>>>(in, out, 8); break;
    case 28: stages<FOLLOWS, 2><<<4, T>>>(in, out, 8); break;
    case 22: counted<1, true><<<4, T>>>(in, out, 8); break;
    }
    return cudaDeviceSynchronize();
}
"#;

/// What is proved runs without checks. What is not has the races that it has with every check.
#[test]
fn copies_that_are_waited_for_before_the_barrier_are_proved() {
    compare(
        SOURCE,
        "proofs_copies",
        0..=28,
        &[0, 1, 2, 3, 10, 11, 14, 16, 18, 20, 22, 23, 24, 25],
        &[0, 1, 2, 3, 11, 14, 16, 18, 20, 23, 24, 25],
    );
}
