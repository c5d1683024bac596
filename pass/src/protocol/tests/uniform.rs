//! Groups that see the same value. The order of barriers depends on them.

use super::machine::Program;
use gpurace_protocol::protocol::{Stmt, Uniform};

/// The group that leaves the only loop of the program together by a break.
fn group_that_breaks(source: &str) -> Option<Uniform> {
    let program = Program::of(source);
    let of = program.protocol.body.iter().find_map(|s| match s {
        Stmt::Loop(of) => Some(of.breaks.map(|breaks| breaks.uniform)),
        _ => None,
    });
    of.unwrap_or_else(|| panic!("no loop: {:#?}", program.protocol))
}

#[test]
fn break_by_parameter_is_common() {
    let source = "KERNEL k(int *a, int n, int m) { for (int i = 0; i < n; ++i) { a[0] = 1; if (i == m) break; a[i] = 1; } }";
    assert_eq!(group_that_breaks(source), Some(Uniform::Grid));
}

#[test]
fn break_by_block_is_common_to_the_block() {
    let source = "KERNEL k(int *a, int n) { for (int i = 0; i < n; ++i) { a[0] = 1; if (i == ctaid) break; a[i] = 1; } }";
    assert_eq!(group_that_breaks(source), Some(Uniform::Block));
}

#[test]
fn break_by_thread_is_not() {
    let source = "KERNEL k(int *a, int n) { for (int i = 0; i < n; ++i) { a[0] = 1; if (i == tid) break; a[i] = 1; } }";
    assert_eq!(group_that_breaks(source), Some(Uniform::Thread));
}

#[test]
fn break_by_a_common_condition_under_a_thread_s_is_not() {
    let source = "KERNEL k(int *a, int n, int m) { for (int i = 0; i < n; ++i) { if (tid < 4) { a[0] = 1; if (i == m) break; } a[i] = 1; } }";
    assert_eq!(group_that_breaks(source), Some(Uniform::Thread));
}

#[test]
fn break_after_a_thread_s_branch_has_joined_is_common() {
    let source = "KERNEL k(int *a, int n, int m) { for (int i = 0; i < n; ++i) { if (tid < 4) a[0] = 1; if (i == m) break; a[i] = 1; } }";
    assert_eq!(group_that_breaks(source), Some(Uniform::Grid));
}

#[test]
fn break_by_a_value_merged_over_threads_is_not() {
    let source = "KERNEL k(int *a, int n, int m) { for (int i = 0; i < n; ++i) { float x; if (tid < 4) { a[0] = 1; x = 1; } else { a[1] = 1; x = 2; } if (x * i > 7) break; a[i] = 1; } }";
    assert_eq!(group_that_breaks(source), Some(Uniform::Thread));
}

#[test]
fn break_by_a_value_merged_over_common_ways_is_common() {
    let source = "KERNEL k(int *a, int n, int m) { for (int i = 0; i < n; ++i) { float x; if (m < 4) { a[0] = 1; x = 1; } else { a[1] = 1; x = 2; } if (x * i > 7) break; a[i] = 1; } }";
    assert_eq!(group_that_breaks(source), Some(Uniform::Grid));
}

#[test]
fn break_by_the_number_of_an_inner_loop_s_rounds_is_as_common_as_they_are() {
    let source = |bound: &str| {
        format!(
            "KERNEL k(int *a, int n, int m) {{ for (int i = 0; i < n; ++i) {{ int j = 0; while (j * j < {bound}) {{ a[j] = 1; ++j; }} if (j == 7) break; a[i] = 1; }} }}"
        )
    };
    assert_eq!(group_that_breaks(&source("m")), Some(Uniform::Grid));
    assert_eq!(group_that_breaks(&source("tid")), Some(Uniform::Thread));
}

#[test]
fn break_by_a_counter_that_comes_round_is_common() {
    let source = "KERNEL k(int *a, int n, int m) { float x = m; for (int i = 0; i < n; ++i) { x = x * x + 1; if (x > 99) break; a[i] = 1; } }";
    assert_eq!(group_that_breaks(source), Some(Uniform::Grid));
}

#[test]
fn break_by_a_counter_that_starts_apart_is_not() {
    let source = "KERNEL k(int *a, int n, int m) { float x = tid; for (int i = 0; i < n; ++i) { x = x * x + 1; if (x > 99) break; a[i] = 1; } }";
    assert_eq!(group_that_breaks(source), Some(Uniform::Thread));
}

#[test]
fn reduced_predicate_is_common_to_the_block() {
    let source = "KERNEL k(int *a, int n) { for (int i = 0; i < n; ++i) { a[i] = 1; if (__nvvm_bar0_or(a[i] > 3)) break; } }";
    assert_eq!(group_that_breaks(source), Some(Uniform::Block));
}

#[test]
fn reduced_predicate_of_a_part_of_the_block_is_not() {
    let source = "KERNEL k(int *a, int n) { for (int i = tid; i < n; ++i) { a[i] = 1; if (__nvvm_bar0_or(a[i] > 3)) break; } }";
    assert_eq!(group_that_breaks(source), Some(Uniform::Thread));
}
