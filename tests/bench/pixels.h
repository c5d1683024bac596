#include "bench.h"

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int n = bench.size(1 << 20, 1000);
    Random random;
    std::vector<unsigned char> in(3 * n);
    for (unsigned char& x : in) x = random.next();
    Buffer<unsigned char> dpixels(in);
    auto prepare = [&] { dpixels.write(in); };
    bench.time("pixels", prepare, [&] { LAUNCH(pixels, ((n + 255) / 256), (256), n, dpixels); });
    std::vector<unsigned char> got = dpixels.read();
    for (int i = 0; i < n; i++) {
        int grey = (in[3 * i] + 2 * in[3 * i + 1] + in[3 * i + 2]) / 4;
        for (int c = 0; c < 3; c++) expect(got[3 * i + c] == (in[3 * i + c] + grey) / 2, "byte", 3 * i + c);
    }
}
