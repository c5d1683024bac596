#include "bench.h"

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int n = bench.size(1 << 17, 500), slots = bench.size(1 << 18, 1024);
    std::vector<unsigned> keys(n), empty(slots, 0);
    for (int i = 0; i < n; i++) keys[i] = 2654435761u * (i + 1);
    Buffer<unsigned> dkeys(keys), dtable(slots), dvalues(slots);
    unsigned mask = slots - 1;
    auto prepare = [&] { dtable.write(empty); };
    bench.time("hash", prepare,
               [&] { LAUNCH(hash, ((n + 255) / 256), (256), n, mask, dkeys, dtable, dvalues); });
    std::vector<unsigned> table = dtable.read(), values = dvalues.read();
    for (int i = 0; i < n; i++) {
        unsigned slot = (keys[i] >> 7) & (slots - 1);
        while (table[slot] != keys[i]) {
            expect(table[slot] != 0, "key", i);
            slot = (slot + 1) & (slots - 1);
        }
        expect(values[slot] == (unsigned)i, "value", i);
    }
}
