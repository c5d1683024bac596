// `cudaLaunchKernel` with an argument array, and default arguments of the launch.
#include "check.h"

__global__ void fill(int* data, int first, char step) { data[blockIdx.x * blockDim.x + threadIdx.x] = first + step * (int)threadIdx.x; }

int main() {
    Buffer<int> data(64);
    int first = 100;
    char step = 3;
    void* arguments[] = {&data.device, &first, &step};
    CUDA(cudaLaunchKernel(reinterpret_cast<const void*>(fill), dim3(2), dim3(32), arguments, 0, nullptr));
    SYNC();
    data.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= data[i] == 100 + 3 * (i % 32);
    return finish(right);
}
