// A Walsh-Hadamard transform of 256 numbers by each block. The numbers come in bit-reversed order, and no
// proof covers their stores: it would have to know that `__brev` never gives one number twice.
#include "bench.h"

const int POINTS = 256;

__global__ void walsh(int* data) {
    __shared__ int s[POINTS];
    int t = threadIdx.x;
    int* own = data + blockIdx.x * POINTS;
    s[__brev(t) >> 24] = own[t];
    s[__brev(t + POINTS / 2) >> 24] = own[t + POINTS / 2];
    __syncthreads();
    for (int half = 1; half < POINTS; half <<= 1) {
        int i = t / half * 2 * half + t % half;
        int a = s[i], b = s[i + half];
        s[i] = a + b;
        s[i + half] = a - b;
        __syncthreads();
    }
    own[t] = s[t];
    own[t + POINTS / 2] = s[t + POINTS / 2];
}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    int blocks = bench.size(2048, 2);
    Random random;
    std::vector<int> in(blocks * POINTS);
    for (int& value : in) value = random.next() % 1000;
    Buffer<int> data(in.size());
    bench.time("walsh", [&] { data.write(in); }, [&] { LAUNCH(walsh, (blocks), (POINTS / 2), data); });
    std::vector<int> got = data.read();
    for (int b = 0; b < blocks; b += blocks - 1) {
        for (int k = 0; k < POINTS; k++) {
            int sum = 0;
            for (int i = 0; i < POINTS; i++) {
                int reversed = 0;
                for (int bit = 0; bit < 8; bit++) reversed |= (i >> bit & 1) << (7 - bit);
                sum += __builtin_parity(reversed & k) ? -in[b * POINTS + i] : in[b * POINTS + i];
            }
            expect(got[b * POINTS + k] == sum, "sum", b * POINTS + k);
        }
    }
}
