//@ revisions: racy fixed
//@[racy] findings: missing-fence
// A running maximum whose holder's payload is read by the last one to count.
#include <cuda/atomic>
#include "check.h"
#ifdef RACY
constexpr auto ORDER = cuda::memory_order_relaxed;
#else
constexpr auto ORDER = cuda::memory_order_acq_rel;
#endif
__global__ void best(int* payload, int* top, int* done, int* out) {
    if (threadIdx.x) return;
    payload[blockIdx.x] = 100 + blockIdx.x; //~ W
    cuda::atomic_ref<int, cuda::thread_scope_device> t(*top), d(*done);
    t.fetch_max(blockIdx.x, ORDER);
    if (d.fetch_add(1, cuda::memory_order_relaxed) == gridDim.x - 1) {
        int who = t.fetch_min(1 << 20, ORDER);
        int sum = who;
        for (int i = 0; i < 8; i++) sum += payload[i]; //~ R
        *out = sum;
    }
}
//~ RACE[racy] write-read global grid: W R
int main() {
    Buffer<int> payload(8), top(1), done(1), out(1);
    best<<<8, 32>>>(payload.device, top.device, done.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 835);
}
