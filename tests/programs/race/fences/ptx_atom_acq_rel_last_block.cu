//@ revisions: racy fixed
//@[racy] findings: missing-fence
// The last block is told by one `atom.acq_rel`: it releases the block's own
// result and acquires those of the others. A mere `atom.release` acquires none.
#include "check.h"

__device__ int count_in(int* done) {
    int old;
#ifdef FIXED
    asm volatile("atom.acq_rel.gpu.global.add.s32 %0, [%1], 1;" : "=r"(old) : "l"(done) : "memory");
#else
    asm volatile("atom.release.gpu.global.add.s32 %0, [%1], 1;" : "=r"(old) : "l"(done) : "memory");
#endif
    return old;
}

__global__ void reduce(int* partial, int* done, int* out) {
    if (threadIdx.x) return;
    partial[blockIdx.x] = 2 * blockIdx.x + 1; //~ A
    if (count_in(done) == gridDim.x - 1) {
        int sum = 0;
        for (int i = 0; i < gridDim.x; i++) sum += partial[i]; //~ B
        *out = sum;
    }
}
//~ RACE[racy] write-read global grid: A B

int main() {
    Buffer<int> partial(8), done(1), out(1);
    reduce<<<8, 32>>>(partial.device, done.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 64);
}
