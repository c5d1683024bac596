#include "bench.h"

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int rows = bench.size(8192, 40), columns = 256;
    std::vector<float> in(rows * columns);
    Random random;
    for (float& x : in) x = random.unit() * 4;
    Buffer<float> din(in), dout(rows * columns);
    bench.time("softmax", [] {}, [&] { LAUNCH(softmax, (256), (256), rows, columns, din, dout); });
    std::vector<float> got = dout.read();
    for (int row = 0; row < rows; row += 7) {
        double sum = 0;
        for (int i = 0; i < columns; i++) sum += exp((double)in[row * columns + i]);
        for (int i = 0; i < columns; i++) {
            double wanted = exp((double)in[row * columns + i]) / sum;
            expect(fabs(got[row * columns + i] - wanted) < 1e-5, "value", row * columns + i);
        }
    }
}
