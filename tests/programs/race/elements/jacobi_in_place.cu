//@ revisions: racy fixed
//@[racy] findings: alias
// A Jacobi step computes all new values from old ones. In place, neighbours in other
// blocks see either.
#include "check.h"

__global__ void step(const float* now, float* next, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0 || i >= n - 1) return;
    float left = now[i - 1]; //~ A
    float right = now[i + 1]; //~ B
    next[i] = 0.5f * (left + right); //~ W
}
//~ RACE[racy] write-read global: W A
//~ RACE[racy] write-read global: W B

int main() {
    const int n = 128;
    Buffer<float> a(n), b(n);
    for (int i = 0; i < n; i++) a[i] = b[i] = i * i;
    a.upload();
    b.upload();
#ifdef FIXED
    step<<<4, 32>>>(a.device, b.device, n);
#else
    step<<<4, 32>>>(b.device, b.device, n);
#endif
    SYNC();
    b.download();
    bool right = true;
    for (int i = 1; i < n - 1; i++) right &= b[i] == i * i + 1;
    return finish(right);
}
