//@ findings: missing-fence
// Three writers of one word, each at a line of its own. When the third comes, memory
// holds what the second wrote, which says nothing of the first: had `A` and `C` been
// taken for equal, `same_value=ignore` would hide their race.
#include "check.h"

// Brings the writers into one order of time, and orders no memory.
__device__ void wait_for(int* turn, int n) {
    while (atomicAdd(turn, 0) != n);
}

__global__ void store(int* out, int* turn) {
    int t = threadIdx.x;
    if (t == 0) {
        *out = 1; //~ A
        atomicAdd(turn, 1);
    } else if (t == 32) {
        wait_for(turn, 1);
        *out = 2; //~ B
        atomicAdd(turn, 1);
    } else if (t == 64) {
        wait_for(turn, 2);
        *out = 2; //~ C
    }
}
//~ RACE write-write global block other-value: A B
//~ RACE write-write global block unknown-value: A C
//~ RACE write-write global block unknown-value: B C

int main() {
    Buffer<int> out(1), turn(1);
    store<<<1, 96>>>(out.device, turn.device);
    SYNC();
    return 0;
}
