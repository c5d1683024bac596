// Kernels for the run on a GPU. Each kernel gets an array with one number for each
// thread. Its name begins with its verdict, `racy_` or `clean_`. `scripts/gpu` runs
// the kernels on a GPU, and the suites `gpu` and `executed` on the executor.
#define KERNEL extern "C" __global__ void

constexpr int kThreads = 256;

__device__ int counter;

KERNEL clean_saxpy(int* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = 3 * a[i] + i;
}

KERNEL racy_one_word(int* a, int n) { a[0] = threadIdx.x; }

KERNEL racy_between_blocks(int* a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = i;
    __syncthreads();
    int other = a[(i + blockDim.x) % n];
    __syncthreads();
    a[i] = other;
}

// Warps write whole lines. After a barrier, threads read words of other threads. After another one, warps
// write the lines again, with wider elements.
KERNEL clean_lines(int* a, int n) {
    int* own = a + blockIdx.x * blockDim.x;
    own[threadIdx.x] = threadIdx.x;
    __syncthreads();
    int next = own[(threadIdx.x + 1) % blockDim.x];
    __syncthreads();
    if (threadIdx.x < blockDim.x / 2) ((double*)own)[threadIdx.x] = next;
    __syncthreads();
    if (threadIdx.x < blockDim.x / 4) ((int4*)own)[threadIdx.x] = make_int4(next, 0, 0, 0);
}

KERNEL racy_line_and_word(int* a, int n) {
    if (blockIdx.x == 0) a[threadIdx.x] = 1;
    if (blockIdx.x == 1 && threadIdx.x == 77) a[n - 1] = a[40];
}

KERNEL racy_lines_of_wide_elements(int* a, int n) {
    if (blockIdx.x == 0) a[threadIdx.x] = 1;
    if (blockIdx.x == 1 && threadIdx.x < blockDim.x / 2) ((double*)a)[threadIdx.x] += 1;
}

KERNEL racy_lines_without_a_barrier(int* a, int n) {
    int* own = a + blockIdx.x * blockDim.x;
    own[threadIdx.x] = threadIdx.x;
    int other = own[(threadIdx.x + 32) % blockDim.x];
    __syncthreads();
    own[threadIdx.x] = other;
}

KERNEL clean_bytes(int* a, int n) {
    char* own = (char*)(a + blockIdx.x * blockDim.x);
    own[threadIdx.x] = threadIdx.x;
    __syncthreads();
    char next = own[(threadIdx.x + 1) % blockDim.x];
    __syncthreads();
    ((short*)own)[threadIdx.x] = next;
}

KERNEL racy_bytes(int* a, int n) {
    if (threadIdx.x == 0) ((char*)a)[7] = blockIdx.x;
}

KERNEL racy_halves_of_words(int* a, int n) {
    __shared__ short s[kThreads];
    s[threadIdx.x] = a[blockIdx.x * blockDim.x + threadIdx.x];
    a[blockIdx.x * blockDim.x + threadIdx.x] = s[kThreads - 1 - threadIdx.x];
}

KERNEL clean_shared_reverse(int* a, int n) {
    __shared__ int s[kThreads];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = a[i];
    __syncthreads();
    a[i] = s[kThreads - 1 - threadIdx.x];
}

KERNEL racy_shared_reverse(int* a, int n) {
    __shared__ int s[kThreads];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = a[i];
    a[i] = s[kThreads - 1 - threadIdx.x];
}

KERNEL clean_tree(int* a, int n) {
    __shared__ int s[kThreads];
    s[threadIdx.x] = a[blockIdx.x * blockDim.x + threadIdx.x];
    for (int half = kThreads / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
    }
    if (threadIdx.x == 0) a[blockIdx.x * blockDim.x] = s[0];
}

KERNEL racy_tree_tail(int* a, int n) {
    __shared__ int s[kThreads];
    s[threadIdx.x] = a[blockIdx.x * blockDim.x + threadIdx.x];
    for (int half = kThreads / 2; half > 0; half /= 2) {
        if (half >= 32) __syncthreads();
        if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
    }
    if (threadIdx.x == 0) a[blockIdx.x * blockDim.x] = s[0];
}

KERNEL clean_warp_sync(int* a, int n) {
    __shared__ int s[kThreads];
    int lane = threadIdx.x % 32, warp = threadIdx.x - lane;
    for (int round = 0; round < 100; round++) {
        s[threadIdx.x] = round;
        __syncwarp();
        int other = s[warp + (lane + 1) % 32];
        __syncwarp();
        a[blockIdx.x * blockDim.x + threadIdx.x] += other;
    }
}

