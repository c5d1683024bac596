// Constant tables of the addresses of shared arrays: each block has its own.
#include "check.h"

struct Rows {
    int* first;
    int length;
    int* second;
};

__device__ int sum(const Rows& rows) {
    int all = 0;
    for (int i = 0; i < rows.length; i++) all += rows.first[i] - rows.second[i];
    return all;
}

__global__ void swap_rows(int* out, int turn) {
    __shared__ int even[32], odd[33];
    int* rows[] = {even, odd, odd + 1};
    int t = threadIdx.x;
    rows[0][t] = 100 * blockIdx.x + t;
    rows[2][t] = -t;
    __syncthreads();
    // `odd + 1 + t` by way of `odd`, and `even`.
    out[blockIdx.x * 32 + t] = rows[turn][t + 1] + rows[turn - 1][t];
    __syncthreads();
    rows[0][t] = 2 * t + blockIdx.x;
    rows[2][t] = t;
    __syncthreads();
    if (t == 0) {
        const Rows both = {even, 32, &odd[1]};
        out[64 + blockIdx.x] = sum(both);
    }
}

int main() {
    Buffer<int> out(66);
    swap_rows<<<2, 32>>>(out.device, 1);
    SYNC();
    out.download();
    bool right = true;
    for (int i = 0; i < 64; i++) right &= out[i] == i / 32 * 100;
    for (int b = 0; b < 2; b++) right &= out[64 + b] == 31 * 16 + 32 * b;
    return finish(right);
}
