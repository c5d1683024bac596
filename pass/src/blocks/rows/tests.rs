//! What leaves its address in the frame, and beside it the neighbour that must not.

use gpurace_abi::scope::{AtomicKind, Order, Scope};
use llvm_sys::analysis::{LLVMVerifierFailureAction, LLVMVerifyFunction};

use super::*;
use crate::analysis::reach;
use crate::blocks::entries::{self, Checks};
use crate::blocks::segments;

/// What becomes of a kernel's checks.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    /// By point, the instructions whose accesses are handed over.
    rows: Vec<Vec<u32>>,
    /// Checks that stay calls.
    calls: usize,
    /// The context must be the thread's.
    needs_context: bool,
}

/// A kernel: `%t` is the thread's index, `%b` the block's, `%n` a parameter, `%p` an array.
/// `READ s` and `WRITE s` check accesses of 4 bytes by instruction `s`.
fn with<T>(body: &str, see: impl FnOnce(LLVMModuleRef, LLVMValueRef) -> T) -> T {
    let mut text = format!(
        "declare void @__gpurace_barrier(ptr, i32, i32, i32)
         declare void @__gpurace_read(ptr, ptr, i32, i32)
         declare void @__gpurace_write(ptr, ptr, i32, i32, i64)
         declare void @__gpurace_write_range(ptr, ptr, i64, i32)
         declare void @__gpurace_read_range(ptr, ptr, i64, i32)
         declare void @__gpurace_atomic(ptr, i32, i32, i32, i32, i32)
         declare void @__gpurace_fence(i32, i32, i32)
         define void @other() {{ ret void }}
         define void @k(ptr %c, ptr %p, i32 %n) {{
           %bp = getelementptr inbounds i8, ptr %c, i64 {block}
           %t = load i32, ptr %c
           %b = load i32, ptr %bp
           %q = getelementptr inbounds i32, ptr %p, i32 %t
           {body}
         }}",
        block = gpurace_abi::context::offset::CTAID
    )
    .replace("BARRIER", "call void @__gpurace_barrier(ptr %c, i32 0, i32 0, i32 7)");
    for site in 0..10 {
        text = text
            .replace(
                &format!("READ {site}"),
                &format!("call void @__gpurace_read(ptr %c, ptr %q, i32 4, i32 {site})"),
            )
            .replace(
                &format!("WRITE {site}"),
                &format!("call void @__gpurace_write(ptr %c, ptr %q, i32 4, i32 {site}, i64 1)"),
            );
    }
    // SAFETY: the module is live.
    ir::testing::with_module(&text, |module| unsafe {
        see(module, LLVMGetNamedFunction(module, c"k".as_ptr()))
    })
}

fn rows_of(body: &str) -> Found {
    rows_with(body, Checks::InRows)
}

fn rows_with(body: &str, checks: Checks) -> Found {
    // SAFETY: the module is live.
    with(body, |module, kernel| unsafe {
        let cut =
            segments::cut(module, kernel, checks, &Default::default()).expect("a kernel that can be cut");
        let broken = LLVMVerifyFunction(cut.function, LLVMVerifierFailureAction::LLVMPrintMessageAction);
        assert_eq!(broken, 0, "{}", ir::text(LLVMPrintValueToString(cut.function)));
        let is_check = |i: &LLVMValueRef| {
            ir::opcode(*i) == LLVMOpcode::LLVMCall
                && ir::callee(*i).is_some_and(|f| ir::name(f).starts_with("__gpurace_"))
        };
        Found {
            rows: cut.batches.iter().map(|all| all.iter().map(|batch| batch.site).collect()).collect(),
            calls: ir::instructions(cut.function).iter().filter(|i| is_check(i)).count(),
            needs_context: cut.needs_context,
        }
    })
}

/// All of the checks are in rows.
fn all(rows: &[&[u32]]) -> Found {
    Found { rows: rows.iter().map(|r| r.to_vec()).collect(), calls: 0, needs_context: false }
}

