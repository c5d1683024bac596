//@ revisions: racy fixed
//@[racy] findings: unordered-operations
//@ module: yes
// Two launches of the driver API write the same bytes on two streams.
#include "driver.h"

extern "C" __global__ void fill(int* data, int value) { data[threadIdx.x] = value; } //~ WRITE

int main(int, char** argv) {
    CUmodule module = own_module(argv[0]);
    CUfunction fill = function(module, "fill");
    CUdeviceptr data;
    CUstream first, second;
    CUevent done;
    CU(cuMemAlloc(&data, 32 * sizeof(int)));
    CU(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
    CU(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
    CU(cuEventCreate(&done, CU_EVENT_DISABLE_TIMING));
    int one = 1, two = 2;
    void* to_first[] = {&data, &one};
    void* to_second[] = {&data, &two};
    CU(cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, first, to_first, nullptr));
#ifdef FIXED
    CU(cuEventRecord(done, first));
    CU(cuStreamWaitEvent(second, done, 0));
#endif
    CU(cuLaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, second, to_second, nullptr));
    CU(cuCtxSynchronize());
    int last;
    CU(cuMemcpyDtoH(&last, data, sizeof last));
    return finish(last == 2);
}
//~ RACE[racy] write-write global device: WRITE WRITE
