//@ revisions: racy fixed
//@[racy] findings: missing-fence
// One block waits, by the wait of libcu++, until another has notified. A relaxed wait acquires nothing.
#include <cuda/atomic>
#include "check.h"

__device__ int flag;

__global__ void hand_over(int* data, int* out) {
    if (threadIdx.x != 0) return;
    cuda::atomic_ref<int, cuda::thread_scope_device> ready(flag);
    if (blockIdx.x == 0) {
        *data = 7; //~ A
        ready.store(1, cuda::memory_order_release);
        ready.notify_all();
    } else {
#ifdef RACY
        ready.wait(0, cuda::memory_order_relaxed);
#else
        ready.wait(0, cuda::memory_order_acquire);
#endif
        *out = *data; //~ B
    }
}
//~ RACE[racy] write-read global grid: A B

int main() {
    Buffer<int> data(1), out(1);
    hand_over<<<2, 32>>>(data.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 7);
}
