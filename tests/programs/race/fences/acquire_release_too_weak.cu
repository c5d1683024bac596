//@ revisions: racy fixed
//@[racy] findings: missing-fence
// `cuda::atomic_ref`: a relaxed flag hands over nothing, release and acquire do.
#include <cuda/atomic>
#include "check.h"

#ifdef FIXED
#define RELEASE cuda::memory_order_release
#define ACQUIRE cuda::memory_order_acquire
#else
#define RELEASE cuda::memory_order_relaxed
#define ACQUIRE cuda::memory_order_relaxed
#endif

__global__ void pass(int* value, int* flag, int* out) {
    if (threadIdx.x) return;
    cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
    if (blockIdx.x == 0) {
        *value = 42; //~ A
        ready.store(1, RELEASE);
    } else {
        while (ready.load(ACQUIRE) == 0) {
        }
        *out = *value; //~ B
    }
}
//~ RACE[racy] write-read global grid: A B

int main() {
    Buffer<int> value(1), flag(1), out(1);
    pass<<<2, 32>>>(value.device, flag.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 42);
}
