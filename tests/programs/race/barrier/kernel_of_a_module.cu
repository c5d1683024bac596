//@ revisions: racy fixed
//@[racy] findings: missing-barrier
//@ module: yes
// A kernel that the driver API loads lacks a barrier between writes and reads of shared memory.
#include "driver.h"

extern "C" __global__ void turn(int* out) {
    __shared__ int row[64];
    row[threadIdx.x] = threadIdx.x; //~ WRITE
#ifdef FIXED
    __syncthreads();
#endif
    out[threadIdx.x] = row[63 - threadIdx.x]; //~ READ
}

int main(int, char** argv) {
    CUmodule module = own_module(argv[0]);
    CUdeviceptr out;
    CU(cuMemAlloc(&out, 64 * sizeof(int)));
    void* arguments[] = {&out};
    CU(cuLaunchKernel(function(module, "turn"), 1, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
    int last;
    CU(cuMemcpyDtoH(&last, out + 63 * sizeof(int), sizeof last));
    return finish(last == 0);
}
//~ RACE[racy] write-read shared: WRITE READ
