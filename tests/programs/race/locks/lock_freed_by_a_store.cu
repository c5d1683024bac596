//@ revisions: racy behind fixed
//@[racy] findings: missing-atomic
//@[behind] findings: missing-atomic missing-atomic
// A plain store frees the lock, so the lock orders nothing: what it guards shows the same mistake. An update behind the
// lock is a mistake of its own.
#include "check.h"

__global__ void add(int* lock, int* total, int* count) {
    if (threadIdx.x) return;
    while (atomicCAS(lock, 0, 1) != 0) { //~ L
    }
    __threadfence();
#ifndef BEHIND
    *total += 1; //~ A
#endif
    __threadfence();
#ifdef FIXED
    atomicExch(lock, 0);
    atomicAdd(count, 1);
#else
    *lock = 0; //~ F
#ifdef BEHIND
    *count += 1; //~ C
#endif
#endif
}
//~ RACE[racy] atomic-write|write-atomic global grid: L F
//~ RACE[behind] atomic-write|write-atomic global grid: L F
//~ RACE?[racy] write-write global grid: F F
//~ RACE?[behind] write-write global grid: F F
//~ RACE[racy] write-read|read-write|write-write global grid: A A
//~ RACE[behind] write-read|read-write|write-write global grid: C C

int main() {
    Buffer<int> words(3);
    add<<<4, 32>>>(&words.device[0], &words.device[1], &words.device[2]);
    SYNC();
    words.download();
#ifdef BEHIND
    words[1] = words[2] = 4;
#endif
    return finish(words[1] == 4 && words[2] == 4);
}
