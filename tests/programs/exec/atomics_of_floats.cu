// Floating-point atomic additions whose sums are exact in any order.
#include <cuda_fp16.h>
#include "check.h"

__global__ void add(float* f, double* d, __half2* h, __half* one) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(f, 0.25f * i);
    atomicAdd(d, 0.125 * i);
    atomicAdd(h, __floats2half2_rn(1.0f, 0.5f));
    atomicAdd(one, __float2half(2.0f));
}

int main() {
    Buffer<float> f(1);
    Buffer<double> d(1);
    Buffer<__half2> h(1);
    Buffer<__half> one(2);
    add<<<2, 64>>>(f.device, d.device, h.device, one.device);
    SYNC();
    f.download(), d.download(), h.download(), one.download();
    bool right = f[0] == 0.25f * 127 * 64 && d[0] == 0.125 * 127 * 64;
    right &= __low2float(h[0]) == 128 && __high2float(h[0]) == 64;
    return finish(right && __half2float(one[0]) == 256 && __half2float(one[1]) == 0);
}
