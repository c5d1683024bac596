//@ revisions: racy fixed
//@[racy] findings: missing-atomic
// A relaxed load at device scope is an atomic one; the store that it meets must be, too.
#include "check.h"

__global__ void poll(int* progress, int* out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        for (int i = 1; i <= 3; i++)
#ifdef FIXED
            asm volatile("st.relaxed.gpu.s32 [%0], %1;" ::"l"(progress), "r"(i) : "memory");
#else
            *progress = i; //~ A
#endif
    } else {
        int seen;
        asm volatile("ld.relaxed.gpu.s32 %0, [%1];" : "=r"(seen) : "l"(progress) : "memory"); //~ B
        *out = seen;
    }
}
//~ RACE[racy] write-atomic global grid: A B

int main() {
    Buffer<int> progress(1), out(1);
    poll<<<2, 32>>>(progress.device, out.device);
    SYNC();
    out.download();
    progress.download();
    return finish(out[0] >= 0 && out[0] <= 3 && progress[0] == 3);
}
