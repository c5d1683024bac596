//! Checks of single accesses: intrinsics and inline PTX.

use gpurace_abi::scope::AtomicKind;

use super::harness::{checked, line, printed, stand_in_turn};
use crate::gpu::hooks;
use crate::ir::position::Positions;
use crate::ir::testing::with_module;

#[test]
fn a_swap_that_fails_is_a_read_also_where_it_is_an_intrinsic() {
    let text = checked(
        "target triple = \"nvptx64-nvidia-cuda\"
         declare i32 @llvm.nvvm.atomic.cas.gen.i.cta.i32.p0(ptr, i32, i32)
         declare i32 @llvm.nvvm.atomic.add.gen.i.cta.i32.p0(ptr, i32)
         define i32 @f(ptr %p) {
           %old = call i32 @llvm.nvvm.atomic.cas.gen.i.cta.i32.p0(ptr %p, i32 1, i32 7)
           ret i32 %old
         }
         define i32 @g(ptr %p) {
           %old = call i32 @llvm.nvvm.atomic.add.gen.i.cta.i32.p0(ptr %p, i32 1)
           ret i32 %old
         }",
    );
    // What is there is looked at first; where it is not what is wanted, the swap changes nothing.
    assert_eq!(line(&text, "load atomic"), "%1 = load atomic i32, ptr %p monotonic, align 4", "{text}");
    assert_eq!(line(&text, "icmp"), "%2 = icmp eq i32 %1, 1");
    assert_eq!(line(&text, "select i1 %2, i32 7,"), "%3 = select i1 %2, i32 7, i32 %1");
    let swap = line(&text, "= call i32 @llvm.nvvm.atomic.cas");
    assert!(swap.ends_with("(ptr %p, i32 %1, i32 %3)"), "{swap}");
    // Of the kinds that the check is told one is a read-modify-write, the other a load.
    let kinds = format!("select i1 %2, i32 {}, i32 {}", AtomicKind::Rmw as u32, AtomicKind::Load as u32);
    assert!(line(&text, &kinds).starts_with("%4"), "{text}");
    assert!(line(&text, "call void @__gpurace_atomic(ptr %p").contains("i32 %4"), "{text}");
    assert!(line(&text, "select i1 %2, i32 %old, i32 %1").starts_with("%5"), "{text}");
    assert!(text.contains("ret i32 %5"), "{text}");
    // Other intrinsics have nothing to fail.
    assert_eq!(text.matches("load atomic").count(), 1, "{text}");
}

#[test]
fn a_swap_of_two_bytes_is_an_instruction() {
    let text = checked(
        "target triple = \"nvptx64-nvidia-cuda\"
         declare i16 @__usAtomicCAS(ptr, i16, i16)
         define i16 @f(ptr %p) {
           %old = call i16 @__usAtomicCAS(ptr %p, i16 1, i16 2)
           ret i16 %old
         }",
    );
    assert!(line(&text, "cmpxchg ptr %p, i16").contains("monotonic monotonic"), "{text}");
    assert!(text.contains("@__gpurace_atomic(ptr %p, i32 2"), "{text}");
    assert!(!text.contains("call i16 @__usAtomicCAS"), "{text}");
}

#[test]
fn plain_accesses_of_inline_ptx_have_checks_at_their_addresses() {
    let text = checked(
        "target triple = \"nvptx64-nvidia-cuda\"
         define i32 @f(i64 %p, i32 %s, ptr %q) {
           %x = call i32 asm \"ld.global.cs.u32 $0, [$1+8];\", \"=r,l\"(i64 %p)
           call void asm sideeffect \"st.shared.u32 [$0], $1;\", \"r,r\"(i32 %s, i32 1)
           call void asm sideeffect \"st.u32 [$0], $1;\", \"l,r\"(ptr %q, i32 1)
           ret i32 %x
         }",
    );
    assert!(text.contains("add i64 %p, 8"), "{text}");
    let reads = line(&text, "call void @__gpurace_read_range(");
    assert!(reads.ends_with(", i64 4, i32 0)"), "{reads}");
    assert!(line(&text, "inttoptr i64 %").contains("to ptr"), "{text}");
    assert!(text.contains("zext i32 %s to i64") && text.contains("to ptr addrspace(3)"), "{text}");
    assert!(
        text.contains("addrspacecast ptr addrspace(3)") && text.contains("ptrtoint ptr %q to i64"),
        "{text}"
    );
    assert_eq!(text.matches("call void @__gpurace_write_range(").count(), 2, "{text}");
    // Each stands before what it checks.
    let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("no `{what}` in\n{text}"));
    assert!(at("@__gpurace_read_range(") < at("ld.global.cs"), "{text}");
    assert!(at("@__gpurace_write_range(") < at("st.shared.u32"), "{text}");
}

