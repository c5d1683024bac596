// One mistake in each kernel; the suite `reports` says how the report names each.
#include <cuda_pipeline.h>

#include "check.h"

// 32 lines without a barrier.
__global__ void forgotten(int* out) {
    __shared__ int tile[1024];
    int t = threadIdx.x;
    int sum = 0;
    tile[0 * 64 + t] = t + 0;
    tile[1 * 64 + t] = t + 1;
    tile[2 * 64 + t] = t + 2;
    tile[3 * 64 + t] = t + 3;
    tile[4 * 64 + t] = t + 4;
    tile[5 * 64 + t] = t + 5;
    tile[6 * 64 + t] = t + 6;
    tile[7 * 64 + t] = t + 7;
    tile[8 * 64 + t] = t + 8;
    tile[9 * 64 + t] = t + 9;
    tile[10 * 64 + t] = t + 10;
    tile[11 * 64 + t] = t + 11;
    tile[12 * 64 + t] = t + 12;
    tile[13 * 64 + t] = t + 13;
    tile[14 * 64 + t] = t + 14;
    tile[15 * 64 + t] = t + 15;
    sum += tile[(t * 7 + 1 * 64 + t / 8 * 64) % 1024]; // the first read
    sum += tile[(t * 7 + 2 * 64 + t / 8 * 128) % 1024];
    sum += tile[(t * 7 + 3 * 64 + t / 8 * 192) % 1024];
    sum += tile[(t * 7 + 4 * 64 + t / 8 * 256) % 1024];
    sum += tile[(t * 7 + 5 * 64 + t / 8 * 320) % 1024];
    sum += tile[(t * 7 + 6 * 64 + t / 8 * 384) % 1024];
    sum += tile[(t * 7 + 7 * 64 + t / 8 * 448) % 1024];
    sum += tile[(t * 7 + 8 * 64 + t / 8 * 512) % 1024];
    sum += tile[(t * 7 + 9 * 64 + t / 8 * 576) % 1024];
    sum += tile[(t * 7 + 10 * 64 + t / 8 * 640) % 1024];
    sum += tile[(t * 7 + 11 * 64 + t / 8 * 704) % 1024];
    sum += tile[(t * 7 + 12 * 64 + t / 8 * 768) % 1024];
    sum += tile[(t * 7 + 13 * 64 + t / 8 * 832) % 1024];
    sum += tile[(t * 7 + 14 * 64 + t / 8 * 896) % 1024];
    sum += tile[(t * 7 + 15 * 64 + t / 8 * 960) % 1024];
    sum += tile[(t * 7 + 16 * 64 + t / 8 * 1024) % 1024];
    out[t] = sum;
}

__global__ void next_round(int* out, int rounds) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    int sum = 0;
    for (int i = 0; i < rounds; i++) {
        tile[t] = i; // the write
        __syncthreads();
        sum += tile[63 - t]; // the read
    }
    out[t] = sum;
}

template <class T> __global__ void shift(const T* in, T* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 < n) out[i] = in[i + 1];
}

__global__ void narrow(int* counter) { atomicAdd_block(counter, 1); }

__global__ void published(int* data, int* flag, int* out) {
    if (blockIdx.x == 0) {
        *data = 1;
        atomicExch(flag, 1); // without a fence
    } else {
        while (atomicAdd(flag, 0) == 0) {
        }
        __threadfence();
        *out = *data;
    }
}

__global__ void halves(int* out) {
    __shared__ int tile[32];
    int t = threadIdx.x;
    tile[t] = t;
    __syncwarp(t < 16 ? 0xffff : 0xffff0000);
    out[t] = tile[31 - t];
}

__global__ void step(int* data) { data[threadIdx.x] += 1; }

__global__ void copied(const int* in, int* out) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&tile[t], &in[t], sizeof(int));
    __pipeline_commit();
    __syncthreads();
    out[t] = tile[63 - t];
}

__global__ void flags(int* found) { *found = 1; }

__global__ void update(int* total) { *total += threadIdx.x; }

// A barrier before the read would leave out the threads that have returned.
__global__ void left_early(int* out, int n) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    if (t >= n) return;
    tile[t] = t;
    out[t] = tile[n - 1 - t];
}

// No barrier stands on the ways of both threads.
__global__ void two_ways(int* out) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    if (t < 32) {
        tile[t] = t;
    } else {
        out[t] = tile[t - 32];
    }
}

// The accesses of one round do not meet, those of two rounds do.
__global__ void halved(int* out) {
    __shared__ int tile[128];
    int t = threadIdx.x;
    tile[t] = t;
    __syncthreads();
    for (int s = 64; s > 0; s /= 2) {
        if (t < s) tile[t] += tile[t + s]; // the halves
    }
    out[t] = t == 0 ? tile[0] : 0;
}

// The accesses of one round meet, so a barrier at its start does not order them.
__global__ void halved_less_one(int* out) {
    __shared__ int tile[128];
    int t = threadIdx.x;
    tile[t] = t;
    __syncthreads();
    for (int s = 64; s > 0; s /= 2) {
        if (t < s) tile[t] += tile[t + s - 1];
    }
    out[t] = t == 0 ? tile[0] : 0;
}

// An index from memory: another launch may have another one.
__global__ void chosen(const int* from, int* out) {
    __shared__ int tile[128];
    int t = threadIdx.x;
    tile[t] = t;
    __syncthreads();
    for (int s = 64; s > 0; s /= 2) {
        if (t < s) tile[t] += tile[t + s + from[t]];
    }
    out[t] = t == 0 ? tile[0] : 0;
}

int main() {
    Buffer<int> a(1024), b(1024);
    forgotten<<<1, 64>>>(a.device);
    next_round<<<1, 64>>>(a.device, 3);
    shift<<<4, 64>>>(a.device, a.device, 256);
    shift<<<4, 64>>>((float*)a.device, (float*)a.device, 256);
    narrow<<<2, 32>>>(a.device);
    published<<<2, 1>>>(a.device, b.device, a.device + 1);
    halves<<<1, 32>>>(a.device);
    SYNC();
    cudaStream_t one, two;
    CUDA(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
    step<<<1, 32, 0, one>>>(a.device);
    step<<<1, 32, 0, two>>>(a.device);
    SYNC();
    copied<<<1, 64>>>(a.device, b.device);
    flags<<<1, 64>>>(a.device);
    update<<<1, 64>>>(a.device);
    left_early<<<1, 64>>>(a.device, 60);
    two_ways<<<1, 64>>>(a.device);
    halved<<<1, 128>>>(a.device);
    halved_less_one<<<1, 128>>>(a.device);
    CUDA(cudaMemset(b.device, 0, 128 * sizeof(int)));
    chosen<<<1, 128>>>(b.device, a.device);
    SYNC();
    return 0;
}
