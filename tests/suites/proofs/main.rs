//! Proofs from the compiler to the launch: they remove checks at compile time and at the launch, and
//! no race is lost.
//!
//! | module | what it tests |
//! |---|---|
//! | this one | conditions, launches and kept answers, on the kernels of [`SOURCE`] |
//! | [`alike`] | launches that make the same accesses as one that was checked |
//! | [`arrays`] | shared arrays that are accessed at loaded places |
//! | [`indices`] | indices that a launch loads |
//! | [`objects`] | textures, and pointers in structs |
//! | [`butterflies`] | exchanges at distances that each launch is given |
//! | [`copies`] | asynchronous copies that are waited for |
//! | [`members`] | mbarriers beside tiles, in a struct or in dynamic shared memory |
//! | [`mbarriers`] | mbarriers at which all threads of a block meet |
//! | [`managed`] | managed memory, which the host may access too |
//! | [`named`] | named barriers: warps that meet, and loops that hand over |
//! | [`phases`] | rings of tiles whose mbarriers threads know by the parity of their phases |
//! | [`rows`] | rows that loops walk in part |
//! | [`swapped`] | buffers that change places in loops |
//! | [`fields`] | numbers that share a register, such as the ranks of tiles |
//! | [`grid`] | loops over a barrier of the grid, whose end loaded numbers decide |
//! | [`told`] | which thread writes, and how many elements there are, told through shared memory |
//! | [`covered`] | reads that another access's check stands for |
//! | [`warnings`] | warnings, remarks and facts of the compiler |

mod alike;
mod arrays;
mod butterflies;
mod constants;
mod copies;
mod covered;
mod fields;
mod grid;
mod indices;
mod managed;
mod mbarriers;
mod members;
mod named;
mod objects;
mod phases;
mod rounds;
mod rows;
mod swapped;
mod told;
mod warnings;
mod words;

use std::path::{Path, PathBuf};

use gpurace_tests::toolchain::{Outcome, compile, run_checked, work_folder};
use serde_json::Value;

/// Runs kernels of a source one by one, each with proofs and with every check. A kernel has races in both or, if it is
/// `clean`, in neither, and no check is left with proofs if it is `proved`. How many pairs of lines race may depend on
/// which blocks run side by side.
fn compare(
    source: &str,
    name: &str,
    kernels: std::ops::RangeInclusive<usize>,
    clean: &[usize],
    proved: &[usize],
) {
    let folder = work_folder(name).unwrap();
    std::fs::write(folder.join("k.cu"), source).unwrap();
    for (program, proofs) in [("k", "launch"), ("off", "off")] {
        let prune = format!("-fgpurace-prune={proofs}");
        compile(&["-fsanitize=gpurace", "-std=c++17", &prune, "k.cu", "-o", program], &folder).unwrap();
    }
    let run = |program: &str, which: usize| {
        let outcome =
            run_checked(&folder.join(program), &[&which.to_string()], "cache_dir=", &folder).unwrap();
        let report = outcome.report.unwrap();
        (report.races.len(), report.stats.checks_executed)
    };
    for which in kernels {
        let (races, checks) = run("k", which);
        let is_clean = clean.contains(&which);
        assert_eq!([races, run("off", which).0].map(|races| races == 0), [is_clean; 2], "kernel {which}");
        assert_eq!(checks == 0, proved.contains(&which), "kernel {which}");
    }
}

