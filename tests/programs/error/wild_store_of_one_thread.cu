//@ seeds: 0
//@ stderr-contains: illegal write of address 0x1000 in kernel `store(int*, int*)`, block (0,0,0), thread (37,0,0)
//@ findings: several-writers
// One thread of many stores through a wild pointer: checks that look at all threads' accesses together
// name it, and the race of those before it.
#include "check.h"

__global__ void store(int* out, int* wild) {
    out[threadIdx.x / 2] = threadIdx.x; //~ A
    int* at = threadIdx.x == 37 ? wild : out + 512 + threadIdx.x;
    *at = 1;
}
//~ RACE write-write global: A A

int main() {
    int* out;
    cudaMalloc(&out, 2048 * 4);
    store<<<1, 64>>>(out, (int*)0x1000);
    return finish(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
}
