//@ revisions: racy fixed
//@[racy] findings: missing-atomic
// A sparse matrix as a list of entries: one thread each, and rows share their sum.
#include "check.h"

__global__ void multiply(const int* row, const int* column, const int* value, const int* x, int* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int product = value[i] * x[column[i]];
#ifdef FIXED
    atomicAdd(&y[row[i]], product);
#else
    y[row[i]] += product; //~ A
#endif
}
//~ RACE[racy] write-read|write-write|read-write global: A A

int main() {
    const int n = 96, rows = 24;
    Buffer<int> row(n), column(n), value(n), x(rows), y(rows);
    int want[rows] = {};
    for (int i = 0; i < rows; i++) x[i] = i + 1;
    for (int i = 0; i < n; i++) {
        row[i] = i / 4;
        column[i] = i * 7 % rows;
        value[i] = i;
        want[row[i]] += value[i] * x[column[i]];
    }
    row.upload(), column.upload(), value.upload(), x.upload();
    multiply<<<3, 32>>>(row.device, column.device, value.device, x.device, y.device);
    SYNC();
    y.download();
    return finish(memcmp(y.host, want, sizeof want) == 0);
}
