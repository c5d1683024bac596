// A program of the suite `executed`: races on several shared arrays of one kernel. The report must name
// each array and the byte in it.
#include <cstdio>

__device__ __noinline__ void through(int* p, int value) { *p = value; }

__global__ void arrays(int* out) {
    __shared__ int first[8];
    __shared__ double second[64];
    __shared__ short third[100];
    extern __shared__ char rest[];
    if (threadIdx.x < 8) first[threadIdx.x] = threadIdx.x;
    second[threadIdx.x] = threadIdx.x;
    third[threadIdx.x] = threadIdx.x;
    rest[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        second[5] = threadIdx.x;
        ((int*)rest)[20] = threadIdx.x;
        through((int*)&third[96], threadIdx.x);
    }
    __syncthreads();
    out[blockIdx.x * 64 + threadIdx.x] =
        first[threadIdx.x % 8] + (int)second[threadIdx.x] + third[threadIdx.x] + rest[threadIdx.x];
}

int main() {
    int* out;
    if (cudaMalloc(&out, 128 * sizeof(int))) return 2;
    arrays<<<2, 64, 128>>>(out);
    return cudaDeviceSynchronize() != cudaSuccess;
}
