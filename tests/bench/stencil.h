#include "bench.h"

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int w = bench.size(2048, 64), h = bench.size(1024, 32);
    std::vector<float> in(w * h), zero(w * h);
    for (int i = 0; i < w * h; i++) in[i] = i % 16;
    Buffer<float> din(in), dout(zero);
    bench.time("stencil", [] {}, [&] { LAUNCH(stencil, (w / 32, h / 8), (32, 8), w, h, din, dout); });
    std::vector<float> got = dout.read();
    for (int y = 1; y < h - 1; y++)
        for (int x = 1; x < w - 1; x++) {
            int i = y * w + x;
            float want = 0.5f * in[i] + 0.125f * (in[i - 1] + in[i + 1] + in[i - w] + in[i + w]);
            expect(got[i] == want, "cell", i);
        }
}
