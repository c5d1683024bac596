//@ revisions: racy fixed
//@[racy] findings: missing-atomic
// Cache operators choose where a value is found, not when: `__ldcg` and `__stcg` are plain accesses.
#include "check.h"
__global__ void pass(int* data, int* flag, int* out) {
    if (blockIdx.x == 0) {
#ifdef RACY
        __stcg(data, 5); //~ W
        __threadfence();
        __stcg(flag, 1); //~ F
#else
        __stcg(data, 5);
        __threadfence();
        atomicExch(flag, 1);
#endif
    } else {
#ifdef RACY
        for (int i = 0; i < 100 && __ldcg(flag) == 0; i++) {} //~ G
        __threadfence();
        *out = __ldcg(data); //~ R
#else
        while (atomicAdd(flag, 0) == 0) {}
        __threadfence();
        *out = __ldcg(data);
#endif
    }
}
//~ RACE[racy] write-read|read-write global grid: F G
//~ RACE[racy] write-read|read-write global grid: W R
int main() {
    Buffer<int> data(2), out(1);
    pass<<<2, 1>>>(data.device, data.device + 1, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 5);
}
