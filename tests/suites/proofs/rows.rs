//! Rows that loops walk in part, by bounds that differ between threads.

use gpurace_tests::toolchain::{compile, run_checked, work_folder};

const SOURCE: &str = r#"
#include <cstdlib>
// A quarter of a turn in place: each thread turns a ring. With `more`, the ring's sides are longer than the ring.
template <int more> __global__ void turn(float* m, int n) {
    int first = blockIdx.x * blockDim.x + threadIdx.x;
    if (first >= n / 2) return;
    int last = n - 1 - first;
    for (int i = first; i < last + more; i++) {
        int back = last - (i - first);
        float top = m[first * n + i];
        m[first * n + i] = m[back * n + first];
        m[back * n + first] = m[last * n + back];
        m[last * n + back] = m[i * n + last];
        m[i * n + last] = top;
    }
}
// The lower half is copied to the upper one. With `more`, rows are longer than their part of the half.
template <int more> __global__ void mirror(float* m, int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n) return;
    for (int i = 0; i < row + more; i++) m[i * n + row] = m[row * n + i];
}
int main(int, char** argv) {
    float* m;
    cudaMalloc(&m, 128 * 128 * sizeof(float));
    cudaMemset(m, 0, 128 * 128 * sizeof(float));
    switch (atoi(argv[1])) {
    case 0: turn<0><<<4, 32>>>(m, 100); break;
    case 1: mirror<0><<<4, 32>>>(m, 100); break;
    case 2: turn<3><<<4, 32>>>(m + 1024, 100); break;
    case 3: mirror<2><<<4, 32>>>(m, 100); break;
    }
    return cudaDeviceSynchronize();
}
"#;

#[test]
fn rows_that_are_walked_in_part_are_proved_while_they_stay_apart() {
    let folder = work_folder("proofs_rows").unwrap();
    std::fs::write(folder.join("k.cu"), SOURCE).unwrap();
    compile(&["-fsanitize=gpurace", "k.cu", "-o", "k"], &folder).unwrap();
    for (which, is_proved) in [(0, true), (1, true), (2, false), (3, false)] {
        let run = run_checked(&folder.join("k"), &[&which.to_string()], "cache_dir=", &folder).unwrap();
        let report = run.report.unwrap();
        assert_eq!(report.stats.checks_executed == 0, is_proved, "kernel {which}");
        assert_eq!(report.races.is_empty(), is_proved, "kernel {which}");
    }
}
