// clang includes cuRAND's headers before each source. What a program names like their macros stays its own.
#include "check.h"

#define QUALIFIERS static __device__ __forceinline__

const int MEXP = 2, THREAD_NUM = 64;
enum { LARGE_SIZE = 7 };

QUALIFIERS int value(int t) { return LARGE_SIZE * t + MEXP; }

__global__ void fill(int* out) { out[threadIdx.x] = value(threadIdx.x); }

int main() {
    Buffer<int> out(THREAD_NUM);
    fill<<<1, THREAD_NUM>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < THREAD_NUM; i++) right = right && out[i] == LARGE_SIZE * i + MEXP;
    return finish(right);
}
