//! Accesses through textures and surfaces.

use gpurace_abi::event::{EventKind, Fetch};

use super::harness::{checked, printed, stand_in_turn};
use crate::gpu::hooks;
use crate::ir::position::Positions;
use crate::ir::testing::with_module;

#[test]
fn accesses_through_textures_and_surfaces_are_told_of_before_them() {
    let text = checked(
        "target triple = \"nvptx64-nvidia-cuda\"
         declare { float, float, float, float } @llvm.nvvm.tex.unified.3d.v4f32.f32(i64, float, float, float)
         declare void @llvm.nvvm.sust.b.1d.i16.clamp(i64, i32, i16)
         define void @two(i64 %t, float %x, float %y) {
           %r = call { float, float, float, float } asm \"tex.2d.v4.f32.f32 {$0, $1, $2, $3}, [$4, {$5, $6}];\", \"=f,=f,=f,=f,l,f,f\"(i64 %t, float %x, float %y)
           ret void
         }
         define void @three(i64 %s, i32 %x, i32 %y, i32 %z, i1 %on) {
           call void asm sideeffect \"{ .reg .pred p; setp.ne.u32 p, $2, 0; @p sust.b.3d.v2.b32.zero [$0, {$1, $2, $3, $3}], {$1, $1}; }\", \"l,r,r,r\"(i64 %s, i32 %x, i32 %y, i32 %z)
           ret void
         }
         define void @intrinsics(i64 %t, float %x, i32 %i) {
           %r = call { float, float, float, float } @llvm.nvvm.tex.unified.3d.v4f32.f32(i64 %t, float %x, float 0.5, float %x)
           call void @llvm.nvvm.sust.b.1d.i16.clamp(i64 %t, i32 %i, i16 1)
           ret void
         }",
    );
    let (two, rest) = text.split_once("define void @three").unwrap();
    let (three, intrinsics) = rest.split_once("define void @intrinsics").unwrap();
    let what = |kind, operation, size| Fetch { kind, operation, size }.pack();
    // Coordinates go by their bits.
    assert!(two.contains("bitcast float %x to i32") && two.contains("bitcast float %y to i32"), "{two}");
    stand_in_turn(
        two,
        &[
            &format!("call void @__gpurace_fetch(i64 %t, i32 0, i32 {}, i32 %", what(EventKind::Fetch, 1, 1)),
            "tex.2d.v4",
        ],
    );
    assert!(!two.contains("call void @__gpurace_coordinates("), "{two}");
    // Under the guard, and what does not fit into one call before it.
    let store = format!(
        "call void @__gpurace_fetch(i64 %s, i32 1, i32 {}, i32 %x, i32 %y)",
        what(EventKind::SurfaceWrite, 2 | 1 << 8, 8)
    );
    stand_in_turn(
        three,
        &[
            "icmp ne i32 %y, 0",
            "br i1 %",
            "call void @__gpurace_coordinates(i32 %z, i32 0)",
            &store,
            "br label",
            "asm sideeffect",
        ],
    );
    stand_in_turn(
        intrinsics,
        &[
            "call void @__gpurace_coordinates(i32 %",
            &format!("call void @__gpurace_fetch(i64 %t, i32 2, i32 {}, i32 %", what(EventKind::Fetch, 2, 1)),
            &format!(", i32 {})", 0.5f32.to_bits()),
            "@llvm.nvvm.tex.unified.3d",
            &format!(
                "call void @__gpurace_fetch(i64 %t, i32 3, i32 {}, i32 %i, i32 0)",
                what(EventKind::SurfaceWrite, 2 << 8, 2)
            ),
            "@llvm.nvvm.sust.b.1d",
        ],
    );
    assert!(!text.contains("__gpurace_irregular"), "{text}");
}

#[test]
fn accesses_through_textures_of_which_too_little_is_known_are_counted() {
    let counted = |body: &str| {
        let text = format!(
            "target triple = \"nvptx64-nvidia-cuda\"
             declare {{ float, float, float, float }} @llvm.nvvm.tex.1d.v4f32.f32(i64, i64, float)
             declare void @llvm.nvvm.sust.p.1d.i32.trap(i64, i32, i32)
             define void @f(i64 %t, ptr %p, float %x, i32 %i) {{ {body}\n ret void }}"
        );
        // SAFETY: live.
        with_module(&text, |module| unsafe {
            let hooked = hooks::insert(module, 0, &mut Positions::new(&[]));
            (
                hooked.fetches,
                hooked.unseen,
                hooked.sites.len(),
                printed(module).contains("__gpurace_irregular"),
            )
        })
    };
    assert_eq!(
        counted(
            "%r = call { float, float, float, float } @llvm.nvvm.tex.1d.v4f32.f32(i64 %t, i64 %t, float %x)"
        ),
        (1, 0, 0, false)
    );
    assert_eq!(counted("call void @llvm.nvvm.sust.p.1d.i32.trap(i64 %t, i32 %i, i32 %i)"), (1, 0, 0, false));
    let asm = |asm: &str| {
        counted(&format!(
            "call void asm sideeffect \"{{ .reg .f32 a; .reg .u32 b; {asm} }}\", \"l,l,f,r\"(i64 %t, ptr %p, float %x, i32 %i)"
        ))
    };
    assert_eq!(asm("add.f32 a, $2, $2; tex.1d.v4.f32.f32 {a, a, a, a}, [$0, {a}];"), (1, 0, 0, false));
    assert_eq!(
        asm("suld.b.1d.b32.trap {b}, [$0, {$3}]; suld.b.1d.b32.trap {b}, [$0, {b}];"),
        (1, 0, 1, false)
    );
    // The neighbours, of which it is known.
    assert_eq!(asm("add.u32 b, $3, 4; suld.b.1d.b32.trap {b}, [$0, {b}];"), (0, 0, 1, false));
    assert_eq!(
        asm("tex.1d.v4.f32.f32 {a, a, a, a}, [$0, {0f3F000000}]; suld.b.1d.b32.trap {b}, [$0, {$3}];"),
        (0, 0, 2, false)
    );
}
