//@ revisions: racy fixed
//@[racy] seeds: 0 12
//@[racy] findings: missing-barrier
// A minimum by halves in dynamic shared memory whose blocks note when they began and ended. The racy
// form lacks the barrier within the loop. Threads in reverse order (seed 2) would find nothing to store at B.
#include "check.h"

__global__ void timed_minimum(const float* input, float* output, long long* timer) {
    extern __shared__ float shared[];
    int t = threadIdx.x, b = blockIdx.x;
    if (t == 0) timer[b] = clock64();
    shared[t] = input[t]; //~ W
    shared[t + blockDim.x] = input[t + blockDim.x];
    for (int d = blockDim.x; d > 0; d /= 2) {
#ifdef FIXED
        __syncthreads();
#endif
        if (t < d) {
            float f0 = shared[t], f1 = shared[t + d]; //~ A
            if (f1 < f0) shared[t] = f1; //~ B
        }
    }
    if (t == 0) output[b] = shared[0];
    __syncthreads();
    if (t == 0) timer[b + gridDim.x] = clock64();
}
//~ RACE[racy] write-read shared: W A
//~ RACE[racy] write-read shared: B A

int main() {
    const int threads = 64, blocks = 4;
    Buffer<float> input(2 * threads), output(blocks);
    Buffer<long long> timer(2 * blocks);
    for (int i = 0; i < 2 * threads; i++) input[i] = 1000 - i * 7 % 128;
    input.upload();
    timed_minimum<<<blocks, threads, 2 * threads * sizeof(float)>>>(input.device, output.device, timer.device);
    SYNC();
    output.download(), timer.download();
    bool right = true;
    for (int b = 0; b < blocks; b++) right &= output[b] == 873 && timer[b] <= timer[b + blocks];
    return finish(right);
}
