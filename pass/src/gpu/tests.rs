//! What becomes of a module: text before and after.

use gpurace_abi::event::{EventKind, Fetch};
use gpurace_abi::scope::AtomicKind;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use super::{builtins, hooks, keep_shared_apart, refuse, stand_alone};
use crate::ir;
use crate::ir::testing::with_module;
use crate::position::Positions;
use crate::{instrument, sites};

fn printed(module: LLVMModuleRef) -> String {
    // SAFETY: live; the text is copied before it is given back.
    unsafe {
        let text = LLVMPrintModuleToString(module);
        let printed = ir::text(text);
        LLVMDisposeMessage(text);
        printed
    }
}

/// The module with its checks.
fn checked(text: &str) -> String {
    with_module(text, |module| {
        // SAFETY: live.
        unsafe {
            builtins::define(module);
            let mut positions = Positions::new(&[]);
            let found = sites::collect(module, &mut positions);
            hooks::insert(module, found.sites.len(), &mut positions);
            instrument::insert_checks(module, &found.accesses, &Default::default());
        }
        printed(module)
    })
}

fn line<'a>(text: &'a str, of: &str) -> &'a str {
    text.lines().find(|line| line.contains(of)).unwrap_or_else(|| panic!("no `{of}` in\n{text}")).trim()
}

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
fn shared_variables_are_each_variants_own() {
    let text = with_module(
        "target triple = \"nvptx64-nvidia-cuda\"
         @kept = dso_local addrspace(3) global [64 x i32] undef
         @dynamic = external addrspace(3) global [0 x i32]
         @total = dso_local addrspace(1) global i32 0",
        |module| {
            // SAFETY: live.
            unsafe { keep_shared_apart(module) };
            printed(module)
        },
    );
    assert!(text.contains("@kept = internal addrspace(3)"), "{text}");
    assert!(text.contains("@dynamic = external addrspace(3)") && text.contains("@total = dso_local addrspace(1)"), "{text}");
}

#[test]
fn constants_that_name_shared_memory_are_refused() {
    let refused = |globals: &str| {
        let text = format!("@s = internal addrspace(3) global [4 x i32] undef\n@g = internal addrspace(1) global i32 0\n{globals}");
        // SAFETY: live.
        with_module(&text, |module| unsafe { refuse(module) })
    };
    let generic = "ptr addrspacecast (ptr addrspace(3) @s to ptr)";
    let why = "constants that are addresses of shared memory are not known there";
    assert_eq!(refused(&format!("@t = internal constant {{ i32, [1 x ptr] }} {{ i32 0, [1 x ptr] [{generic}] }}")), Err(why.to_owned()));
    assert_eq!(refused("@t = internal constant ptr addrspacecast (ptr addrspace(1) @g to ptr)"), Ok(()));
    assert_eq!(refused(&format!("@llvm.used = appending global [1 x ptr] [{generic}], section \"llvm.metadata\"")), Ok(()));
}

#[test]
fn code_takes_the_addresses_of_managed_variables_from_their_cells() {
    let module = |globals: &str| {
        format!(
            "target triple = \"nvptx64-nvidia-cuda\"
             @text = private constant [16 x i8] c\"gpurace.managed\\00\", section \"llvm.metadata\"
             @file = private constant [2 x i8] c\"f\\00\", section \"llvm.metadata\"
             @m = dso_local addrspace(1) externally_initialized global [4 x i32] zeroinitializer
             @llvm.global.annotations = appending global [1 x {{ ptr, ptr, ptr, i32, ptr }}] [{{ ptr, ptr, ptr, i32, ptr }}
                 {{ ptr addrspacecast (ptr addrspace(1) @m to ptr), ptr @text, ptr @file, i32 1, ptr null }}], section \"llvm.metadata\"
             {globals}
             define i32 @f(i1 %c) {{
               br i1 %c, label %a, label %b
             a:
               store i32 1, ptr addrspacecast (ptr addrspace(1) getelementptr ([4 x i32], ptr addrspace(1) @m, i64 0, i64 2) to ptr)
               br label %b
             b:
               %p = phi ptr [ addrspacecast (ptr addrspace(1) @m to ptr), %0 ], [ null, %a ]
               %v = load i32, ptr %p
               ret i32 %v
             }}"
        )
    };
    let text = with_module(&module(""), |module| {
        // SAFETY: live.
        unsafe {
            assert_eq!(refuse(module), Ok(()));
            let cells = crate::lower::managed::add_cells(module, 1);
            super::managed::replace(&cells);
            crate::lower::verify(module).unwrap();
            printed(module)
        }
    });
    let cell = "@__gpurace_managed_m = internal addrspace(1) global ptr addrspacecast (ptr addrspace(1) @m to ptr)";
    assert!(text.contains(cell), "{text}");
    let (_, code) = text.split_once("define i32 @f").unwrap();
    assert!(code.contains("load ptr, ptr addrspace(1) @__gpurace_managed_m"), "{text}");
    assert!(!code.contains("@m"), "no use is left: {text}");
    // Nobody would write the variable's address there; addresses of the others are as they are.
    let refused = |globals: &str| with_module(&module(globals), |module| unsafe { refuse(module) });
    let why = "constants that are addresses of `__managed__` variables are not known there";
    let within = "ptr addrspacecast (ptr addrspace(1) getelementptr ([4 x i32], ptr addrspace(1) @m, i64 0, i64 2) to ptr)";
    assert_eq!(refused(&format!("@where = addrspace(1) global {within}")), Err(why.to_owned()));
    assert_eq!(refused("@g = addrspace(1) global i32 0\n@where = addrspace(1) global ptr addrspacecast (ptr addrspace(1) @g to ptr)"), Ok(()));
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
    assert!(text.contains("addrspacecast ptr addrspace(3)") && text.contains("ptrtoint ptr %q to i64"), "{text}");
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
    assert!(check.ends_with(&format!("i32 4, i32 0, i32 {}, i32 2, i32 0)", AtomicKind::Load as u32)), "{check}");
    assert!(!f.contains("__gpurace_irregular"), "{f}");
    // What the asm itself reads is not known before it: the first access is checked, the second announced.
    assert_eq!(g.matches("call void @__gpurace_read_range(").count(), 1, "{g}");
    assert!(g.contains("call void @__gpurace_irregular()") && !g.contains("call void @__gpurace_atomic("), "{g}");
}

