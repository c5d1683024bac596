//@ revisions: racy fixed
//@[racy] findings: missing-atomic
// A stack in shared memory with member functions: `push` counts plainly, or atomically.
#include "check.h"

struct Stack {
    int size, items[64];
    __device__ void push(int item) {
#ifdef FIXED
        items[atomicAdd(&size, 1)] = item;
#else
        items[size++] = item; //~ A
#endif
    }
};

__global__ void fill(int* out) {
    __shared__ Stack stack;
    int t = threadIdx.x;
    if (t == 0) stack.size = 0;
    __syncthreads();
    stack.push(t);
    __syncthreads();
    atomicAdd(out, stack.items[t]);
}
//~ RACE[racy] write-read|write-write|read-write shared: A A
//~ RACE?[racy] write-write shared: A A

int main() {
    Buffer<int> out(1);
    fill<<<1, 64>>>(out.device);
    SYNC();
    out.download();
    return finish(out[0] == 63 * 32);
}
