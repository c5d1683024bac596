//@ revisions: racy fixed
//@[racy] findings: several-writers
// A thread reads its element, writes it and reads it again, each on a line of its own. Where a
// neighbour writes it too, the report names the write, and the reads where they were looked at before it.
#include "check.h"

__global__ void smooth(int* data, int n) {
    int t = threadIdx.x;
    int own = data[t]; //~ R
    data[t] = own + 1; //~ W
    int again = data[t]; //~ Q
#ifndef FIXED
    data[(t + 1) % n] = own; //~ X
#endif
    data[n + t] = again;
}
//~ RACE[racy] write-write global: W X
// The thread's own write may be what is left of its reads.
//~ RACE?[racy] read-write global: R X
//~ RACE?[racy] read-write global: Q X

int main() {
    const int n = 64;
    Buffer<int> data(2 * n);
    iota(data);
    smooth<<<1, n>>>(data.device, n);
    SYNC();
    data.download();
    bool right = true;
    for (int i = 0; i < n; i++) right &= data[i] == i + 1 && data[n + i] == i + 1;
    return finish(right);
}
