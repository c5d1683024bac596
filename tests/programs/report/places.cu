// A barrier is missing in each kernel; the suite `reports` says where the report wants it.
#include "check.h"

// The condition comes from shared memory. That threads meet under it says that all of them agree.
__global__ void under_a_condition(int* out) {
    __shared__ int chosen, tile[64];
    int t = threadIdx.x;
    if (t == 0) chosen = out[64];
    __syncthreads();
    if (chosen == 0) {
        tile[t] = t;
        __syncthreads();
        out[t] = tile[63 - t];
        tile[t] += 1; // after the read
    }
}

// As above, but nothing says that the threads agree.
__global__ void under_an_unknown_condition(int* out) {
    __shared__ int chosen[64], tile[64];
    int t = threadIdx.x;
    chosen[t] = out[64];
    __syncthreads();
    if (chosen[63 - t] == 0) {
        tile[t] = t;
        out[t] = tile[63 - t];
    }
}

// The branch has a barrier, in a further branch: that one says nothing of the threads that do not take it.
__global__ void beside_a_barrier(int* out) {
    __shared__ int chosen[2], tile[64];
    int t = threadIdx.x;
    if (t < 2) chosen[t] = out[64];
    __syncthreads();
    if (chosen[t % 2] == 0) {
        tile[t] = t;
        out[t] = tile[63 - t];
        if (out[64] != 0) {
            __syncthreads();
            out[t] = tile[t];
        }
    }
}

__device__ void put(int* tile, int t) {
    if (t < 60) tile[t + 1] = t;
}

__device__ void take(const int* tile, int* out, int t) {
    if (t < 50) out[t] = tile[t + 3];
}

// Nothing of its own source stands between the accesses.
__global__ void in_functions(int* out) {
    __shared__ int tile[64];
    put(tile, threadIdx.x);
    take(tile, out, threadIdx.x); // the second call
}

__device__ int rounds_of(int* tile, int t, int rounds) {
    int sum = 0;
    do {
        sum += tile[t]; // of the function's loop
        __syncthreads();
        tile[t + 1] = rounds;
    } while (--rounds);
    return sum;
}

// The loop is within the function: a barrier before the call is outside of it.
__global__ void in_a_loop_of_a_function(int* out, int rounds) {
    __shared__ int tile[65];
    tile[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = rounds_of(tile, threadIdx.x, rounds);
}

int main() {
    Buffer<int> out(65);
    CUDA(cudaMemset(out.device, 0, 65 * sizeof(int)));
    under_a_condition<<<1, 64>>>(out.device);
    under_an_unknown_condition<<<1, 64>>>(out.device);
    beside_a_barrier<<<1, 64>>>(out.device);
    in_functions<<<1, 64>>>(out.device);
    in_a_loop_of_a_function<<<1, 64>>>(out.device, 3);
    SYNC();
    return 0;
}
