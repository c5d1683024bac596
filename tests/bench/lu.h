#include "bench.h"

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int n = bench.size(256, 32);
    Random random;
    std::vector<float> in(n * n), want;
    for (int i = 0; i < n * n; i++) in[i] = random.unit() + (i % (n + 1) == 0 ? n : 0);
    want = in;
    Buffer<float> da(in);
    auto prepare = [&] { da.write(in); };
    bench.time("lu", prepare, [&] {
        for (int k = 0; k < n - 1; k++) {
            int rest = n - 1 - k, groups = (rest + 15) / 16;
            LAUNCH(scale, ((rest + 127) / 128), (128), n, k, da);
            LAUNCH(eliminate, (groups, groups), (16, 16), n, k, da);
        }
    });
    for (int k = 0; k < n - 1; k++)
        for (int y = k + 1; y < n; y++) {
            want[y * n + k] /= want[k * n + k];
            for (int x = k + 1; x < n; x++) want[y * n + x] -= want[y * n + k] * want[k * n + x];
        }
    std::vector<float> got = da.read();
    for (int i = 0; i < n * n; i++)
        expect(std::abs(got[i] - want[i]) <= 1e-3f * (1 + std::abs(want[i])), "element", i);
}
