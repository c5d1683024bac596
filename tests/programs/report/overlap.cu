// Two accesses of different sizes that overlap in part.
#include "check.h"

__global__ void overlap(char* bytes) {
    if (threadIdx.x == 0) *reinterpret_cast<long long*>(bytes + 8) = 1; // 8 bytes
    if (threadIdx.x == 1) *reinterpret_cast<short*>(bytes + 14) = 2;    // 2 bytes
}

int main() {
    Buffer<char> bytes(32);
    overlap<<<1, 32>>>(bytes.device);
    SYNC();
    return 0;
}
