//@ revisions: racy own barrier
//@[racy] findings: missing-barrier
// Each thread adds up its row of a sparse matrix, however long that is, and leaves the sum among the values: in the
// last one of its own row, or in the first one of the next row, which that row's thread may still be reading.
#include "check.h"

__global__ void add(const int* starts, int* values, int at) {
    int row = threadIdx.x, sum = 0;
    for (int i = starts[row]; i < starts[row + 1]; i++) sum += values[i]; //~ READ
#ifdef BARRIER
    __syncthreads();
#endif
    if (starts[row] < starts[row + 1]) values[starts[row + 1] - 1 + at] = sum; //~ WRITE
}
//~ RACE[racy] read-write|write-read global: READ WRITE

int main() {
    // Rows of 0 to 12 values, some of which lie across 128 bytes.
    const int rows = 96;
    Buffer<int> starts(rows + 1), values(1024);
    for (int row = 0; row < rows; row++) starts[row + 1] = starts[row] + row * 5 % 13;
    for (int i = 0; i < 1024; i++) values[i] = i % 7;
    starts.upload(), values.upload();
#ifdef OWN
    int at = 0;
#else
    int at = 1;
#endif
    add<<<1, rows>>>(starts.device, values.device, at);
    SYNC();
    int want[1024];
    memcpy(want, values.host, sizeof want);
    for (int row = 0; row < rows; row++) {
        int sum = 0;
        for (int i = starts[row]; i < starts[row + 1]; i++) sum += values[i];
        if (starts[row] < starts[row + 1]) want[starts[row + 1] - 1 + at] = sum;
    }
    values.download();
    return finish(memcmp(values.host, want, sizeof want) == 0);
}
