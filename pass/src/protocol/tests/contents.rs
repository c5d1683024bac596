//! Contents of local memory.

use super::machine::Argument::{Bytes, Int};
use super::machine::{Argument, Program};
use super::{ONE, words};

/// `struct Pair { int *a, *b; int n; }` with both pointers null.
fn pair(n: i32) -> Argument {
    let mut bytes = vec![0; 24];
    bytes[16..20].copy_from_slice(&n.to_le_bytes());
    Bytes(bytes)
}

const PAIR: &str = "struct Pair { int *a, *b; int n; };";

#[test]
fn a_struct_handed_on_is_what_the_kernel_was_given() {
    let source = format!(
        "{PAIR} __device__ __attribute__((noinline)) void put(Pair p, int i, int *to) {{ if (i < p.n) to[i] = p.n; }}
        __device__ __attribute__((noinline)) void twice(Pair p, int *to) {{ put(p, tid, to); put(p, tid + 4, to); }}
        KERNEL k(Pair p, int *to) {{ twice(p, to); }}"
    );
    let program = Program::of(&source);
    assert!(program.protocol.opaques.is_empty(), "{:#?}", program.protocol);
    program.assert_exact([1, 1, 1], [4, 1, 1], &[pair(6), words(16)]);
}

#[test]
fn pointers_in_a_struct_handed_on_are_parameters() {
    let source = format!(
        "{PAIR} __device__ __attribute__((noinline)) void put(Pair p, int i) {{ p.a[i] = p.b[i]; }}
        KERNEL k(Pair p) {{ put(p, tid); }}"
    );
    let objects = Program::of(&source).protocol.objects;
    let names: Vec<_> = objects.iter().map(|o| o.name.as_str()).collect();
    assert_eq!(names, ["p+8", "p"]);
}

#[test]
fn a_struct_that_was_changed_is_not_what_was_given() {
    // In the kernel, before it hands it on.
    let source = format!(
        "{PAIR} __device__ __attribute__((noinline)) void put(Pair p, int *to) {{ if (tid < p.n) to[tid] = 1; }}
        KERNEL k(Pair p, int *to) {{ p.n = to[tid]; put(p, to); }}"
    );
    let open = Program::of(&source).assert_covered(ONE, [4, 1, 1], &[pair(2), words(16)], 64);
    assert_eq!(open, 4);
    // In the function, of its own copy.
    let source = format!(
        "{PAIR} __device__ __attribute__((noinline)) void put(Pair p, int *to) {{
            for (int i = 0; i < 3; ++i) {{ if (tid < p.n) to[tid + 8 * i] = 1; ((volatile Pair &)p).n += to[tid]; }} }}
        KERNEL k(Pair p, int *to) {{ put(p, to); }}"
    );
    let open = Program::of(&source).assert_covered(ONE, [4, 1, 1], &[pair(2), words(32)], 256);
    assert_eq!(open, 4);
}

#[test]
fn a_part_that_was_not_changed_is() {
    let source = format!(
        "{PAIR} __device__ __attribute__((noinline)) void put(Pair p, int *to) {{ if (tid < p.n) to[tid] = 1; }}
        KERNEL k(Pair p, int *to) {{ p.a = to; put(p, to); }}"
    );
    let program = Program::of(&source);
    assert!(program.protocol.opaques.is_empty(), "{:#?}", program.protocol);
    program.assert_exact(ONE, [4, 1, 1], &[pair(2), words(16)]);
}

#[test]
fn addresses_of_local_memory_in_a_struct() {
    let source = "struct Legs { int *of; int n; };
        __device__ __attribute__((noinline)) int sum(Legs l) { int s = 0; for (int i = 0; i < l.n; ++i) s += l.of[i]; return s; }
        KERNEL k(int *a) {
            int own[8];
            for (int i = 0; i < 8; ++i) own[i] = a[tid + 8 * i];
            Legs l{own, 8};
            a[tid + 64] = sum(l);
        }";
    let program = Program::of(source);
    let open = |name: &str| program.protocol.objects.iter().any(|o| o.name == name);
    assert!(
        open("memory of the thread alone") && !open("a pointer loaded from memory"),
        "{:#?}",
        program.protocol
    );
    program.assert_included([1, 1, 1], [4, 1, 1], &[words(80)]);
}

