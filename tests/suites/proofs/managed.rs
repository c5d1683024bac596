//! Launches on managed memory, which the host may access before it waits for them.

use std::collections::BTreeSet;
use std::path::Path;

use gpurace_tests::report::Race;
use gpurace_tests::toolchain::{compile, run_checked, work_folder};
use serde_json::Value;

/// Makes a random sequence of launches, waits and accesses by the host, from a seed. All launches follow each other in
/// one stream. It prints whether the host has touched bytes that a launch that it has not waited for touches too, with
/// a write among the two.
const SOURCE: &str = r#"
#include <cstdio>
#include <cstdlib>
#include <vector>
__managed__ int variable[256];
__global__ void fill(int* out, int from, int to) {
    int i = from + blockIdx.x * blockDim.x + threadIdx.x;
    if (i < to) out[i] = i;
}
__global__ void copy(const int* in, int* out, int from, int to) {
    int i = from + blockIdx.x * blockDim.x + threadIdx.x;
    if (i < to) out[i] = in[i];
}
__global__ void reverse(int* data, int from) {
    __shared__ int tile[64];
    tile[threadIdx.x] = data[from + threadIdx.x];
    __syncthreads();
    data[from + threadIdx.x] = tile[63 - threadIdx.x];
}
__global__ void scatter(const int* in, int* out, int from) {
    out[from + (in[threadIdx.x] & 0) + threadIdx.x] += 1;
}
// What it reads decides what it does, and it is large: a child keeps it for the host.
__global__ void sums(const int* in, int* out, int from, int to) {
    int i = from + blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
    if (i < to && in[i] > -1000000) {
        for (int r = 0; r < 4096; r++) sum += in[from + ((i + r) & 31)];
        out[i] = sum & 7;
    }
}
struct Touched { const int* first; int count; bool writes; };
static std::vector<Touched> running;
static bool races = false;
static void launched(const int* data, int from, int to, bool writes) {
    if (from < to) running.push_back({data + from, to - from, writes});
}
static void by_host(int* place, bool writes) {
    for (Touched& t : running)
        races |= (writes || t.writes) && t.first <= place && place < t.first + t.count;
    volatile int* at = place;
    if (writes) *at = 1;
    else (void)*at;
}
int main(int, char** argv) {
    srand(atoi(argv[1]));
    int *a, *b, *device;
    cudaMallocManaged(&a, 1024);
    cudaMallocManaged(&b, 1024);
    cudaMalloc(&device, 1024);
    cudaMemset(device, 0, 1024);
    int* all[] = {a, b, variable, device};
    for (int step = 0; step < 16; ++step) {
        int *x = all[rand() % 4], *y = all[rand() % 4], from = rand() % 3 * 64, to = from + rand() % 64;
        switch (rand() % 10) {
        case 0: fill<<<2, 32>>>(x, from, to); launched(x, from, to, true); break;
        case 1: case 2:
            copy<<<2, 32>>>(x, y, from, to);
            launched(x, from, to, false);
            launched(y, from, to, true);
            break;
        case 3: reverse<<<1, 64>>>(x, from); launched(x, from, from + 64, true); break;
        case 4:
            if (x == y) break;
            scatter<<<1, 64>>>(x, y, from);
            launched(x, 0, 64, false);
            launched(y, from, from + 64, true);
            break;
        case 9:
            if (x == y || from == to) break;
            sums<<<2, 32>>>(x, y, from, to);
            launched(x, from, from + 32, false);
            launched(x, from, to, false);
            launched(y, from, to, true);
            break;
        case 5: cudaDeviceSynchronize(); running.clear(); break;
        default: if (x != device) by_host(x + rand() % 256, rand() % 3 == 0);
        }
    }
    puts(races ? "races" : "no race");
    return cudaDeviceSynchronize();
}
"#;

/// The number of launches that ran bare in the last run.
fn launches_proved(folder: &Path) -> u64 {
    let text = std::fs::read_to_string(folder.join("report.json")).unwrap();
    let report: Value = serde_json::from_str(&text).unwrap();
    report["stats"]["launches_proved"].as_u64().unwrap()
}

