// Kernels that exist twice. One form runs warps as loops where it can. The other one may sleep, and so runs on
// fibers. Both must compute the same, for blocks of many shapes.
#pragma once
#include "check.h"
#include <vector>

constexpr unsigned ALL = 0xffffffffu;

struct Args {
    const unsigned* in;
    unsigned n, width, delta;
};

__device__ unsigned mix(unsigned a, unsigned b) { return (a ^ b) * 2654435761u + (a >> 15); }

__device__ unsigned linear() {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

template <class T> __device__ T sum_down(T v) {
    for (int offset = 16; offset > 0; offset >>= 1) v += __shfl_down_sync(ALL, v, offset);
    return v;
}

template <class K, bool FIBERS> __global__ void kernel(Args a, unsigned* out) {
    unsigned threads = blockDim.x * blockDim.y * blockDim.z;
    unsigned g = linear() + threads * blockIdx.x;
    if (FIBERS) __nanosleep(1);
    out[g] = K::run(a, g);
}

struct Shape {
    dim3 block;
    bool whole; // each warp has 32 lanes
};

// The shapes of blocks that `same` tries.
inline std::vector<Shape> shapes = {{32, true}, {64, true}, {256, true}, {dim3(32, 4), true}, {dim3(96, 3), true},
                                    {100, false}, {dim3(16, 16), false}};

// True if both forms of a kernel compute the same. Blocks with warps of fewer than 32 lanes only if `partial`.
template <class K> bool same(const char* name, bool partial = true) {
    bool right = true;
    for (const Shape& shape : shapes) {
        if (!partial && !shape.whole) continue;
        unsigned threads = shape.block.x * shape.block.y * shape.block.z, n = 3 * threads;
        Buffer<unsigned> in(n), loops(n), fibers(n);
        for (unsigned i = 0; i < n; i++) in[i] = (i * 2654435761u) >> 7;
        in.upload();
        for (unsigned width = 2; width <= 32; width *= 4) {
            Args a = {in.device, n, width, width / 4};
            kernel<K, false><<<3, shape.block>>>(a, loops.device);
            SYNC();
            kernel<K, true><<<3, shape.block>>>(a, fibers.device);
            SYNC();
            loops.download(), fibers.download();
            for (unsigned i = 0; i < n; i++) {
                if (loops[i] == fibers[i]) continue;
                printf("%s differs in a block of (%u,%u,%u), width %u, at %u: %u and %u\n", name, shape.block.x,
                       shape.block.y, shape.block.z, width, i, loops[i], fibers[i]);
                right = false;
                break;
            }
        }
    }
    return right;
}