#[test]
fn an_address_from_elsewhere_is_not_one_of_local_memory() {
    // One of two stores, a store through the address of the struct, a store at
    // an index.
    let changes = [
        "if (a[0]) l.of = a;",
        "change(&l, a);",
        "(&l.of)[a[1] - 1] = a;",
        "*(long long *)&l = (long long)a;",
        "for (int i = 0; i < 1; ++i) ((char *)&l)[i] = ((char *)&a)[i];",
    ];
    for change in changes {
        let source = format!(
            "struct Legs {{ int *volatile of; int n; }};
            __device__ __attribute__((noinline)) void change(Legs *l, int *a) {{ l->of = a; }}
            __device__ __attribute__((noinline)) void put(Legs l) {{ l.of[tid] = 1; }}
            KERNEL k(int *a) {{ int own[8]; own[a[2]] = 1; Legs l{{own, 8}}; {change} put(l); }}"
        );
        let program = Program::of(&source);
        let writes = |name: &str| program.protocol.objects.iter().any(|o| o.name == name);
        assert!(writes("a pointer loaded from memory"), "{change}: {:#?}", program.protocol);
    }
}

#[test]
fn a_copy_of_constant_memory() {
    let source = "__constant__ int table[4] = {3, 2, 1, 0};
        struct Table { int at[4]; };
        __device__ __attribute__((noinline)) int of(Table t, int i) { return t.at[i & 3]; }
        KERNEL k(int *a) { Table t = *(const Table *)table; a[of(t, tid)] = 1; }";
    Program::of(source).assert_exact(ONE, [4, 1, 1], &[words(16)]);
}

#[test]
fn a_struct_in_a_loop_is_one_struct_for_each_iteration() {
    let source = format!(
        "{PAIR} __device__ __attribute__((noinline)) void put(Pair p, int *to) {{ if (tid < p.n) to[tid] = 1; }}
        KERNEL k(Pair p, int *to, int n) {{ for (int i = 0; i < n; ++i) {{ Pair q = p; q.n = i; put(q, to + 8 * i); }} }}"
    );
    Program::of(&source).assert_covered(ONE, [4, 1, 1], &[pair(2), words(64), Int(4)], 512);
}

#[test]
fn values_put_into_a_struct_that_is_handed_on() {
    // From parameters through two functions. One of them makes another struct from the parts.
    let source = "struct View { int *data; int n; }; struct Wide { View view; int extra; };
        __device__ __attribute__((noinline)) void put(Wide w) { if (tid < w.view.n) w.view.data[tid] = w.extra; }
        __device__ __attribute__((noinline)) void widen(View v, int n) { Wide w{v, n}; put(w); }
        KERNEL k(int *a, int n) { View v{a + 2, n}; widen(v, 7); }";
    let program = Program::of(source);
    assert!(program.protocol.opaques.is_empty(), "{:#?}", program.protocol);
    assert!(program.protocol.objects.iter().all(|o| o.name == "a"), "{:#?}", program.protocol);
    program.assert_exact(ONE, [8, 1, 1], &[words(16), Int(5)]);
}

#[test]
fn values_that_change_are_not_what_a_struct_holds() {
    // In a loop; in one of two branches; before and after.
    let changes = [
        "for (int i = 0; i < 3; ++i) { v.n = i; put(v); }",
        "if (a[0]) v.n = 1; put(v);",
        "put(v); v.n += 2; put(v);",
    ];
    for change in changes {
        let source = format!(
            "struct View {{ int *volatile data; int n; }};
            __device__ __attribute__((noinline)) void put(View v) {{ if (tid < v.n) v.data[tid] = v.n; }}
            KERNEL k(int *a, int n) {{ View v{{a + 2, n}}; {change} }}"
        );
        let program = Program::of(&source);
        assert!(!program.protocol.opaques.is_empty(), "{change}: {:#?}", program.protocol);
        program.assert_covered(ONE, [8, 1, 1], &[words(16), Int(5)], 512);
    }
}

/// clang sets an array to 0 and stores what is not 0, if that is shorter than a copy.
#[test]
fn an_array_that_is_set_to_zero_and_then_filled() {
    let of = |body: &str| Program::of(&format!("KERNEL k(char *a, int n) {{ {body} }}"));
    let source = "const int by[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
        for (int i = 0; i < 9; ++i) a[16 * i + tid + by[i] + 1] = 1; a[200 + by[n]] = 2;";
    let program = of(source);
    assert!(program.protocol.opaques.is_empty(), "{:#?}", program.protocol);
    for n in [0, 3, 8] {
        of(source).assert_exact(ONE, [4, 1, 1], &[words(256), Int(n)]);
    }
    // One element is read before another one is stored, or changes later.
    for body in [
        "int by[9]; __builtin_memset(by, 0, sizeof by); by[1] = 1; a[by[n] + 9] = 1; by[3] = 5; a[by[n]] = 1;",
        "int by[9] = {0, 1, 0, 5, 0, 1}; a[by[n]] = 1; if (tid == 1) by[3] = 7; a[by[n]] = 1;",
    ] {
        let program = of(body);
        assert!(!program.protocol.opaques.is_empty(), "{body}: {:#?}", program.protocol);
        program.assert_covered(ONE, [4, 1, 1], &[words(64), Int(3)], 3000);
    }
}
