// Forces between particles in boxes. A block holds a box, and the particles of a neighbouring box in shared
// memory.
#include "bench.h"

const int EACH = 64, NEIGHBOURS = 6;

struct Particle {
    float x, y, z, charge;
};

__global__ void boxes(const Particle* particles, const int* neighbours, Particle* forces) {
    __shared__ Particle others[EACH];
    int t = threadIdx.x, box = blockIdx.x;
    Particle own = particles[box * EACH + t], force = {0, 0, 0, 0};
    for (int k = 0; k < NEIGHBOURS; k++) {
        int neighbour = neighbours[box * NEIGHBOURS + k];
        others[t] = particles[neighbour * EACH + t];
        __syncthreads();
        for (int j = 0; j < EACH; j++) {
            float x = own.x - others[j].x, y = own.y - others[j].y, z = own.z - others[j].z;
            float weight = others[j].charge / (1 + x * x + y * y + z * z);
            force.charge += weight;
            force.x += weight * x;
            force.y += weight * y;
            force.z += weight * z;
        }
        __syncthreads();
    }
    forces[box * EACH + t] = force;
}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int count = bench.size(512, 4);
    Random random;
    std::vector<Particle> particles(count * EACH);
    std::vector<int> neighbours(count * NEIGHBOURS);
    for (Particle& p : particles) p = {random.unit(), random.unit(), random.unit(), random.unit()};
    for (int& neighbour : neighbours) neighbour = random.next() % count;
    Buffer<Particle> dparticles(particles), dforces(particles.size());
    Buffer<int> dneighbours(neighbours);
    bench.time("boxes", [] {}, [&] { LAUNCH(boxes, (count), (EACH), dparticles, dneighbours, dforces); });
    std::vector<Particle> got = dforces.read();
    for (int i = 0; i < count * EACH; i += bench.tiny ? 1 : 97) {
        float sum = 0;
        for (int k = 0; k < NEIGHBOURS; k++)
            for (int j = 0; j < EACH; j++) {
                const Particle &a = particles[i],
                               &b = particles[neighbours[i / EACH * NEIGHBOURS + k] * EACH + j];
                float x = a.x - b.x, y = a.y - b.y, z = a.z - b.z;
                sum += b.charge / (1 + x * x + y * y + z * z);
            }
        expect(std::abs(got[i].charge - sum) < 1e-3f * sum, "charge", i);
    }
}
