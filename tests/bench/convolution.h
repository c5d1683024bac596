#include "bench.h"

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    const int radius = 8;
    int w = bench.size(2048, 256), h = bench.size(512, 4);
    Random random;
    std::vector<float> in(w * h), taps(2 * radius + 1);
    for (float& x : in) x = random.next() % 16;
    for (float& tap : taps) tap = random.next() % 8;
    Buffer<float> din(in), dtaps(taps), dout(w * h);
    bench.time("convolution", [] {}, [&] { LAUNCH(convolution, (w / 128, h), (128), w, din, dtaps, dout); });
    std::vector<float> got = dout.read();
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            float sum = 0;
            for (int k = -radius; k <= radius; k++)
                if (x + k >= 0 && x + k < w) sum += taps[radius + k] * in[y * w + x + k];
            expect(got[y * w + x] == sum, "cell", y * w + x);
        }
}
