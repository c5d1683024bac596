//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// The completion function of a barrier runs once all have arrived and before any waits no longer.
#include <cuda/barrier>
#include "check.h"
struct Sum {
    int* part; int* total;
    __device__ void operator()() { int s = 0; for (int i = 0; i < 64; i++) s += part[i]; *total = s; } //~ S
};
__global__ void sum(int* out) {
    __shared__ int part[64], total;
    using Barrier = cuda::barrier<cuda::thread_scope_block, Sum>;
    alignas(Barrier) __shared__ char place[sizeof(Barrier)];
    Barrier* b = reinterpret_cast<Barrier*>(place);
    if (threadIdx.x == 0) new (b) Barrier(64, Sum{part, &total});
    __syncthreads();
    part[threadIdx.x] = threadIdx.x; //~ W
#ifdef RACY
    (void)b->arrive();
    out[threadIdx.x] = total; //~ R
#else
    b->arrive_and_wait();
    out[threadIdx.x] = total;
    part[threadIdx.x] = 0;
#endif
}
//~ RACE[racy] write-read shared: S R
int main() {
    Buffer<int> out(64);
    sum<<<1, 64>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == 2016;
    return finish(right);
}
