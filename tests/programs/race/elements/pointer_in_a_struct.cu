//@ revisions: racy fixed
//@[racy] findings: alias
// Two fields of a kernel argument point into one allocation, one element apart too near.
#include "check.h"

struct Views {
    int* first;
    int* second;
    int n;
};

__global__ void fill(Views v) {
    int t = threadIdx.x;
    if (t < v.n)
        v.first[t] = t; //~ A
    else if (t < 2 * v.n)
        v.second[t - v.n] = t; //~ B
}
//~ RACE[racy] write-write global block: A B

int main() {
    Buffer<int> data(64);
#ifdef FIXED
    Views v = {data.device, data.device + 32, 32};
#else
    Views v = {data.device, data.device + 31, 32};
#endif
    fill<<<1, 64>>>(v);
    SYNC();
    data.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= data[i] == i;
    return finish(right);
}
