//! Functions that were not inlined.

use super::machine::Argument::Int;
use super::machine::Program;
use super::{ONE, words};
use gpurace_protocol::protocol::{Stmt, Unknown};

/// All unknown statements of a program.
pub fn unknowns(body: &[Stmt]) -> Vec<Unknown> {
    body.iter()
        .flat_map(|stmt| match stmt {
            Stmt::Unknown(unknown) => vec![unknown.clone()],
            Stmt::If { then, otherwise, .. } => [unknowns(then), unknowns(otherwise)].concat(),
            Stmt::Loop(of) => unknowns(&of.body),
            Stmt::Access(_) | Stmt::Sync(_) => Vec::new(),
        })
        .collect()
}

#[test]
fn followed_with_its_arguments() {
    let source = "__device__ __noinline__ void put(int *p, int at, int n) { for (int i = 0; i < n; ++i) { p[at + i] = i; sync(); } }
        __device__ __noinline__ int twice(int x) { if (x > 4) return x * 2; return x + 1; }
        KERNEL k(int *a, int n) { __shared__ int s[64]; put(a, tid, n); put(s + 2, twice(tid), 2);
          for (int i = 0; i < n; ++i) put(a, twice(i), i); }";
    Program::of(source).assert_exact(ONE, [8, 1, 1], &[words(64), Int(3)]);
}

#[test]
fn returns_a_pointer() {
    let source = "__device__ __noinline__ int *pick(int *p, int *q, int n) { return tid < n ? p + 1 : q; }
        KERNEL k(int *a, int *b, int n) { *pick(a, b, n) = 1; pick(b, a, 2)[tid] = 1; }";
    Program::of(source).assert_exact(ONE, [8, 1, 1], &[words(64), words(64), Int(3)]);
}

#[test]
fn recursive_function_is_unknown() {
    let source = "__device__ __noinline__ void walk(int *p, int n) { if (n > 0) { p[n] = 1; walk(p, n - 1); walk(p + 1, n / 2); } }
        KERNEL k(int *a, int n) { a[0] = 1; walk(a, n); }";
    let program = Program::of(source);
    let found = unknowns(&program.protocol.body);
    assert!(!found.is_empty(), "{:#?}", program.protocol);
    assert!(found.iter().all(|u| u.touches.is_some() && !u.syncs), "{found:?}");
}

#[test]
fn unseen_function_may_do_anything() {
    let program =
        Program::of("__device__ void unseen(int *); KERNEL k(int *a) { a[tid] = 1; unseen(a); a[0] = 2; }");
    let found = unknowns(&program.protocol.body);
    assert_eq!(found.len(), 1);
    assert!(found[0].touches.is_some() && found[0].syncs, "{found:?}");
}

#[test]
fn call_through_a_pointer_may_do_anything() {
    let source = "typedef void (*F)(int *); __device__ void f(int *p) { p[0] = 1; }
        __device__ F table[2] = { f, f }; KERNEL k(int *a, int n) { table[n & 1](a); }";
    let found = unknowns(&Program::of(source).protocol.body);
    assert!(found.len() == 1 && found[0].syncs, "{found:?}");
}

#[test]
fn function_that_only_computes_says_nothing() {
    let source = "__device__ __noinline__ float twice(float x) { return x * 2; } KERNEL k(float *a) { a[tid] = twice(a[tid]); }";
    let program = Program::of(source);
    assert_eq!(unknowns(&program.protocol.body), []);
    program.assert_exact(ONE, [8, 1, 1], &[words(64)]);
}
