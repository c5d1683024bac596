//@ revisions: racy fixed unread
//@[racy] findings: missing-fence
//@[unread] findings: missing-fence
// One block hands a value to another by a flag and nvcc's atomic functions. It needs a release and an acquire.
#include "check.h"

#ifdef RACY
#define STORED __NV_ATOMIC_RELAXED
#else
#define STORED __NV_ATOMIC_RELEASE
#endif
#ifdef UNREAD
#define LOADED __NV_ATOMIC_RELAXED
#else
#define LOADED __NV_ATOMIC_ACQUIRE
#endif

__global__ void hand_over(int* flag, int* data, int* out) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        *data = 7; //~ A
        __nv_atomic_store_n(flag, 1, STORED, __NV_THREAD_SCOPE_DEVICE);
    } else {
        while (__nv_atomic_load_n(flag, LOADED, __NV_THREAD_SCOPE_DEVICE) == 0) {
        }
        *out = *data; //~ B
    }
}
//~ RACE[racy] write-read global grid: A B
//~ RACE[unread] write-read global grid: A B

int main() {
    Buffer<int> flag(1), data(1), out(1);
    hand_over<<<2, 32>>>(flag.device, data.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 7);
}
