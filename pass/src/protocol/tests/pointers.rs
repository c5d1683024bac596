//! Pointers: the objects that they point into, and the distance.

use super::machine::Argument::{self, Bytes, Inside, Int, Long};
use super::machine::{Pointers, Program};
use super::{ONE, words};
use gpurace_protocol::expr::Expr;
use gpurace_protocol::place::Place;
use gpurace_protocol::protocol::{Object, ObjectId, ObjectKind, Space, Uniform};

#[test]
fn two_arrays_that_may_overlap() {
    Program::of("KERNEL k(int *a, int *b) { a[tid] = b[tid + 1]; }").assert_exact(
        ONE,
        [8, 1, 1],
        &[words(16), Inside(8)],
    );
}

#[test]
fn what_takes_two_values_in_turn() {
    for body in [
        "int *p = a, *q = b; for (int i = 0; i < n; i++) { q[tid] = p[tid + 1]; int *t = p; p = q; q = t; }",
        "int *p = a + 3, *q = b; for (int i = 0; i < n; i++) { q[tid] = p[2]; int *t = p; p = q; q = t; }",
        "int *p = a, *q = a + 16; for (int i = 0; i < n; i++) { *q = 1; int *t = p; p = q; q = t; q[tid] = 1; }",
        "int x = 0; for (int i = 0; i < n; i++) { x = 1 - x; a[16 * x + tid] = b[17 - 8 * x]; }",
        "int x = n; for (int i = 0; i < n; i++) { a[x + tid] = i; x ^= 3; }",
        "int x = 2, y = n; for (int i = 0; i < n; i++) { a[x] = b[y + tid]; int t = x; x = y; y = t; }",
        "for (int j = 0; j < n; j++) { int x = tid; for (int i = 0; i < j; i++) { a[x] = i; x = 20 - x; } }",
    ] {
        let program = Program::of(&format!("KERNEL k(int *a, int *b, int n) {{ {body} }}"));
        program.assert_exact(ONE, [8, 1, 1], &[words(64), words(64), Int(5)]);
    }
}

#[test]
fn a_parity_that_turns_when_its_stage_goes_round() {
    for body in [
        "int s = 0, x = 0; for (int i = 0; i < n; i++) { a[8 * s + 32 * x + tid] = b[x]; if (++s == 3) { s = 0; x ^= 1; } }",
        "int s = 1, x = 1; for (int i = 0; i < n; i++) { a[8 * s + 32 * x + tid] = b[x]; if (++s == 3) { s = 0; x ^= 1; } }",
        "int s = 0, x = 1; for (int i = 0; i < n; i++) { a[8 * s + 32 * x + tid] = b[x]; s = (s + 1) % 4; if (s == 0) x ^= 1; }",
        "int x = 0; for (int i = 0; i < n; i++) { a[8 * (i % 3) + 32 * (i / 3 & 1) + tid] = b[x]; x ^= 1; }",
    ] {
        let program = Program::of(&format!("KERNEL k(int *a, int *b, int n) {{ {body} }}"));
        program.assert_exact(ONE, [8, 1, 1], &[words(64), words(64), Int(11)]);
    }
}

#[test]
fn structs_passed_by_value() {
    let source = "struct View { int *data; int stride; short first; char on; int *other; };
        KERNEL k(View v, int n) { if (v.on) v.data[v.first + tid * v.stride] = n; else v.other[n] = 1; }";
    let program = Program::of(source);
    assert!(program.protocol.params.iter().any(|p| p.name == "v+8"), "{:?}", program.protocol.params);
    // The pointers of the struct are not arguments that the machine can make.
    assert_eq!(program.protocol.objects.len(), 2);
    assert!(program.protocol.objects.iter().all(|o| matches!(o.kind, ObjectKind::Param(_))));
}

/// Four pointers, each to 16 words, and four numbers.
const ARRAYS: &str = "struct Arrays { int *p[4]; int n[4]; };";

