// Tiles work on parts of a shared array of their own, in all the forms in which a kernel names them.
#include <cooperative_groups.h>
#include "check.h"
namespace cg = cooperative_groups;

constexpr int N = 256;

// Sums up eight numbers in each tile.
__global__ void reduce(const int* in, int* out) {
    __shared__ int s[N];
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    int t = threadIdx.x;
    s[t] = in[t];
    tile.sync();
    for (int k = 4; k > 0; k /= 2) {
        if (tile.thread_rank() < k) s[t] += s[t + k];
        tile.sync();
    }
    out[t] = s[t / 8 * 8];
}

// Each tile of 16 transposes a matrix of 4 by 4.
__global__ void transpose(const int* in, int* out) {
    __shared__ int s[N];
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int t = threadIdx.x, rank = tile.thread_rank(), first = t - rank;
    s[t] = in[t];
    tile.sync();
    out[t] = s[first + rank % 4 * 4 + rank / 4];
}

// Each quad turns its numbers round. The lane is computed from the thread.
__global__ void quads(const int* in, int* out) {
    __shared__ int s[N];
    int t = threadIdx.x;
    s[t] = in[t];
    __syncwarp(0xfu << (t & 28));
    out[t] = s[t ^ 3];
}

// Sums from the start of each tile on.
__global__ void scan(const int* in, int* out) {
    __shared__ int s[N];
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int t = threadIdx.x, rank = tile.thread_rank();
    s[t] = in[t];
    tile.sync();
    for (int k = 1; k < 16; k *= 2) {
        int more = rank >= k ? s[t - k] : 0;
        tile.sync();
        s[t] += more;
        tile.sync();
    }
    out[t] = s[t];
}

// The lower half of each warp turns its numbers round.
__global__ void lower_half(const int* in, int* out) {
    __shared__ int s[N];
    int t = threadIdx.x;
    if (t % 32 < 16) {
        s[t] = in[t];
        __syncwarp(0xffff);
        out[t] = s[t ^ 15];
    } else {
        out[t] = in[t];
    }
}

// Tiles that take different ways, and different numbers of rounds.
__global__ void rounds(const int* in, int* out) {
    __shared__ int s[N];
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    int t = threadIdx.x, value = in[t];
    for (int i = 0; i < t / 8 % 4; i++) {
        s[t] = value;
        tile.sync();
        value = s[t ^ 5];
        tile.sync();
    }
    out[t] = value;
}

// A block of rows of twelve threads: tiles of four lie in one row.
__global__ void rows(const int* in, int* out) {
    __shared__ int s[12 * 8];
    auto tile = cg::tiled_partition<4>(cg::this_thread_block());
    int x = threadIdx.x, row = threadIdx.y * 12;
    s[row + x] = in[row + x];
    tile.sync();
    out[row + x] = s[row + (x ^ 3)];
}

int main() {
    Buffer<int> in(N), out(N);
    iota(in);
    bool right = true;
    auto expect = [&](auto of, int n = N) {
        SYNC();
        out.download();
        for (int i = 0; i < n; i++) right &= out[i] == of(i);
    };
    reduce<<<1, N>>>(in.device, out.device);
    expect([](int i) { return i / 8 * 64 + 28; });
    transpose<<<1, N>>>(in.device, out.device);
    expect([](int i) { return i / 16 * 16 + i % 4 * 4 + i % 16 / 4; });
    quads<<<1, N>>>(in.device, out.device);
    expect([](int i) { return i ^ 3; });
    scan<<<1, N>>>(in.device, out.device);
    expect([](int i) { return (i / 16 * 32 + i % 16) * (i % 16 + 1) / 2; });
    lower_half<<<1, N>>>(in.device, out.device);
    expect([](int i) { return i % 32 < 16 ? i ^ 15 : i; });
    rounds<<<1, N>>>(in.device, out.device);
    expect([](int i) { return i / 8 % 2 ? i ^ 5 : i; });
    rows<<<1, dim3(12, 8)>>>(in.device, out.device);
    expect([](int i) { return i ^ 3; }, 96);
    return finish(right);
}
