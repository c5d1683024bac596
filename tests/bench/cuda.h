// Buffers and launches over CUDA.
#pragma once

#include <cuda_runtime.h>

static size_t buffer_bytes;

inline void must(cudaError_t error) {
    if (error != cudaSuccess) {
        fprintf(stderr, "%s\n", cudaGetErrorString(error));
        exit(1);
    }
}

// Bytes of the device's memory that all processes use.
inline size_t device_memory() {
    size_t free, total;
    must(cudaMemGetInfo(&free, &total));
    return total - free;
}

inline void start(const char*) {}
inline void finish() { must(cudaDeviceSynchronize()); }

template <class T> struct Buffer {
    T* data;
    size_t count;
    explicit Buffer(size_t n) : count(n) {
        must(cudaMalloc(&data, n * sizeof(T)));
        buffer_bytes += n * sizeof(T);
    }
    explicit Buffer(const std::vector<T>& from) : Buffer(from.size()) { write(from); }
    void write(const std::vector<T>& from) {
        must(cudaMemcpy(data, from.data(), count * sizeof(T), cudaMemcpyHostToDevice));
    }
    std::vector<T> read() const {
        std::vector<T> to(count);
        must(cudaMemcpy(to.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost));
        return to;
    }
    operator T*() const { return data; }
};

struct Dim {
    unsigned x, y;
    Dim(unsigned x, unsigned y = 1) : x(x), y(y) {}
    operator dim3() const { return dim3(x, y); }
};

// `grid` is the number of blocks, `block` the number of threads in a block.
#define LAUNCH(kernel, grid, block, ...) kernel<<<dim3(Dim grid), dim3(Dim block)>>>(__VA_ARGS__)
