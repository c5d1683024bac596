//@ revisions: racy fixed
//@[racy] findings: missing-atomic
// A barrier of the grid whose last block sets the count back and then turns the sense. The racy one turns the sense first, so that
// the count is set back beside the arrivals of the next round.
#include "check.h"

__device__ unsigned int count;
__device__ unsigned int sense;

__device__ unsigned int load(const unsigned int* from) {
    unsigned int value;
    asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
    return value;
}

__device__ void turn(unsigned int to) {
    asm volatile("st.release.gpu.u32 [%0], %1;" ::"l"(&sense), "r"(to) : "memory");
}

__device__ void barrier(unsigned int round) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        if (atomicAdd(&count, 1) == gridDim.x - 1) { //~ ARRIVE
#ifdef RACY
            __threadfence();
            turn(round + 1);
            count = 0; //~ RESET
#else
            __threadfence();
            count = 0;
            turn(round + 1);
#endif
        } else {
            while (load(&sense) == round) {}
        }
        __threadfence();
    }
    __syncthreads();
}

__global__ void halves(int* data, int* out) {
    int b = blockIdx.x, n = gridDim.x, t = threadIdx.x;
    data[b * blockDim.x + t] = b + t;
    barrier(0);
    out[b * blockDim.x + t] = data[(b + 1) % n * blockDim.x + t];
#ifdef FIXED
    barrier(1);
    data[b * blockDim.x + t] = 0;
#else
    // One arrival more: with two rounds the count may never be complete.
    if (t == 0) atomicAdd(&count, 1); //~ NEXT
#endif
}
//~ RACE[racy] write-atomic global grid: RESET NEXT

int main() {
    Buffer<int> data(128), out(128);
    halves<<<4, 32>>>(data.device, out.device);
    SYNC();
    out.download();
    return finish(out[5] == 6 && out[127] == 31);
}
