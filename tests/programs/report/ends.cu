// A program with a race that ends in the way that its argument names.
#include <csignal>
#include "check.h"

__global__ void race(int* out) {
    out[0] = threadIdx.x;
}

__global__ void trap() {
    __trap();
}

int main(int, char** argv) {
    Buffer<int> out(1);
    race<<<1, 32>>>(out.device);
    SYNC();
    if (!strcmp(argv[1], "return")) return 4;
    if (!strcmp(argv[1], "exit")) exit(3);
    if (!strcmp(argv[1], "_exit")) _Exit(7);
    if (!strcmp(argv[1], "abort")) abort();
    if (!strcmp(argv[1], "segv")) *reinterpret_cast<volatile int*>(8) = 1;
    if (!strcmp(argv[1], "terminate")) throw 1;
    if (!strcmp(argv[1], "trap")) {
        trap<<<1, 1>>>();
        SYNC();
    }
    return 0;
}
