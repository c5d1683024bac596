//! Each access that another one's check stands for, and beside it the neighbour
//! that has a check of its own.

use super::*;
use crate::checks::sites::{self, ConstantMemory};
use crate::ir::position::Positions;

/// The pairs of a kernel's body, read and what stands for it, by their numbers
/// among the accesses. `%t` is the thread's index, `%pt` the address of the thread's
/// element of `%p`; `BARRIER` is one.
fn pairs(body: &str) -> Vec<(u32, u32)> {
    of(body, |_, accesses, spared| {
        let all: Vec<_> = spared.covered.iter().copied().flatten().collect();
        for pair in &all {
            assert!(
                !pair.before || matches!(accesses[pair.by as usize].access, Access::Store),
                "a read stands for later ones"
            );
            assert!(matches!(accesses[pair.site as usize].access, Access::Load), "only reads are left out");
            assert!(!all.iter().any(|other| other.site == pair.by), "what stands for others is checked");
        }
        all.into_iter().map(|pair| (pair.site, pair.by)).collect()
    })
}

/// The accesses of a kernel's body that are checked once, and that the checks leave a module that LLVM
/// takes.
fn once(body: &str) -> Vec<usize> {
    of(body, |module, accesses, spared| {
        // SAFETY: the module is live, and the accesses are its.
        unsafe {
            crate::checks::instrument::insert_checks(module, accesses, spared);
            let action = llvm_sys::analysis::LLVMVerifierFailureAction::LLVMPrintMessageAction;
            assert_eq!(
                llvm_sys::analysis::LLVMVerifyModule(module, action, std::ptr::null_mut()),
                0,
                "{body}"
            );
        }
        (0..accesses.len()).filter(|&site| spared.once.of[site].is_some()).collect()
    })
}

fn of<T>(body: &str, found: impl FnOnce(LLVMModuleRef, &[AccessSite], &Spared) -> T) -> T {
    let text = format!(
        "target triple = \"nvptx64-nvidia-cuda\"
         declare void @__gpurace_barrier(i32, i32, i32)
         declare ptr @{CONTEXT_FUNCTION}()
         declare void @unseen()
         declare float @llvm.fma.f32(float, float, float)
         declare void @llvm.trap()
         declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
         define void @seen() {{ ret void }}
         define void @k(ptr %p, ptr %q, i32 %n, i1 %c) {{
           %context = call ptr @{CONTEXT_FUNCTION}()
           %t = load i32, ptr %context
           %wide = sext i32 %t to i64
           %pt = getelementptr inbounds i32, ptr %p, i64 %wide
           {body}
         }}"
    )
    .replace("BARRIER", "call void @__gpurace_barrier(i32 0, i32 0, i32 7)");
    // SAFETY: the module is live.
    ir::testing::with_module(&text, |module| unsafe {
        let accesses = sites::collect(module, &mut Positions::new(&[]), ConstantMemory::IsChecked).accesses;
        let spared = spared(&accesses);
        found(module, &accesses, &spared)
    })
}

#[test]
fn a_write_stands_for_the_reads_beside_it() {
    assert_eq!(pairs("%a = load i32, ptr %pt\n store i32 %a, ptr %pt\n ret void"), [(0, 1)]);
    assert_eq!(pairs("store i32 1, ptr %pt\n %a = load i32, ptr %pt\n ret void"), [(1, 0)]);
    let all = "%a = load i32, ptr %pt\n store i32 1, ptr %pt\n %b = load i32, ptr %pt\n ret void";
    assert_eq!(pairs(all), [(0, 1), (2, 1)]);
}

#[test]
fn a_read_stands_for_later_reads_and_for_no_write() {
    let reads = "%a = load i32, ptr %pt\n %b = load i32, ptr %pt\n %d = load i32, ptr %pt\n ret void";
    assert_eq!(pairs(reads), [(1, 0), (2, 0)]);
    // Writes have values, which are compared.
    assert_eq!(pairs("store i32 1, ptr %pt\n store i32 1, ptr %pt\n ret void"), []);
}

