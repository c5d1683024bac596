//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// A lambda of each warp resets two slots, and all lanes add to them at once: one __syncwarp() is missing.
#include "check.h"

template <class F>
__device__ void on_warps(int rows, F f) {
    for (int r = threadIdx.x / 32; r < rows; r += blockDim.x / 32) f(r, threadIdx.x % 32);
}

__global__ void extremes(const int* in, int* out, int rows) {
    __shared__ int most[4], least[4];
    on_warps(rows, [&](int r, int lane) {
        int w = threadIdx.x / 32, v = in[r * 32 + lane];
        if (lane == 0) {
            most[w] = -1, least[w] = 1 << 20; //~ A
        }
#ifdef FIXED
        __syncwarp();
#endif
        if (v >= 0) {
            atomicMax(&most[w], v), atomicMin(&least[w], v); //~ B
        }
        __syncwarp();
        if (lane == 0) out[r] = most[w] - least[w];
        __syncwarp();
    });
}
//~ RACE[racy] write-atomic shared warp: A B

int main() {
    const int rows = 6;
    Buffer<int> in(rows * 32), out(rows);
    for (int i = 0; i < rows * 32; i++) in[i] = i * 11 % 64;
    in.upload();
    extremes<<<1, 128>>>(in.device, out.device, rows);
    SYNC();
    out.download();
    bool right = true;
    for (int r = 0; r < rows; r++) {
        int most = -1, least = 1 << 20;
        for (int i = r * 32; i < r * 32 + 32; i++) most = max(most, in[i]), least = min(least, in[i]);
        right &= out[r] == most - least;
    }
    return finish(right);
}
