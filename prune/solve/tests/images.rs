//! Memory of texture and surface objects. It may be memory that the kernel accesses through pointers,
//! unless the launch shows otherwise.
mod common;

use common::*;
use gpurace_protocol::expr::*;
use gpurace_protocol::launch::Launch;
use gpurace_protocol::protocol::*;

/// An unknown place in an image, which differs from thread to thread.
fn texel(k: &mut Kernel) -> E {
    k.opaque("the place of a texel", Width::W64, Uniform::Thread, &[])
}

/// Each thread fetches a texel and writes an element.
fn fetch_and_write() -> Kernel {
    let mut k = Kernel::new("fetch");
    let (texture, out) = (k.image("texture"), k.pointer("out"));
    let (at, i) = (texel(&mut k), k.gid());
    k.access_bytes(Op::Read, texture, at, 16);
    k.write(out, i);
    k
}

/// The launch with its second object in the first one's memory, from `bytes` on.
fn within(p: &Protocol, bytes: u64) -> Launch {
    let mut launch = launch([2, 1, 1], [64, 1, 1], p, &[]);
    let mut extent = launch.objects[0].unwrap();
    extent.base += bytes;
    launch.objects[1] = Some(extent);
    launch.params[1] = extent.base;
    launch
}

#[test]
fn fetched_from_other_memory_than_is_written() {
    let conditions = proved(fetch_and_write());
    assert!(conditions.iter().any(|c| c == "disjoint(texture, out)"), "{conditions:?}");
    let p = fetch_and_write().done();
    let apart = launch([2, 1, 1], [64, 1, 1], &p, &[]);
    assert!(all_proved(&prove_with(&p, &apart)));
}

#[test]
fn fetched_from_the_memory_that_is_written() {
    let p = fetch_and_write().done();
    // The texel that a thread fetches is not known. It may be one that another thread writes.
    for bytes in [0, 4096] {
        let outcome = prove_with(&p, &within(&p, bytes));
        assert_eq!(words(&outcome), ["unknown", "unknown"], "{bytes}");
    }
    // The memory behind a handle of no known object is not known.
    let mut unknown = launch([2, 1, 1], [64, 1, 1], &p, &[]);
    unknown.objects[0] = None;
    assert_eq!(words(&prove_with(&p, &unknown)), ["unknown", "unknown"]);
}

#[test]
fn written_somewhere_in_a_surface() {
    let mut k = Kernel::new("surface");
    let (surface, input) = (k.image("surface"), k.pointer("input"));
    let (at, i) = (texel(&mut k), k.gid());
    k.read(input, i);
    let stored = k.access_bytes(Op::Write, surface, at, 4);
    let p = k.done();
    let outcome = prove(&p);
    assert_eq!(words(&outcome), ["proved-if", "unknown"]);
    assert_eq!(outcome.verdicts.sites[1].site, stored);
    let apart = launch([2, 1, 1], [64, 1, 1], &p, &[]);
    assert_eq!(words(&prove_with(&p, &apart)), ["proved", "unknown"]);
    assert_eq!(words(&prove_with(&p, &within(&p, 256))), ["unknown", "unknown"]);
}

#[test]
fn a_texture_and_a_surface_of_one_array() {
    let mut k = Kernel::new("both");
    let (surface, texture) = (k.image("surface"), k.image("texture"));
    let (from, to) = (texel(&mut k), texel(&mut k));
    k.access_bytes(Op::Read, texture, from, 4);
    k.access_bytes(Op::Write, surface, to, 4);
    let p = k.done();
    let apart = launch([2, 1, 1], [64, 1, 1], &p, &[]);
    assert_eq!(words(&prove_with(&p, &apart)), ["proved", "unknown"]);
    assert_eq!(words(&prove_with(&p, &within(&p, 0))), ["unknown", "unknown"]);
}

#[test]
fn a_texture_beside_a_pointer_from_memory() {
    let mut k = Kernel::new("loaded");
    let texture = k.image("texture");
    let loaded = k.object(
        "loaded",
        ObjectKind::Opaque { space: Space::Generic, uniform: Uniform::Grid, loaded_by: None },
    );
    let (at, i) = (texel(&mut k), k.gid());
    k.access_bytes(Op::Read, texture, at, 4);
    k.write(loaded, i);
    let p = k.done();
    let apart = launch([1, 1, 1], [64, 1, 1], &p, &[]);
    assert_eq!(words(&prove_with(&p, &apart)), ["unknown", "unknown"]);
}
