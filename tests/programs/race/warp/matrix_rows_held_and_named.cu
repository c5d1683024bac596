//@ revisions: named held
//@[named] findings: missing-barrier
// Who reads an element that `ldmatrix` loads is the lane whose register holds it, not the one that names its row
// (docs/soundness.md): a lane that stores its own row has others read it, one that stores what it is to hold does not.
#include <cstdint>
#include "check.h"

__global__ void load(uint32_t* out) {
    __shared__ __align__(16) uint32_t rows[8 * 4];
    unsigned lane = threadIdx.x, value, at = static_cast<unsigned>(__cvta_generic_to_shared(&rows[lane % 8 * 4]));
#ifdef NAMED
    if (lane < 8)
        for (int i = 0; i < 4; i++) rows[4 * lane + i] = 4 * lane + i; //~ A
#else
    rows[lane] = lane;
#endif
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(value) : "r"(at) : "memory"); //~ B
    out[lane] = value;
}
//~ RACE[named] write-read|read-write shared: A B

int main() {
    Buffer<uint32_t> out(32);
    load<<<1, 32>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (unsigned lane = 0; lane < 32; lane++) right &= out[lane] == lane;
    return finish(right);
}
