//@ revisions: racy fixed
//@[racy] findings: several-writers
// The accesses are in virtual functions.
#include "check.h"

struct Store {
    __device__ virtual void put(int* tile, int i, int value) = 0;
};
struct Plain : Store {
    __device__ void put(int* tile, int i, int value) override {
        tile[i % 48] = value; //~ A
    }
};
struct Masked : Store {
    __device__ void put(int* tile, int i, int value) override {
        if (i < 48) tile[i] = value;
    }
};

__global__ void fill(int* out, bool masked) {
    __shared__ int tile[64];
    Plain plain;
    Masked mask;
    Store* store = masked ? static_cast<Store*>(&mask) : &plain;
    store->put(tile, threadIdx.x, threadIdx.x);
    __syncthreads();
    if (threadIdx.x < 48) out[threadIdx.x] = tile[threadIdx.x];
}
//~ RACE[racy] write-write shared block other-value: A A

int main() {
    Buffer<int> out(64);
#ifdef FIXED
    fill<<<1, 64>>>(out.device, true);
#else
    fill<<<1, 64>>>(out.device, false);
#endif
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 48; i++) right &= out[i] == i;
    return finish(right);
}
