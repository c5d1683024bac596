//@ compile-flags: --cuda-gpu-arch=sm_80
// Threads end before a barrier of the others. In loops over threads and on fibers the others meet there.
#include "engines.h"

__shared__ unsigned tile[1024];

__device__ unsigned threads() { return blockDim.x * blockDim.y * blockDim.z; }

// The value of the next thread of the block that has not ended, of which there are so many.
__device__ unsigned of_next(unsigned v, unsigned l, unsigned living) {
    __syncthreads();
    tile[l] = v;
    __syncthreads();
    return mix(v, tile[(l + 1) % living]);
}

struct BehindTheEnd {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned first = blockIdx.x * threads(), end = a.n - threads() - 5;
        if (g >= end) return 79;
        unsigned living = min(threads(), end - first), v = a.in[g], l = linear();
        for (unsigned i = 0; i < a.delta; i++) v = of_next(v, l, living) + i;
        v = of_next(v, l, living);
        return v;
    }
};
struct OneByOne {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned l = linear(), n = threads(), v = a.in[g];
        if (l >= n - 1) return v;
        v = of_next(v, l, n - 1);
        if (l >= n - 2) return v + 1;
        unsigned kept[5];
        for (int i = 0; i < 5; i++) kept[i] = mix(v, i);
        v = of_next(v, l, n - 2);
        if (l >= n / 2) {
            if (v % 2) return 7;
            return kept[v % 5];
        }
        v = of_next(v, l, n / 2);
        return mix(v, kept[v % 5]);
    }
};
// Each round a thread ends, in the middle of the loop.
struct InALoop {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned l = linear(), v = a.in[g], n = threads();
        for (unsigned i = 1; i < 5; i++) {
            v = of_next(v, l, n - i + 1);
            if (l == n - i) return mix(v, i);
            if (i == a.delta) v += 3;
        }
        return of_next(v, l, n - 4);
    }
};
// Threads that leave the loop come to what follows it too.
struct BreakToTheEnd {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned l = linear(), v = a.in[g], n = threads();
        for (unsigned i = 0; i < 4; i++) {
            if (l >= n - i) break;
            v = of_next(v, l, n - i);
        }
        return mix(v, l);
    }
};
struct OnlyByEnding {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned l = linear(), v = a.in[g], n = threads();
        for (unsigned i = 0;; i++) {
            if (i >= 6 || l >= n - i) return v;
            v = of_next(v, l, n - i);
        }
    }
};
// The threads come to the barriers together, with values that differ since each has left a loop by itself.
struct AfterALoop {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned l = linear(), v = a.in[g], rounds = 0;
        if (l >= threads() - 3) return rounds;
        while (v % 8 > l % 8) v = mix(v, ++rounds);
        v = of_next(v, l, threads() - 3);
        return mix(v, rounds);
    }
};
// Not one thread is left.
struct WholeBlocks {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned l = linear(), v = a.in[g];
        if (v % 1024 < blockIdx.x * 512) return 5;
        if (blockIdx.x && v) return 6;
        __syncthreads();
        tile[l] = v;
        __syncthreads();
        return blockIdx.x ? v : mix(v, tile[threads() - 1 - l]);
    }
};
struct BeforeShuffles {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned l = linear(), n = threads(), living = n - 5, v = a.in[g];
        unsigned mask = __ballot_sync(ALL, l < living);
        if (l >= living) return 3;
        v = of_next(v, l, living);
        for (int d = 16; d; d /= 2) v = mix(v, __shfl_xor_sync(mask, v, d));
        v = of_next(v, l, living);
        if (l % 32 == 0) return mix(v, 1);
        mask &= ~1u;
        v = mix(v, __reduce_add_sync(mask, v));
        __syncthreads();
        return mix(v, tile[living - 1 - l]) + __popc(__activemask());
    }
};
struct WholeWarps {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned l = linear(), v = a.in[g], warps = (threads() + 31) / 32, left = (warps + 1) / 2;
        if (l / 32 >= left) return v;
        v = sum_down(v);
        if (l % 32 == 0) tile[l / 32] = v;
        __syncthreads();
        if (l < 32) {
            v = l < left ? tile[l] : 0;
            v = sum_down(v);
            if (l == 0) tile[0] = v;
        }
        __syncthreads();
        return tile[0];
    }
};

int main() {
    shapes.insert(shapes.end(), {{1024, true}, {dim3(64, 2, 2), true}, {17, false}, {dim3(5, 5, 5), false}});
    bool right = same<BehindTheEnd>("BehindTheEnd");
    right &= same<OneByOne>("OneByOne");
    right &= same<InALoop>("InALoop");
    right &= same<BreakToTheEnd>("BreakToTheEnd");
    right &= same<OnlyByEnding>("OnlyByEnding");
    right &= same<AfterALoop>("AfterALoop");
    right &= same<WholeBlocks>("WholeBlocks");
    right &= same<BeforeShuffles>("BeforeShuffles", false);
    right &= same<WholeWarps>("WholeWarps", false);
    return finish(right);
}
