#include "bench.h"

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int rows = bench.size(1 << 16, 300);
    Random random;
    std::vector<int> starts(1), columns;
    std::vector<float> values, x(rows);
    for (int row = 0; row < rows; row++) {
        x[row] = random.next() % 8;
        for (int i = random.next() % 32; i > 0; i--) {
            columns.push_back(random.next() % rows);
            values.push_back(random.next() % 8);
        }
        starts.push_back(columns.size());
    }
    Buffer<int> dstarts(starts), dcolumns(columns);
    Buffer<float> dvalues(values), dx(x), dy(rows);
    bench.time(
        "spmv", [] {},
        [&] { LAUNCH(spmv, ((rows + 127) / 128), (128), rows, dstarts, dcolumns, dvalues, dx, dy); });
    std::vector<float> got = dy.read();
    for (int row = 0; row < rows; row++) {
        float sum = 0;
        for (int i = starts[row]; i < starts[row + 1]; i++) sum += values[i] * x[columns[i]];
        expect(got[row] == sum, "y", row);
    }
}
