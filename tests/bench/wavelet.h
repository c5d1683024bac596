#include "bench.h"

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    const int size = 512;
    int blocks = bench.size(2048, 3);
    Random random;
    std::vector<float> in(blocks * size);
    for (float& x : in) x = random.next() % 256;
    Buffer<float> din(in), dout(blocks * size);
    bench.time("wavelet", [] {}, [&] { LAUNCH(wavelet, (blocks), (size / 2), din, dout); });
    std::vector<float> got = dout.read();
    for (int b = 0; b < blocks; b++) {
        std::vector<float> now(in.begin() + b * size, in.begin() + (b + 1) * size), next(now);
        for (int half = size / 2; half; half /= 2, now = next)
            for (int i = 0; i < half; i++) {
                next[i] = (now[2 * i] + now[2 * i + 1]) * 0.5f;
                next[half + i] = (now[2 * i] - now[2 * i + 1]) * 0.5f;
            }
        for (int i = 0; i < size; i++) expect(got[b * size + i] == now[i], "coefficient", b * size + i);
    }
}
