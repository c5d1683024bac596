//! Mbarriers at which all threads of a block meet.

use super::compare;

const SOURCE: &str = r#"
#include <cooperative_groups.h>
#include <cstdlib>
#include <cuda/barrier>
namespace cg = cooperative_groups;
using Barrier = cuda::barrier<cuda::thread_scope_block>;
constexpr int T = 64;
// A tile that the block copies anew in each round, and reads across. With `again` 0 nobody waits until all have read.
template <int again> __global__ void staged(const int* in, int* out, int rounds) {
    auto block = cg::this_thread_block();
    __shared__ int tile[T];
    __shared__ Barrier bar;
    if (block.thread_rank() == 0) init(&bar, block.size());
    block.sync();
    for (int r = 0; r < rounds; r++) {
        cuda::memcpy_async(block, tile, in + r * T, sizeof tile, bar);
        bar.arrive_and_wait();
        out[(r * gridDim.x + blockIdx.x) * T + threadIdx.x] = tile[T - 1 - threadIdx.x];
        if (again) bar.arrive_and_wait();
    }
}
// Each thread copies an element. The count is a constant, or an argument.
template <bool constant> __global__ void each(const int* in, int* out, int count) {
    __shared__ int tile[T];
    __shared__ Barrier bar;
    if (threadIdx.x == 0) init(&bar, constant ? T : count);
    __syncthreads();
    cuda::memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], sizeof(int), bar);
    bar.arrive_and_wait();
    out[blockIdx.x * T + threadIdx.x] = tile[threadIdx.x ^ 33];
}
// Plain writes of all threads, and what may go wrong behind them.
enum How { WAITS, GOES_ON, LOOKS_ONCE, OLD_TOKEN, SOME, EARLY, HALF, DROPS };
template <How how> __global__ void across(int* out) {
    __shared__ int tile[T];
    __shared__ Barrier bar, other;
    int t = threadIdx.x;
    if (t == 0) {
        init(&bar, how == SOME ? T / 2 : T);
        init(&other, T);
    }
    if (how != EARLY) __syncthreads();
    auto old = how == OLD_TOKEN ? bar.arrive() : Barrier::arrival_token();
    if (how == OLD_TOKEN) {
        while (!bar.try_wait_for(Barrier::arrival_token(old), cuda::std::chrono::nanoseconds(0))) {}
    }
    tile[t] = t;
    if (how == WAITS || how == EARLY) bar.arrive_and_wait();
    if (how == GOES_ON) (void)bar.arrive();
    if (how == LOOKS_ONCE) (void)bar.try_wait_for(bar.arrive(), cuda::std::chrono::nanoseconds(0));
    if (how == OLD_TOKEN) {
        (void)bar.arrive();
        bar.wait(std::move(old));
    }
    // Half of the threads end a phase twice.
    if (how == SOME && t < T / 2) bar.arrive_and_wait();
    if (how == SOME && t >= T / 2) bar.arrive_and_wait();
    if (how == HALF) {
        auto token = bar.arrive();
        if (t & 1) bar.wait(std::move(token));
    }
    if (how == DROPS) bar.arrive_and_drop();
    out[blockIdx.x * T + t] = tile[t ^ 33];
}
// A write between the arrival and the wait. With `own` nobody else reads it.
template <bool own> __global__ void between(int* out) {
    __shared__ int tile[T];
    __shared__ Barrier bar;
    int t = threadIdx.x;
    if (t == 0) init(&bar, T);
    __syncthreads();
    auto token = bar.arrive();
    tile[t] = t;
    bar.wait(std::move(token));
    out[blockIdx.x * T + t] = tile[own ? t : t ^ 33];
}
// The copy is told to another mbarrier than the one that the block waits for.
template <bool same> __global__ void told(const int* in, int* out) {
    __shared__ int tile[T];
    __shared__ Barrier bar, other;
    int t = threadIdx.x;
    if (t == 0) {
        init(&bar, T);
        init(&other, T);
    }
    __syncthreads();
    cuda::memcpy_async(&tile[t], &in[t], sizeof(int), same ? bar : other);
    bar.arrive_and_wait();
    out[blockIdx.x * T + t] = tile[t ^ 33];
    other.arrive_and_wait();
}
// Several rounds behind one arrival. With `anew` each round has one of its own.
template <bool anew> __global__ void rounds(int* out) {
    __shared__ int tile[T];
    __shared__ Barrier bar;
    int t = threadIdx.x;
    if (t == 0) init(&bar, T);
    __syncthreads();
    auto token = bar.arrive();
    int r = 0;
    do {
        if (anew && r) token = bar.arrive();
        bar.wait(Barrier::arrival_token(token));
        tile[(t + r) % T] = r;
    } while (++r < 4);
    out[blockIdx.x * T + t] = tile[(t + 3) % T];
}
// Work between the arrival and the wait, in rounds. With `late` 1 the thread reads there what others write behind their
// wait. With 2 it writes what others read there. With 3 it waits for all before it reads. With 4 it touches its own
// element alone.
template <int late> __global__ void split(const int* in, int* out, int rounds) {
    __shared__ int tile[2][T], other[T];
    __shared__ Barrier bar;
    int t = threadIdx.x, sum = 0;
    if (t == 0) init(&bar, blockDim.x);
    other[t] = t;
    __syncthreads();
    for (int r = 0; r < rounds; r++) {
        tile[r & 1][t] = in[r * T + t];
        auto token = bar.arrive();
        for (int i = 0; i < 4; i++) sum += in[i * T + t] / 2;
        if (late == 1) sum += other[T - 1 - t];
        if (late == 2) other[t] = r;
        if (late == 4) other[t] += r;
        bar.wait(std::move(token));
        if (late == 3) __syncthreads();
        if (late == 1) other[t] = r;
        if (late == 2 || late == 3) sum += other[T - 1 - t];
        if (late == 4) sum += other[t];
        sum += tile[r & 1][T - 1 - t];
    }
    out[blockIdx.x * T + t] = sum;
}
// Two mbarriers at once: others may have passed both before the write. With `apart` the first one is waited for first.
template <bool apart> __global__ void two(int* out) {
    __shared__ int tile[T];
    __shared__ Barrier one, other;
    int t = threadIdx.x;
    if (t == 0) {
        init(&one, T);
        init(&other, T);
    }
    __syncthreads();
    auto first = one.arrive();
    if (apart) tile[t] = t;
    if (apart) one.wait(std::move(first));
    auto second = other.arrive();
    if (!apart) tile[t] = t;
    if (!apart) one.wait(std::move(first));
    other.wait(std::move(second));
    out[blockIdx.x * T + t] = tile[t ^ 33];
}
int main(int, char** argv) {
    int *in, *out;
    cudaMalloc(&in, 8192);
    cudaMalloc(&out, 8192);
    cudaMemset(in, 0, 8192);
    switch (atoi(argv[1])) {
    case 0: staged<1><<<2, T>>>(in, out, 4); break;
    case 1: staged<0><<<2, T>>>(in, out, 4); break;
    case 2: each<true><<<2, T>>>(in, out, T); break;
    case 3: each<false><<<2, T>>>(in, out, T); break;
    case 4: each<false><<<2, T>>>(in, out, T / 2); break;
    case 5: across<WAITS><<<2, T>>>(out); break;
    case 6: across<GOES_ON><<<2, T>>>(out); break;
    case 7: across<LOOKS_ONCE><<<2, T>>>(out); break;
    case 8: across<OLD_TOKEN><<<2, T>>>(out); break;
    case 9: across<SOME><<<2, T>>>(out); break;
    case 10: across<HALF><<<2, T>>>(out); break;
    case 11: across<DROPS><<<2, T>>>(out); break;
    case 12: between<false><<<2, T>>>(out); break;
    case 13: between<true><<<2, T>>>(out); break;
    case 14: told<true><<<2, T>>>(in, out); break;
    case 15: told<false><<<2, T>>>(in, out); break;
    case 16: across<EARLY><<<2, T>>>(out); break;
    case 17: rounds<false><<<2, T>>>(out); break;
    // No race, but the arrival is not in each round.
    case 18: rounds<true><<<2, T>>>(out); break;
    case 19: split<0><<<2, T>>>(in, out, 4); break;
    case 20: split<1><<<2, T>>>(in, out, 4); break;
    case 21: split<2><<<2, T>>>(in, out, 4); break;
    case 22: split<3><<<2, T>>>(in, out, 4); break;
    case 23: split<4><<<2, T>>>(in, out, 4); break;
    // No race, but a thread leaves each wait on several ways, and the barriers on them are not counted.
    case 24: two<true><<<2, T>>>(out); break;
    case 25: two<false><<<2, T>>>(out); break;
    }
    return cudaDeviceSynchronize();
}
"#;

/// What is proved runs without checks. What is not has the races that it has with every check.
#[test]
fn blocks_that_meet_at_an_mbarrier_are_proved() {
    compare(
        SOURCE,
        "proofs_mbarriers",
        0..=25,
        &[0, 2, 3, 5, 13, 14, 18, 19, 22, 23, 24],
        &[0, 2, 3, 5, 13, 14, 19, 22, 23],
    );
}
