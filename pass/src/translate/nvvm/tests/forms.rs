//! What intrinsics become: every one that LLVM knows is either lowered or
//! refused by decision, and what matters for checking has the right form.

use llvm_sys::LLVMAtomicOrdering;
use llvm_sys::core::*;

use super::harness::*;
use crate::translate::nvvm::table::REFUSED_INTRINSICS;
use crate::translate::nvvm::template::names::capture;
use crate::translate::nvvm::template::{Lowering, find};

/// The base names of all NVVM intrinsics of this LLVM, with their ids.
fn all_intrinsics() -> Vec<(u32, String)> {
    let name = |id| {
        let mut len = 0;
        // SAFETY: ids from the first NVVM intrinsic on, up to one of the next
        // target; names live forever.
        unsafe {
            let data = LLVMIntrinsicGetName(id, &mut len);
            String::from_utf8_lossy(std::slice::from_raw_parts(data.cast(), len)).into_owned()
        }
    };
    let first = "llvm.nvvm.activemask";
    // SAFETY: the name is as long as said.
    let first = unsafe { LLVMLookupIntrinsicID(first.as_ptr().cast(), first.len()) };
    (first..).map(|id| (id, name(id))).take_while(|(_, n)| n.starts_with("llvm.nvvm.")).collect()
}

fn is_refused(name: &str) -> bool {
    let short = name.strip_prefix("llvm.nvvm.").unwrap();
    REFUSED_INTRINSICS.iter().any(|p| capture(p, short).is_some())
}

#[test]
fn every_intrinsic_is_lowered_or_refused_by_decision() {
    let all = all_intrinsics();
    assert!(all.len() > 1500, "{}", all.len());
    let supported = |n: &str| matches!(find(n), Some(Lowering::Body(_)));
    // What the table has wins over the refusal of a group it belongs to.
    let undecided: Vec<_> =
        all.iter().filter(|(_, n)| !supported(n) && !is_refused(n)).map(|(_, n)| n).collect();
    assert!(undecided.is_empty(), "neither supported nor refused: {undecided:?}");
}

#[test]
fn every_intrinsic_becomes_valid_ir() {
    let mut text = String::new();
    let mut refused = Vec::new();
    // SAFETY: the declarations are made in a module of this test's own.
    unsafe {
        let scratch = Module::parse("");
        for (id, name) in all_intrinsics() {
            if LLVMIntrinsicIsOverloaded(id) != 0 || name == "llvm.nvvm.reflect" {
                continue;
            }
            let function = LLVMGetIntrinsicDeclaration(scratch.module, id, std::ptr::null_mut(), 0);
            let signature = crate::translate::nvvm::signature(function);
            let list = |value: &dyn Fn(usize) -> String| {
                let list: Vec<_> =
                    signature.params.iter().enumerate().map(|(i, t)| format!("{t} {}", value(i))).collect();
                list.join(", ")
            };
            let (result, arguments) = (&signature.result, list(&|i| format!("%{i}")));
            // What must be an immediate is none here; nothing looks before the
            // intrinsic is gone.
            text += &format!("declare {result} @{name}({})\n", signature.params.join(", "));
            text += &format!("define {result} @\"test.{name}\"({arguments}) {{\nentry:\n");
            text += &match result.as_str() {
                "void" => format!("  call void @{name}({arguments})\n  ret void\n}}\n"),
                _ => format!("  %r = call {result} @{name}({arguments})\n  ret {result} %r\n}}\n"),
            };
            if !matches!(find(&name), Some(Lowering::Body(_))) {
                refused.push(name);
            }
        }
    }
    let module = Module::parse(&text);
    refused.sort();
    assert_eq!(module.lower(), refused);
    let lowered = module.text();
    assert!(!lowered.contains("@llvm.nvvm."), "an intrinsic is left");
    // What sets the rounding mode or loops stays a function.
    let stays =
        |l: &str| ["gr.name.", ".rz.f64(", ".rm.f64(", ".rp.f64(", "@gr.fns("].iter().any(|n| l.contains(n));
    let left: Vec<_> =
        lowered.lines().filter(|l| l.contains("call ") && l.contains("@gr.") && !stays(l)).collect();
    assert!(left.is_empty(), "not inlined: {left:?}");
}

