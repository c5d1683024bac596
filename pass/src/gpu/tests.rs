//! What becomes of a module: text before and after.

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
            let mut found = sites::collect(module, &mut positions);
            let hooked = hooks::insert(module, &mut positions);
            found.accesses.extend(hooked.accesses);
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
