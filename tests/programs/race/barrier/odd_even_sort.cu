//@ revisions: racy fixed
//@[racy] seeds: 0 12
//@[racy] findings: missing-barrier
// Odd-even transposition sort: odd and even pairs take turns, with a barrier between. Threads in reverse order (seed 2) read
// nothing that others store at B.
#include "check.h"

__global__ void sort(int* data, int n) {
    int t = threadIdx.x;
    for (int k = 0; k < n; k++) {
        int i = 2 * t + k % 2;
        if (i + 1 < n) {
            int low = data[i], high = data[i + 1]; //~ R
            if (low > high) {
                data[i] = high; //~ A
                data[i + 1] = low; //~ B
            }
        }
#ifdef FIXED
        __syncthreads();
#endif
    }
}
//~ RACE?[racy] write-read global: A R
//~ RACE[racy] write-read global: B R
//~ RACE?[racy] write-write global: A B

int main() {
    const int n = 64;
    Buffer<int> data(n);
    for (int i = 0; i < n; i++) data[i] = n - i;
    data.upload();
    sort<<<1, n / 2>>>(data.device, n);
    SYNC();
    data.download();
    bool right = true;
    for (int i = 0; i < n; i++) right &= data[i] == i + 1;
    return finish(right);
}