#[test]
fn overloaded_intrinsics_follow_their_types() {
    let text = "
        declare i32 @llvm.nvvm.ldu.global.i.i32.p0(ptr, i32)
        declare <4 x float> @llvm.nvvm.ldu.global.f.v4f32.p1(ptr addrspace(1), i32)
        declare ptr @llvm.nvvm.ldu.global.p.p0.p0(ptr, i32)
        declare i64 @llvm.nvvm.atomic.add.gen.i.cta.i64.p0(ptr, i64)
        declare float @llvm.nvvm.atomic.add.gen.f.sys.f32.p0(ptr, float)
        declare i32 @llvm.nvvm.atomic.cas.gen.i.cta.i32.p0(ptr, i32, i32)
        declare i32 @llvm.nvvm.atomic.exch.gen.i.sys.i32.p0(ptr, i32)
        define void @f(ptr %p, ptr addrspace(1) %g, ptr %out) {
          %a = call i32 @llvm.nvvm.ldu.global.i.i32.p0(ptr %p, i32 4)
          store volatile i32 %a, ptr %out
          %b = call <4 x float> @llvm.nvvm.ldu.global.f.v4f32.p1(ptr addrspace(1) %g, i32 16)
          store volatile <4 x float> %b, ptr %out
          %c = call ptr @llvm.nvvm.ldu.global.p.p0.p0(ptr %p, i32 8)
          store volatile ptr %c, ptr %out
          %h = call i64 @llvm.nvvm.atomic.add.gen.i.cta.i64.p0(ptr %p, i64 1)
          %i = call float @llvm.nvvm.atomic.add.gen.f.sys.f32.p0(ptr %p, float 1.0)
          %j = call i32 @llvm.nvvm.atomic.cas.gen.i.cta.i32.p0(ptr %p, i32 1, i32 2)
          %k = call i32 @llvm.nvvm.atomic.exch.gen.i.sys.i32.p0(ptr %p, i32 1)
          ret void
        }";
    let module = Module::parse(text);
    assert_eq!(module.lower(), Vec::<String>::new());
    let got = module.text();
    for want in [
        "load i32, ptr %p, align 4\n",
        "load <4 x float>, ptr addrspace(1) %g, align 4\n",
        "load ptr, ptr %p, align 8\n",
        "atomicrmw add ptr %p, i64 1 syncscope(\"block\") monotonic, align 8, !gpurace.atomic !",
        "atomicrmw fadd ptr %p, float 1.000000e+00 syncscope(\"system\") monotonic, align 4",
        "cmpxchg ptr %p, i32 1, i32 2 syncscope(\"block\") monotonic monotonic, align 4",
        "atomicrmw xchg ptr %p, i32 1 syncscope(\"system\") monotonic",
    ] {
        assert!(got.contains(want), "no `{want}` in\n{got}");
    }
}

#[test]
fn atomics_carry_scope_and_order() {
    let text = "
        declare i32 @llvm.nvvm.atomic.inc.gen.i.cta.i32.p0(ptr, i32)
        declare i64 @llvm.nvvm.mbarrier.arrive(ptr)
        define void @f(ptr %p) {
          %a = call i32 @llvm.nvvm.atomic.inc.gen.i.cta.i32.p0(ptr %p, i32 1)
          %b = atomicrmw uinc_wrap ptr %p, i32 1 seq_cst
          %c = call i64 @llvm.nvvm.mbarrier.arrive(ptr %p)
          ret void
        }";
    use gpurace_abi::scope::{Order::*, Scope::*};
    let module = Module::parse(text);
    module.lower();
    // SAFETY: the module is live.
    let found: Vec<_> = unsafe {
        crate::ir::definitions(module.module)
            .flat_map(|f| crate::ir::instructions(f))
            .filter(|&i| {
                let atomic = !LLVMIsAAtomicRMWInst(i).is_null() || !LLVMIsAAtomicCmpXchgInst(i).is_null();
                atomic
                    || (!LLVMIsALoadInst(i).is_null()
                        && LLVMGetOrdering(i) != LLVMAtomicOrdering::LLVMAtomicOrderingNotAtomic)
            })
            .map(|i| crate::translate::atomics::semantics(i))
            .collect()
    };
    assert_eq!(
        found,
        [
            (Block, Relaxed),
            (Device, Relaxed),
            // An mbarrier may be used by all blocks of a cluster.
            (Cluster, Release)
        ]
    );
}

