#include "bench.h"

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int n = bench.size(1 << 19, 1000);
    Random random;
    std::vector<int> places(n), in(n);
    for (int i = 0; i < n; i++) {
        in[i] = (int)random.next();
        places[i] = i;
        std::swap(places[i], places[random.next() % (i + 1)]);
    }
    Buffer<int> dplaces(places), din(in), dout(n);
    bench.time("scatter", [] {}, [&] { LAUNCH(scatter, ((n + 255) / 256), (256), n, dplaces, din, dout); });
    std::vector<int> got = dout.read();
    for (int i = 0; i < n; i++) expect(got[places[i]] == in[i], "value", i);
}
