//@ revisions: racy fixed
//@[racy] findings: missing-atomic
// Rows of a sparse product: each block counts the columns of its row in a hash table in shared memory. A thread looks
// for a free entry, and leaves that loop by what it has read: no barrier can stand in it, so the look and the store
// must be one atomicCAS.
#include "check.h"

constexpr int kSlots = 64, kThreads = 64, kEach = 4;

__global__ void count(const int* columns, int* used) {
    __shared__ int keys[kSlots];
    __shared__ int size;
    if (threadIdx.x < kSlots) keys[threadIdx.x] = -1;
    if (threadIdx.x == 0) size = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < kThreads * kEach; i += kThreads) {
        int key = columns[i], h = key * 7 % kSlots;
        while (true) {
#ifdef RACY
            int old = keys[h]; //~ LOOK
            if (old == -1) {
                keys[h] = key; //~ STORE
                atomicAdd(&size, 1);
                break;
            }
#else
            int old = atomicCAS(&keys[h], -1, key);
            if (old == -1) {
                atomicAdd(&size, 1);
                break;
            }
#endif
            if (old == key) break;
            h = (h + 1) % kSlots;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) *used = size;
}
//~ RACE[racy] write-read|read-write shared: STORE LOOK
//~ RACE?[racy] write-write shared: STORE STORE

int main() {
    Buffer<int> columns(kThreads * kEach), used(1);
    for (int i = 0; i < kThreads * kEach; i++) columns[i] = i * i % 23;
    columns.upload();
    count<<<1, kThreads>>>(columns.device, used.device);
    SYNC();
    used.download();
    return finish(used[0] == 12);
}
