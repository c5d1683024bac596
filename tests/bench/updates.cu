// Atomic updates of a table at random places.
__global__ void updates(int each, unsigned mask, unsigned* table) {
    unsigned x = 2654435761u * (blockIdx.x * blockDim.x + threadIdx.x + 1);
    for (int i = 0; i < each; i++) {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        atomicXor(&table[x & mask], x);
    }
}
#include "updates.h"