#[test]
fn synchronisation_becomes_entry_points_at_the_same_line() {
    let calls = [
        (
            "void",
            "llvm.nvvm.barrier.cta.sync.aligned.all",
            "i32 0",
            "void @__gpurace_barrier(i32 0, i32 0, i32 -2)",
        ),
        ("void", "llvm.nvvm.barrier.cta.sync.all", "i32 2", "void @__gpurace_barrier(i32 2, i32 0, i32 -1)"),
        (
            "void",
            "llvm.nvvm.barrier.cta.arrive.aligned.count",
            "i32 1, i32 96",
            "void @__gpurace_barrier_arrive(i32 1, i32 96, i32 -1)",
        ),
        (
            "void",
            "llvm.nvvm.barrier.cta.sync.count",
            "i32 3, i32 64",
            "void @__gpurace_barrier(i32 3, i32 64, i32 -1)",
        ),
        (
            "i1",
            "llvm.nvvm.barrier.cta.red.or.aligned.all",
            "i32 0, i1 true",
            "i32 @__gpurace_barrier_red(i32 0, i32 0, i32 2, i32 1, i32 -2)",
        ),
        (
            "i32",
            "llvm.nvvm.barrier.cta.red.popc.count",
            "i32 3, i32 64, i1 true",
            "i32 @__gpurace_barrier_red(i32 3, i32 64, i32 0, i32 1, i32 -1)",
        ),
        ("void", "llvm.nvvm.bar.warp.sync", "i32 15", "void @__gpurace_syncwarp(i32 15, i32 -1)"),
        ("void", "llvm.nvvm.membar.cta", "", "void @__gpurace_fence(i32 0, i32 4, i32 -1)"),
        ("void", "llvm.nvvm.membar.gl", "", "void @__gpurace_fence(i32 2, i32 4, i32 -1)"),
        ("void", "llvm.nvvm.membar.sys", "", "void @__gpurace_fence(i32 3, i32 4, i32 -1)"),
        (
            "float",
            "llvm.nvvm.shfl.sync.down.f32",
            "i32 -1, float 1.0, i32 4, i32 31",
            "i64 @__gpurace_shfl(i32 2, i32 -1, i32 1065353216, i32 4, i32 31, i32 -1)",
        ),
        (
            "{ i32, i1 }",
            "llvm.nvvm.shfl.sync.bfly.i32p",
            "i32 7, i32 1, i32 4, i32 31",
            "i64 @__gpurace_shfl(i32 3, i32 7, i32 1, i32 4, i32 31, i32 -1)",
        ),
        (
            "i1",
            "llvm.nvvm.vote.any.sync",
            "i32 7, i1 true",
            "i32 @__gpurace_vote(i32 1, i32 7, i32 1, i32 -1)",
        ),
        (
            "i32",
            "llvm.nvvm.vote.ballot.sync",
            "i32 7, i1 true",
            "i32 @__gpurace_vote(i32 3, i32 7, i32 1, i32 -1)",
        ),
        (
            "{ i32, i1 }",
            "llvm.nvvm.match.all.sync.i64p",
            "i32 7, i64 9",
            "i64 @__gpurace_match(i32 1, i32 7, i64 9, i32 64, i32 -1)",
        ),
        (
            "i32",
            "llvm.nvvm.redux.sync.umax",
            "i32 9, i32 7",
            "i32 @__gpurace_redux(i32 2, i32 7, i32 9, i32 -1)",
        ),
        ("i32", "llvm.nvvm.activemask", "", "i32 @__gpurace_activemask()"),
        ("void", "llvm.nvvm.exit", "", "void @__gpurace_exit()"),
        ("void", "llvm.trap", "", "void @__gpurace_trap(i32 -1)"),
        ("void", "llvm.nvvm.nanosleep", "i32 100", "void @__gpurace_nanosleep(i32 100)"),
    ];
    let mut text = String::new();
    let mut body = String::new();
    for (line, (result, name, arguments, _)) in calls.iter().enumerate() {
        let types: Vec<_> = arguments.split(", ").map(|a| a.split(' ').next().unwrap()).collect();
        text += &format!("declare {result} @{name}({})\n", types.join(", "));
        let target = if *result == "void" { String::new() } else { format!("%r{line} = ") };
        body += &format!("  {target}call {result} @{name}({arguments}), !dbg !{}\n", line + 10);
        text += &format!("!{} = !DILocation(line: {}, scope: !2)\n", line + 10, line + 100);
    }
    text += &format!("define void @f() !dbg !2 {{\n{body}  ret void\n}}\n");
    text +=
        "!llvm.dbg.cu = !{!0}\n!llvm.module.flags = !{!4}\n!4 = !{i32 2, !\"Debug Info Version\", i32 3}\n
        !0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !1, emissionKind: FullDebug)\n
        !1 = !DIFile(filename: \"k.cu\", directory: \"/\")\n
        !2 = distinct !DISubprogram(name: \"f\", file: !1, line: 1, unit: !0, spFlags: DISPFlagDefinition)\n";
    let module = Module::parse(&text);
    assert_eq!(module.lower(), Vec::<String>::new());
    let got = module.text();
    for (line, (.., want)) in calls.iter().enumerate() {
        let found = got.lines().find(|l| l.contains(&format!("call {want}")));
        let found = found.unwrap_or_else(|| panic!("no `{want}` in\n{got}"));
        let node = found.rsplit_once("!dbg ").map(|(_, n)| n.trim()).unwrap_or_default();
        let location = format!("{node} = !DILocation(line: {},", line + 100);
        assert!(got.contains(&location), "`{found}` is not at line {}:\n{got}", line + 100);
    }
    assert!(got.contains("declare void @__gpurace_barrier(i32, i32, i32) #"));
}

#[test]
fn special_registers_are_loads_from_the_context() {
    use gpurace_abi::context::offset;
    let text = "
        declare i32 @llvm.nvvm.read.ptx.sreg.ntid.y()
        declare i32 @llvm.nvvm.read.ptx.sreg.envreg1()
        define i32 @f() {
          %a = call i32 @llvm.nvvm.read.ptx.sreg.ntid.y()
          %b = call i32 @llvm.nvvm.read.ptx.sreg.envreg1()
          %c = add i32 %a, %b
          ret i32 %c
        }";
    let module = Module::parse(text);
    assert_eq!(module.lower(), Vec::<String>::new());
    let got = module.text();
    for offset in [offset::NTID + 4, offset::GRID_WORKSPACE + 4] {
        assert!(
            got.contains(&format!("getelementptr i8, ptr %c.i, i64 {offset}"))
                || got.contains(&format!(", i64 {offset}\n")),
            "{got}"
        );
    }
    assert_eq!(got.matches("call ptr @gpurace.context()").count(), 2);
    assert_eq!(got.matches("!nosanitize").count(), 2);
}

#[test]
fn lane_masks() {
    let names = ["eq", "lt", "le", "gt", "ge"];
    let mut text = String::from("@lane = global i32 0\n");
    for n in names {
        text += &format!(
            "declare i32 @llvm.nvvm.read.ptx.sreg.lanemask.{n}()\ndefine i32 @{n}(ptr %context) {{\n %r = call i32 @llvm.nvvm.read.ptx.sreg.lanemask.{n}()\n ret i32 %r\n}}\n"
        );
    }
    let lowered = Module::parse(&text);
    lowered.lower();
    // The hidden parameter takes the place of the context function.
    let threaded = lowered.text().replace("call ptr @gpurace.context()", "bitcast ptr %context to ptr");
    let code = Module::parse(&threaded).jit(&[]);
    for lane in [0u32, 1, 15, 30, 31] {
        let mut context = [0u8; 256];
        let at = gpurace_abi::context::offset::LANE;
        context[at..at + 4].copy_from_slice(&lane.to_le_bytes());
        // SAFETY: the type that `text` defines; the context is larger than any offset.
        let f = |name: &str| unsafe { code.get::<extern "C" fn(*const u8) -> u32>(name)(context.as_ptr()) };
        let mask = |keep: &dyn Fn(u32) -> bool| (0..32).filter(|&i| keep(i)).map(|i| 1 << i).sum::<u32>();
        assert_eq!(f("eq"), mask(&|i| i == lane));
        assert_eq!(f("lt"), mask(&|i| i < lane));
        assert_eq!(f("le"), mask(&|i| i <= lane));
        assert_eq!(f("gt"), mask(&|i| i > lane));
        assert_eq!(f("ge"), mask(&|i| i >= lane));
    }
}

#[test]
fn reflection_is_folded() {
    let text = "
        @a = private constant [11 x i8] c\"__CUDA_FTZ\\00\"
        @b = private addrspace(4) constant [12 x i8] c\"__CUDA_ARCH\\00\"
        @c = private constant [17 x i8] c\"__CUDA_PREC_SQRT\\00\"
        declare i32 @__nvvm_reflect(ptr)
        define i32 @f() \"target-cpu\"=\"sm_90a\" {
          %a = call i32 @__nvvm_reflect(ptr @a)
          %b = call i32 @__nvvm_reflect(ptr addrspacecast (ptr addrspace(4) @b to ptr))
          %c = call i32 @__nvvm_reflect(ptr @c)
          %d = mul i32 %b, 10
          %e = add i32 %d, %c
          %z = icmp ne i32 %a, 0
          br i1 %z, label %ftz, label %ieee
        ftz:
          ret i32 -1
        ieee:
          ret i32 %e
        }";
    let module = Module::parse(text);
    assert_eq!(module.lower(), Vec::<String>::new());
    assert!(module.text().contains("ret i32 9001"), "{}", module.text());
    let flagged =
        format!("{text}\n!llvm.module.flags = !{{!0}}\n!0 = !{{i32 4, !\"nvvm-reflect-ftz\", i32 1}}\n");
    let module = Module::parse(&flagged);
    module.lower();
    assert!(module.text().contains("ret i32 -1"), "{}", module.text());
}

