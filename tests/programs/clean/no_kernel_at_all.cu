//@ seeds: 0
// A program with device code that it never launches still leaves a report.
#include "check.h"

__global__ void unused(int* data) { *data = threadIdx.x; }

int main() {
    Buffer<int> data(1);
    data.download();
    return finish(data[0] == 0);
}
