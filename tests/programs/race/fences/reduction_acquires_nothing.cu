//@ revisions: racy continued fixed
//@[racy] findings: missing-fence
// PTX ISA, "Reductions do not form Acquire Patterns": a fence after `red` acquires nothing by it, nor by an
// `atom` with the destination `_`. But a `red` goes on with the chain of read-modify-writes that a release
// has begun: who reads its value is ordered after that.
#include "check.h"

__device__ unsigned load(unsigned* at) {
    unsigned value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}

__global__ void pass(int* data, unsigned* flag, unsigned* done, int* out) {
    if (blockIdx.x == 0) {
        data[0] = data[1] = 42; //~ W
        asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
        asm volatile("st.relaxed.gpu.global.u32 [%0], 1;" ::"l"(done) : "memory");
    } else {
        while (load(done) == 0) {}
        unsigned old;
#ifdef RACY
        asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(flag) : "memory");
        asm volatile("fence.acq_rel.gpu;" ::: "memory");
        *out = data[0]; //~ R
        asm volatile("atom.relaxed.gpu.global.add.u32 _, [%0], 1;" ::"l"(flag) : "memory");
        asm volatile("fence.acq_rel.gpu;" ::: "memory");
        *out += data[1]; //~ S
#else
#ifdef CONTINUED
        asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(flag) : "memory");
        old = load(flag);
#else
        asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], 1;" : "=r"(old) : "l"(flag) : "memory");
#endif
        asm volatile("fence.acq_rel.gpu;" ::: "memory");
        *out = data[0] + data[1] + (old == 0);
#endif
    }
}
//~ RACE[racy] write-read global grid: W R
//~ RACE[racy] write-read global grid: W S

int main() {
    Buffer<unsigned> flag(2);
    Buffer<int> data(2), out(1);
    pass<<<2, 1>>>(data.device, flag.device, flag.device + 1, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 84);
}
