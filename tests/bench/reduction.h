#include "bench.h"

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int n = bench.size((1 << 22) - 5, 2000), blocks = (n + 511) / 512;
    std::vector<int> in(n);
    for (int i = 0; i < n; i++) in[i] = i % 11;
    Buffer<int> din(in), dout(blocks);
    bench.time("reduction", [] {}, [&] { LAUNCH(reduction, (blocks), (256), n, din, dout); });
    std::vector<int> got = dout.read();
    for (int b = 0; b < blocks; b++) {
        int sum = 0;
        for (int i = b * 512; i < n && i < (b + 1) * 512; i++) sum += in[i];
        expect(got[b] == sum, "sum", b);
    }
}
