// Races on fields of structs: the report names them. The second kernel has other structs in the same memory.
#include "check.h"

struct Vector { float x, y; };
struct Particle { Vector position; Vector velocity; short ids[2]; };
struct Other { int all[5]; union { int whole; short halves[2]; }; };

__global__ void nested(Particle* particles) { particles[threadIdx.x / 2].velocity.y = threadIdx.x; }
__global__ void array(Particle* particles) { particles[threadIdx.x / 2].ids[1] = threadIdx.x; }
__global__ void shared_bytes(Other* others) { others[threadIdx.x / 2].halves[1] = threadIdx.x; }
__global__ void numbers(float* all) { all[threadIdx.x / 2] = threadIdx.x; }

int main() {
    Buffer<Particle> particles(12);
    Buffer<Other> others(10);
    nested<<<1, 8>>>(particles.device);
    SYNC();
    array<<<1, 8>>>(particles.device);
    SYNC();
    shared_bytes<<<1, 8>>>(others.device);
    SYNC();
    numbers<<<1, 8>>>(reinterpret_cast<float*>(particles.device));
    SYNC();
    return 0;
}