#[test]
fn what_is_refused_is_named() {
    let text = "
        declare { float, float, float, float } @llvm.nvvm.tex.unified.1d.v4f32.f32(i64, float)
        declare i64 @llvm.nvvm.texsurf.handle.p0(metadata, ptr)
        declare i32 @cudaDeviceSynchronize()
        declare i16 @malloc(i16)
        declare ptr @free(ptr)
        @t = global i64 0
        define float @f(i64 %t, float %x) {
          %a = call { float, float, float, float } @llvm.nvvm.tex.unified.1d.v4f32.f32(i64 %t, float %x)
          %b = extractvalue { float, float, float, float } %a, 0
          %c = call i64 @llvm.nvvm.texsurf.handle.p0(metadata ptr @t, ptr @t)
          %d = call i32 @cudaDeviceSynchronize()
          %e = call i16 @malloc(i16 3)
          ret float %b
        }";
    let module = Module::parse(text);
    let refused = module.lower();
    assert_eq!(
        refused,
        ["cudaDeviceSynchronize", "llvm.nvvm.tex.unified.1d.v4f32.f32", "llvm.nvvm.texsurf.handle", "malloc"]
    );
    let got = module.text();
    assert_eq!(got.matches("call void @__gpurace_unsupported(ptr @").count(), 4, "{got}");
    assert!(got.contains("c\"llvm.nvvm.tex.unified.1d.v4f32.f32\\00\""));
}

