//@ revisions: racy fixed
//@[racy] findings: missing-fence
// Many producers and consumers, a queue of cells with a sequence number each (Vyukov): only the cell's number orders.
#include <cuda/atomic>
#include "check.h"
#ifdef RACY
constexpr auto FULL = cuda::memory_order_relaxed;
#else
constexpr auto FULL = cuda::memory_order_release;
#endif
struct Cell { unsigned number; int data; };
__device__ Cell cells[8];
__device__ unsigned put_at, take_at;
using Ref = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
__global__ void init() { cells[threadIdx.x].number = threadIdx.x; }
__global__ void run(int* out) {
    if (blockIdx.x % 2 == 0) {
        unsigned at = Ref(put_at).fetch_add(1, cuda::memory_order_relaxed);
        Cell& c = cells[at % 8];
        while (Ref(c.number).load(cuda::memory_order_acquire) != at) {}
        c.data = at; //~ W
        Ref(c.number).store(at + 1, FULL);
    } else {
        unsigned at = Ref(take_at).fetch_add(1, cuda::memory_order_relaxed);
        Cell& c = cells[at % 8];
        while (Ref(c.number).load(cuda::memory_order_acquire) != at + 1) {}
        out[at] = c.data; //~ R
        Ref(c.number).store(at + 8, cuda::memory_order_release);
    }
}
//~ RACE[racy] write-read global grid: W R
//~ RACE?[racy] write-write global grid: W W
int main() {
    Buffer<int> out(16);
    init<<<1, 8>>>();
    run<<<32, 1>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 16; i++) right &= out[i] == i;
    return finish(right);
}
