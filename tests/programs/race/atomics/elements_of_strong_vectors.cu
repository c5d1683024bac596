//@ revisions: racy fixed
//@[racy] findings: missing-fence overlapping-atomics
// The elements of a strong vector are accesses of their own (PTX ISA, "Vector Data-types"): one agrees with an atomic access of
// its size, and none with one of the whole vector's. A vector that releases does so by each of its elements.
#include <cstdint>
#include "check.h"

__global__ void of_both_sizes(uint32_t* vector, uint64_t* out) {
    if (blockIdx.x == 0) {
        asm volatile("st.relaxed.gpu.v2.u32 [%0], {%1,%2};" :: "l"(vector), "r"(1), "r"(2) : "memory"); //~ A
    } else {
#ifdef FIXED
        uint32_t half;
        asm volatile("ld.relaxed.gpu.u32 %0, [%1+4];" : "=r"(half) : "l"(vector) : "memory");
        out[0] = half;
#else
        asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(out[0]) : "l"(vector) : "memory"); //~ B
#endif
    }
}
//~ RACE[racy] atomic-atomic global: A B

__global__ void publish(uint32_t* vector, uint32_t* plain, uint32_t* out) {
    uint32_t flag;
    if (blockIdx.x == 0) {
        *plain = 5; //~ C
#ifdef FIXED
        asm volatile("st.release.gpu.v2.u32 [%0], {%1,%2};" :: "l"(vector), "r"(1), "r"(2) : "memory");
#else
        asm volatile("st.relaxed.gpu.v2.u32 [%0], {%1,%2};" :: "l"(vector), "r"(1), "r"(2) : "memory");
#endif
    } else {
        do {
            asm volatile("ld.acquire.gpu.u32 %0, [%1+4];" : "=r"(flag) : "l"(vector) : "memory");
        } while (flag != 2);
        *out = *plain; //~ D
    }
}
//~ RACE[racy] write-read global: C D

int main() {
    Buffer<uint32_t> vector(4), plain(1), out(1);
    Buffer<uint64_t> whole(1);
    for (int i = 0; i < 4; i++) vector[i] = 0;
    vector.upload();
    of_both_sizes<<<2, 1>>>(vector.device, whole.device);
    SYNC();
    publish<<<2, 1>>>(vector.device + 2, plain.device, out.device);
    SYNC();
    out.download();
    return finish(out[0] == 5);
}
