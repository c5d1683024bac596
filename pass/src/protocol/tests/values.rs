//! Integers: every operator that expressions have, casts, divisions.

use super::machine::Argument::{Int, Long, Words};
use super::machine::Program;
use super::{ONE, words};
use gpurace_protocol::expr::{Expr, Width};

#[test]
fn arithmetic() {
    let source = "KERNEL k(char *a, int n, unsigned m) {
        a[(tid * n + 3) & 255] = 1; a[((unsigned)tid * 7 % m)] = 2; a[(tid * 5) / n] = 3; a[tid * 9 % n] = 4;
        a[(tid << 3 | 2) ^ 1] = 5; a[(unsigned)(tid * 100) >> 2] = 6; a[(tid * 64 - 64 >> 3) + 8] = 7;
        a[tid * 40 / m] = 8; a[tid > n ? tid : n] = 9; a[tid < n ? tid : n] = 10; a[__builtin_abs(n - tid)] = 1; }";
    Program::of(source).assert_exact(ONE, [32, 1, 1], &[words(1024), Int(5), Int(7)]);
}

#[test]
fn negative_dividends() {
    let source = "KERNEL k(char *a, int n) { a[64 + (tid - 8) / n] = 1; a[64 + (tid - 8) % n] = 2; a[64 + (tid - 9) / 4] = 3; }";
    Program::of(source).assert_exact(ONE, [16, 1, 1], &[words(64), Int(3)]);
}

#[test]
fn widths_and_signs() {
    let source = "KERNEL k(char *a, long n, int m) {
        a[(unsigned char)(tid * 50)] = 1; a[128 + (signed char)(tid * 50)] = 2; a[(unsigned short)(tid + m)] = 3;
        a[(long)tid * n] = 4; a[(u64)(unsigned)(tid + m) & 1023] = 5; a[(int)(n * tid)] = 6; a[(tid == 3) * 9] = 7; }";
    Program::of(source).assert_exact(ONE, [16, 1, 1], &[words(1024), Long(6), Int(-3 + 4)]);
}

#[test]
fn bits_in_the_opposite_order() {
    let source = "KERNEL k(char *a, int n) { a[__builtin_bitreverse32(tid) >> 27] = 1;
        a[64 + (__builtin_bitreverse32(tid * n) >> 25)] = 2; a[256 + __builtin_bitreverse8(tid)] = 3;
        a[512 + (__builtin_bitreverse64((u64)tid << 40) >> 16 & 255)] = 4; a[1024 + (__builtin_bitreverse16(tid) >> 10)] = 5; }";
    Program::of(source).assert_exact(ONE, [32, 1, 1], &[words(1024), Int(-5)]);
}

#[test]
fn special_registers() {
    let source = "KERNEL k(char *a) { a[lane] = 1; a[tid / 32 + 40] = 2; a[ntid + nctaid] = 3;
        if (lane == 0) a[ctaid] = 4; a[tidy] = 5; }";
    Program::of(source).assert_exact([2, 1, 1], [16, 3, 1], &[words(64)]);
}

#[test]
fn rotation_and_saturation() {
    let source = "KERNEL k(char *a, unsigned n) { a[__builtin_rotateleft32(tid * 0x01000000u, 9)] = 1;
        a[__builtin_elementwise_sub_sat((unsigned)tid, n)] = 2; a[__builtin_elementwise_min(tid, 3)] = 3; }";
    Program::of(source).assert_exact(ONE, [16, 1, 1], &[words(16 << 9), Int(5)]);
}

#[test]
fn merged_integers() {
    let source = "KERNEL k(char *a, int n) { int i; if (tid < n) i = tid * 2; else if (tid == n) i = 1; else i = 50 - tid;
        a[i] = 1; bool odd = tid & 1; bool low = tid < n; if (odd && low) a[99] = 1; if (odd != low) a[98] = 2; }";
    Program::of(source).assert_exact(ONE, [16, 1, 1], &[words(64), Int(5)]);
}

#[test]
fn value_used_after_a_loop_that_does_not_change_it() {
    let source = "KERNEL k(char *a, int n) { int at = 0; int i = 0; do { at = n * 2 + tid; a[i] = 1; ++i; } while (i < n); a[at] = 2; }";
    Program::of(source).assert_exact(ONE, [4, 1, 1], &[words(64), Int(5)]);
}

