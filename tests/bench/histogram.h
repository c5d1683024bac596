#include "bench.h"

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int n = bench.size(1 << 21, 5000), blocks = bench.size(64, 3);
    Random random;
    std::vector<unsigned> in(n), zero(256), want(256);
    for (int i = 0; i < n; i++) in[i] = random.next(), want[in[i] & 255]++;
    Buffer<unsigned> din(in), bins(256);
    bench.time(
        "histogram", [&] { bins.write(zero); }, [&] { LAUNCH(histogram, (blocks), (256), n, din, bins); });
    std::vector<unsigned> got = bins.read();
    for (int b = 0; b < 256; b++) expect(got[b] == want[b], "bin", b);
}
