//! Named barriers: sets of warps that meet, and loops that hand tiles over to each other.

use super::compare;

const SOURCE: &str = r#"
#include <cstdlib>
__device__ void meet(int id, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
__device__ void arrive(int id, int threads) { asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
// Each half of a block of 128 threads writes its part and reads it. `across` reads the other half's.
template <int across, bool waits> __global__ __launch_bounds__(128) void halves(int* out) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = t;
    if (waits) meet(1 + t / 64, 64);
    else arrive(1 + t / 64, 64);
    out[blockIdx.x * 128 + t] = s[t ^ (across ? 127 : 63)];
}
// Warp 0 fills a ring of two tiles, and three warps read them. Full: barriers 1 and 2; empty: 3 and 4.
// With `early`, they say too early that they have read.
template <bool early> __global__ __launch_bounds__(128) void ring(int* out, int n) {
    __shared__ int tiles[2][96];
    int t = threadIdx.x, sum = 0;
    if (t < 32) {
        for (int i = 0; i < n; i++) {
            if (i >= 2) meet(3 + (i & 1), 128);
            for (int j = 0; j < 3; j++) tiles[i & 1][32 * j + t] = i + t;
            arrive(1 + (i & 1), 128);
        }
    } else {
        for (int i = 0; i < n; i++) {
            meet(1 + (i & 1), 128);
            if (early && i + 2 < n) arrive(3 + (i & 1), 128);
            sum += tiles[i & 1][127 - t];
            if (!early && i + 2 < n) arrive(3 + (i & 1), 128);
        }
        out[blockIdx.x * 96 + t - 32] = sum;
    }
}
// The same for each tile of a persistent kernel: the number goes on. With `armed`, the readers arrive before.
template <bool early, bool armed> __global__ __launch_bounds__(128) void tiles(int* out, int n) {
    __shared__ int parts[2][96];
    int t = threadIdx.x;
    unsigned it = 0;
    if (t < 32) {
        for (int tile = blockIdx.x; tile < 5; tile += gridDim.x)
            for (int i = 0; i < n; i++, it++) {
                if (armed || it >= 2) meet(3 + it % 2, 128);
                for (int j = 0; j < 3; j++) parts[it % 2][32 * j + t] = i + t;
                arrive(1 + it % 2, 128);
            }
    } else {
        if (armed) {
            arrive(3, 128);
            arrive(4, 128);
        }
        for (int tile = blockIdx.x; tile < 5; tile += gridDim.x) {
            int sum = 0;
            for (int i = 0; i < n; i++, it++) {
                meet(1 + it % 2, 128);
                if (early) arrive(3 + it % 2, 128);
                sum += parts[it % 2][127 - t];
                if (!early) arrive(3 + it % 2, 128);
            }
            out[tile * 96 + t - 32] = sum;
        }
    }
}
// Both wait at two barriers. With `late`, the second one is left out.
template <bool late> __global__ __launch_bounds__(128) void both(int* out, int n) {
    __shared__ int part[96];
    int t = threadIdx.x;
    if (t < 32) {
        for (int tile = blockIdx.x; tile < 5; tile += gridDim.x)
            for (int i = 0; i < n; i++) {
                for (int j = 0; j < 3; j++) part[32 * j + t] = i + t;
                meet(1, 128);
                if (!late) meet(2, 128);
            }
    } else {
        for (int tile = blockIdx.x; tile < 5; tile += gridDim.x) {
            int sum = 0;
            for (int i = 0; i < n; i++) {
                meet(1, 128);
                sum += part[127 - t];
                if (!late) meet(2, 128);
            }
            out[tile * 96 + t - 32] = sum;
        }
    }
}
int main(int, char** argv) {
    int* out;
    cudaMalloc(&out, 512 * sizeof(int));
    switch (atoi(argv[1])) {
    case 0: halves<0, true><<<2, 128>>>(out); break;
    case 1: ring<false><<<2, 128>>>(out, 6); break;
    case 2: halves<1, true><<<2, 128>>>(out); break;
    case 3: halves<0, false><<<2, 128>>>(out); break;
    case 4: ring<true><<<2, 128>>>(out, 6); break;
    case 5: tiles<false, false><<<2, 128>>>(out, 3); break;
    case 6: tiles<false, true><<<2, 128>>>(out, 3); break;
    case 7: both<false><<<2, 128>>>(out, 3); break;
    case 8: tiles<true, false><<<2, 128>>>(out, 3); break;
    case 9: tiles<true, true><<<2, 128>>>(out, 3); break;
    case 10: both<true><<<2, 128>>>(out, 3); break;
    }
    return cudaDeviceSynchronize();
}
"#;

#[test]
fn warps_that_meet_at_named_barriers_are_proved() {
    compare(SOURCE, "proofs_named", 0..=10, &[0, 1, 5, 6, 7], &[0, 1, 5, 6, 7]);
}
