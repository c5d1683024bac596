//! Sizes and pointers in memory that a launch does not change. It reads them as it reads its arguments.

use gpurace_tests::toolchain::{compile, run_checked, work_folder};

/// Kernels whose places follow from words of memory. The program's argument chooses one, and what is in there.
const SOURCE: &str = r#"
#include <cstdlib>
struct Grid {
    int width, height;
    float *data, *mask;
    Grid* next;
    int count;
    float** rows;
};
struct Job { int n; float* to; };
__device__ float* result;
__device__ int width;
__device__ Grid device_grid;
__global__ void of_struct(const Grid* grid) {
    int x = threadIdx.x, y = blockIdx.x;
    if (x < grid->width && y < grid->height) grid->data[y * grid->width + x] = x;
    if (grid->mask) grid->mask[y * blockDim.x + x] = 1;
}
__global__ void of_variable(const float* in) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    result[i] = in[i + 1];
}
__global__ void of_device_struct() {
    int x = threadIdx.x, y = blockIdx.x;
    if (x < width) device_grid.data[y * width + x] = x;
}
__global__ void of_rows(float** rows) { rows[blockIdx.x][threadIdx.x] += 1; }
__global__ void of_rows_in_struct(const Grid* grid) {
    if (threadIdx.x < grid->width) grid->rows[blockIdx.x][threadIdx.x] += 1;
}
__global__ void of_jobs(const Job* jobs) {
    const Job& job = jobs[blockIdx.x];
    for (int i = threadIdx.x; i < 64; i += blockDim.x) job.to[i] = i;
}
__global__ void of_next(const Grid* grid) {
    grid->next->data[blockIdx.x * grid->next->width + threadIdx.x] = 1;
}
__global__ void counts(Grid* grid) {
    int x = threadIdx.x;
    if (x < grid->width) grid->data[blockIdx.x * grid->width + x] = x;
    atomicAdd(&grid->count, 1);
}
// One thread changes what the others read.
__global__ void moves() {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    result[i] = i;
    if (i == 0) result = result + 1;
}
__global__ void set_result(float* to) { result = to; }
template <class T> T* on_device(const T* values, int n) {
    T* copy;
    cudaMalloc(&copy, n * sizeof(T));
    cudaMemcpy(copy, values, n * sizeof(T), cudaMemcpyHostToDevice);
    return copy;
}
int main(int, char** argv) {
    int which = atoi(argv[1]);
    float *a, *b;
    cudaMalloc(&a, 16384);
    cudaMalloc(&b, 16384);
    cudaMemset(a, 0, 16384);
    cudaMemset(b, 0, 16384);
    float *apart[4] = {a, b, a + 64, b + 64}, *twice[4] = {a, b, b + 64, b + 64};
    Grid grid{64, 4, a, nullptr, nullptr, 0, on_device(apart, 4)}, other = grid;
    Grid* next = on_device(&grid, 1);
    Job jobs[4] = {{64, a}, {64, b}, {64, a + 64}, {64, b + 64}};
    switch (which) {
    case 0: of_struct<<<4, 64>>>(on_device(&grid, 1)); break;
    case 1: grid.mask = b; of_struct<<<4, 64>>>(on_device(&grid, 1)); break;
    // Rows overlap; the mask lies over the data; the data lies behind the struct, in its allocation.
    case 2: grid.width = 16; grid.mask = a; of_struct<<<4, 64>>>(on_device(&grid, 1)); break;
    case 3: grid.mask = a + 32; of_struct<<<4, 64>>>(on_device(&grid, 1)); break;
    case 4:
        grid.data = b + 32;
        cudaMemcpy(b, &grid, sizeof grid, cudaMemcpyHostToDevice);
        of_struct<<<4, 64>>>((Grid*)b);
        break;
    case 5: set_result<<<1, 1>>>(b); of_variable<<<4, 64>>>(a); break;
    case 6: set_result<<<1, 1>>>(a); of_variable<<<4, 64>>>(a); break;
    // Each launch has the words of its time.
    case 7: set_result<<<1, 1>>>(b); of_variable<<<4, 64>>>(a);
        set_result<<<1, 1>>>(a); of_variable<<<4, 64>>>(a);
        set_result<<<1, 1>>>(b); of_variable<<<4, 64>>>(a); break;
    case 8: set_result<<<1, 1>>>(a); moves<<<4, 64>>>(); break;
    // The pointer lies in what the launch writes.
    case 9: {
        void* place;
        cudaGetSymbolAddress(&place, result);
        set_result<<<1, 1>>>((float*)place);
        of_variable<<<1, 1>>>(a);
        break;
    }
    case 10: case 11: {
        int w = which == 10 ? 64 : 32;
        cudaMemcpyToSymbol(width, &w, sizeof w);
        cudaMemcpyToSymbol(device_grid, &grid, sizeof grid);
        if (which == 11) cudaMemset(a, 0, 4);
        of_device_struct<<<4, 64>>>();
        break;
    }
    case 12: of_rows<<<4, 64>>>(on_device(apart, 4)); break;
    case 13: of_rows<<<4, 64>>>(on_device(twice, 4)); break;
    case 14: of_rows_in_struct<<<4, 64>>>(on_device(&grid, 1)); break;
    case 15: grid.rows = on_device(twice, 4); of_rows_in_struct<<<4, 64>>>(on_device(&grid, 1)); break;
    case 16: of_jobs<<<4, 32>>>(on_device(jobs, 4)); break;
    case 17: jobs[3].to = a + 32; of_jobs<<<4, 32>>>(on_device(jobs, 4)); break;
    case 18: other.next = next; of_next<<<4, 64>>>(on_device(&other, 1)); break;
    case 19: grid.width = 32; other.next = on_device(&grid, 1); of_next<<<4, 64>>>(on_device(&other, 1)); break;
    // The count lies in the struct that the launch reads.
    case 20: counts<<<4, 64>>>(on_device(&grid, 1)); break;
    case 21:
        grid.data = b;
        cudaMemcpy(b, &grid, sizeof grid, cudaMemcpyHostToDevice);
        counts<<<1, 32>>>((Grid*)b);
        break;
    // One of the pointers leads into the array of pointers.
    case 22: {
        apart[3] = b;
        cudaMemcpy(b, apart, sizeof apart, cudaMemcpyHostToDevice);
        of_rows<<<4, 64>>>((float**)b);
        break;
    }
    }
    return cudaDeviceSynchronize();
}
"#;

