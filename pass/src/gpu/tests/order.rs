//! What orders threads, and is said of it.

use gpurace_abi::scope::AtomicKind;
use llvm_sys::core::*;

use super::harness::{checked, checked_asm, line, stand_in_turn};
use crate::checks::{instrument, sites};
use crate::gpu::hooks;
use crate::ir::position::Positions;
use crate::ir::testing::with_module;

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
    let said =
        |scope: u32, order: u32| format!("call void @__gpurace_fence(i32 {scope}, i32 {order}, i32 0)");
    stand_in_turn(
        &text,
        &[
            "define void @f",
            &said(0, 4),
            "membar.cta",
            &said(2, 4),
            "membar.gl",
            &said(3, 4),
            "membar.sys",
            &said(1, 4),
            "fence.sc.cluster",
            &said(3, 4),
            "fence seq_cst",
            &said(2, 3),
            "fence.acq_rel",
        ],
    );
    assert_eq!(text.matches("call void @__gpurace_").count(), 6, "{text}");
    assert!(
        text.contains("attributes #") && line(&text, "declare void @__gpurace_fence").contains('#'),
        "{text}"
    );
}

#[test]
fn fences_behind_what_an_asm_reads_are_said_behind_it_too() {
    let text = checked_asm("i32", "ld.relaxed.gpu.u32 $0, [$1]; fence.acq_rel.gpu;", "=r,l", "i64 %p");
    let fence = "call void @__gpurace_fence(i32 2, i32 3, i32 0)";
    stand_in_turn(
        &text,
        &[
            "call void @__gpurace_atomic(",
            fence,
            "asm sideeffect",
            "call void @__gpurace_atomic_done(",
            fence,
            "ret void",
        ],
    );
    let text = checked_asm("void", "fence.acq_rel.gpu; st.relaxed.gpu.u32 [$0], 1;", "l", "i64 %p");
    stand_in_turn(
        &text,
        &[
            fence,
            "call void @__gpurace_atomic(",
            "asm sideeffect",
            "call void @__gpurace_atomic_done(",
            "ret void",
        ],
    );
    assert_eq!(text.matches(fence).count(), 1, "{text}");
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
    let text = guarded("@p fence.acq_rel.gpu;");
    stand_in_turn(
        &text,
        &[
            "icmp ne i32 %a, 0",
            "br i1",
            "call void @__gpurace_fence(",
            "br label",
            "asm sideeffect",
            "ret void",
        ],
    );
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
    stand_in_turn(
        &guarded("@p exit;"),
        &["br i1", "call void @__gpurace_leave()", "br label", "asm sideeffect"],
    );
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
        let before = format!(
            "call void @__gpurace_before_named(i32 {number}, i32 {})",
            if waits { waits_for } else { 0 }
        );
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
    stand_in_turn(
        &text,
        &["add i32 %a, 1", "call void @__gpurace_before_named(i32 %1, i32 2)", "asm sideeffect"],
    );
    // One that it reads.
    let text = checked_asm("void", "{ .reg .u32 n; ld.global.u32 n, [$0]; bar.sync n, 64; }", "l", "i64 %p");
    assert!(text.contains("call void @__gpurace_irregular()") && !text.contains("_named("), "{text}");
}

#[test]
fn barriers_of_the_block_are_not_named() {
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
        stand_in_turn(
            named,
            &[
                &format!("call void @__gpurace_before_named(i32 {number}, i32 "),
                "call void @llvm.nvvm.bar",
                &format!("call void @__gpurace_after_named(i32 {number})"),
            ],
        );
    }
    assert!(
        !named.contains("call void @__gpurace_after_barrier(") && !text.contains("__gpurace_irregular"),
        "{text}"
    );
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
        stand_in_turn(
            function,
            &["call void @__gpurace_async_read(", "call void @__gpurace_async_write(", &write, copy],
        );
        stand_in_turn(
            function,
            &[
                copy,
                said,
                commit,
                wait,
                "call void @__gpurace_async_wait(i32 2)",
                said,
                all,
                "call void @__gpurace_async_wait(i32 0)",
            ],
        );
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
        let atomic = format!(
            "i32 8, i32 {}, i32 {}, i32 0, i32 2)",
            u32::from(std::ptr::eq(function, g)),
            AtomicKind::Reduction as u32
        );
        stand_in_turn(
            function,
            &[
                "call void @__gpurace_async_arrive(ptr %",
                "call void @__gpurace_atomic(ptr %",
                &atomic,
                "cp.async.mbarrier",
                "call void @__gpurace_atomic_done(ptr %",
                &atomic,
            ],
        );
    }
}

