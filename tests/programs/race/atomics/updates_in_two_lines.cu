//@ revisions: racy fixed
//@[racy] findings: missing-atomic missing-atomic missing-atomic
// Updates that are a read and a store: a histogram, a counter of a loop, shortest ways. No barrier makes them one step.
#include "check.h"

__global__ void count_values(const int* in, int* bins) {
    int bin = in[blockIdx.x * blockDim.x + threadIdx.x] % 8;
#ifdef FIXED
    atomicAdd(&bins[bin], 1);
#else
    int count = bins[bin]; //~ A
    bins[bin] = count + 1; //~ B
#endif
}
//~ RACE[racy] read-write|write-read global: A B
//~ RACE?[racy] write-write global: B B

__global__ void compact(const int* in, int* out, int* count, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        if (in[i] % 3 == 0) {
#ifdef FIXED
            int at = atomicAdd(count, 1);
#else
            int at = *count; //~ C
            *count = at + 1; //~ D
#endif
            atomicExch(&out[at], in[i]);
        }
}
//~ RACE[racy] read-write|write-read global: C D
//~ RACE?[racy] write-write global: D D

__global__ void relax(const int* to, const int* through, int* distance) {
    int e = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FIXED
    atomicMin(&distance[to[e]], through[e]);
#else
    if (through[e] < distance[to[e]]) //~ E
        distance[to[e]] = through[e]; //~ F
#endif
}
//~ RACE[racy] read-write|write-read global: E F
//~ RACE?[racy] write-write global: F F

int main() {
    Buffer<int> in(256), to(256), bins(8), out(256), count(1), distance(64);
    iota(in);
    for (int i = 0; i < 256; i++) to[i] = i * 7 % 64;
    for (int i = 0; i < 64; i++) distance[i] = 1000;
    to.upload();
    distance.upload();
    count_values<<<4, 64>>>(in.device, bins.device);
    compact<<<2, 64>>>(in.device, out.device, count.device, 256);
    relax<<<4, 64>>>(to.device, in.device, distance.device);
    SYNC();
    bins.download();
    count.download();
    distance.download();
    bool right = count[0] == 86;
    for (int i = 0; i < 8; i++) right &= bins[i] == 32;
    for (int i = 0; i < 64; i++) right &= distance[i * 7 % 64] == i;
    return finish(right);
}
