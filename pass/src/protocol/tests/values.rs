//! Integers: every operator that expressions have, casts, divisions.

use super::machine::Argument::{Int, Long, Words};
use super::machine::Program;
use gpurace_protocol::expr::{Expr, Width};

const ONE: [u32; 3] = [1, 1, 1];

fn words(count: usize) -> super::machine::Argument {
    Words((0..count as i32).collect())
}

#[test]
fn arithmetic() {
    let source = "KERNEL k(char *a, int n, unsigned m) {
        a[(tid * n + 3) & 255] = 1; a[((unsigned)tid * 7 % m)] = 2; a[(tid * 5) / n] = 3; a[tid * 9 % n] = 4;
        a[(tid << 3 | 2) ^ 1] = 5; a[(unsigned)(tid * 100) >> 2] = 6; a[(tid * 64 - 64 >> 3) + 8] = 7;
        a[tid * 40 / m] = 8; a[tid > n ? tid : n] = 9; a[tid < n ? tid : n] = 10; a[__builtin_abs(n - tid)] = 1; }";
    Program::of(source).is_exact(ONE, [32, 1, 1], &[words(1024), Int(5), Int(7)]);
}

#[test]
fn negative_dividends() {
    let source = "KERNEL k(char *a, int n) { a[64 + (tid - 8) / n] = 1; a[64 + (tid - 8) % n] = 2; a[64 + (tid - 9) / 4] = 3; }";
    Program::of(source).is_exact(ONE, [16, 1, 1], &[words(64), Int(3)]);
}

#[test]
fn widths_and_signs() {
    let source = "KERNEL k(char *a, long n, int m) {
        a[(unsigned char)(tid * 50)] = 1; a[128 + (signed char)(tid * 50)] = 2; a[(unsigned short)(tid + m)] = 3;
        a[(long)tid * n] = 4; a[(u64)(unsigned)(tid + m) & 1023] = 5; a[(int)(n * tid)] = 6; a[(tid == 3) * 9] = 7; }";
    Program::of(source).is_exact(ONE, [16, 1, 1], &[words(1024), Long(6), Int(-3 + 4)]);
}

#[test]
fn special_registers() {
    let source = "KERNEL k(char *a) { a[lane] = 1; a[tid / 32 + 40] = 2; a[ntid + nctaid] = 3;
        if (lane == 0) a[ctaid] = 4; a[tidy] = 5; }";
    Program::of(source).is_exact([2, 1, 1], [16, 3, 1], &[words(64)]);
}

#[test]
fn rotation_and_saturation() {
    let source = "KERNEL k(char *a, unsigned n) { a[__builtin_rotateleft32(tid * 0x01000000u, 9)] = 1;
        a[__builtin_elementwise_sub_sat((unsigned)tid, n)] = 2; a[__builtin_elementwise_min(tid, 3)] = 3; }";
    Program::of(source).is_exact(ONE, [16, 1, 1], &[words(16 << 9), Int(5)]);
}

#[test]
fn merged_integers() {
    let source = "KERNEL k(char *a, int n) { int i; if (tid < n) i = tid * 2; else if (tid == n) i = 1; else i = 50 - tid;
        a[i] = 1; bool odd = tid & 1; bool low = tid < n; if (odd && low) a[99] = 1; if (odd != low) a[98] = 2; }";
    Program::of(source).is_exact(ONE, [16, 1, 1], &[words(64), Int(5)]);
}

#[test]
fn value_used_after_a_loop_that_does_not_change_it() {
    let source = "KERNEL k(char *a, int n) { int at = 0; int i = 0; do { at = n * 2 + tid; a[i] = 1; ++i; } while (i < n); a[at] = 2; }";
    Program::of(source).is_exact(ONE, [4, 1, 1], &[words(64), Int(5)]);
}

#[test]
fn truth_values_kept_as_numbers() {
    let source = "KERNEL k(char *a, int n) { bool low = tid < n; int flags = low; if (flags != 0) a[tid] = 1; if (flags == 0) a[tid + 16] = 2;
        int which = tid < 2 ? 5 : tid < 9 ? 6 : 7; switch (which) { case 5: a[40] = 1; break; case 6: a[41] = 1; } }";
    let program = Program::of(source);
    let casts = program.protocol.exprs.iter().filter(|(_, e)| matches!(e, Expr::Cast(_, Width::W32, _) | Expr::Select(..)));
    assert_eq!(casts.count(), 0, "{:#?}", program.protocol);
    program.is_exact(ONE, [16, 1, 1], &[words(64), Int(5)]);
}
