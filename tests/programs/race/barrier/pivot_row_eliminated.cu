//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// Gaussian elimination in one block: the factor of a row is read from the column that
// the round clears. Threads of the row must all have read it first.
#include "check.h"

__global__ void eliminate(int* a, int n) {
    int x = threadIdx.x, y = threadIdx.y;
    for (int k = 0; k < n - 1; k++) {
        int factor = y > k ? a[y * n + k] : 0; //~ R
        int pivot = a[k * n + x];
#ifdef FIXED
        __syncthreads();
#endif
        if (y > k && x >= k) a[y * n + x] -= factor * pivot; //~ W
        __syncthreads();
    }
}
//~ RACE[racy] read-write|write-read global: R W

int main() {
    // A unit lower triangular matrix times an upper one of ones: all pivots are 1.
    const int n = 8;
    Buffer<int> a(n * n);
    for (int y = 0; y < n; y++)
        for (int x = 0; x < n; x++)
            for (int k = 0; k <= min(x, y); k++) a[y * n + x] += k == y ? 1 : (y + k) % 3;
    a.upload();
    eliminate<<<1, dim3(n, n)>>>(a.device, n);
    SYNC();
    a.download();
    bool right = true;
    for (int y = 0; y < n; y++)
        for (int x = 0; x < n; x++) right &= a[y * n + x] == (x >= y);
    return finish(right);
}
