// Each thread changes three of the fields of a struct of its own.
#include "bench.h"

struct Particle {
    float x[3], v[3];
    int kind;
    float mass;
};

__global__ void fields(Particle* all, int n, float dt) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int axis = 0; axis < 3; axis++) all[i].x[axis] += all[i].v[axis] * dt;
}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int n = bench.size(1 << 17, 300);
    std::vector<Particle> in(n);
    for (int i = 0; i < n; i++)
        for (int axis = 0; axis < 3; axis++) in[i].x[axis] = i % 100, in[i].v[axis] = axis * 4;
    Buffer<Particle> all(in.size());
    bench.time(
        "fields", [&] { all.write(in); }, [&] { LAUNCH(fields, ((n + 255) / 256), (256), all, n, 0.5f); });
    std::vector<Particle> got = all.read();
    for (int i = 0; i < n; i++)
        for (int axis = 0; axis < 3; axis++) expect(got[i].x[axis] == i % 100 + axis * 2, "place", i);
}
