//@ revisions: racy barrier branch moving atomic fixed
//@[atomic] findings: missing-fence
//@[barrier] findings: loop-back-edge
//@[branch] findings: missing-barrier
//@[moving] findings: missing-barrier
//@[racy] findings: missing-barrier
// A thread reads one element in each iteration of a loop, which is checked in the first. With a barrier
// or an atomic in the loop, on one way only, or at another place in each, every iteration counts.
#include "check.h"

__global__ void gather(int* data, int* flag, int n) {
    int t = threadIdx.x, next = (t + 1) % n, sum = 0;
    for (int k = 0; k < 4; k++) {
#ifdef BRANCH
        // The last iteration alone reads.
        if (k == 3) sum += data[next]; //~ B
#elif defined MOVING
        // The last iteration alone reads what another thread writes.
        sum += data[k == 3 ? next : n + t]; //~ M
#elif defined BARRIER || defined ATOMIC
        // What is read in the last iteration is written after what comes between.
        sum += data[next]; //~ O
#ifdef BARRIER
        __syncthreads();
        if (k == 2) data[t] = k; //~ W
#else
        // Each thread comes to the second iteration after all have read in the first.
        if (k == 0) {
            __threadfence();
            atomicAdd(flag, 1);
            while (atomicAdd(flag, 0) < n) {}
            __threadfence();
        }
        if (k == 2) data[t] = k; //~ V
#endif
#elif defined FIXED
        sum += data[t] + k;
#else
        sum += data[next] + k; //~ R
#endif
    }
#if !defined BARRIER && !defined ATOMIC
    data[t] = sum; //~ A
#endif
}
//~ RACE[racy] read-write global: R A
//~ RACE[branch] read-write global: B A
//~ RACE[moving] read-write global: M A
//~ RACE[barrier] write-read global: W O
//~ RACE[atomic] write-read global: V O

int main() {
    const int n = 32;
    Buffer<int> data(2 * n), flag(1);
    iota(data);
    gather<<<1, n>>>(data.device, flag.device, n);
    SYNC();
    data.download();
    bool right = true;
#ifdef FIXED
    for (int i = 0; i < n; i++) right &= data[i] == 4 * i + 6;
#endif
    return finish(right);
}
