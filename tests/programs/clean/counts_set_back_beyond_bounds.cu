//@ revisions: locations parameters
//@ known-alarm: the atomics on a location are logged for 65,536 locations, and not where two parameters point to it
// As counts_set_back, past the bounds within which it is known who has observed an atomic write.
#include "check.h"

#ifdef LOCATIONS
constexpr int COUNTS = 70000;
#else
constexpr int COUNTS = 16;
#endif

__global__ void last_of_each(unsigned int* counts, unsigned int* same) {
    for (int i = threadIdx.x; i < COUNTS; i += blockDim.x) {
#ifdef LOCATIONS
        if (atomicAdd(&counts[i], 1) == gridDim.x - 1) counts[i] = 0;
#else
        if (atomicAdd(&counts[i], 1) == gridDim.x - 1) same[i] = 0;
#endif
    }
}

int main() {
    Buffer<unsigned int> counts(COUNTS);
    last_of_each<<<2, 256>>>(counts.device, counts.device);
    SYNC();
    counts.download();
    return finish(counts[COUNTS - 1] == 0);
}
