//@ revisions: racy fixed
//@[racy] findings: missing-barrier
// A texture of linear memory shows what other threads of the launch write there: nothing orders the fetch.
#include "check.h"

__global__ void shift(cudaTextureObject_t texture, int* out, int n) {
    int i = threadIdx.x;
    int value = tex1Dfetch<int>(texture, (i + 1) % n); //~ A
#ifdef FIXED
    __syncthreads();
#endif
    out[i] = value; //~ B
}
//~ RACE[racy] read-write|write-read global: A B

int main() {
    const int n = 64;
    Buffer<int> data(n);
    iota(data);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = data.device;
    resource.res.linear.desc = cudaCreateChannelDesc<int>();
    resource.res.linear.sizeInBytes = n * sizeof(int);
    cudaTextureDesc desc = {};
    cudaTextureObject_t texture = 0;
    CUDA(cudaCreateTextureObject(&texture, &resource, &desc, nullptr));
    shift<<<1, n>>>(texture, data.device, n);
    SYNC();
    data.download();
    bool right = true;
    for (int i = 0; i < n; i++) right &= data[i] == (i + 1) % n;
    CUDA(cudaDestroyTextureObject(texture));
    return finish(right);
}