/// The value that a loop leaves is known if the loop can be run: over constants, or over the launch's
/// values.
#[test]
fn values_left_by_loops() {
    let source = "KERNEL k(char *a, int n) {
        int up = 1; for (int d = 32; d > 0; d /= 2) { up *= 2; a[d] = 1; } a[up + tid] = 2;
        int down = up; for (int d = 1; d < n; d *= 2) { down /= 2; a[down] = 3; } a[down + 100] = 4;
        int i = 0; do { a[i + 7] = 1; i += 3; } while (i < n); a[i + 40] = 5;
        int empty = 1; while (empty < n) empty *= 3; a[empty + 50] = 6;
        for (int k = 0; k < 3; ++k) { int j = k; for (; j < n; j += 2) a[j] = 1; a[j + 60] = 7; } }";
    let program = Program::of(source);
    let left: Vec<_> = program.protocol.opaques.iter().map(|opaque| opaque.last.is_some()).collect();
    assert!(!left.is_empty() && left.iter().all(|left| *left), "{:#?}", program.protocol);
    program.assert_exact(ONE, [4, 1, 1], &[words(256), Int(20)]);
    let source = "KERNEL k(char *a) { int up = 1; for (int d = 32; d > 0; d /= 2) { up *= 2; a[d] = 1; } a[up + tid] = 2; }";
    let program = Program::of(source);
    assert!(program.protocol.opaques.is_empty(), "{:#?}", program.protocol);
    program.assert_exact(ONE, [4, 1, 1], &[words(256)]);
}

/// If the number of iterations is known, a place that a loop moves may start anywhere, and move by any steady step.
#[test]
fn places_moved_by_loops() {
    let source = "KERNEL k(char *a, int n) {
        int at = tid; for (int k = 0; k < 3; ++k) { at += n; a[k + 200] = 1; } a[at] = 2;
        int i = 0; do { at -= tid + 1; a[i + 210] = 1; i += 3; } while (i < n); a[at + 60] = 3;
        for (int k = 0; k < 3; ++k) { int j = k + tid; for (int l = 0; l < n; ++l) { j += k; a[220] = 4; } a[j + 100] = 5; }
        unsigned up = tid + 1; for (int d = 4; d > 0; d /= 2) { up *= 2; a[d + 230] = 1; } a[up + 150] = 6; }";
    Program::of(source).assert_exact(ONE, [4, 1, 1], &[words(256), Int(7)]);
    let source = "KERNEL k(char *a, int n) { int at = tid; for (int k = 0; k < 3; ++k) { at += n; a[k + 200] = 1; } a[at] = 2; }";
    let program = Program::of(source);
    assert!(program.protocol.opaques.is_empty(), "{:#?}", program.protocol);
    program.assert_exact(ONE, [4, 1, 1], &[words(256), Int(7)]);
}

/// A step that a thread takes or leaves out is regular, if the loop does not change which.
#[test]
fn steps_that_a_thread_chooses() {
    let source = "KERNEL k(char *a, int n) { int at = tid; bool in = tid < n;
        for (int k = 0; k < n; ++k) { if (in) at += 4; a[at] = 1; }
        int by = tid; for (int k = 0; k < n; ++k) { a[by + 100] = 2; if (in) { if (n > 3) by += 8; } else by -= 1; } }";
    Program::of(source).assert_exact(ONE, [4, 1, 1], &[words(256), Int(3)]);
    Program::of(source).assert_exact(ONE, [8, 1, 1], &[words(256), Int(5)]);
    let source = "KERNEL k(char *a, int n) { int at = tid;
        for (int k = 0; k < n; ++k) { if (k & 1) at += 4; a[at] = 1; } }";
    assert!(Program::of(source).assert_covered(ONE, [4, 1, 1], &[words(256), Int(2)], 3000) > 0);
}