#[test]
fn addresses_are_alike_where_they_are_computed_alike() {
    let again =
        "%t2 = load i32, ptr %context\n %w2 = sext i32 %t2 to i64\n %p2 = getelementptr i32, ptr %p, i64 %w2";
    assert_eq!(
        pairs(&format!("%a = load i32, ptr %pt\n {again}\n store i32 %a, ptr %p2\n ret void")),
        [(0, 1)]
    );
    // Of another array, of another element, in other steps.
    for other in ["i32, ptr %q, i64 %wide", "i32, ptr %pt, i64 1", "i64, ptr %p, i64 %wide"] {
        let body =
            format!("%a = load i32, ptr %pt\n %o = getelementptr {other}\n store i32 %a, ptr %o\n ret void");
        assert_eq!(pairs(&body), [], "{other}");
    }
    // Of another size.
    assert_eq!(pairs("%a = load i16, ptr %pt\n store i32 1, ptr %pt\n ret void"), []);
    assert_eq!(pairs("store i32 1, ptr %pt\n %a = load i16, ptr %pt\n ret void"), []);
    // A value that is loaded twice may be two values.
    let twice = |second: &str| {
        format!(
            "%i = load i64, ptr %q\n %j = load i64, ptr %q\n
             %x = getelementptr i32, ptr %p, i64 %i\n %y = getelementptr i32, ptr %p, i64 {second}\n
             store i32 1, ptr %x\n %a = load i32, ptr %y\n ret void"
        )
    };
    assert_eq!(pairs(&twice("%i")), [(1, 0), (3, 2)]);
    assert_eq!(pairs(&twice("%j")), [(1, 0)]);
}

#[test]
fn nothing_that_orders_stands_between() {
    let between =
        |what: &str| pairs(&format!("%a = load i32, ptr %pt\n {what}\n store i32 %a, ptr %pt\n ret void"));
    for harmless in [
        "",
        "store i32 1, ptr %q",
        "%x = call float @llvm.fma.f32(float 1.0, float 1.0, float 1.0)",
        "call void @llvm.memcpy.p0.p0.i64(ptr %q, ptr %q, i64 16, i1 false)",
    ] {
        assert!(between(harmless).iter().any(|pair| pair.0 == 0), "{harmless}");
    }
    for orders in [
        "BARRIER",
        "fence seq_cst",
        "%x = atomicrmw add ptr %q, i32 1 monotonic",
        "%x = cmpxchg ptr %q, i32 1, i32 2 monotonic monotonic",
        "%x = load volatile i32, ptr %q",
        "store volatile i32 1, ptr %q",
        "%x = load atomic i32, ptr %q monotonic, align 4",
        "call void @unseen()",
        "call void @seen()",
        "call void %q()",
        "call void @llvm.trap()",
        "call void @llvm.memcpy.p0.p0.i64(ptr %q, ptr %q, i64 16, i1 false), !gpurace.async !{}",
    ] {
        assert!(!between(orders).iter().any(|pair| pair.0 == 0), "{orders}");
    }
}

#[test]
fn accesses_that_are_not_plain_have_checks() {
    assert_eq!(pairs("%a = load volatile i32, ptr %pt\n store i32 1, ptr %pt\n ret void"), []);
    assert_eq!(pairs("%a = load i32, ptr %pt\n store volatile i32 1, ptr %pt\n ret void"), []);
    assert_eq!(pairs("%a = load i32, ptr %pt\n %b = atomicrmw add ptr %pt, i32 1 monotonic\n ret void"), []);
    let copies = "store i32 1, ptr %pt\n call void @llvm.memcpy.p0.p0.i64(ptr %q, ptr %pt, i64 4, i1 false)\n ret void";
    assert_eq!(pairs(copies), []);
}

#[test]
fn every_way_leads_through_both() {
    let branch = |then: &str, otherwise: &str, after: &str, before: &str| {
        pairs(&format!(
            "{before}\n br i1 %c, label %then, label %else\nthen:\n {then}\n br label %after\n
             else:\n {otherwise}\n br label %after\nafter:\n {after}\n ret void"
        ))
    };
    let (read, again, write) = ("%a = load i32, ptr %pt", "%b = load i32, ptr %pt", "store i32 1, ptr %pt");
    assert_eq!(branch("", "", write, read), [(0, 1)]);
    assert_eq!(branch("", "", read, write), [(1, 0)]);
    // One of them on some ways only, or an order on one of the ways.
    assert_eq!(branch(write, "", "", read), []);
    assert_eq!(branch(read, "", "", write), []);
    assert_eq!(branch(write, "", read, ""), []);
    assert_eq!(branch("BARRIER", "", write, read), []);
    assert_eq!(branch("", "BARRIER", again, read), []);
    // A way that ends before the other.
    let ends = format!("{read}\n br i1 %c, label %on, label %out\non:\n {write}\n ret void\nout:\n ret void");
    assert_eq!(pairs(&ends), []);
}