#[test]
fn what_one_access_acquires_is_announced_before_the_checks_of_others() {
    let of = |asm: &str| {
        let text = checked(&format!(
            "target triple = \"nvptx64-nvidia-cuda\"
             define i32 @f(i32 %on, i64 %p, i64 %q) {{
               %x = call i32 asm sideeffect \"{{ .reg .pred p; setp.ne.u32 p, $1, 0; {asm} @p st.global.u32 [$3], $1; }}\", \"=r,r,l,l\"(i32 %on, i64 %p, i64 %q)
               ret i32 %x
             }}"
        ));
        assert_eq!((text.matches("call void @__gpurace_atomic(").count(), text.matches("call void @__gpurace_write_range(").count()), (1, 1), "{text}");
        let announced = text.find("call void @__gpurace_irregular()");
        (announced, text.find("call void @__gpurace_write_range("), text.find("call void @__gpurace_atomic("))
    };
    let (announced, store, load) = of("ld.acquire.gpu.u32 $0, [$2];");
    assert!(announced.is_some() && announced < load && load < store);
    // A relaxed access acquires nothing without a fence.
    assert_eq!(of("ld.relaxed.gpu.u32 $0, [$2];").0, None);
    assert!(of("ld.relaxed.gpu.u32 $0, [$2]; fence.acq_rel.gpu;").0.is_some());
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
    assert!(g.contains("call void @__gpurace_irregular()") && !g.contains("call void @__gpurace_atomic("), "{g}");
}

/// Where these stand in a text, one behind the other.
#[track_caller]
fn stand_in_turn(text: &str, all: &[&str]) {
    let mut from = 0;
    for what in all {
        from += text[from..].find(what).unwrap_or_else(|| panic!("no `{what}` behind what comes before it in\n{text}")) + what.len();
    }
}

/// A checked function whose body is one asm with these arguments: `%a`, `%b` of 32 bits, `%p` of 64.
fn checked_asm(result: &str, asm: &str, constraints: &str, arguments: &str) -> String {
    let call = if result == "void" { String::new() } else { "%x = ".to_owned() };
    checked(&format!(
        "target triple = \"nvptx64-nvidia-cuda\"
         define void @f(i32 %a, i32 %b, i64 %p) {{
           {call}call {result} asm sideeffect \"{asm}\", \"{constraints}\"({arguments})
           ret void
         }}"
    ))
}

