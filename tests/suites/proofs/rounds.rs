//! Rings of tiles whose stage and phase go on from tile to tile of a persistent kernel, as in matrix products and
//! attention.

use super::compare;
use super::phases::{OPERATIONS, proved};

const KERNELS: &str = r#"
enum How {
    RIGHT, NO_WAIT, UNREAD, SKIP, EARLY, SHORT, NEW_STAGE, NEW_PARITY, NEW_BOTH, FEWER, LEAVES, EPILOGUE, REARMED
};
constexpr int S = 3, T = 64;
#define TILES int tile = blockIdx.x; tile < tiles; tile += gridDim.x
// A thread copies tiles, and two warps read them. Stage and parity are counted.
template <How how> __global__ __launch_bounds__(96) void counted(const int* in, int* out, int tiles, int n) {
    __shared__ alignas(16) int a[S][T];
    __shared__ Word full[S], empty[S];
    int t = threadIdx.x, s = 0, parity = 0;
    if (t == 0)
        for (int i = 0; i < S; i++) {
            start(&full[i], 1);
            start(&empty[i], 64);
        }
    __syncthreads();
    if (t < 32) {
        if (t == 0)
            for (TILES) {
                if (how == NEW_STAGE || how == NEW_BOTH) s = 0;
                if (how == NEW_PARITY || how == NEW_BOTH) parity = 0;
                for (int i = 0; i < n; i++) {
                    if (how == LEAVES && in[i] == 7) break;
                    if (how != NO_WAIT) wait(&empty[s], parity ^ 1);
                    expect(&full[s], 256);
                    copy(a[how == SHORT ? s % (S - 1) : s], in + i * T, 256, &full[s]);
                    if (++s == S) {
                        s = 0;
                        parity ^= 1;
                    }
                }
            }
    } else
        for (TILES) {
            int sum = 0;
            if (how == NEW_STAGE || how == NEW_BOTH) s = 0;
            if (how == NEW_PARITY || how == NEW_BOTH) parity = 0;
            for (int i = 0; i < (how == FEWER ? n - 1 : n); i++) {
                if (how != UNREAD && (how != SKIP || tile < 2)) wait(&full[s], parity);
                if (how == EARLY) arrive(&empty[s]);
                sum += a[how == SHORT ? s % (S - 1) : s][95 - t];
                if (how != EARLY) arrive(&empty[s]);
                if (++s == S) {
                    s = 0;
                    parity ^= 1;
                }
            }
            if (how == EPILOGUE) sum += a[0][t - 32];
            out[tile * 64 + t - 32] = sum;
        }
}
// A warp writes tiles. A number goes on from tile to tile. Each tile has its own number of parts.
template <How how> __global__ __launch_bounds__(96) void numbered(const int* in, int* out, int tiles, int n) {
    __shared__ int a[S][T];
    __shared__ Word full[S], empty[S];
    int t = threadIdx.x;
    unsigned number = 0;
    if (t == 0)
        for (int i = 0; i < S; i++) {
            start(&full[i], 1);
            start(&empty[i], 2);
        }
    __syncthreads();
    if (t < 32)
        for (TILES) {
            for (int i = 0; i <= tile % n; i++, number++) {
                int s = number % S;
                if (how != NO_WAIT) wait(&empty[s], number / S & 1 ^ 1);
                for (int j = t; j < T; j += 32) a[how == SHORT ? number % (S - 1) : s][j] = in[i * T + j];
                __syncwarp();
                if (t == 0) arrive(&full[s]);
            }
        }
    else
        for (TILES) {
            int sum = 0;
            for (int i = 0; i <= tile % n; i++, number++) {
                int s = number % S;
                if (how != UNREAD && (how != SKIP || tile < 2)) wait(&full[s], number / S & 1);
                if (how == EARLY && t % 32 == 0) arrive(&empty[s]);
                sum += a[how == SHORT ? number % (S - 1) : s][95 - t];
                __syncwarp();
                if (how != EARLY && t % 32 == 0) arrive(&empty[s]);
            }
            if (how == EPILOGUE) sum += a[0][t - 32];
            out[tile * 64 + t - 32] = sum;
        }
}
// The consumers arm the empty mbarriers. A tile has two halves.
template <How how> __global__ __launch_bounds__(96) void armed(const int* in, int* out, int tiles, int n) {
    __shared__ alignas(16) int a[S][T];
    __shared__ Word full[S], empty[S];
    int t = threadIdx.x, s = 0, parity = 0;
    if (t == 0)
        for (int i = 0; i < S; i++) {
            start(&full[i], 1);
            start(&empty[i], 64);
        }
    __syncthreads();
    if (t < 32) {
        if (t == 0)
            for (TILES)
                for (int half = 0; half < 2; half++)
                    for (int i = 0; i < n; i++) {
                        if (how != NO_WAIT) wait(&empty[s], parity);
                        expect(&full[s], 256);
                        copy(a[s], in + i * T, 256, &full[s]);
                        if (++s == S) {
                            s = 0;
                            parity ^= 1;
                        }
                    }
    } else {
        if (how != REARMED)
            for (int i = 0; i < S; i++) arrive(&empty[i]);
        for (TILES) {
            int sum = 0;
            if (how == REARMED)
                for (int i = 0; i < S; i++) arrive(&empty[i]);
            for (int half = 0; half < 2; half++)
                for (int i = 0; i < n; i++) {
                    if (how != UNREAD) wait(&full[s], parity);
                    if (how == EARLY) arrive(&empty[s]);
                    sum += a[s][95 - t];
                    if (how != EARLY) arrive(&empty[s]);
                    if (++s == S) {
                        s = 0;
                        parity ^= 1;
                    }
                }
            out[tile * 64 + t - 32] = sum;
        }
    }
}
// A flat loop copies the parts of all tiles, and nested ones read them; or both compute the number of a part.
template <How how, bool both> __device__ __forceinline__ void parts(const int* in, int* out, int tiles, int n) {
    __shared__ alignas(16) int a[S][T];
    __shared__ Word full[S], empty[S];
    int t = threadIdx.x;
    if (t == 0)
        for (int i = 0; i < S; i++) {
            start(&full[i], 1);
            start(&empty[i], 64);
        }
    __syncthreads();
    auto fill = [&](int it) {
        int s = it % S;
        if (how != NO_WAIT) wait(&empty[s], it / S & 1 ^ 1);
        expect(&full[s], 256);
        copy(a[how == SHORT ? it % (S - 1) : s], in + it % 8 * T, 256, &full[s]);
    };
    if (t < 32) {
        if (t == 0 && !both)
            for (int it = 0; it < tiles * n; it++) fill(it);
        if (t == 0 && both)
            for (int tile = 0; tile < tiles; tile++)
                for (int i = 0; i < n; i++) fill(tile * n + i);
    } else
        for (int tile = 0; tile < tiles; tile++) {
            int sum = 0;
            for (int i = 0; i < n; i++) {
                int it = tile * n + i, s = it % S;
                wait(&full[s], it / S & 1);
                if (how == EARLY) arrive(&empty[s]);
                sum += a[how == SHORT ? it % (S - 1) : s][95 - t];
                if (how != EARLY) arrive(&empty[s]);
            }
            if (how == EPILOGUE) sum += a[0][t - 32];
            out[(blockIdx.x * tiles + tile) * 64 + t - 32] = sum;
        }
}
template <How how> __global__ __launch_bounds__(96) void flat(const int* in, int* out, int tiles, int n) {
    parts<how, false>(in, out, tiles, n);
}
template <How how> __global__ __launch_bounds__(96) void computed(const int* in, int* out, int tiles, int n) {
    parts<how, true>(in, out, tiles, n);
}
"#;
/// Runs one of them. Those that may wait for ever are left out.
const MAIN: &str = r#"
int main(int, char** argv) {
    int *in, *out;
    cudaMalloc(&in, 8192);
    cudaMalloc(&out, 8192);
    cudaMemset(in, 1, 8192);
    #define RUN(kernel, how) kernel<how><<<2, 96>>>(in, out, 9, 7)
    switch (atoi(argv[1])) {
    case 0: RUN(counted, RIGHT); break;
    case 1: RUN(numbered, RIGHT); break;
    case 2: RUN(armed, RIGHT); break;
    case 3: RUN(counted, EARLY); break;
    case 4: RUN(counted, SHORT); break;
    case 5: RUN(counted, EPILOGUE); break;
    case 6: RUN(numbered, EARLY); break;
    case 7: RUN(numbered, SHORT); break;
    case 8: RUN(numbered, EPILOGUE); break;
    case 9: RUN(armed, EARLY); break;
    // The producer leaves no part: no race, but not known.
    case 10: RUN(counted, LEAVES); break;
    // Six parts, so that each tile begins with the first stage, and its phases are those of the first tile. The launch
    // tells it.
    case 11: counted<NEW_BOTH><<<2, 96>>>(in, out, 9, 6); break;
    case 12: RUN(flat, RIGHT); break;
    case 13: RUN(computed, RIGHT); break;
    case 14: RUN(flat, EARLY); break;
    case 15: RUN(flat, SHORT); break;
    case 16: RUN(flat, EPILOGUE); break;
    case 17: RUN(computed, EARLY); break;
    case 18: RUN(computed, SHORT); break;
    }
    return cudaDeviceSynchronize();
}
"#;

#[test]
fn rings_that_go_on_from_tile_to_tile_are_proved() {
    compare(
        &[OPERATIONS, KERNELS, MAIN].concat(),
        "proofs_rounds",
        0..=18,
        &[0, 1, 2, 10, 11, 12, 13],
        &[0, 1, 2, 11, 12, 13],
    );
}

#[test]
fn rings_that_go_wrong_from_tile_to_tile_are_not_proved() {
    let source = [OPERATIONS, KERNELS].concat();
    let reads = |kernel, ways: &[u32]| proved(&source, "int, int", kernel, ways);
    assert_eq!(reads("counted", &[0]), [[true]]);
    assert_eq!(reads("counted", &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]), [[false]; 10]);
    // The read behind the loop over the parts.
    assert_eq!(reads("counted", &[11]), [[true, false]]);
    assert_eq!(reads("armed", &[0]), [[true]]);
    assert_eq!(reads("armed", &[1, 2, 4, 12]), [[false]; 4]);
}
