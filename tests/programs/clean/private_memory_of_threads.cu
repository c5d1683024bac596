// Local arrays have one instance per thread, though all have the same address.
#include "check.h"

__device__ __noinline__ int pick(const int* values, int i) { return values[i]; }

__global__ void sort8(int* out) {
    int values[8];
    int t = threadIdx.x;
    for (int i = 0; i < 8; i++) values[i] = (t * 5 + i * 3) % 8;
    for (int i = 0; i < 8; i++)
        for (int j = 0; j + 1 < 8 - i; j++)
            if (values[j] > values[j + 1]) {
                int swap = values[j];
                values[j] = values[j + 1];
                values[j + 1] = swap;
            }
    out[t] = pick(values, t % 8);
}

int main() {
    Buffer<int> out(64);
    sort8<<<1, 64>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == i % 8;
    return finish(right);
}