#[test]
fn accesses_of_inline_ptx_under_a_guard_have_their_checks_under_it() {
    let text = checked(
        "target triple = \"nvptx64-nvidia-cuda\"
         define void @f(i32 %on, i64 %p) {
           call void asm sideeffect \"{ .reg .pred p; setp.ne.u32 p, $0, 0; @!p st.global.u32 [$1], $0; }\", \"r,l\"(i32 %on, i64 %p)
           ret void
         }",
    );
    let guard = line(&text, "= icmp ne i32 %on, 0");
    assert!(text.contains(&format!("xor i1 {}, true", guard.split(' ').next().unwrap())), "{text}");
    let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("no `{what}` in\n{text}"));
    let (branch, check, asm) = (at("br i1 %"), at("call void @__gpurace_write_range("), at("asm sideeffect"));
    assert!(branch < check && check < asm, "{text}");
    // Both ways lead on to the asm, which is in a block of its own.
    assert_eq!(text[check..asm].matches("br label ").count(), 1, "{text}");
    assert!(text[check..asm].contains("preds = "), "{text}");
}

#[test]
fn addresses_that_inline_ptx_works_out_are_worked_out_before() {
    let text = checked(
        "target triple = \"nvptx64-nvidia-cuda\"
         define i32 @f(i64 %p, i32 %i) {
           %x = call i32 asm \"{ .reg .u64 a; mad.wide.s32 a, $2, 4, $1; ld.relaxed.gpu.u32 $0, [a+8]; }\", \"=r,l,r\"(i64 %p, i32 %i)
           ret i32 %x
         }
         define i32 @g(i64 %p) {
           %x = call i32 asm \"{ .reg .u64 a; ld.global.u64 a, [$1]; ld.acquire.gpu.u32 $0, [a]; }\", \"=r,l\"(i64 %p)
           ret i32 %x
         }",
    );
    let (f, g) = text.split_once("define i32 @g").unwrap();
    assert!(f.contains("sext i32 %i to i64") && f.contains("mul i64 %") && f.contains(", %p"), "{f}");
    // A load of 4 bytes, relaxed, at device scope.
    let check = line(f, "call void @__gpurace_atomic(");
    assert!(
        check.ends_with(&format!("i32 4, i32 0, i32 {}, i32 2, i32 0)", AtomicKind::Load as u32)),
        "{check}"
    );
    assert!(!f.contains("__gpurace_irregular"), "{f}");
    // What the asm itself reads is not known before it: the first access is checked, the second
    // announced.
    assert_eq!(g.matches("call void @__gpurace_read_range(").count(), 1, "{g}");
    assert!(
        g.contains("call void @__gpurace_irregular()") && !g.contains("call void @__gpurace_atomic("),
        "{g}"
    );
}

#[test]
fn a_swap_of_inline_ptx_that_fails_is_a_read() {
    let text = checked(
        "target triple = \"nvptx64-nvidia-cuda\"
         define i32 @f(i64 %p) {
           %old = call i32 asm sideeffect \"atom.cas.acquire.gpu.b32 $0, [$1], $2, $3;\", \"=r,l,r,r\"(i64 %p, i32 1, i32 7)
           ret i32 %old
         }
         define float @g(i64 %p, float %a) {
           %old = call float asm sideeffect \"atom.cas.b32 $0, [$1], $2, $3;\", \"=f,l,f,f\"(i64 %p, float %a, float %a)
           ret float %old
         }",
    );
    let (f, g) = text.split_once("define float @g").unwrap();
    let seen = line(f, "load atomic i32").split(' ').next().unwrap().to_owned();
    let swaps = line(f, &format!("icmp eq i32 {seen}, 1")).split(' ').next().unwrap().to_owned();
    let new = line(f, &format!("select i1 {swaps}, i32 7, i32 {seen}")).split(' ').next().unwrap().to_owned();
    assert!(f.contains(&format!("(i64 %p, i32 {seen}, i32 {new})")), "{f}");
    let kinds = format!("select i1 {swaps}, i32 {}, i32 {}", AtomicKind::Rmw as u32, AtomicKind::Load as u32);
    assert!(f.contains(&kinds) && f.contains(&format!("select i1 {swaps}, i32 %old, i32 {seen}")), "{f}");
    // Of other types than integers it is announced, and not checked.
    assert!(
        g.contains("call void @__gpurace_irregular()") && !g.contains("call void @__gpurace_atomic("),
        "{g}"
    );
}

