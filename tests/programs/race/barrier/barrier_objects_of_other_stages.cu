//@ revisions: racy fixed
//@[racy] findings: wrong-phase
// One warp fills two stages in turn, and another one reads them. It waits until a stage is full, and reads the other one.
#include <cuda/barrier>
#include "check.h"
#pragma nv_diag_suppress static_var_with_dynamic_init
using Barrier = cuda::barrier<cuda::thread_scope_block>;

__global__ void stages(const int* in, int* out, int count) {
    __shared__ int buffer[2][32];
    __shared__ Barrier full[2], empty[2];
    int lane = threadIdx.x % 32, sum = 0;
    if (threadIdx.x < 2) {
        init(&full[threadIdx.x], 64);
        init(&empty[threadIdx.x], 64);
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        for (int k = 0; k < count; k++) {
            int s = k % 2;
            empty[s].arrive_and_wait();
            buffer[s][lane] = in[k * 32 + lane]; //~ A
            (void)full[s].arrive();
        }
    } else {
        (void)empty[0].arrive();
        (void)empty[1].arrive();
        for (int k = 0; k < count; k++) {
            int s = k % 2;
            full[s].arrive_and_wait();
#ifdef RACY
            sum += buffer[s ^ 1][31 - lane]; //~ B
#else
            sum += buffer[s][31 - lane];
#endif
            if (k + 2 < count) (void)empty[s].arrive();
        }
        out[lane] = sum;
    }
}
//~ RACE[racy] write-read|read-write shared: A B

int main() {
    Buffer<int> in(32 * 4), out(32);
    stages<<<1, 64>>>(in.device, out.device, 4);
    SYNC();
    return finish(true);
}
