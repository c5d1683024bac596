//@ compile-flags: --cuda-gpu-arch=sm_90
// Which clusters a launch can have, and what it is told of the others.
#include "check.h"

__global__ void plain(int* out) { atomicAdd(out, 1); }
__global__ void __cluster_dims__(2, 1, 1) of_two(int* out) { atomicAdd(out, 1); }

Buffer<int>* out;

cudaLaunchConfig_t config(dim3 grid, dim3 cluster, cudaLaunchAttribute* attribute) {
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = 32;
    attribute->id = cudaLaunchAttributeClusterDimension;
    attribute->val.clusterDim.x = cluster.x;
    attribute->val.clusterDim.y = cluster.y;
    attribute->val.clusterDim.z = cluster.z;
    config.attrs = attribute;
    config.numAttrs = 1;
    return config;
}

cudaError_t launch(void (*kernel)(int*), dim3 grid, dim3 cluster) {
    cudaLaunchAttribute attribute;
    cudaLaunchConfig_t c = config(grid, cluster, &attribute);
    cudaError_t error = cudaLaunchKernelEx(&c, kernel, out->device);
    cudaGetLastError();
    return error;
}

int main() {
    Buffer<int> counter(1);
    out = &counter;
    bool right = true;
    auto expect = [&](cudaError_t got, cudaError_t want, int line) {
        if (got != want) printf("line %d: %s\n", line, cudaGetErrorName(got)), right = false;
    };
    expect(launch(plain, 8, 8), cudaSuccess, __LINE__);
    expect(launch(plain, dim3(4, 4), dim3(2, 4)), cudaSuccess, __LINE__);
    expect(launch(plain, 8, 3), cudaErrorInvalidClusterSize, __LINE__);
    expect(launch(plain, dim3(4, 3), dim3(2, 2)), cudaErrorInvalidClusterSize, __LINE__);
    expect(launch(plain, 16, 16), cudaErrorInvalidClusterSize, __LINE__);
    expect(launch(plain, 8, dim3(2, 0, 1)), cudaErrorInvalidClusterSize, __LINE__);
    expect(launch(of_two, 8, 2), cudaSuccess, __LINE__);
    expect(launch(of_two, 8, 4), cudaErrorInvalidClusterSize, __LINE__);
    of_two<<<4, 32>>>(out->device);
    expect(cudaGetLastError(), cudaSuccess, __LINE__);
    of_two<<<3, 32>>>(out->device);
    expect(cudaGetLastError(), cudaErrorInvalidClusterSize, __LINE__);
    CUDA(cudaFuncSetAttribute(plain, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    expect(launch(plain, 16, 16), cudaSuccess, __LINE__);
    expect(launch(plain, 32, 32), cudaErrorInvalidClusterSize, __LINE__);

    cudaLaunchAttribute attribute;
    cudaLaunchConfig_t c = config(16, 2, &attribute);
    int most = 0, active = 0;
    CUDA(cudaOccupancyMaxPotentialClusterSize(&most, plain, &c));
    CUDA(cudaOccupancyMaxActiveClusters(&active, plain, &c));
    right &= most == 16 && active >= 1;
    CUDA(cudaOccupancyMaxPotentialClusterSize(&most, of_two, &c));
    right &= most == 2;
    CUDA(cudaDeviceSynchronize());
    counter.download();
    right &= counter[0] == 32 * (8 + 16 + 8 + 4 + 16);
    return finish(right);
}
