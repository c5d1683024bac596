// What programs ask of the compiler: nvcc gives `__CUDACC__` a value, on both sides, and defines its version.
#include "check.h"

#if __CUDACC__ && !defined(__CUDA_ARCH__)
static const bool host_side = true;
#else
static const bool host_side = false;
#endif

__global__ void ask(int* out) {
#if __CUDACC__ && defined(__CUDA_ARCH__)
    out[0] = __CUDACC__;
#endif
    out[1] = 1000 * __CUDACC_VER_MAJOR__ + 10 * __CUDACC_VER_MINOR__;
}

int main() {
    Buffer<int> out(2);
    ask<<<1, 1>>>(out.device);
    SYNC();
    out.download();
    bool version = 1000 * __CUDACC_VER_MAJOR__ + 10 * __CUDACC_VER_MINOR__ == CUDART_VERSION;
    return finish(host_side && out[0] == 1 && version && out[1] == CUDART_VERSION && __CUDACC_VER_BUILD__ >= 0);
}
