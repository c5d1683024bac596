//@ revisions: racy fixed
//@[racy] findings: missing-fence
// A release pattern needs a write: who reads the location after a compare-and-swap that has failed
// is not ordered after what came before that, whatever its order. It acquires all the same.
#include "check.h"

__device__ unsigned swap(unsigned* at, unsigned expected, unsigned value) {
    unsigned old;
    asm volatile("atom.global.acq_rel.gpu.cas.b32 %0, [%1], %2, %3;"
                 : "=r"(old) : "l"(at), "r"(expected), "r"(value) : "memory");
    return old;
}

__device__ unsigned load(unsigned* at) {
    unsigned value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}

__global__ void pass(int* data, unsigned* flag, unsigned* done, int* out) {
    if (blockIdx.x == 0) {
        *data = 42; //~ W
#ifdef RACY
        swap(flag, 5, 6);
#else
        swap(flag, 0, 0);
#endif
        asm volatile("st.relaxed.gpu.global.u32 [%0], 1;" ::"l"(done) : "memory");
    } else {
        while (load(done) == 0) {}
        // Fails, and acquires.
        swap(flag, 9, 1);
        *out = *data; //~ R
    }
}
//~ RACE[racy] write-read global grid: W R

int main() {
    Buffer<unsigned> flag(2);
    Buffer<int> data(1), out(1);
    pass<<<2, 1>>>(data.device, flag.device, flag.device + 1, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 42);
}
