//! Control flow: conditionals, early exits, loops of all forms.

use super::machine::Argument::Int;
use super::machine::Program;
use super::{ONE, words};

#[test]
fn straight_line_with_barrier() {
    Program::of("KERNEL k(int *a) { __shared__ int s[64]; s[tid] = a[tid]; sync(); a[tid] = s[63 - tid]; }")
        .assert_exact([2, 1, 1], [64, 1, 1], &[words(64)]);
}

#[test]
fn guarded_access() {
    Program::of("KERNEL k(int *a, int n) { int i = ctaid * ntid + tid; if (i < n) a[i] += 1; }")
        .assert_exact([3, 1, 1], [8, 1, 1], &[words(24), Int(19)]);
}

#[test]
fn early_return_before_barrier() {
    Program::of("KERNEL k(int *a, int n) { if (tid >= n) return; a[tid] = 1; sync(); a[tid + 1] = 2; }")
        .assert_exact(ONE, [8, 1, 1], &[words(9), Int(5)]);
}

#[test]
fn else_branch() {
    Program::of("KERNEL k(int *a) { if (tid & 1) a[tid] = 1; else { a[tid + 8] = 2; sync(); } a[tid] = 3; }")
        .assert_exact(ONE, [8, 1, 1], &[words(16)]);
}

#[test]
fn short_circuit_operators() {
    let source = "KERNEL k(int *a, int n, int m) {
        if ((tid < n || tid == m) && tid != 3) a[tid] = 1;
        if (tid > n && tid < m) { a[tid] = 2; if (tid == 5) return; }
        a[tid + 1] = 3; }";
    Program::of(source).assert_exact(ONE, [16, 1, 1], &[words(32), Int(4), Int(9)]);
}

#[test]
fn nested_early_return_inside_branch() {
    let source = "KERNEL k(int *a, int n) {
        if (tid < 8) { if (tid > n) return; a[tid] = 1; } else { a[tid] = 2; }
        sync(); a[tid + 1] = 3; }";
    Program::of(source).assert_exact(ONE, [16, 1, 1], &[words(32), Int(4)]);
}

#[test]
fn switch_with_fallthrough() {
    let source = "KERNEL k(int *a) {
        switch (tid & 7) { case 0: a[tid] = 1; break; case 1: case 3: a[tid + 1] = 2;
          case 5: a[tid + 2] = 3; break; default: a[tid + 4] = 5; }
        a[tid] = 9; }";
    Program::of(source).assert_exact(ONE, [16, 1, 1], &[words(32)]);
}

#[test]
fn grid_stride_loop() {
    Program::of(
        "KERNEL k(int *a, int n) { for (int i = ctaid * ntid + tid; i < n; i += ntid * nctaid) a[i] = i; }",
    )
    .assert_exact([2, 1, 1], [4, 1, 1], &[words(40), Int(29)]);
}

#[test]
fn loop_that_runs_no_time() {
    Program::of(
        "KERNEL k(int *a, int n) { a[tid] = 1; for (int i = 0; i < n; ++i) a[i] = i; sync(); a[tid] = 2; }",
    )
    .assert_exact(ONE, [4, 1, 1], &[words(4), Int(0)]);
}

#[test]
fn halving_loop_with_barriers() {
    let source = "KERNEL k(int *a) { __shared__ int s[96]; s[tid] = a[tid]; sync();
        for (int d = ntid / 2; d > 0; d >>= 1) { if (tid < d) s[tid] += s[tid + d]; sync(); }
        if (tid == 0) a[0] = s[0]; }";
    Program::of(source).assert_exact(ONE, [48, 1, 1], &[words(48)]);
}

#[test]
fn unsigned_halving_and_doubling() {
    let source = "KERNEL k(int *a, unsigned n) {
        for (unsigned d = n; d > 0; d /= 2) a[d] = 1;
        for (unsigned d = 1; d < n; d *= 2) a[d + tid] = 2;
        for (int d = n; d > 1; d = d / 3) a[d] = 3;
        for (unsigned d = 1; d < n; d <<= 2) a[d + tid] = 4; }";
    Program::of(source).assert_exact(ONE, [4, 1, 1], &[words(64), Int(37)]);
}

#[test]
fn do_while_loop() {
    let source =
        "KERNEL k(int *a, int n) { int i = tid; do { a[i] = 1; sync(); i += 3; } while (i < n); a[0] = 2; }";
    Program::of(source).assert_exact(ONE, [4, 1, 1], &[words(32), Int(20)]);
}

#[test]
fn break_and_continue() {
    let source = "KERNEL k(int *a, int n, int m) {
        do { int i = 0; for (;;) { if (i == tid) { ++i; continue; } if (i > n) break; a[i] = 1; ++i; } } while (0);
        int j = 0; do { if (j == m) break; a[j] = 2; ++j; if (j == 2) continue; a[j + 1] = 3; } while (j < n);
        }";
    Program::of(source).assert_covered(ONE, [4, 1, 1], &[words(64), Int(7), Int(5)], 40);
}

#[test]
fn nested_loops_with_dependent_bounds() {
    let source = "KERNEL k(int *a, int n) { __shared__ int s[64];
        for (int i = 0; i < n; ++i) { s[tid] = a[tid];
            for (int j = i; j < n; j += 2) { s[tid + j] += 1; }
            sync(); }
        a[tid] = s[tid]; }";
    Program::of(source).assert_exact(ONE, [4, 1, 1], &[words(64), Int(5)]);
}

#[test]
fn loop_with_work_in_its_condition() {
    let source =
        "KERNEL k(int *a, int n) { int i = tid; while ((a[i] = 1) && i < n) { a[i + 1] = 2; i += 2; } }";
    Program::of(source).assert_exact(ONE, [4, 1, 1], &[words(64), Int(9)]);
}

#[test]
fn return_out_of_a_loop() {
    let source = "KERNEL k(int *a, int n) {
        for (int i = 0; i < n; ++i) { if (i == tid) return; a[i] = 1; }
        a[tid] = 2; }";
    Program::of(source).assert_covered(ONE, [8, 1, 1], &[words(64), Int(5)], 60);
}

#[test]
fn goto_out_of_two_loops() {
    let source = "KERNEL k(int *a, int n) {
        for (int i = 0; i < n; ++i) for (int j = 0; j < n; ++j) { if (i * j == tid + 2) goto out; a[i * n + j] = 1; }
        a[tid] = 2;
        out: a[tid + 1] = 3; }";
    // Whether the outer loop goes on is an equality of an open value, which few tries choose rightly.
    Program::of(source).assert_covered(ONE, [4, 1, 1], &[words(64), Int(3)], 10_000);
}

#[test]
fn narrow_counters() {
    let source = "KERNEL k(int *a, int n) { for (short i = 0; i < n; ++i) a[i] = 1; for (unsigned char c = 250; c > 5; c += 3) a[c] = 2; }";
    Program::of(source).assert_exact(ONE, [2, 1, 1], &[words(300), Int(9)]);
}

#[test]
fn counting_down() {
    Program::of(
        "KERNEL k(int *a, int n) { for (int i = n - 1; i >= 0; --i) { a[i + tid] = 1; warp_sync(); } }",
    )
    .assert_exact(ONE, [4, 1, 1], &[words(64), Int(6)]);
}

#[test]
fn two_dimensions() {
    let source = "KERNEL k(int *a, int w) { int x = ctaid * ntid + tid, y = tidy; a[y * w + x] = 1; sync(); a[x] = 2; }";
    Program::of(source).assert_exact([2, 1, 1], [4, 3, 1], &[words(64), Int(10)]);
}