#[test]
fn fences_are_said_before_they_happen() {
    let text = checked(
        "target triple = \"nvptx64-nvidia-cuda\"
         declare void @llvm.nvvm.membar.cta()
         declare void @llvm.nvvm.membar.gl()
         declare void @llvm.nvvm.membar.sys()
         declare void @llvm.nvvm.fence.sc.cluster()
         define void @f() {
           call void @llvm.nvvm.membar.cta()
           call void @llvm.nvvm.membar.gl()
           call void @llvm.nvvm.membar.sys()
           call void @llvm.nvvm.fence.sc.cluster()
           fence seq_cst
           call void asm sideeffect \"fence.acq_rel.gpu;\", \"~{memory}\"()
           call void asm sideeffect \"fence.proxy.async;\", \"~{memory}\"()
           ret void
         }",
    );
    let said = |scope: u32, order: u32| format!("call void @__gpurace_fence(i32 {scope}, i32 {order}, i32 0)");
    stand_in_turn(&text, &[
        "define void @f", &said(0, 4), "membar.cta", &said(2, 4), "membar.gl", &said(3, 4), "membar.sys", &said(1, 4), "fence.sc.cluster",
        &said(3, 4), "fence seq_cst", &said(2, 3), "fence.acq_rel",
    ]);
    assert_eq!(text.matches("call void @__gpurace_").count(), 6, "{text}");
    assert!(text.contains("attributes #") && line(&text, "declare void @__gpurace_fence").contains('#'), "{text}");
}

#[test]
fn fences_behind_what_an_asm_reads_are_said_behind_it_too() {
    let text = checked_asm("i32", "ld.relaxed.gpu.u32 $0, [$1]; fence.acq_rel.gpu;", "=r,l", "i64 %p");
    let fence = "call void @__gpurace_fence(i32 2, i32 3, i32 0)";
    stand_in_turn(&text, &["call void @__gpurace_atomic(", fence, "asm sideeffect", "call void @__gpurace_atomic_done(", fence, "ret void"]);
    let text = checked_asm("void", "fence.acq_rel.gpu; st.relaxed.gpu.u32 [$0], 1;", "l", "i64 %p");
    stand_in_turn(&text, &[fence, "call void @__gpurace_atomic(", "asm sideeffect", "call void @__gpurace_atomic_done(", "ret void"]);
    assert_eq!(text.matches(fence).count(), 1, "{text}");
}

#[test]
fn what_has_a_guard_is_said_under_it() {
    let guarded = |asm: &str| checked_asm("void", &format!("{{ .reg .pred p; setp.ne.u32 p, $0, 0; {asm} }}"), "r,l", "i32 %a, i64 %p");
    let text = guarded("@p fence.acq_rel.gpu;");
    stand_in_turn(&text, &["icmp ne i32 %a, 0", "br i1", "call void @__gpurace_fence(", "br label", "asm sideeffect", "ret void"]);
    // What an atomic has done is said under its guard as well.
    let text = guarded("@p red.release.gpu.add.u32 [$1], 1;");
    let (before, after) = text.split_once("asm sideeffect").unwrap();
    stand_in_turn(before, &["br i1", "call void @__gpurace_atomic(", "br label"]);
    stand_in_turn(after, &["br i1", "call void @__gpurace_atomic_done(", "br label", "ret void"]);
    let text = guarded("@!p bar.sync 3, 64;");
    let (before, after) = text.split_once("asm sideeffect").unwrap();
    stand_in_turn(before, &["br i1", "call void @__gpurace_before_named(i32 3, i32 2)", "br label"]);
    stand_in_turn(after, &["br i1", "call void @__gpurace_after_named(i32 3)", "br label", "ret void"]);
    // What is looked at before a barrier of the block is needed behind it.
    let text = guarded("@p bar.sync 0;");
    let (before, after) = text.split_once("asm sideeffect").unwrap();
    assert!(before.contains("call i64 @__gpurace_before_barrier()") && !before.contains("br i1"), "{text}");
    stand_in_turn(after, &["br i1", "call void @__gpurace_after_barrier(", "br label"]);
    stand_in_turn(&guarded("@p exit;"), &["br i1", "call void @__gpurace_leave()", "br label", "asm sideeffect"]);
    // A guard that the asm has read is not known before it.
    let text = checked_asm(
        "void",
        "{ .reg .pred p; .reg .u32 v; ld.global.u32 v, [$0]; setp.ne.u32 p, v, 0; @p fence.acq_rel.gpu; }",
        "l",
        "i64 %p",
    );
    assert!(text.contains("call void @__gpurace_irregular()") && !text.contains("__gpurace_fence"), "{text}");
    assert!(guarded("@p bar.warp.sync $0;").contains("call void @__gpurace_irregular()"));
}

