//@ revisions: racy fixed read
//@[racy] findings: missing-atomic
//@[read] findings: missing-barrier
// A block looks a few times for another block's result, and does without it then. In the third form its loop reads the
// same element again and again, but nothing depends on what it finds: there is no flag.
#include "check.h"

__global__ void help(int* data, int* flag, int* out) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        for (int i = 0; i < 4; i++) data[i] = i + 1; //~ D
#ifdef FIXED
        __threadfence();
        atomicExch(flag, 1);
#else
        *flag = 1; //~ F
#endif
    } else {
        int seen = 0, sum = 0;
#ifdef FIXED
        for (int i = 0; i < 100 && !seen; i++) seen = atomicAdd(flag, 0);
        __threadfence();
#elif defined(RACY)
        for (int i = 0; i < 100; i++)
            if (*flag) break; //~ G
        seen = 1;
#else
        for (int i = 0; i < 4; i++) sum += *flag; //~ H
#endif
        if (seen)
            for (int i = 0; i < 4; i++) sum += data[i]; //~ E
        *out = sum;
    }
}
//~ RACE[racy] write-read|read-write global grid: F G
//~ RACE[racy] write-read|read-write global grid: D E
//~ RACE[read] write-read|read-write global grid: F H

int main() {
    Buffer<int> data(4), flag(1), out(1);
    help<<<2, 32>>>(data.device, flag.device, out.device);
    SYNC();
    out.download();
#ifdef FIXED
    return finish(out[0] == 10 || out[0] == 0);
#else
    return finish(true);
#endif
}
