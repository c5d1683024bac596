//! Copies of elements for which an arrival at an mbarrier waits: those that always come before it, in the
//! same iteration.

use super::machine::Program;

const MBARRIERS: &str = r#"
    #define SHARED(x) ((__attribute__((address_space(3))) void*)&x)
    #define COPY(i) __nvvm_cp_async_ca_shared_global_4( \
        SHARED(s[i]), (__attribute__((address_space(1))) void*)&a[i])
    #define ARRIVE(b) __nvvm_mbarrier_arrive_shared((__attribute__((address_space(3))) long*)&b)
    #define TRACK(b) __nvvm_cp_async_mbarrier_arrive_noinc_shared((__attribute__((address_space(3))) long*)&b)
"#;

/// How many copies of a kernel with this body are told to the arrivals that wait for them, by its protocol.
#[track_caller]
fn told(body: &str) -> usize {
    let source = format!(
        "{MBARRIERS} KERNEL k(int *a, int n) {{
            __shared__ int s[128];
            __shared__ long full[3], other[3];
            if (tid == 0)
                for (int i = 0; i < 3; ++i) {{
                    __nvvm_mbarrier_init_shared((__attribute__((address_space(3))) long*)&full[i], 32);
                    __nvvm_mbarrier_init_shared((__attribute__((address_space(3))) long*)&other[i], 32);
                }}
            sync();
            for (int i = 0; i < n; ++i) {{ {body} }}
        }}"
    );
    Program::of(&source).protocol.told.len()
}

#[test]
fn copies_that_always_come_before_the_arrival() {
    for (body, copies) in [
        ("COPY(tid); TRACK(full[i % 3]);", 1),
        ("COPY(tid); COPY(tid + 32); TRACK(full[i % 3]);", 2),
        ("for (int j = tid; j < n; j += 32) COPY(j); TRACK(full[i % 3]);", 1),
        ("if (i & 1) COPY(tid); else COPY(tid + 32); TRACK(full[i % 3]);", 2),
        ("if (tid < n) { COPY(tid); TRACK(full[i % 3]); }", 1),
        // Both wait for it. One is enough.
        ("COPY(tid); TRACK(full[i % 3]); TRACK(other[i % 3]);", 1),
    ] {
        assert_eq!(told(body), copies, "{body}");
    }
}

#[test]
fn copies_that_an_arrival_does_not_wait_for() {
    for body in [
        // It does not wait for copies.
        "COPY(tid); ARRIVE(full[i % 3]);",
        // It comes first, or some threads or iterations leave it out.
        "TRACK(full[i % 3]); COPY(tid);",
        "COPY(tid); if (tid < n) TRACK(full[i % 3]);",
        "COPY(tid); if (i & 1) TRACK(full[i % 3]);",
        "COPY(tid); if (a[200 + i]) continue; TRACK(full[i % 3]);",
        "COPY(tid); if (a[200 + i]) break; TRACK(full[i % 3]);",
        "COPY(tid); if (a[200 + i]) return; TRACK(full[i % 3]);",
        // It may come several times, or never.
        "COPY(tid); for (int j = 0; j < n; ++j) TRACK(full[j % 3]);",
    ] {
        assert_eq!(told(body), 0, "{body}");
    }
}
