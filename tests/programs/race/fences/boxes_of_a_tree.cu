//@ revisions: racy fixed
//@[racy] findings: missing-fence
// The second thread that comes to a node joins what both children have. Threads meet at no barrier, so even in one
// block a barrier is not what is missing.
#include "check.h"

#ifdef FIXED
#define FENCE() __threadfence()
#else
#define FENCE()
#endif

const int leaves = 64;

__global__ void join(int* boxes, int* flags) {
    int node = leaves - 1 + threadIdx.x;
    while (node > 0) {
        int parent = (node - 1) / 2;
        FENCE();
        if (atomicCAS(&flags[parent], 0, 1) == 0) return;
        FENCE();
        int left = boxes[2 * parent + 1]; //~ A
        int right = boxes[2 * parent + 2]; //~ B
        boxes[parent] = left + right; //~ C
        node = parent;
    }
}
//~ RACE[racy] write-read global warp: C A
//~ RACE[racy] write-read global warp: C B

int main() {
    Buffer<int> boxes(2 * leaves - 1), flags(leaves);
    for (int i = 0; i < leaves; i++) boxes[leaves - 1 + i] = 1;
    boxes.upload();
    join<<<1, leaves>>>(boxes.device, flags.device);
    SYNC();
    boxes.download();
    return finish(boxes[0] == leaves);
}
