#include "bench.h"

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int n = bench.size(1 << 21, 2000);
    Random random;
    std::vector<unsigned char> in(n);
    for (int i = 1; i < n; i++) in[i] = in[i - 1] + (random.next() % 8 == 0);
    Buffer<unsigned char> din(in), dlengths(n);
    bench.time("runs", [] {}, [&] { LAUNCH(runs, ((n + 255) / 256), (256), n, din, dlengths); });
    std::vector<unsigned char> got = dlengths.read();
    for (int i = 0; i < n; i++) {
        int length = 0;
        if (!i || in[i] != in[i - 1])
            while (length < 255 && i + length < n && in[i + length] == in[i]) length++;
        expect(got[i] == length, "run", i);
    }
}
