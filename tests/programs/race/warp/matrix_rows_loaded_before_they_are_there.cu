//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// `ldmatrix` reads the rows that other lanes name, and orders nothing: what lanes have stored needs a barrier before it,
// and so does what they store behind it.
#include <cstdint>
#include "check.h"

__global__ void turn(uint32_t* out) {
    __shared__ __align__(16) uint16_t tile[64];
    unsigned lane = threadIdx.x, value, at = static_cast<unsigned>(__cvta_generic_to_shared(&tile[lane % 8 * 8]));
    for (int i = 0; i < 2; i++) tile[2 * lane + i] = 2 * lane + i; //~ A
#ifdef FIXED
    __syncwarp();
#endif
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(value) : "r"(at) : "memory"); //~ B
#ifdef FIXED
    __syncwarp();
#endif
    tile[2 * lane] = 0; //~ C
    out[lane] = value;
}
//~ RACE[racy] write-read|read-write shared: A B
//~ RACE[racy] read-write|write-read shared: B C

int main() {
    Buffer<uint32_t> out(32);
    turn<<<1, 32>>>(out.device);
    SYNC();
    out.download();
    bool right = true;
    for (unsigned lane = 0; lane < 32; lane++) {
        unsigned first = lane % 4 * 16 + lane / 4;
        right &= out[lane] == (first | (first + 8) << 16);
    }
    return finish(right);
}
