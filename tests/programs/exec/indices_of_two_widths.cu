//@ stdout: rotated 0
//@ stdout: pairs 0
//@ stdout: bytes 0
//@ stdout: signed 0
//@ stdout: read 0
// Indices that are cut to a power of two, beside a block's first element. LLVM 22 takes their elements for
// neighbours up to the end: `pass/cpp/plugin.cpp` keeps it from that. Each line counts wrong elements.
#include <cstdio>

constexpr unsigned blocks = 3, threads = 64;

__global__ void rotated(int* to) { to[blockIdx.x * threads + (threadIdx.x + 30u) % threads] = threadIdx.x; }

__global__ void pairs(int2* to) {
    to[blockIdx.x * threads + (threadIdx.x + 30u) % threads] = make_int2(threadIdx.x, blockIdx.x);
}

__global__ void bytes(int* to) {
    unsigned char at = threadIdx.x + 250u;
    to[blockIdx.x * 256u + at] = threadIdx.x;
}

__global__ void signed_bytes(int* to) {
    signed char at = threadIdx.x + 100u;
    to[blockIdx.x * 256u + 128u + at] = threadIdx.x;
}

__global__ void reads(int* to, const int* from) {
    unsigned first = blockIdx.x * threads;
    to[first + threadIdx.x] = from[first + (threadIdx.x + 30u) % threads];
}

int main() {
    int *to, *from;
    cudaMallocManaged(&to, blocks * 256 * sizeof(int));
    cudaMallocManaged(&from, blocks * 256 * sizeof(int));
    auto count = [&](const char* name, auto right) {
        cudaDeviceSynchronize();
        int wrong = 0;
        for (unsigned b = 0; b < blocks; b++)
            for (unsigned t = 0; t < threads; t++) wrong += !right(b, t);
        printf("%s %d\n", name, wrong);
    };
    rotated<<<blocks, threads>>>(to);
    count("rotated", [&](unsigned b, unsigned t) { return to[b * threads + (t + 30) % threads] == (int)t; });
    pairs<<<blocks, threads>>>((int2*)to);
    count("pairs", [&](unsigned b, unsigned t) {
        unsigned at = 2 * (b * threads + (t + 30) % threads);
        return to[at] == (int)t && to[at + 1] == (int)b;
    });
    bytes<<<blocks, threads>>>(to);
    count("bytes", [&](unsigned b, unsigned t) { return to[b * 256 + (t + 250) % 256] == (int)t; });
    signed_bytes<<<blocks, threads>>>(to);
    count("signed", [&](unsigned b, unsigned t) { return to[b * 256 + 128 + (signed char)(t + 100)] == (int)t; });
    for (unsigned i = 0; i < blocks * threads; i++) from[i] = i * i;
    reads<<<blocks, threads>>>(to, from);
    count("read", [&](unsigned b, unsigned t) {
        return to[b * threads + t] == from[b * threads + (t + 30) % threads];
    });
    return 0;
}
