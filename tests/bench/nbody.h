#include "bench.h"

#ifdef BENCH_OPENCL
typedef cl_float4 Body;
#else
typedef float4 Body;
#endif

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int n = bench.size(2048, 256);
    Random random;
    std::vector<Body> bodies(n);
    for (Body& b : bodies) b.x = random.unit(), b.y = random.unit(), b.z = random.unit(), b.w = random.unit();
    Buffer<Body> din(bodies), dout(n);
    bench.time("nbody", [] {}, [&] { LAUNCH(nbody, (n / 128), (128), n, din, dout); });
    std::vector<Body> got = dout.read();
    for (int i = 0; i < n; i += 37) {
        double f[3] = {0, 0, 0};
        for (int j = 0; j < n; j++) {
            double dx = bodies[j].x - bodies[i].x, dy = bodies[j].y - bodies[i].y,
                   dz = bodies[j].z - bodies[i].z;
            double d = 1 / sqrt(dx * dx + dy * dy + dz * dz + 0.01);
            double s = bodies[j].w * d * d * d;
            f[0] += dx * s, f[1] += dy * s, f[2] += dz * s;
        }
        double error = fabs(got[i].x - f[0]) + fabs(got[i].y - f[1]) + fabs(got[i].z - f[2]);
        double scale = fabs(f[0]) + fabs(f[1]) + fabs(f[2]) + n;
        expect(error < 1e-4 * scale, "force", i);
    }
}
