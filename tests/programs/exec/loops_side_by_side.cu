//@ revisions: proved checked
//@ compile-flags: --cuda-gpu-arch=sm_80
//@[checked] compile-flags: --cuda-gpu-arch=sm_80 -fgpurace-prune=off
// Loops whose iterations all threads of a block run side by side, since neighbouring threads read neighbouring
// elements. Some threads leave them earlier than others. On fibers each thread runs a loop by itself.
#include "engines.h"

__shared__ unsigned tile[1024];

__device__ unsigned threads() { return blockDim.x * blockDim.y * blockDim.z; }

// Threads step over the elements of others, to the end of the array.
struct Strides {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned v = 1;
        for (unsigned i = g; i < a.n; i += a.width) v = mix(v, a.in[i]);
        return v;
    }
};
// Each thread has a number of iterations of its own.
struct Triangle {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned v = g, l = linear();
        for (unsigned k = 0; k < (l * 7 & 15) && l + k * a.width < a.n; k++) v = mix(v, a.in[l + k * a.width] + k);
        return v;
    }
};
// What an iteration adds is another number each time.
struct LongerSteps {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned v = 1, step = a.delta;
        for (unsigned i = g; i < a.n; i += step) {
            v = mix(v, a.in[i] + step);
            step += 3;
        }
        return mix(v, step);
    }
};
// A loop around one that threads leave one by one; all leave the outer one together.
struct InARectangle {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned v = g;
        for (unsigned r = 0; r < a.width; r++) {
            for (unsigned i = linear() + r; i < a.n; i += threads()) v = mix(v, a.in[i] + r);
            v += r;
        }
        return v;
    }
};
// They leave both one by one.
struct InATriangle {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned v = g, count = 0;
        for (unsigned r = 0; r < (g * 5 & 3) + 1; r++) {
            for (unsigned i = linear() + r * a.width; i < a.n; i += a.width) v = mix(v, a.in[i] + count++);
            v += r * count;
        }
        return mix(v, count);
    }
};
// Two loops one after the other; the second one goes on with the variables of the first.
struct OneAfterTheOther {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned v = g, k = 0, i = linear();
        for (; i < a.n / 2; i += a.width) v = mix(v, a.in[i] + k++);
        v = mix(v, i + k);
        for (; i < a.n; i += a.width) v = mix(v, a.in[i] - k++);
        return mix(v, i + k);
    }
};
// Some iterations do not come to their end.
struct WithContinue {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned v = 3;
        for (unsigned i = g; i < a.n; i += a.width) {
            unsigned at = a.in[i];
            v += at;
            if (at & 1) continue;
            v = mix(v, at);
            if (at & 2) continue;
            v ^= i;
        }
        return v;
    }
};
// Memory ends it too.
struct WithBreak {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned v = 3, i = g;
        for (; i < a.n; i += a.width) {
            v = mix(v, a.in[i]);
            if (v % 16 == 0) break;
        }
        return mix(v, i);
    }
};
// Values that all threads of an iteration share, and that no sum says.
struct SharedValues {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned v = 1, u = a.width;
        for (unsigned i = g; i < a.n; i += a.width) {
            v += a.in[i] * u;
            u = mix(u, a.delta);
        }
        return mix(v, u);
    }
};
struct Downwards {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned v = 1;
        int step = a.width;
        for (int i = int(a.n) - 1 - int(g); i >= 0; i -= step) v = mix(v, a.in[i]);
        for (long long i = g; i < a.n; i += 2ll * step) v = mix(v, a.in[i]);
        return v;
    }
};
// At least one iteration, and 64-bit numbers.
struct AtLeastOnce {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned v = 1;
        unsigned long long i = g;
        do {
            v = mix(v, a.in[i]);
            i += a.width;
        } while (i < a.n);
        return mix(v, unsigned(i));
    }
};
// Behind an early return, and before barriers.
struct BesideBarriers {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned v = a.in[g], l = linear(), living = threads() - 3;
        if (l >= living) return v;
        for (unsigned r = 0; r < a.delta; r++) {
            for (unsigned i = l; i < a.n; i += a.width) v = mix(v, a.in[i] + r);
            __syncthreads();
            tile[l] = v;
            __syncthreads();
            v = mix(v, tile[(l + 1) % living]);
        }
        return v;
    }
};
// Before collectives of warps.
struct BeforeShuffles {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned v = 1;
        for (unsigned i = g; i < a.n; i += a.width) v = mix(v, a.in[i]);
        v = sum_down(v);
        for (unsigned i = linear(); i < a.n / 2; i += a.width) v = mix(v, a.in[i]);
        __syncthreads();
        return v + __ballot_sync(ALL, v & 1);
    }
};
// Only a few threads come there.
struct OfFewThreads {
    static __device__ unsigned run(const Args& a, unsigned g) {
        unsigned v = a.in[g], l = linear();
        if (l < 5)
            for (unsigned i = l; i < a.n; i += a.width) v = mix(v, a.in[i]);
        if (l == 7)
            for (unsigned i = l; i < a.n; i += a.width) v = mix(v, a.in[i]);
        return v;
    }
};

int main() {
    shapes.insert(shapes.end(), {{1, false}, {17, false}, {dim3(5, 5, 5), false}});
    bool right = same<Strides>("Strides");
    right &= same<Triangle>("Triangle");
    right &= same<LongerSteps>("LongerSteps");
    right &= same<InARectangle>("InARectangle");
    right &= same<InATriangle>("InATriangle");
    right &= same<OneAfterTheOther>("OneAfterTheOther");
    right &= same<WithContinue>("WithContinue");
    right &= same<WithBreak>("WithBreak");
    right &= same<SharedValues>("SharedValues");
    right &= same<Downwards>("Downwards");
    right &= same<AtLeastOnce>("AtLeastOnce");
    right &= same<BesideBarriers>("BesideBarriers");
    right &= same<BeforeShuffles>("BeforeShuffles", false);
    right &= same<OfFewThreads>("OfFewThreads");
    return finish(right);
}
