//@ compile-flags: -DA=1 -DB=2 -DC=3 -DF=4 -DR=6
// A build defines what short names it likes. What gclang includes before the source uses none of them.
#include <cstdio>

__global__ void count(int* words) {
    __nv_atomic_fetch_add(words, A + B + C + F + R, __NV_ATOMIC_RELAXED);
    __stwb(words + 1, R);
}

int main() {
    int *device, words[2] = {};
    cudaMalloc(&device, sizeof words);
    cudaMemset(device, 0, sizeof words);
    count<<<1, 1>>>(device);
    cudaMemcpy(words, device, sizeof words, cudaMemcpyDeviceToHost);
    cudaFree(device);
    bool right = words[0] == 16 && words[1] == 6;
    puts(right ? "right" : "wrong");
    return !right;
}
