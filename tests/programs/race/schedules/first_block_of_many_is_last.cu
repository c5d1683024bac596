//@ revisions: racy fixed
//@ opt: O1
//@[racy] findings: missing-fence
// The last of many large blocks adds up what all have stored. The first block lacks a fence, which is a race only if it
// comes last.
#include "check.h"

const int BLOCKS = 256, THREADS = 128;

__global__ void sum(const int* in, int* parts, unsigned* count, int* out) {
    __shared__ int tile[THREADS];
    int t = threadIdx.x;
    tile[t] = in[blockIdx.x * THREADS + t];
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (t < s) tile[t] += tile[t + s];
        __syncthreads();
    }
    if (t) return;
    parts[blockIdx.x] = tile[0]; //~ A
    __threadfence();
    if (atomicAdd(count, 1) != gridDim.x - 1) return;
#ifdef RACY
    if (blockIdx.x)
#endif
        __threadfence();
    int all = 0;
    for (int i = 0; i < BLOCKS; i++) all += parts[i]; //~ B
    *out = all;
}
//~ RACE[racy] write-read global grid: A B

int main() {
    Buffer<int> in(BLOCKS * THREADS), parts(BLOCKS), out(1);
    Buffer<unsigned> count(1);
    sum<<<BLOCKS, THREADS>>>(in.device, parts.device, count.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 0);
}
