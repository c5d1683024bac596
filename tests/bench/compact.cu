// Each block keeps the odd numbers of its part, in order, and counts them.
__global__ void compact(int n, const int* in, int* out, int* counts) {
    __shared__ int starts[33];
    int t = threadIdx.x, lane = t & 31, warp = t >> 5, i = blockIdx.x * blockDim.x + t;
    int value = i < n ? in[i] : 0;
    bool keep = value & 1;
    unsigned ballot = __ballot_sync(0xffffffffu, keep);
    int before = __popc(ballot & ((1u << lane) - 1));
    if (lane == 0) starts[warp + 1] = __popc(ballot);
    __syncthreads();
    if (t == 0) {
        starts[0] = 0;
        for (int w = 0; w < blockDim.x / 32; w++) starts[w + 1] += starts[w];
        counts[blockIdx.x] = starts[blockDim.x / 32];
    }
    __syncthreads();
    if (keep) out[blockIdx.x * blockDim.x + starts[warp] + before] = value;
}
#include "compact.h"
