// Keys, inserted into a hash table. Who takes a slot by a compare-and-swap writes its value.
__global__ void hash(int n, unsigned mask, const unsigned* keys, unsigned* table, unsigned* values) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned key = keys[i], slot = (key >> 7) & mask;
    while (atomicCAS(&table[slot], 0u, key) != 0u) slot = (slot + 1) & mask;
    values[slot] = i;
}
#include "hash.h"