/// Kernels that are proved under conditions. The program's arguments choose the launches.
const SOURCE: &str = r#"
#include <cstdlib>
__global__ void saxpy(int n, float a, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
__global__ void rows(int pitch, int width, int* out) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column < width) out[row * pitch + column] = column;
}
__global__ void through(const int* index, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[index[index[i]]] = i;
    __shared__ int tile[64];
    tile[threadIdx.x] = i;
    __syncthreads();
    out[64 + i] = tile[63 - threadIdx.x];
}
__global__ void bins(int n, const int* bin, int* own, int* count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) own[i] = i;
    count[bin[bin[i]]] += 1;
}
__global__ void scatter(int n, const int* to, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && to[i] >= 0) out[to[i]] = i;
}
__global__ void compact(int n, const char* flag, const int* scan, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && flag[i]) out[scan[i]] = i;
}
__global__ void fill_rows(int n, const int* first, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) for (int e = first[i]; e < first[i + 1]; ++e) out[e] = i;
}
__global__ void pairs(int n, int taken, int* next, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int at = atomicAdd(next, taken);
    out[at] = i;
    out[at + 1] = -i;
}
__global__ void last_block(bool again, int* done, int* out) {
    __shared__ int tile[64];
    __shared__ bool last;
    int t = threadIdx.x;
    if (t == 0) last = atomicAdd(done, 1) == gridDim.x - 1;
    __syncthreads();
    bool mine = last;
    if (again && t == 0) last = false;
    if (mine) {
        tile[t] = t;
        __syncthreads();
        out[t] = tile[63 - t];
    }
    __syncthreads();
    tile[63 - t] = t;
}
int main(int argc, char** argv) {
    float* memory;
    int* count;
    cudaMalloc(&memory, 1 << 16);
    cudaMalloc(&count, 256);
    cudaMemset(memory, 0, 1 << 16);
    int* integers = (int*)memory;
    int host[64];
    for (int i = 0; i < 64; ++i) host[i] = 63 - i;
    for (int a = 1; a < argc; ++a) {
        cudaStream_t s, t;
        switch (argv[a][0]) {
        case 'p': saxpy<<<4, 256>>>(1000, 2, memory, memory + 4096); break;
        case 'o': saxpy<<<4, 256>>>(1000, 2, memory, memory + 8); break;
        case 'y': saxpy<<<4, dim3(128, 2)>>>(1000, 2, memory, memory + 4096); break;
        case 'r': rows<<<dim3(2, 2), dim3(16, 4)>>>(32, 32, integers); break;
        case 'n': rows<<<dim3(2, 2), dim3(16, 4)>>>(16, 32, integers); break;
        case 'd':
            cudaMemcpy(integers, host, sizeof host, cudaMemcpyHostToDevice);
            through<<<1, 64>>>(integers, integers + 1024);
            break;
        case 'b': case 'B': case 'z':
            // Thread 5 has the bin of thread 40 only with `B`.
            if (argv[a][0] == 'B') host[5] = host[40];
            cudaMemcpy(integers, host, sizeof host, cudaMemcpyHostToDevice);
            bins<<<2, argv[a][0] == 'z' ? dim3(16, 2) : dim3(32)>>>(64, integers, integers + 256, count);
            break;
        case 'i': case 'I':
            // Two threads lead nowhere. Only with `I` do two lead to one element.
            for (int i = 0; i < 64; ++i) host[i] = i % 32 ? 63 - i : -1;
            if (argv[a][0] == 'I') host[5] = host[40];
            cudaMemcpy(integers, host, sizeof host, cudaMemcpyHostToDevice);
            scatter<<<2, 32>>>(64, integers, integers + 1024);
            break;
        case 'c': case 'C': {
            // A flag that the scan does not count is set only with `C`.
            char flags[64];
            for (int i = 0, sum = 0; i < 64; ++i) flags[i] = i % 3 == 1, host[i] = sum, sum += flags[i];
            if (argv[a][0] == 'C') flags[30] = 1;
            cudaMemcpy(integers, host, sizeof host, cudaMemcpyHostToDevice);
            cudaMemcpy(integers + 64, flags, 64, cudaMemcpyHostToDevice);
            compact<<<2, 32>>>(64, (char*)(integers + 64), integers, integers + 1024);
            break;
        }
        case 'f': case 'F':
            // The rows overlap only with `F`.
            for (int i = 0; i < 64; ++i) host[i] = 2 * i;
            if (argv[a][0] == 'F') host[40] += 3;
            cudaMemcpy(integers, host, sizeof host, cudaMemcpyHostToDevice);
            fill_rows<<<2, 32>>>(63, integers, integers + 1024);
            break;
        case 't': case 'T':
            cudaMemset(count, 0, 256);
            pairs<<<4, 64>>>(200, argv[a][0] == 't' ? 2 : 1, count, integers);
            break;
        case 'l': case 'L':
            cudaMemset(count, 0, 256);
            last_block<<<4, 64>>>(argv[a][0] == 'L', count, integers);
            break;
        case 's':
            cudaStreamCreate(&s);
            cudaStreamCreate(&t);
            saxpy<<<4, 256, 0, s>>>(1000, 2, memory, memory + 4096);
            saxpy<<<4, 256, 0, t>>>(1000, 2, memory, memory + 4096);
            break;
        }
    }
    return cudaDeviceSynchronize();
}
"#;

