#include "bench.h"

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int nx = bench.size(128, 16), nz = bench.size(48, 4), layer = nx * nx;
    std::vector<float> in(layer * nz);
    for (size_t i = 0; i < in.size(); i++) in[i] = i % 11;
    Buffer<float> din(in), dout(in.size());
    bench.time(
        "march", [] {}, [&] { LAUNCH(march, ((nx + 31) / 32, nx / 8), (32, 8), din, dout, nx, nx, nz); });
    std::vector<float> got = dout.read();
    for (int z = 1; z < nz - 1; z++)
        for (int y = 1; y < nx - 1; y++)
            for (int x = 1; x < nx - 1; x++) {
                int i = z * layer + y * nx + x;
                float sum = in[i] * 2 + in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] + in[i - layer] +
                            in[i + layer];
                expect(got[i] == sum, "cell", i);
            }
}
