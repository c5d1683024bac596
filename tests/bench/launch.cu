// A program that does nothing. It measures the start and the launch of an empty kernel.
#include "bench.h"

__global__ void empty() {}

int main(int argc, char** argv) {
    Bench bench(argc, argv);
    const int launches = bench.size(20000, 1);
    bench.time(
        "launch", [] {},
        [&] {
            for (int i = 0; i < launches; i++) empty<<<1, 1>>>();
        });
    must(cudaGetLastError());
}