struct Program {
    folder: PathBuf,
}

/// The output and the report of a run.
struct Run {
    report: Value,
    outcome: Outcome,
}

impl Program {
    fn new(test: &str, flags: &[&str]) -> Self {
        let folder = work_folder(&format!("proofs_{test}")).unwrap();
        std::fs::write(folder.join("k.cu"), SOURCE).unwrap();
        let all = [&["-fsanitize=gpurace", "k.cu", "-o", "k"][..], flags].concat();
        compile(&all, &folder).unwrap();
        Self { folder }
    }

    fn run(&self, launches: &[&str]) -> Run {
        self.run_with(launches, "cache_dir=")
    }

    fn run_with(&self, launches: &[&str], options: &str) -> Run {
        let checked = run_checked(&self.folder.join("k"), launches, options, &self.folder).unwrap();
        let text = std::fs::read_to_string(self.folder.join("report.json")).unwrap();
        Run { report: serde_json::from_str(&text).unwrap(), outcome: checked.outcome }
    }
}

impl Run {
    fn races(&self) -> usize {
        self.report["races"].as_array().unwrap().len()
    }

    fn checks(&self) -> u64 {
        self.report["stats"]["checks_executed"].as_u64().unwrap()
    }

    /// Returns the numbers of sites that are proved, proved at launch and checked, in the first
    /// kernel that was launched.
    fn sites(&self) -> [u64; 3] {
        let sites = &self.report["stats"]["kernels"][0]["sites"];
        let of = |name: &str| sites[name].as_u64().unwrap();
        let all = [of("proved"), of("proved_at_launch"), of("checked")];
        assert_eq!(all.iter().sum::<u64>(), of("total"));
        all
    }
}

#[test]
fn a_launch_in_which_all_is_proved_runs_no_check() {
    let program = Program::new("bare", &[]);
    let run = program.run(&["p"]);
    assert_eq!((run.races(), run.checks(), run.sites()), (0, 0, [0, 3, 0]));
    assert_eq!(run.report["stats"]["launches_unchecked"], 0);
}

#[test]
fn a_condition_that_fails_brings_the_checks_back() {
    for prune in ["compile", "launch"] {
        let program = Program::new(&format!("conditions_{prune}"), &[&format!("-fgpurace-prune={prune}")]);
        // Threads of two rows compute the same index.
        let run = program.run(&["y"]);
        assert_eq!((run.races(), run.outcome.status), (2, Some(66)), "{}", run.outcome.stderr);
        assert!(run.checks() > 0);
        // `y` overlaps `x`.
        let run = program.run(&["o"]);
        assert!(run.races() > 0 && run.checks() > 0, "{}", run.outcome.stderr);
        // With one launch of each kind the least count holds. Each launch is judged by itself. The
        // read of `y` can only meet the write of `y` by its own thread.
        let run = program.run(&["p", "o", "p"]);
        assert!(run.races() > 0, "{}", run.outcome.stderr);
        assert_eq!(run.sites(), [0, 1, 2]);
    }
}

#[test]
fn a_launch_is_solved_with_its_values() {
    let program = Program::new("values", &["-fgpurace-prune=launch"]);
    let run = program.run(&["r"]);
    assert_eq!((run.races(), run.checks()), (0, 0), "{:?}", run.sites());
    // Rows of 32 elements overlap with a pitch of 16.
    let run = program.run(&["r", "n"]);
    assert_eq!(run.races(), 1, "{}", run.outcome.stderr);
}

