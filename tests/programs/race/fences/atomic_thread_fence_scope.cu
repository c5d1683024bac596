//@ revisions: racy fixed
//@[racy] findings: missing-fence
// `cuda::atomic_thread_fence` at block scope does not hand over to another block.
#include <cuda/atomic>
#include "check.h"

#ifdef FIXED
constexpr auto scope = cuda::thread_scope_device;
#else
constexpr auto scope = cuda::thread_scope_block;
#endif

__global__ void pass(int* value, int* flag, int* out) {
    if (threadIdx.x) return;
    cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
    if (blockIdx.x == 0) {
        *value = 42; //~ A
        cuda::atomic_thread_fence(cuda::memory_order_release, scope);
        ready.store(1, cuda::memory_order_relaxed);
    } else {
        while (ready.load(cuda::memory_order_relaxed) == 0) {
        }
        cuda::atomic_thread_fence(cuda::memory_order_acquire, scope);
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