#[test]
fn waits_at_mbarriers_acquire_where_they_say_that_the_phase_is_over() {
    let wait = "mbarrier.test_wait.parity.shared.b64 p, [$1], $2;";
    let of = |behind: &str, result: &str, constraints: &str| {
        let text = checked_asm(
            result,
            &format!("{{ .reg .pred p; {wait} {behind} }}"),
            constraints,
            "i32 %a, i32 %b",
        );
        assert!(!text.contains("__gpurace_irregular"), "{text}");
        let done = line(text.split_once("asm sideeffect").unwrap().1, "call void @__gpurace_atomic_done(")
            .to_owned();
        (text, done)
    };
    let (text, done) = of("selp.b32 $0, 1, 0, p;", "i32", "=r,r,r");
    stand_in_turn(&text, &["asm sideeffect", "icmp eq i32 %x, 1", "select i1", "i32 1, i32 0"]);
    assert!(done.contains("i32 0, i32 %"), "{done}");
    let (text, _) = of("selp.u16 $0, 0, 1, p;", "i16", "=h,r,r");
    stand_in_turn(&text, &["asm sideeffect", "icmp eq i16 %x, 0", "select i1"]);
    // A loop ends when it is over.
    let text = checked_asm(
        "void",
        "{ .reg .pred p; W: mbarrier.test_wait.parity.shared.b64 p, [$0], $1; @!p bra W; }",
        "r,r",
        "i32 %a, i32 %b",
    );
    stand_in_turn(
        &text,
        &[
            "call void @__gpurace_atomic(ptr %",
            "asm sideeffect",
            "call void @__gpurace_atomic_done(ptr %",
            "i32 0, i32 1)",
        ],
    );
    assert!(!text.contains("__gpurace_irregular"), "{text}");
    // Whether it is over is not known: as if it were.
    let (_, done) = of("selp.u32 $0, 1, 0, p; mov.u32 $0, 0;", "i32", "=r,r,r");
    assert!(done.ends_with("i32 0, i32 1)"), "{done}");
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
    stand_in_turn(
        text,
        &[
            "call void @__gpurace_cluster_arrive(i32 2, i32 0)",
            "cluster.arrive()",
            "cluster.wait.aligned()",
            "call void @__gpurace_cluster_wait(i32 0)",
            "call void @__gpurace_cluster_arrive(i32 0, i32 0)",
            "cluster.arrive.relaxed.aligned()",
            "define void @g",
            "call void @__gpurace_cluster_arrive(i32 0, i32 0)",
            "asm sideeffect",
            "call void @__gpurace_cluster_wait(i32 0)",
        ],
    );
    assert!(!text.contains("__gpurace_irregular"), "{text}");
}

#[test]
fn memory_of_the_heap_is_new_where_it_was_freed_before() {
    let text = checked(
        "target triple = \"nvptx64-nvidia-cuda\"
         declare ptr @malloc(i64)
         declare void @free(ptr)
         declare i32 @free_slots(ptr)
         define void @f(i64 %n, ptr %old) {
           %new = call ptr @malloc(i64 %n)
           call void @free(ptr %old)
           %s = call i32 @free_slots(ptr %old)
           ret void
         }",
    );
    let text = text.split_once("define void @f").unwrap().1;
    stand_in_turn(
        text,
        &[
            "%new = call ptr @malloc",
            "call void @__gpurace_happens(ptr %new, i32 1)",
            "call void @__gpurace_happens(ptr %old, i32 0)",
            "call void @free(ptr %old)",
        ],
    );
    assert_eq!(text.matches("call void @__gpurace_").count(), 2, "{text}");
    // A function of the program's that has such a name.
    let own = checked(
        "target triple = \"nvptx64-nvidia-cuda\"
         declare i32 @malloc(i64)
         define internal void @free(ptr %p) { ret void }
         define void @f(ptr %old) {
           %new = call i32 @malloc(i64 4)
           call void @free(ptr %old)
           ret void
         }",
    );
    assert!(!own.contains("__gpurace_happens"), "{own}");
}

#[test]
fn what_is_not_known_is_announced() {
    for asm in [
        "fence.proxy.tensormap::generic.acquire.gpu [$0], 128;",
        "bar.sync 0; bar.sync 1, 64;",
        "cp.async.bulk.commit_group;",
    ] {
        let text = checked_asm("void", asm, "l,r", "i64 %p, i32 %a");
        stand_in_turn(&text, &["call void @__gpurace_irregular()", "asm sideeffect"]);
        // Nothing is said of a part of it.
        assert_eq!(text.matches("call void @__gpurace_").count(), 1, "{text}");
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
        let found = sites::collect(module, &mut positions);
        hooks::insert(module, found.sites.len(), &mut positions);
        instrument::insert_checks(module, &found.accesses, &Default::default());
        let kernel = LLVMGetNamedFunction(module, c"k".as_ptr());
        crate::analysis::reach::of_kernels(module, &[kernel])[0].features
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
    assert_eq!(
        of("call void @llvm.nvvm.bar.warp.sync(i32 %a)"),
        SyncFeatures { warp_syncs: true, partial_masks: true, ..none }
    );
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
