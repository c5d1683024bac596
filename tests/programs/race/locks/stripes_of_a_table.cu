//@ revisions: racy fixed
//@[racy] findings: missing-fence
// A transfer takes the locks of both its stripes, the lower one first. The racy form takes those of the wrong stripes.
#include "check.h"

__global__ void transfer(int* locks, int* table, int n) {
    if (threadIdx.x) return;
    int from = blockIdx.x % n, to = (blockIdx.x + 1) % n;
#ifdef RACY
    int stripes[2] = {(int)blockIdx.x, (int)blockIdx.x + 64};
#else
    int stripes[2] = {min(from, to), max(from, to)};
#endif
    for (int i = 0; i < 2; i++)
        while (atomicCAS(&locks[stripes[i]], 0, 1) != 0) {
        }
    __threadfence();
    table[from] -= 1; //~ A
    table[to] += 1; //~ B
    __threadfence();
    for (int i = 0; i < 2; i++) atomicExch(&locks[stripes[i]], 0);
}
//~ RACE[racy] write-read|read-write|write-write global grid: A A
//~ RACE[racy] write-read|read-write|write-write global grid: A B
//~ RACE?[racy] write-read|read-write|write-write global grid: B B

int main() {
    const int n = 4;
    Buffer<int> locks(128), table(n);
    transfer<<<8, 32>>>(locks.device, table.device, n);
    SYNC();
    table.download();
    bool right = true;
    for (int i = 0; i < n; i++) right &= table[i] == 0;
    return finish(right);
}
