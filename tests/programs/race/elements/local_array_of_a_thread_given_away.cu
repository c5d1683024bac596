//@ revisions: racy fixed
//@[racy] findings: several-writers
// Private arrays are no race, whatever their index. What is copied out of them is one
// where two threads copy to one place.
#include "check.h"

__global__ void sort_columns(int* data, int n) {
    int t = threadIdx.x, column[8];
    for (int y = 0; y < 8; y++) column[y] = data[y * n + t]; //~ R
    for (int y = 1; y < 8; y++)
        for (int k = y; k > 0 && column[k - 1] > column[k]; k--) {
            int swap = column[k];
            column[k] = column[k - 1];
            column[k - 1] = swap;
        }
#ifdef FIXED
    for (int y = 0; y < 8; y++) data[y * n + t] = column[y];
#else
    for (int y = 0; y < 8; y++) data[y * n + t / 2 * 2] = column[y]; //~ A
#endif
}
//~ RACE[racy] write-write global warp: A A
// The read of a thread is behind its own write, which is the one that is reported.
//~ RACE?[racy] read-write global warp: R A

int main() {
    const int n = 32;
    Buffer<int> data(8 * n);
    for (int i = 0; i < 8 * n; i++) data[i] = (i * 37) % 101;
    data.upload();
    sort_columns<<<1, n>>>(data.device, n);
    SYNC();
    data.download();
    bool right = true;
    for (int y = 1; y < 8; y++)
        for (int x = 0; x < n; x++) right &= data[(y - 1) * n + x] <= data[y * n + x];
    return finish(right);
}
