//@ revisions: racy fixed
//@[racy] findings: alias
// All pairs of bodies, tile by tile: positions are updated in place by blocks that are
// done, while others still load them.
#include "check.h"

__global__ void step(const float* from, float* to, int n) {
    __shared__ float tile[32];
    int i = blockIdx.x * 32 + threadIdx.x;
    float own = from[i], force = 0;
    for (int k = 0; k < n; k += 32) {
        tile[threadIdx.x] = from[k + threadIdx.x]; //~ A
        __syncthreads();
        for (int j = 0; j < 32; j++) force += tile[j] - own;
        __syncthreads();
    }
    to[i] = own + force / n; //~ W
}
//~ RACE[racy] read-write global grid: A W

int main() {
    const int n = 128;
    Buffer<float> a(n), b(n);
    for (int i = 0; i < n; i++) a[i] = b[i] = i;
    a.upload();
    b.upload();
#ifdef FIXED
    step<<<n / 32, 32>>>(a.device, b.device, n);
#else
    step<<<n / 32, 32>>>(b.device, b.device, n);
#endif
    SYNC();
    b.download();
    bool right = true;
    for (int i = 0; i < n; i++) right &= b[i] == 63.5f;
    return finish(right);
}
