__global__ void warpscan(int n, const int* in, int* out) {
    __shared__ int sums[32];
    int t = threadIdx.x, lane = t & 31, warp = t >> 5, i = blockIdx.x * blockDim.x + t;
    int own = i < n ? in[i] : 0, sum = own;
    for (int d = 1; d < 32; d *= 2) {
        int below = __shfl_up_sync(0xffffffffu, sum, d);
        if (lane >= d) sum += below;
    }
    if (lane == 31) sums[warp] = sum;
    __syncthreads();
    if (warp == 0) {
        int of_warp = lane < blockDim.x / 32 ? sums[lane] : 0;
        for (int d = 1; d < 32; d *= 2) {
            int below = __shfl_up_sync(0xffffffffu, of_warp, d);
            if (lane >= d) of_warp += below;
        }
        sums[lane] = of_warp;
    }
    __syncthreads();
    if (warp > 0) sum += sums[warp - 1];
    if (i < n) out[i] = sum;
}
#include "warpscan.h"
