// What programs ask of the compiler: nvcc gives `__CUDACC__` a value, on both sides.
#include "check.h"

#if __CUDACC__ && !defined(__CUDA_ARCH__)
static const bool host_side = true;
#else
static const bool host_side = false;
#endif

__global__ void ask(int* out) {
#if __CUDACC__ && defined(__CUDA_ARCH__)
    *out = __CUDACC__;
#endif
}

int main() {
    Buffer<int> out(1);
    ask<<<1, 1>>>(out.device);
    SYNC();
    out.download();
    return finish(host_side && out[0] == 1);
}
