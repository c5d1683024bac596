//@ revisions: racy fixed
//@[racy] findings: several-writers
// Records of seven bytes, packed: neighbours share words, not bytes.
#include "check.h"
struct __attribute__((packed)) Record { char kind; int value; short more; };
__global__ void fill(Record* records) {
    struct { Record r; char after; } w{{(char)threadIdx.x, (int)threadIdx.x, 3}, 0};
#ifdef RACY
    memcpy(reinterpret_cast<char*>(records) + 7 * (blockIdx.x * 32 + threadIdx.x), &w, 8); //~ C
#else
    memcpy(reinterpret_cast<char*>(records) + 7 * (blockIdx.x * 32 + threadIdx.x), &w, 7);
#endif
}
//~ RACE[racy] write-write global: C C
int main() {
    Buffer<Record> records(65);
    fill<<<2, 32>>>(records.device);
    SYNC();
    return finish(true);
}
