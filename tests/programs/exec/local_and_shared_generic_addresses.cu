// One function reads through pointers to global, shared, local, constant and parameter memory.
#include "check.h"

struct Four { int v[4]; };
__constant__ int constants[4] = {1, 2, 3, 4};
__device__ int globals[4] = {10, 20, 30, 40};

__device__ __noinline__ int sum4(const int* p) { return p[0] + p[1] + p[2] + p[3]; }

__global__ void sums(int* out, Four parameter) {
    __shared__ int tile[4];
    int local[4], t = threadIdx.x;
    for (int i = 0; i < 4; i++) local[i] = t * i;
    if (t < 4) tile[t] = 100 * t;
    __syncthreads();
    const int* places[5] = {constants, globals, tile, local, parameter.v};
    out[t] = 0;
    for (int k = 0; k < 5; k++) out[t] += sum4(places[(k + t) % 5]);
    out[t] += __isShared(tile) + __isGlobal(globals) + __isLocal(local);
}

int main() {
    Buffer<int> out(32);
    sums<<<1, 32>>>(out.device, Four{{5, 6, 7, 8}});
    SYNC();
    out.download();
    bool right = true;
    for (int t = 0; t < 32; t++) right &= out[t] == 10 + 100 + 600 + 6 * t + 26 + 3;
    return finish(right);
}
