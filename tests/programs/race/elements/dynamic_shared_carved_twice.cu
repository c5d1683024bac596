//@ revisions: racy fixed
//@[racy] findings: several-writers
// Two arrays carved out of dynamic shared memory: the second one starts
// before the first one ends, as its author counted bytes for elements.
#include "check.h"

__global__ void carve(int* out, int n) {
    extern __shared__ char storage[];
    int* keys = reinterpret_cast<int*>(storage);
#ifdef FIXED
    int* values = reinterpret_cast<int*>(storage + n * sizeof(int));
#else
    int* values = reinterpret_cast<int*>(storage + n);
#endif
    int t = threadIdx.x;
    keys[t] = t; //~ A
    values[t] = 100 + t; //~ B
    __syncthreads();
    out[t] = keys[t] + values[n - 1 - t];
}
//~ RACE[racy] write-write shared: A B

int main() {
    Buffer<int> out(64);
    carve<<<1, 64, 2 * 64 * sizeof(int)>>>(out.device, 64);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == 163;
    return finish(right);
}
