//! Rings of tiles whose mbarriers threads know by the parity of their phases, as in matrix products and attention for
//! recent GPUs.

use gpurace_tests::toolchain::{compile, work_folder};
use serde_json::Value;

use super::compare;

/// Operations on mbarriers, and asynchronous copies.
pub const OPERATIONS: &str = r#"
#include <cstdlib>
typedef unsigned long long Word;
__device__ unsigned place(const void* of) { return __cvta_generic_to_shared(of); }
__device__ void start(Word* of, int count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(place(of)), "r"(count) : "memory");
}
__device__ void arrive(Word* of) {
    asm volatile("{ .reg .b64 token; mbarrier.arrive.shared.b64 token, [%0]; }" ::"r"(place(of)) : "memory");
}
__device__ void expect(Word* of, int bytes) {
    asm volatile("{ .reg .b64 token; mbarrier.arrive.expect_tx.shared.b64 token, [%0], %1; }" ::"r"(place(of)), "r"(bytes)
                 : "memory");
}
__device__ void arrive_behind_copies(Word* of) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(place(of)) : "memory");
}
__device__ void copy_elements(void* to, const void* from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(place(to)), "l"(from) : "memory");
}
__device__ void wait(Word* of, int parity) {
    int done = 0;
    while (!done) {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(place(of)), "r"(parity) : "memory");
    }
}
__device__ void wait_at_least_once(Word* of, int parity) {
    int done;
    do {
        asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(place(of)), "r"(parity) : "memory");
    } while (!done);
}
__device__ void copy(void* to, const void* from, int bytes, Word* of) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(place(to)),
                 "l"(from), "n"(256), "r"(place(of)) : "memory");
}
"#;
const KERNELS: &str = r#"
enum How { RIGHT, NO_WAIT, UNREAD, PARITY, SHORT, EARLY, BYTES, OTHER, NO_SYNC, FEW, UNARMED, UNTOLD };
constexpr int S = 3, T = 64;
// A warp writes tiles, two others read them. The stage and the parity are computed.
template <How how> __global__ __launch_bounds__(96) void written(const int* in, int* out, int n) {
    __shared__ int tiles[S][T];
    __shared__ Word full[S], empty[S];
    int t = threadIdx.x;
    if (t == 0)
        for (int s = 0; s < S; s++) {
            start(&full[s], 32);
            start(&empty[s], 64);
        }
    __syncthreads();
    if (t < 32) {
        for (int i = 0; i < n; i++) {
            int s = i % S;
            if (how != NO_WAIT && i >= S) wait(&empty[s], (i / S - 1) & 1);
            if (how == EARLY) arrive(&full[s]);
            for (int j = t; j < T; j += 32) tiles[how == SHORT ? i % (S - 1) : s][j] = in[i * T + j];
            if (how != EARLY) arrive(&full[s]);
        }
    } else {
        int sum = 0;
        for (int i = 0; i < n; i++) {
            int s = i % S;
            if (how != UNREAD) wait(&full[s], (i / S & 1) ^ (how == PARITY));
            sum += tiles[how == SHORT ? i % (S - 1) : s][95 - t];
            arrive(&empty[s]);
        }
        out[blockIdx.x * 64 + t - 32] = sum;
    }
}
// A thread copies tiles of two arrays. The stage is counted, and the parity turns with it.
template <How how> __global__ __launch_bounds__(96) void copied(const int* in, int* out, int n) {
    __shared__ alignas(16) int a[S][T], b[S][T];
    __shared__ Word full[S], empty[S];
    int t = threadIdx.x;
    if (t == 0)
        for (int s = 0; s < S; s++) {
            start(&full[s], 1);
            start(&empty[s], 64);
        }
    __syncthreads();
    if (t < 32) {
        int s = 0, parity = 0;
        if (t == 0)
            for (int i = 0; i < n; i++) {
                if (how != NO_WAIT) wait_at_least_once(&empty[s], parity ^ 1);
                expect(&full[s], how == BYTES ? 256 : 512);
                copy(a[s], in + i * T, 256, &full[s]);
                copy(b[s], in + i * T, 256, &full[how == OTHER ? (s + 1) % S : s]);
                if (++s == S) {
                    s = 0;
                    parity ^= 1;
                }
            }
    } else {
        int sum = 0, s = 0, parity = 0;
        for (int i = 0; i < n; i++) {
            if (how != UNREAD) wait_at_least_once(&full[s], parity ^ (how == PARITY));
            if (how == EARLY) arrive(&empty[s]);
            sum += a[s][95 - t] * b[s][t - 32];
            if (how != EARLY) arrive(&empty[s]);
            if (++s == S) {
                s = 0;
                parity ^= 1;
            }
        }
        out[blockIdx.x * 64 + t - 32] = sum;
    }
}
// The first lane of each warp arrives for it, behind a sync of the warp.
template <How how> __global__ __launch_bounds__(96) void led(const int* in, int* out, int n) {
    __shared__ int tiles[S][T];
    __shared__ Word full[S], empty[S];
    int t = threadIdx.x, lane = t % 32;
    if (t == 0)
        for (int s = 0; s < S; s++) {
            start(&full[s], 1);
            start(&empty[s], how == FEW ? 1 : 2);
        }
    __syncthreads();
    if (t < 32) {
        for (int i = 0; i < n; i++) {
            int s = i % S;
            if (how != NO_WAIT) wait(&empty[s], i / S & 1 ^ 1);
            for (int j = t; j < T; j += 32) tiles[how == SHORT ? i % (S - 1) : s][j] = in[i * T + j];
            if (how != NO_SYNC) __syncwarp();
            if (lane == 0) arrive(&full[s]);
        }
    } else {
        int sum = 0;
        for (int i = 0; i < n; i++) {
            int s = i % S;
            if (how != UNREAD) wait(&full[s], (i / S & 1) ^ (how == PARITY));
            if (how == EARLY && lane == 0) arrive(&empty[s]);
            sum += tiles[how == SHORT ? i % (S - 1) : s][95 - t];
            if (how != NO_SYNC) __syncwarp();
            // In a block of 64 threads there is one warp, so FEW is right unless two lanes arrive.
            if (how != EARLY && lane < (how == FEW ? 2 : 1)) arrive(&empty[s]);
        }
        out[blockIdx.x * 64 + t - 32] = sum;
    }
}
// The consumers arrive at the empty mbarriers before their loop, so the producer waits for the same parity as they.
template <How how> __global__ __launch_bounds__(96) void armed(const int* in, int* out, int n) {
    __shared__ alignas(16) int tiles[S][T];
    __shared__ Word full[S], empty[S];
    int t = threadIdx.x;
    if (t == 0)
        for (int s = 0; s < S; s++) {
            start(&full[s], 1);
            start(&empty[s], how == FEW ? 31 : 64);
        }
    __syncthreads();
    int s = 0, parity = 0;
    if (t < 32) {
        if (t == 0)
            for (int i = 0; i < n; i++) {
                if (how != NO_WAIT) wait(&empty[s], parity ^ (how == PARITY));
                expect(&full[s], 256);
                copy(tiles[how == SHORT ? i % (S - 1) : s], in + i * T, 256, &full[s]);
                if (++s == S) {
                    s = 0;
                    parity ^= 1;
                }
            }
    } else {
        for (int i = 0; i < (how == UNARMED ? S - 1 : S); i++) arrive(&empty[i]);
        int sum = 0;
        for (int i = 0; i < n; i++) {
            if (how != UNREAD) wait(&full[s], parity);
            if (how == EARLY) arrive(&empty[s]);
            sum += tiles[how == SHORT ? i % (S - 1) : s][95 - t];
            if (how != EARLY) arrive(&empty[s]);
            if (++s == S) {
                s = 0;
                parity ^= 1;
            }
        }
        out[blockIdx.x * 64 + t - 32] = sum;
    }
}
// Each thread of a warp copies elements, and arrives when they are done.
template <How how> __global__ __launch_bounds__(96) void tracked(const int* in, int* out, int n) {
    __shared__ alignas(16) int tiles[S][T];
    __shared__ Word full[S], empty[S];
    int t = threadIdx.x;
    if (t == 0)
        for (int s = 0; s < S; s++) {
            start(&full[s], how == FEW ? 31 : 32);
            start(&empty[s], 64);
        }
    __syncthreads();
    if (t < 32) {
        for (int i = 0; i < n; i++) {
            int s = i % S;
            if (how != NO_WAIT) wait(&empty[s], i / S & 1 ^ 1);
            if (how == EARLY) arrive_behind_copies(&full[s]);
            for (int j = 2 * t; j < T; j += 64)
                copy_elements(&tiles[how == SHORT ? i % (S - 1) : s][j], in + i * T + j);
            if (how == UNTOLD) arrive(&full[s]);
            else if (how == OTHER) arrive_behind_copies(&full[(s + 1) % S]);
            else if (how != EARLY) arrive_behind_copies(&full[s]);
        }
    } else {
        int sum = 0;
        for (int i = 0; i < n; i++) {
            int s = i % S;
            if (how != UNREAD) wait(&full[s], (i / S & 1) ^ (how == PARITY));
            sum += tiles[how == SHORT ? i % (S - 1) : s][95 - t];
            arrive(&empty[s]);
        }
        out[blockIdx.x * 64 + t - 32] = sum;
    }
}
// A thread copies a tile that all threads wait for once. Each thread of a warp copies elements of another tile.
template <How how> __global__ __launch_bounds__(96) void once(const int* in, int* out, int n) {
    __shared__ alignas(16) int a[T], b[T];
    __shared__ Word ready, other;
    int t = threadIdx.x, sum = 0;
    if (t == 0) {
        start(&ready, 1);
        start(&other, how == FEW ? 31 : 32);
    }
    __syncthreads();
    if (t == 0) {
        expect(&ready, how == BYTES ? 0 : 256);
        copy(a, in, 256, &ready);
    }
    if (t < 32) {
        if (how == EARLY) arrive_behind_copies(&other);
        for (int j = 2 * t; j < T; j += 64) copy_elements(&b[j], in + j);
        if (how == UNTOLD) arrive(&other);
        else if (how != EARLY) arrive_behind_copies(&other);
    }
    if (how != UNREAD) wait(&ready, how == PARITY);
    if (t >= 32) {
        if (how != UNREAD) wait(how == OTHER ? &ready : &other, how == PARITY);
        for (int i = 0; i < n; i++) sum += a[(t + i) % T] * b[(t + i) % T];
        out[blockIdx.x * 64 + t - 32] = sum;
    }
}
"#;
/// Runs one of them. Those that may wait for ever are left out.
const MAIN: &str = r#"
int main(int, char** argv) {
    int *in, *out;
    cudaMalloc(&in, 4096);
    cudaMalloc(&out, 512);
    cudaMemset(in, 1, 4096);
    switch (atoi(argv[1])) {
    case 0: written<RIGHT><<<2, 96>>>(in, out, 10); break;
    case 1: copied<RIGHT><<<2, 96>>>(in, out, 10); break;
    case 2: written<SHORT><<<2, 96>>>(in, out, 10); break;
    case 3: written<EARLY><<<2, 96>>>(in, out, 10); break;
    case 4: copied<EARLY><<<2, 96>>>(in, out, 10); break;
    case 5: led<RIGHT><<<2, 96>>>(in, out, 10); break;
    case 6: armed<RIGHT><<<2, 96>>>(in, out, 10); break;
    case 7: led<SHORT><<<2, 96>>>(in, out, 10); break;
    case 8: led<EARLY><<<2, 96>>>(in, out, 10); break;
    case 9: led<NO_SYNC><<<2, 96>>>(in, out, 10); break;
    case 10: armed<SHORT><<<2, 96>>>(in, out, 10); break;
    case 11: armed<EARLY><<<2, 96>>>(in, out, 10); break;
    case 12: tracked<RIGHT><<<2, 96>>>(in, out, 10); break;
    case 13: tracked<SHORT><<<2, 96>>>(in, out, 10); break;
    case 14: tracked<EARLY><<<2, 96>>>(in, out, 10); break;
    case 15: tracked<UNTOLD><<<2, 96>>>(in, out, 10); break;
    case 16: once<RIGHT><<<2, 96>>>(in, out, 10); break;
    case 17: once<UNREAD><<<2, 96>>>(in, out, 10); break;
    case 18: once<PARITY><<<2, 96>>>(in, out, 10); break;
    case 19: once<OTHER><<<2, 96>>>(in, out, 10); break;
    case 20: once<UNTOLD><<<2, 96>>>(in, out, 10); break;
    }
    return cudaDeviceSynchronize();
}
"#;