fn arrays(numbers: [i32; 4]) -> Pointers {
    Pointers { count: 4, words: 16, rest: numbers.iter().flat_map(|n| n.to_le_bytes()).collect() }
}

#[test]
fn arrays_of_pointers_in_a_struct() {
    for body in [
        "for (int i = 0; i < 4; i++) if (tid < s.n[i]) s.p[i][tid] = s.n[i];",
        "s.p[tid & 3][s.n[tid & 3] + (tid >> 2)] = 1;",
        "int which = s.n[tid & 1] & 3; s.p[which][s.n[which] + tid / 4] = 1;",
        "for (int i = 0; i < 4; i++) { int *p = s.p[i]; for (int j = 0; j < s.n[i]; j++, p += 2) *p = 1; }",
        "int *p = s.p[tid & 3], *q = s.p[s.n[0] & 3]; (tid > 4 ? p : q)[1] = 1;",
    ] {
        let program = Program::of(&format!("{ARRAYS} KERNEL k(Arrays s) {{ {body} }}"));
        let objects = &program.protocol.objects;
        assert!(objects.iter().all(|o| matches!(o.kind, ObjectKind::Slot { .. })), "{body}: {objects:?}");
        program.assert_exact(ONE, [8, 1, 1], &[Argument::Pointers(arrays([3, 6, 2, 5]))]);
    }
}

#[test]
fn pointers_of_a_struct_that_leave_their_iteration() {
    for body in [
        "int *p = s.p[0]; for (int i = 1; i < n; i++) { p[tid] = 1; p = s.p[i]; }",
        "int *p = s.p[0]; for (int i = 0; i < n; i++) { p = s.p[i]; if (*a > i) break; } p[tid] = 1;",
        "int *p = a; for (int i = 0; i < n; i++) { p += 1; *p = 1; if (tid > i) p = s.p[i]; }",
        "int *p = s.p[n]; for (int i = 0; i < n; i++) p = s.p[i]; for (int i = 0; i < n; i++, p++) *p = 1;",
    ] {
        let program = Program::of(&format!("{ARRAYS} KERNEL k(Arrays s, int *a, int n) {{ {body} }}"));
        let protocol = &program.protocol;
        let written: Vec<_> =
            Place::all(protocol).iter().filter(|p| p.access.op.writes()).map(|p| p.access.object).collect();
        let opaque = |object: &ObjectId| {
            matches!(
                protocol.objects[object.0 as usize].kind,
                ObjectKind::Opaque { uniform: Uniform::Thread, .. }
            )
        };
        assert!(written.iter().any(opaque), "{body}: {protocol:#?}");
        let slot = |object: &ObjectId| match protocol.objects[object.0 as usize].kind {
            // `s.p[0]` and `s.p[n]` are fixed.
            ObjectKind::Slot { at } => protocol.exprs.mentions(at, |e| matches!(e, Expr::Var { .. })),
            _ => false,
        };
        assert!(!written.iter().any(slot), "{body}: {protocol:#?}");
    }
}

/// A fetch of a texel, from the texture object `$1`.
const FETCH: &str = "__device__ float fetch(unsigned long long t, int at) { float r, s; asm volatile(
    \"tex.1d.v4.f32.s32 {%0, %1, %1, %1}, [%2, {%3}];\" : \"=f\"(r), \"=f\"(s) : \"l\"(t), \"r\"(at)); return r; }";

/// The objects of a kernel that fetches, by name.
fn fetched(kernel: &str) -> Vec<(String, ObjectKind)> {
    let program = Program::of(&format!("{FETCH} {kernel}"));
    program.protocol.objects.iter().map(|o| (o.name.clone(), o.kind.clone())).collect()
}

