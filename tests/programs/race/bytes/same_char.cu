//@ revisions: racy fixed
//@[racy] findings: several-writers
// Two threads of different warps store to one byte.
#include "check.h"

__global__ void mark(char* marks) {
    int t = threadIdx.x;
#ifdef FIXED
    marks[t] = static_cast<char>(t);
#else
    marks[t % 32] = static_cast<char>(t); //~ A
#endif
}
//~ RACE[racy] write-write global block: A A

int main() {
    Buffer<char> marks(64);
    mark<<<1, 64>>>(marks.device);
    SYNC();
    marks.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= marks[i] == i;
    return finish(right);
}