/// None of them is.
fn none(points: usize, calls: usize) -> Found {
    Found { rows: vec![Vec::new(); points], calls, needs_context: true }
}

#[test]
fn accesses_of_a_segment() {
    assert_eq!(rows_of("READ 0\n WRITE 1\n ret void"), all(&[&[0, 1]]));
    assert_eq!(rows_of("READ 0\n BARRIER\n WRITE 1\n ret void"), all(&[&[0], &[1]]));
}

#[test]
fn sizes() {
    let write = |size: u32| {
        rows_of(&format!("call void @__gpurace_write_range(ptr %c, ptr %q, i64 {size}, i32 3)\n ret void"))
    };
    assert_eq!(write(16), all(&[&[3]]));
    assert_eq!(write(12), all(&[&[3]]));
    assert_eq!(write(24), all(&[&[3]]));
    assert_eq!(write(128), all(&[&[3]]));
    assert_eq!(write(132), none(1, 1), "longer than a region");
    assert_eq!(write(6), none(1, 1));
    let read = |size: u32| {
        rows_of(&format!("call void @__gpurace_read(ptr %c, ptr %q, i32 {size}, i32 3)\n ret void"))
    };
    assert_eq!(read(8), all(&[&[3]]));
    assert_eq!(read(1), all(&[&[3]]));
    assert_eq!(read(3), all(&[&[3]]));
    assert_eq!(read(5), none(1, 1));
    let copied = |size: u32| {
        rows_of(&format!("call void @__gpurace_read_range(ptr %c, ptr %q, i64 {size}, i32 3)\n ret void"))
    };
    assert_eq!(copied(16), all(&[&[3]]));
    assert_eq!(copied(12), all(&[&[3]]));
    assert_eq!(copied(20), all(&[&[3]]));
}

#[test]
fn each_thread_keeps_its_order() {
    // The blocks do not stand in the order in which they are run.
    let body = "%x = icmp slt i32 %t, %n\n br i1 %x, label %few, label %all\n all:\n READ 2\n ret void\n
                few:\n WRITE 1\n br label %all";
    assert_eq!(rows_of(body), all(&[&[1, 2]]));
}

fn looped(bound: &str, checks: &str) -> String {
    format!(
        "br label %h\n h:\n %i = phi i32 [ 0, %0 ], [ %j, %h ]\n {checks}\n %j = add i32 %i, 1\n
         %x = icmp slt i32 %j, {bound}\n br i1 %x, label %h, label %e\n e:\n READ 9\n ret void"
    )
}

#[test]
fn loops_that_all_threads_run_alike() {
    assert_eq!(rows_of(&looped("%n", "READ 0")), all(&[&[0], &[9, 0]]));
    assert_eq!(rows_of(&looped("%n", "READ 0\n WRITE 1")), all(&[&[0, 1], &[9, 0, 1]]));
    // Threads leave it one after the other.
    assert_eq!(rows_of(&looped("%t", "READ 0")), all(&[&[0], &[9, 0]]));
    // What each thread runs for itself has a buffer, which a call hands over.
    let by_memory = looped("%m", "%m = load i32, ptr %q\n READ 0");
    assert_eq!(rows_of(&by_memory), Found { rows: vec![vec![0, 9]], calls: 1, needs_context: false });
}

#[test]
fn loops_with_variables_of_the_threads_are_not_cut() {
    let body = |index: &str| {
        let element = format!("%element = getelementptr [8 x i32], ptr %v, i32 0, i32 {index}");
        let body = looped("%n", "%w = load i32, ptr %element\n store i32 %w, ptr %element\n READ 0");
        format!("%v = alloca [8 x i32]\n {element}\n store i32 %t, ptr %element\n {body}")
    };
    let gathered = Found { rows: vec![vec![0, 9]], calls: 1, needs_context: false };
    assert_eq!(rows_of(&body("%t")), gathered);
    // An element that the code names is a value.
    assert_eq!(rows_of(&body("3")), all(&[&[0], &[9, 0]]));
}

