//@ revisions: racy fixed
//@[racy] findings: missing-atomic
// A launch without checks keeps the address of a function, and a later launch calls it.
#include "check.h"

typedef void (*Step)(int*);

__device__ __noinline__ void plain(int* count) {
    *count += 1; //~ A
}
__device__ __noinline__ void atomic(int* count) {
    atomicAdd(count, 1);
}

__global__ void keep(Step* step, int n) {
    const Step all[] = {plain, atomic};
    *step = all[n];
}

__global__ void call(const Step* step, int* count) {
    (*step)(count);
}
//~ RACE[racy] read-write global warp: A A

// The address is the same one in each launch.
__global__ void compare(const Step* step, int* same) {
    same[threadIdx.x] = *step == plain || *step == atomic;
}

int main() {
    Buffer<Step> step(1);
    Buffer<int> count(1), same(32);
#ifdef FIXED
    keep<<<1, 1>>>(step.device, 1);
#else
    keep<<<1, 1>>>(step.device, 0);
#endif
    call<<<1, 32>>>(step.device, count.device);
    compare<<<1, 32>>>(step.device, same.device);
    SYNC();
    same.download();
    bool right = true;
    for (int i = 0; i < 32; i++) right &= same[i] == 1;
#ifdef FIXED
    count.download();
    right &= count[0] == 32;
#endif
    return finish(right);
}
