//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// A copy of a struct reads every field, the one that another thread writes too.
#include "check.h"

struct Particle {
    float x, y, z;
    float vx, vy, vz;
};

__global__ void step(Particle* p, Particle* saved) {
    if (threadIdx.x == 0) *saved = *p; //~ A
#ifdef FIXED
    __syncthreads();
#endif
    if (threadIdx.x == 32) p->vy = 2.0f; //~ B
}
//~ RACE[racy] read-write global block: A B

int main() {
    Buffer<Particle> p(1), saved(1);
    p[0] = {1, 2, 3, 4, 5, 6};
    p.upload();
    step<<<1, 64>>>(p.device, saved.device);
    SYNC();
    p.download();
    saved.download();
    return finish(saved[0].vy == 5 && p[0].vy == 2);
}