#[test]
fn rings_whose_phases_are_known_by_their_parity_are_proved() {
    let source = [OPERATIONS, KERNELS, MAIN].concat();
    compare(&source, "proofs_phases", 0..=20, &[0, 1, 5, 6, 12, 16], &[0, 1, 5, 6, 12, 16]);
}

/// Whether the reads of tiles are proved, for each way in which a kernel goes wrong. Its arguments are two arrays and
/// these numbers.
pub fn proved(source: &str, numbers: &str, kernel: &str, ways: &[u32]) -> Vec<Vec<bool>> {
    let folder = work_folder(&format!("proofs_ways_{kernel}_{}_{}", numbers.len(), ways.len())).unwrap();
    let mut source = source.to_owned();
    for how in ways {
        source += &format!("template __global__ void {kernel}<(How){how}>(const int*, int*, {numbers});\n");
    }
    std::fs::write(folder.join("k.cu"), source).unwrap();
    let flags =
        ["-fsanitize=gpurace", "-std=c++17", "-c", "k.cu", "-o", "k.o", "-fgpurace-facts=facts.json", "-w"];
    compile(&flags, &folder).unwrap();
    let facts: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.join("facts.json")).unwrap()).unwrap();
    let reads = |how: &u32| {
        let name = format!("{kernel}<(How){how}>");
        let kernels = facts["kernels"].as_array().unwrap();
        let kernel = kernels.iter().find(|k| k["name"].as_str().unwrap().contains(&name)).unwrap();
        let sites = kernel["sites"].as_array().unwrap().iter();
        let reads = sites.filter(|s| s["space"] == "shared" && s["op"] == "read");
        reads.map(|s| s["verdict"].as_str().unwrap().starts_with("proved")).collect()
    };
    ways.iter().map(reads).collect()
}

