#include "bench.h"

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int n = bench.size((1 << 22) - 5, 5000), blocks = (n + 1023) / 1024;
    std::vector<float> in(n);
    for (int i = 0; i < n; i++) in[i] = (float)(i % 11);
    Buffer<float> din(in), dout(blocks);
    bench.time("warpsums", [] {}, [&] { LAUNCH(warpsums, (blocks), (256), n, din, dout); });
    std::vector<float> got = dout.read();
    for (int b = 0; b < blocks; b++) {
        float sum = 0;
        for (int i = b * 1024; i < n && i < (b + 1) * 1024; i++) sum += in[i];
        expect(got[b] == sum, "sum", b);
    }
}