#[test]
fn words_of_memory_are_arguments() {
    let clean = [0, 1, 4, 5, 10, 11, 12, 14, 16, 18, 20];
    // A single thread changes its pointer in the last one.
    let also_clean = [&clean[..], &[9]].concat();
    super::compare(SOURCE, "proofs_words", 0..=22, &also_clean, &clean);
}

/// Structs, arrays of pointers and what they lead to at random places of one allocation. The program's argument is the
/// seed.
const RANDOM: &str = r#"
#include <cstdlib>
struct Parts {
    int first, count, step;
    int *from, *to;
    int** rows;
    Parts* next;
};
__device__ Parts* current;
__global__ void copies(const Parts* p) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < p->count) p->to[p->first + i * p->step] = p->from[i];
}
__global__ void copies_from_next(const Parts* p) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < p->next->count) p->next->to[i * p->step] = p->from[p->next->first + i];
}
__global__ void rows(const Parts* p) {
    int i = threadIdx.x;
    if (i < p->count) p->rows[blockIdx.x][i * p->step] = p->from[i];
}
__global__ void of_current() {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < current->count) {
        int value = current->from[i];
        current->to[current->first + i] = value + current->step;
    }
}
static unsigned long long state;
int below(int n) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return int((state >> 33) % n);
}
int main(int, char** argv) {
    state = atoi(argv[1]);
    int kernel = below(4), *memory;
    cudaMallocManaged(&memory, 1 << 16);
    cudaMemset(memory, 0, 1 << 16);
    cudaDeviceSynchronize();
    // Half of the programs have all parts close to each other.
    int near = below(2) ? 8 : 200;
    auto place = [&] { return memory + 16 * below(near); };
    Parts parts[2], *places[2];
    int** array = (int**)place();
    for (int k = 0; k < 2; ++k) {
        places[k] = (Parts*)place();
        parts[k] = {below(3), 32 + below(64), below(3), place(), place(), array, nullptr};
    }
    parts[0].next = places[1];
    parts[1].next = places[0];
    if (places[0] + 1 > places[1] && places[1] + 1 > places[0]) return 0;
    int* pointers[2] = {place(), place()};
    memcpy(array, pointers, sizeof pointers);
    for (int k = 0; k < 2; ++k) memcpy(places[k], &parts[k], sizeof parts[k]);
    cudaMemcpyToSymbol(current, &places[0], sizeof current);
    switch (kernel) {
    case 0: copies<<<2, 32>>>(places[0]); break;
    case 1: copies_from_next<<<2, 32>>>(places[0]); break;
    case 2: rows<<<2, 32>>>(places[0]); break;
    case 3: of_current<<<2, 32>>>(); break;
    }
    cudaDeviceSynchronize();
}
"#;

/// A launch that runs without checks does not race without proofs either.
#[test]
fn no_launch_that_is_proved_by_loaded_words_races() {
    let folder = work_folder("proofs_random_words").unwrap();
    std::fs::write(folder.join("k.cu"), RANDOM).unwrap();
    for (program, proofs) in [("k", "launch"), ("off", "off")] {
        let prune = format!("-fgpurace-prune={proofs}");
        compile(&["-fsanitize=gpurace", "-include", "cstring", &prune, "k.cu", "-o", program], &folder)
            .unwrap();
    }
    let (mut proved, mut racing) = (0, 0);
    for seed in 0..60 {
        let run = |program: &str| {
            let outcome = run_checked(&folder.join(program), &[&seed.to_string()], "", &folder).unwrap();
            let report = outcome.report.unwrap();
            (!report.races.is_empty() || !report.faults.is_empty(), report.stats.checks_executed == 0)
        };
        let (races, is_proved) = run("k");
        assert_eq!(races, run("off").0, "seed {seed}");
        (proved, racing) = (proved + u32::from(is_proved), racing + u32::from(races));
    }
    assert!(proved > 10 && racing > 10, "{proved} proved, {racing} race");
}
