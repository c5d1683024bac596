// Rows of threads with room between them: the same words by no two threads, forwards and backwards.
#include "check.h"

__global__ void rows(int pitch, int last, const int* in, int* out) {
    int at = threadIdx.y * pitch + threadIdx.x;
    out[at] = in[last - at] + in[threadIdx.y] + in[threadIdx.x * pitch];
    if (threadIdx.x == 0 || threadIdx.y % 2 == 1) out[at] += 1;
}

int main() {
    Buffer<int> in(1024), out(1024);
    iota(in);
    rows<<<1, dim3(24, 8)>>>(25, 1000, in.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 24; x++) right &= out[y * 25 + x] == 1000 - y * 25 - x + y + x * 25 + (x == 0 || y % 2 == 1);
    return finish(right);
}