/// The program itself says which runs race. With proofs, each run has all races that it has with all checks. It may
/// have more: the records of a checked launch replace those of earlier ones.
#[test]
fn random_accesses_by_the_host_race_as_with_all_checks() {
    let folder = work_folder("proofs_managed_random").unwrap();
    std::fs::write(folder.join("k.cu"), SOURCE).unwrap();
    compile(&["-fsanitize=gpurace", "k.cu", "-o", "k"], &folder).unwrap();
    compile(&["-fsanitize=gpurace", "-fgpurace-prune=off", "k.cu", "-o", "off"], &folder).unwrap();
    let cache = format!("cache_dir={}", folder.join("cache").display());
    let run = |program: &str, seed: usize| {
        let run = run_checked(&folder.join(program), &[&seed.to_string()], &cache, &folder).unwrap();
        let sides = |race: &Race| {
            let mut sides = race.accesses.each_ref().map(|access| (access.line, access.op.clone()));
            sides.sort();
            sides
        };
        let races: BTreeSet<_> = run.report.unwrap().races.iter().map(sides).collect();
        (run.outcome.stdout.trim() == "races", races, launches_proved(&folder))
    };
    let (mut racy, mut missed, mut bare) = (0, 0, 0);
    for seed in 0..60 {
        let (races, found, proved) = run("k", seed);
        let (_, with_all_checks, _) = run("off", seed);
        assert!(found.is_superset(&with_all_checks), "seed {seed}: {found:?}, {with_all_checks:?}");
        assert!(races || found.is_empty(), "seed {seed}: {found:?}");
        missed += usize::from(races && found.is_empty());
        racy += usize::from(races);
        bare += proved;
    }
    assert!(
        (8..=52).contains(&racy) && missed <= 3 && bare >= 60,
        "{racy} racy, {missed} missed, {bare} bare"
    );
}