#[test]
fn textures_whose_handles_are_arguments() {
    let objects = fetched(
        "struct Both { int n; unsigned long long of; };
        KERNEL k(float *a, unsigned long long t, Both both) { a[tid] = fetch(t, tid) + fetch(both.of, 0) + fetch(t, 1); }",
    );
    let images: Vec<_> =
        objects.iter().filter(|o| matches!(o.1, ObjectKind::Image(_))).map(|o| &o.0).collect();
    assert_eq!(images, ["t", "both+8"], "{objects:?}");
    assert_eq!(objects.len(), 3, "{objects:?}");
}

#[test]
fn textures_whose_handles_are_computed_or_loaded() {
    for handle in ["all[tid]", "t + 1", "tid > 3 ? t : u"] {
        let objects = fetched(&format!(
            "KERNEL k(float *a, unsigned long long *all, unsigned long long t, unsigned long long u) {{
                a[tid] = fetch({handle}, tid); }}",
        ));
        assert!(objects.iter().any(|o| matches!(o.1, ObjectKind::Opaque { .. })), "{handle}: {objects:?}");
        assert!(!objects.iter().any(|o| matches!(o.1, ObjectKind::Image(_))), "{handle}: {objects:?}");
    }
}

#[test]
fn scalars_of_a_struct() {
    let source = "struct Shape { int w; short first; char on; long n; };
        KERNEL k(int *a, Shape s) { if (s.on && tid < s.n) a[s.first + tid * s.w] = 1; }";
    let mut bytes = Vec::new();
    bytes.extend(3i32.to_le_bytes());
    bytes.extend(2i16.to_le_bytes());
    bytes.extend([1, 0]);
    bytes.extend(5i64.to_le_bytes());
    Program::of(source).assert_exact(ONE, [8, 1, 1], &[words(64), Bytes(bytes)]);
}

#[test]
fn a_struct_that_the_kernel_writes_is_its_own() {
    let source = "struct Shape { int w; int h[4]; };
        KERNEL k(int *a, Shape s, int n) { s.h[n] = tid; s.w += 1; a[s.h[1]] = 1; }";
    let program = Program::of(source);
    // A value that is loaded from it is not one of the launch.
    assert_eq!(program.protocol.opaques.len(), 1, "{:#?}", program.protocol);
}

#[test]
fn selected_and_merged_pointers() {
    let source = "KERNEL k(int *a, int *b, int n) { __shared__ int s[64];
        int *p = tid < n ? a : b; p[tid] = 1;
        int *q; if (tid & 1) q = s + 1; else q = a + 2; q[tid] = 2;
        int *r = n > 3 ? a + 5 : a + 9; *r = 3; }";
    Program::of(source).assert_exact(ONE, [8, 1, 1], &[words(64), words(64), Int(4)]);
}

#[test]
fn pointer_that_walks() {
    let source =
        "KERNEL k(int *a, int n) { int *p = a + tid; for (int i = 0; i < n; ++i) { *p = i; p += ntid; }
        for (int *q = a; q != a + n; ++q) *q = 1;
        for (int *q = a + n; q > a; q -= 2) *q = 1; }";
    Program::of(source).assert_exact(ONE, [4, 1, 1], &[words(64), Int(6)]);
}

#[test]
fn swapped_buffers() {
    let source = "KERNEL k(int *a, int *b, int n) { int *from = a, *to = b;
        for (int i = 0; i < n; ++i) { to[tid] = from[tid + 1]; sync(); int *t = from; from = to; to = t; } }";
    Program::of(source).assert_exact(ONE, [4, 1, 1], &[words(64), words(64), Int(3)]);
}

#[test]
fn buffers_that_take_turns() {
    let source = "KERNEL k(int *a, int *b, int *c, int n) { int *from = a, *to = b, *next = c;
        for (int i = 0; i < n; ++i) { to[tid] = from[tid + 1]; sync(); int *t = from; from = to; to = next; next = t; } }";
    Program::of(source).assert_exact(ONE, [4, 1, 1], &[words(64), words(64), words(64), Int(7)]);
}

