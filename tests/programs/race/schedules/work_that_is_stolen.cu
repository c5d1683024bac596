//@ revisions: racy fixed
//@ opt: O1
//@[racy] findings: missing-fence
// Each of two blocks puts tasks into a list of its own and takes them out again; who has none left takes
// those of the other one. The owner does not release what it puts in, so a theft is a race.
#include "check.h"

constexpr int TASKS = 3;

__global__ void work(int* tasks, int* put, int* taken, int* done) {
    if (threadIdx.x) return;
    int own = blockIdx.x;
    for (int i = 0; i < TASKS; i++) {
        tasks[own * TASKS + i] = 1 + i; //~ A
#ifdef FIXED
        __threadfence();
#endif
        atomicAdd(&put[own], 1);
    }
    for (int k = 0; k < 2; k++) {
        int of = (own + k) % 2;
        for (;;) {
            int at = atomicAdd(&taken[of], 0);
            if (at >= atomicAdd(&put[of], 0)) break;
            if (atomicCAS(&taken[of], at, at + 1) != at) continue;
            __threadfence();
            atomicAdd(done, tasks[of * TASKS + at]); //~ B
        }
    }
}
//~ RACE[racy] write-read global grid: A B

int main() {
    Buffer<int> tasks(2 * TASKS), put(2), taken(2), done(1);
    work<<<2, 32>>>(tasks.device, put.device, taken.device, done.device);
    SYNC();
    done.download();
    return finish(done[0] == 12);
}