#[test]
fn places_that_an_atomic_addition_gives_out_are_the_threads_own() {
    let program = Program::new("tickets", &[]);
    let run = program.run(&["t"]);
    assert_eq!((run.races(), run.checks()), (0, 0), "{:?}", run.sites());
    // Each thread takes one place and writes to two.
    let run = program.run(&["t", "T"]);
    assert_eq!(run.races(), 1, "{}", run.outcome.stderr);
    let lines: std::collections::BTreeSet<_> = run.report["races"][0]["accesses"]
        .as_array()
        .unwrap()
        .iter()
        .map(|access| access["line"].as_u64().unwrap())
        .collect();
    assert_eq!(lines, [line_of("out[at] = i"), line_of("out[at + 1] = -i")].into());
}

/// A barrier of the threads that have read one flag.
#[test]
fn what_one_thread_says_to_all_orders_them() {
    let program = Program::new("broadcast", &[]);
    let run = program.run(&["l"]);
    let [proved, at_launch, checked] = run.sites();
    // One launch's `out` is written by one block alone, but only the counter says so.
    assert!(proved + at_launch >= 5 && checked <= 1, "{:?}", run.sites());
    assert_eq!(run.races(), 0, "{}", run.outcome.stderr);
    // Thread 0 writes while others may still read.
    let run = program.run(&["L"]);
    let races = run.report["races"].as_array().unwrap();
    let line = |race: &Value, side: usize| race["accesses"][side]["line"].as_u64().unwrap();
    let pairs: Vec<_> = races.iter().map(|race| [line(race, 0), line(race, 1)]).collect();
    let wanted = [line_of("bool mine = last"), line_of("last = false")];
    assert!(pairs.iter().any(|pair| *pair == wanted || [pair[1], pair[0]] == wanted), "{pairs:?}");
}

#[test]
fn what_is_not_proved_is_checked_beside_what_is() {
    let program = Program::new("beside", &[]);
    let run = program.run(&["d"]);
    let [proved, at_launch, checked] = run.sites();
    // What `index` holds elsewhere repeats.
    assert!(checked > 0 && proved + at_launch > 0, "{:?}", run.sites());
    assert_eq!(run.races(), 0, "{}", run.outcome.stderr);
    let all = Program::new("beside_off", &["-fgpurace-prune=off"]).run(&["d"]);
    assert_eq!(all.sites()[2], proved + at_launch + checked);
    assert!(0 < run.checks() && run.checks() < all.checks());
}

/// A kernel with proved and open sites has code without the checks of the proved ones. A launch that meets no
/// condition of theirs runs the other code.
#[test]
fn code_for_open_sites_finds_their_races_and_no_launch_runs_it_too_soon() {
    let program = Program::new("open", &[]);
    let code = std::fs::read(program.folder.join("k")).unwrap();
    let has_open_code = |kernel: &str| {
        let symbol = format!("gpurace.open.{kernel}");
        code.windows(symbol.len()).any(|bytes| bytes == symbol.as_bytes())
    };
    assert!(has_open_code("_Z4bins") && !has_open_code("_Z5saxpy"));
    let run = program.run(&["b"]);
    assert_eq!(run.races(), 0, "{}", run.outcome.stderr);
    // The check of the write stands for the read.
    assert_eq!(run.checks(), 64, "{:?}", run.sites());
    let lines = |run: &Run| {
        let races = run.report["races"].as_array().unwrap();
        let line = |race: &Value| race["accesses"][0]["line"].as_u64().unwrap();
        races.iter().map(line).collect::<std::collections::BTreeSet<_>>()
    };
    let [own, count] = [line_of("own[i] = i"), line_of("count[bin[bin[i]]] += 1")];
    assert_eq!(lines(&program.run(&["B"])), [count].into());
    // The first row of a block has the indices of the second row.
    assert_eq!(lines(&program.run(&["z"])), [own, count].into());
    assert_eq!(lines(&program.run(&["b", "z"])), [own, count].into());
}