#[test]
fn barriers_with_a_number_are_named() {
    let named = |asm: &str, arguments: &str, constraints: &str, number: &str, waits: bool| {
        let text = checked_asm("void", asm, constraints, arguments);
        // For all threads, or for as many as it says.
        let waits_for = if asm.contains(',') { 2 } else { 1 };
        let before = format!("call void @__gpurace_before_named(i32 {number}, i32 {})", if waits { waits_for } else { 0 });
        stand_in_turn(&text, &[&before, "asm sideeffect"]);
        let after = format!("call void @__gpurace_after_named(i32 {number})");
        assert_eq!(text.contains(&after), waits, "{text}");
        if waits {
            stand_in_turn(&text, &["asm sideeffect", &after, "ret void"]);
        }
        assert!(!text.contains("__gpurace_irregular") && !text.contains("_barrier("), "{text}");
    };
    named("bar.sync 1;", "", "", "1", true);
    named("bar.sync 0, 64;", "", "", "0", true);
    named("barrier.sync $0, $1;", "i32 %a, i32 %b", "r,r", "%a", true);
    named("bar.sync $0, $1;", "i32 5, i32 64", "n,n", "5", true);
    named("bar.arrive $0, $1;", "i32 %a, i32 64", "r,n", "%a", false);
    // A number that the asm works out.
    let text = checked_asm("void", "{ .reg .u32 n; add.u32 n, $0, 1; bar.sync n, 64; }", "r", "i32 %a");
    stand_in_turn(&text, &["add i32 %a, 1", "call void @__gpurace_before_named(i32 %1, i32 2)", "asm sideeffect"]);
    // One that it reads.
    let text = checked_asm("void", "{ .reg .u32 n; ld.global.u32 n, [$0]; bar.sync n, 64; }", "l", "i64 %p");
    assert!(text.contains("call void @__gpurace_irregular()") && !text.contains("_named("), "{text}");
}

#[test]
fn barriers_of_the_block_are_not_named() {
    for (asm, constraints, arguments) in [("bar.sync 0;", "", ""), ("barrier.cta.sync.aligned 0;", "", ""), ("bar.sync $0;", "n", "i32 0")] {
        let text = checked_asm("void", asm, constraints, arguments);
        stand_in_turn(&text, &["call i64 @__gpurace_before_barrier()", "asm sideeffect", "call void @__gpurace_after_barrier("]);
        assert!(!text.contains("_named(") && !text.contains("__gpurace_irregular"), "{text}");
    }
}

#[test]
fn barriers_that_are_intrinsics_are_said() {
    let text = checked(
        "target triple = \"nvptx64-nvidia-cuda\"
         declare void @llvm.nvvm.barrier0()
         declare void @llvm.nvvm.bar.sync(i32)
         declare void @llvm.nvvm.barrier.n(i32)
         declare void @llvm.nvvm.barrier.sync(i32)
         declare void @llvm.nvvm.barrier(i32, i32)
         declare void @llvm.nvvm.barrier.sync.cnt(i32, i32)
         define void @whole() {
           call void @llvm.nvvm.barrier0()
           call void @llvm.nvvm.bar.sync(i32 0)
           call void @llvm.nvvm.barrier.n(i32 0)
           call void @llvm.nvvm.barrier.sync(i32 0)
           ret void
         }
         define void @named(i32 %n) {
           call void @llvm.nvvm.bar.sync(i32 1)
           call void @llvm.nvvm.barrier.n(i32 2)
           call void @llvm.nvvm.barrier.sync(i32 %n)
           call void @llvm.nvvm.barrier(i32 0, i32 64)
           call void @llvm.nvvm.barrier.sync.cnt(i32 4, i32 64)
           ret void
         }",
    );
    let (whole, named) = text.split_once("define void @named").unwrap();
    assert_eq!(whole.matches("call void @__gpurace_after_barrier(").count(), 4, "{text}");
    assert!(!whole.contains("_named("), "{text}");
    for number in ["1", "2", "%n", "0", "4"] {
        stand_in_turn(named, &[
            &format!("call void @__gpurace_before_named(i32 {number}, i32 "),
            "call void @llvm.nvvm.bar",
            &format!("call void @__gpurace_after_named(i32 {number})"),
        ]);
    }
    assert!(!named.contains("call void @__gpurace_after_barrier(") && !text.contains("__gpurace_irregular"), "{text}");
}

