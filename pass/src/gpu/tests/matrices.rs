//! Matrices that a warp moves together.

use super::harness::{checked, checked_asm, stand_in_turn};

#[test]
fn matrices_are_accessed_by_the_whole_warp() {
    // Two moves of one asm, the second at rows that it works out.
    let asm = "{ .reg .u32 a; add.u32 a, $4, 64; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0,$1,$2,$3}, [$4]; ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {$0,$1}, [a+16]; }";
    let text = checked_asm("{i32, i32, i32, i32}", asm, "=r,=r,=r,=r,r", "i32 %a");
    // How many, whether transposed, whether stored, the site.
    let (row, end) = (
        "call void @__gpurace_matrix_rows(ptr %",
        ["i32 4, i32 0, i32 0, i32 0)", "i32 2, i32 1, i32 0, i32 1)"],
    );
    stand_in_turn(&text, &["add i32 %a, 64", ", 16", row, end[0], row, end[1], "asm sideeffect"]);
    let text =
        checked_asm("void", "stmatrix.sync.aligned.m8n8.x1.shared.b16 [$0], {$1};", "r,r", "i32 %a, i32 %b");
    stand_in_turn(&text, &["to ptr addrspace(3)", row, "i32 1, i32 0, i32 1, i32 0)", "asm sideeffect"]);
    assert!(!text.contains("__gpurace_irregular"), "{text}");
    // Rows of which the asm reads where they are.
    let asm = "{ .reg .u32 a; ld.shared.u32 a, [$1]; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {$0}, [a]; }";
    let text = checked_asm("i32", asm, "=r,r", "i32 %a");
    assert!(
        text.contains("call void @__gpurace_read_range(") && !text.contains("__gpurace_matrix_rows"),
        "{text}"
    );
}

#[test]
fn matrices_of_intrinsics_are_accessed_too() {
    let text = checked(
        "target triple = \"nvptx64-nvidia-cuda\"
         declare i32 @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x1.b16.p3(ptr addrspace(3))
         declare {i32, i32} @llvm.nvvm.wmma.m16n16k16.load.a.row.stride.s8.p3(ptr addrspace(3), i32)
         declare void @llvm.nvvm.wmma.m8n32k16.store.d.col.stride.f32.p1(ptr addrspace(1), float, float, float, float, float, float, float, float, i32)
         declare i32 @llvm.nvvm.wmma.m8n8k32.load.a.row.stride.s4.p0(ptr, i32)
         define void @f(ptr addrspace(3) %s, ptr addrspace(1) %g, ptr %p, i32 %n, float %v) {
           %r = call i32 @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x1.b16.p3(ptr addrspace(3) %s)
           %a = call {i32, i32} @llvm.nvvm.wmma.m16n16k16.load.a.row.stride.s8.p3(ptr addrspace(3) %s, i32 %n)
           call void @llvm.nvvm.wmma.m8n32k16.store.d.col.stride.f32.p1(ptr addrspace(1) %g, float %v, float %v, float %v, float %v, float %v, float %v, float %v, float %v, i32 40)
           %b = call i32 @llvm.nvvm.wmma.m8n8k32.load.a.row.stride.s4.p0(ptr %p, i32 %n)
           ret void
         }",
    );
    let text = text.split_once("define void @f").unwrap().1;
    stand_in_turn(
        text,
        &[
            "call void @__gpurace_matrix_rows(ptr %",
            "i32 1, i32 0, i32 0, i32 0)",
            "= call i32 @llvm.nvvm.ldmatrix",
            // The stride, rows, columns, whether by column, bytes, whether stored, the site.
            "call void @__gpurace_matrix_tile(ptr %",
            "i32 %n, i32 16, i32 16, i32 0, i32 1, i32 0, i32 1)",
            "load.a.row",
            "call void @__gpurace_matrix_tile(ptr %",
            "i32 40, i32 8, i32 32, i32 1, i32 4, i32 1, i32 2)",
            "store.d.col",
        ],
    );
    // Of elements of less than a byte nothing is said.
    assert_eq!(text.matches("call void @__gpurace_").count(), 3, "{text}");
}
