// All threads store 1 to one word, then their index to another one.
#include "check.h"

__global__ void flag(int* out) {
    out[0] = 1;           // the same value
    out[1] = threadIdx.x; // other values
}

int main() {
    Buffer<int> out(2);
    flag<<<1, 32>>>(out.device);
    SYNC();
    return 0;
}