#[test]
fn asynchronous_copies_are_said_where_they_begin_and_where_they_are_waited_for() {
    let text = checked(
        "target triple = \"nvptx64-nvidia-cuda\"
         declare void @llvm.nvvm.cp.async.ca.shared.global.8.s(ptr addrspace(3), ptr addrspace(1), i32)
         declare void @llvm.nvvm.cp.async.commit.group()
         declare void @llvm.nvvm.cp.async.wait.group(i32)
         declare void @llvm.nvvm.cp.async.wait.all()
         define void @f(ptr addrspace(3) %to, ptr addrspace(1) %from, i32 %n) {
           call void @llvm.nvvm.cp.async.ca.shared.global.8.s(ptr addrspace(3) %to, ptr addrspace(1) %from, i32 %n)
           call void @llvm.nvvm.cp.async.commit.group()
           call void @llvm.nvvm.cp.async.wait.group(i32 2)
           call void @llvm.nvvm.cp.async.wait.all()
           ret void
         }
         define void @g(i32 %to, i64 %from, i32 %n) {
           call void asm sideeffect \"cp.async.cg.shared.global [$0], [$1], 16, $2;\", \"r,l,r\"(i32 %to, i64 %from, i32 %n)
           call void asm sideeffect \"cp.async.commit_group;\", \"\"()
           call void asm sideeffect \"cp.async.wait_group $0;\", \"n\"(i32 2)
           call void asm sideeffect \"cp.async.wait_all;\", \"\"()
           ret void
         }",
    );
    let (f, g) = text.split_once("define void @g").unwrap();
    let f = f.split_once("define void @f").unwrap().1;
    for (function, most, [copy, commit, wait, all]) in [
        (f, 8, ["cp.async.ca", "cp.async.commit.group", "cp.async.wait.group(i32 2)", "cp.async.wait.all()"]),
        (g, 16, ["cp.async.cg", "cp.async.commit_group", "cp.async.wait_group", "cp.async.wait_all"]),
    ] {
        assert!(line(function, "icmp ult i64").ends_with(&format!(", {most}")), "{function}");
        let (said, write) = ("call void @__gpurace_async_commit()", format!("i64 {most}, "));
        stand_in_turn(function, &["call void @__gpurace_async_read(", "call void @__gpurace_async_write(", &write, copy]);
        stand_in_turn(function, &[copy, said, commit, wait, "call void @__gpurace_async_wait(i32 2)", said, all, "call void @__gpurace_async_wait(i32 0)"]);
        // Nobody else is ordered by them, nor by the wait.
        assert!(!function.contains("__gpurace_irregular") && !function.contains("_range("), "{function}");
    }
}

#[test]
fn copies_arrive_at_mbarriers() {
    let text = checked(
        "target triple = \"nvptx64-nvidia-cuda\"
         declare void @llvm.nvvm.cp.async.mbarrier.arrive.noinc.shared(ptr addrspace(3))
         define void @f(ptr addrspace(3) %b) {
           call void @llvm.nvvm.cp.async.mbarrier.arrive.noinc.shared(ptr addrspace(3) %b)
           ret void
         }
         define void @g(i32 %b) {
           call void asm sideeffect \"cp.async.mbarrier.arrive.shared.b64 [$0];\", \"r\"(i32 %b)
           ret void
         }",
    );
    let (f, g) = text.split_once("define void @g").unwrap();
    let f = f.split_once("define void @f").unwrap().1;
    for function in [f, g] {
        let atomic = format!("i32 8, i32 {}, i32 {}, i32 0, i32 2)", u32::from(std::ptr::eq(function, g)), AtomicKind::Reduction as u32);
        stand_in_turn(function, &[
            "call void @__gpurace_async_arrive(ptr %", "call void @__gpurace_atomic(ptr %", &atomic, "cp.async.mbarrier", "call void @__gpurace_atomic_done(ptr %", &atomic,
        ]);
    }
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
    stand_in_turn(text, &[
        "call void @__gpurace_write_range(ptr", "i64 8, i32 0)", "mbarrier.init", &rmw(1), "mbarrier.arrive.shared", "call void @__gpurace_atomic_done(", &rmw(1),
        "call void @__gpurace_atomic(ptr %g", &rmw(2), "drop.noComplete", "call void @__gpurace_atomic_done(ptr %g", &rmw(2),
    ]);
    // Only a phase that is over is acquired.
    let load = AtomicKind::Load as u32;
    let order = line(text, "select i1").split(' ').next().unwrap();
    stand_in_turn(text, &[
        &format!("i32 8, i32 3, i32 {load}, i32 0, i32 1)"), "test.wait", "icmp eq i1 %over, true", "i32 1, i32 0", "call void @__gpurace_atomic_done(",
        &format!("i32 8, i32 3, i32 {load}, i32 0, i32 {order})"), "mbarrier.inval",
    ]);
    assert!(!text.contains("__gpurace_irregular"), "{text}");
}