#[test]
fn kernels_in_which_the_place_of_a_check_matters() {
    let checks = |body: &str| {
        // SAFETY: the module is live.
        with(body, |_, kernel| unsafe {
            let reach = reach::of_kernels(LLVMGetGlobalParent(kernel), &[kernel]);
            entries::candidates(&[(kernel, 0)], &reach, Checks::Kept)
                .into_iter()
                .map(|k| k.checks)
                .collect::<Vec<_>>()
        })
    };
    assert_eq!(checks("READ 0\n WRITE 1\n ret void"), [Checks::InRows]);
    // As they are before they are given the context.
    let atomic = |order: Order| {
        let (kind, scope) = (AtomicKind::Reduction as u32, Scope::Device as u32);
        format!(
            "READ 1\n call void @__gpurace_atomic(ptr %q, i32 4, i32 0, i32 {kind}, i32 {scope}, i32 {})\n",
            order as u32
        )
    };
    assert_eq!(checks(&format!("{} ret void", atomic(Order::Relaxed))), [Checks::InRows]);
    assert_eq!(checks(&format!("{} ret void", atomic(Order::Release))), [Checks::InRowsBetweenBarriers]);
    // It makes an order of the relaxed one.
    let fence = format!(
        "call void @__gpurace_fence(i32 {}, i32 {}, i32 0)",
        Scope::Device as u32,
        Order::SeqCst as u32
    );
    assert_eq!(
        checks(&format!("{} {fence}\n ret void", atomic(Order::Relaxed))),
        [Checks::InRowsBetweenBarriers]
    );
}

#[test]
fn accesses_beside_fences_stay_calls() {
    const FENCE: &str = "call void @__gpurace_fence(i32 1, i32 1, i32 0)";
    const ATOMIC: &str = "call void @__gpurace_atomic(ptr %q, i32 4, i32 0, i32 0, i32 1, i32 0)";
    // By point, the rows; and the calls that are left, with those that order.
    let found = |body: &str| {
        let Found { rows, calls, .. } = rows_with(body, Checks::InRowsBetweenBarriers);
        (rows, calls)
    };
    for order in [FENCE, ATOMIC, "call void @other()"] {
        let calls = |n: usize| n + usize::from(!order.contains("other"));
        // A barrier parts them.
        let parted = format!("READ 0\n BARRIER\n {order}\n BARRIER\n WRITE 1\n ret void");
        assert_eq!(found(&parted), (vec![vec![0], vec![], vec![1]], calls(0)));
        let before = format!("READ 0\n {order}\n BARRIER\n WRITE 1\n ret void");
        assert_eq!(found(&before), (vec![vec![], vec![1]], calls(1)));
        let after = format!("READ 0\n BARRIER\n {order}\n WRITE 1\n ret void");
        assert_eq!(found(&after), (vec![vec![0], vec![]], calls(1)));
        // Some threads alone go on to it.
        let some = format!(
            "%x = icmp slt i32 %n, 5\n READ 0\n br i1 %x, label %y, label %z\n y:\n {order}\n br label %end\n
             z:\n READ 2\n br label %end\n end:\n READ 3\n BARRIER\n WRITE 1\n ret void"
        );
        assert_eq!(found(&some), (vec![vec![2], vec![1]], calls(2)));
        // The next iteration comes to it, and the end of a loop is no barrier.
        let next = looped("%n", &format!("READ 0\n {order}\n READ 1"));
        assert_eq!(found(&next), (vec![vec![]], calls(3)));
        let behind = looped("%n", "READ 0").replace("READ 9", order);
        assert_eq!(found(&behind), (vec![vec![]], calls(1)));
    }
}

