// Two kernels with one race each, and one without.
#include "check.h"

__global__ void shared_race(int* out) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    tile[t] = t;                // write of the tile
    out[t] = tile[(t + 1) % 64]; // read of the neighbour
}

namespace app {
__global__ void global_race(int* out) {
    out[0] = blockIdx.x; // write of one word
}
} // namespace app

__global__ void no_race(int* out) {
    out[threadIdx.x] = threadIdx.x;
}

int main() {
    Buffer<int> a(64), b(16);
    shared_race<<<1, 64>>>(a.device);
    app::global_race<<<dim3(2, 2), 1>>>(b.device);
    no_race<<<1, 64>>>(a.device);
    no_race<<<1, 64>>>(a.device);
    SYNC();
    return 0;
}