/// The line of the source that holds a text.
fn line_of(text: &str) -> u64 {
    SOURCE.lines().position(|line| line.contains(text)).unwrap() as u64 + 1
}

#[test]
fn concurrent_launches_that_meet_are_found() {
    let program = Program::new("streams", &[]);
    let run = program.run(&["s"]);
    assert!(run.races() > 0, "{}", run.outcome.stderr);
    assert_eq!(run.report["races"][0]["scope"], "device");
}

#[test]
fn proofs_are_off_where_they_are_to_be() {
    let run = Program::new("off", &["-fgpurace-prune=off"]).run(&["p"]);
    assert_eq!((run.races(), run.sites()), (0, [0, 0, 3]));
    assert!(run.checks() >= 3000);
}

/// The prover knows the barrier of a cooperative launch's grid. If its two halves are called apart,
/// the accesses between them are not ordered by it.
#[test]
fn barriers_of_the_grid_order_blocks() {
    let source = r#"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void whole(int* a, int* b, int n) {
    auto grid = cg::this_grid();
    for (int i = grid.thread_rank(); i < n; i += grid.size()) a[i] = i;
    grid.sync();
    for (int i = grid.thread_rank(); i < n; i += grid.size()) b[i] = a[n - 1 - i];
}
__global__ void parts(int* a, int* b, int n) {
    auto grid = cg::this_grid();
    auto token = grid.barrier_arrive();
    for (int i = grid.thread_rank(); i < n; i += grid.size()) a[i] = i;
    grid.barrier_wait(std::move(token));
    for (int i = grid.thread_rank(); i < n; i += grid.size()) b[i] = a[n - 1 - i];
}
int main(int argc, char** argv) {
    int *a, *b, n = 500;
    cudaMalloc(&a, 4 * n);
    cudaMalloc(&b, 4 * n);
    void* args[] = {&a, &b, &n};
    cudaLaunchCooperativeKernel(argv[1][0] == 'w' ? (void*)whole : (void*)parts, 4, 64, args, 0, 0);
    return cudaDeviceSynchronize();
}
"#;
    let folder = work_folder("proofs_grid_barrier").unwrap();
    std::fs::write(folder.join("k.cu"), source).unwrap();
    compile(&["-fsanitize=gpurace", "k.cu", "-o", "k"], &folder).unwrap();
    let run =
        |launch| run_checked(&folder.join("k"), &[launch], "cache_dir=", &folder).unwrap().report.unwrap();
    let whole = run("whole");
    assert_eq!((whole.stats.checks_executed, whole.races.len()), (0, 0));
    let parts = run("parts");
    let lines: Vec<_> =
        parts.races.iter().flat_map(|race| &race.accesses).map(|access| access.line.unwrap()).collect();
    assert!(lines.contains(&13) && lines.contains(&15), "{lines:?}");
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found
}

#[test]
fn answers_are_kept_between_runs_and_damaged_ones_ignored() {
    let program = Program::new("cache", &[]);
    let cache = program.folder.join("cache");
    let options = format!("cache_dir={}", cache.display());
    let run = || program.run_with(&["d"], &options);
    let first = run();
    let kept = files(&cache);
    // The solver is asked without and with what the memory holds.
    assert_eq!(kept.len(), 2, "one configuration of one kernel");
    let written = std::fs::metadata(&kept[0]).unwrap().modified().unwrap();
    let second = run();
    assert_eq!(second.sites(), first.sites());
    assert_eq!(std::fs::metadata(&kept[0]).unwrap().modified().unwrap(), written);
    for damage in [&b""[..], b"not ours at all", &[0xff; 200]] {
        std::fs::write(&kept[0], damage).unwrap();
        assert_eq!(run().sites(), first.sites());
        assert_ne!(std::fs::read(&kept[0]).unwrap(), damage, "it is written again");
    }
}

