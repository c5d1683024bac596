//@ revisions: racy fixed
//@[racy] findings: alias
// `__ldg` and `const __restrict__` promise that nobody writes; somebody does.
#include "check.h"

__global__ void blur(const int* __restrict__ in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int right = __ldg(&in[(i + 1) % n]); //~ A
    out[i] = (in[i] + right) / 2; //~ B
}
//~ RACE[racy] read-write global: A B

int main() {
    const int n = 128;
    Buffer<int> in(n), out(n);
    iota(in);
#ifdef FIXED
    blur<<<4, 32>>>(in.device, out.device, n);
#else
    blur<<<4, 32>>>(in.device, in.device, n);
#endif
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < n; i++) right &= out[i] == (i + (i + 1) % n) / 2;
    return finish(right);
}
