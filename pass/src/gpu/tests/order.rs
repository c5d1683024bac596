//! What orders threads, and is said of it.

use llvm_sys::core::*;

use super::harness::{checked, checked_asm, line, stand_in_turn};
use crate::checks::sites::{self, ConstantMemory};
use crate::gpu::hooks;
use crate::ir::position::Positions;
use crate::ir::testing::with_module;

const IRREGULAR: &str = "call void @__gpurace_irregular()";

#[test]
fn what_may_order_threads_is_announced_before_it_happens() {
    let text = checked(
        "target triple = \"nvptx64-nvidia-cuda\"
         declare void @llvm.nvvm.membar.gl()
         declare void @llvm.nvvm.fence.sc.cluster()
         declare void @llvm.nvvm.barrier.cluster.arrive()
         declare void @llvm.nvvm.barrier.cluster.wait.aligned()
         define void @f() {
           call void @llvm.nvvm.membar.gl()
           call void @llvm.nvvm.fence.sc.cluster()
           fence seq_cst
           call void asm sideeffect \"fence.acq_rel.gpu;\", \"~{memory}\"()
           call void asm sideeffect \"fence.proxy.async;\", \"~{memory}\"()
           call void @llvm.nvvm.barrier.cluster.arrive()
           call void @llvm.nvvm.barrier.cluster.wait.aligned()
           ret void
         }",
    );
    let text = text.split_once("define void @f").unwrap().1;
    for instruction in
        ["membar.gl", "fence.sc.cluster", "fence seq_cst", "fence.acq_rel", "cluster.arrive", "cluster.wait"]
    {
        stand_in_turn(text, &[IRREGULAR, instruction]);
    }
    assert_eq!(text.matches("call void @__gpurace_").count(), 6, "{text}");
    // Within an asm the checks of its accesses come behind.
    let text = checked_asm("i32", "ld.relaxed.gpu.u32 $0, [$1]; fence.acq_rel.gpu;", "=r,l", "i64 %p");
    stand_in_turn(&text, &[IRREGULAR, "call void @__gpurace_atomic(", "asm sideeffect", "ret void"]);
    for asm in [
        "bar.sync 1;",
        "bar.sync 0, 64;",
        "bar.arrive 1, 64;",
        "barrier.sync $1, 64;",
        "bar.sync 0; bar.sync 0;",
        "bar.sync 0; membar.gl;",
        "barrier.cluster.arrive.relaxed; barrier.cluster.wait;",
        "fence.proxy.tensormap::generic.acquire.gpu [$0], 128;",
        "cp.async.bulk.commit_group;",
        "{ .reg .u32 n; ld.global.u32 n, [$0]; bar.sync n; }",
    ] {
        let text = checked_asm("void", asm, "l,r", "i64 %p, i32 %a");
        stand_in_turn(&text, &[IRREGULAR, "asm sideeffect"]);
        assert!(!text.contains("_barrier("), "{text}");
    }
}

#[test]
fn what_has_a_guard_is_said_under_it() {
    let guarded = |asm: &str| {
        checked_asm(
            "void",
            &format!("{{ .reg .pred p; setp.ne.u32 p, $0, 0; {asm} }}"),
            "r,l",
            "i32 %a, i64 %p",
        )
    };
    let text = guarded("@p red.release.gpu.add.u32 [$1], 1;");
    stand_in_turn(
        &text,
        &["icmp ne i32 %a, 0", "br i1", "call void @__gpurace_atomic(", "br label", "asm sideeffect"],
    );
    // What is looked at before a barrier of the block is needed behind it.
    let text = guarded("@p bar.sync 0;");
    let (before, after) = text.split_once("asm sideeffect").unwrap();
    assert!(before.contains("call i64 @__gpurace_before_barrier()") && !before.contains("br i1"), "{text}");
    stand_in_turn(after, &["br i1", "call void @__gpurace_after_barrier(", "br label"]);
    stand_in_turn(
        &guarded("@p exit;"),
        &["br i1", "call void @__gpurace_leave()", "br label", "asm sideeffect"],
    );
    // A guard that the asm has read is not known before it.
    let text = checked_asm(
        "void",
        "{ .reg .pred p; .reg .u32 v; ld.global.u32 v, [$0]; setp.ne.u32 p, v, 0; @p bar.sync 0; }",
        "l",
        "i64 %p",
    );
    assert!(text.contains(IRREGULAR) && !text.contains("_barrier("), "{text}");
    assert!(guarded("@p bar.warp.sync $0;").contains(IRREGULAR));
}

