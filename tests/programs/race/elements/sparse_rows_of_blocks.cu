//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// Rows of pairs and of quadruples, which blocks go through in turn: each row's sum is left after it is read. A row
// begins where the one before ends; written past its end, the sum is read by the next row's thread.
#include "check.h"

template <class T>
__global__ void add(int rows, const int* starts, T* values, int past) {
    for (int row = blockIdx.x * blockDim.x + threadIdx.x; row < rows; row += gridDim.x * blockDim.x) {
        T sum = {};
        for (int i = starts[row]; i < starts[row + 1]; i++) {
            T value = values[i]; //~ READ
            sum.x += value.x, sum.y += value.y;
        }
        values[starts[row + 1] - 1 + past] = sum; //~ WRITE
    }
}
//~ RACE[racy] read-write|write-read global: READ WRITE

template <class T>
bool run(int past) {
    const int rows = 200;
    Buffer<int> starts(rows + 1);
    for (int row = 0; row < rows; row++) starts[row + 1] = starts[row] + 1 + row * 7 % 11;
    int all = starts[rows] + 1;
    Buffer<T> values(all);
    for (int i = 0; i < all; i++) values[i].x = i % 5, values[i].y = i % 3;
    starts.upload(), values.upload();
    add<<<2, 32>>>(rows, starts.device, values.device, past);
    SYNC();
    Buffer<T> found(all);
    CUDA(cudaMemcpy(found.host, values.device, all * sizeof(T), cudaMemcpyDeviceToHost));
    bool right = true;
    for (int row = 0; row < rows; row++) {
        int x = 0, y = 0;
        for (int i = starts[row]; i < starts[row + 1]; i++) x += values[i].x, y += values[i].y;
        int last = starts[row + 1] - 1;
        right &= found[last].x == x && found[last].y == y;
    }
    return right;
}

int main() {
#ifdef RACY
    int past = 1;
#else
    int past = 0;
#endif
    bool right = run<int2>(past);
    return finish(run<int4>(past) && right);
}
