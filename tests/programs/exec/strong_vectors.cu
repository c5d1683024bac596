// Strong and volatile vectors of PTX are moved at once, as GPUs do and as CUB's scans rely on: readers in other blocks never
// see half of what was stored. Each kind of vector has elements that are told from each other by its number.
#include <cstdint>
#include "check.h"

struct Relaxed2 {
    static constexpr int n = 2;
    static __device__ void load(uint32_t* v, const uint32_t* p) {
        asm volatile("ld.relaxed.gpu.v2.u32 {%0,%1}, [%2];" : "=r"(v[0]), "=r"(v[1]) : "l"(p) : "memory");
    }
    static __device__ void store(uint32_t* p, const uint32_t* v) {
        asm volatile("st.relaxed.gpu.v2.u32 [%0], {%1,%2};" :: "l"(p), "r"(v[0]), "r"(v[1]) : "memory");
    }
};

struct Acquire4 {
    static constexpr int n = 4;
    static __device__ void load(uint32_t* v, const uint32_t* p) {
        asm volatile("ld.acquire.gpu.v4.u32 {%0,%1,%2,%3}, [%4];"
                     : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "l"(p) : "memory");
    }
    static __device__ void store(uint32_t* p, const uint32_t* v) {
        asm volatile("st.release.gpu.v4.u32 [%0], {%1,%2,%3,%4};" :: "l"(p), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]) : "memory");
    }
};

// The first block stores ever larger numbers until all others have seen the last one.
template <class Kind>
__global__ void hand_over(uint32_t* vector, uint32_t* plain, uint32_t last, int* torn, uint32_t* seen) {
    uint32_t v[4];
    if (blockIdx.x == 0) {
        for (uint32_t i = 1; i <= last; i++) {
            if (i == last) *plain = 77;
            for (int e = 0; e < Kind::n; e++) v[e] = i + e * 1000000;
            Kind::store(vector, v);
        }
        return;
    }
    do {
        Kind::load(v, vector);
        for (int e = 1; e < Kind::n; e++) torn[blockIdx.x] += v[e] != v[0] + e * 1000000;
    } while (v[0] != last);
    if (Kind::n == 4) seen[blockIdx.x] = *plain;
}

template <class Kind>
static bool check(const char* what) {
    const int blocks = 4;
    Buffer<uint32_t> vector(4), plain(1), seen(blocks);
    Buffer<int> torn(blocks);
    for (int e = 0; e < 4; e++) vector[e] = e * 1000000;
    for (int b = 0; b < blocks; b++) torn[b] = 0;
    vector.upload();
    torn.upload();
    hand_over<Kind><<<blocks, 1>>>(vector.device, plain.device, 3000, torn.device, seen.device);
    SYNC();
    torn.download();
    seen.download();
    bool right = true;
    for (int b = 1; b < blocks; b++) {
        right &= torn[b] == 0 && (Kind::n == 2 || seen[b] == 77);
        if (torn[b]) printf("%s: block %d has seen %d halves\n", what, b, torn[b]);
    }
    return right;
}

// Elements one by one: other sizes, and the vector without order.
__global__ void elements(uint64_t* wide, uint16_t* narrow, uint32_t* words) {
    uint64_t a, b;
    uint16_t c[4];
    uint32_t w[4];
    asm volatile("ld.relaxed.sys.v2.u64 {%0,%1}, [%2];" : "=l"(a), "=l"(b) : "l"(wide) : "memory");
    asm volatile("st.relaxed.sys.v2.u64 [%0], {%1,%2};" :: "l"(wide), "l"(b), "l"(a) : "memory");
    asm volatile("ld.relaxed.cta.v4.u16 {%0,%1,%2,%3}, [%4];" : "=h"(c[0]), "=h"(c[1]), "=h"(c[2]), "=h"(c[3]) : "l"(narrow) : "memory");
    asm volatile("st.volatile.v4.u16 [%0], {%1,%2,%3,%4};" :: "l"(narrow), "h"(c[3]), "h"(c[2]), "h"(c[1]), "h"(c[0]) : "memory");
    asm volatile("ld.volatile.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]) : "l"(words) : "memory");
    asm volatile("st.volatile.v4.u32 [%0], {%1,%2,%3,%4};" :: "l"(words), "r"(w[3]), "r"(w[2]), "r"(w[1]), "r"(w[0]) : "memory");
}

int main() {
    bool right = check<Relaxed2>("two") & check<Acquire4>("four");
    Buffer<uint64_t> wide(2);
    Buffer<uint16_t> narrow(4);
    Buffer<uint32_t> words(4);
    for (int i = 0; i < 4; i++) wide[i % 2] = 5ull << 40 | (i % 2), narrow[i] = 300 + i, words[i] = 70000 + i;
    wide.upload();
    narrow.upload();
    words.upload();
    elements<<<1, 1>>>(wide.device, narrow.device, words.device);
    SYNC();
    wide.download();
    narrow.download();
    words.download();
    for (int i = 0; i < 4; i++) right &= wide[i % 2] == (5ull << 40 | (1 - i % 2)) && narrow[i] == 303 - i && words[i] == 70003u - i;
    return finish(right);
}
