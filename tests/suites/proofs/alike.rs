//! Launches that make the same accesses as one that was checked: they run without checks.

use std::collections::BTreeSet;

use super::{Path, compile, run_checked, work_folder};

/// Kernels of which nothing is proved. The program's first argument seeds the launches or, if it is a word, lists them.
const SOURCE: &str = r#"
#include <cstdlib>
#include <cstring>
__constant__ int step = 3;
__device__ int table[64];
#define ELEMENT(x) ((x) & 127)
// What the launch's arguments decide.
__device__ int hash(int x, int factor) {
    for (int k = 0; k < 9; k++) x = ELEMENT((x ^ x >> 3) * factor + k);
    return x;
}
__global__ void by_hash(int factor, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[hash(i, factor)] += i;
}
// What memory decides that the launch does not change.
__global__ void twice(const int* index, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[ELEMENT(index[ELEMENT(index[i])])] = i;
}
__global__ void by_constant(int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[hash(i, step)] = i;
}
__global__ void by_table(int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[ELEMENT(table[table[i] & 63])] = i;
}
// What memory decides that the launch changes.
__global__ void in_place(int* a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, x = a[i];
    a[x < 1000 ? i : ELEMENT(i + 1)] = x + 1;
}
__global__ void moved(const int* index, int* mid, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    mid[i] = index[i] * 7;
    __syncthreads();
    out[ELEMENT(mid[i ^ 5])] = i;
}
__global__ void through_shared(const int* index, int* out) {
    __shared__ int tile[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = index[i];
    __syncthreads();
    out[ELEMENT(tile[threadIdx.x ^ 9])] = i;
}
__global__ void by_lanes(const int* index, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[ELEMENT(__shfl_xor_sync(~0u, index[i], 3))] = i;
}
// What the schedule may decide.
__global__ void by_atomics(const int* index, int* count, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[ELEMENT(index[i] + (atomicAdd(count, 1) < 0))] = i;
}
// Atomics that decide nothing.
__global__ void beside_atomics(const int* index, int* count, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&count[ELEMENT(index[i])], 1);
    out[ELEMENT(index[i])] = i;
}
struct Pair { const int* index; int* out; };
__global__ void by_pair(Pair p) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    p.out[ELEMENT(p.index[ELEMENT(p.index[i])])] = i;
}

int *one, *two, *three;
void launch(int kernel, int factor, int* in, int* out, int* mid, int blocks) {
    switch (kernel) {
    case 0: by_hash<<<blocks, 32>>>(factor, out); break;
    case 1: twice<<<blocks, 32>>>(in, out); break;
    case 2: by_constant<<<blocks, 32>>>(out); break;
    case 3: by_table<<<blocks, 32>>>(out); break;
    case 4: in_place<<<blocks, 32>>>(out); break;
    case 5: moved<<<blocks, 32>>>(in, mid, out); break;
    case 6: through_shared<<<blocks, 32>>>(in, out); break;
    case 7: by_lanes<<<blocks, 32>>>(in, out); break;
    case 8: by_pair<<<blocks, 32>>>({in, out}); break;
    case 9: beside_atomics<<<blocks, 32>>>(in, mid, out); break;
    case 10: by_atomics<<<blocks, 32>>>(in, mid, out); break;
    }
}
void set(int* to, const int* from) { cudaMemcpy(to, from, 512, cudaMemcpyHostToDevice); }

unsigned long long state;
int below(int n) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return int((state >> 33) % n);
}
void random_launches(int seed) {
    state = seed;
    int values[128], kernel = below(11), *pointers[4] = {one, two, three, one + 64};
    for (int i = 0; i < 128; i++) values[i] = i * 5;
    int *in = one, *out = two, *mid = three, factor = 3 + 2 * below(2), blocks = 2;
    for (int k = 0; k < 8; k++) {
        switch (below(12)) {
        case 0: in = pointers[below(4)]; break;
        case 1: out = pointers[below(4)]; break;
        case 2: mid = pointers[below(4)]; break;
        case 3: factor = 3 + below(3); break;
        case 4: blocks = 1 + below(2); break;
        case 5: if (!below(4)) values[below(64)] = below(1200); break;
        case 6: if (!below(4)) values[5] = values[40]; break;
        }
        if (below(3)) set(one, values), set(two, values), set(three, values);
        cudaMemcpyToSymbol(table, values, sizeof table);
        cudaMemcpyToSymbol(step, &factor, sizeof step);
        launch(kernel, factor, in, out, mid, blocks);
    }
}
int main(int argc, char** argv) {
    cudaMalloc(&one, 2048);
    cudaMalloc(&two, 2048);
    cudaMalloc(&three, 2048);
    for (int* p : {one, two, three}) cudaMemset(p, 0, 2048);
    if (argc == 2) {
        random_launches(atoi(argv[1]));
        return cudaDeviceSynchronize();
    }
    // `KERNEL WORD`: each letter of the word does something.
    int values[128], other[128];
    for (int i = 0; i < 128; i++) values[i] = i * 5, other[i] = i;
    other[5] = other[40], other[7] = 2000;
    cudaMemcpyToSymbol(table, values, sizeof table);
    cudaStream_t stream = 0;
    for (const char* at = argv[2]; *at; at++) {
        switch (*at) {
        case 'l': launch(atoi(argv[1]), 5, one, two, three, 2); break;
        // What memory holds, and what it held before.
        case 'v': set(one, values), set(two, values), set(three, values); break;
        case 'w': set(one, other), set(two, other), set(three, other); break;
        case 't': cudaMemcpyToSymbol(table, other, sizeof table); break;
        case 'a': launch(atoi(argv[1]), 5, one, three, two, 2); break;
        case 'b': launch(atoi(argv[1]), 5, one, two, three, 1); break;
        // Something that another stream may do meanwhile.
        case 'S': cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking); break;
        case 's': cudaMemsetAsync(two, 0, 512, stream); break;
        }
    }
    return cudaDeviceSynchronize();
}
"#;

