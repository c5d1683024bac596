//@ revisions: racy fixed
//@[racy] findings: missing-fence
// Thread 0 acquires; the other threads of its block know nothing of it until a barrier.
#include "check.h"

__global__ void pass(int* values, int* flag, int* gate, int* out) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        values[t] = t; //~ A
        __syncthreads();
        if (t == 0) {
            __threadfence();
            atomicExch(flag, 1);
        }
    } else {
        if (t == 0) {
            while (atomicAdd(flag, 0) == 0) {
            }
            __threadfence();
        }
#ifdef FIXED
        __syncthreads();
#else
        // Waits all the same, by a word that orders nothing.
        if (t == 0) atomicExch(gate, 1);
        while (atomicAdd(gate, 0) == 0) {
        }
#endif
        out[t] = values[63 - t]; //~ B
    }
}
//~ RACE[racy] write-read global grid: A B

int main() {
    Buffer<int> values(64), flag(1), gate(1), out(64);
    pass<<<2, 64>>>(values.device, flag.device, gate.device, out.device);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == 63 - i;
    return finish(right);
}
