//@ revisions: racy fixed
//@[racy] findings: missing-fence
// Blocks put items into a list and take them in the same launch. A place in the list is
// got by an atomic; that the item is there must be told by another one, and released.
#include "check.h"

__global__ void relay(int* tail, int* head, int* items, int* full, int* out, int n) {
    if (threadIdx.x) return;
    if (blockIdx.x % 2 == 0) {
        int at = atomicAdd(tail, 1);
        items[at] = blockIdx.x + 1; //~ A
#ifdef FIXED
        __threadfence();
#endif
        atomicExch(&full[at], 1);
    } else {
        int at = atomicAdd(head, 1);
        while (atomicAdd(&full[at], 0) == 0) {
        }
#ifdef FIXED
        __threadfence();
#endif
        atomicAdd(out, items[at]); //~ B
    }
}
//~ RACE[racy] write-read global grid: A B

int main() {
    const int n = 4;
    Buffer<int> tail(1), head(1), items(n), full(n), out(1);
    relay<<<2 * n, 32>>>(tail.device, head.device, items.device, full.device, out.device, n);
    SYNC();
    out.download();
    return finish(out[0] == 1 + 3 + 5 + 7);
}
