// Counts that the thread which observes all atomic writes to them sets back, or reads, by plain accesses, with no fence
// anywhere: in global memory, in shared memory, 6,000 of them, by a thread that has only loaded the count, and after an
// atomic store.
#include "check.h"

__device__ unsigned int done, loaded, stored, many[6000];

__global__ void last_block() {
    if (threadIdx.x == 0 && atomicAdd(&done, 1) == gridDim.x - 1) done = 0;
}

__global__ void last_thread(int* out) {
    __shared__ unsigned int count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    for (int round = 0; round < 2; round++) {
        if (atomicAdd(&count, 1) == blockDim.x - 1) {
            out[blockIdx.x] += (int)count;
            count = 0;
        }
        __syncthreads();
    }
}

__global__ void last_of_each() {
    for (int i = threadIdx.x; i < 6000; i += blockDim.x) {
        if (atomicAdd(&many[i], 1) == gridDim.x - 1) many[i] = 0;
    }
}

__global__ void by_the_one_that_waits() {
    if (threadIdx.x != 0) return;
    if (blockIdx.x != 0) {
        atomicAdd(&loaded, 1);
    } else {
        unsigned int seen;
        do {
            asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(seen) : "l"(&loaded) : "memory");
        } while (seen != gridDim.x - 1);
        loaded = 0;
    }
}

__global__ void after_a_store() {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        asm volatile("st.relaxed.gpu.u32 [%0], %1;" ::"l"(&stored), "r"(100) : "memory");
    } else {
        while (atomicMax(&stored, 1) < 100) {}
        stored = 0;
    }
}

int main() {
    Buffer<int> out(4);
    for (int round = 0; round < 3; round++) {
        last_block<<<8, 64>>>();
        last_thread<<<4, 64>>>(out.device);
        last_of_each<<<4, 64>>>();
        by_the_one_that_waits<<<4, 64>>>();
        after_a_store<<<2, 32>>>();
    }
    SYNC();
    out.download();
    unsigned int counts[3];
    CUDA(cudaMemcpyFromSymbol(&counts[0], done, 4));
    CUDA(cudaMemcpyFromSymbol(&counts[1], loaded, 4));
    CUDA(cudaMemcpyFromSymbol(&counts[2], many, 4));
    return finish(out[0] == 3 * 128 && !counts[0] && !counts[1] && !counts[2]);
}
