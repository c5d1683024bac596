//@ revisions: racy fixed
//@[racy] findings: out-of-bounds out-of-bounds
// A store that leaves a shared array or a device variable may reach the one behind it. A proof must not take the two for apart.
#include "check.h"

#ifdef FIXED
constexpr int AHEAD = 0;
#else
constexpr int AHEAD = 64;
#endif

__global__ void shared(int ahead, int* out) {
    __shared__ int tile[64];
    __shared__ int more[64];
    int t = threadIdx.x;
    tile[t] = more[t] = t;
    __syncthreads();
    int value = more[63 - t]; //~ LOAD
    tile[t + ahead] = 1;      //~ STORE
    __syncthreads();
    out[t] = value + tile[63 - t] + more[t];
}
//~ RACE[racy] read-write|write-read shared: LOAD STORE

__device__ int first[64];
__device__ int second[64];

__global__ void variables(int ahead, int* out) {
    int t = threadIdx.x;
    int value = second[63 - t]; //~ LOAD_VARIABLE
    first[t + ahead] = 1;       //~ STORE_VARIABLE
    out[t] = value;
}
//~ RACE[racy] read-write|write-read global: LOAD_VARIABLE STORE_VARIABLE

int main() {
    Buffer<int> out(64);
    shared<<<1, 64>>>(AHEAD, out.device);
    SYNC();
    out.download();
    bool right = AHEAD != 0 || out[0] == 64;
    variables<<<1, 64>>>(AHEAD, out.device);
    SYNC();
    out.download();
    return finish(right && out[0] == 0);
}