#[test]
fn rings_that_go_wrong_are_not_proved() {
    let all: [(&str, &[u32], usize); 5] = [
        ("written", &[1, 2, 3, 4, 5], 1),
        ("copied", &[1, 2, 3, 5, 6, 7], 2),
        ("led", &[1, 2, 3, 4, 5, 8, 9], 1),
        ("armed", &[1, 2, 3, 4, 5, 9, 10], 1),
        ("tracked", &[1, 2, 3, 4, 5, 7, 9, 11], 1),
    ];
    let source = [OPERATIONS, KERNELS].concat();
    let proved = |kernel, ways: &[u32]| proved(&source, "int", kernel, ways);
    for (kernel, wrong, reads) in all {
        assert_eq!(proved(kernel, &[0]), [vec![true; reads]], "{kernel}");
        assert_eq!(proved(kernel, wrong), vec![vec![false; reads]; wrong.len()], "{kernel}");
    }
}

#[test]
fn tiles_that_are_waited_for_once_are_proved_one_by_one() {
    let [right, unread, parity, early, bytes, other, few, untold] = [0, 2, 3, 5, 6, 7, 9, 11];
    let ways = [right, unread, parity, bytes, early, other, few, untold];
    let [both, none, second, first] = [[true; 2], [false; 2], [false, true], [true, false]];
    let reads = proved(&[OPERATIONS, KERNELS].concat(), "int", "once", &ways);
    assert_eq!(reads, [both, none, none, second, first, first, first, first]);
}