#[test]
fn loops() {
    // One address in all iterations: with a barrier in the loop each has its own check.
    let around = |inside: &str, after: &str| {
        pairs(&format!(
            "%a = load i32, ptr %pt\n br label %head\n
             head:\n %i = phi i32 [ 0, %0 ], [ %next, %head ]\n {inside}\n %next = add i32 %i, 1\n
             %more = icmp slt i32 %next, %n\n br i1 %more, label %head, label %out\n
             out:\n {after}\n ret void"
        ))
    };
    let write = "store i32 %i, ptr %pt";
    assert_eq!(around(write, ""), [(0, 1)]);
    assert_eq!(around(&format!("{write}\n BARRIER"), ""), []);
    assert_eq!(around("", "store i32 1, ptr %pt"), [(0, 1)]);
    assert_eq!(around("BARRIER", "store i32 1, ptr %pt"), []);
    // Another address in each iteration: what follows the loop touches the last one's alone.
    let element = "%w = sext i32 %i to i64\n %e = getelementptr i32, ptr %q, i64 %w";
    let after = "%b = load i32, ptr %e";
    assert_eq!(around(&format!("{element}\n store i32 1, ptr %e"), after), []);
    assert_eq!(around(&format!("{element}\n store i32 1, ptr %e\n %d = load i32, ptr %e"), ""), [(2, 1)]);
    // The next iteration's element is another one.
    assert_eq!(around(&format!("{element}\n %d = load i32, ptr %e\n BARRIER\n store i32 1, ptr %e"), ""), []);
}

#[test]
fn a_loop_that_waits_lets_others_run() {
    let waits = "%a = load i32, ptr %pt\n br label %head\n
         head:\n %f = load i32, ptr %q\n %go = icmp eq i32 %f, 0\n br i1 %go, label %head, label %out\n
         out:\n store i32 1, ptr %pt\n ret void";
    assert_eq!(pairs(waits), []);
    let counts =
        waits.replace("%f = load i32, ptr %q", "%f = phi i32 [ %n, %0 ], [ %g, %head ]\n %g = sub i32 %f, 1");
    assert_eq!(pairs(&counts), [(0, 1)]);
}

fn repeated(inside: &str) -> Vec<usize> {
    once(&in_loop(inside))
}

/// A loop of `%n` iterations.
fn in_loop(inside: &str) -> String {
    format!(
        "br label %head\nhead:\n %i = phi i32 [ 0, %0 ], [ %next, %latch ]\n %w = sext i32 %i to i64\n
         %e = getelementptr i32, ptr %q, i64 %w\n %more = icmp slt i32 %i, %n\n br i1 %more, label %body, label %out\n
         body:\n {inside}\n br label %latch\nlatch:\n %next = add i32 %i, 1\n br label %head\nout:\n ret void"
    )
}

#[test]
fn what_is_read_in_every_iteration_is_checked_in_the_first() {
    assert_eq!(repeated("%a = load i32, ptr %pt"), [0]);
    assert_eq!(repeated("store i32 1, ptr %e\n %a = load i32, ptr %pt\n %b = load i32, ptr %e"), [1]);
    assert_eq!(repeated("store i32 1, ptr %pt"), [0]);
    // The store's check stands for both.
    assert_eq!(repeated("%a = load i32, ptr %pt\n %b = add i32 %a, 1\n store i32 %b, ptr %pt"), [1]);
    // A loop of one block, which asks at its end.
    let turned = "br label %head\nhead:\n %i = phi i32 [ 0, %0 ], [ %next, %head ]\n %a = load i32, ptr %pt\n %next = add i32 %i, %a\n
         %more = icmp slt i32 %next, %n\n br i1 %more, label %head, label %out\nout:\n ret void";
    assert_eq!(once(turned), [0]);
    // It may be left before it reads.
    assert_eq!(repeated("br i1 %c, label %out, label %on\non:\n %a = load i32, ptr %pt"), [0]);
}

