//! Asynchronous copies: which of them a thread waits for before it syncs.

use gpurace_protocol::place::Place;
use gpurace_protocol::protocol::Op;

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

/// The barriers that the copies of a kernel with this body pass, by its protocol.
#[track_caller]
fn passed(body: &str) -> Vec<u32> {
    let source =
        format!("{COPIES} KERNEL k(int *a, int n) {{ __shared__ int s[128]; {body} a[tid] = s[tid ^ 1]; }}");
    let protocol = Program::of(&source).protocol;
    let all = Place::all(&protocol);
    let written = all.iter().filter_map(|place| match place.access.op {
        Op::Copy { writes: true, passes } => Some(passes),
        _ => None,
    });
    let written: Vec<u32> = written.collect();
    assert!(!written.is_empty(), "{body}");
    written
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
        assert_eq!(passed(body), vec![0], "{body}");
    }
}

#[test]
fn copies_that_may_be_in_flight_at_a_sync() {
    for body in [
        "COPY(tid); sync(); WAIT_ALL();",
        "COPY(tid); COMMIT(); sync(); WAIT(0);",
        "COPY(tid); WAIT(0); sync();",
        "COPY(tid); COMMIT(); WAIT(1); sync();",
        "COPY(tid); COMMIT(); if (n & 1) WAIT(0); sync();",
        "COPY(tid); if (n & 1) COMMIT(); WAIT(0); sync();",
        "COPY(tid); COMMIT(); warp_sync(); WAIT(0); sync();",
    ] {
        assert_eq!(passed(body), vec![1], "{body}");
    }
}

/// Such a thread passes no barrier any more, and no order follows from its end.
#[test]
fn copies_that_are_in_flight_at_the_end_of_their_thread() {
    for body in ["COPY(tid); COMMIT(); if (n & 1) return; WAIT(0); sync();", "sync(); COPY(tid); COMMIT();"] {
        assert_eq!(passed(body), vec![0], "{body}");
    }
}

#[test]
fn barriers_over_which_copies_are_in_flight() {
    for (body, wanted) in [
        ("COPY(tid); COMMIT(); sync(); COMMIT(); sync(); WAIT(1); sync();", vec![2]),
        ("COPY(tid); COMMIT(); sync(); COMMIT(); sync(); WAIT(2); sync(); WAIT(0);", vec![3]),
        ("COPY(tid); COMMIT(); COPY(tid); COMMIT(); WAIT(1); sync(); WAIT(0); sync();", vec![0, 1]),
        ("for (int i = 0; i < n; ++i) { WAIT(0); sync(); COPY(tid); COMMIT(); }", vec![0]),
        ("for (int i = 0; i < n; ++i) { WAIT(1); sync(); COPY(tid); COMMIT(); }", vec![1]),
        ("for (int i = 0; i < n; ++i) { WAIT(2); sync(); COPY(tid); COMMIT(); }", vec![2]),
        ("for (int i = 0; i < n; ++i) { WAIT(2); sync(); if (i & 1) COPY(tid); COMMIT(); }", vec![2]),
        ("for (int i = 0; i < n; ++i) { COPY(tid); COMMIT(); WAIT(1); sync(); sync(); }", vec![2]),
    ] {
        assert_eq!(passed(body), wanted, "{body}");
    }
}

#[test]
fn copies_in_flight_over_more_than_can_be_counted() {
    for body in [
        "COPY(tid); COMMIT(); meet(); WAIT(0); sync();",
        "COPY(tid); COMMIT(); for (int i = 0; i < n; ++i) sync(); WAIT(0);",
        "for (int i = 0; i < n; ++i) { WAIT(1); sync(); COPY(tid); if (n & 1) COMMIT(); }",
        "for (int i = 0; i < n; ++i) { WAIT(1); sync(); if (n & 1) { COPY(tid); COMMIT(); } }",
        "for (int i = 0; i < n; ++i) { WAIT(17); sync(); COPY(tid); COMMIT(); }",
    ] {
        assert_eq!(passed(body), vec![Op::NO_WAIT], "{body}");
    }
}
