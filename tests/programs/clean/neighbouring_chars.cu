// Each thread stores to its own byte; four of them share a word.
#include "check.h"

__global__ void mark(char* marks, short* shorts) {
    int t = threadIdx.x;
    marks[t] = static_cast<char>(t);
    shorts[t] = static_cast<short>(-t);
    __syncthreads();
    marks[t] += static_cast<char>(shorts[63 - t]);
}

int main() {
    Buffer<char> marks(64);
    Buffer<short> shorts(64);
    mark<<<1, 64>>>(marks.device, shorts.device);
    SYNC();
    marks.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= marks[i] == i - (63 - i);
    return finish(right);
}
