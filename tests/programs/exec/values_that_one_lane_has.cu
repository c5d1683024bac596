// A value that only one lane has set reaches all lanes by a shuffle, as nvcc compiles it. C++ leaves undefined
// what the other lanes pass, and clang would take from it that every lane is the one.
#include "check.h"

__device__ int next, last;

__device__ int from_lane_0(int value) { return __shfl_sync(0xffffffff, value, 0); }

__global__ void take(int* taken, int* counts, int most) {
    int lane = threadIdx.x % 32;
    int index;
    if (lane == 0) index = atomicAdd(&next, 1);
    index = __shfl_sync(0xffffffff, index, 0);
    while (index < most) {
        if (lane == index % 32) taken[index] += 1;
        if (lane == 0) index = atomicAdd(&next, 1);
        index = from_lane_0(index);
    }
    int mine;
    if (lane == 31) mine = atomicAdd(&last, 1);
    mine = __shfl_sync(0xffffffff, mine, 31);
    atomicAdd(&counts[mine], 1);
}

int main() {
    Buffer<int> taken(1000), counts(8);
    taken.upload();
    counts.upload();
    take<<<2, 128>>>(taken.device, counts.device, 1000);
    SYNC();
    taken.download();
    counts.download();
    int ends[2];
    CUDA(cudaMemcpyFromSymbol(&ends[0], next, sizeof(int)));
    CUDA(cudaMemcpyFromSymbol(&ends[1], last, sizeof(int)));
    bool right = ends[0] == 1000 + 8 && ends[1] == 8;
    for (int i = 0; i < 1000; i++) right &= taken[i] == 1;
    for (int i = 0; i < 8; i++) right &= counts[i] == 32;
    return finish(right);
}
