// Threads that return early, before a barrier of the others: no barrier stands under the condition by which they leave,
// whatever the optimiser makes of it.
#include "check.h"

__global__ void behind_the_end(int* out, int n) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    if (t >= n) return;
    tile[t] = t;
    __syncthreads();
    out[t] = tile[n - 1 - t];
}

// Both conditions become one branch.
__global__ void in_a_branch(int* out, const int* flags, int n) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    bool is_behind = t >= n;
    if (flags[blockIdx.x]) {
        if (is_behind) return;
        tile[t] = t;
        __syncthreads();
        out[t] = tile[n - 1 - t];
    }
}

__global__ void in_each_round(int* out, int n) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    for (int round = 0; round < 4; round++) {
        if (t >= n - round) return;
        tile[t] = t;
        __syncthreads();
        if (round == 3) out[t] = tile[t];
        __syncthreads();
    }
}

__global__ void by_a_break(int* out, int n) {
    __shared__ int tile[64];
    for (int i = threadIdx.x;; i += 64) {
        if (i >= n) break;
        tile[threadIdx.x] = i;
        __syncthreads();
        out[i] = tile[threadIdx.x];
        __syncthreads();
    }
}

__global__ void otherwise(int* out, int n) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    if (t < n) {
        tile[t] = t;
    } else {
        return;
    }
    __syncthreads();
    out[t] = tile[n - 1 - t];
}

// The condition has the barrier in it, but threads leave by the return.
__global__ void both(int* out, int n, int most) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    if (t < most) {
        if (t >= n) return;
        tile[t] = t;
        __syncthreads();
        out[t] = tile[n - 1 - t];
    }
}

int main() {
    Buffer<int> out(128), flags(1);
    flags[0] = 1;
    flags.upload();
    bool right = true;
    auto reversed = [&](int n) {
        SYNC();
        out.download();
        for (int i = 0; i < n; i++) right &= out[i] == n - 1 - i;
    };
    behind_the_end<<<1, 64>>>(out.device, 40);
    reversed(40);
    in_a_branch<<<1, 64>>>(out.device, flags.device, 41);
    reversed(41);
    otherwise<<<1, 64>>>(out.device, 42);
    reversed(42);
    both<<<1, 64>>>(out.device, 43, 64);
    reversed(43);
    in_each_round<<<1, 64>>>(out.device, 44);
    SYNC();
    out.download();
    for (int i = 0; i < 41; i++) right &= out[i] == i;
    by_a_break<<<1, 64>>>(out.device, 100);
    SYNC();
    out.download();
    for (int i = 0; i < 100; i++) right &= out[i] == i;
    return finish(right);
}
