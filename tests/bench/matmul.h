#include "bench.h"

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int n = bench.size(256, 32);
    std::vector<float> a(n * n), b(n * n);
    // Small whole numbers: every sum is exact.
    for (int i = 0; i < n * n; i++) a[i] = i % 5, b[i] = i % 3;
    Buffer<float> da(a), db(b), dc(n * n);
    bench.time("matmul", [] {}, [&] { LAUNCH(matmul, (n / 16, n / 16), (16, 16), n, da, db, dc); });
    std::vector<float> got = dc.read();
    for (int row = 0; row < n; row++)
        for (int column = 0; column < n; column++) {
            float sum = 0;
            for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + column];
            expect(got[row * n + column] == sum, "c", row * n + column);
        }
}