#[test]
fn waits_at_mbarriers_acquire_where_they_say_that_the_phase_is_over() {
    let wait = "mbarrier.test_wait.parity.shared.b64 p, [$1], $2;";
    let of = |behind: &str, result: &str, constraints: &str| {
        let text = checked_asm(result, &format!("{{ .reg .pred p; {wait} {behind} }}"), constraints, "i32 %a, i32 %b");
        assert!(!text.contains("__gpurace_irregular"), "{text}");
        let done = line(text.split_once("asm sideeffect").unwrap().1, "call void @__gpurace_atomic_done(").to_owned();
        (text, done)
    };
    let (text, done) = of("selp.b32 $0, 1, 0, p;", "i32", "=r,r,r");
    stand_in_turn(&text, &["asm sideeffect", "icmp eq i32 %x, 1", "select i1", "i32 1, i32 0"]);
    assert!(done.contains("i32 0, i32 %"), "{done}");
    let (text, _) = of("selp.u16 $0, 0, 1, p;", "i16", "=h,r,r");
    stand_in_turn(&text, &["asm sideeffect", "icmp eq i16 %x, 0", "select i1"]);
    // A loop ends when it is over.
    let text = checked_asm("void", "{ .reg .pred p; W: mbarrier.test_wait.parity.shared.b64 p, [$0], $1; @!p bra W; }", "r,r", "i32 %a, i32 %b");
    stand_in_turn(&text, &["call void @__gpurace_atomic(ptr %", "asm sideeffect", "call void @__gpurace_atomic_done(ptr %", "i32 0, i32 1)"]);
    assert!(!text.contains("__gpurace_irregular"), "{text}");
    // Whether it is over is not known: as if it were.
    let (_, done) = of("selp.u32 $0, 1, 0, p; mov.u32 $0, 0;", "i32", "=r,r,r");
    assert!(done.ends_with("i32 0, i32 1)"), "{done}");
}

#[test]
fn matrices_are_accessed_by_the_whole_warp() {
    // Two moves of one asm, the second at rows that it works out.
    let asm = "{ .reg .u32 a; add.u32 a, $4, 64; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0,$1,$2,$3}, [$4]; ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {$0,$1}, [a+16]; }";
    let text = checked_asm("{i32, i32, i32, i32}", asm, "=r,=r,=r,=r,r", "i32 %a");
    // How many, whether transposed, whether stored, the site.
    let (row, end) = ("call void @__gpurace_rows(ptr %", ["i32 4, i32 0, i32 0, i32 0)", "i32 2, i32 1, i32 0, i32 1)"]);
    stand_in_turn(&text, &["add i32 %a, 64", ", 16", row, end[0], row, end[1], "asm sideeffect"]);
    let text = checked_asm("void", "stmatrix.sync.aligned.m8n8.x1.shared.b16 [$0], {$1};", "r,r", "i32 %a, i32 %b");
    stand_in_turn(&text, &["to ptr addrspace(3)", row, "i32 1, i32 0, i32 1, i32 0)", "asm sideeffect"]);
    assert!(!text.contains("__gpurace_irregular"), "{text}");
    // Rows of which the asm reads where they are.
    let asm = "{ .reg .u32 a; ld.shared.u32 a, [$1]; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {$0}, [a]; }";
    let text = checked_asm("i32", asm, "=r,r", "i32 %a");
    assert!(text.contains("call void @__gpurace_read_range(") && !text.contains("__gpurace_rows"), "{text}");
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
    stand_in_turn(text, &[
        "call void @__gpurace_rows(ptr %", "i32 1, i32 0, i32 0, i32 0)", "= call i32 @llvm.nvvm.ldmatrix",
        // The stride, rows, columns, whether by column, bytes, whether stored, the site.
        "call void @__gpurace_tile(ptr %", "i32 %n, i32 16, i32 16, i32 0, i32 1, i32 0, i32 1)", "load.a.row",
        "call void @__gpurace_tile(ptr %", "i32 40, i32 8, i32 32, i32 1, i32 4, i32 1, i32 2)", "store.d.col",
    ]);
    // Of elements of less than a byte nothing is said.
    assert_eq!(text.matches("call void @__gpurace_").count(), 3, "{text}");
}

#[test]
fn barriers_of_clusters_are_said() {
    let text = checked(
        "target triple = \"nvptx64-nvidia-cuda\"
         declare void @llvm.nvvm.barrier.cluster.arrive()
         declare void @llvm.nvvm.barrier.cluster.arrive.relaxed.aligned()
         declare void @llvm.nvvm.barrier.cluster.wait.aligned()
         define void @f() {
           call void @llvm.nvvm.barrier.cluster.arrive()
           call void @llvm.nvvm.barrier.cluster.wait.aligned()
           call void @llvm.nvvm.barrier.cluster.arrive.relaxed.aligned()
           ret void
         }
         define void @g() {
           call void asm sideeffect \"barrier.cluster.arrive.relaxed; barrier.cluster.wait;\", \"\"()
           ret void
         }",
    );
    let text = text.split_once("define void @f").unwrap().1;
    stand_in_turn(text, &[
        "call void @__gpurace_cluster_arrive(i32 2, i32 0)", "cluster.arrive()", "cluster.wait.aligned()", "call void @__gpurace_cluster_wait(i32 0)",
        "call void @__gpurace_cluster_arrive(i32 0, i32 0)", "cluster.arrive.relaxed.aligned()", "define void @g",
        "call void @__gpurace_cluster_arrive(i32 0, i32 0)", "asm sideeffect", "call void @__gpurace_cluster_wait(i32 0)",
    ]);
    assert!(!text.contains("__gpurace_irregular"), "{text}");
}

