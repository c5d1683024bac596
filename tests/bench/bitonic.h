#include <algorithm>

#include "bench.h"

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int n = bench.size(1 << 17, 2048);
    Random random;
    std::vector<unsigned> in(n);
    for (unsigned& x : in) x = random.next();
    Buffer<unsigned> data(in);
    bench.time(
        "bitonic", [&] { data.write(in); },
        [&] {
            LAUNCH(bitonic_block, (n / 512), (256), data, 2, 512);
            for (int k = 1024; k <= n; k *= 2) {
                for (int j = k / 2; j > 256; j /= 2) LAUNCH(bitonic_step, (n / 512), (256), data, j, k);
                LAUNCH(bitonic_block, (n / 512), (256), data, k, k);
            }
        });
    std::vector<unsigned> got = data.read();
    std::sort(in.begin(), in.end());
    for (int i = 0; i < n; i++) expect(got[i] == in[i], "element", i);
}
