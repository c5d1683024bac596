//@ revisions: racy fixed
//@[racy] findings: loop-back-edge loop-back-edge
//@[racy] fixes: 2
// A named barrier at which all threads of a block meet is one barrier of each round. The other one is missing.
#include "check.h"

__global__ void rounds_of_width(const int* in, int* out, int rounds) {
    __shared__ int tile[128];
    int t = threadIdx.x;
    int sum = 0;
    for (int i = 0; i < rounds; i++) {
        tile[t] = in[t] + i; //~ A
        asm volatile("bar.sync 1, %0;" ::"r"(blockDim.x) : "memory");
        sum += tile[127 - t]; //~ B
#ifdef FIXED
        __syncthreads();
#endif
    }
    out[t] = sum;
}
//~ RACE[racy] read-write|write-read shared: A B

__global__ void rounds_of_all(const int* in, int* out, int rounds) {
    __shared__ int tile[128];
    int t = threadIdx.x;
    int sum = 0;
    for (int i = 0; i < rounds; i++) {
        tile[t] = in[t] + i; //~ C
        asm volatile("bar.sync 3;" ::: "memory");
        sum += tile[127 - t]; //~ D
#ifdef FIXED
        __syncthreads();
#endif
    }
    out[t] += sum;
}
//~ RACE[racy] read-write|write-read shared: C D

int main() {
    Buffer<int> in(128), out(128);
    iota(in);
    rounds_of_width<<<1, 128>>>(in.device, out.device, 3);
    rounds_of_all<<<1, 128>>>(in.device, out.device, 3);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 128; i++) right &= out[i] == 2 * (3 * (127 - i) + 3);
    return finish(right);
}
