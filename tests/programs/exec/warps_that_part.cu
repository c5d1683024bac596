//@ compile-flags: --cuda-gpu-arch=sm_80
// Only some lanes of a warp come to a collective, or lanes come to different ones. In loops over warps and on
// fibers the same lanes meet.
#include "engines.h"

struct FirstLanes {
    static __device__ unsigned run(const Args& a, unsigned g) {
        __shared__ unsigned sums[32];
        unsigned l = linear(), warps = (blockDim.x * blockDim.y * blockDim.z + 31) / 32;
        unsigned v = sum_down(a.in[g]);
        if (l % 32 == 0) sums[l / 32] = v;
        __syncthreads();
        if (l < 8) {
            v = l < warps ? sums[l] : l;
            for (int d = 4; d; d /= 2) v += __shfl_down_sync(0xff, v, d);
        }
        __syncthreads();
        unsigned mask = __ballot_sync(ALL, l % 32 < warps);
        if (l % 32 < warps) {
            v = sums[l % 32];
            for (unsigned d = 1; d < warps; d *= 2) v = mix(v, __shfl_xor_sync(mask, v, d));
        }
        return v;
    }
};
struct GuardedRest {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned mask = __ballot_sync(ALL, g < a.n - 37);
        if (g >= a.n - 37) return 79;
        unsigned v = a.in[g];
        for (int d = 16; d; d /= 2) v = mix(v, __shfl_xor_sync(mask, v, d));
        return mix(v, __reduce_add_sync(mask, v)) + __reduce_min_sync(mask, v) + __reduce_max_sync(mask, (int)v);
    }
};
struct HalvesInLoops {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned half = linear() >> 4 & 1, mask = half ? 0xffff0000u : 0xffffu, v = a.in[g];
        for (unsigned i = 0; i < (half ? 3 : 5) + a.width; i++) {
            v = mix(v, __shfl_xor_sync(mask, v, i & 15));
            if (__any_sync(mask, v % 32 == i)) v = mix(v, __ballot_sync(mask, v & 1)) + half;
            v = mix(v, __reduce_xor_sync(mask, v)) + __popc(__match_any_sync(mask, v & 3));
        }
        return v;
    }
};
// One half runs ahead of the other by iterations of the outer loop.
struct HalvesApart {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned half = linear() >> 4 & 1, v = a.in[g];
        for (unsigned i = 0; i < a.delta + 3; i++) {
            if (half) {
                for (unsigned k = 0; k < 3; k++) v = mix(v, __shfl_xor_sync(0xffff0000u, v + i, k + 1)) + i * k;
            } else {
                v = mix(v, __ballot_sync(0xffffu, v & i + 1)) + i;
            }
        }
        return v;
    }
};
struct Peers {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned v = a.in[g], key = v % 5, r = 0, left = ALL, peers = 0;
        bool done = linear() / 32 * 32 + 31 >= blockDim.x * blockDim.y * blockDim.z;
        while (!done) {
            unsigned first = __shfl_sync(left, key, __ffs(left) - 1);
            peers = __ballot_sync(left, key == first);
            done = key == first;
            if (!done) left &= ~peers;
            r++;
        }
        if (peers) v = mix(v, __reduce_add_sync(peers, v));
        return mix(v, r);
    }
};
struct Aggregated {
    static __device__ unsigned run(const Args& a, unsigned g) {
        __shared__ unsigned count[32];
        unsigned l = linear(), warp = l / 32, r = 7;
        if (l % 32 == 0) count[warp] = 0;
        __syncthreads();
        if (a.in[g] & 1) {
            unsigned active = __activemask(), base = 0, rank = __popc(active & ((1u << l % 32) - 1));
            if (rank == 0) base = atomicAdd(&count[warp], __popc(active));
            r = __shfl_sync(active, base, __ffs(active) - 1) + rank;
        }
        __syncthreads();
        return mix(r, count[warp]);
    }
};
struct SyncedLanes {
    static __device__ unsigned run(const Args& a, unsigned g) {
        __shared__ unsigned tile[1024];
        unsigned l = linear(), lane = l % 32;
        tile[l] = a.in[g];
        __syncwarp();
        if (lane < 16) {
            for (unsigned d = 8; d; d /= 2) {
                unsigned v = lane < d ? tile[l] + tile[l + d] : tile[l];
                __syncwarp(0xffff);
                tile[l] = v;
                __syncwarp(0xffff);
            }
        }
        __syncwarp();
        return tile[l / 32 * 32 + lane / 8];
    }
};
struct Nested {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned lane = linear() & 31, v = a.in[g];
        double d = v;
        if (lane < 24) {
            v = mix(v, __ballot_sync(0xffffff, v & 1));
            if (lane >= 8) {
                d += __shfl_down_sync(0xffff00, d, 4);
                if (lane < 12) v = mix(v, __shfl_sync(0xf00, v, 9));
            }
            v = mix(v, __shfl_up_sync(0xffffff, v, 2));
        }
        return mix(v, (unsigned)(long long)d) + __shfl_sync(ALL, v, 3);
    }
};
int main() {
    bool right = true;
    right &= same<FirstLanes>("FirstLanes", false);
    right &= same<GuardedRest>("GuardedRest");
    right &= same<HalvesInLoops>("HalvesInLoops", false);
    right &= same<HalvesApart>("HalvesApart", false);
    right &= same<Peers>("Peers");
    right &= same<Aggregated>("Aggregated");
    right &= same<SyncedLanes>("SyncedLanes", false);
    right &= same<Nested>("Nested", false);
    return finish(right);
}
