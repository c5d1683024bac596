// Each thread sorts 16 numbers in place. How far it goes back depends on the numbers.
#include "bench.h"

const int EACH = 16;

__global__ void insertion(int* data, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    int* own = data + t * EACH;
    for (int i = 1; i < EACH; i++) {
        int value = own[i], at = i - 1;
        while (at >= 0 && own[at] > value) {
            own[at + 1] = own[at];
            at--;
        }
        own[at + 1] = value;
    }
}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int n = bench.size(1 << 14, 300);
    Random random;
    std::vector<int> in(n * EACH);
    for (int& value : in) value = random.next();
    Buffer<int> data(in.size());
    bench.time(
        "insertion", [&] { data.write(in); }, [&] { LAUNCH(insertion, ((n + 127) / 128), (128), data, n); });
    std::vector<int> got = data.read();
    for (int t = 0; t < n; t++) std::sort(in.begin() + t * EACH, in.begin() + (t + 1) * EACH);
    for (size_t i = 0; i < in.size(); i++) expect(got[i] == in[i], "number", i);
}
