//@ revisions: racy fixed
//@[racy] findings: several-writers
// A sparse matrix by rows, one warp per row: the lanes' sums meet in shared memory,
// one slot per lane of the block, or of the warp only.
#include "check.h"

__global__ void multiply(const int* start, const int* column, const int* value, const int* x, int* y) {
    __shared__ int sums[64];
    int t = threadIdx.x, lane = t % 32, row = blockIdx.x * 2 + t / 32, sum = 0;
    for (int i = start[row] + lane; i < start[row + 1]; i += 32) sum += value[i] * x[column[i]];
#ifdef FIXED
    int* own = sums + t / 32 * 32;
#else
    int* own = sums;
#endif
    own[lane] = sum; //~ A
    __syncwarp();
    if (lane == 0) {
        int total = 0;
        for (int i = 0; i < 32; i++) total += own[i]; //~ B
        y[row] = total;
    }
}
//~ RACE[racy] write-read shared block: A B
//~ RACE?[racy] write-write shared block: A A

int main() {
    const int rows = 8, per = 40, n = rows * per;
    Buffer<int> start(rows + 1), column(n), value(n), x(64), y(rows);
    int want[rows] = {};
    for (int i = 0; i <= rows; i++) start[i] = i * per;
    for (int i = 0; i < 64; i++) x[i] = i % 7;
    for (int i = 0; i < n; i++) {
        column[i] = i * 11 % 64;
        value[i] = i % 13;
        want[i / per] += value[i] * x[column[i]];
    }
    start.upload(), column.upload(), value.upload(), x.upload();
    multiply<<<rows / 2, 64>>>(start.device, column.device, value.device, x.device, y.device);
    SYNC();
    y.download();
    return finish(memcmp(y.host, want, sizeof want) == 0);
}
