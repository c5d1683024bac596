//@ revisions: racy fixed
//@[racy] findings: missing-fence
// A transfer needs the locks of both accounts, taken in order of their numbers.
// With the lock of the source alone, the destination is unguarded.
#include "check.h"

__device__ void take(int* lock) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
}

__device__ void drop(int* lock) {
    __threadfence();
    atomicExch(lock, 0);
}

__global__ void transfer(int* locks, int* accounts, int n) {
    if (threadIdx.x) return;
    int from = blockIdx.x % n, to = (from + 1) % n;
#ifdef FIXED
    int first = from < to ? from : to, second = from < to ? to : from;
    take(&locks[first]);
    take(&locks[second]);
#else
    take(&locks[from]);
#endif
    accounts[from] -= 5; //~ A
    accounts[to] += 5; //~ B
#ifdef FIXED
    drop(&locks[second]);
    drop(&locks[first]);
#else
    drop(&locks[from]);
#endif
}
//~ RACE[racy] write-read|write-write|read-write global grid: A B

int main() {
    const int n = 3;
    Buffer<int> locks(n), accounts(n);
    for (int i = 0; i < n; i++) accounts[i] = 100;
    accounts.upload();
    transfer<<<6, 32>>>(locks.device, accounts.device, n);
    SYNC();
    accounts.download();
    return finish(accounts[0] == 100 && accounts[1] == 100 && accounts[2] == 100);
}
