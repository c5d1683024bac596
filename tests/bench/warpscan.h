#include "bench.h"

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int n = bench.size((1 << 21) - 5, 2000), blocks = (n + 255) / 256;
    std::vector<int> in(n);
    for (int i = 0; i < n; i++) in[i] = i % 11;
    Buffer<int> din(in), dout(n);
    bench.time("warpscan", [] {}, [&] { LAUNCH(warpscan, (blocks), (256), n, din, dout); });
    std::vector<int> got = dout.read();
    for (int i = 0, sum = 0; i < n; i++) {
        sum = i % 256 ? sum + in[i] : in[i];
        expect(got[i] == sum, "sum", i);
    }
}