#[test]
fn buffers_that_change_places_in_an_inner_loop() {
    let source = "KERNEL k(int *a, int *b, int n, int m) { int *from = a, *to = b;
        for (int i = 0; i < n; ++i) {
          for (int j = 0; j < m; ++j) { to[tid] = from[tid + 1]; sync(); int *t = from; from = to; to = t; }
          to[tid + 5] = 1; sync(); } }";
    let arguments = [words(64), words(64), Int(3), Int(3)];
    Program::of(source).assert_covered(ONE, [4, 1, 1], &arguments, 4000);
}

#[test]
fn buffers_that_change_places_in_some_iterations() {
    let source = "KERNEL k(int *a, int *b, int *c, int n) { int *x = a, *y = b, *z = c;
        for (int i = 0; i < n; ++i) { y[tid] = x[tid + 1]; sync();
          if (i % 3 == 1) { int *t = x; x = y; y = z; z = t; } else if (i & 1) { int *t = x; x = z; z = t; } } }";
    let arguments = [words(64), words(64), words(64), Int(4)];
    Program::of(source).assert_covered(ONE, [4, 1, 1], &arguments, 4000);
}

#[test]
fn a_buffer_that_takes_the_place_of_another_one() {
    // In some iterations both are one buffer.
    let source = "KERNEL k(int *a, int *b, int n) { int *x = a, *y = b;
        for (int i = 0; i < n; ++i) { y[tid] = x[tid + 1]; sync(); int *t = x; x = y; y = i & 1 ? t : x; } }";
    Program::of(source).assert_covered(ONE, [4, 1, 1], &[words(64), words(64), Int(4)], 4000);
}

#[test]
fn numbers_that_take_turns() {
    let source = "KERNEL k(int *a, int n) { int x = 0, y = 10, z = 20, w = 30;
        for (int i = 0; i < n; ++i) { a[x + tid] = a[y + tid]; sync(); int t = x; x = y; y = z; z = w; w = t; } }";
    Program::of(source).assert_exact(ONE, [4, 1, 1], &[words(64), Int(7)]);
}

#[test]
fn an_array_of_buffers() {
    let source = "KERNEL k(int *a, int *b, int *c, int n) { __shared__ int s[8], t[8];
        int *two[2] = {s, t}; int *three[3] = {a, b, c};
        for (int i = 0; i < n; ++i) {
          two[i & 1][tid] = two[1 - (i & 1)][tid + 1]; three[(i + 2) % 3][tid] = three[i % 3][tid + 1]; sync(); } }";
    let arguments = [words(64), words(64), words(64), Int(5)];
    Program::of(source).assert_exact(ONE, [4, 1, 1], &arguments);
}

#[test]
fn an_array_of_buffers_that_changes() {
    let source = "KERNEL k(int *a, int *b, int n) { int *two[2] = {a, b};
        for (int i = 0; i < n; ++i) { two[i & 1][tid] = 1; two[0] = b + i; sync(); } }";
    let objects = Program::of(source).protocol.objects.clone();
    let is_open = |object: &Object| matches!(object.kind, ObjectKind::Opaque { .. });
    assert!(objects.iter().any(is_open), "{objects:#?}");
}

#[test]
fn double_buffer_by_parity() {
    let source = "KERNEL k(int *a, int n) { __shared__ int s[2][32];
        for (int i = 0; i < n; ++i) { s[i & 1][tid] = a[i]; sync(); a[tid] = s[i & 1][31 - tid]; } }";
    Program::of(source).assert_exact(ONE, [32, 1, 1], &[words(64), Int(3)]);
}

