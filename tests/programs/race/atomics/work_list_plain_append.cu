//@ revisions: racy fixed
//@[racy] findings: missing-atomic
// Threads append to a list whose length is counted up plainly.
#include "check.h"

__global__ void collect(const int* in, int* list, int* length) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (in[i] % 2 == 0) {
#ifdef FIXED
        int at = atomicAdd(length, 1);
#else
        int at = (*length)++; //~ A
#endif
        list[at] = in[i]; //~ B
    }
}
//~ RACE[racy] write-read|write-write global: A A
//~ RACE?[racy] write-write global: B B

int main() {
    Buffer<int> in(128), list(128), length(1);
    iota(in);
    collect<<<2, 64>>>(in.device, list.device, length.device);
    SYNC();
    list.download();
    length.download();
    int sum = 0;
    for (int i = 0; i < 64; i++) sum += list[i];
    return finish(length[0] == 64 && sum == 63 * 64);
}
