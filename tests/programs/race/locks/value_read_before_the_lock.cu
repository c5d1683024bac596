//@ revisions: racy fixed
//@[racy] findings: missing-atomic
// The sum is read before the lock is taken, and no holder of the lock reads it again: an update that others overwrite.
// This is no flag.
#include "check.h"

__global__ void add(int* lock, int* sum) {
    if (threadIdx.x) return;
#ifndef FIXED
    int before = *sum; //~ R
#endif
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
#ifdef FIXED
    int before = *sum;
#endif
    *sum = before + 1; //~ W
    __threadfence();
    atomicExch(lock, 0);
}
//~ RACE[racy] write-read|read-write global grid: W R

int main() {
    Buffer<int> words(2);
    add<<<4, 32>>>(&words.device[0], &words.device[1]);
    SYNC();
    words.download();
    return finish(words[1] == 4);
}
