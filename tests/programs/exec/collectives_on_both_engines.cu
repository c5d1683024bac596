//@ compile-flags: --cuda-gpu-arch=sm_80
// Collectives give the same in loops over warps and on fibers.
#include "engines.h"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

struct Pair {
    float value;
    int index;
};

// A function with shuffles that is too large to inline without a reason.
__device__ __noinline__ unsigned apart(unsigned v) {
    for (int i = 1; i < 32; i *= 2) v = mix(v, __shfl_xor_sync(ALL, v, i));
    return v;
}

struct DownLoop {
    static __device__ unsigned run(const Args& a, unsigned g) { return sum_down(a.in[g]); }
};
struct XorUnrolled {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned v = a.in[g];
#pragma unroll
        for (int m = 16; m; m >>= 1) v = max(v, __shfl_xor_sync(ALL, v, m)) + 1;
        return v;
    }
};
struct UpScan {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned v = a.in[g], lane = linear() & 31;
        for (int d = 1; d < 32; d *= 2) {
            unsigned below = __shfl_up_sync(ALL, v, d);
            if (lane >= d) v += below;
        }
        return v;
    }
};
struct Widths {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned v = a.in[g], r = 0;
        for (int d = 0; d < 40; d += 3) {
            r = mix(r, __shfl_down_sync(ALL, v, d, a.width));
            r = mix(r, __shfl_up_sync(ALL, v, d, a.width));
            r = mix(r, __shfl_xor_sync(ALL, v, d, a.width));
            r = mix(r, __shfl_sync(ALL, v, d, a.width));
            r = mix(r, __shfl_sync(ALL, v + r, g * 7 + d, a.width));
            r = mix(r, __shfl_down_sync(ALL, v, g % 5, a.width));
        }
        return r;
    }
};
template <int WIDTH> struct Width {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned v = a.in[g];
        for (int d = WIDTH / 2; d > 0; d /= 2) v += __shfl_down_sync(ALL, v, d, WIDTH);
        v = mix(v, __shfl_sync(ALL, v, 0, WIDTH));
        return mix(v, __shfl_up_sync(ALL, v, 1, WIDTH));
    }
};
struct Wide {
    static __device__ unsigned run(const Args& a, unsigned g) {
        double d = sum_down((double)a.in[g] * 1.25);
        unsigned long long u = __shfl_xor_sync(ALL, (unsigned long long)a.in[g] << 20 | g, 5);
        return mix(mix((unsigned)(long long)d, u), u >> 32);
    }
};
struct ArgMax {
    static __device__ unsigned run(const Args& a, unsigned g) {
        Pair best = {(float)(a.in[g] % 1000), (int)g};
        for (int d = 16; d; d /= 2) {
            Pair other = {__shfl_down_sync(ALL, best.value, d), __shfl_down_sync(ALL, best.index, d)};
            if (other.value > best.value) best = other;
        }
        return mix(best.index, __float_as_uint(best.value));
    }
};
struct Votes {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned v = a.in[g], r = __ballot_sync(ALL, v & 1);
        r = mix(r, __any_sync(ALL, v % 64 == 0));
        r = mix(r, __all_sync(ALL, v % 64 != 1));
        r = mix(r, __uni_sync(ALL, v % 97 < 90));
        if (__any_sync(ALL, v % 16 == 3)) r += __ballot_sync(ALL, v % 16 == 3);
        return r;
    }
    static __device__ int __uni_sync(unsigned mask, int p) {
        int r;
        asm("{ .reg .pred p, q; setp.ne.u32 p, %1, 0; vote.sync.uni.pred q, p, %2; selp.u32 %0, 1, 0, q; }"
            : "=r"(r) : "r"(p), "r"(mask));
        return r;
    }
};
struct VoteLoop {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned v = a.in[g], r = 0;
        while (__any_sync(ALL, v != 0)) {
            r += v & 7;
            v >>= 3;
        }
        return r;
    }
};
struct Matches {
    static __device__ unsigned run(const Args& a, unsigned g) {
        int same;
        unsigned r = __match_any_sync(ALL, a.in[g] % 5);
        r = mix(r, __match_any_sync(ALL, (unsigned long long)(a.in[g] % 3) << 33));
        r = mix(r, __match_all_sync(ALL, a.n, &same)) + same;
        r = mix(r, __match_all_sync(ALL, g / 8, &same)) + same;
        return r;
    }
};
struct Reduces {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned v = a.in[g], r = __reduce_add_sync(ALL, v);
        r = mix(r, __reduce_min_sync(ALL, v));
        r = mix(r, __reduce_max_sync(ALL, v));
        r = mix(r, __reduce_min_sync(ALL, (int)v));
        r = mix(r, __reduce_max_sync(ALL, (int)v));
        r = mix(r, __reduce_and_sync(ALL, v | 0xff0f));
        r = mix(r, __reduce_or_sync(ALL, v & 0xff));
        return mix(r, __reduce_xor_sync(ALL, v));
    }
};
struct BlockSum {
    static __device__ unsigned run(const Args& a, unsigned g) {
        __shared__ unsigned sums[32];
        unsigned l = linear(), warp = l / 32, threads = blockDim.x * blockDim.y * blockDim.z;
        unsigned v = sum_down(a.in[g]);
        if (l % 32 == 0) sums[warp] = v;
        __syncthreads();
        v = l < (threads + 31) / 32 ? sums[l] : 0;
        if (warp == 0) v = sum_down(v);
        if (l == 0) sums[0] = v;
        __syncthreads();
        unsigned r = sums[0];
        __syncthreads();
        return r;
    }
};
// Warps take different ways, and blocks loop with barriers around warps' loops.
struct Levels {
    static __device__ unsigned run(const Args& a, unsigned g) {
        __shared__ unsigned sums[32];
        unsigned l = linear(), warp = l >> 5, r = 0;
        for (unsigned round = 0; round < a.delta; round++) {
            unsigned v = a.in[g] + round;
            for (unsigned i = 0; i < warp + round; i++) v = mix(v, __shfl_xor_sync(ALL, v, i & 31)) + i * round;
            if (l % 32 == 5) sums[warp] = v;
            __syncthreads();
            if (warp & 1) v += __ballot_sync(ALL, v & round);
            r = mix(r, v + sums[0]);
            __syncthreads();
        }
        return r;
    }
};
struct RowPerWarp {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned r = 0, lane = threadIdx.x % 32;
        int warps = gridDim.x * blockDim.x / 32;
        for (int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32; row < (int)a.n / 50; row += warps)
            r = mix(r, sum_down(a.in[(row * 50 + lane) % a.n]));
        return r;
    }
};
struct RowPerWarpInY {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned r = 0;
        for (unsigned row = threadIdx.y + threadIdx.z; row < 7; row += blockDim.y)
            r = mix(r, sum_down(a.in[(row * 50 + threadIdx.x) % a.n]));
        return r;
    }
};
struct WarpReturn {
    static __device__ unsigned run(const Args& a, unsigned g) {
        if ((blockIdx.x * blockDim.x + threadIdx.x) >> 5 >= 5) return 77;
        return sum_down(a.in[g]);
    }
};
struct LaneReturn {
    static __device__ unsigned run(const Args& a, unsigned g) {
        if (g >= a.n - 37) return 78;
        return mix(sum_down(a.in[g]), __ballot_sync(ALL, a.in[g] & 2));
    }
};
struct DivergentBranch {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned lane = linear() & 31, v = a.in[g];
        if (lane < 16) return __shfl_down_sync(0xffffu, v, 3);
        return __shfl_xor_sync(0xffff0000u, v, 1) + __ballot_sync(0xffff0000u, v & 1);
    }
};
struct DivergentLoop {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned v = a.in[g], sum = 0;
        for (unsigned i = 0; i < v % 7; i++) sum += i * v;
        v = sum_down(sum);
        for (unsigned i = 0; i < v % 3; i++) v = mix(v, i);
        return mix(v, __shfl_sync(ALL, v, 9));
    }
};
struct ActiveMask {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned mask = __activemask();
        unsigned v = __shfl_down_sync(mask, a.in[g], 1);
        return mix(v, __ballot_sync(mask, v & 1)) + __popc(mask);
    }
};
struct Neighbours {
    static __device__ unsigned run(const Args& a, unsigned g) {
        __shared__ unsigned tile[1024];
        unsigned l = linear(), r = 0;
        for (int i = 0; i < 3; i++) {
            tile[l] = a.in[g] + i;
            __syncwarp();
            r = mix(r, tile[l ^ 1] + tile[l / 32 * 32]);
            __syncwarp();
        }
        return r;
    }
};
struct Broadcast {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned from = __shfl_sync(ALL, a.in[g] % 4, 0), r = from;
        for (unsigned i = 0; i < from; i++) r = mix(r, __shfl_sync(ALL, g + i, from + i));
        return r;
    }
};
struct Locals {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned v[5];
        for (int i = 0; i < 5; i++) v[i] = a.in[(g + i) % a.n];
        for (unsigned i = 0; i < a.delta + 3; i++) v[i % 5] += __shfl_xor_sync(ALL, v[(i + a.width) % 5], i);
        return v[0] ^ v[1] * 3 ^ v[2] * 5 ^ v[3] * 7 ^ v[4] * 9;
    }
};
struct Tile32 {
    static __device__ unsigned run(const Args& a, unsigned g) {
        auto tile = cg::tiled_partition<32>(cg::this_thread_block());
        unsigned v = a.in[g];
        for (int i = tile.size() / 2; i > 0; i /= 2) v += tile.shfl_down(v, i);
        v = mix(v, tile.ballot(v & 1)) + tile.any(v == 9) + tile.all(v > 9);
        tile.sync();
        return mix(v, cg::reduce(tile, v, cg::plus<unsigned>())) + cg::reduce(tile, (int)v, cg::greater<int>());
    }
};
template <int SIZE, bool REDUCES> struct Tile {
    static __device__ unsigned run(const Args& a, unsigned g) {
        auto tile = cg::tiled_partition<SIZE>(cg::this_thread_block());
        unsigned v = a.in[g], lane, mask;
        asm("mov.u32 %0, %%laneid;" : "=r"(lane));
        mask = ((1u << SIZE) - 1) << (lane & ~(SIZE - 1));
        for (int i = tile.size() / 2; i > 0; i /= 2) v += tile.shfl_xor(v, i);
        v = mix(v, tile.ballot(v & 1)) + tile.any(v % 8 == 1) + tile.all(v % 8 != 2);
        tile.sync();
        v = mix(v, tile.shfl_up(v, 1)) + tile.meta_group_rank() + tile.thread_rank();
        v = mix(v, tile.match_any(v & 3)) + __shfl_sync(mask, v, a.delta + 3);
        int same;
        v = mix(v, __match_all_sync(mask, g / 16, &same));
        return REDUCES ? mix(v, cg::reduce(tile, v, cg::plus<unsigned>())) : v + same;
    }
};
struct Coalesced {
    static __device__ unsigned run(const Args& a, unsigned g) {
        auto all = cg::coalesced_threads();
        return all.size() + all.thread_rank() + all.shfl(a.in[g], 0);
    }
};
struct Apart {
    static __device__ unsigned run(const Args& a, unsigned g) { return apart(a.in[g]); }
};
struct Atomics {
    static __device__ unsigned run(const Args& a, unsigned g) {
        __shared__ unsigned count[32];
        unsigned l = linear(), warp = l / 32, r = 0;
        if (l % 32 == 0) count[warp] = 0;
        __syncthreads();
        for (int i = 0; i < 3; i++) {
            unsigned keep = __ballot_sync(ALL, a.in[g] >> i & 1), base = 0;
            if (l % 32 == 0) base = atomicAdd(&count[warp], __popc(keep));
            base = __shfl_sync(ALL, base, 0);
            r = mix(r, base + __popc(keep & ((1u << l % 32) - 1)));
        }
        __syncthreads();
        return r + count[warp];
    }
};

