//@ revisions: racy equal values branch moving barrier fixed
//@[racy] findings: missing-barrier
//@[equal] findings: same-value
//@[values] findings: several-writers
//@[branch] findings: missing-barrier
//@[moving] findings: missing-barrier
//@[barrier] findings: loop-back-edge
// A thread writes one element in each iteration of a loop, which is checked in the first. With a barrier in the loop,
// on one way only, or at another place in each, every iteration counts. The first value does not tell the later ones.
#include "check.h"

__global__ void fill(int* data, int* out, int n, int value) {
    int t = threadIdx.x, next = (t + 1) % n, sum = 0;
    for (int k = 0; k < 4; k++) {
#ifdef EQUAL
        data[0] = value; //~ E
#elif defined VALUES
        // All threads store the same, but for the last iteration.
        data[0] = k < 3 ? 0 : t; //~ V
#elif defined BRANCH
        if (k == 3) data[t] = k; //~ B
#elif defined MOVING
        data[k == 3 ? t : n + t] = k; //~ M
#elif defined BARRIER
        data[t] = k; //~ W
        __syncthreads();
        sum += data[next]; //~ O
#else
        data[t] += k; //~ R
#endif
    }
#if defined FIXED
    __syncthreads();
    sum = data[next];
#elif !defined EQUAL && !defined VALUES && !defined BARRIER
    sum = data[next]; //~ A
#endif
    out[t] = sum;
}
//~ RACE[racy] read-write global: A R
//~ RACE[equal] write-write global: E E
//~ RACE[values] write-write global: V V
//~ RACE[branch] read-write global: A B
//~ RACE[moving] read-write global: A M
//~ RACE[barrier] read-write global: O W

int main() {
    const int n = 32;
    Buffer<int> data(2 * n), out(n);
    fill<<<1, n>>>(data.device, out.device, n, 0);
    SYNC();
    out.download();
    bool right = true;
#ifdef FIXED
    for (int i = 0; i < n; i++) right &= out[i] == 6;
#endif
    return finish(right);
}
