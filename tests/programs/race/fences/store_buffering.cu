//@ revisions: racy fixed
//@[racy] known-miss: the executor runs atomics in one order, so that never both of them enter
// Dekker's entry: raise a flag, look at the other one, enter where it is down. With
// `fence.sc` between the two at most one enters. With `fence.acq_rel` both may.
#include "check.h"

#ifdef FIXED
#define FENCE() asm volatile("fence.sc.gpu;" ::: "memory")
#else
#define FENCE() asm volatile("fence.acq_rel.gpu;" ::: "memory")
#endif

__global__ void enter(int* wants, int* entered) {
    if (threadIdx.x) return;
    int me = blockIdx.x, seen;
    asm volatile("st.relaxed.gpu.s32 [%0], 1;" ::"l"(&wants[me]) : "memory");
    FENCE();
    asm volatile("ld.relaxed.gpu.s32 %0, [%1];" : "=r"(seen) : "l"(&wants[1 - me]) : "memory");
    if (seen == 0) *entered += 1; //~ A
}
//~ RACE[racy] write-read|write-write global grid: A A

int main() {
    Buffer<int> wants(2), entered(1);
    enter<<<2, 32>>>(wants.device, entered.device);
    SYNC();
    entered.download();
    return finish(entered[0] <= 1);
}
