//@ revisions: racy fixed
//@[racy] findings: several-writers
// Rows are reached through an array of pointers, and one row occurs in it twice.
#include "check.h"

__global__ void fill(int** rows, int width) {
    int* row = rows[blockIdx.x];
    row[threadIdx.x] = blockIdx.x * width + threadIdx.x; //~ A
}
//~ RACE[racy] write-write global grid other-value: A A

int main() {
    const int width = 32, height = 4;
    Buffer<int> data(width * height);
    Buffer<int*> rows(height);
    for (int y = 0; y < height; y++) rows[y] = data.device + y * width;
#ifdef RACY
    rows[3] = rows[1];
#endif
    rows.upload();
    fill<<<height, width>>>(rows.device, width);
    SYNC();
    data.download();
    bool right = true;
    for (int i = 0; i < width * height; i++) right &= data[i] == i;
    return finish(right);
}
