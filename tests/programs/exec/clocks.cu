// Clocks go forwards.
#include "check.h"

__global__ void measure(long long* out, int* data) {
    long long start = clock64();
    clock_t short_start = clock();
    for (int i = 0; i < 100; i++) data[i % 8] += i;
    out[0] = clock64() - start;
    out[1] = clock() - short_start >= 0;
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    out[2] = now > 0;
}

int main() {
    Buffer<long long> out(3);
    Buffer<int> data(8);
    measure<<<1, 1>>>(out.device, data.device);
    SYNC();
    out.download();
    return finish(out[0] >= 0 && out[1] == 1 && out[2] == 1);
}