#[test]
fn shared_memory_of_other_blocks_is_reached_by_generic_pointers() {
    let cast = "call i64 asm \"cvta.shared::cluster.u64 $0, $1;\", \"=l,l\"(i64 %";
    let text = checked_asm("void", "st.shared::cluster.u32 [$0+4], $1;", "r,r", "i32 %a, i32 %b");
    stand_in_turn(&text, &["zext i32 %a to i64", ", 4", cast, "inttoptr i64 %", "to ptr", "call void @__gpurace_write_range(ptr %", "asm sideeffect"]);
    let text = checked_asm("void", "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [$0];", "r", "i32 %a");
    let arrives = format!("i32 8, i32 0, i32 {}, i32 1, i32 2)", AtomicKind::Rmw as u32);
    stand_in_turn(&text, &[cast, "call void @__gpurace_atomic(ptr %", &arrives, "asm sideeffect", "call void @__gpurace_atomic_done(ptr %", &arrives]);
    assert!(!text.contains("__gpurace_irregular") && !text.contains("addrspacecast"), "{text}");
    // Also where the asm casts it.
    let text = checked_asm("void", "{ .reg .u64 a; cvt.u64.u32 a, $0; cvta.shared::cluster.u64 a, a; st.u32 [a], $1; }", "r,r", "i32 %a, i32 %b");
    stand_in_turn(&text, &[cast, "call void @__gpurace_write_range(ptr %", "asm sideeffect"]);
    // The own block's needs no such cast.
    let text = checked_asm("void", "st.shared::cta.u32 [$0], $1;", "r,r", "i32 %a, i32 %b");
    assert!(text.contains("addrspacecast ptr addrspace(3)") && !text.contains("cvta"), "{text}");
}

#[test]
fn what_is_not_known_is_announced() {
    for asm in ["fence.proxy.tensormap::generic.acquire.gpu [$0], 128;", "bar.sync 0; bar.sync 1, 64;", "cp.async.bulk.commit_group;"] {
        let text = checked_asm("void", asm, "l,r", "i64 %p, i32 %a");
        stand_in_turn(&text, &["call void @__gpurace_irregular()", "asm sideeffect"]);
        // Nothing is said of a part of it.
        assert_eq!(text.matches("call void @__gpurace_").count(), 1, "{text}");
    }
}

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
    stand_in_turn(two, &[&format!("call void @__gpurace_fetch(i64 %t, i32 0, i32 {}, i32 %", what(EventKind::Fetch, 1, 1)), "tex.2d.v4"]);
    assert!(!two.contains("call void @__gpurace_coordinates("), "{two}");
    // Under the guard, and what does not fit into one call before it.
    let store = format!("call void @__gpurace_fetch(i64 %s, i32 1, i32 {}, i32 %x, i32 %y)", what(EventKind::SurfaceWrite, 2 | 1 << 8, 8));
    stand_in_turn(three, &["icmp ne i32 %y, 0", "br i1 %", "call void @__gpurace_coordinates(i32 %z, i32 0)", &store, "br label", "asm sideeffect"]);
    stand_in_turn(intrinsics, &[
        "call void @__gpurace_coordinates(i32 %", &format!("call void @__gpurace_fetch(i64 %t, i32 2, i32 {}, i32 %", what(EventKind::Fetch, 2, 1)),
        &format!(", i32 {})", 0.5f32.to_bits()), "@llvm.nvvm.tex.unified.3d",
        &format!("call void @__gpurace_fetch(i64 %t, i32 3, i32 {}, i32 %i, i32 0)", what(EventKind::SurfaceWrite, 2 << 8, 2)), "@llvm.nvvm.sust.b.1d",
    ]);
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
            (hooked.fetches, hooked.unseen, hooked.sites.len(), printed(module).contains("__gpurace_irregular"))
        })
    };
    assert_eq!(counted("%r = call { float, float, float, float } @llvm.nvvm.tex.1d.v4f32.f32(i64 %t, i64 %t, float %x)"), (1, 0, 0, false));
    assert_eq!(counted("call void @llvm.nvvm.sust.p.1d.i32.trap(i64 %t, i32 %i, i32 %i)"), (1, 0, 0, false));
    let asm = |asm: &str| counted(&format!("call void asm sideeffect \"{{ .reg .f32 a; .reg .u32 b; {asm} }}\", \"l,l,f,r\"(i64 %t, ptr %p, float %x, i32 %i)"));
    assert_eq!(asm("add.f32 a, $2, $2; tex.1d.v4.f32.f32 {a, a, a, a}, [$0, {a}];"), (1, 0, 0, false));
    assert_eq!(asm("suld.b.1d.b32.trap {b}, [$0, {$3}]; suld.b.1d.b32.trap {b}, [$0, {b}];"), (1, 0, 1, false));
    // The neighbours, of which it is known.
    assert_eq!(asm("add.u32 b, $3, 4; suld.b.1d.b32.trap {b}, [$0, {b}];"), (0, 0, 1, false));
    assert_eq!(asm("tex.1d.v4.f32.f32 {a, a, a, a}, [$0, {0f3F000000}]; suld.b.1d.b32.trap {b}, [$0, {$3}];"), (0, 0, 2, false));
}

