//@ revisions: racy fixed
//@[racy] findings: missing-fence
// `cuda::atomic_ref` with each order in one relay: `release` to `acquire`, `acq_rel`, and
// `seq_cst`. The racy form has one weak link on each way.
#include <cuda/atomic>
#include "check.h"

using Flag = cuda::atomic_ref<int, cuda::thread_scope_device>;
#ifdef FIXED
constexpr auto weak_store = cuda::memory_order_seq_cst;
constexpr auto weak_load = cuda::memory_order_seq_cst;
constexpr auto weak_add = cuda::memory_order_acq_rel;
#else
constexpr auto weak_store = cuda::memory_order_relaxed;
constexpr auto weak_load = cuda::memory_order_relaxed;
constexpr auto weak_add = cuda::memory_order_release;
#endif

__global__ void relay(int* values, int* flags, int* out) {
    if (threadIdx.x) return;
    int b = blockIdx.x;
    Flag stored(flags[0]), loaded(flags[1]), added(flags[2]);
    if (b == 0) {
        values[0] = 10; //~ A
        stored.store(1, weak_store);
        values[1] = 20; //~ B
        loaded.store(1, cuda::memory_order_release);
    } else if (b == 1) {
        while (stored.load(cuda::memory_order_acquire) == 0) {
        }
        out[0] = values[0]; //~ C
    } else if (b == 2) {
        while (loaded.load(weak_load) == 0) {
        }
        out[1] = values[1]; //~ D
    }
    if (b >= 3) {
        values[b] = b; //~ E
        if (added.fetch_add(1, weak_add) == 2) out[2] = values[3] + values[4] + values[5]; //~ F
    }
}
//~ RACE[racy] write-read global grid: A C
//~ RACE[racy] write-read global grid: B D
//~ RACE[racy] write-read global grid: E F

int main() {
    Buffer<int> values(6), flags(3), out(3);
    relay<<<6, 32>>>(values.device, flags.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 10 && out[1] == 20 && out[2] == 12);
}