KERNEL racy_warp_sync_missing(int* a, int n) {
    __shared__ int s[kThreads];
    int lane = threadIdx.x % 32, warp = threadIdx.x - lane;
    s[threadIdx.x] = lane;
    a[blockIdx.x * blockDim.x + threadIdx.x] = s[warp + (lane + 1) % 32];
}

KERNEL clean_histogram(int* a, int n) {
    __shared__ int s[32];
    if (threadIdx.x < 32) s[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&s[threadIdx.x * 7 % 32], 1);
    __syncthreads();
    if (threadIdx.x < 32) atomicAdd(&a[threadIdx.x], s[threadIdx.x]);
}

KERNEL racy_block_atomics(int* a, int n) { atomicAdd_block(&a[threadIdx.x], 1); }

KERNEL clean_many_barriers(int* a, int n) {
    __shared__ int s[kThreads];
    int sum = 0;
    for (int round = 0; round < 300; round++) {
        s[threadIdx.x] = round;
        __syncthreads();
        sum += s[(threadIdx.x + round) % kThreads];
        __syncthreads();
    }
    a[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// Fences and atomics order the accesses: no race may be reported. The GPU leaves them undecided.
KERNEL clean_last_block(int* a, int n) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        a[blockIdx.x * blockDim.x] = 1;
        __threadfence();
        last = atomicInc((unsigned*)&counter, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        __threadfence();
        int sum = 0;
        for (int block = 0; block < gridDim.x; block++) sum += ((volatile int*)a)[block * blockDim.x];
        a[0] = sum;
    }
}

// Warps call `__syncwarp` a different number of times. The block's barrier still orders them.
KERNEL clean_uneven_warps(int* a, int n) {
    __shared__ int s[kThreads];
    int warp = threadIdx.x / 32;
    for (int round = 0; round < 4; round++) {
        s[threadIdx.x] = round;
        for (int i = 0; i < warp * (round + 1); i++) {
            __syncwarp();
            s[threadIdx.x ^ 1] += i;
        }
        __syncthreads();
        a[blockIdx.x * blockDim.x + threadIdx.x] += s[(threadIdx.x + 32 * (round + 1)) % kThreads];
        __syncthreads();
    }
}

KERNEL racy_uneven_warps(int* a, int n) {
    __shared__ int s[kThreads];
    int warp = threadIdx.x / 32;
    s[threadIdx.x] = 0;
    for (int i = 0; i < warp; i++) __syncwarp();
    a[blockIdx.x * blockDim.x + threadIdx.x] = s[(threadIdx.x + 32) % kThreads];
}

// Threads that have ended do not wait at a barrier.
KERNEL clean_early_exit(int* a, int n) {
    __shared__ int s[kThreads];
    if (threadIdx.x >= 96) return;
    s[threadIdx.x] = threadIdx.x;
    __syncthreads();
    a[blockIdx.x * blockDim.x + threadIdx.x] = s[95 - threadIdx.x];
}

KERNEL racy_early_exit(int* a, int n) {
    __shared__ int s[kThreads];
    if (threadIdx.x >= 96) return;
    __syncthreads();
    s[threadIdx.x] = threadIdx.x;
    a[blockIdx.x * blockDim.x + threadIdx.x] = s[95 - threadIdx.x];
}

KERNEL clean_named_barrier(int* a, int n) {
    __shared__ int s[64];
    if (threadIdx.x >= 64) return;
    s[threadIdx.x] = threadIdx.x;
    asm volatile("bar.sync 1, 64;" ::: "memory");
    a[blockIdx.x * blockDim.x + threadIdx.x] = s[63 - threadIdx.x];
}

KERNEL clean_half_warps(int* a, int n) {
    __shared__ int s[kThreads];
    int lane = threadIdx.x % 32, half = lane / 16 * 16, first = threadIdx.x - lane + half;
    s[threadIdx.x] = lane;
    __syncwarp(0xffffu << half);
    a[blockIdx.x * blockDim.x + threadIdx.x] = s[first + (lane + 1) % 16];
}

// A compare-and-swap that fails is a read.
KERNEL clean_swap_fails(int* a, int n) {
    int* mine = &a[blockIdx.x * blockDim.x];
    int seen = threadIdx.x % 2   ? atomicCAS_block(mine, -5, 6)
               : threadIdx.x % 4 ? atomicCAS(mine, -5, 6)
                                 : *mine;
    if (seen == -5) a[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

KERNEL racy_swap(int* a, int n) {
    int* mine = &a[blockIdx.x * blockDim.x];
    int seen = threadIdx.x % 2 ? atomicCAS_block(mine, *mine, 6) : 0;
    if (seen == -5) a[0] = 1;
}

KERNEL clean_inline_ptx(int* a, int n) {
    int *mine = &a[blockIdx.x * blockDim.x + threadIdx.x], value;
    asm volatile("ld.global.cs.u32 %0, [%1];" : "=r"(value) : "l"(mine));
    asm volatile("st.global.cs.u32 [%0], %1;" ::"l"(mine), "r"(value + 1));
}

KERNEL racy_inline_ptx(int* a, int n) {
    int* of_all = &a[blockIdx.x * blockDim.x];
    asm volatile("st.global.cs.u32 [%0+4], %1;" ::"l"(of_all), "r"(threadIdx.x));
}

// A store with a predicate, at an address that the inline PTX computes: each odd thread stores to its word.
KERNEL clean_guarded_ptx(int* a, int n) {
    int* of_block = &a[blockIdx.x * blockDim.x];
    asm volatile("{ .reg .pred p; .reg .u64 at; setp.ne.u32 p, %2, 0; mad.wide.u32 at, %1, 4, %0; @p "
                 "st.global.u32 [at], %1; }" ::"l"(of_block),
                 "r"(threadIdx.x), "r"(threadIdx.x % 2)
                 : "memory");
}

KERNEL racy_guarded_ptx(int* a, int n) {
    int* of_block = &a[blockIdx.x * blockDim.x];
    asm volatile("{ .reg .pred p; .reg .u64 at; setp.ne.u32 p, %2, 0; mad.wide.u32 at, %1, 4, %0; @p "
                 "st.global.u32 [at], %1; }" ::"l"(of_block),
                 "r"(threadIdx.x / 2), "r"(threadIdx.x % 4 / 2)
                 : "memory");
}

// The predicate is true in one thread only.
KERNEL clean_guard_of_one(int* a, int n) {
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; @!p st.global.u32 [%0], %1; }" ::"l"(&a[blockIdx.x]),
                 "r"(threadIdx.x)
                 : "memory");
}

KERNEL clean_strong_ptx(int* a, int n) {
    int *mine = &a[blockIdx.x], value;
    asm volatile("atom.add.relaxed.gpu.u32 %0, [%1], 1;" : "=r"(value) : "l"(mine) : "memory");
    asm volatile("red.relaxed.gpu.add.u32 [%0], %1;" ::"l"(&a[n - 1]), "r"(value) : "memory");
    asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(value) : "l"(mine) : "memory");
    if (value < 0) asm volatile("st.relaxed.gpu.u32 [%0], %1;" ::"l"(mine), "r"(value) : "memory");
}

