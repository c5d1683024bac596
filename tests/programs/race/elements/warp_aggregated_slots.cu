//@ revisions: racy fixed
//@[racy] findings: several-writers
// A warp takes slots of a list by one atomic, and each lane its own by the number of lanes before it. The racy program takes
// one slot too few: the last lane's is the next warp's, too.
#include "check.h"

__global__ void filter(const int* in, int* list, unsigned int* length) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    bool take = in[i] % 2 == 0;
    unsigned int taken = __ballot_sync(0xffffffff, take);
    unsigned int first = 0;
#ifdef RACY
    unsigned int slots = __popc(taken) - 1;
#else
    unsigned int slots = __popc(taken);
#endif
    if (lane == 0) first = atomicAdd(length, slots);
    first = __shfl_sync(0xffffffff, first, 0);
    unsigned int before = __popc(taken & ((1u << lane) - 1));
    if (take) list[first + before] = i; //~ A
}
//~ RACE[racy] write-write global: A A

int main() {
    Buffer<int> in(256), list(256);
    Buffer<unsigned int> length(1);
    iota(in);
    filter<<<4, 64>>>(in.device, list.device, length.device);
    SYNC();
    length.download();
    return finish(length[0] > 0);
}
