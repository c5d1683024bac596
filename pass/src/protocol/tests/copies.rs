//! Asynchronous copies: which of them a thread waits for before it syncs.

use gpurace_protocol::place::Place;
use gpurace_protocol::protocol::Stmt;

use super::machine::Program;

const COPIES: &str = r#"
    #define COPY(i) __nvvm_cp_async_ca_shared_global_4( \
        (__attribute__((address_space(3))) void*)&s[i], (__attribute__((address_space(1))) void*)&a[i])
    #define COMMIT() __nvvm_cp_async_commit_group()
    #define WAIT(n) __nvvm_cp_async_wait_group(n)
    #define WAIT_ALL() __nvvm_cp_async_wait_all()
    __device__ __noinline__ void meet() { sync(); }
    __device__ __noinline__ int square(int n) { return n * n; }
"#;

/// True if the protocol of a kernel with this body describes its copies, without a statement about unknown memory.
#[track_caller]
fn are_described(body: &str) -> bool {
    let source =
        format!("{COPIES} KERNEL k(int *a, int n) {{ __shared__ int s[128]; {body} a[tid] = s[tid ^ 1]; }}");
    let protocol = Program::of(&source).protocol;
    assert!(Place::all(&protocol).iter().any(|place| place.access.op.is_copy()), "{body}");
    !holds_unknown(&protocol.body)
}

fn holds_unknown(body: &[Stmt]) -> bool {
    body.iter().any(|stmt| match stmt {
        Stmt::Unknown(unknown) => unknown.touches.is_some(),
        Stmt::Loop(of) => holds_unknown(&of.body),
        Stmt::If { then, otherwise, .. } => holds_unknown(then) || holds_unknown(otherwise),
        Stmt::Access(_) | Stmt::Sync(_) => false,
    })
}

#[test]
fn copies_that_are_waited_for_on_every_way() {
    for body in [
        "COPY(tid); COMMIT(); WAIT(0); sync();",
        "COPY(tid); WAIT_ALL(); sync();",
        "COPY(tid); WAIT_ALL(); warp_sync(); sync();",
        "if (tid < n) COPY(tid); COMMIT(); WAIT(0); sync();",
        "for (int i = tid; i < n; i += ntid) COPY(i); COMMIT(); WAIT(0); sync();",
        "COPY(tid); COMMIT(); if (n & 1) WAIT(0); else WAIT_ALL(); sync();",
        "COPY(tid); COMMIT(); a[200 + tid] = square(n); WAIT(0); sync();",
        "for (int i = 0; i < n; ++i) { COPY(tid); COMMIT(); WAIT(0); sync(); a[tid] += s[tid ^ 2]; sync(); }",
    ] {
        assert!(are_described(body), "{body}");
    }
}

#[test]
fn copies_that_may_be_in_flight_at_a_sync() {
    for body in [
        "COPY(tid); sync();",
        "COPY(tid); COMMIT(); sync(); WAIT(0);",
        "COPY(tid); WAIT(0); sync();",
        "COPY(tid); COMMIT(); WAIT(1); sync();",
        "COPY(tid); COMMIT(); if (n & 1) WAIT(0); sync();",
        "COPY(tid); if (n & 1) COMMIT(); WAIT(0); sync();",
        "COPY(tid); COMMIT(); warp_sync(); WAIT(0); sync();",
        "COPY(tid); COMMIT(); meet(); WAIT(0); sync();",
        "COPY(tid); COMMIT(); if (n & 1) return; WAIT(0); sync();",
        "for (int i = 0; i < n; ++i) { WAIT(0); sync(); COPY(tid); COMMIT(); }",
        "sync(); COPY(tid); COMMIT();",
    ] {
        assert!(!are_described(body), "{body}");
    }
}