/// Compiles the kernels with and without proofs.
fn build(name: &str) -> std::path::PathBuf {
    let folder = work_folder(name).unwrap();
    std::fs::write(folder.join("k.cu"), SOURCE).unwrap();
    for (program, proofs) in [("k", "launch"), ("off", "off")] {
        let prune = format!("-fgpurace-prune={proofs}");
        compile(&["-fsanitize=gpurace", "-std=c++17", &prune, "k.cu", "-o", program], &folder).unwrap();
    }
    folder
}

/// The lines of the two sides of each race, and the number of checks.
fn run(folder: &Path, program: &str, arguments: &[&str]) -> (BTreeSet<[Option<u32>; 2]>, u64) {
    let outcome = run_checked(&folder.join(program), arguments, "cache_dir=", folder).unwrap();
    let report = outcome.report.unwrap();
    let lines = report.races.iter().map(|race| {
        let mut lines = race.accesses.each_ref().map(|access| access.line);
        lines.sort_unstable();
        lines
    });
    (lines.collect(), report.stats.checks_executed)
}

#[test]
fn a_launch_alike_a_checked_one_runs_bare() {
    let folder = build("proofs_alike");
    let checks = |kernel: &str, launches: &str| {
        let (races, checks) = run(&folder, "k", &[kernel, launches]);
        assert!(races.is_empty(), "kernel {kernel}, {launches}");
        checks
    };
    for kernel in 0..=9 {
        let kernel = &kernel.to_string();
        let once = checks(kernel, "vl");
        assert!(once > 0, "kernel {kernel}");
        assert_eq!(checks(kernel, "vlvl"), once, "kernel {kernel}");
        assert_eq!(checks(kernel, "vlvlvlvl"), once, "kernel {kernel}");
        // Other memory, other threads: each was checked once.
        assert!(checks(kernel, "vlvavlva") > once, "kernel {kernel}");
        assert!(checks(kernel, "vlvb") > once, "kernel {kernel}");
    }
    // Here it need not be the same access again.
    assert_eq!(checks("10", "vlvl"), 2 * checks("10", "vl"));
}

#[test]
fn a_launch_that_may_differ_is_checked() {
    let folder = build("proofs_alike_but");
    for (kernel, launches) in [
        // Two elements of the index are equal now.
        ("1", "vlwl"),
        ("4", "vlvlwl"),
        ("5", "vlvlwl"),
        ("6", "vlwl"),
        ("7", "vlwl"),
        ("8", "vlwl"),
        ("9", "vlwl"),
        ("3", "vltl"),
        // It raced before.
        ("1", "wlwl"),
        // A copy on another stream.
        ("0", "vlvlSvls"),
        ("1", "vlvlSvls"),
    ] {
        let (races, _) = run(&folder, "k", &[kernel, launches]);
        assert!(!races.is_empty(), "kernel {kernel}, {launches}");
        assert_eq!(races, run(&folder, "off", &[kernel, launches]).0, "kernel {kernel}, {launches}");
    }
}

/// With proofs, the same races are found as with all checks, and launches run bare nevertheless.
#[test]
fn no_launch_alike_a_checked_one_races() {
    let folder = build("proofs_alike_random");
    let (mut fewer, mut racing) = (0, 0);
    for seed in 0..80 {
        let seed = &seed.to_string();
        let (races, checks) = run(&folder, "k", &[seed]);
        let (wanted, all_checks) = run(&folder, "off", &[seed]);
        assert_eq!(races, wanted, "seed {seed}");
        fewer += u32::from(checks < all_checks);
        racing += u32::from(!races.is_empty());
    }
    assert!(fewer > 15 && (20..70).contains(&racing), "{fewer} with fewer checks, {racing} race");
}
