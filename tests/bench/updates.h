#include "bench.h"

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    const int each = 16;
    int threads = bench.size(1 << 14, 256), size = bench.size(1 << 18, 1024);
    std::vector<unsigned> zero(size), want(size);
    Buffer<unsigned> dtable(zero);
    auto prepare = [&] { dtable.write(zero); };
    unsigned mask = size - 1;
    bench.time("updates", prepare, [&] { LAUNCH(updates, (threads / 256), (256), each, mask, dtable); });
    for (int t = 0; t < threads; t++) {
        unsigned x = 2654435761u * (t + 1);
        for (int i = 0; i < each; i++) {
            x ^= x << 13, x ^= x >> 17, x ^= x << 5;
            want[x & mask] ^= x;
        }
    }
    std::vector<unsigned> got = dtable.read();
    for (int i = 0; i < size; i++) expect(got[i] == want[i], "word", i);
}
