//! Shared arrays that are accessed at loaded places.

use gpurace_tests::toolchain::{compile, run_checked, work_folder};

/// Kernels that count numbers. `halves` has one piece of memory, of which a loaded number says where the second part
/// begins.
const SOURCE: &str = r#"
#include <cstdlib>
__global__ void beside(const int* key, int* out) {
    __shared__ int bins[64];
    __shared__ int sum[1];
    bins[threadIdx.x] = 0;
    if (threadIdx.x == 0) sum[0] = 0;
    __syncthreads();
    atomicAdd(&bins[key[threadIdx.x]], 1);
    __syncthreads();
    atomicAdd(&sum[0], bins[threadIdx.x]);
    __syncthreads();
    out[threadIdx.x] = sum[0];
}
__global__ void dynamic(const int* key, int* out) {
    extern __shared__ int counts[];
    __shared__ int sum[1];
    counts[threadIdx.x] = 0;
    if (threadIdx.x == 0) sum[0] = 0;
    __syncthreads();
    atomicAdd(&counts[key[threadIdx.x]], 1);
    __syncthreads();
    atomicAdd(&sum[0], counts[threadIdx.x]);
    __syncthreads();
    out[threadIdx.x] = sum[0];
}
__global__ void unordered(const int* key, int* out) {
    __shared__ int bins[64];
    __shared__ int sum[1];
    bins[threadIdx.x] = 0;
    if (threadIdx.x == 0) sum[0] = 0;
    atomicAdd(&bins[key[threadIdx.x]], 1);
    __syncthreads();
    atomicAdd(&sum[0], bins[threadIdx.x]);
    __syncthreads();
    out[threadIdx.x] = sum[0];
}
__global__ void halves(const int* key, int* out) {
    extern __shared__ int memory[];
    int* bins = memory;
    int* sum = memory + key[64];
    bins[threadIdx.x] = 0;
    if (threadIdx.x == 0) sum[0] = 0;
    __syncthreads();
    atomicAdd(&bins[key[threadIdx.x]], 1);
    __syncthreads();
    if (threadIdx.x == 0) sum[0] = bins[0];
    out[threadIdx.x] = bins[threadIdx.x];
}
int main(int, char** argv) {
    int keys[65], *key, *out;
    for (int i = 0; i < 64; ++i) keys[i] = i * i % 64;
    keys[37] = atoi(argv[2]);
    keys[64] = 64;
    cudaMalloc(&key, sizeof keys);
    cudaMalloc(&out, 64 * sizeof(int));
    cudaMemcpy(key, keys, sizeof keys, cudaMemcpyHostToDevice);
    switch (argv[1][0]) {
    case 'b': beside<<<1, 64>>>(key, out); break;
    case 'd': dynamic<<<1, 64, 256>>>(key, out); break;
    case 'u': unordered<<<1, 64>>>(key, out); break;
    case 'h': halves<<<1, 64, 512>>>(key, out); break;
    }
    return cudaDeviceSynchronize() != cudaSuccess;
}
"#;

#[test]
fn accesses_at_loaded_places_are_proved_since_the_code_keeps_them_in_their_array() {
    for prune in ["compile", "launch", "off"] {
        let folder = work_folder(&format!("proofs_arrays_{prune}")).unwrap();
        std::fs::write(folder.join("k.cu"), SOURCE).unwrap();
        compile(&["-fsanitize=gpurace", &format!("-fgpurace-prune={prune}"), "k.cu", "-o", "k"], &folder)
            .unwrap();
        let run = |kernel: &str, key: &str| {
            run_checked(&folder.join("k"), &[kernel, key], "cache_dir=", &folder).unwrap().report.unwrap()
        };
        for (kernel, array, line) in [("beside", "bins", 9), ("dynamic", "counts", 21)] {
            let fine = run(kernel, "63");
            assert_eq!((fine.races.len(), fine.faults.len()), (0, 0), "{kernel} {prune}");
            // What the compiler proves of dynamic memory rests on its size, which the launch has.
            assert_eq!(fine.stats.checks_executed == 0, prune != "off", "{kernel} {prune}");

            // One thread leaves the array, for the next one or for what lies before it.
            for (key, distance) in [("64", 0), ("65", 4), ("-1", -4)] {
                let left = run(kernel, key);
                assert_eq!((left.races.len(), left.faults.len()), (0, 1), "{kernel} {prune} {key}");
                let fault = &left.faults[0];
                let object = fault.object.as_ref().unwrap();
                assert_eq!((object.name.as_deref(), object.size), (Some(array), Some(256)));
                let found = (fault.distance, fault.thread, fault.line);
                assert_eq!(found, (Some(distance), Some([37, 0, 0]), Some(line)));
            }
        }

        // Races within an array are found.
        assert_eq!(run("unordered", "63").races.len(), 1, "{prune}");
        // Only a launch knows how far apart two parts of one piece of memory lie.
        let halves = run("halves", "63");
        let is_checked = halves.stats.checks_executed > 0;
        assert_eq!((halves.races.len(), is_checked), (0, prune != "launch"), "{prune}");
        assert_eq!(run("halves", "64").races.len(), 0);
    }
}