/// What the kernel `k` of a checked module reaches.
fn features(body: &str) -> gpurace_abi::meta::SyncFeatures {
    let text = format!(
        "target triple = \"nvptx64-nvidia-cuda\"
         declare void @llvm.nvvm.barrier0()
         declare void @llvm.nvvm.bar.warp.sync(i32)
         define void @k(ptr %p, i32 %a, i64 %at) {{ call void @inner(ptr %p, i32 %a, i64 %at)\n ret void }}
         define void @inner(ptr %p, i32 %a, i64 %at) {{ {body}\n ret void }}
         define void @other() {{ fence seq_cst\n ret void }}"
    );
    // SAFETY: live.
    with_module(&text, |module| unsafe {
        let mut positions = Positions::new(&[]);
        let found = sites::collect(module, &mut positions);
        hooks::insert(module, found.sites.len(), &mut positions);
        instrument::insert_checks(module, &found.accesses, &Default::default());
        let kernel = LLVMGetNamedFunction(module, c"k".as_ptr());
        crate::reach::of_kernels(module, &[kernel])[0].features
    })
}

#[test]
fn what_a_kernel_synchronises_with_is_known_by_what_it_calls() {
    use gpurace_abi::meta::SyncFeatures;
    let none = SyncFeatures::default();
    let of = |body: &str| SyncFeatures { suspends: false, ..features(body) };
    let asm = |text: &str| of(&format!("call void asm sideeffect \"{text}\", \"r,l\"(i32 %a, i64 %at)"));
    assert_eq!(of("store i32 1, ptr %p"), none);
    assert_eq!(of("call void @llvm.nvvm.barrier0()"), SyncFeatures { barriers: true, ..none });
    assert_eq!(asm("bar.sync 1, 64;"), SyncFeatures { barriers: true, named_barriers: true, ..none });
    assert_eq!(of("call void @llvm.nvvm.bar.warp.sync(i32 -1)"), SyncFeatures { warp_syncs: true, ..none });
    assert_eq!(of("call void @llvm.nvvm.bar.warp.sync(i32 %a)"), SyncFeatures { warp_syncs: true, partial_masks: true, ..none });
    assert_eq!(asm("fence.acq_rel.gpu;"), SyncFeatures { fences: true, ..none });
    assert_eq!(asm("fence.proxy.tensormap::generic.release.gpu;"), SyncFeatures { fences: true, ..none });
    assert_eq!(asm("red.release.gpu.add.u32 [$1], 1;"), SyncFeatures { fences: true, ..none });
    assert_eq!(asm("red.relaxed.gpu.add.u32 [$1], 1;"), none);
    assert_eq!(asm("cp.async.ca.shared.global [$0], [$1], 4;"), SyncFeatures { async_copies: true, ..none });
    assert_eq!(asm("sust.b.1d.b32.trap [$1, {$0}], {$0};"), SyncFeatures { fetches: true, ..none });
    assert_eq!(asm("barrier.cluster.arrive;"), SyncFeatures { clusters: true, ..none });
    // What is observed by atomics and accessed plainly, too.
    let observed = of("%old = atomicrmw add ptr %p, i32 1 monotonic\n store i32 %old, ptr %p");
    assert_eq!(observed, SyncFeatures { observes: true, ..none });
}

#[test]
fn bare_code_is_in_no_group() {
    let text = with_module(
        "target triple = \"nvptx64-nvidia-cuda\"
         $kernel = comdat any
         $helper = comdat any
         define weak_odr void @kernel() comdat { call void @helper() ret void }
         define linkonce_odr hidden void @helper() comdat { ret void }
         declare void @vprintf()
         !nvvm.annotations = !{!0}
         !0 = !{ptr @kernel, !\"kernel\", i32 1}",
        |module| {
            // SAFETY: live.
            unsafe { stand_alone(module) };
            printed(module)
        },
    );
    assert!(text.contains("define dso_local void @kernel() {") && text.contains("define internal void @helper() {"), "{text}");
}