int main() {
    shapes.insert(shapes.end(), {{1024, true}, {dim3(64, 2, 2), true}, {17, false}, {dim3(48, 2), false},
                                 {dim3(5, 5, 5), false}});
    bool right = same<DownLoop>("DownLoop");
    right &= same<XorUnrolled>("XorUnrolled");
    right &= same<UpScan>("UpScan");
    right &= same<Widths>("Widths");
    right &= same<Width<2>>("Width<2>");
    right &= same<Width<8>>("Width<8>");
    right &= same<Width<32>>("Width<32>");
    right &= same<Wide>("Wide");
    right &= same<ArgMax>("ArgMax");
    right &= same<Votes>("Votes");
    right &= same<VoteLoop>("VoteLoop");
    right &= same<Matches>("Matches");
    right &= same<Reduces>("Reduces");
    right &= same<BlockSum>("BlockSum");
    right &= same<Levels>("Levels");
    right &= same<RowPerWarp>("RowPerWarp", false);
    right &= same<RowPerWarpInY>("RowPerWarpInY", false);
    right &= same<WarpReturn>("WarpReturn", false);
    right &= same<LaneReturn>("LaneReturn");
    right &= same<DivergentBranch>("DivergentBranch");
    right &= same<DivergentLoop>("DivergentLoop");
    right &= same<ActiveMask>("ActiveMask");
    right &= same<Neighbours>("Neighbours", false);
    right &= same<Broadcast>("Broadcast");
    right &= same<Locals>("Locals");
    right &= same<Tile32>("Tile32", false);
    right &= same<Tile<16, false>>("Tile<16, false>", false);
    right &= same<Tile<8, false>>("Tile<8, false>", false);
    right &= same<Tile<4, false>>("Tile<4, false>", false);
    right &= same<Tile<16, true>>("Tile<16, true>", false);
    right &= same<Tile<8, true>>("Tile<8, true>", false);
    right &= same<Coalesced>("Coalesced");
    right &= same<Apart>("Apart");
    right &= same<Atomics>("Atomics");
    return finish(right);
}
