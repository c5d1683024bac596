//@ seeds: 0
//@ stderr-contains: illegal access of an address outside the address space in kernel `product
// One thread reads through a pointer that is no address, of which the processor tells nothing. Reads of loops that threads
// leave one by one are looked at together, and nobody knows which of them the wild one was: the last of each
// instruction is left out, so that a race with it is missed (a known miss, see docs/soundness.md). With a
// seed, or an address that the processor tells, the race of A and B is reported.
#include "check.h"

__global__ void product(const int* begin, float* values, const int* column, float** x, float* y) {
    int t = threadIdx.x;
    if (t == 0) values[begin[5]] = 2; // A
    float sum = 0;
    for (int i = begin[t]; i < begin[t + 1]; i++) sum += values[i] * x[t][column[i]]; // B
    y[t] = sum;
}

int main() {
    Buffer<int> begin(65), column(256);
    Buffer<float> values(256), data(256), y(64);
    Buffer<float*> x(64);
    for (int i = 0; i <= 64; i++) begin[i] = 4 * i;
    for (int i = 0; i < 256; i++) column[i] = i * 7 % 256, values[i] = data[i] = 1;
    for (int t = 0; t < 64; t++) x[t] = t == 5 ? reinterpret_cast<float*>(0x5a5a5a5a5a5a5a5a) : data.device;
    begin.upload(), column.upload(), values.upload(), data.upload(), x.upload();
    product<<<1, 64>>>(begin.device, values.device, column.device, x.device, y.device);
    return finish(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
}
