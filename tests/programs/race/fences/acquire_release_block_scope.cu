//@ revisions: racy fixed
//@[racy] findings: narrow-scope
// Release and acquire at block scope do not reach another block.
#include <cuda/atomic>
#include "check.h"

#ifdef FIXED
constexpr auto SCOPE = cuda::thread_scope_device;
#else
constexpr auto SCOPE = cuda::thread_scope_block;
#endif

__global__ void pass(int* value, int* flag, int* out) {
    if (threadIdx.x) return;
    cuda::atomic_ref<int, SCOPE> ready(*flag);
    if (blockIdx.x == 0) {
        *value = 42; //~ A
        ready.store(1, cuda::memory_order_release); //~ B
    } else {
        while (ready.load(cuda::memory_order_acquire) == 0) { //~ C
        }
        *out = *value; //~ D
    }
}
//~ RACE[racy] write-read global grid: A D
//~ RACE[racy] atomic-atomic global grid: B C

int main() {
    Buffer<int> value(1), flag(1), out(1);
    pass<<<2, 32>>>(value.device, flag.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 42);
}
