#include "bench.h"

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    const int tile = 64;
    int n = bench.size(256, tile);
    std::vector<float> a(n * n), b(n * n);
    for (int i = 0; i < n * n; i++) a[i] = i % 5, b[i] = i % 7;
    Buffer<float> da(a), db(b), dc(n * n);
    bench.time("registers", [] {}, [&] { LAUNCH(registers, (n / tile, n / tile), (256), da, db, dc, n); });
    std::vector<float> got = dc.read();
    for (int i = 0; i < n; i++) {
        int j = (i * 37 + 11) % n;
        float sum = 0;
        for (int k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j];
        expect(got[i * n + j] == sum, "element", i * n + j);
    }
}
