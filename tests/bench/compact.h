#include "bench.h"

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int n = bench.size((1 << 21) - 5, 2000), blocks = (n + 255) / 256;
    std::vector<int> in(n);
    Random random;
    for (int& x : in) x = (int)random.next();
    Buffer<int> din(in), dout(blocks * 256), dcounts(blocks);
    bench.time("compact", [] {}, [&] { LAUNCH(compact, (blocks), (256), n, din, dout, dcounts); });
    std::vector<int> got = dout.read(), counts = dcounts.read();
    for (int b = 0; b < blocks; b++) {
        int count = 0;
        for (int i = b * 256; i < n && i < (b + 1) * 256; i++)
            if (in[i] & 1) expect(got[b * 256 + count++] == in[i], "value", i);
        expect(counts[b] == count, "count", b);
    }
}