#[test]
fn static_dynamic_and_device_variables() {
    let source = "__device__ int counter[4]; extern __shared__ int dynamic[]; __shared__ float tile[4][9];
        KERNEL k(int *a) { dynamic[tid] = 1; ((char *)dynamic)[tid] = 2; tile[tid & 3][tid] = 1; counter[tid & 3] += 1;
          short *h = (short *)(dynamic + 16); h[tid] = 4; a[0] = 1; }";
    Program::of(source).assert_exact(ONE, [8, 1, 1], &[words(4)]);
}

#[test]
fn addresses_as_integers() {
    let source = "KERNEL k(int *a, long n) { __shared__ int s[64];
        unsigned at = (unsigned)(u64)(__attribute__((address_space(3))) int *)s;
        at += tid * 4; *(__attribute__((address_space(3))) int *)(u64)at = 1;
        u64 g = (u64)a; g += 8 * tid; g -= 4 * n; *(int *)g = 2; }";
    Program::of(source).assert_exact(ONE, [8, 1, 1], &[words(64), Long(0)]);
}

#[test]
fn copies_and_fills() {
    let source = "struct Big { int v[20]; };
        KERNEL k(Big *a, Big *b, long n) { a[tid] = b[tid + 1]; __builtin_memset(a + 4 + tid, 0, n); }";
    Program::of(source).assert_exact(ONE, [2, 1, 1], &[words(200), words(100), Long(12)]);
}

#[test]
fn vectors_and_bytes() {
    let source = "typedef int int4v __attribute__((ext_vector_type(4)));
        KERNEL k(int *a, char *b) { ((int4v *)a)[tid] = 1; b[tid * 3] = 2; b[-1 + (int)tid] += 1; }";
    Program::of(source).assert_exact(ONE, [4, 1, 1], &[words(64), Inside(64)]);
}

#[test]
fn pointer_from_memory_is_opaque() {
    let program = Program::of("KERNEL k(int **a) { a[0][tid] = 1; }");
    let opaque =
        program.protocol.objects.iter().filter(|o| matches!(o.kind, ObjectKind::Opaque { .. })).count();
    assert_eq!(opaque, 1, "{:#?}", program.protocol);
}

#[test]
fn a_pointer_knows_the_plain_load_that_yields_it() {
    for (parameter, is_known) in [("int **a", true), ("int *volatile *a", false)] {
        let program = Program::of(&format!("KERNEL k({parameter}) {{ a[0][tid] = 1; }}"));
        let loads = program.protocol.objects.iter().filter_map(|object| match object.kind {
            ObjectKind::Opaque { loaded_by, .. } => Some(loaded_by.is_some()),
            _ => None,
        });
        assert_eq!(loads.collect::<Vec<_>>(), [is_known], "{parameter}");
    }
}

#[test]
fn linked_list_is_opaque_in_each_iteration() {
    let source = "struct Node { int value; Node *next; };
        KERNEL k(Node *n) { for (; n; n = n->next) n->value = 1; }";
    let program = Program::of(source);
    let kinds: Vec<_> = program.protocol.objects.iter().map(|o| &o.kind).collect();
    let is_of_thread = |kind: &&ObjectKind| {
        matches!(kind, ObjectKind::Opaque { space: Space::Generic, uniform: Uniform::Thread, .. })
    };
    assert_eq!((kinds.len(), kinds.iter().filter(|kind| is_of_thread(kind)).count()), (2, 1), "{kinds:?}");
}

#[test]
fn address_kept_in_a_local() {
    let source = "KERNEL k(int *a, int *b, int n) { int *volatile p = a + tid; *p = 1; for (int i = 0; i < n; ++i) { volatile int at = i * 2; a[at] = 1; } }";
    Program::of(source).assert_exact(ONE, [4, 1, 1], &[words(64), words(4), Int(3)]);
}

#[test]
fn local_that_is_stored_to_twice_is_opaque() {
    let source = "KERNEL k(int *a, int n) { volatile int at = tid; if (n > 3) at = n; a[at] = 1; }";
    assert_eq!(Program::of(source).protocol.opaques.len(), 1);
}
