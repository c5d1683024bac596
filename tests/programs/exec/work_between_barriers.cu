// Kernels whose threads come to each barrier together, with all that may be needed
// after one: values of a thread, of the block, arrays, structs by value; and their
// neighbours whose threads part, which compute the same.
#include "check.h"

struct Scale { int by[3]; float add; };

// A sum by rounds, once with all threads to the end, once without those that have nothing to do.
__device__ int sum_of(int* tile, int t, int n) {
    for (int s = n / 2; s > 0; s /= 2) {
        if (t < s) tile[t] += tile[t + s];
        __syncthreads();
    }
    return tile[0];
}

__global__ void together(const int* in, int* out, Scale scale) {
    __shared__ int tile[64];
    int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    int mine = in[blockIdx.x * 64 + t] * scale.by[blockIdx.x % 3];
    float half = mine * 0.5f;
    bool odd = mine % 2;
    int kept[5];
    for (int i = 0; i < 5; i++) kept[i] = mine + i;
    tile[t] = mine;
    __syncthreads();
    int sum = sum_of(tile, t, 64);
    __syncthreads();
    // Of the block: it changes from round to round.
    int last = 0;
    for (int round = 0; round < 1 + (int)blockIdx.x; round++) {
        tile[t] = round + t;
        __syncthreads();
        last += tile[(t + 1) % 64];
        if (round == 2) break;
        __syncthreads();
    }
    out[blockIdx.x * 64 + t] = sum + last + kept[(t + sum) % 5] + (odd ? 1 : 0) + (int)(half + scale.add);
}

// As above, but a thread that has an odd number waits in another round, and
// threads from 60 on leave before the last barrier.
__global__ void apart(const int* in, int* out, Scale scale) {
    __shared__ int tile[64];
    int t = threadIdx.x;
    int mine = in[blockIdx.x * 64 + t];
    scale.by[0] += mine;
    tile[t] = mine;
    __syncthreads();
    if (t >= 60) return;
    int left = tile[(t + 59) % 60];
    __syncthreads();
    tile[t] = left + scale.by[0];
    __syncthreads();
    out[blockIdx.x * 64 + t] = tile[59 - t];
}

// Rounds until the block says that it is done: what decides is read from memory, by all alike.
__global__ void until_done(int* rounds) {
    __shared__ int left;
    if (threadIdx.x == 0) left = 3 + blockIdx.x;
    __syncthreads();
    int n = 0;
    while (left > 0) {
        __syncthreads();
        if (threadIdx.x == 0) left--;
        n++;
        __syncthreads();
    }
    rounds[blockIdx.x * blockDim.x + threadIdx.x] = n;
}

int main() {
    Buffer<int> in(4 * 64), out(4 * 64), rounds(4 * 64);
    for (int i = 0; i < 256; i++) in[i] = i % 13;
    in.upload();
    Scale scale = {{1, 2, 3}, 0.25f};
    bool right = true;
    together<<<4, dim3(4, 8, 2)>>>(in.device, out.device, scale);
    SYNC();
    out.download();
    for (int b = 0; b < 4; b++) {
        int sum = 0;
        for (int t = 0; t < 64; t++) sum += in[b * 64 + t] * scale.by[b % 3];
        for (int t = 0; t < 64; t++) {
            int mine = in[b * 64 + t] * scale.by[b % 3], last = 0;
            for (int round = 0; round < (b < 2 ? b + 1 : 3); round++) last += round + (t + 1) % 64;
            int want = sum + last + mine + (t + sum) % 5 + mine % 2 + (int)(mine * 0.5f + 0.25f);
            right &= out[b * 64 + t] == want;
        }
    }
    apart<<<4, 64>>>(in.device, out.device, scale);
    SYNC();
    out.download();
    for (int b = 0; b < 4; b++)
        for (int t = 0; t < 60; t++) {
            int other = 59 - t;
            right &= out[b * 64 + t] == in[b * 64 + (other + 59) % 60] + 1 + in[b * 64 + other];
        }
    until_done<<<4, 64>>>(rounds.device);
    SYNC();
    rounds.download();
    for (int i = 0; i < 256; i++) right &= rounds[i] == 3 + i / 64;
    return finish(right);
}