// Atomics at block scope on a word that all blocks use.
KERNEL racy_strong_ptx(int* a, int n) {
    asm volatile("red.relaxed.cta.add.u32 [%0], 1;" ::"l"(&a[threadIdx.x]) : "memory");
}

KERNEL racy_strong_beside_plain_ptx(int* a, int n) {
    int* mine = &a[blockIdx.x * blockDim.x];
    if (threadIdx.x == 0)
        *mine = 1;
    else
        asm volatile("red.relaxed.gpu.add.u32 [%0], 1;" ::"l"(mine) : "memory");
}

KERNEL clean_swap_fails_ptx(int* a, int n) {
    int *mine = &a[blockIdx.x * blockDim.x], seen;
    if (threadIdx.x % 2)
        asm volatile("atom.cas.relaxed.gpu.b32 %0, [%1], %2, %3;"
                     : "=r"(seen)
                     : "l"(mine), "r"(-5), "r"(6)
                     : "memory");
    else
        seen = *mine;
    if (seen == -5) a[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

KERNEL racy_swap_ptx(int* a, int n) {
    int *mine = &a[blockIdx.x * blockDim.x], seen = 0;
    if (threadIdx.x % 2)
        asm volatile("atom.cas.relaxed.gpu.b32 %0, [%1], %2, %3;"
                     : "=r"(seen)
                     : "l"(mine), "r"(*mine), "r"(6)
                     : "memory");
    if (seen == -5) a[0] = 1;
}

#define COPY(to, from)                                                                                       \
    asm volatile("{ .reg .u64 s; .reg .u32 o; cvta.to.shared.u64 s, %0; cvt.u32.u64 o, s; "                  \
                 "cp.async.ca.shared.global [o], [%1], 4; }" ::"l"(to),                                      \
                 "l"(from)                                                                                   \
                 : "memory")

KERNEL clean_async_copy(int* a, int n) {
    __shared__ int s[kThreads];
    COPY(&s[threadIdx.x], &a[blockIdx.x * blockDim.x + threadIdx.x]);
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    a[blockIdx.x * blockDim.x + threadIdx.x] = s[kThreads - 1 - threadIdx.x];
}

// Each thread waits for its own copy, and not for those of other threads.
KERNEL racy_async_copy(int* a, int n) {
    __shared__ int s[kThreads];
    COPY(&s[threadIdx.x], &a[blockIdx.x * blockDim.x + threadIdx.x]);
    asm volatile("cp.async.wait_all;" ::: "memory");
    a[blockIdx.x * blockDim.x + threadIdx.x] = s[kThreads - 1 - threadIdx.x];
}

// The lanes of a warp store rows of 8 elements of 2 bytes, and load columns of them.
#define COLUMN(value, row)                                                                                   \
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"                                \
                 : "=r"(value)                                                                               \
                 : "r"((unsigned)__cvta_generic_to_shared(row))                                              \
                 : "memory")

KERNEL clean_matrix(int* a, int n) {
    __shared__ __align__(16) int s[kThreads];
    int *mine = &a[blockIdx.x * blockDim.x + threadIdx.x], value;
    s[threadIdx.x] = threadIdx.x;
    __syncwarp();
    COLUMN(value, &s[threadIdx.x / 32 * 32 + threadIdx.x % 8 * 4]);
    *mine = value;
}

KERNEL racy_matrix(int* a, int n) {
    __shared__ __align__(16) int s[kThreads];
    int *mine = &a[blockIdx.x * blockDim.x + threadIdx.x], value;
    s[threadIdx.x] = threadIdx.x;
    COLUMN(value, &s[threadIdx.x / 32 * 32 + threadIdx.x % 8 * 4]);
    *mine = value;
}

// A lock with the right fences.
KERNEL clean_lock(int* a, int n) {
    if (threadIdx.x != 0) return;
    while (atomicCAS(&a[1], 0, 1) != 0) {
    }
    __threadfence();
    a[0] += 1;
    __threadfence();
    atomicExch(&a[1], 0);
}

#ifdef WITH_MAIN
#include <cstdio>
#include <cstring>
// Runs the kernel that the argument names, as scripts/gpu does.
int main(int argc, char** argv) {
    int blocks = 8, n = blocks * kThreads, *a;
    cudaMalloc(&a, n * sizeof(int));
    cudaMemset(a, 0, n * sizeof(int));
#define RUN(name)                                                                                            \
    if (!strcmp(argv[1], #name)) name<<<blocks, kThreads>>>(a, n)
    RUN(clean_saxpy);
    RUN(racy_one_word);
    RUN(racy_between_blocks);
    RUN(clean_lines);
    RUN(racy_line_and_word);
    RUN(racy_lines_of_wide_elements);
    RUN(racy_lines_without_a_barrier);
    RUN(clean_bytes);
    RUN(racy_bytes);
    RUN(racy_halves_of_words);
    RUN(clean_shared_reverse);
    RUN(racy_shared_reverse);
    RUN(clean_tree);
    RUN(racy_tree_tail);
    RUN(clean_warp_sync);
    RUN(racy_warp_sync_missing);
    RUN(clean_histogram);
    RUN(racy_block_atomics);
    RUN(clean_many_barriers);
    RUN(clean_last_block);
    RUN(clean_uneven_warps);
    RUN(racy_uneven_warps);
    RUN(clean_early_exit);
    RUN(racy_early_exit);
    RUN(clean_named_barrier);
    RUN(clean_half_warps);
    RUN(clean_swap_fails);
    RUN(racy_swap);
    RUN(clean_inline_ptx);
    RUN(racy_inline_ptx);
    RUN(clean_guarded_ptx);
    RUN(racy_guarded_ptx);
    RUN(clean_guard_of_one);
    RUN(clean_strong_ptx);
    RUN(racy_strong_ptx);
    RUN(racy_strong_beside_plain_ptx);
    RUN(clean_swap_fails_ptx);
    RUN(racy_swap_ptx);
    RUN(clean_async_copy);
    RUN(racy_async_copy);
    RUN(clean_matrix);
    RUN(racy_matrix);
    RUN(clean_lock);
    return cudaGetLastError() != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess;
}
#endif
