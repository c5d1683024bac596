#include "bench.h"

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    const int threads = 256, size = 4 * threads, digits = 16;
    int blocks = bench.size(256, 2);
    Random random;
    std::vector<unsigned> keys(blocks * size);
    for (unsigned& key : keys) key = random.next();
    Buffer<unsigned> dkeys(keys), dsorted(keys.size());
    bench.time("radix", [] {}, [&] { LAUNCH(radix, (blocks), (threads), dkeys, dsorted, 4); });
    std::vector<unsigned> got = dsorted.read();
    size_t at = 0;
    for (int b = 0; b < blocks; b++)
        for (unsigned digit = 0; digit < digits; digit++)
            for (int i = 0; i < size; i++)
                if (unsigned key = keys[b * size + i]; (key >> 4 & 15) == digit)
                    expect(got[at++] == key, "key", i);
}
