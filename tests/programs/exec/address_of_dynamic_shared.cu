// The address of dynamic shared memory as an integer, which PTX takes, and back: where it is the kernel's only shared memory,
// and behind an array.
#include "check.h"

extern __shared__ int words[];

__device__ void store(unsigned address, int value) {
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}

__global__ void alone(int* out) {
    int t = threadIdx.x;
    store(static_cast<unsigned>(__cvta_generic_to_shared(words)) + 4 * t, t);
    __syncthreads();
    out[t] = words[t ^ 1];
}

__global__ void behind_an_array(int* out) {
    __shared__ int first[64];
    int t = threadIdx.x;
    store(static_cast<unsigned>(__cvta_generic_to_shared(words)) + 4 * t, t);
    store(static_cast<unsigned>(__cvta_generic_to_shared(first)) + 4 * t, 2 * t);
    __syncthreads();
    out[t] = words[t ^ 1] + first[t ^ 2];
}

__global__ void there_and_back(int* out) {
    int t = threadIdx.x;
    auto same = static_cast<int*>(__cvta_shared_to_generic(__cvta_generic_to_shared(words)));
    same[t] = t + 5;
    __syncthreads();
    out[t] = words[t ^ 1];
}

int main() {
    bool right = true;
    Buffer<int> out(64);
    alone<<<1, 64, 256>>>(out.device);
    SYNC();
    out.download();
    for (int i = 0; i < 64; i++) right &= out[i] == (i ^ 1);
    behind_an_array<<<1, 64, 256>>>(out.device);
    SYNC();
    out.download();
    for (int i = 0; i < 64; i++) right &= out[i] == (i ^ 1) + 2 * (i ^ 2);
    there_and_back<<<1, 64, 256>>>(out.device);
    SYNC();
    out.download();
    for (int i = 0; i < 64; i++) right &= out[i] == (i ^ 1) + 5;
    return finish(right);
}