#[test]
fn mbarriers_are_memory() {
    let text = checked(
        "target triple = \"nvptx64-nvidia-cuda\"
         declare void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i32)
         declare void @llvm.nvvm.mbarrier.inval.shared(ptr addrspace(3))
         declare i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3))
         declare i64 @llvm.nvvm.mbarrier.arrive.drop.noComplete(ptr, i32)
         declare i1 @llvm.nvvm.mbarrier.test.wait.shared(ptr addrspace(3), i64)
         define void @f(ptr addrspace(3) %b, ptr %g) {
           call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) %b, i32 32)
           %s = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) %b)
           %t = call i64 @llvm.nvvm.mbarrier.arrive.drop.noComplete(ptr %g, i32 1)
           %over = call i1 @llvm.nvvm.mbarrier.test.wait.shared(ptr addrspace(3) %b, i64 %s)
           call void @llvm.nvvm.mbarrier.inval.shared(ptr addrspace(3) %b)
           ret void
         }",
    );
    let text = text.split_once("define void @f").unwrap().1;
    let rmw = |site: u32| format!("i32 8, i32 {site}, i32 {}, i32 0, i32 2)", AtomicKind::Rmw as u32);
    stand_in_turn(
        text,
        &[
            "call void @__gpurace_write_range(ptr",
            "i64 8, i32 0)",
            "mbarrier.init",
            &rmw(1),
            "mbarrier.arrive.shared",
            "call void @__gpurace_atomic(ptr %g",
            &rmw(2),
            "drop.noComplete",
            &format!("i32 8, i32 3, i32 {}, i32 0, i32 1)", AtomicKind::Load as u32),
            "test.wait",
            "mbarrier.inval",
        ],
    );
    assert!(!text.contains("__gpurace_irregular"), "{text}");
}

#[test]
fn what_no_check_sees_is_counted() {
    let counted = |body: &str| {
        let text = format!(
            "target triple = \"nvptx64-nvidia-cuda\"
             declare {{ float, float, float, float }} @llvm.nvvm.tex.unified.1d.v4f32.f32(i64, float)
             declare void @llvm.nvvm.sust.b.1d.i32.trap(i64, i32, i32)
             define void @f(i64 %t, float %x, i32 %i) {{ {body}\n ret void }}"
        );
        // SAFETY: live.
        with_module(&text, |module| unsafe {
            let hooked = hooks::insert(module, &[], &mut Positions::new(&[]));
            (hooked.unseen, hooked.sites.len(), printed(module).contains("__gpurace_irregular"))
        })
    };
    let asm = |asm: &str| counted(&format!("call void asm sideeffect \"{asm}\", \"l,r\"(i64 %t, i32 %i)"));
    let texture =
        "%r = call { float, float, float, float } @llvm.nvvm.tex.unified.1d.v4f32.f32(i64 %t, float %x)";
    assert_eq!(counted(texture), (1, 0, false));
    assert_eq!(counted("call void @llvm.nvvm.sust.b.1d.i32.trap(i64 %t, i32 %i, i32 %i)"), (1, 0, false));
    assert_eq!(asm("sust.b.1d.b32.trap [$0, {$1}], {$1};"), (1, 0, false));
    // The shared memory of other blocks, which may order threads.
    assert_eq!(asm("st.shared::cluster.u32 [$1], $1;"), (1, 0, false));
    assert_eq!(asm("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [$1];"), (1, 0, true));
    // The own block's is checked.
    assert_eq!(asm("st.shared::cta.u32 [$1], $1;"), (0, 1, false));
}