#[test]
fn library_functions_become_services() {
    let text = "
        declare i32 @vprintf(ptr, ptr)
        declare void @__assertfail(ptr, ptr, i32, ptr, i64) noreturn
        declare ptr @malloc(i64)
        declare void @free(ptr)
        declare zeroext i16 @__usAtomicCAS(ptr, i16 zeroext, i16 zeroext)
        define void @f(ptr %p) {
          %a = call i32 @vprintf(ptr %p, ptr null)
          %b = call ptr @malloc(i64 8)
          call void @free(ptr %b)
          %c = call zeroext i16 @__usAtomicCAS(ptr %p, i16 zeroext 1, i16 zeroext 2)
          call void @__assertfail(ptr %p, ptr %p, i32 7, ptr %p, i64 1) noreturn
          unreachable
        }
        define ptr @calloc(i64 %n) {
          ret ptr null
        }";
    let module = Module::parse(text);
    assert_eq!(module.lower(), Vec::<String>::new());
    let got = module.text();
    for want in [
        "call i32 @__gpurace_vprintf(ptr %p, ptr null)",
        "call ptr @__gpurace_malloc(i64 8)",
        "call void @__gpurace_free(ptr %",
        "cmpxchg ptr %p, i16 1, i16 2 monotonic monotonic, align 2, !gpurace.atomic !",
        "call void @__gpurace_assertfail(ptr %p, ptr %p, i32 7, ptr %p)",
    ] {
        assert!(got.contains(want), "no `{want}` in\n{got}");
    }
}

