//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// A square matrix is transposed in place by swaps: each pair by one thread, or by both.
#include "check.h"

__global__ void transpose(int* data, int n) {
    int x = threadIdx.x, y = blockIdx.x;
#ifdef FIXED
    if (x <= y) return;
#else
    if (x == y) return;
#endif
    int a = data[y * n + x]; //~ R
    int b = data[x * n + y]; //~ S
    data[y * n + x] = b; //~ V
    data[x * n + y] = a; //~ W
}
//~ RACE?[racy] read-write|write-read global: R W
//~ RACE?[racy] read-write|write-read global: S V
//~ RACE[racy] write-write global: V W

int main() {
    const int n = 16;
    Buffer<int> data(n * n);
    iota(data);
    transpose<<<n, n>>>(data.device, n);
    SYNC();
    data.download();
    bool right = true;
    for (int y = 0; y < n; y++)
        for (int x = 0; x < n; x++) right &= data[y * n + x] == x * n + y;
    return finish(right);
}
