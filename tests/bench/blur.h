#include "bench.h"

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int w = bench.size(2048, 64), h = bench.size(1024, 16);
    Random random;
    std::vector<unsigned char> in(w * h), zero(w * h);
    for (unsigned char& x : in) x = random.next();
    Buffer<unsigned char> din(in), dout(zero);
    bench.time("blur", [] {}, [&] { LAUNCH(blur, (w / 32, h / 8), (32, 8), w, h, din, dout); });
    std::vector<unsigned char> got = dout.read();
    for (int y = 1; y < h - 1; y++)
        for (int x = 1; x < w - 1; x++) {
            int sum = 0;
            for (int i = 0; i < 9; i++) sum += in[(y + i / 3 - 1) * w + x + i % 3 - 1];
            expect(got[y * w + x] == sum / 9, "pixel", y * w + x);
        }
}
