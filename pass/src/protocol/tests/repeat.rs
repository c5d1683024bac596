//! Kernels whose accesses are listed from their protocols. A list is exactly what the kernel did, or
//! there is none. [`compare`] asserts that for every kernel of these tests.

use std::collections::BTreeSet;

use gpurace_protocol::launch::LaunchShape;
use gpurace_protocol::protocol::Protocol;
use gpurace_protocol::repeat::{self, Repeat};

use super::machine::Argument::{Inside, Int};
use super::machine::{Argument, Event, Program, Ran};
use super::words;

/// Compares the list of a launch's accesses, if there is one, with its threads' accesses to memory that
/// is not the block's own. Returns whether there is a list.
pub fn compare(protocol: &Protocol, ran: &Ran) -> bool {
    let Some(repeat) = Repeat::of(protocol) else { return false };
    if repeat.cost(&ran.launch).is_none() {
        return false;
    }
    let mut block = None;
    let mut said: Vec<BTreeSet<_>> = Vec::new();
    for (thread, real) in &ran.threads {
        if block != Some(thread.ctaid) {
            block = Some(thread.ctaid);
            said = vec![BTreeSet::new(); ran.launch.shape.threads() as usize];
            // Barriers of the block, and syncs of each warp since the last of them.
            let mut passed = [0, 0];
            let told = repeat.block(&ran.launch, thread.ctaid, |event| match event {
                repeat::Event::Touch(thread, touch) => {
                    assert!(touch.passed[1] >= passed[0], "a barrier too late: {protocol:#?}");
                    said[thread as usize].insert(ran.event(
                        protocol,
                        &touch,
                        &vec![u32::MAX; touch.lane_syncs as usize],
                    ));
                }
                repeat::Event::Block => passed = [passed[0] + 1, 0],
                repeat::Event::Warp(_) => passed[1] += 1,
            });
            told.unwrap_or_else(|why| panic!("{why}: {protocol:#?}"));
        }
        let is_left_out = |event: &&Event| {
            ran.is_own(event) || repeat.is_partial() && ran.is_in_constant_memory(protocol, event)
        };
        let real: BTreeSet<_> = real.iter().filter(|event| !is_left_out(event)).copied().collect();
        let said = &said[thread.linear(&ran.launch) as usize];
        assert_eq!(*said, real, "{thread:?}: repeated (left) and done (right) differ: {protocol:#?}");
    }
    true
}

#[track_caller]
fn can(kernel: &str, arguments: &[Argument], wanted: bool) {
    let repeated = Program::of(kernel).repeated([2, 1, 1], [8, 1, 1], arguments);
    assert_eq!(repeated == 1, wanted, "{kernel}");
}

#[test]
fn kernels_that_leave_nothing_open() {
    for body in [
        "if (tid < n) a[ctaid * ntid + tid] = b[tid + n]",
        "for (int i = tid; i < n; i += ntid) a[i] = b[n - i]",
        "for (int s = ntid / 2; s > 0; s /= 2) { if (tid < s) a[ctaid * ntid + tid] += a[ctaid * ntid + tid + s]; sync(); }",
        "a[tid] = 1; warp_sync(); b[tid] = a[tid ^ 1]",
        "a[tid / n] = tid % n",
        // Accesses to shared memory concern no other launch.
        "__shared__ int t[8]; t[b[tid] & 7] = tid; sync(); a[ctaid * 8 + tid] = t[tid]",
        "__shared__ int t[8]; t[tid] = tid; sync(); __nvvm_atom_add_gen_i(&t[0], 1); a[tid] = t[0]",
        "a[tid + 1] = 1; if (tid < n) __nvvm_atom_add_gen_i(&a[0], b[tid])",
    ] {
        can(&format!("KERNEL k(int *a, int *b, int n) {{ {body}; }}"), &[words(64), words(64), Int(5)], true);
    }
}

#[test]
fn kernels_that_leave_something_open() {
    for body in [
        "a[b[tid]] = tid",
        "a[tid] = b[b[0] & 7]",
        "if (b[tid] > 3) a[tid] = 1",
        "for (int i = 0; i < b[tid]; i++) a[i] = 1",
        "for (int i = 0; i < n; i++) { a[i] = 1; if (b[i] == 2) break; }",
        // What an atomic has read decides a place.
        "a[__nvvm_atom_add_gen_i(&a[0], 1) & 7] = 1",
        "*(volatile int *)&a[tid] = 1",
        // The protocol leaves open which of the two it is.
        "int *p = tid < n ? a : b; p[tid] = 1",
        "int *p = a; for (int i = 0; i < n; i++) p = p == a ? b : a; p[tid] = 1",
    ] {
        can(
            &format!("KERNEL k(int *a, int *b, int n) {{ {body}; }}"),
            &[words(64), Inside(128), Int(5)],
            false,
        );
    }
    // The launch decides if a divisor is zero.
    let divides = "KERNEL k(int *a, int n) { a[(unsigned)tid / (unsigned)(n - 4)] = 1; }";
    can(divides, &[words(64), Int(5)], true);
}

#[test]
fn reads_of_constant_memory_are_listed_unless_one_is_open() {
    let is_partial = |at: &str| {
        let source = format!(
            "__constant__ int table[8] = {{1, 2}};
            KERNEL k(int *a, int *b) {{ a[tid] = table[tid & 7] + table[{at}]; }}"
        );
        let program = Program::of(&source);
        let is_partial = Repeat::of(&program.protocol).unwrap().is_partial();
        assert_eq!(program.repeated([2, 1, 1], [8, 1, 1], &[words(64), words(64)]), 1, "{at}");
        is_partial
    };
    assert_eq!((is_partial("1"), is_partial("b[tid] & 7")), (false, true));
    let decides = "__constant__ int table[8] = {1, 2};
        KERNEL k(int *a, int *b) { if (table[b[tid] & 7] == 1) a[tid] = 1; }";
    can(decides, &[words(64), words(64)], false);
}

#[test]
fn a_quotient_by_zero_is_open() {
    let program = Program::of("KERNEL k(int *a, int n) { a[tid / n] = 1; }");
    let repeat = Repeat::of(&program.protocol).unwrap();
    let launch = |n: u64| gpurace_protocol::launch::Launch {
        shape: LaunchShape::flat(1, 4),
        params: vec![0, n],
        ..Default::default()
    };
    assert_eq!((repeat.cost(&launch(2)).is_some(), repeat.cost(&launch(0))), (true, None));
}
