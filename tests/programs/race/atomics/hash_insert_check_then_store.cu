//@ revisions: racy fixed
//@[racy] findings: missing-atomic
// Insertion into an open hash table: look, then store, against `atomicCAS`.
#include "check.h"

__global__ void insert(const int* keys, int* table, int size) {
    int key = keys[threadIdx.x];
    for (int i = 0; i < size; i++) {
        int* slot = &table[(key + i) % size];
#ifdef FIXED
        int found = atomicCAS(slot, 0, key);
        if (found == 0 || found == key) return;
#else
        int found = *slot; //~ A
        if (found == key) return;
        if (found == 0) {
            *slot = key; //~ B
            return;
        }
#endif
    }
}
//~ RACE[racy] write-read global: B A
//~ RACE?[racy] write-write global: B B

int main() {
    Buffer<int> keys(64), table(128);
    for (int i = 0; i < 64; i++) keys[i] = 1 + (i % 16) * 8;
    keys.upload();
    insert<<<1, 64>>>(keys.device, table.device, 128);
    SYNC();
    table.download();
    int used = 0;
    for (int i = 0; i < 128; i++) used += table[i] != 0;
    return finish(used == 16);
}
