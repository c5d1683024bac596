// Tree reductions in the shapes that textbooks go through: interleaved with a modulo,
// interleaved with strided indices, sequential, two elements per load, a grid-stride
// loop, shuffles, and an atomic per block.
#include "check.h"

template <int kind>
__global__ void reduce(const int* in, int* out, int n) {
    __shared__ int tile[128];
    int t = threadIdx.x, i = blockIdx.x * 128 + t, sum = 0;
    if (kind == 3)
        sum = in[blockIdx.x * 256 + t] + in[blockIdx.x * 256 + 128 + t];
    else if (kind == 4)
        for (; i < n; i += gridDim.x * 128) sum += in[i];
    else
        sum = in[i];
    if (kind >= 5)
        for (int s = 16; s > 0; s /= 2) sum += __shfl_xor_sync(0xffffffff, sum, s);
    tile[t] = kind >= 5 && t % 32 ? 0 : sum;
    __syncthreads();
    if (kind == 0) {
        for (int s = 1; s < 128; s *= 2) {
            if (t % (2 * s) == 0) tile[t] += tile[t + s];
            __syncthreads();
        }
    } else if (kind == 1) {
        for (int s = 1; s < 128; s *= 2) {
            int at = 2 * s * t;
            if (at < 128) tile[at] += tile[at + s];
            __syncthreads();
        }
    } else {
        for (int s = 64; s > 0; s /= 2) {
            if (t < s) tile[t] += tile[t + s];
            __syncthreads();
        }
    }
    if (t == 0) atomicAdd(out, tile[0]);
}

template <int kind>
bool right(Buffer<int>& in, int blocks) {
    Buffer<int> out(1);
    reduce<kind><<<blocks, 128>>>(in.device, out.device, 512);
    SYNC();
    out.download();
    return out[0] == 511 * 256;
}

int main() {
    Buffer<int> in(512);
    iota(in);
    return finish(right<0>(in, 4) && right<1>(in, 4) && right<2>(in, 4) && right<3>(in, 2) &&
                  right<4>(in, 2) && right<5>(in, 4) && right<6>(in, 4));
}
