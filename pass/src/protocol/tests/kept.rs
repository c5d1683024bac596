//! Accesses that the code keeps within their shared array.

use super::machine::{Argument, Program};
use super::{ONE, words};
use gpurace_protocol::bounds::keeps_within;
use gpurace_protocol::protocol::{ObjectId, ObjectKind, Protocol};

/// The names of the static shared arrays that no access leaves.
fn kept(protocol: &Protocol) -> Vec<&str> {
    let all = protocol.objects.iter().zip(0..);
    let arrays = all.filter(|(object, _)| matches!(object.kind, ObjectKind::Shared { .. }));
    let kept = arrays.filter(|(_, id)| keeps_within(protocol, &protocol.exprs, ObjectId(*id)));
    kept.map(|(object, _)| object.name.as_str()).collect()
}

/// True if no access leaves dynamic shared memory of this size.
fn dynamic_is_kept(protocol: &Protocol, size: u32) -> bool {
    let mut protocol = protocol.clone();
    protocol.shape.dynamic_shared = Some(size);
    let object = protocol.objects.iter().position(|object| object.kind == ObjectKind::DynamicShared);
    keeps_within(&protocol, &protocol.exprs, ObjectId(object.expect("dynamic memory") as u32))
}

#[test]
fn an_access_at_a_loaded_place_is_made_within_its_array() {
    let program = Program::of(
        "KERNEL k(int *key) { __shared__ int bins[16]; __shared__ int last[1];
            bins[key[tid]] = 1; bins[key[tid]] += tid; last[0] = key[0]; }",
    );
    assert_eq!(kept(&program.protocol), ["bins", "last"], "{:#?}", program.protocol);
    let keys = Argument::Words(vec![3, 15, 0, 3]);
    program.assert_covered(ONE, [4, 1, 1], &[keys], 400);
}

/// No compare is needed where the code's own arithmetic keeps a place small. The prover need not follow it.
#[test]
fn an_access_at_a_place_that_is_small_by_itself_is_made_within_its_array() {
    let program = |elements: u32| {
        Program::of(&format!(
            "KERNEL k(unsigned *key) {{ __shared__ int bins[{elements}]; __shared__ int last[1];
                unsigned s = (key[tid] * 0x9e3779b1u ^ key[tid]) % 16;
                for (int i = 0; i < 3; i++) {{ bins[s] = 1; s = (s + 5) % 16; }} last[0] = 1; }}"
        ))
    };
    assert_eq!(kept(&program(16).protocol), ["bins", "last"]);
    let keys = Argument::Words(vec![3, 15, 1 << 31, 77]);
    program(16).assert_covered(ONE, [4, 1, 1], &[keys], 400);
}

#[test]
fn an_access_at_a_loaded_place_is_made_within_dynamic_memory() {
    let program = Program::of(
        "extern __shared__ int bins[]; KERNEL k(int *key) { __shared__ int last[1];
            bins[key[tid]] = 1; bins[key[tid]] += tid; last[0] = key[0]; }",
    );
    assert!(dynamic_is_kept(&program.protocol, 64));
    let keys = Argument::Words(vec![3, 15, 0, 3]);
    program.assert_covered(ONE, [4, 1, 1], &[keys], 400);
}

#[test]
fn other_accesses_may_leave_dynamic_memory() {
    let program = Program::of(
        "extern __shared__ int bins[]; KERNEL k(int *key) { __shared__ int last[1];
            bins[key[tid]] = 1; bins[tid] += 1; last[0] = key[0]; }",
    );
    assert!(!dynamic_is_kept(&program.protocol, 64));
    assert!(dynamic_is_kept(&program.protocol, 4096));
}

#[test]
fn other_accesses_may_leave_it() {
    // One of the accesses to the array is not kept: its place is computed from the thread alone.
    let program = Program::of(
        "KERNEL k(int *key) { __shared__ int bins[16]; __shared__ int last[1];
            bins[key[tid]] = 1; bins[tid] += 1; last[0] = key[0]; }",
    );
    assert_eq!(kept(&program.protocol), ["last"]);
    program.assert_covered(ONE, [4, 1, 1], &[words(4)], 400);
    // The pointer may be to either array.
    let program = Program::of(
        "KERNEL k(int *key, int n) { __shared__ int bins[16]; __shared__ int last[16];
            int *to = n ? bins : last; to[key[tid]] = 1; }",
    );
    assert!(kept(&program.protocol).is_empty(), "{:#?}", program.protocol);
}
