// Twenty mistakes, a kernel each, with what the report and `gpurace explain` advise (tests/suites/explain.rs).
#include <cuda_pipeline.h>
#define T threadIdx.x
#define I (blockIdx.x * blockDim.x + threadIdx.x)
__global__ void barrier(int* o) { __shared__ int s[64]; s[T] = 1;
    o[T] = s[63 - T]; }
__global__ void warp(int* o) { __shared__ int s[32]; s[T] = 1;
    o[T] = s[T ^ 1]; }
__global__ void blocks(int* o) { o[I] = 1;
    o[128 + I] = o[127 - I]; }
__global__ void last(int* o) { o[0] = T; }
__global__ void same(int* o) { o[0] = 1; }
__global__ void update(int* o) { o[0] += 1; }
__global__ void alias(const int* in, int* out) { out[T] = in[T + 1]; }
__global__ void half_atomic(int* o) { if (blockIdx.x) atomicAdd(o, 1);
    else o[1] = o[0]; }
__global__ void scope(int* o) { atomicAdd_block(o, 1); }
__global__ void rounds(int* o, int n) { __shared__ int s[64]; int sum = 0;
    for (int k = 0; k < n; k++) {
        s[T] = k;
        __syncthreads();
        sum += s[63 - T];
    }
    o[T] = sum; }
__global__ void mask(int* o) { __shared__ int s[32]; s[T] = 1;
    __syncwarp(T < 16 ? 0xffff : 0xffff0000);
    o[T] = s[31 - T]; }
__global__ void fence(int* o) {
    if (blockIdx.x == 0 && T == 0) {
        o[0] = 1;
        atomicExch(o + 1, 1);
    } else if (T == 0) {
        while (atomicAdd(o + 1, 0) == 0);
        o[2] = o[0];
    } }
__global__ void lock(int* o) { if (T) return;
    while (atomicCAS(o + 1, 0, 1));
    o[0] += 1;
    atomicExch(o + 1, 0); }
__global__ void flag(volatile int* o) { if (T) return;
    if (blockIdx.x == 0) o[0] = 1;
    else while (o[0] == 0); }
__global__ void index(int* o) { o[T / 2] = T; }
__global__ void sizes(int* o) { if (T) atomicAdd(o + 1, 1);
    else atomicAdd((unsigned long long*)o, 1ull); }
__global__ void histogram(int* o) { __shared__ int s[4]; if (T < 4) s[T] = 0;
    __syncthreads();
    atomicAdd(&s[T % 4], 1);
    if (T < 4) o[T] = s[T]; }
__global__ void copied(int* o) { __shared__ int s[32];
    __pipeline_memcpy_async(&s[T], &o[T], 4);
    __pipeline_commit();
    o[32 + T] = s[31 - T]; }
__global__ void pitch(int* o, int width) { o[blockIdx.x * width + T] = T; }
__global__ void stream(int* o) { o[I] = 1; }
int main() {
    int* d;
    cudaMalloc(&d, 4096);
    cudaStream_t s[2];
    for (auto& own : s) cudaStreamCreate(&own);
    auto clear = [&] { cudaDeviceSynchronize(); cudaMemset(d, 0, 4096); cudaDeviceSynchronize(); };
    barrier<<<1, 64>>>(d); clear(); warp<<<1, 32>>>(d); clear(); blocks<<<2, 64>>>(d); clear();
    last<<<1, 64>>>(d); clear(); same<<<1, 64>>>(d); clear(); update<<<1, 64>>>(d); clear();
    alias<<<1, 64>>>(d, d); clear(); half_atomic<<<2, 1>>>(d); clear(); scope<<<2, 1>>>(d); clear();
    rounds<<<1, 64>>>(d, 3); clear(); mask<<<1, 32>>>(d); clear(); fence<<<2, 32>>>(d); clear();
    lock<<<4, 32>>>(d); clear(); flag<<<2, 32>>>(d); clear(); index<<<1, 64>>>(d); clear();
    sizes<<<1, 64>>>(d); clear(); histogram<<<1, 64>>>(d); clear(); copied<<<1, 32>>>(d); clear();
    pitch<<<2, 64>>>(d, 32); clear();
    for (auto own : s) stream<<<1, 64, 0, own>>>(d);
    clear();
}
