//! Structs that functions take and return by value.

use super::machine::Argument::Int;
use super::machine::Program;
use super::{ONE, words};

#[test]
fn indices_handed_on_in_structs() {
    let source = "struct Dim { unsigned x, y, z; }; struct Group { Dim own; int *data; };
        __device__ Dim index() { return Dim{(unsigned)tid, (unsigned)tidy, (unsigned)ctaid}; }
        __device__ Group group(int *a) { return Group{index(), a + 2}; }
        __device__ Dim of(Group g) { return g.own; }
        __device__ int *at(Group g) { return g.data + of(g).x * 4; }
        KERNEL k(int *a) { Group g = group(a); at(g)[of(g).y] = of(g).z; }";
    let program = Program::of(source);
    assert!(program.protocol.opaques.is_empty(), "{:#?}", program.protocol);
    program.assert_exact([2, 1, 1], [4, 3, 1], &[words(64)]);
}

/// A kernel that computes an index `%i` from the struct type `%P`, the parameter `%n` and the thread's
/// index `%t`, and writes there.
fn kernel(parts: &str, body: &str) -> Program {
    let source = format!(
        "target triple = \"nvptx64-nvidia-cuda\"
        %P = type {parts}
        define void @k(ptr %a, i32 %n) {{
        entry:
          %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x(){body}
          %p = getelementptr i32, ptr %a, i32 %i
          store i32 1, ptr %p
          ret void
        }}
        declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
        !nvvm.annotations = !{{!0}}
        !0 = !{{ptr @k, !\"kernel\", i32 1}}"
    );
    Program::from_bitcode(source.as_bytes())
}

#[test]
fn the_part_that_was_put_in_last() {
    // As the front end leaves a struct that is changed part by part.
    let body = "
          %v0 = insertvalue %P poison, i32 %n, 0
          %v1 = insertvalue %P %v0, i32 7, 1, 0
          %v2 = insertvalue %P %v1, i32 %t, 1, 1
          %v3 = insertvalue %P %v2, i32 %t, 1, 0
          %v4 = extractvalue %P %v3, 1
          %v5 = extractvalue [2 x i32] %v4, 0
          %v6 = extractvalue %P %v3, 0
          %i = add i32 %v5, %v6";
    let program = kernel("{ i32, [2 x i32] }", body);
    assert!(program.protocol.opaques.is_empty(), "{:#?}", program.protocol);
    program.assert_exact(ONE, [8, 1, 1], &[words(64), Int(3)]);
}

#[test]
fn a_struct_of_several_origins_is_not_looked_into() {
    let body = "
          %c = icmp slt i32 %t, %n
          br i1 %c, label %less, label %join
        less:
          %v0 = insertvalue %P zeroinitializer, i32 %t, 0
          br label %join
        join:
          %v1 = phi %P [ %v0, %less ], [ zeroinitializer, %entry ]
          %i = extractvalue %P %v1, 0";
    let program = kernel("{ i32, i32 }", body);
    assert_eq!(program.protocol.opaques.len(), 1, "{:#?}", program.protocol);
}

#[test]
fn a_number_kept_as_a_pointer() {
    // `cooperative_groups` stores the kind of a group in bits of a pointer.
    let source = "KERNEL k(int *a, long n) { void *kept = (void *)(n * 2 + tid); a[(long)kept & 31] = 1; }";
    let program = Program::of(source);
    assert!(program.protocol.opaques.is_empty(), "{:#?}", program.protocol);
    program.assert_exact(ONE, [8, 1, 1], &[words(64), super::machine::Argument::Long(3)]);
    // The low bits of a pointer are not the whole pointer.
    let program = Program::of("KERNEL k(int *a, int *b) { a[(int)(long)b & 31] = 1; }");
    assert_eq!(program.protocol.opaques.len(), 1, "{:#?}", program.protocol);
}