#[test]
fn marks_and_values_are_stored_where_all_threads_come() {
    let text = |body: &str| {
        // SAFETY: the module is live.
        with(body, |module, kernel| unsafe {
            let cut = segments::cut(module, kernel, Checks::InRows, &Default::default())
                .expect("a kernel that can be cut");
            ir::text(LLVMPrintValueToString(cut.function))
        })
    };
    let body = |before: &str| {
        format!(
            "%in = icmp slt i32 %t, %n\n br i1 %in, label %some, label %end\n {before}some:\n WRITE 1\n store i32 1, ptr %q\n br label %end\n end:\n ret void"
        )
    };
    // The threads that do not write say so, too, before the branch; and the values are stored at
    // the end.
    let found = text(&body(""));
    let at = |what: &str| found.find(what).unwrap_or_else(|| panic!("no `{what}` in {found}"));
    assert!(at("zext i1") < at("br i1"), "{found}");
    let (some, end) = (at("\nsome:"), at("\nend:"));
    let stores = |part: &str| part.matches("store i32").count();
    // Into variables, and the program's own; at the end from them, and where the thread goes on.
    assert_eq!((stores(&found[some..end]), stores(&found[end..])), (3, 3), "{found}");
    // Where two ways lead there, the mark is stored there.
    let two = text(
        "%in = icmp slt i32 %t, %n\n br i1 %in, label %some, label %more\n more:\n %out = icmp sgt i32 %t, 7\n br i1 %out, label %some, label %end\n some:\n WRITE 1\n br label %end\n end:\n ret void",
    );
    assert!(!two.contains("zext i1"), "{two}");
    assert!(two.contains("store i32 1, ptr"), "{two}");
}

#[test]
fn entry_points_that_rows_may_stand_beside() {
    for other in [Entry::Fence, Entry::Atomic, Entry::Free, Entry::Trap, Entry::Assertfail, Entry::Benign] {
        assert!(!allows(other), "{other:?}");
    }
}

#[test]
fn loops_of_few_iterations_are_unrolled() {
    let body = |end: &str| {
        format!(
            "br label %h\n h:\n %i = phi i32 [ 0, %0 ], [ %j, %h ]\n READ 0\n WRITE 1\n %j = add i32 %i, 1\n
         %x = icmp slt i32 %j, {end}\n br i1 %x, label %h, label %e\n e:\n ret void"
        )
    };
    assert_eq!(rows_of(&body("3")), all(&[&[0, 1, 0, 1, 0, 1]]));
    // Of another loop, no iteration is beside others in a segment.
    assert_eq!(rows_of(&body("%n")), all(&[&[0, 1], &[0, 1]]));
    assert_eq!(rows_of(&body("1000")), all(&[&[0, 1], &[0, 1]]));
}

#[test]
fn loops_are_unrolled_while_there_is_room_for_their_rows() {
    // Two loops that count in their headers, the inner one over `inner` numbers.
    let body = |outer: &str, inner: &str| {
        format!(
            "br label %h
             h:
               %i = phi i32 [ 0, %0 ], [ %i2, %next ]
               %x = icmp slt i32 %i, {outer}
               br i1 %x, label %g, label %e
             g:
               %j = phi i32 [ 0, %h ], [ %j2, %body ]
               %y = icmp ult i32 %j, {inner}
               br i1 %y, label %body, label %next
             body:
               %ij = add i32 %i, %j
               %at = getelementptr float, ptr %q, i32 %ij
               call void @__gpurace_read(ptr %c, ptr %at, i32 4, i32 0)
               %v = load volatile float, ptr %at
               %j2 = add i32 %j, 1
               br label %g
             next:
               %i2 = add i32 %i, 1
               br label %h
             e:
               ret void"
        )
    };
    let rows = |outer, inner| rows_of(&body(outer, inner)).rows.iter().map(Vec::len).max();
    assert_eq!(rows("8", "8"), Some(64));
    // More rows than there may be: the inner loop alone is unrolled.
    assert_eq!(rows("8", "9"), Some(9));
    assert_eq!(rows("%n", "9"), Some(9));
    // The inner loop's end is a switch, which LLVM does not count.
    let switched = body("%n", "9")
        .replace("br i1 %y, label %body, label %next", "switch i1 %y, label %next [ i1 1, label %body ]");
    assert_eq!(rows_of(&switched).rows.iter().map(Vec::len).max(), Some(1));
}