#[test]
fn what_must_be_checked_in_each_iteration() {
    for inside in [
        // Of another element in each.
        "%a = load i32, ptr %e",
        // At a place that is loaded in each.
        "%j = load i64, ptr %e\n %x = getelementptr i32, ptr %p, i64 %j\n %a = load i32, ptr %x",
        // Not in each.
        "br i1 %c, label %then, label %on\nthen:\n %a = load i32, ptr %pt\n br label %on\non:",
        "store i32 %i, ptr %e",
        "br i1 %c, label %then, label %on\nthen:\n store i32 1, ptr %pt\n br label %on\non:",
        "store i32 1, ptr %pt\n BARRIER",
        "store volatile i32 1, ptr %pt",
        "store i32 1, ptr %pt\n %x = atomicrmw add ptr %q, i32 1 monotonic",
        "%a = load i32, ptr %pt\n BARRIER",
        "BARRIER\n %a = load i32, ptr %pt",
        "%a = load i32, ptr %pt\n %x = atomicrmw add ptr %q, i32 1 monotonic",
        "%a = load i32, ptr %pt\n fence seq_cst",
        "%a = load i32, ptr %pt\n call void @unseen()",
        "%a = load i32, ptr %pt\n %x = load volatile i32, ptr %q",
        "%a = load volatile i32, ptr %pt",
        // What stands on one way alone is on a way, too.
        "%a = load i32, ptr %pt\n br i1 %c, label %then, label %on\nthen:\n BARRIER\n br label %on\non:",
    ] {
        assert_eq!(repeated(inside), [0usize; 0], "{inside}");
    }
    let waits = "br label %head\nhead:\n %f = load i32, ptr %q\n %go = icmp eq i32 %f, 0\n br i1 %go, label %head, label %out\nout:\n ret void";
    assert_eq!(once(waits), [0usize; 0]);
}

/// A later iteration may store another value than the first.
#[test]
fn values_that_a_loop_may_change_are_not_known() {
    for (inside, varies) in [
        ("store i32 1, ptr %pt", false),
        ("store i32 %n, ptr %pt", false),
        ("%b = add i32 %n, %t\n store i32 %b, ptr %pt", false),
        ("store i32 %i, ptr %pt", true),
        ("%b = add i32 %i, %n\n store i32 %b, ptr %pt", true),
        ("%a = load i32, ptr %q\n store i32 %a, ptr %pt", true),
        ("%b = icmp slt i32 %i, 2\n %s = select i1 %b, i32 1, i32 2\n store i32 %s, ptr %pt", true),
    ] {
        let body = in_loop(inside);
        let (found, ranges) = of(&body, |module, accesses, spared| {
            let store = accesses.iter().position(|access| matches!(access.access, Access::Store)).unwrap();
            // SAFETY: the module is live, and the accesses are its.
            let text = unsafe {
                crate::checks::instrument::insert_checks(module, accesses, spared);
                ir::text(LLVMPrintModuleToString(module))
            };
            (spared.once.of[store], text.contains("call void @__gpurace_write_range("))
        });
        assert_eq!(found.map(|first| first.value_varies), Some(varies), "{inside}");
        assert_eq!(ranges, varies, "{inside}");
    }
}

/// Of loops in each other, the widest that goes on over the read alone.
#[test]
fn loops_in_each_other() {
    let nested = |between: &str, rotated: bool| {
        let (enter, ask) = if rotated {
            ("br label %inner", "%again = icmp slt i32 %jn, 4\n br i1 %again, label %inner, label %latch")
        } else {
            (
                "%any = icmp sgt i32 %n, 3\n br i1 %any, label %inner, label %latch",
                "%again = icmp slt i32 %jn, 4\n br i1 %again, label %inner, label %latch",
            )
        };
        of(
            &format!(
                "br label %head\nhead:\n %i = phi i32 [ 0, %0 ], [ %next, %latch ]\n %more = icmp slt i32 %i, %n\n br i1 %more, label %body, label %out\n
                 body:\n {between}\n {enter}\ninner:\n %j = phi i32 [ 0, %body ], [ %jn, %inner ]\n %a = load i32, ptr %pt\n %jn = add i32 %j, 1\n {ask}\n
                 latch:\n %next = add i32 %i, 1\n br label %head\nout:\n ret void"
            ),
            |_, _, spared| spared.once.of[0].map(|first| spared.once.loops[first.of].body.len()),
        )
    };
    assert_eq!(nested("", true), Some(4), "head, body, inner, latch");
    assert_eq!(nested("", false), Some(1), "the inner one may not be run");
    assert_eq!(nested("BARRIER", true), Some(1), "a barrier in the outer one");
}
