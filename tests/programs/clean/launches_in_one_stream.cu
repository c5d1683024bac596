// Launches of one stream are ordered: what one writes the next one may read.
#include "check.h"

__global__ void step(int* to, const int* from, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[(i + 33) % n] + 1;
}

int main() {
    Buffer<int> a(256), b(256);
    iota(a);
    for (int k = 0; k < 20; k++) {
        step<<<4, 64>>>(b.device, a.device, 256);
        step<<<4, 64>>>(a.device, b.device, 256);
    }
    SYNC();
    a.download();
    bool right = true;
    for (int i = 0; i < 256; i++) right &= a[i] == (i + 40 * 33) % 256 + 40;
    return finish(right);
}
