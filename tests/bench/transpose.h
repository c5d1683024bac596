#include "bench.h"

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int n = bench.size(1024, 64);
    std::vector<float> in(n * n);
    for (int i = 0; i < n * n; i++) in[i] = i % 1021;
    Buffer<float> din(in), dout(n * n);
    bench.time("transpose", [] {}, [&] { LAUNCH(transpose, (n / 32, n / 32), (32, 8), n, din, dout); });
    std::vector<float> got = dout.read();
    for (int y = 0; y < n; y++)
        for (int x = 0; x < n; x++) expect(got[y * n + x] == in[x * n + y], "element", y * n + x);
}
