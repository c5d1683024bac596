//@ revisions: racy fixed
//@[racy] findings: several-writers
// A 2-byte store against a 1-byte store of its second byte.
#include "check.h"

__global__ void store(unsigned char* bytes) {
    if (threadIdx.x == 0) *reinterpret_cast<unsigned short*>(bytes + 4) = 0x0201; //~ A
#ifdef FIXED
    if (threadIdx.x == 33) bytes[6] = 3;
#else
    if (threadIdx.x == 33) bytes[5] = 3; //~ B
#endif
}
//~ RACE[racy] write-write global block: A B

int main() {
    Buffer<unsigned char> bytes(8);
    store<<<1, 64>>>(bytes.device);
    SYNC();
    bytes.download();
    return finish(bytes[4] == 1 && bytes[5] == 2 && bytes[6] == 3);
}
