// A source that asks for nvcc by `__NVCC__`, and has what nvcc at most warns of.
//@ compile-flags: -D__NVCC__ -DNDEBUG
#include <cassert>
#include <cooperative_groups.h>
#include <cstdint>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>

#include "check.h"

#ifdef __NVCC__
#define BOTH __host__ __device__
#else
#error "for nvcc only"
#endif

struct Add {
    int n;
    template <class T> BOTH T of(T x) const { return x + T(n); }
    BOTH std::size_t limit() const { return std::size_t{-1}; }
};

template <class F> __global__ void narrow(int* out, F f) {
    int at[] = {threadIdx.x, blockIdx.x};
    out[at[0]] = f.template of(at[0] + at[1]);
}

int main() {
    int* out;
    CUDA(cudaMallocManaged(&out, 64 * sizeof(int)));
    narrow<<<1, 64>>>(out, Add{2});
    CUDA(cudaDeviceSynchronize());
    int sum = thrust::reduce(thrust::host, out, out + 64);
    return finish(sum == 63 * 32 + 128 && Add{1}.limit() == SIZE_MAX);
}