/// A loop of launches changes one value. The first launch is solved alone. The second one asks what holds for all
/// that have the other values, and the rest ask nothing. A launch with another of these values is solved again.
#[test]
fn a_loop_of_launches_asks_the_solver_twice() {
    let source = r#"
#include <cstdlib>
__global__ void eliminate(float* a, int n, int k) {
    int j = k + 1 + blockIdx.x * blockDim.x + threadIdx.x;
    int i = k + 1 + blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < n) a[i * n + j] -= a[i * n + k] * a[k * n + j];
}
__global__ void place(float* a, int pitch, int k) {
    a[threadIdx.y * pitch + 2 * threadIdx.x + k] = k;
}
int main(int argc, char** argv) {
    float* a;
    cudaMalloc(&a, 1 << 16);
    cudaMemset(a, 0, 1 << 16);
    int n = 40;
    for (int arg = 1; arg < argc; arg++) {
        int k = atoi(argv[arg] + 1);
        switch (argv[arg][0]) {
        case 'l': for (int i = 1; i <= k; i++) eliminate<<<dim3(3, 3), dim3(16, 16)>>>(a, n, i); break;
        case 'k': eliminate<<<dim3(3, 3), dim3(16, 16)>>>(a, n, k); break;
        case 'p': place<<<1, dim3(16, 4)>>>(a, 32, k); break;
        case 'q': place<<<1, dim3(16, 4)>>>(a, 30, k); break;
        }
    }
    return cudaDeviceSynchronize();
}
"#;
    let folder = work_folder("proofs_loop").unwrap();
    std::fs::write(folder.join("k.cu"), source).unwrap();
    compile(&["-fsanitize=gpurace", "k.cu", "-o", "k"], &folder).unwrap();
    // Each question leaves an answer in the cache.
    let run = |launches: &[&str]| {
        let cache = folder.join("cache");
        let _ = std::fs::remove_dir_all(&cache);
        let options = format!("cache_dir={}", cache.display());
        let mut all = Vec::new();
        for _ in 0..2 {
            let report = run_checked(&folder.join("k"), launches, &options, &folder).unwrap().report.unwrap();
            let folders = std::fs::read_dir(cache.join("launches")).unwrap();
            let asked = folders.flat_map(|of| std::fs::read_dir(of.unwrap().path()).unwrap()).count();
            all.push((report.races.len(), report.stats.checks_executed, asked));
        }
        assert_eq!(all[0], all[1], "the answers of the cache change something");
        all[0]
    };
    assert_eq!(run(&["k1"]), (0, 0, 1));
    assert_eq!(run(&["l2"]), (0, 0, 2));
    assert_eq!(run(&["l38"]), (0, 0, 2));
    // With another pitch, the rows meet. The conditions of the proof do not say so: it knows the pitch.
    assert_eq!(run(&["p0", "p1", "p2", "p3"]), (0, 0, 2));
    let (races, checks, _) = run(&["p0", "p1", "q2"]);
    assert!(races > 0 && checks > 0);
    let (races, ..) = run(&["q0", "q1", "p2", "q3"]);
    assert!(races > 0);
}

/// An optional array is a null pointer where a launch has none. Its address is the same in each run.
#[test]
fn answers_about_null_pointers_are_kept() {
    let source = r#"
__global__ void place(float* a, const float* offsets, int pitch) {
    int at = threadIdx.y * pitch + 2 * threadIdx.x;
    a[at] = offsets ? offsets[threadIdx.x] : 1;
}
int main() {
    float* a;
    cudaMalloc(&a, 1 << 16);
    place<<<1, dim3(16, 4)>>>(a, nullptr, 32);
    return cudaDeviceSynchronize();
}
"#;
    let folder = work_folder("proofs_null").unwrap();
    std::fs::write(folder.join("k.cu"), source).unwrap();
    compile(&["-fsanitize=gpurace", "k.cu", "-o", "k"], &folder).unwrap();
    let cache = folder.join("cache");
    let options = format!("cache_dir={}", cache.display());
    for _ in 0..2 {
        let report = run_checked(&folder.join("k"), &[], &options, &folder).unwrap().report.unwrap();
        assert_eq!((report.races.len(), report.stats.checks_executed), (0, 0));
        assert_eq!(files(&cache).len(), 1, "one answer for all runs");
    }
}
