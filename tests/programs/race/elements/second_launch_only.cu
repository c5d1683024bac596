//@ revisions: racy fixed
//@[racy] findings: alias
// The first launch is free of races, the second one is not.
#include "check.h"

__global__ void gather(int* to, const int* from, int distance) {
    int t = threadIdx.x;
    int value = from[(t + distance) % 64]; //~ A
    to[t] = value; //~ B
}
//~ RACE[racy] read-write global: A B

int main() {
    Buffer<int> a(64), b(64);
    iota(a);
    gather<<<1, 64>>>(b.device, a.device, 5);
#ifdef FIXED
    gather<<<1, 64>>>(a.device, b.device, 5);
#else
    gather<<<1, 64>>>(b.device, b.device, 5);
#endif
    SYNC();
    a.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= a[i] == (i + 10) % 64;
    return finish(right);
}