/// A launch runs bare. It is repeated only if the host touches what it touches before it waits.
#[test]
fn launches_that_the_host_waits_for_run_bare() {
    let source = r#"
#include <cstdlib>
__global__ void saxpy(int n, float a, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
__global__ void bins(int n, const float* x, int* count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(count + (int)x[i] % 8, 1);
}
int main(int, char** argv) {
    float *x, *y, *z;
    int* count;
    cudaMallocManaged(&x, 4096);
    cudaMallocManaged(&y, 4096);
    cudaMallocManaged(&z, 4096);
    cudaMallocManaged(&count, 32);
    for (const char* step = argv[1]; *step; ++step)
        switch (*step) {
        case 's': saxpy<<<4, 256>>>(1000, 2, x, y); break;
        case 'b': bins<<<4, 256>>>(1000, y, count); break;
        case 'w': cudaDeviceSynchronize(); break;
        case 'h': *(volatile float*)(y + 10) = 1; break;
        case 'r': (void)*(volatile float*)(x + 10); break;
        case 'o': *(volatile float*)(z + 10) = 1; break;
        case 'e': *(volatile float*)(y + 1010) = 1; break;
        }
    return cudaDeviceSynchronize();
}
"#;
    let folder = work_folder("proofs_managed").unwrap();
    std::fs::write(folder.join("k.cu"), source).unwrap();
    compile(&["-fsanitize=gpurace", "k.cu", "-o", "k"], &folder).unwrap();
    compile(&["-fsanitize=gpurace", "-fgpurace-prune=off", "k.cu", "-o", "off"], &folder).unwrap();
    let run = |program: &str, steps: &str| {
        let run = run_checked(&folder.join(program), &[steps], "cache_dir=", &folder).unwrap();
        let report = run.report.unwrap();
        (report.races.len(), launches_proved(&folder), report.stats.checks_executed > 0)
    };
    // The host waits, or touches what the launch only reads, other memory, or the rest of the array.
    for steps in ["s", "swh", "sr", "so", "se", "ssswhsswhow", "swhswhswhs"] {
        let launches = steps.matches('s').count() as u64;
        assert_eq!(run("k", steps), (0, launches, false), "{steps}");
    }
    // The launch is repeated, and later ones of the kernel are checked.
    for (steps, proved) in [("sh", 1), ("shsws", 1), ("swsh", 2), ("soh", 1)] {
        let (races, bare, checks) = run("k", steps);
        assert!(races > 0 && checks && bare == proved, "{steps}: {races} races, {bare} bare");
    }
    // A launch that is checked comes before it or behind it.
    for (steps, is_racy) in [("sbw", false), ("sbh", true), ("sbwh", false), ("bsh", true), ("bsr", false)] {
        let races = run("k", steps).0;
        assert_eq!((races > 0, races), (is_racy, run("off", steps).0), "{steps}");
    }
}

/// A launch that cannot be repeated runs bare too, if it is large. A child checks it if the host touches what it
/// touches before it waits.
#[test]
fn large_launches_are_kept_in_reserve_for_the_host() {
    let source = r#"
#include <cstdio>
#include <cstdlib>
__global__ void sums(int n, const int* mask, const int* in, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
    if (i < n && mask[i]) {
        for (int r = 0; r < 1024; r++) sum += in[(i + r) & 127];
        out[i] = sum;
        if (i == 5) printf("once\n");
    }
}
__global__ void small(const int* mask, int* out) {
    if (mask[threadIdx.x]) out[threadIdx.x] = 1;
}
int main(int, char** argv) {
    int *mask, *in, *out, *far;
    for (int** array : {&mask, &in, &out, &far}) cudaMallocManaged(array, 4096);
    for (int i = 0; i < 1024; i++) mask[i] = i % 2, in[i] = i;
    for (const char* step = argv[1]; *step; ++step)
        switch (*step) {
        case 'k': sums<<<4, 256>>>(1000, mask, in, out); break;
        case 'p': small<<<1, 256>>>(mask, out); break;
        case 'w': cudaDeviceSynchronize(); break;
        case 'h': *(volatile int*)(out + 5) = 1; break;
        case 'm': *(volatile int*)(mask + 4) = 0; break;
        case 'n': *(volatile int*)(out + 4) = 1; break;
        case 'r': (void)*(volatile int*)(in + 10); break;
        case 'o': *(volatile int*)(far + 10) = 1; break;
        case 'c': (void)cudaGetLastError(); break;
        }
    return cudaDeviceSynchronize();
}
"#;
    let folder = work_folder("proofs_reserve").unwrap();
    std::fs::write(folder.join("k.cu"), source).unwrap();
    compile(&["-fsanitize=gpurace", "k.cu", "-o", "k"], &folder).unwrap();
    let run = |steps: &str| {
        let run = run_checked(&folder.join("k"), &[steps], "cache_dir=", &folder).unwrap();
        let report = run.report.unwrap();
        // The child prints nothing.
        assert_eq!(run.outcome.stdout.matches("once").count(), steps.matches('k').count(), "{steps}");
        (report.races.len(), launches_proved(&folder), report.stats.checks_executed > 0)
    };
    // The host waits, or touches other memory, what the launch only reads, or what its branch leaves out.
    for (steps, proved) in [("k", 1), ("kwhk", 2), ("kckwh", 2), ("kr", 1), ("ko", 1), ("kkkkwkkkkw", 8)] {
        assert_eq!(run(steps), (0, proved, false), "{steps}");
    }
    // No thread has touched it, but one might have: the child finds that.
    assert_eq!(run("kn"), (0, 1, true));
    // Each of its accesses is known, also if the host asks several times. Later launches of the kernel are checked.
    for (steps, races, proved) in
        [("kh", 1, 1), ("km", 1, 1), ("kncm", 1, 1), ("khcm", 2, 1), ("kwkhwk", 1, 2)]
    {
        let found = run(steps);
        assert_eq!(found, (races, proved, true), "{steps}");
    }
    // More than four, or few accesses: checked.
    assert_eq!(run("kkkkk"), (0, 4, true));
    assert_eq!(run("p"), (0, 0, true));
}
