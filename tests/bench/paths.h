#include "bench.h"

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int n = bench.size(192, 32);
    Random random;
    std::vector<int> in(n * n), want;
    for (int i = 0; i < n * n; i++) in[i] = i % (n + 1) == 0 ? 0 : 1 + random.next() % 1000;
    want = in;
    Buffer<int> dlengths(in);
    auto prepare = [&] { dlengths.write(in); };
    bench.time("paths", prepare, [&] {
        for (int k = 0; k < n; k++) LAUNCH(paths, (n / 16, n / 16), (16, 16), n, k, dlengths);
    });
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n * n; i++)
            want[i] = std::min(want[i], want[i / n * n + k] + want[k * n + i % n]);
    std::vector<int> got = dlengths.read();
    for (int i = 0; i < n * n; i++) expect(got[i] == want[i], "length", i);
}