#[test]
fn barriers_of_the_block_are_said() {
    for (asm, constraints, arguments) in
        [("bar.sync 0;", "", ""), ("barrier.cta.sync.aligned 0;", "", ""), ("bar.sync $0;", "n", "i32 0")]
    {
        let text = checked_asm("void", asm, constraints, arguments);
        stand_in_turn(
            &text,
            &[
                "call i64 @__gpurace_before_barrier()",
                "asm sideeffect",
                "call void @__gpurace_after_barrier(",
            ],
        );
        assert!(!text.contains(IRREGULAR), "{text}");
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
    assert!(!whole.contains(IRREGULAR), "{text}");
    assert_eq!(named.matches(IRREGULAR).count(), 5, "{text}");
    assert!(!named.contains("call void @__gpurace_after_barrier("), "{text}");
}

#[test]
fn asynchronous_copies_are_said_where_they_begin() {
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
    for (function, most, copy) in [(f, 8, "cp.async.ca"), (g, 16, "cp.async.cg")] {
        assert!(line(function, "icmp ult i64").ends_with(&format!(", {most}")), "{function}");
        let write = format!("i64 {most}, ");
        stand_in_turn(
            function,
            &["call void @__gpurace_async_read(", "call void @__gpurace_async_write(", &write, copy],
        );
        // Nobody else is ordered by them, nor by the wait.
        assert_eq!(function.matches("call void @__gpurace_").count(), 2, "{function}");
    }
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
        let found = sites::collect(module, &mut positions, ConstantMemory::IsSkipped);
        hooks::insert(module, &found.accesses, &mut positions);
        let kernel = LLVMGetNamedFunction(module, c"k".as_ptr());
        crate::analysis::reach::of_kernels(module, &[kernel])[0].features
    })
}

#[test]
fn what_a_kernel_synchronises_with_is_known_by_what_it_calls() {
    use gpurace_abi::meta::SyncFeatures;
    let none = SyncFeatures::default();
    let of = |body: &str| SyncFeatures { suspends: false, narrow_order: false, ..features(body) };
    let asm = |text: &str| of(&format!("call void asm sideeffect \"{text}\", \"r,l\"(i32 %a, i64 %at)"));
    assert_eq!(of("store i32 1, ptr %p"), none);
    assert_eq!(of("call void @llvm.nvvm.barrier0()"), SyncFeatures { barriers: true, ..none });
    assert_eq!(asm("bar.sync 1, 64;"), SyncFeatures { fences: true, ..none });
    assert_eq!(of("call void @llvm.nvvm.bar.warp.sync(i32 -1)"), SyncFeatures { warp_syncs: true, ..none });
    assert_eq!(
        of("call void @llvm.nvvm.bar.warp.sync(i32 %a)"),
        SyncFeatures { warp_syncs: true, partial_masks: true, ..none }
    );
    assert_eq!(asm("fence.acq_rel.gpu;"), SyncFeatures { fences: true, ..none });
    assert_eq!(asm("fence.proxy.tensormap::generic.release.gpu;"), SyncFeatures { fences: true, ..none });
    assert_eq!(asm("red.release.gpu.add.u32 [$1], 1;"), SyncFeatures { fences: true, ..none });
    assert_eq!(asm("red.relaxed.gpu.add.u32 [$1], 1;"), none);
    assert_eq!(asm("cp.async.ca.shared.global [$0], [$1], 4;"), SyncFeatures { async_copies: true, ..none });
    assert_eq!(asm("sust.b.1d.b32.trap [$1, {$0}], {$0};"), none);
    assert_eq!(asm("barrier.cluster.arrive;"), SyncFeatures { fences: true, ..none });
    // What is observed by atomics and accessed plainly, too.
    let observed = of("%old = atomicrmw add ptr %p, i32 1 monotonic\n store i32 %old, ptr %p");
    assert_eq!(observed, SyncFeatures { observes: true, uses_atomics: true, ..none });
}
