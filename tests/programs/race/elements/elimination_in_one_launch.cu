//@ revisions: racy fixed apart
//@[racy] findings: missing-barrier
//@[apart] findings: missing-barrier missing-barrier
//@[apart] fixes: 1
// Elimination over the integers, a step per column: all rows read the pivot's row, which the step before has changed. One
// launch per step is right. In the third form the block's own threads lack a barrier elsewhere, which is another mistake.
#include "check.h"

__global__ void eliminate(int* m, int n, int first, int last, int* out) {
    int x = threadIdx.x, y = blockIdx.x;
    for (int k = first; k < last; k++) {
        int factor = m[y * n + k]; //~ A
        int pivot = m[k * n + x]; //~ B
        __syncthreads();
        if (y > k && x >= k) m[y * n + x] -= factor * pivot; //~ W
        __syncthreads();
    }
#ifdef APART
    m[y * n + x] += 1; //~ S
    out[y * n + x] = m[y * n + n - 1 - x]; //~ T
#endif
}
//~ RACE[racy] write-read|read-write global: W B
//~ RACE?[racy] write-read|read-write global: W A
//~ RACE[apart] write-read|read-write global: S T
//~ RACE?[apart] write-read|read-write global: S B
//~ RACE[apart] write-read|read-write global: W B
//~ RACE?[apart] write-read|read-write global: W A

int main() {
    const int n = 8;
    Buffer<int> m(n * n), out(n * n);
    for (int i = 0; i < n * n; i++) m[i] = 1;
    m.upload();
#ifdef FIXED
    for (int k = 0; k < n - 1; k++) eliminate<<<n, n>>>(m.device, n, k, k + 1, out.device);
#else
    eliminate<<<n, n>>>(m.device, n, 0, n - 1, out.device);
#endif
    SYNC();
    m.download();
    bool right = true;
    for (int i = 0; i < n * n; i++) right &= m[i] == (i < n);
#ifdef FIXED
    return finish(right);
#else
    return finish(right || true);
#endif
}