/// A loop that counts by 1 leaves its variables so many steps further, however the count is written, also if it makes
/// no iteration.
#[test]
fn values_left_by_loops_that_count() {
    let counts = [
        "for (int i = 0; i < n; ++i)",
        "for (int i = 0; i <= n; ++i)",
        "for (int i = m; i != n; ++i)",
        "for (int i = n; i > m; --i)",
        "for (int i = n; i >= m; --i)",
        "for (unsigned i = m; i < (unsigned)n; ++i)",
        "for (long i = m; i < n; ++i)",
        "for (int i = tid; i < n; ++i)",
        "for (int i = n; i-- > m;)",
    ];
    for count in counts {
        let source = format!(
            "KERNEL k(char *a, int n, int m) {{ char *p = a + tid * 2; int at = 100;
             {count} {{ *p = 1; p += 3; at += m; }} *p = 2; a[at & 255] = 3; }}"
        );
        let program = Program::of(&source);
        assert!(program.protocol.opaques.is_empty(), "{source}: {:#?}", program.protocol);
        for n in [5, 2, 1] {
            Program::of(&source).assert_exact(ONE, [4, 1, 1], &[words(256), Int(n), Int(1)]);
        }
    }
    for n in [-3, 0, 4] {
        let source = "KERNEL k(char *a, int n) { char *p = a + tid; int left = 50;
            for (int r = 0; r < 3; ++r) for (int c = 0; c < n; ++c) { *p = 1; p += 4; --left; } *p = 2; a[left + 100] = 3; }";
        let program = Program::of(source);
        assert!(program.protocol.opaques.is_empty(), "{:#?}", program.protocol);
        program.assert_exact(ONE, [4, 1, 1], &[words(256), Int(n)]);
    }
}

/// If the loop has another end, changes its limit, or steps over it, no count is known before a launch.
#[test]
fn values_left_by_loops_that_do_not_count() {
    let mut memory = vec![0; 64];
    (memory[40], memory[41]) = (1, 1);
    for count in [
        "for (int i = 0; i < n; ++i) { if (a[i + 40]) break; ++at; }",
        "for (int i = 0; i < n; i += a[40]) ++at;",
        "for (int i = 0; i < a[40]; ++i) { ++at; a[40] = 0; }",
        "for (int i = 0; i < n; i += 2) ++at;",
        "for (int i = 0, end = n; i < end; ++i) { ++at; --end; }",
        "for (int i = 0; i < n; ++i) { at += 1 + (i & 1); }",
    ] {
        let source = format!("KERNEL k(int *a, int n) {{ int at = tid; {count} a[at + 4] = 2; }}");
        let program = Program::of(&source);
        assert!(!program.protocol.opaques.is_empty(), "{source}: {:#?}", program.protocol);
        let arguments = [Words(memory.clone()), Int(5)];
        program.assert_covered(ONE, [4, 1, 1], &arguments, 3000);
    }
}

/// A value that several ways leave, or that depends on memory, is open.
#[test]
fn values_left_by_other_loops() {
    let mut memory = vec![0; 64];
    (memory[51], memory[52]) = (3, 1);
    for body in [
        "int i = 0; for (; i < 3; ++i) { if (a[i]) break; a[i] = 1; } a[i + 40] = 2;",
        "int i = 0; for (; i < 3; i += a[50] + 1) a[i] = 1; a[i + 40] = 2;",
        "int i = 0; for (; i < a[51]; i += 2) a[i] = 1; a[i + 40] = 2;",
        "int i = 0; for (int k = 0; k < 2; ++k) for (i = 0; i < 2 * k + a[52]; i += 2) a[i] = 1; a[i + 40] = 2;",
    ] {
        let program = Program::of(&format!("KERNEL k(int *a) {{ {body} }}"));
        let settled = gpurace_protocol::last::settle(&program.protocol, Some(&Default::default()));
        assert!(settled.is_none(), "{body}: {:#?}", program.protocol);
        assert!(program.assert_covered(ONE, [4, 1, 1], &[Words(memory.clone())], 3000) > 0, "{body}");
    }
}

#[test]
fn truth_values_kept_as_numbers() {
    let source = "KERNEL k(char *a, int n) { bool low = tid < n; int flags = low; if (flags != 0) a[tid] = 1; if (flags == 0) a[tid + 16] = 2;
        int which = tid < 2 ? 5 : tid < 9 ? 6 : 7; switch (which) { case 5: a[40] = 1; break; case 6: a[41] = 1; } }";
    let program = Program::of(source);
    let casts = program
        .protocol
        .exprs
        .iter()
        .filter(|(_, e)| matches!(e, Expr::Cast(_, Width::W32, _) | Expr::Select(..)));
    assert_eq!(casts.count(), 0, "{:#?}", program.protocol);
    program.assert_exact(ONE, [16, 1, 1], &[words(64), Int(5)]);
}
