#include "bench.h"

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    // Not a multiple of the block.
    int n = bench.size((1 << 22) - 3, 1000);
    std::vector<float> x(n), y(n);
    for (int i = 0; i < n; i++) x[i] = i % 7, y[i] = i % 5;
    Buffer<float> dx(x), dy(y);
    bench.time(
        "saxpy", [&] { dy.write(y); }, [&] { LAUNCH(saxpy, ((n + 255) / 256), (256), n, 2.0f, dx, dy); });
    std::vector<float> got = dy.read();
    for (int i = 0; i < n; i++) expect(got[i] == 2 * x[i] + y[i], "y", i);
}
