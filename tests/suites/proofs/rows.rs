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

/// A pointer or a number that an inner loop moves goes regularly through the loop around it.
#[test]
fn places_that_nested_loops_move() {
    let source = r#"
#include <cstdlib>
// The windows of a picture as columns of a matrix, one row for each place in a window.
__global__ void windows(const float* in, float* out, int width, int across, int places, int size) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= places) return;
    const float* from = in + i / across * width + i % across;
    float* to = out + i;
    for (int y = 0; y < size; ++y)
        for (int x = 0; x < size; ++x) {
            *to = from[y * width + x];
            to += places;
        }
}
// Each thread writes a box of its own, one element after the other.
__global__ void boxes(float* out, int n, int rows, int columns) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, at = i * n;
    for (int r = 0; r < rows; ++r)
        for (int c = columns; c > 0; --c) out[at++] = c;
}
// Rows begin one element too early.
__global__ void overlaps(float* out, int n, int rows, int columns) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, at = i * n;
    for (int r = 0; r < rows; ++r, --at)
        for (int c = 0; c < columns; ++c) out[at++] = c;
}
int main(int, char** argv) {
    float *in, *out;
    cudaMalloc(&in, 65536);
    cudaMalloc(&out, 65536);
    cudaMemset(in, 0, 65536);
    switch (atoi(argv[1])) {
    case 0: windows<<<4, 64>>>(in, out, 18, 16, 256, 3); break;
    // A row has a place less than there are threads.
    case 1: windows<<<4, 64>>>(in, out, 18, 16, 255, 3); break;
    case 2: windows<<<4, 64>>>(in, in + 255, 18, 16, 256, 3); break;
    case 3: boxes<<<4, 64>>>(out, 15, 3, 5); break;
    case 4: boxes<<<4, 64>>>(out, 14, 3, 5); break;
    case 5: boxes<<<4, 64>>>(out, 14, 3, -5); break;
    case 6: overlaps<<<4, 64>>>(out, 13, 3, 5); break;
    case 7: overlaps<<<4, 64>>>(out, 12, 3, 5); break;
    }
    return cudaDeviceSynchronize();
}
"#;
    super::compare(source, "proofs_nested_places", 0..=7, &[0, 1, 3, 5, 6], &[0, 1, 3, 5, 6]);
}