#[test]
fn asynchronous_copies_happen_at_once() {
    let text = "
        declare void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3), ptr addrspace(1))
        declare void @llvm.nvvm.cp.async.ca.shared.global.4.s(ptr addrspace(3), ptr addrspace(1), i32)
        declare void @llvm.nvvm.cp.async.commit.group()
        declare void @llvm.nvvm.cp.async.wait.group(i32)
        define void @f(ptr addrspace(3) %s, ptr addrspace(1) %g, i32 %n) {
          call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %s, ptr addrspace(1) %g)
          call void @llvm.nvvm.cp.async.ca.shared.global.4.s(ptr addrspace(3) %s, ptr addrspace(1) %g, i32 %n)
          call void @llvm.nvvm.cp.async.commit.group()
          call void @llvm.nvvm.cp.async.wait.group(i32 0)
          ret void
        }";
    let module = Module::parse(text);
    assert_eq!(module.lower(), Vec::<String>::new());
    let got = module.text();
    assert!(got.contains("@llvm.memcpy.p3.p1.i64(ptr addrspace(3) align 16 %s, ptr addrspace(1) align 16 %g, i64 16, i1 false)"), "{got}");
    assert!(got.contains("@llvm.memset.p3.i64("), "{got}");
    assert_eq!(got.matches("!gpurace.async !").count(), 3, "{got}");
    for call in ["@__gpurace_async_commit()", "@__gpurace_async_wait(i32 "] {
        assert!(got.contains(&format!("call void {call}")), "{got}");
    }
}

#[test]
fn mbarrier_counts_phases() {
    let text = "
        declare void @llvm.nvvm.mbarrier.init(ptr, i32)
        declare i64 @llvm.nvvm.mbarrier.arrive(ptr)
        declare i64 @llvm.nvvm.mbarrier.arrive.drop(ptr)
        declare i64 @llvm.nvvm.mbarrier.arrive.noComplete(ptr, i32)
        declare i1 @llvm.nvvm.mbarrier.test.wait(ptr, i64)
        declare i32 @llvm.nvvm.mbarrier.pending.count(i64)
        define void @init(ptr %b, i32 %n) {\n call void @llvm.nvvm.mbarrier.init(ptr %b, i32 %n)\n ret void\n}
        define i64 @arrive(ptr %b) {\n %s = call i64 @llvm.nvvm.mbarrier.arrive(ptr %b)\n ret i64 %s\n}
        define i64 @some(ptr %b, i32 %n) {\n %s = call i64 @llvm.nvvm.mbarrier.arrive.noComplete(ptr %b, i32 %n)\n ret i64 %s\n}
        define i64 @drop(ptr %b) {\n %s = call i64 @llvm.nvvm.mbarrier.arrive.drop(ptr %b)\n ret i64 %s\n}
        define i1 @test(ptr %b, i64 %s) {\n %r = call i1 @llvm.nvvm.mbarrier.test.wait(ptr %b, i64 %s)\n ret i1 %r\n}
        define i32 @pending(i64 %s) {\n %r = call i32 @llvm.nvvm.mbarrier.pending.count(i64 %s)\n ret i32 %r\n}";
    let lowered = Module::parse(text);
    assert_eq!(lowered.lower(), Vec::<String>::new());
    let text = lowered
        .text()
        .replace(
            "declare void @__gpurace_nanosleep(i32) #0",
            "define void @__gpurace_nanosleep(i32) {\n ret void\n}",
        )
        .replace(
            "declare void @__gpurace_atomic_done(ptr, i32, i32, i32, i32, i32) #0",
            "define void @__gpurace_atomic_done(ptr, i32, i32, i32, i32, i32) {\n ret void\n}",
        );
    let code = Module::parse(&text).jit(&[]);
    // SAFETY: the types that the text defines.
    unsafe {
        let init: extern "C" fn(&mut u64, i32) = code.get("init");
        let arrive: extern "C" fn(&mut u64) -> u64 = code.get("arrive");
        let some: extern "C" fn(&mut u64, i32) -> u64 = code.get("some");
        let drop: extern "C" fn(&mut u64) -> u64 = code.get("drop");
        let test: extern "C" fn(&mut u64, u64) -> bool = code.get("test");
        let pending: extern "C" fn(u64) -> i32 = code.get("pending");
        let mut word = 0;
        init(&mut word, 4);
        let first = some(&mut word, 2);
        assert_eq!(pending(first), 4);
        let second = drop(&mut word);
        assert_eq!(pending(second), 2);
        assert!(!test(&mut word, first));
        let last = arrive(&mut word);
        assert_eq!(pending(last), 1);
        assert!(test(&mut word, first) && test(&mut word, last));
        // The next phase expects one arrival less.
        let next = arrive(&mut word);
        assert_eq!(pending(next), 3);
        assert!(!test(&mut word, next));
    }
}
