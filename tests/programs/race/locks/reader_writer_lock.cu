//@ revisions: racy fixed
//@[racy] findings: missing-fence
// A lock for many readers or one writer. A reader that leaves must release, too:
// else the next writer is not ordered after its read.
#include "check.h"

__global__ void run(int* state, int* data, int* out) {
    if (threadIdx.x) return;
    int b = blockIdx.x;
    if (b % 2) {
        while (atomicCAS(state, 0, -1) != 0) {
        }
        __threadfence();
        data[0] += 1; //~ W
        data[1] += 1; //~ V
        __threadfence();
        atomicExch(state, 0);
    } else {
        for (;;) {
            int readers = atomicAdd(state, 0);
            if (readers >= 0 && atomicCAS(state, readers, readers + 1) == readers) break;
        }
        __threadfence();
        int first = data[0]; //~ R
        int second = data[1]; //~ S
#ifdef FIXED
        __threadfence();
#endif
        atomicSub(state, 1);
        out[b] = first == second;
    }
}
//~ RACE[racy] read-write global grid: R W
//~ RACE[racy] read-write global grid: S V

int main() {
    Buffer<int> state(1), data(2), out(8);
    run<<<8, 32>>>(state.device, data.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] && out[2] && out[4] && out[6]);
}
