//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// A struct of three fields is assigned whole, while another thread counts in one of them.
#include "check.h"

struct Item {
    int key, count;
    short tag;
};

__global__ void update(int* out) {
    __shared__ Item items[32];
    int t = threadIdx.x;
    if (t < 32) {
        Item fresh = {t, 1, (short)t};
        items[t] = fresh; //~ A
    }
#ifdef FIXED
    __syncthreads();
#endif
    if (t >= 32) out[t - 32] = items[t - 32].count; //~ B
}
//~ RACE[racy] write-read shared block: A B

int main() {
    Buffer<int> out(32);
    update<<<1, 64>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 32; i++) right &= out[i] == 1;
    return finish(right);
}
